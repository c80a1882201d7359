"""`DeviceMesh`: ranks arranged in an array, with a process group along each of its dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor

from ._process_group.groups import ProcessGroup, get_rank, new_group, world


class DeviceMesh:
    """Ranks arranged in an array, with a process group along each dimension: `mesh["tensor"]` is the part along one of them.

    All ranks in the mesh must construct it, since it creates process groups.

    Args:
        device_type: "cpu" or "cuda"; only stored.
        mesh: the global ranks, as a tensor, an array or nested lists; each rank once, or a RuntimeError is raised.
        mesh_dim_names: a name for each dimension.

    >>> import mpigrad.distributed as dist
    >>> from mpigrad.distributed.device_mesh import init_device_mesh
    >>> dist.init_process_group("mpi")
    >>> mesh = init_device_mesh("cpu", (1, 1), mesh_dim_names=("data", "tensor"))    # one rank
    >>> mesh.shape, mesh["tensor"].size(), mesh.get_coordinate()
    ((1, 1), 1, [0, 0])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self, device_type: str, mesh: Any, *, mesh_dim_names: Sequence[str] | None = None, _groups: list[Any] | None = None
    ) -> None:
        array = np.asarray(mesh.numpy() if isinstance(mesh, Tensor) else mesh, np.int64)
        if mesh_dim_names is not None and len(mesh_dim_names) != array.ndim:
            raise RuntimeError(f"a mesh of {array.ndim} dimensions needs as many names, got {tuple(mesh_dim_names)}")
        if len(np.unique(array)) != array.size:
            raise RuntimeError(f"each rank may be in a mesh once, got {array.tolist()}")
        self.device_type, self.mesh = device_type, wrap(array)
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        found = np.argwhere(array == get_rank())
        self._coordinate: list[int] | None = found[0].tolist() if len(found) else None
        self._dim_groups: list[ProcessGroup] = self._lines(array) if _groups is None else _groups

    def _lines(self, array: np.ndarray) -> list[ProcessGroup]:
        """For each dimension, create the group of the ranks that differ from this one in that coordinate only."""
        if self._coordinate is None:  # `new_group` is called by members only
            return []
        lines = []
        for dim in range(array.ndim):
            index: list[Any] = list(self._coordinate)
            index[dim] = slice(None)
            lines.append(new_group(array[tuple(index)].tolist(), sort_ranks=False))  # in the order of the mesh
        return lines

    @property
    def ndim(self) -> int:
        """The number of dimensions of the mesh."""
        return self.mesh.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of ranks along each dimension of the mesh, a tuple."""
        return tuple(self.mesh.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """Return the number of ranks of the mesh, or along the dimension with the index `mesh_dim`."""
        return prod(self.shape) if mesh_dim is None else self.shape[mesh_dim]

    def _dim(self, mesh_dim: int | str | None) -> int:
        if mesh_dim is None:
            if self.ndim != 1:
                raise RuntimeError(
                    f"a mesh of {self.ndim} dimensions has a group for each: give the index or the name of a dimension, of "
                    f"{self.mesh_dim_names or self.ndim}"
                )
            return 0
        if isinstance(mesh_dim, str):
            if self.mesh_dim_names is None or mesh_dim not in self.mesh_dim_names:
                raise KeyError(f"Invalid mesh_dim_name {mesh_dim!r}, the mesh has {self.mesh_dim_names}")
            return self.mesh_dim_names.index(mesh_dim)
        return mesh_dim

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """Return the process group of this rank along the dimension `mesh_dim`, an index or a name.

        Without an argument the mesh must have one dimension; RuntimeError otherwise. KeyError for an unknown name.
        """
        return self._dim_groups[self._dim(mesh_dim)]

    def get_all_groups(self) -> list[ProcessGroup]:
        """Return the process groups to which this rank belongs, one along each dimension of the mesh."""
        return list(self._dim_groups)

    def get_rank(self) -> int:
        """Return the rank of this process in the default process group (not its place in the mesh)."""
        return get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """Return the index of this process along the dimension `mesh_dim` of the mesh, an index or a name.

        Without an argument the mesh must have one dimension.
        """
        return self.get_group(mesh_dim).rank()

    def get_coordinate(self) -> list[int] | None:
        """Return the indices of this process in the mesh, a list; None if it is not in the mesh."""
        return self._coordinate

    def __getitem__(self, name: str) -> DeviceMesh:
        """Return the mesh of one dimension, `name`, with the ranks that differ from this one only along it."""
        dim = self._dim(name)
        group = self._dim_groups[dim]
        return DeviceMesh(self.device_type, group.ranks, mesh_dim_names=(name,), _groups=[group])

    def __repr__(self) -> str:
        return f"DeviceMesh({self.shape}, device: {self.device_type!r}, names: {self.mesh_dim_names})"


def init_device_mesh(
    device_type: str, mesh_shape: tuple[int, ...], *, mesh_dim_names: tuple[str, ...] | None = None, backend_override: Any = None
) -> DeviceMesh:
    """Create a `DeviceMesh` of all ranks of the default group, in their order; the last dimension varies fastest. All ranks
    call it.

    `mesh_shape` is the number of ranks along each dimension; RuntimeError if they are not as many as the group has. `device_type`
    and `mesh_dim_names` are as for `DeviceMesh`; `backend_override` is ignored.

    >>> import mpigrad.distributed as dist
    >>> from mpigrad.distributed.device_mesh import init_device_mesh
    >>> dist.init_process_group("mpi")
    >>> init_device_mesh("cpu", (1,)).mesh
    tensor([0])
    >>> dist.destroy_process_group()
    """
    size = world().size()
    if prod(mesh_shape) != size:
        raise RuntimeError(f"a mesh of shape {tuple(mesh_shape)} has {prod(mesh_shape)} ranks, the default group {size}")
    return DeviceMesh(device_type, np.arange(size).reshape(mesh_shape), mesh_dim_names=mesh_dim_names)


__all__ = ["DeviceMesh", "init_device_mesh"]
