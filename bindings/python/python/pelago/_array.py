"""Arrays that every rank has, at the same place of its memory."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from types import EllipsisType
from typing import Any

import numpy as np
import numpy.typing as npt

from pelago import _pelago
from pelago._part import Blocks, Index, part


# The types of elements that can be accumulated.
_ACCUMULATED = ("int32", "uint32", "int64", "uint64", "float32", "float64")


def plain(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """The dtype, if its elements are nothing but bytes."""
    found = np.dtype(dtype)
    if found.subdtype is not None:
        raise TypeError(f"elements of {found} are arrays themselves: give their lengths in the shape")
    if found.hasobject or found.itemsize == 0:
        raise TypeError(f"elements of {found} are no plain data: other ranks cannot use what they point to")
    return found


def elements(values: npt.ArrayLike, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """The values as a contiguous array of this dtype. Arrays are taken as they are, or refused; other values are converted if that loses nothing."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError("a masked array: give its elements without the mask (filled)")
    if isinstance(values, np.ndarray):
        if values.dtype != dtype:
            raise TypeError(f"an array of {values.dtype} where {dtype} is needed: convert it (astype)")
        if not values.flags.c_contiguous:
            raise ValueError("the array is not C-contiguous: copy it (np.ascontiguousarray)")
        return values
    found = np.asarray(values)
    # NumPy has no type for integers of more than 64 bits.
    if dtype.kind in "iu" and found.size and found.dtype.hasobject and all(isinstance(value, int) for value in found.flat):
        raise OverflowError(f"a value does not fit {dtype}")
    # Integers of any width and sign are compared after the conversion.
    if dtype.kind in "SU" and found.dtype.kind not in "SU":
        raise TypeError(f"values of {found.dtype} where {dtype} is needed")
    is_of_integers = dtype.kind in "iu" and found.dtype.kind in "biu"
    if found.size and not is_of_integers and not np.can_cast(np.min_scalar_type(found), dtype, "same_kind"):
        raise TypeError(f"values of {found.dtype} where {dtype} is needed")
    try:
        with np.errstate(over="raise"):
            # Of a single value, `ascontiguousarray` makes an array of one dimension.
            converted = np.ascontiguousarray(found, dtype=dtype).reshape(found.shape)
    except FloatingPointError:
        raise OverflowError(f"a value does not fit {dtype}") from None
    if dtype.kind in "iu" and not np.array_equal(converted, found):
        raise OverflowError(f"a value does not fit {dtype}")
    # Conversion cuts texts that are too long.
    if dtype.kind in "SU" and not np.array_equal(converted, found.astype(dtype.kind)):
        raise OverflowError(f"a value does not fit {dtype}")
    return converted


def integer(value: Any) -> int:
    """A whole number, of Python or NumPy. Numbers with fractions are refused, also 1.0."""
    return int(value) if isinstance(value, np.bool_) else operator.index(value)


def shape_of(shape: int | Sequence[int]) -> tuple[tuple[int, ...], int]:
    lengths = tuple(integer(length) for length in ((shape,) if isinstance(shape, (int, np.integer)) else shape))
    if any(length < 0 for length in lengths):
        raise ValueError(f"an array has no negative lengths: {lengths}")
    return lengths, math.prod(lengths)


