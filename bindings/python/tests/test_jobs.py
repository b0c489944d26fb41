"""Every group of operations in jobs of 1, 3 and 4 ranks, on shared memory, over UDP and simulated. Programs check themselves."""

import pytest

ARRAYS = """
    import numpy as np, pelago

    def main(world):
        me, size = world.rank, world.size
        right = (me + 1) % size
        for dtype in (np.int8, np.uint16, np.int32, np.float32, np.float64, np.complex128):
            array = world.array((3, 4), dtype)
            assert array.local.shape == (3, 4) and array.local.dtype == dtype and not array.local.any()
            world.barrier()
            sent = array.put(right, np.arange(5, dtype=dtype) + dtype(me + 1), index=7)
            sent.wait()
            assert sent.test()
            world.barrier()
            left = (me - 1) % size
            assert np.array_equal(array.local.reshape(-1)[7:], np.arange(5, dtype=dtype) + dtype(left + 1)), array.local
            assert np.array_equal(array.get(right, 7, 5), np.arange(5, dtype=dtype) + dtype(me + 1))
            out = np.zeros(2, dtype)
            assert array.get(right, 8, out=out) is out and out[0] == dtype(me + 2)
            assert np.from_dlpack(array).shape == (3, 4) if dtype != np.complex128 else True
            assert np.asarray(array)[2, 3] == array.local[2, 3]
            world.barrier()
            array.free()
        record = np.dtype([("key", "i4"), ("weight", "f8")])
        records = world.array(2, record)
        records.put(right, np.array([(me, 0.5)], record), 1)
        world.barrier()
        assert records.local[1]["key"] == (me - 1) % size
        big = world.array(1 << 17, np.float64)
        big.put(right, np.full(1 << 17, float(me)))
        world.quiet()
        world.barrier()
        assert (big.local == (me - 1) % size).all()
        print("good")

    pelago.run(main)
"""

VALUES = """
    import numpy as np, pelago

    def main(world):
        me, size = world.rank, world.size
        right, left = (me + 1) % size, (me - 1) % size

        def arrive(dtype, values, expected):
            array = world.array(2, dtype)
            array.put(right, values(me), index=1)
            world.barrier()
            assert array.local[1] == dtype(expected(left)), (dtype, array.local)

        for dtype in (np.int8, np.uint16, np.int32, np.int64, np.uint64, np.float32, np.float64, np.complex128):
            for values in (int, np.int16, lambda rank: [rank], lambda rank: [np.uint8(rank)], lambda rank: np.array(rank, dtype)):
                arrive(dtype, values, int)
            for values in (bool, np.bool_, lambda rank: [rank > 0]):
                arrive(dtype, values, bool)
        arrive(np.bool_, bool, bool)
        arrive(np.float64, lambda rank: rank + 0.5, lambda rank: rank + 0.5)
        arrive(np.float32, lambda rank: np.float64(rank + 0.5), lambda rank: rank + 0.5)
        counts = world.map(np.int64, np.uint64, buckets=64)
        assert counts.insert(me, me + 5) == 1
        world.barrier()
        assert counts.find(right)[0] == [right + 5] and counts[right] == right + 5
        world.barrier()
        print("good")

    pelago.run(main)
"""

