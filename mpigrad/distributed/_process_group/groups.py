"""Process groups: sets of ranks with a private communicator each, so that groups and RPC never mix their messages."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from mpigrad._process.mpi_end import leave_mpi_unfinalised
from mpigrad._process.rank import check_expected_size, how_to_start, local_rank
from mpigrad._process.survival import survive

from .. import _mpi
from .._first_ranks import FOR_GROUPS, meet_first, refuse
from .._gpu.binding import bind_if_asked
from .._mpi import mpi_turn
from .._spares import program_size
from .buffers import choose
from .survival import Watch
from .work import Work

logger = logging.getLogger(__name__)
default_pg_timeout = timedelta(minutes=30)
_IGNORED = ("MASTER_ADDR", "MASTER_PORT")


class ProcessGroup:
    """Ranks of the job, in an order, that run collectives together; created by `init_process_group` and `new_group`.

    A *global rank* is a rank in the default group, a *group rank* the place of the same process in this group. `comm` is
    the group's private MPI communicator, `ranks` the list of global ranks, `timeout` (a `timedelta`) that of its
    operations, `name` its name and `desc` a description, both for messages.
    """

    def __init__(self, comm: Any, ranks: list[int], timeout: timedelta, name: str, desc: str) -> None:
        self.comm, self.ranks, self.timeout, self.group_name, self.group_desc = comm, ranks, timeout, name, desc
        self.checked = _asks_for_checks()  # compare every collective across the group before it starts
        self.agreed = 0  # number of collectives that were checked before they started; see `agreement.py`
        self.monitored = 0  # number of calls of `monitored_barrier`; gives each its own tag
        self.unanswered: list[Any] = []  # receives of barriers that timed out; see `monitored.py`
        self.watch = Watch(comm, ranks) if survive() else None
        self.sums = 0  # number of sums around a ring; gives each its own tag
        self.one_host: bool | None = None  # whether all ranks run on this host; None: not known yet

    def rank(self) -> int:
        """Return the rank of this process in the group."""
        return self.comm.Get_rank()

    def size(self) -> int:
        """Return the number of ranks in the group."""
        return len(self.ranks)

    def name(self) -> str:
        """Return the name of the backend, always "mpi"."""
        return "mpi"

    def place(self, rank: int) -> int:
        """Return the group rank of the process whose global rank is `rank`; ValueError if it is not in the group."""
        if rank not in self.ranks:
            raise ValueError(f"Global rank {rank} is not part of group {self.group_name} with ranks {self.ranks}")
        return self.ranks.index(rank)

    def begin(self, what: str, start: Callable[[], Any]) -> Any:
        """Call `start()`, which returns an MPI request, and return that or a watched form of it; used by the collectives.

        `what` is the operation's name in errors. The caller holds the lock of MPI (`mpi_turn`).
        """
        return start() if self.watch is None else self.watch.start(what, start)

    def shrink(self, timeout: timedelta | None = None) -> ProcessGroup:
        """Return a new group of the members whose processes still run, in the same order, and end this group. All of them must
        call it.

        It needs a job that survives deaths (`mpigrad run --survive`); a RuntimeError is raised in others. If this is the default
        group, the new one becomes the default group, whose ranks are numbered from 0 again, and all other groups are destroyed.
        `timeout` (a `timedelta`) is how long to wait for the other survivors, by default the timeout of this group.

        >>> import mpigrad.distributed as dist
        >>> dist.init_process_group("mpi")
        >>> try:
        ...     dist.group.WORLD.shrink()
        ... except RuntimeError as error:
        ...     print(str(error)[:50])
        shrink needs a job that survives the death of a ra
        >>> dist.destroy_process_group()
        """
        return _shrink(self, timeout or self.timeout)

    def __repr__(self) -> str:
        return f"<mpigrad.distributed.ProcessGroup {self.group_name!r}, ranks {self.ranks}>"


def _asks_for_checks() -> bool:
    """Return whether the environment asks for the checks of `agreement.py`; ValueError if the variable is invalid."""
    given = os.environ.get("MPIGRAD_DISTRIBUTED_DEBUG", os.environ.get("TORCH_DISTRIBUTED_DEBUG", "off"))
    if given.lower() not in ("off", "info", "detail"):
        raise ValueError(f"MPIGRAD_DISTRIBUTED_DEBUG is {given!r}; it is off, info or detail")
    return given.lower() == "detail"


def place_of(found: ProcessGroup, given: int | None, in_group: int | None, what: str) -> int:
    """Return a group rank, from the global rank `given` or the group rank `in_group`.

    ValueError unless exactly one is given and is in the group. `what` is "src", "dst" or "peer", for the error.
    """
    if given is None and in_group is None:
        raise ValueError(f"Must specify global_rank or group_rank: neither {what} nor group_{what} was given")
    if given is not None and in_group is not None:
        raise ValueError(f"Can't specify both group_rank and global_rank: group_{what} and {what}")
    if in_group is None:
        return found.place(given)  # type: ignore[arg-type]
    if not 0 <= in_group < found.size():
        raise ValueError(f"Group rank {in_group} is not part of {found}")
    return in_group


def root_of(found: ProcessGroup, given: int | None, in_group: int | None, what: str) -> int:
    """Return the group rank of a root, as `place_of`; that of global rank 0 if neither rank is given."""
    return place_of(found, 0 if given is None and in_group is None else given, in_group, what)


class GroupMember:
    """PyTorch's holder of two constants: `GroupMember.WORLD` is the default group, None before `init_process_group`.

    `GroupMember.NON_GROUP_MEMBER` is what `new_group` returns on ranks that are not in the new group.
    """

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = object()


class _Group:
    """The class of `group`, whose attribute `WORLD` is the default group."""

    @property
    def WORLD(self) -> ProcessGroup | None:
        return GroupMember.WORLD

    @WORLD.setter
    def WORLD(self, value: ProcessGroup | None) -> None:
        GroupMember.WORLD = value


group = _Group()
_groups: list[ProcessGroup] = []


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Create the default process group, of all ranks of the MPI job. All of these must call it; it waits for them.

    Args:
        timeout: a `timedelta`: how long this call and each operation of the group may wait, by default 30 minutes; after it
            a RuntimeError is raised.
        world_size: the number of ranks, by default all ranks of the job that are not spares. With a smaller number, the first
            ranks form the group, and no other rank may call this.
        rank: MPI's rank of this process. It need not be given; another number raises a ValueError.
        group_name: a name of the group, "0" by default.
        pg_options: an object whose attribute `device_transfers` says how tensors on GPUs are passed to MPI (see
            `MPIRpcBackendOptions`); by default the environment variable MPIGRAD_DEVICE_TRANSFERS says so.

    `backend`, `init_method`, `store` and `device_id` are accepted as in PyTorch and ignored: MPI needs no address. ValueError if
    it was called before; RuntimeError if the other ranks do not call it within the timeout.

    >>> import mpigrad.distributed as dist
    >>> dist.init_process_group()
    >>> dist.get_rank(), dist.get_world_size()
    (0, 1)
    >>> dist.destroy_process_group()
    """
    if GroupMember.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    _check_timeout(timeout)
    if init_method and store:
        raise AssertionError("Cannot specify both init_method and store.")
    MPI = _mpi.mpi()
    _mpi.check_thread_level()
    own, most = MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()
    size = program_size(MPI.COMM_WORLD) if world_size in (-1, None) else world_size
    for what, given, found, fits in (("rank", rank, own, rank in (-1, None, own)), ("world_size", size, most, 0 < size <= most)):
        if not fits:
            raise ValueError(
                f"init_process_group was given {what}={given}, but MPI says {found}; leave it out. "
                + how_to_start(world_size if world_size and world_size > 0 else None)
            )
    refuse("init_process_group", size, own)
    if init_method or store or any(name in os.environ for name in _IGNORED):
        logger.debug("init_method, store, MASTER_ADDR and MASTER_PORT are ignored: MPI connects the ranks")
    seconds = timeout or default_pg_timeout
    if survive():
        leave_mpi_unfinalised()  # MPI_Finalize may wait for a lost rank, without a timeout
    choose(getattr(pg_options, "device_transfers", None))
    bind_if_asked()
    check_expected_size(most)  # a launcher of another MPI starts many jobs of one rank
    comm = _communicator(MPI.COMM_WORLD, size, seconds.total_seconds())
    GroupMember.WORLD = ProcessGroup(comm, list(range(comm.Get_size())), seconds, group_name or "0", "default_pg")
    _groups.append(GroupMember.WORLD)


