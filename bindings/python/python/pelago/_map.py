"""Maps over all ranks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from pelago import _pelago
from pelago._array import as_bytes, elements, plain


class GlobalMap:
    """Keys of one dtype (up to 32 bytes) with values of another (up to 64), spread over all ranks; made by :meth:`World.map`.

    All ranks use it at once, and every operation on a key takes effect at one moment. Operations on arrays of keys have many of them under way.
    """

    def __init__(
        self, world: _pelago.World, key: npt.DTypeLike, value: npt.DTypeLike, buckets: int, heap_bytes: int
    ) -> None:
        self._key, self._value = plain(key), plain(value)
        self._map = world.map(self._key.itemsize, self._value.itemsize, buckets, heap_bytes)

    def set(self, keys: npt.ArrayLike, values: npt.ArrayLike) -> int:
        """Writes the values of keys, which are added if they are not there; how many were added."""
        return self._store(keys, values, False)

    def insert(self, keys: npt.ArrayLike, values: npt.ArrayLike) -> int:
        """Adds keys that are not there with their values; how many were added."""
        return self._store(keys, values, True)

    def find(self, keys: npt.ArrayLike) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """The values of keys, and which of them were found; others have zeros."""
        asked = np.atleast_1d(elements(keys, self._key))
        values, found = self._map.find(as_bytes(asked))
        return np.frombuffer(bytearray(values), self._value), np.frombuffer(bytearray(found), np.bool_)

    def __getitem__(self, key: Any) -> Any:
        values, found = self.find(self._one(key))
        if not found[0]:
            raise KeyError(key)
        return values[0]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.set([key], [value])

    def __contains__(self, key: Any) -> bool:
        return bool(self.find(self._one(key))[1][0])

    def __iter__(self) -> NoReturn:
        # Without this method, Python would iterate by the keys 0, 1, 2 and so on.
        raise TypeError("a map is not iterable: local_items() has the keys of this rank")

    def remove(self, keys: npt.ArrayLike) -> int:
        """Takes keys out; how many were there."""
        return self._map.remove(as_bytes(np.atleast_1d(elements(keys, self._key))))

    def owner(self, key: Any) -> int:
        """The rank that has a key."""
        return self._map.owner(as_bytes(self._one(key)))

    def local_items(self) -> Iterator[tuple[Any, Any]]:
        """The keys of this rank and their values, in no order. No rank may write meanwhile."""
        keys, values = self._map.local()
        return zip(np.frombuffer(bytearray(keys), self._key), np.frombuffer(bytearray(values), self._value))

    def _one(self, key: Any) -> npt.NDArray[Any]:
        keys = np.atleast_1d(elements([key], self._key))
        if keys.size != 1:
            raise ValueError(f"{keys.size} keys where one is needed")
        return keys

    def _store(self, keys: npt.ArrayLike, values: npt.ArrayLike, is_insertion: bool) -> int:
        asked, given = np.atleast_1d(elements(keys, self._key)), np.atleast_1d(elements(values, self._value))
        if asked.shape != given.shape:
            raise ValueError(f"{asked.size} keys and {given.size} values")
        return self._map.store(as_bytes(asked), as_bytes(given), is_insertion)