def bytes_of(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """The size of an array in bytes, if any memory has so many."""
    found = math.prod(shape) * dtype.itemsize
    if found >= 1 << 63:
        raise MemoryError(f"an array of shape {shape} and dtype {dtype} has {found} bytes: more than any memory")
    return found


class PendingGet:
    """A get that the program waits for later; returned by :meth:`SymmetricArray.start_get`. If nobody waits, the elements are discarded."""

    def __init__(self, get: _pelago.Get, count: int, dtype: np.dtype[Any]) -> None:
        self._get, self._count, self._dtype = get, count, dtype
        self._values: npt.NDArray[Any] | None = None

    def wait(self) -> npt.NDArray[Any]:
        """Waits for the elements, and returns them; the same array again in a second call."""
        if self._values is None:
            values = np.empty(self._count, self._dtype)
            self._get.wait(as_bytes(values))
            self._values = values
        return self._values

    def test(self) -> bool:
        """Whether the elements have arrived."""
        return self._values is not None or self._get.test()


class SymmetricArray:
    """An array of the same shape on every rank; made by :meth:`World.array`.

    Operations name an element by the rank that has it and its flat index. A put from a NumPy array needs the array's dtype and contiguous memory.

    Other ranks write the elements at any moment. What :attr:`local` shows of an element that is being written is the old value, the new one, or, of elements longer
    than eight bytes and of several elements, a mixture: synchronize first (a barrier, :meth:`wait_until`). The array stays valid after the end of
    :func:`pelago.run`, without operations.
    """

    def __init__(self, world: _pelago.World, shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.float64) -> None:
        self._dtype = plain(dtype)
        self._shape, self._size = shape_of(shape)
        self._memory = world.alloc(bytes_of(self._shape, self._dtype))
        self._world = world

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the dimensions, on each rank."""
        return self._shape

    @property
    def size(self) -> int:
        """Elements on each rank."""
        return self._size

    def __len__(self) -> int:
        return self._shape[0] if self._shape else 1

    @property
    def local(self) -> npt.NDArray[Any]:
        """This rank's own elements: a view, no copy."""
        return np.frombuffer(memoryview(self._memory), dtype=self._dtype, count=self._size).reshape(self._shape)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.local, dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self.local.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.local.__dlpack_device__()

    def free(self) -> None:
        """Gives the memory back, which is used again when all ranks have. Views must be gone. Without a call: when no object names the array."""
        self._memory.free()

    def put(
        self, rank: int, values: npt.ArrayLike, index: Index = 0, after: _pelago.Handle | None = None
    ) -> _pelago.Handle:
        """Writes elements of `rank` from the flat index `index` on, or those that slices select (``np.s_[1:, 0]``; row 2 is ``np.s_[2, :]``); behind the
        operation `after`, if one is given. `values` may be changed when the call returns. For slices, they have the shape of the part, or are a single value.
        """
        first, blocks, data = self._placed(values, index)
        if blocks is None:
            return self._memory.put(rank, first, as_bytes(data), after)
        return self._memory.put_part(rank, first, blocks, as_bytes(data), after)

    def put_signal(
        self,
        rank: int,
        values: npt.ArrayLike,
        index: Index,
        words: SymmetricArray,
        word: int = 0,
        value: int = 1,
        op: str = "add",
        after: _pelago.Handle | None = None,
    ) -> _pelago.Handle:
        """Writes elements of `rank` as :meth:`put`, and then changes the word of `rank` at the flat index `word` of the array `words`: ``"add"``
        adds `value`, ``"set"`` writes it. A rank that sees the changed word (:meth:`wait_until`) sees the elements. The handle is that of the
        change, which fails if the put does.

        Words are integers of 32 or 64 bits. Over networks, elements and a set word of 64 bits travel as one operation where the network supports it.
        """
        if not isinstance(words, SymmetricArray):
            raise TypeError(f"the word of a signal is in an array of the world, not in {type(words).__name__}")
        first, blocks, data = self._placed(values, index)
        signal = (words._offset(word), words._width(), op, words._bits(value))
        return self._memory.put_signal((rank, first, blocks), as_bytes(data), words._memory, signal, after)

    def get(
        self, rank: int, index: Index = 0, count: int | None = None, out: npt.NDArray[Any] | None = None
    ) -> npt.NDArray[Any]:
        """Reads `count` elements of `rank` from the flat index `index` on, by default all that follow, or the elements that slices select (``np.s_[1:, 0]``);
        into `out`, if it is given.
        """
        if isinstance(index, (slice, EllipsisType, tuple)):
            if count is not None:
                raise ValueError("slices say how many elements there are: give no count")
            first, blocks, shape = part(index, self._shape, self._dtype.itemsize)
            out = np.empty(shape, self._dtype) if out is None else self._room(out)
            if out.shape != shape:
                raise ValueError(f"a part of shape {shape} into an array of shape {out.shape}")
            self._memory.get_part(rank, first, blocks, as_bytes(out))
            return out
        offset = self._offset(index)
        if out is None:
            out = np.empty(self._count(index, count), self._dtype)
        elif count is not None and count != self._room(out).size:
            raise ValueError(f"{count} elements into an array of {out.size}")
        if self._room(out).size:
            self._memory.get(rank, offset, as_bytes(out))
        return out

    def start_get(self, rank: int, index: int = 0, count: int | None = None) -> PendingGet:
        """Starts to read `count` elements of `rank` from the flat index `index` on, by default all that follow. Several gets take one round trip together."""
        offset, wanted = self._offset(index), self._count(index, count)
        return PendingGet(self._memory.start_get(rank, offset, wanted * self._dtype.itemsize), wanted, self._dtype)

    def _placed(self, values: npt.ArrayLike, index: Index) -> tuple[int, Blocks | None, npt.NDArray[Any]]:
        """The first byte, the blocks if slices select them, and the elements to be written there."""
        data = elements(values, self._dtype)
        if not isinstance(index, (slice, EllipsisType, tuple)):
            return self._offset(index), None, data
        first, blocks, shape = part(index, self._shape, self._dtype.itemsize)
        if data.ndim == 0:
            data = np.full(shape, data)
        if data.shape != shape:
            raise ValueError(f"values of shape {data.shape} for a part of shape {shape}")
        return first, blocks, data

    def _count(self, index: int, count: int | None) -> int:
        left = self._size - integer(index)
        wanted = left if count is None else integer(count)
        if not 0 <= wanted <= left:
            raise IndexError(f"{wanted} elements from element {index} of {self._size}")
        return wanted

    def _room(self, out: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The array to read into, if it can be."""
        if not isinstance(out, np.ndarray):
            raise TypeError(f"the elements are read into an array, not {type(out).__name__}")
        if out.dtype != self._dtype:
            raise TypeError(f"an array of {out.dtype} where {self._dtype} is needed")
        if not (out.flags.c_contiguous and out.flags.writeable):
            raise ValueError("the array to read into must be C-contiguous and writable")
        return out

    def fetch(self, rank: int, index: int = 0) -> int:
        """Reads a word as one."""
        return self._atomic(rank, index, "fetch", 0)

    def fetch_add(self, rank: int, index: int, value: int, after: _pelago.Handle | None = None) -> int:
        """Adds to a word, modulo its width; returns what was there."""
        return self._atomic(rank, index, "add", value, after=after)

    def fetch_and(self, rank: int, index: int, value: int) -> int:
        """Bitwise-ands into a word; returns what was there."""
        return self._atomic(rank, index, "and", value)

    def fetch_or(self, rank: int, index: int, value: int) -> int:
        """Bitwise-ors into a word; returns what was there."""
        return self._atomic(rank, index, "or", value)

    def fetch_xor(self, rank: int, index: int, value: int) -> int:
        """Bitwise-exclusive-ors into a word; returns what was there."""
        return self._atomic(rank, index, "xor", value)

    def swap(self, rank: int, index: int, value: int) -> int:
        """Writes a word; returns what was there."""
        return self._atomic(rank, index, "swap", value)

    def compare_swap(self, rank: int, index: int, expected: int, new: int) -> int:
        """Writes `new` to a word that equals `expected`; returns what was there."""
        return self._atomic(rank, index, "compare_swap", new, expected)

    def add(self, rank: int, index: int, value: int) -> _pelago.Handle:
        """Adds to a word without waiting."""
        return self._memory.apply((rank, self._offset(index), self._width()), "add", self._bits(value))

    def set(self, rank: int, index: int, value: int) -> _pelago.Handle:
        """Writes a word as one, without waiting."""
        return self._memory.apply((rank, self._offset(index), self._width()), "set", self._bits(value))

    def accumulate(
        self, rank: int, values: npt.ArrayLike, index: int = 0, op: str = "sum", places: npt.ArrayLike | None = None
    ) -> None:
        """Stores the `"sum"`, `"min"` or `"max"` of each value and an element of `rank` there: of the elements from `index` on, or of those at the flat
        indices `places`, which may repeat. A single value is taken for all places.

        Each change is atomic, not all together: several ranks may accumulate with the same elements. Elements are integers or floating-point numbers of 32
        or 64 bits; a floating-point sum depends on the order of the ranks. Complete after a barrier, :meth:`World.quiet` or :meth:`World.flush`.
        """
        if self._dtype.name not in _ACCUMULATED or not self._dtype.isnative:
            raise TypeError(f"no accumulation of {self._dtype}: {', '.join(_ACCUMULATED)}")
        data, offset, chosen = elements(values, self._dtype), self._offset(index), None
        last = integer(index) + data.size
        if places is not None:
            if index != 0:
                raise ValueError("the indices of places are counted from the first element: give no index")
            chosen = np.asarray(places)
            if chosen.size and chosen.dtype.kind not in "iu":
                raise TypeError(f"places are whole numbers, not {chosen.dtype}")
            if data.ndim == 0:
                data = np.full(chosen.shape, data)
            if chosen.shape != data.shape:
                raise ValueError(f"values of shape {data.shape} for places of shape {chosen.shape}")
            if chosen.size and chosen.min() < 0:
                raise IndexError(f"element {chosen.min()} of {self._size}")
            last = int(chosen.max()) + 1 if chosen.size else 0
            chosen = np.ascontiguousarray(chosen, dtype=np.uint64)
        if last > self._size:
            raise IndexError(f"element {last - 1} of {self._size}")
        if data.size:
            place = (rank, offset, last * self._dtype.itemsize - offset)
            numbers = None if chosen is None else as_bytes(chosen)
            self._memory.accumulate(place, (self._dtype.name, op), as_bytes(data), numbers)

    def wait_until(self, index: int, comparison: str, value: int, timeout: float | None = None) -> int:
        """Waits until the word of this rank at `index` compares with `value` (`"=="`, `"!="`, `"<"`, `"<="`, `">"`, `">="`); returns it.

        Wakes by operations of the library; a plain store of another thread is noticed late. Raises TimeoutError after `timeout` seconds.
        """
        width, is_signed = self._width(), self._dtype.kind == "i"
        place = (self._offset(index), width, is_signed)
        found = self._memory.wait_until(place, comparison, self._bits(value), timeout)
        return self._number(found)

    def _atomic(
        self, rank: int, index: int, operator: str, value: int, expected: int = 0, after: _pelago.Handle | None = None
    ) -> int:
        offset, width = self._offset(index), self._width()
        bits = self._bits(value), self._bits(expected)
        if after is not None:
            after.wait()
        return self._number(self._memory.atomic((rank, offset, width), operator, *bits))

    def _offset(self, index: int) -> int:
        place = integer(index)
        if not 0 <= place <= self._size:
            raise IndexError(f"element {index} of {self._size}")
        return place * self._dtype.itemsize

    def _width(self) -> int:
        if self._dtype.kind not in "iu" or self._dtype.itemsize not in (4, 8) or not self._dtype.isnative:
            raise TypeError(f"atomics and waits need integers of 32 or 64 bits, not {self._dtype}")
        return self._dtype.itemsize

    def _bits(self, value: int) -> int:
        limits, number = np.iinfo(self._dtype), integer(value)
        if not limits.min <= number <= limits.max:
            raise OverflowError(f"{value} does not fit {self._dtype}")
        return number & ((1 << 8 * self._dtype.itemsize) - 1)

    def _number(self, bits: int) -> int:
        top = 1 << (8 * self._dtype.itemsize - 1)
        return bits - 2 * top if self._dtype.kind == "i" and bits >= top else bits

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self._shape}, dtype={self._dtype})"


def as_bytes(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """The array as bytes, without a copy: types that the buffer protocol has no letter for are nothing but bytes too."""
    return array.reshape(-1).view(np.uint8)
