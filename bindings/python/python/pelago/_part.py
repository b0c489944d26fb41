"""Parts of arrays that slices select, as blocks at equal distances."""

from __future__ import annotations

import operator
from types import EllipsisType
from typing import Any

import numpy as np

Part = slice | EllipsisType | tuple[Any, ...]
Index = int | Part
Blocks = tuple[int, list[int], list[int]]

# Dimensions of one transfer, besides the elements that are adjacent.
_DIMENSIONS = 3


def part(index: Part, shape: tuple[int, ...], element: int) -> tuple[int, Blocks, tuple[int, ...]]:
    """The first byte, the blocks in bytes, and the shape of what `index` selects of an array of `shape`, in the way of NumPy."""
    chosen = index if isinstance(index, tuple) else (index,)
    gaps = [place for place, one in enumerate(chosen) if one is Ellipsis]
    if len(gaps) > 1:
        raise IndexError("an index has one ellipsis at most")
    if len(chosen) - len(gaps) > len(shape):
        raise IndexError(f"{len(chosen) - len(gaps)} indices of an array of {len(shape)} dimensions")
    missing = (slice(None),) * (len(shape) - len(chosen) + len(gaps))
    chosen = chosen[: gaps[0]] + missing + chosen[gaps[0] + 1 :] if gaps else chosen + missing

    first, stride = 0, element
    blocks: list[tuple[int, int]] = []
    lengths: list[int] = []
    for one, length in zip(reversed(chosen), reversed(shape), strict=True):
        if isinstance(one, slice):
            begin, end, step = one.indices(length)
            if step < 0:
                raise ValueError(f"a step of {step}: elements are transferred in ascending order")
            count = len(range(begin, end, step))
            blocks.append((count, step * stride))
            lengths.append(count)
        else:
            begin = _place(one, length)
        first += begin * stride
        stride *= length
    if 0 in lengths:
        # An empty part may begin past the end.
        first = 0
    return first, _joined(blocks, element), tuple(reversed(lengths))


def _place(one: Any, length: int) -> int:
    if isinstance(one, (bool, np.bool_)):
        raise TypeError("a part is selected by integers and slices, not by truth values")
    place = operator.index(one)
    if not -length <= place < length:
        raise IndexError(f"index {place} of {length}")
    return place + length if place < 0 else place


def _joined(dimensions: list[tuple[int, int]], element: int) -> Blocks:
    """Blocks of adjacent elements, from dimensions with the fastest first."""
    block = element
    apart: list[tuple[int, int]] = []
    if any(count == 0 for count, _ in dimensions):
        return 0, [1] * _DIMENSIONS, [0] * _DIMENSIONS
    for count, stride in dimensions:
        if count == 1:
            continue
        if not apart and stride == block:
            block *= count
        elif apart and stride == apart[-1][0] * apart[-1][1]:
            apart[-1] = apart[-1][0] * count, apart[-1][1]
        else:
            apart.append((count, stride))
    if len(apart) > _DIMENSIONS:
        raise ValueError(f"a part with gaps in {len(apart)} dimensions: transfer it in parts of {_DIMENSIONS}")
    apart += [(1, 0)] * (_DIMENSIONS - len(apart))
    return block, [count for count, _ in reversed(apart)], [stride for _, stride in reversed(apart)]