def _communicator(parent: Any, size: int, seconds: float) -> Any:
    """Return a private communicator of the first `size` ranks, which all call this; RuntimeError after `seconds`."""
    if size < parent.Get_size():
        first = meet_first(parent, size, FOR_GROUPS)
        Work("init_process_group", _watched(parent, size, first), lambda work: None, seconds).wait()
        return first.comm
    with mpi_turn():
        comm, request = parent.Idup()
    Work("init_process_group", _watched(parent, size, request), lambda work: None, seconds).wait()
    return comm


def _watched(parent: Any, size: int, request: Any) -> Any:
    """Return a request like `request`, which creates a communicator.

    In a job that survives deaths it fails if one of the ranks is dead.
    """
    return Watch(parent, list(range(size)), False).start("init_process_group", lambda: request) if survive() else request


def _check_timeout(timeout: Any) -> None:
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")


def is_initialized() -> bool:
    """Return whether there is a default process group: `init_process_group` was called, and the group was not destroyed.

    >>> import mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> dist.is_initialized()
    True
    >>> dist.destroy_process_group()
    """
    return GroupMember.WORLD is not None


def world() -> ProcessGroup:
    """Return the default group; PyTorch's ValueError if there is none."""
    if GroupMember.WORLD is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return GroupMember.WORLD


