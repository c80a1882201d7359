"""Sequences of different lengths: packed by time step, or padded to one length."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from mpigrad._array.device import device_of, host, move
from mpigrad._ops.shape.joining import cat, stack

from ..._core.tensor import wrap
from ..._tensor import Tensor


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """Sequences of different lengths, packed by time step; made by `pack_padded_sequence` or `pack_sequence`, read by
    recurrent layers.

    A named tuple: `data` has the first elements of all sequences, then the second elements of those that have one,
    and so on; `batch_sizes` has the number of elements of each step; `sorted_indices` and `unsorted_indices` the
    permutations that sort by length and back, or None.
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise ValueError("Expected data to be a tuple of (data, batch_sizes)")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn."
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """A copy on another device or of another type; the arguments are those of `Tensor.to`."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        moved = [
            None if each is None else each.to(data.device) for each in (self.sorted_indices, self.unsorted_indices)
        ]
        return type(self)(data, self.batch_sizes, *moved)

    def cpu(self) -> PackedSequence:
        """A copy on the CPU."""
        return self.to("cpu")

    def cuda(self, *args: Any) -> PackedSequence:
        """A copy on a GPU."""
        return self.to(*(args or ("cuda",)))

    @property
    def is_cuda(self) -> bool:
        """Whether `data` is on a GPU."""
        return self.data.is_cuda


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes `permutation`, a vector of indices; None for None."""
    if permutation is None:
        return None
    order = host(permutation._array)
    made = np.empty_like(order)
    made[order] = np.arange(order.size)
    return wrap(move(made, device_of(permutation._array)))


class Layout:
    """The positions of the elements of packed sequences in a padded batch."""

    def __init__(self, batch_sizes: np.ndarray) -> None:
        self.sizes = batch_sizes
        self.count, self.batch = len(batch_sizes), int(batch_sizes[0])
        self.lengths = (batch_sizes[None, :] > np.arange(self.batch)[:, None]).sum(axis=1)
        self.steps = np.repeat(np.arange(self.count), batch_sizes)
        self.rows = np.concatenate([np.arange(size) for size in batch_sizes])

    @classmethod
    def of_lengths(cls, lengths: np.ndarray) -> Layout:
        """The layout of sequences sorted by length, longest first."""
        return cls((lengths[None, :] > np.arange(int(lengths[0]))[:, None]).sum(axis=1).astype(np.int64))

    def pack(self, padded: Tensor) -> Tensor:
        """The elements of a padded batch (steps, batch, ...), one after the other."""
        place = device_of(padded._array)
        return padded[wrap(move(self.steps, place)), wrap(move(self.rows, place))]

    def pad(self, data: Tensor, value: float = 0.0, count: int | None = None) -> Tensor:
        """A padded batch (steps, batch, ...) of packed elements."""
        place = device_of(data._array)
        where = np.full((self.count if count is None else count, self.batch), len(self.steps))
        where[self.steps, self.rows] = np.arange(len(self.steps))
        filler = data._array[:1] * 0 + data._array.dtype.type(value)
        return cat([data, wrap(filler)])[wrap(move(where, place))]

    def mirror(self) -> tuple[Tensor, Tensor]:
        """Indices (steps and rows) that reverse each sequence of a padded batch and leave its padding in place."""
        steps = np.arange(self.count)[:, None]
        turned = np.where(steps < self.lengths, self.lengths - 1 - steps, steps)
        return wrap(turned), wrap(np.broadcast_to(np.arange(self.batch), turned.shape).copy())


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | list[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a padded batch of sequences into a `PackedSequence`, as recurrent layers accept.

    - `input`: (steps, batch, ...), with `batch_first` (batch, steps, ...). `lengths`: the length of each sequence, on
      the CPU.
    - `enforce_sorted`: sequences must be sorted by length, longest first; with False, they are sorted here.

    >>> import mpigrad
    >>> from mpigrad.nn.utils.rnn import pack_padded_sequence
    >>> batch = mpigrad.tensor([[1, 2, 3], [4, 5, 0]])
    >>> pack_padded_sequence(batch, [3, 2], batch_first=True).data
    tensor([1, 4, 2, 5, 3])
    """
    if isinstance(lengths, Tensor) and lengths.device.type != "cpu":
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.ndim}D {lengths.device} "
            f"{lengths.dtype} tensor"
        )
    sizes = np.asarray(lengths._array if isinstance(lengths, Tensor) else lengths, np.int64)
    batch = input.shape[0 if batch_first else 1]
    if len(sizes) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={batch})"
        )
    if (sizes <= 0).any():
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    order = None
    if enforce_sorted:
        if (np.diff(sizes) > 0).any():
            raise RuntimeError(
                "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
                "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if "
                "you do not need ONNX exportability."
            )
    else:
        order = wrap(move(np.argsort(-sizes, kind="stable"), device_of(input._array)))
        sizes = sizes[host(order._array)]
        input = input.index_select(0 if batch_first else 1, order)
    layout = Layout.of_lengths(sizes)
    data = layout.pack(input.transpose(0, 1) if batch_first else input)
    return PackedSequence(data, wrap(layout.sizes), order, None)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The inverse of `pack_padded_sequence`: returns (padded batch, lengths), in the original order.

    Positions after the end of a sequence have `padding_value`; `total_length` is a number of steps to pad to, at
    least the longest.
    """
    layout = Layout(sequence.batch_sizes._array)
    if total_length is not None and total_length < layout.count:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {layout.count}"
        )
    padded = layout.pad(sequence.data, padding_value, total_length)
    lengths = layout.lengths
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(1, sequence.unsorted_indices)
        lengths = lengths[host(sequence.unsorted_indices._array)]
    return padded.transpose(0, 1) if batch_first else padded, wrap(lengths)


def pad_sequence(
    sequences: Tensor | list[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Pad tensors of different lengths (length, ...) to the longest, and stack them.

    The result is (steps, batch, ...), with `batch_first` (batch, steps, ...). `padding_value` is added on the
    `padding_side`, "right" or "left".

    >>> import mpigrad
    >>> from mpigrad.nn.utils.rnn import pad_sequence
    >>> pad_sequence([mpigrad.ones(2), mpigrad.ones(3)], batch_first=True)
    tensor([[1., 1., 0.],
            [1., 1., 1.]])
    """
    if not isinstance(sequences, (Iterable, Tensor)):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise ValueError(f"Expected padding_side to be one of left or right, but got {padding_side}")
    items = list(sequences)
    longest = max(len(each) for each in items)
    rows = []
    for each in items:
        missing = longest - len(each)
        if missing:
            array = each._array
            filler = wrap(np.zeros_like(array, shape=(missing, *array.shape[1:])) + array.dtype.type(padding_value))
            each = cat([each, filler] if padding_side == "right" else [filler, each])
        rows.append(each)
    return stack(rows, 0 if batch_first else 1)


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack tensors of different lengths (length, ...) into a `PackedSequence`.

    With `enforce_sorted` they must be sorted by length, longest first; with False, they are sorted here.
    """
    lengths = [len(each) for each in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The list of sequences in a padded batch, without padding; `lengths` has the length of each. The inverse of
    `pad_sequence`.
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [row[:length] for row, length in zip(padded_sequences, host(lengths._array).tolist())]


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The list of sequences in a `PackedSequence`, in the original order. The inverse of `pack_sequence`."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


def warn_of_dropout(dropout: float, num_layers: int) -> None:
    """Warn if `dropout` is given for one layer: it is applied between layers only."""
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
            f"greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=5,
        )


__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]
