"""Arrays on GPUs, with the driver that has no device. Another library is the tests' own: it calls the driver by ctypes, and knows the two interfaces by their documents."""

import textwrap

import pytest

LIBRARY = '''
import ctypes, os
import numpy as np, pelago

cuda = ctypes.CDLL(os.environ["PELAGO_CUDA_LIBRARY"])
capsule_new, capsule_pointer = ctypes.pythonapi.PyCapsule_New, ctypes.pythonapi.PyCapsule_GetPointer
capsule_valid, capsule_rename = ctypes.pythonapi.PyCapsule_IsValid, ctypes.pythonapi.PyCapsule_SetName
capsule_new.restype, capsule_new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_pointer.restype, capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
capsule_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
capsule_rename.argtypes = [ctypes.py_object, ctypes.c_char_p]

class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]

class Managed(ctypes.Structure):
    pass

DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(Managed))
Managed._fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]

def check(code):
    assert code == 0, code

class Gpu:
    """Copies by the driver, in the primary context."""

    def __init__(self, ordinal=0):
        # Streams advance at other calls of the driver, in an order of this seed.
        cuda.pelago_mock_set(b"manual", b"1")
        cuda.pelago_mock_set(b"seed", b"3")
        check(cuda.cuInit(0))
        context, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), ordinal))
        check(cuda.cuCtxPushCurrent_v2(context))
        check(cuda.cuStreamCreate(ctypes.byref(self.stream), 1))

    def alloc(self, count):
        address = ctypes.c_uint64()
        check(cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(count)))
        return address.value

    def pinned(self, count):
        pointer = ctypes.c_void_p()
        check(cuda.cuMemHostAlloc(ctypes.byref(pointer), ctypes.c_size_t(count), 0))
        return pointer

    def read(self, address, count):
        pinned = self.pinned(count)
        check(cuda.cuMemcpyDtoHAsync_v2(pinned, ctypes.c_uint64(address), ctypes.c_size_t(count), self.stream))
        check(cuda.cuStreamSynchronize(self.stream))
        found = ctypes.string_at(pinned, count)
        check(cuda.cuMemFreeHost(pinned))
        return found

    def write_later(self, address, values):
        """Puts the copy into the stream behind many others, and does not wait for it."""
        pinned, other = self.pinned(len(values)), self.pinned(len(values))
        ctypes.memmove(pinned, values, len(values))
        ctypes.memset(other, 0xFF, len(values))
        for source in [other] * 300:
            check(cuda.cuMemcpyHtoDAsync_v2(ctypes.c_uint64(address), source, ctypes.c_size_t(len(values)), self.stream))
        check(cuda.cuMemcpyHtoDAsync_v2(ctypes.c_uint64(address), pinned, ctypes.c_size_t(len(values)), self.stream))

def consume(array):
    """What an array of interfaces holds, by each of them."""
    told = array.__cuda_array_interface__
    assert told["version"] == 3 and told["strides"] is None and not told["data"][1]
    dtype, shape = np.dtype(told["typestr"]), told["shape"]
    count = int(np.prod(shape)) * dtype.itemsize
    first = np.frombuffer(gpu.read(told["data"][0], count), dtype).reshape(shape)
    assert array.__dlpack_device__() == (2, array.device)
    capsule = array.__dlpack__(stream=1)
    managed = ctypes.cast(capsule_pointer(capsule, b"dltensor"), ctypes.POINTER(Managed)).contents
    tensor = managed.tensor
    assert (tensor.device_type, tensor.lanes, tensor.bits) == (2, 1, 8 * dtype.itemsize)
    assert tuple(tensor.shape[:tensor.ndim]) == shape and not tensor.strides
    check(capsule_rename(capsule, b"used_dltensor"))
    second = np.frombuffer(gpu.read(tensor.data + tensor.offset, count), dtype).reshape(shape)
    managed.deleter(managed)
    assert np.array_equal(first, second)
    return first

class Foreign:
    """An array of another library."""

    def __init__(self, values, **changes):
        self.values, self.device = np.ascontiguousarray(values), 0
        self.address = gpu.alloc(self.values.nbytes)
        gpu.write_later(self.address, self.values.tobytes())
        self.changes = changes

    @property
    def __cuda_array_interface__(self):
        told = {"shape": self.values.shape, "typestr": self.values.dtype.str, "data": (self.address, False), "version": 3,
                "strides": self.values.strides, "stream": gpu.stream.value}
        return told | self.changes

deleted = []

class Lent:
    """The same by DLPack alone."""

    def __init__(self, values, kind=2, strides=None):
        self.of, self.kind = Foreign(values), kind
        check(cuda.cuStreamSynchronize(gpu.stream))
        shape = self.of.values.shape
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = None if strides is None else (ctypes.c_int64 * len(shape))(*strides)
        self.deleter = DELETER(lambda _: deleted.append(self.of.address))

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, stream=None):
        code = {"i": 0, "u": 1, "f": 2}[self.of.values.dtype.kind]
        strides = ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64))
        tensor = Tensor(self.of.address, self.kind, 0, len(self.shape), code, 8 * self.of.values.itemsize, 1, self.shape, strides, 0)
        self.managed = Managed(tensor, None, self.deleter)
        return capsule_new(ctypes.addressof(self.managed), b"dltensor", None)

def expect(kind, act):
    try:
        act()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")

gpu = None
'''