def resolve(given: Any) -> ProcessGroup | None:
    """Return the group for an argument `group=` (None: the default group); None if this rank is not in it.

    ValueError if the group does not exist any more.
    """
    if given is GroupMember.NON_GROUP_MEMBER:
        return None
    whole = world()
    if given is None:
        return whole
    if not any(given is each for each in _groups):
        raise ValueError(f"Group {given} is not registered, please create group with mpigrad.distributed.new_group API")
    return given


def registered() -> list[ProcessGroup]:
    """Return the list of all groups of which this rank is a member, the oldest first."""
    return list(_groups)


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """Create a `ProcessGroup` of some ranks. All of its members must call this; other ranks need not.

    Args:
        ranks: global ranks, by default all.
        timeout: a `timedelta`, how long an operation of the group may take; by default that of the default group.
        group_desc: a description of the group.
        sort_ranks: number the members in the order of their global ranks; with False, in the given order.

    Returns the group; `GroupMember.NON_GROUP_MEMBER` on ranks that are not in it. ValueError if a rank does not exist or is given
    twice. The other arguments are accepted as in PyTorch and ignored.

    >>> import mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> dist.new_group([0]).size()
    1
    >>> dist.destroy_process_group()
    """
    whole = world()
    members = sorted(ranks) if ranks is not None and sort_ranks else list(ranks) if ranks is not None else whole.ranks
    _check_timeout(timeout)
    if len(members) > whole.size():
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by init_process_group"
        )
    for rank in members:
        if not 0 <= rank < whole.size():
            raise ValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {whole.size() - 1} (world_size={whole.size()})"
            )
    if len(set(members)) != len(members):
        raise ValueError(f"ranks list must not contain duplicate entries, got {list(members)}")
    if whole.rank() not in members:
        return GroupMember.NON_GROUP_MEMBER
    with mpi_turn():
        chosen = whole.comm.Get_group().Incl(members)
    create = partial(whole.comm.Create_group, chosen, tag=_tag_of(members))  # collective over the members only, unlike Split
    if whole.watch is not None:
        comm = whole.watch.create("new_group", list(members), create, (timeout or whole.timeout).total_seconds())
    else:
        with mpi_turn():
            comm = create()
    return register(comm, members, timeout or whole.timeout, group_desc or "undefined")


def register(comm: Any, ranks: list[int], timeout: timedelta, desc: str) -> ProcessGroup:
    """Make a group of a communicator, which `destroy_process_group` will free; arguments as for `ProcessGroup`."""
    made = ProcessGroup(comm, ranks, timeout, str(len(_groups)), desc)
    _groups.append(made)
    return made


def _tag_of(members: Sequence[int]) -> int:
    """Return a tag for creating a group: threads may create groups of different members at the same time."""
    return hash(tuple(members)) % 30000  # MPI guarantees tags up to 32767; hashes of numbers are the same on all ranks


