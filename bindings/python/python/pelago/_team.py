"""Collective operations: every member calls the same ones in the same order, with arrays of the same dtype and shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pelago import _pelago
from pelago._array import as_bytes, plain


class Team:
    """Ranks in an order; made by :meth:`World.team`. Roots are positions in the team."""

    def __init__(self, team: _pelago.Team) -> None:
        self._team = team

    @property
    def position(self) -> int:
        """The position of this rank."""
        return self._team.position

    @property
    def size(self) -> int:
        """How many members."""
        return self._team.size

    @property
    def ranks(self) -> list[int]:
        """The members, in their order."""
        return self._team.ranks

    def barrier(self) -> None:
        """Returns when every member has called it; what each put before is visible to all after."""
        self._team.barrier()

    def broadcast(self, values: npt.ArrayLike, root: int = 0) -> npt.NDArray[Any]:
        """The values of the member `root`, for all. Other members give an array of the same dtype and shape."""
        own = _copy(values)
        self._team.blocks("broadcast", as_bytes(own), as_bytes(own), root)
        return own

    def allreduce(self, values: npt.ArrayLike, op: str = "sum") -> npt.NDArray[Any]:
        """Combines the values of all members, element by element: `sum`, `prod`, `min`, `max`, and for integers `and`, `or`, `xor`. Bitwise the same everywhere."""
        return self._reduce("allreduce", values, op)

    def reduce(self, values: npt.ArrayLike, op: str = "sum", root: int = 0) -> npt.NDArray[Any]:
        """As :meth:`allreduce`, for the member `root`; others get their own values."""
        return self._reduce("reduce", values, op, root)

    def scan(self, values: npt.ArrayLike, op: str = "sum") -> npt.NDArray[Any]:
        """Combines the values of the members up to this one."""
        return self._reduce("scan", values, op)

    def exclusive_scan(self, values: npt.ArrayLike, op: str = "sum") -> npt.NDArray[Any]:
        """Combines the values of the members before this one; the first gets its own."""
        return self._reduce("exclusive_scan", values, op)

    def allgather(self, values: npt.ArrayLike) -> npt.NDArray[Any]:
        """The values of all members, in a new first dimension."""
        own = _copy(values)
        into = np.empty((self.size, *own.shape), own.dtype)
        self._team.blocks("allgather", as_bytes(own), as_bytes(into))
        return into

    def alltoall(self, values: npt.ArrayLike) -> npt.NDArray[Any]:
        """Exchanges blocks: `values[i]` goes to the member `i`, and `result[i]` came from it."""
        own = _copy(values)
        if own.ndim == 0 or own.shape[0] != self.size:
            raise ValueError(f"one block for each of {self.size} members, not an array of the shape {own.shape}")
        into = np.empty_like(own)
        self._team.blocks("alltoall", as_bytes(own), as_bytes(into))
        return into

    def gather(self, values: npt.ArrayLike, root: int = 0) -> npt.NDArray[Any] | None:
        """The values of all members at `root`, in a new first dimension; None elsewhere."""
        own = _copy(values)
        is_root = self.position == root
        into = np.empty((self.size if is_root else 0, *own.shape), own.dtype)
        self._team.blocks("gather", as_bytes(own), as_bytes(into), root)
        return into if is_root else None

    def scatter(self, values: npt.ArrayLike | None, out: npt.NDArray[Any], root: int = 0) -> npt.NDArray[Any]:
        """Gives each member its block `values[i]` of the member `root`, in `out`; other members give None."""
        if not isinstance(out, np.ndarray):
            raise TypeError(f"the block is written into an array, not {type(out).__name__}")
        if not (out.flags.c_contiguous and out.flags.writeable):
            raise ValueError("the array to write into must be C-contiguous and writable")
        own = np.empty(0, out.dtype) if values is None else np.ascontiguousarray(values)
        if own.dtype != out.dtype:
            raise TypeError(f"values of {own.dtype} into an array of {out.dtype}")
        self._team.blocks("scatter", as_bytes(own), as_bytes(out), root)
        return out

    def _reduce(self, kind: str, values: npt.ArrayLike, op: str, root: int | None = None) -> npt.NDArray[Any]:
        own = _copy(values)
        if own.dtype.name not in _REDUCED or not own.dtype.isnative:
            raise TypeError(f"no reduction of {own.dtype}: {', '.join(_REDUCED)}")
        self._team.reduce(kind, as_bytes(own), own.dtype.name, op, root)
        return own

    def __repr__(self) -> str:
        return f"Team(position={self.position}, size={self.size})"


_REDUCED = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")


def _copy(values: npt.ArrayLike) -> npt.NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError("a masked array: give its elements without the mask (filled)")
    own = np.array(values, order="C", copy=True)
    plain(own.dtype)
    return own