ATOMICS = """
    import numpy as np, pelago

    def main(world):
        me, size = world.rank, world.size
        for dtype in (np.int32, np.uint32, np.int64, np.uint64):
            words = world.array(4, dtype)
            world.barrier()
            before = [words.fetch_add(0, 0, 1) for _ in range(10)]
            assert before == sorted(before)
            words.add(0, 1, 2).wait()
            world.barrier()
            if me == 0:
                assert words.local[0] == 10 * size and words.local[1] == 2 * size
                assert words.fetch(0) == 10 * size
                assert words.swap(0, 2, 5) == 0 and words.compare_swap(0, 2, 4, 9) == 5 and words.fetch(0, 2) == 5
                assert words.compare_swap(0, 2, 5, 12) == 5
                assert words.fetch_and(0, 2, 6) == 12 and words.fetch_or(0, 2, 3) == 4 and words.fetch_xor(0, 2, 2) == 7
                assert words.fetch(0, 2) == 5
                if np.dtype(dtype).kind == "i":
                    words.swap(0, 3, -7)
                    assert words.fetch(0, 3) == -7 and words.local[3] == -7
            world.barrier()
            flag = world.array(1, dtype)
            flag.set((me + 1) % size, 0, me + 1)
            assert flag.wait_until(0, ">", 0) == (me - 1) % size + 1
            if me == 0:
                try:
                    flag.wait_until(0, "==", 100, timeout=0.01)
                except TimeoutError:
                    pass
                else:
                    raise AssertionError("it came")
            world.fence()
            world.flush(0)
        print("good")

    pelago.run(main)
"""

ACCUMULATIONS = """
    import numpy as np, pelago

    def main(world):
        me, size = world.rank, world.size
        right = (me + 1) % size
        every = range(size)
        for dtype in (np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64):
            array = world.array((3, 100), dtype)
            array.local[:] = 7
            world.barrier()
            for rank in every:
                array.accumulate(rank, np.arange(90, dtype=dtype) + dtype(me), index=5)
                array.accumulate(rank, [me + 1, me + 2, me + 3], index=100, op="max")
                array.accumulate(rank, me + 3, 110, "min")
                array.accumulate(rank, np.full(4, 2, dtype), places=np.array([299, 250, 299, 251]))
                array.accumulate(rank, me, places=[260, 261], op="sum")
                array.accumulate(rank, [], places=[])
            world.barrier()
            mine = array.local.reshape(-1)
            expected = np.full(300, 7, dtype)
            expected[5:95] += (np.arange(90) * size + sum(every)).astype(dtype)
            expected[100:103] = np.maximum(7, np.arange(3) + size)
            expected[110] = 3
            for place in (299, 250, 299, 251):
                expected[place] += 2 * size
            expected[260:262] += sum(every)
            assert np.array_equal(mine, expected), (dtype, mine, expected)
            world.barrier()
        signed = world.array(2, np.int32)
        signed.accumulate(right, [-5, -6], op="min")
        world.flush(right)
        world.barrier()
        assert list(signed.local) == [-5, -6]
        print("good")

    pelago.run(main)
"""

