"""What `jit.script` gives: called as fast as a function, and still an object with a graph and a name to travel by."""

from __future__ import annotations

import copy
import inspect
import io
import pickle
from typing import Dict, List, Optional, Tuple  # noqa: UP035

import pytest

import mpigrad
from mpigrad import Tensor, _cloud_pickle


@mpigrad.jit.script
def shifted(x, n: int = 2):
    """Adds a number."""
    return x + n


def save(x):
    return x - 1


def test_it_is_a_script_function_with_the_name_of_the_function() -> None:
    assert isinstance(shifted, mpigrad.jit.ScriptFunction) and not isinstance(save, mpigrad.jit.ScriptFunction)
    assert (shifted.__name__, shifted.__module__, shifted.__doc__) == ("shifted", __name__, "Adds a number.")
    assert shifted.name == "shifted" and shifted.qualified_name.endswith("test_callable.shifted")
    assert mpigrad.jit.script(shifted) is shifted and mpigrad.jit.script(save) is mpigrad.jit.script(save)
    assert "shifted(Tensor x, int n=2) -> Tensor" in repr(shifted) and str(shifted.schema) in repr(shifted)
    assert shifted.code.startswith("def shifted(x: Tensor,") and shifted.inlined_graph is shifted.graph


@pytest.mark.parametrize("dumps", [pickle.dumps, _cloud_pickle.dumps])
def test_pickles_find_the_same_function_again(dumps) -> None:
    def local(x):
        return x * 3

    scripted = [shifted, mpigrad.jit.script(local), mpigrad.jit.script(save)]  # the last named like a method of scripts
    found = pickle.loads(dumps(scripted))
    assert all(a is b for a, b in zip(found, scripted))
    assert pickle.loads(_cloud_pickle.dumps(lambda x: scripted[1](x)))(mpigrad.ones(1)).item() == 3
    assert copy.copy(shifted) is shifted and copy.deepcopy(shifted) == shifted
    assert copy.deepcopy([shifted])[0](mpigrad.ones(1)).item() == 3


def test_inspect_sees_the_parameters_of_the_function() -> None:
    for _ in range(2):
        assert str(inspect.signature(shifted)) in ("(x, n: 'int' = 2)", "(x, n: int = 2)")
        shifted(mpigrad.ones(1))
    assert str(inspect.signature(mpigrad.jit.script(Net()).forward)).startswith("(x, scale: ")


def test_classes_do_not_bind_it() -> None:
    class Holder:
        act = shifted

    assert Holder().act(mpigrad.ones(1)).item() == 3 and Holder.act(mpigrad.ones(1), n=0).item() == 1


def test_parameters_are_bound_as_python_binds_them() -> None:
    x = mpigrad.ones(1)
    assert [shifted(x).item(), shifted(x, 5).item(), shifted(n=5, x=x).item(), shifted(x, n=-1).item()] == [3, 6, 6, 0]
    with pytest.raises(TypeError, match=r"shifted\(\) got multiple values for argument 'x'"):
        shifted(x, x=x)
    with pytest.raises(RuntimeError, match="missing value for argument 'x'"):
        shifted(n=1)
    with pytest.raises(RuntimeError, match="missing value for argument 'x'"):
        shifted(q=1)
    with pytest.raises(RuntimeError, match=r"expected at most 2 argument\(s\) but received 4 argument\(s\)"):
        shifted(x, 1, 2, q=3)


def named_like_the_code(range: int, len: List[int], v1, g2: float, int: float, list: Optional[int] = None, call: str = "a"):  # noqa: UP006, UP045
    out = v1 * g2 + int
    for i in len:
        out = out + i
    if list is not None:
        out = out + list
    if call == "a":
        out = out + range
    return out


def test_parameters_may_be_called_like_anything_in_the_compiled_code() -> None:
    scripted = mpigrad.jit.script(named_like_the_code)
    x = mpigrad.ones(2)
    for more in ((), (4,), (None, "b")):
        assert scripted(3, [1, 2], x, 2.0, 1, *more).tolist() == named_like_the_code(3, [1, 2], x, 2.0, 1, *more).tolist()
    given = {"range": 3, "len": [1], "v1": x, "g2": 0.5, "int": 1.0, "call": "c", "list": 7}
    assert scripted(**given).tolist() == named_like_the_code(**given).tolist()


def nested(pair: Tuple[int, Tensor], maybe: Optional[List[float]], table: Dict[str, Tuple[float, int]]) -> float:  # noqa: UP006, UP045
    out = float(pair[0])
    if maybe is not None:
        for each in maybe:
            out = out + each
    for key in table:
        out = out + table[key][0] * table[key][1]
    return out


def test_containers_inside_each_other() -> None:
    scripted, x = mpigrad.jit.script(nested), mpigrad.ones(1)
    assert scripted((1, x), None, {}) == 1.0
    assert scripted((1, x), [1.0, 2.0], {"a": (0.5, 2)}) == 5.0
    assert scripted((True, x), (1, 2), {}) == 4.0  # ints among floats, a tuple for a list
    for bad in (((1,), None, {}), ((1, 2), None, {}), ([1, x], None, {}), ((1, x), ["a"], {}), ((1, x), None, {"a": (0.5,)}),
                ((1, x), None, {1: (0.5, 2)})):  # fmt: skip
        with pytest.raises(RuntimeError, match="Expected a value of type"):
            scripted(*bad)


class Net(mpigrad.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = mpigrad.nn.Parameter(mpigrad.ones(2))

    def forward(self, x, scale: float = 1.0):
        return x * scale + self.weight

    @mpigrad.jit.export
    def twice(self, x):
        return self.forward(self.forward(x))


def test_methods_are_bound_to_their_module() -> None:
    net = Net()
    scripted = mpigrad.jit.script(net)
    assert inspect.ismethod(scripted.twice) and scripted.twice.__self__ is scripted
    assert scripted.twice(mpigrad.ones(2)).tolist() == [3, 3] and scripted(mpigrad.ones(2), scale=2.0).tolist() == [3, 3]
    assert "prim::CallMethod" in str(scripted.twice.graph) and scripted.forward.code.startswith("def forward(self,")
    with pytest.raises(RuntimeError, match="Unknown keyword argument 'q' for operator 'forward'"):
        scripted(mpigrad.ones(2), q=1)
    with pytest.raises(RuntimeError, match="Expected a value of type 'float' for argument 'scale'"):
        scripted.forward(mpigrad.ones(2), "a")
    other = copy.deepcopy(scripted)
    with mpigrad.no_grad():
        other.weight.add_(1)
    assert other.twice(mpigrad.ones(2)).tolist() == [5, 5] and scripted.twice(mpigrad.ones(2)).tolist() == [3, 3]
    file = io.BytesIO()
    scripted.save(file)
    file.seek(0)
    assert mpigrad.jit.load(file).twice(mpigrad.ones(2)).tolist() == [3, 3]