OPERATIONS = """
def main(world):
    global gpu
    gpu, me, size = Gpu(), world.rank, world.size
    right, left = (me + 1) % size, (me - 1) % size
    for dtype in (np.int32, np.float32, np.uint64, np.complex128):
        array = world.device_array((3, 4), dtype)
        assert not consume(array).any() and len(array) == 3
        world.barrier()
        array.put(right, np.arange(5, dtype=dtype) + dtype(me + 1), index=7).wait()
        world.barrier()
        assert np.array_equal(consume(array).reshape(-1)[7:], np.arange(5, dtype=dtype) + dtype(left + 1))
        assert np.array_equal(array.get(right, 7, 5), np.arange(5, dtype=dtype) + dtype(me + 1))
        world.barrier()
        array.copy(right, 7, 3, to_index=0).wait()
        world.barrier()
        assert np.array_equal(consume(array).reshape(-1)[:3], np.arange(3, dtype=dtype) + dtype((left - 1) % size + 1))
    words = world.device_array(4, np.int64)
    world.barrier()
    before = [words.fetch_add(0, 0, 1) for _ in range(5)]
    assert before == sorted(before)
    world.barrier()
    assert words.fetch(0) == 5 * size
    if me == 0:
        assert consume(words)[0] == 5 * size
        assert words.compare_swap(0, 1, 0, -3) == 0 and words.swap(0, 1, 9) == -3
    world.barrier()
    for library in (Foreign, Lent):
        values = library(np.arange(6.0).reshape(2, 3) + me)
        theirs = world.register(values)
        assert theirs.shape == (2, 3) and theirs.dtype == np.float64
        world.barrier()
        # What its stream had still to write when it was registered is there.
        assert np.array_equal(theirs.get(right), np.arange(6.0) + right)
        world.barrier()
        theirs.put(right, [100.0 + me], index=5).wait()
        world.barrier()
        address = getattr(values, "of", values).address
        assert np.frombuffer(gpu.read(address, 48))[5] == 100.0 + left
        theirs.free()
        expect(RuntimeError, lambda: theirs.get(0))
        world.barrier()
    assert not deleted, "others of the host may have opened it"
    again = world.register(world.device_array(5, np.int16))
    world.barrier()
    again.put(right, np.arange(5, dtype=np.int16)).wait()
    world.barrier()
    assert consume(again)[4] == 4
    print("good")

pelago.run(main)
"""

REFUSED = """
def main(world):
    global gpu
    gpu, me = Gpu(), world.rank
    array = world.device_array(4, np.int64)
    expect(TypeError, lambda: array.local)
    expect(TypeError, lambda: np.asarray(array))
    expect(BufferError, lambda: memoryview(array._memory))
    expect(ValueError, lambda: array.wait_until(0, "==", 1))
    expect(IndexError, lambda: array.put(0, [1, 2], index=3))
    expect(IndexError, lambda: array.copy(0, 3, 2))
    expect(BufferError, lambda: array.__dlpack__(copy=True))
    expect(BufferError, lambda: world.device_array(2, np.dtype([("a", "i4")])).__dlpack__())
    values = np.arange(6.0).reshape(2, 3)
    expect(ValueError, lambda: world.register(Foreign(values, strides=(8, 16))))
    expect(ValueError, lambda: world.register(Foreign(values, data=(1 << 20, True))))
    expect(ValueError, lambda: world.register(Foreign(values, stream=0)))
    expect(ValueError, lambda: world.register(Lent(values, strides=(1, 2))))
    expect(BufferError, lambda: world.register(Lent(values, kind=1)))
    expect(TypeError, lambda: world.register(values.tolist()))
    # Each of those that took a tensor out of its capsule gave it back.
    assert len(deleted) == 1
    # If one rank has none, all are told.
    last = world.size - 1
    why = expect(pelago.PelagoError if me == last else ValueError, lambda: world.device_array(4, device=7 if me == last else 0))
    assert ("no CUDA device 7" if me == last else f"rank {last}") in why, why
    expect(MemoryError, lambda: world.device_array(1 << 40, np.int8))
    expect((pelago.PelagoError, ValueError), lambda: world.register(Foreign(values, data=(64, False))))
    if world.size > 1:
        expect(ValueError, lambda: world.register(Foreign(values, stream=0) if me else Foreign(values)))
        expect(ValueError, lambda: world.device_array(4 + me))
    # A tensor that another library has keeps its memory.
    array.put(me, [7, 8, 9, 10]).wait()
    capsule = array.__dlpack__()
    address = array.__cuda_array_interface__["data"][0]
    array.free()
    del array
    world.barrier()
    assert np.frombuffer(gpu.read(address, 32), np.int64)[3] == 10
    del capsule
    world.barrier()
    print("good")

pelago.run(main)
"""


def program(text: str) -> str:
    return LIBRARY + textwrap.dedent(text)


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_operations_on_devices(real, driver, ranks):
    real.environment["PELAGO_CUDA_LIBRARY"] = str(driver)
    assert real.lines(program(OPERATIONS), ranks=ranks) == ["good"] * ranks


@pytest.mark.parametrize("ranks", [1, 2])
def test_what_devices_do_not_offer_is_refused(real, driver, ranks):
    real.environment["PELAGO_CUDA_LIBRARY"] = str(driver)
    assert real.lines(program(REFUSED), ranks=ranks) == ["good"] * ranks


def test_without_a_driver_there_is_one_line(real, tmp_path):
    real.environment["PELAGO_CUDA_LIBRARY"] = str(tmp_path / "none.so")
    text = """
        import pelago

        def main(world):
            try:
                world.device_array(4)
            except pelago.PelagoError as error:
                print(str(error).startswith("no CUDA driver") and "\\n" not in str(error))

        pelago.run(main)
    """
    assert real.lines(text, ranks=2) == ["True"] * 2