PARTS = """
    import random
    import numpy as np, pelago

    def main(world):
        me, size = world.rank, world.size
        right, left = (me + 1) % size, (me - 1) % size
        chance = random.Random(11)

        def index_of(shape):
            def one(length):
                kind = chance.randrange(4)
                if kind == 0:
                    return chance.randrange(-length, length)
                if kind == 1:
                    return slice(None)
                begin, end = sorted((chance.randrange(length + 1), chance.randrange(length + 1)))
                return slice(begin, end, chance.choice((None, 1, 2, 3)))
            chosen = [one(length) for length in shape]
            if chance.random() < 0.3:
                place = chance.randrange(len(chosen))
                chosen[place:] = [...] if chance.random() < 0.5 else [..., one(shape[-1])]
            return tuple(chosen) if len(chosen) > 1 or not isinstance(chosen[0], slice) else chosen[0]

        for dtype in (np.int8, np.float64, np.complex128):
            for shape in ((7,), (5, 6), (3, 4, 5), (2, 3, 4, 3)):
                array, model = world.array(shape, dtype), np.zeros(shape, dtype)
                for _ in range(12):
                    index = index_of(shape)
                    values = np.asarray(chance.randrange(100) + np.arange(model[index].size).reshape(model[index].shape)).astype(dtype)
                    array.put(right, values, index).wait()
                    model[index] = values
                    seen = array.get(right, index)
                    assert seen.shape == values.shape and np.array_equal(seen, values), (index, seen, values)
                    out = np.empty_like(values)
                    assert array.get(right, index, out=out) is out and np.array_equal(out, values)
                world.barrier()
                assert np.array_equal(array.local, model), (shape, dtype)
                world.barrier()
        table, flag = world.array((4, 4), np.int64), world.array(1, np.int64)
        sent = table.put(right, 9, np.s_[:, 1])
        flag.put(right, 1, after=table.put(right, [1, 2, 3, 4], np.s_[2, :], after=sent))
        flag.wait_until(0, "==", 1)
        assert list(table.local[:, 1]) == [9, 9, 2, 9] and list(table.local[2]) == [1, 2, 3, 4]
        world.barrier()
        whole = np.arange(16).reshape(4, 4)
        table.put(right, whole, ...).wait()
        assert np.array_equal(table.get(right, ...), whole)
        world.barrier()
        table.local[2] = [1, 2, 3, 4]
        table.local[[0, 1, 3], 1] = 9
        world.barrier()
        # Parts without elements, also behind the last row.
        for nothing in (np.s_[4:, 1:], np.s_[9:, 3], np.s_[2:2, :]):
            shape = np.empty((4, 4))[nothing].shape
            table.put(right, np.empty(shape, np.int64), nothing).wait()
            assert table.get(right, nothing).shape == shape
        # Indices and counts of any type of integers of NumPy.
        for length in (200, 1000):
            row = world.array(length, np.int64)
            row.local[:] = np.arange(length)
            world.barrier()
            for kind in (np.int8, np.uint8, np.int16, np.uint64):
                rest = np.arange(5, length)
                assert np.array_equal(row.get(right, kind(5)), rest) and np.array_equal(row.start_get(right, kind(5)).wait(), rest)
                assert list(row.start_get(right, kind(5), kind(100)).wait()) == list(range(5, 105))
            world.barrier()
        every = [table.start_get(rank, 8, 4) for rank in range(size)] + [table.start_get(right), table.start_get(left, 16)]
        for get in every[:size]:
            assert list(get.wait()) == [1, 2, 3, 4] and get.test() and get.wait() is get.wait()
        assert every[size].wait().shape == (16,) and every[size + 1].wait().shape == (0,)
        last = table.start_get(left, 1, 1)
        while not last.test():
            pass
        assert last.wait()[0] == 9
        table.start_get(right)
        world.barrier()
        print("good")

    pelago.run(main)
"""

ORDER = """
    import numpy as np, pelago

    def main(world):
        data, flag = world.array(1000, np.int64), world.array(1, np.int64)
        right = (world.rank + 1) % world.size
        for step in range(1, 20):
            sent = data.put(right, np.full(1000, step))
            flag.put(right, [step], after=sent)
            flag.wait_until(0, ">=", step)
            assert (data.local == step).all()
            world.barrier()
        print("good")

    pelago.run(main)
"""

