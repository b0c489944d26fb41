"""Arrays in memory of GPUs, and what other libraries tell of theirs."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pelago import _pelago
from pelago._array import SymmetricArray, bytes_of, integer, plain, shape_of

_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
"""DLPack's codes of types, by NumPy's."""

_LEGACY_STREAM = 1
"""The default stream, as both interfaces count."""


class DeviceArray(SymmetricArray):
    """An array on a GPU of every rank; made by :meth:`World.device_array` and :meth:`World.register`.

    Operations are those of :class:`SymmetricArray`, without a view of the host: `local` and `wait_until` do not exist, `get` and `put` copy. CuPy, PyTorch and others
    use the elements by `__cuda_array_interface__` and DLPack, and keep the memory while they do, also after :meth:`free`.

    Nothing here is ordered with streams: what kernels write is complete before an operation sends it (`synchronize`), and kernels that read what arrives begin after it.
    """

    def __init__(
        self,
        world: _pelago.World,
        shape: int | tuple[int, ...],
        dtype: npt.DTypeLike,
        device: int,
        adopted: tuple[int, int | None, object] | None = None,
    ) -> None:
        self._dtype = plain(dtype)
        self._shape, self._size = shape_of(shape)
        self._memory = world.device(device, bytes_of(self._shape, self._dtype), adopted)
        self._world = world

    @property
    def device(self) -> int:
        """The number of this rank's device."""
        return self._memory.place()[1]

    @property
    def local(self) -> npt.NDArray[Any]:
        """Does not exist: the host has no view of memory of a device."""
        raise TypeError("the host has no view of memory of a device: get() copies it, and cupy.asarray() shows it on the device")

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return self.local

    def copy(self, rank: int, index: int, count: int, to_index: int = 0) -> _pelago.Handle:
        """Copies `count` of this rank's elements from `index` on to `rank`, from `to_index` on there, without a way through the program."""
        source, target = self._offset(index), self._offset(to_index)
        return self._memory.copy((rank, target), self._memory, source, integer(count) * self._dtype.itemsize)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        address, _ = self._memory.place()
        return {
            "shape": self._shape,
            "typestr": self._dtype.str,
            "descr": self._dtype.descr,
            "data": (address, False),
            "strides": None,
            "version": 3,
            # Operations have ended on the device when they are complete.
            "stream": None,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.device

    def __dlpack__(self, **options: Any) -> Any:
        """A capsule without a version. `stream` needs nothing: operations have ended on the device when they are complete."""
        if options.get("copy"):
            raise BufferError("no copy is made: copy the tensor on the device")
        if options.get("dl_device") not in (None, self.__dlpack_device__()):
            raise BufferError("the tensor is not moved to another device")
        kind = _KINDS.get(self._dtype.kind)
        if kind is None or not self._dtype.isnative:
            raise BufferError(f"DLPack has no elements of {self._dtype}")
        return self._memory.dlpack(list(self._shape), kind, 8 * self._dtype.itemsize)


Description = tuple[tuple[int, ...], np.dtype[Any], int, tuple[int, int | None, object]]
"""Shape, dtype, device; address, stream that fills it, and what keeps it."""


def register(world: _pelago.World, array: Any) -> DeviceArray:
    """Makes memory that another library has on a device an array of all ranks."""
    try:
        description = _by_dlpack(world, array) if _interface(array) is None else _by_interface(array)
    except Exception:
        # The other ranks are told that there is none here.
        with contextlib.suppress(Exception):
            world.device(0, 0)
        raise
    return DeviceArray(world, *description)


def _interface(array: Any) -> Mapping[str, Any] | None:
    found: Mapping[str, Any] | None = getattr(array, "__cuda_array_interface__", None)
    return found


def _by_dlpack(world: _pelago.World, array: Any) -> Description:
    if not hasattr(array, "__dlpack__"):
        raise TypeError(f"{type(array).__name__} has neither __cuda_array_interface__ nor __dlpack__")
    kind, _ = array.__dlpack_device__()
    if kind not in (2, 13):
        raise BufferError(f"the tensor is on DLPack device {kind}, no GPU")
    tensor = world.tensor(array.__dlpack__(stream=_LEGACY_STREAM))
    address, device, shape, code, bits = tensor.describe()
    letter = next((letter for letter, known in _KINDS.items() if known == code), None)
    if letter is None or bits % 8:
        raise TypeError(f"elements of DLPack type {code} with {bits} bits have no dtype")
    return tuple(shape), np.dtype(f"{letter}{bits // 8}"), device, (address, _LEGACY_STREAM, tensor)


def _by_interface(array: Any) -> Description:
    described = array.__cuda_array_interface__
    dtype, shape = np.dtype(described["typestr"]), tuple(described["shape"])
    address, is_read_only = described["data"]
    if is_read_only or described.get("mask") is not None:
        raise ValueError("the array is read-only or has a mask: other ranks write what is registered")
    strides, step = described.get("strides"), dtype.itemsize
    if strides is not None and math.prod(shape):
        for length, stride in zip(reversed(shape), reversed(strides), strict=True):
            if length > 1 and stride != step:
                raise ValueError("the array is not C-contiguous: copy it on the device")
            step *= length
    stream, device = described.get("stream"), getattr(array, "device", 0)
    if stream == 0:
        raise ValueError("stream 0 of __cuda_array_interface__ has no meaning: 1, 2, a stream, or None")
    # The interface does not tell the device: CuPy calls it `device.id`, PyTorch `device.index`.
    number = getattr(device, "id", getattr(device, "index", device))
    return shape, dtype, number if isinstance(number, int) else 0, (address, stream, array)
