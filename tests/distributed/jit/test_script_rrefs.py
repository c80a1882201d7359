"""RRefs in scripts: to values, to objects of script classes, to scripted modules; in modules' attributes and in files."""

from __future__ import annotations

import gc
import io

import pytest

import mpigrad
import mpigrad.distributed.rpc as rpc
from tests.support.eventually import eventually

from . import rref_scripts as scripts

pytestmark = pytest.mark.mpi(min_size=1)


def test_a_script_reads_and_changes_the_value_on_its_owner(rpc_world) -> None:
    rref = rpc.remote(rpc_world.next_name, scripts.numbers)
    rpc.rpc_sync(rpc_world.next_name, scripts.extend, args=(rref,))
    assert rref.to_here() == [1, 2, 3, 4, 5, 6]


@pytest.mark.mpi(min_size=2)
def test_the_local_value_is_the_owners(rpc_world) -> None:
    rref = rpc.remote(rpc_world.next_name, mpigrad.add, args=(mpigrad.ones(2), 1))
    with pytest.raises(RuntimeError, match=r"Can't call RRef.local_value\(\) on a non-owner RRef"):
        scripts.local(rref)
    assert rpc.rpc_sync(rpc_world.next_name, scripts.local, (rref,)).tolist() == [2.0, 2.0]


# -- objects and modules -------------------------------------------------------------------------------------------------
def test_objects_of_script_classes(rpc_world) -> None:
    assert rpc.RRef(scripts.Box(3)).to_here().get() == 3
    rref = rpc.rpc_sync(rpc_world.next_name, scripts.box_there, args=(5,))
    assert scripts.use_box(rref) == mpigrad.jit.script(scripts.use_box)(rref) == 5
    assert rpc.rpc_sync(rpc_world.next_name, scripts.Box, args=(7,)).a == 7


def test_scripted_modules_are_used_where_they_are(rpc_world) -> None:
    rref = rpc.rpc_sync(rpc_world.next_name, scripts.holder_there, args=(3,))
    assert scripts.use_holder(rref).tolist() == mpigrad.jit.script(scripts.use_holder)(rref).tolist() == [1.0] * 3
    made = rpc.remote(rpc_world.next_name, scripts.holder, args=(2,))
    assert rpc.rpc_sync(rpc_world.next_name, scripts.holder_value, args=(made,)).tolist() == [1.0, 1.0]
    if rpc_world.world_size > 1:
        for each in (rref, made):
            said = r"is an RRef to a ScriptModule. It can't be sent through RPC from owner, WorkerInfo\(.*to user, WorkerInfo\("
            with pytest.raises(RuntimeError, match=said):
                scripts.holder_value(each)


def test_an_rref_to_a_scripted_module_names_its_interface(rpc_world) -> None:
    assert rpc.RRef(scripts.Holder(2), scripts.Gives).to_here().forward().tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="contains a ScriptModule, must provide its ModuleInterface type hint"):
        rpc.RRef(scripts.Holder(2))
    for hint in (scripts.Takes, int):
        with pytest.raises(RuntimeError, match=r"Holder is not a subtype of the type hint: .*, did you pass a valid interface"):
            rpc.RRef(scripts.Holder(2), hint)
    with pytest.raises(RuntimeError, match="type_hint should only be specified when the RRef being created contains"):
        rpc.RRef(3, scripts.Gives)


def test_scripted_modules_are_results_of_calls(rpc_world) -> None:
    made = rpc.rpc_sync(rpc_world.next_name, scripts.Holder, args=(2,))
    assert isinstance(made, mpigrad.jit.ScriptModule)
    assert made().tolist() == [1.0, 1.0] and made.scaled(2.0).tolist() == [4.0, 4.0] and made.weight.requires_grad
    there = rpc.remote(rpc_world.next_name, scripts.Holder, args=(2,))
    assert rpc.rpc_sync(there.owner(), scripts.is_scripted, args=(there,))
    assert there.rpc_sync().forward().tolist() == [1.0, 1.0]
    assert there.rpc_sync().scaled(3.0).tolist() == [6.0, 6.0]
    assert there.to_here().scaled(0.5).tolist() == [1.0, 1.0]


# -- RRefs as attributes, and in files -----------------------------------------------------------------------------------
def test_rrefs_are_attributes_of_modules(rpc_world) -> None:
    fetcher = scripts.Fetcher(rpc_world.next_name, 4)
    assert fetcher().tolist() == [10.0, 10.0]
    mpigrad.testing.FileCheck().check("RRef[Tensor][]").check("aten::to_here").run(fetcher.graph)


def test_files_take_rrefs_only_when_told_to(rpc_world) -> None:
    fetcher = scripts.Fetcher(rpc_world.next_name, 3)
    for attempt in (lambda: mpigrad.jit.save(fetcher, io.BytesIO()), lambda: fetcher.save(io.BytesIO())):
        with pytest.raises(RuntimeError, match="RRef jit pickling is only allowed inside RPC calls"):
            attempt()
    file = io.BytesIO()
    rpc._enable_jit_rref_pickle()
    try:
        mpigrad.jit.save(fetcher, file)
    finally:
        rpc._disable_jit_rref_pickle()
    for reader in (rpc_world.next_name, rpc_world.worker(rpc_world.rank + 2), rpc_world.name):
        assert rpc.rpc_sync(reader, scripts.run_file, args=(file.getvalue(),)).tolist() == [6.0, 6.0]


def test_a_file_keeps_its_rrefs_until_it_is_read(rpc_world) -> None:
    fetcher = scripts.Fetcher(rpc_world.next_name, 2)
    fetcher()
    file = io.BytesIO()
    rpc._enable_jit_rref_pickle()
    mpigrad.jit.save(fetcher, file)
    rpc._disable_jit_rref_pickle()
    rpc_world.barrier()
    del fetcher
    gc.collect()
    reader = rpc_world.worker(rpc_world.rank + 2)
    assert rpc.rpc_sync(reader, scripts.run_file, args=(file.getvalue(),)).tolist() == [3.0, 3.0]
    rpc_world.barrier()
    gc.collect()
    eventually(lambda: scripts.owners() == 0)  # the reader's RRefs are gone, and so is what they kept
    rpc_world.barrier()
    with pytest.raises(RuntimeError, match="the value of the RRef in this file has been freed"):
        mpigrad.jit.load(io.BytesIO(file.getvalue()))


def test_a_script_saves_tensors_and_no_rrefs(rpc_world, tmp_path) -> None:
    rref = rpc.remote(rpc_world.next_name, mpigrad.add, args=(mpigrad.ones(2), 1))
    with pytest.raises(RuntimeError, match="RRef jit pickling is only allowed inside RPC calls"):
        scripts.save_it(rref, str(tmp_path / "rref"))
    scripts.save_tensor(mpigrad.ones(2), str(tmp_path / "tensor"))
    assert mpigrad.load(tmp_path / "tensor").tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="Could not save: the graph has aten::save"):
        mpigrad.jit.save(scripts.save_tensor, io.BytesIO())