def _shrink(shrinking: ProcessGroup, timeout: timedelta) -> ProcessGroup:
    if shrinking.watch is None:
        raise RuntimeError(
            "shrink needs a job that survives the death of a rank: start it with `mpigrad run --survive`, or with Open MPI's "
            "`mpirun --with-ft ulfm` and MPIGRAD_SURVIVE=1"
        )
    resolve(shrinking)
    whole, seconds = world(), timeout.total_seconds()
    # Global ranks are about to change their meaning, so the other groups end. They may have pending operations with the dead.
    for each in [each for each in _groups if shrinking is whole and each is not whole]:
        assert each.watch is not None
        with mpi_turn():
            each.watch.revoke()
        each.watch.drain(time.monotonic() + seconds)
        destroy_process_group(each)
    comm, left = shrinking.watch.shrink(seconds)
    _groups.remove(shrinking)
    if shrinking is whole:
        made = register(comm, list(range(len(left))), whole.timeout, "default:shrunken")
        GroupMember.WORLD = made
    else:
        made = register(comm, left, shrinking.timeout, f"{shrinking.group_name}:shrunk")
    with mpi_turn():
        shrinking.comm.Free()
    return made


def destroy_process_group(group: Any = None) -> None:
    """Destroy a group, which cannot be used afterwards; without an argument or with the default group, all groups.

    All members must call it.

    >>> import mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> dist.destroy_process_group()
    >>> dist.is_initialized()
    False
    """
    if group is GroupMember.NON_GROUP_MEMBER:
        return
    whole = GroupMember.WORLD
    if whole is None:
        raise AssertionError("Process group cannot be None")
    ending = list(_groups) if group is None or group is whole else [group]
    for each in reversed(ending):  # the same order on all ranks: freeing a communicator is collective
        if each not in _groups:
            raise ValueError(f"Invalid process group specified: {each!r}")
        _groups.remove(each)
        with mpi_turn():
            each.comm.Free()
    if whole in ending:
        GroupMember.WORLD = None


def get_rank(group: Any = None) -> int:
    """Return the rank of this process in a group, by default in the default group; -1 if it is not in the group.

    >>> import mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> dist.get_rank()
    0
    >>> dist.destroy_process_group()
    """
    found = resolve(group)
    return -1 if found is None else found.rank()


def get_world_size(group: Any = None) -> int:
    """Return the number of ranks in a group, by default in the default group; -1 if this process is not in it.

    >>> import mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> dist.get_world_size()
    1
    >>> dist.destroy_process_group()
    """
    found = resolve(group)
    return -1 if found is None else found.size()


def get_backend(group: Any = None) -> str:
    """Return the name of the backend of a group: always "mpi". ValueError if this process is not in the group.

    >>> import mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> dist.get_backend()
    'mpi'
    >>> dist.destroy_process_group()
    """
    if resolve(group) is None:
        raise ValueError("Invalid process group specified")
    return "mpi"


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Return the local rank of this process: its number among the ranks of its host, as the launcher has set it.

    If the launcher does not set it, return `fallback_rank`; RuntimeError if that is None.

    >>> import mpigrad.distributed as dist
    >>> dist.get_node_local_rank(fallback_rank=0)    # on one rank
    0
    """
    found = local_rank()
    if found is not None:
        return found
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, assuming "
        "you are not running in a multi-device context and want the code to run locally instead."
    )


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """Return the global rank of the process that has the rank `group_rank` in a group; ValueError if there is none.

    >>> import mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> dist.get_global_rank(dist.new_group([0]), 0)
    0
    >>> dist.destroy_process_group()
    """
    if not 0 <= group_rank < group.size():
        raise ValueError(f"Group rank {group_rank} is not part of group with ranks {group.ranks}")
    return group.ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """Return the rank in a group of the process with the global rank `global_rank`; ValueError if it is not in the group.

    >>> import mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> dist.get_group_rank(dist.new_group([0]), 0)
    0
    >>> dist.destroy_process_group()
    """
    return group.place(global_rank)


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """Return the list of the global ranks of a group (None: the default group), in the order of group ranks.

    >>> import mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> dist.get_process_group_ranks(dist.new_group([0]))
    [0]
    >>> dist.destroy_process_group()
    """
    found = resolve(group)
    return [] if found is None else list(found.ranks)