COLLECTIVES = """
    import numpy as np, pelago

    def check(team):
        me, size = team.position, team.size
        members = np.arange(size)
        for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"):
            own = (np.arange(1, 6) + me).astype(dtype)
            every = [(np.arange(1, 6) + member).astype(dtype) for member in members]
            operators = [("sum", np.add), ("prod", np.multiply), ("min", np.minimum), ("max", np.maximum)]
            if own.dtype.kind in "iu":
                operators += [("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)]
            for name, serial in operators:
                with np.errstate(over="ignore"):
                    whole = serial.reduce(every, dtype=dtype)
                    upto = serial.reduce(every[: me + 1], dtype=dtype)
                result = team.allreduce(own, name)
                assert result.dtype == own.dtype and np.array_equal(result, whole), (dtype, name, result, whole)
                assert np.array_equal(team.scan(own, name), upto), (dtype, name)
                if me:
                    assert np.array_equal(team.exclusive_scan(own, name), serial.reduce(every[:me], dtype=dtype))
                else:
                    assert np.array_equal(team.exclusive_scan(own, name), own)
                reduced = team.reduce(own, name, root=size - 1)
                assert np.array_equal(reduced, whole if me == size - 1 else own)
        for dtype, length in ((np.float64, 100), (np.int8, 3), (np.complex128, 1)):
            block = np.full(length, me + 1, dtype)
            assert np.array_equal(team.broadcast(block, root=size - 1), np.full(length, size, dtype))
            assert np.array_equal(team.allgather(block), np.repeat(members + 1, length).reshape(size, length).astype(dtype))
            to_all = np.repeat(members * 10 + me, length).reshape(size, length).astype(dtype)
            assert np.array_equal(team.alltoall(to_all), np.repeat(me * 10 + members, length).reshape(size, length).astype(dtype))
            gathered = team.gather(block, root=0)
            assert gathered is None if me else np.array_equal(gathered[:, 0], (members + 1).astype(dtype))
            out = np.zeros(length, dtype)
            team.scatter(None if me else np.repeat(members + 7, length).reshape(size, length).astype(dtype), out)
            assert np.array_equal(out, np.full(length, me + 7, dtype))
        assert team.allreduce(2.5) == 2.5 * size
        team.barrier()

    def main(world):
        check(world)
        assert world.ranks == list(range(world.size)) and world.position == world.rank
        odd = [rank for rank in range(world.size) if rank % 2] or [0]
        team = world.team(odd)
        assert (team is None) == (world.rank not in odd)
        if team:
            assert team.ranks == odd
            check(team)
        world.barrier()
        print("good")

    pelago.run(main)
"""

MAILBOXES = """
    import numpy as np, pelago

    def main(world):
        box = world.mailbox(0, slots=8, message_bytes=64)
        if world.rank == 0:
            counts = dict.fromkeys(range(world.size), 0)
            for _ in range(50 * (world.size - 1)):
                sender, message = box.receive(timeout=30)
                values = np.frombuffer(message, np.int64)
                assert (values == [sender, counts[sender]]).all(), (sender, values)
                counts[sender] += 1
            try:
                box.receive(timeout=0.2)
            except TimeoutError:
                pass
        else:
            for number in range(50):
                box.send(0, np.array([world.rank, number]))
            box.flush()
        world.barrier()
        every = world.mailbox(slots=4, message_bytes=8)
        every.send((world.rank + 1) % world.size, b"hello")
        assert every.receive() == ((world.rank - 1) % world.size, b"hello")
        world.barrier()
        if world.rank == 0:
            sent = 0
            while every.try_send(world.size - 1, b"x"):
                sent += 1
            assert 0 < sent <= 4, sent
        world.barrier()
        print("good")

    pelago.run(main)
"""

GRIDS = """
    import numpy as np, pelago

    def main(world):
        for shape, dtype, periodic in (((37,), np.float32, True), ((12, 9), np.float64, False), ((8, 6, 5), np.complex128, True)):
            grid = world.grid(shape, dtype, halo=1, periodic=periodic, fields=2, neighbours="corners")
            assert np.prod(grid.parts) == world.size and not grid.with_halo(1).any()
            places = grid.indices()
            whole = np.arange(np.prod(shape)).reshape(shape)
            for field in range(2):
                grid.local(field)[...] = (whole[places] + 1000 * field).astype(dtype)
            for _ in range(3):
                grid.start()
                grid.wait()
            padded = np.pad(whole, 1, mode="wrap") if periodic else np.pad(whole, 1, constant_values=-1)
            block = tuple(slice(first, first + cells + 2) for first, cells in zip(grid.first, grid.shape))
            for field in range(2):
                expected = padded[block]
                expected = np.where(expected < 0, 0, expected + 1000 * field).astype(dtype)
                assert np.array_equal(grid.with_halo(field), expected), (shape, field)
            assert grid.explain()
        print("good")

    pelago.run(main)
"""

