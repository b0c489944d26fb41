"""Distributed arrays with halos."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pelago import _pelago
from pelago._array import integer, plain, shape_of


class Grid:
    """Fields on a grid that is cut into one block for each rank, each block with a halo of its neighbours' cells; made by :meth:`World.grid`.

    Between :meth:`start` and :meth:`wait`, neighbours write the halo and read the border of the block: leave both alone.
    """

    def __init__(
        self,
        world: _pelago.World,
        shape: int | Sequence[int],
        dtype: npt.DTypeLike = np.float64,
        *,
        halo: int | Sequence[tuple[int, int]] = 1,
        periodic: bool | Sequence[bool] = False,
        parts: Sequence[int] | None = None,
        fields: int = 1,
        neighbours: str = "faces",
    ) -> None:
        self._dtype = plain(dtype)
        self._global_shape, _ = shape_of(shape)
        dimensions = len(self._global_shape)
        if isinstance(halo, (int, np.integer)):
            halo = [(integer(halo), integer(halo))] * dimensions
        try:
            pairs = [(low, high) for low, high in halo]
        except (TypeError, ValueError):
            raise ValueError(f"a halo is one width, or a low and a high one for each dimension, not {halo}") from None
        widths = [(integer(low), integer(high)) for low, high in pairs]
        if isinstance(periodic, (bool, np.bool_)):
            periodic = [bool(periodic)] * dimensions
        around = [bool(one) for one in periodic]
        if any(width < 0 for pair in widths for width in pair):
            raise ValueError("halo widths are not negative")
        if not 1 <= fields <= 64:
            raise ValueError(f"a grid has from 1 to 64 fields, not {fields}")
        cut = None if parts is None else [integer(part) for part in parts]
        described = (list(self._global_shape), cut, around, widths, self._dtype.itemsize, fields, neighbours)
        self._grid = world.grid(described)
        self._widths = widths
        self._fields = fields

    @property
    def global_shape(self) -> tuple[int, ...]:
        """Cells of the whole grid."""
        return self._global_shape

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells of this rank's block, without the halo."""
        return tuple(self._grid.cells)

    @property
    def first(self) -> tuple[int, ...]:
        """The place of the block's first cell in the whole grid."""
        return tuple(self._grid.first)

    @property
    def parts(self) -> tuple[int, ...]:
        """Blocks in each dimension."""
        return tuple(self._grid.parts)

    def with_halo(self, field: int = 0) -> npt.NDArray[Any]:
        """The cells of a field, halo included: a view, no copy."""
        lengths = [low + cells + high for cells, (low, high) in zip(self._grid.cells, self._widths)]
        return np.frombuffer(memoryview(self._grid.memory(field)), dtype=self._dtype).reshape(lengths)

    def local(self, field: int = 0) -> npt.NDArray[Any]:
        """The cells of a field that this rank owns: a view of :meth:`with_halo`."""
        inside = tuple(slice(low, low + cells) for cells, (low, _) in zip(self._grid.cells, self._widths))
        return self.with_halo(field)[inside]

    def indices(self) -> tuple[npt.NDArray[np.intp], ...]:
        """The places of the block's cells in the whole grid, one open array for each dimension (`np.ogrid`)."""
        ranges = (slice(first, first + cells) for first, cells in zip(self.first, self.shape))
        return tuple(np.ogrid[tuple(ranges)])

    def start(self) -> None:
        """Sends the borders of all fields, and lets their halos be written; :meth:`wait` follows."""
        self._grid.start()

    def wait(self) -> None:
        """Waits until all halos have come."""
        self._grid.wait()

    def update(self) -> None:
        """Brings the halos of all fields up to date."""
        self.start()
        self.wait()

    def explain(self) -> str:
        """How the halos travel, and why."""
        return self._grid.explain()

    def __repr__(self) -> str:
        return f"Grid(global_shape={self._global_shape}, shape={self.shape}, first={self.first}, dtype={self._dtype})"