MAPS = """
    import numpy as np, pelago

    def main(world):
        me, size = world.rank, world.size
        counts = world.map(np.int64, np.float64, buckets=64)
        keys = np.arange(me * 100, me * 100 + 100)
        assert counts.insert(keys, keys * 0.5) == 100 and counts.insert(keys, keys * 2.0) == 0
        world.barrier()
        values, found = counts.find(np.arange(100 * size + 5))
        assert found[: 100 * size].all() and not found[100 * size :].any()
        assert np.array_equal(values[: 100 * size], np.arange(100 * size) * 0.5)
        world.barrier()
        assert counts.set(keys, keys + 1.0) == 0 and counts[int(keys[3])] == keys[3] + 1.0 and int(keys[0]) in counts
        assert counts.remove(keys[:10]) == 10 and int(keys[0]) not in counts
        world.barrier()
        local = dict(counts.local_items())
        assert all(counts.owner(int(key)) == me for key in local)
        assert world.allreduce(len(local)) == 90 * size
        world.barrier()
        words = world.map("S16", "S40")
        words[f"rank{me}".encode()] = b"some value"
        world.barrier()
        assert words[f"rank{(me + 1) % size}".encode()] == b"some value"
        try:
            words[b"nobody"]
        except KeyError:
            pass
        else:
            raise AssertionError("found")
        world.barrier()
        print("good")

    pelago.run(main)
"""

SIGNALS = """
    import numpy as np, pelago

    def main(world):
        me, size = world.rank, world.size
        right, left = (me + 1) % size, (me - 1) % size
        for dtype in (np.int32, np.uint64):
            for op in ("add", "set"):
                table, flags, free = world.array((6, 5)), world.array(3, dtype), world.array(1, np.int64)
                for turn in range(1, 21):
                    value = 1 if op == "add" else turn
                    free.wait_until(0, ">=", turn - 1)
                    if turn % 3 == 0:
                        sent = table.put_signal(right, np.full((6, 2), turn + me, float), np.s_[:, 1:4:2], flags, 1, value, op)
                        flags.wait_until(1, ">=", turn)
                        assert (table.local[:, 1:4:2] == turn + left).all(), table.local
                    elif turn % 3 == 1:
                        first = table.put(right, np.full(30, -1.0))
                        sent = table.put_signal(right, np.full(30, turn + me, float), 0, flags, 1, value, op, after=first)
                        flags.wait_until(1, ">=", turn)
                        assert (table.local == turn + left).all(), table.local
                    else:
                        sent = table.put_signal(right, turn + me, 29, flags, 1, value, op)
                        flags.wait_until(1, ">=", turn)
                        assert table.local[5, 4] == turn + left, table.local
                    sent.wait()
                    assert sent.test()
                    free.add(left, 0, 1)
                assert list(flags.local) == [0, 20, 0], flags.local
                world.barrier()
        nothing, flags = world.array(0), world.array(1, np.int64)
        nothing.put_signal(right, [], 0, flags)
        flags.wait_until(0, "==", 1)
        world.barrier()
        print("good")

    pelago.run(main)
"""


@pytest.mark.parametrize("ranks", [1, 3, 4])
@pytest.mark.parametrize(
    "program",
    [ARRAYS, VALUES, ATOMICS, ACCUMULATIONS, PARTS, SIGNALS, ORDER, COLLECTIVES, MAILBOXES, GRIDS, MAPS],
    ids=["arrays", "values", "atomics", "accumulations", "parts", "signals", "order", "collectives", "mailboxes", "grids", "maps"],
)
def test_groups(job, program, ranks):
    assert job.lines(program, ranks=ranks) == ["good"] * ranks


def test_program_alone(tmp_path):
    """Without a launcher the process is a job of one rank, and run returns what the function returns."""
    import subprocess
    import sys

    program = "import pelago; print(pelago.run(lambda world: (world.rank, world.size, world.maps(0))))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout == "(0, 1, True)\n"
