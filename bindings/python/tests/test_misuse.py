"""What a program does wrong gives an exception, and what goes wrong ends the job with its reason."""

import signal
import subprocess
import sys

import pytest

from conftest import COMMAND

MISUSE = """
    import threading
    import numpy as np, pelago

    kept = []

    def expect(error, act):
        try:
            act()
        except error:
            return
        except BaseException as other:
            raise AssertionError(f"{other!r} is no {error}")
        raise AssertionError(f"no {error}")

    def main(world):
        array, words = world.array(4), world.array(4, np.int32)
        unsigned = world.array(4, np.uint64)
        box, grid = world.mailbox(0, slots=2, message_bytes=8), world.grid((16,))
        expect(TypeError, lambda: array.put(0, np.zeros(2, np.float32)))
        for values in (0.5, 2.0, np.float64(2.0), [0.5], [2.0], "2", None, np.array(2), np.array(True)):
            expect(TypeError, lambda: words.put(0, values))
        for values in (1 << 31, -(1 << 31) - 1, np.int64(1 << 31), [1 << 31], np.uint64(1 << 63), 1 << 64, [0, -1 << 64]):
            expect(OverflowError, lambda: words.put(0, values))
        for values in (-1, [-1], np.int8(-1)):
            expect(OverflowError, lambda: unsigned.put(0, values))
        expect(ValueError, lambda: array.put(0, np.zeros(8)[::2]))
        expect(TypeError, lambda: world.array(4, (np.int32, (2,))))
        expect(IndexError, lambda: array.put(0, np.zeros(5)))
        expect(IndexError, lambda: array.put(0, [1.0], index=4))
        expect(IndexError, lambda: array.put(0, [1.0], index=-1))
        expect(IndexError, lambda: array.put(world.size, [1.0]))
        for rank in (-1, 1 << 40):
            expect(IndexError, lambda: array.put(rank, [1.0]))
            expect(IndexError, lambda: words.fetch_add(rank, 0, 1))
            expect(IndexError, lambda: box.send(rank, b""))
            expect(IndexError, lambda: world.flush(rank))
            expect(IndexError, lambda: world.team([rank]))
            expect(IndexError, lambda: world.broadcast(np.zeros(2), root=rank))
        expect(TypeError, lambda: array.put(0, np.ma.masked_array(np.zeros(4), mask=True)))
        expect(TypeError, lambda: world.allreduce(np.ma.masked_array(np.zeros(4), mask=True)))
        expect(TypeError, lambda: array.put_signal(0, [1.0], 0, array))
        expect(TypeError, lambda: array.put_signal(0, [1.0], 0, np.zeros(4, np.int32)))
        expect(TypeError, lambda: array.put_signal(0, np.zeros(1, np.float32), 0, words))
        expect(IndexError, lambda: array.put_signal(0, [1.0], 4, words))
        expect(IndexError, lambda: array.put_signal(0, [1.0], 0, words, 4))
        expect(IndexError, lambda: array.put_signal(world.size, [1.0], 0, words))
        expect(OverflowError, lambda: array.put_signal(0, [1.0], 0, words, value=1 << 31))
        expect(ValueError, lambda: array.put_signal(0, [1.0], 0, words, op="max"))
        expect(ValueError, lambda: array.put_signal(0, [1.0, 2.0], np.s_[0:3], words))
        expect(IndexError, lambda: array.get(0, 3, 2))
        expect(IndexError, lambda: array.get(0, 5))
        expect(IndexError, lambda: array.get(0, 0, 1 << 62))
        expect(TypeError, lambda: array.get(0, out=[0.0] * 4))
        for fraction in (0.5, 1.0, np.float64(1.0), "1", None):
            expect(TypeError, lambda: array.put(0, [1.0], index=fraction))
            expect(TypeError, lambda: array.get(0, fraction))
            expect(TypeError, lambda: words.fetch_add(0, 0, fraction))
            expect(TypeError, lambda: words.wait_until(0, "==", fraction, timeout=0.0))
            expect(TypeError, lambda: world.array((2, fraction)))
            expect(TypeError, lambda: world.team([fraction]))
            expect(TypeError, lambda: world.grid((fraction,)))
            expect(TypeError, lambda: world.grid((16,), halo=[(fraction, 1)]))
            expect(TypeError, lambda: world.grid((16,), parts=[fraction]))
        expect(ValueError, lambda: array.get(0, out=np.broadcast_to(0.0, 4)))
        expect(TypeError, lambda: array.get(0, out=np.zeros(4, np.int64)))
        table = world.array((4, 3))
        for index in ((4, 0), (0, -4), (0, 0, 0), (..., ...)):
            expect(IndexError, lambda: table.get(0, index))
            expect(IndexError, lambda: table.put(0, 1.0, index))
        for index in ((0.5, 0), ([0, 1], 0), (np.arange(2),), (True, 0), (None, 0)):
            expect(TypeError, lambda: table.get(0, index))
        expect(ValueError, lambda: table.get(0, np.s_[::-1]))
        expect(ValueError, lambda: table.get(0, np.s_[1:], 3))
        expect(ValueError, lambda: table.get(0, np.s_[1:], out=np.zeros((4, 3))))
        expect(ValueError, lambda: table.put(0, [1.0, 2.0], np.s_[:, 0]))
        expect(IndexError, lambda: table.get(world.size, np.s_[:, 0]))
        expect(IndexError, lambda: table.start_get(0, 13))
        expect(IndexError, lambda: table.start_get(0, 3, 10))
        expect(IndexError, lambda: table.start_get(world.size))
        many = world.array((3,) * 8, np.int8)
        expect(ValueError, lambda: many.get(0, (slice(None, None, 2),) * 8))
        expect(TypeError, lambda: array.fetch_add(0, 0, 1))
        expect(TypeError, lambda: world.array(4, np.int16).accumulate(0, [1]))
        expect(TypeError, lambda: array.accumulate(0, np.zeros(2, np.float32)))
        expect(TypeError, lambda: array.accumulate(0, [1.0], places=[0.0]))
        expect(ValueError, lambda: array.accumulate(0, [1.0], op="prod"))
        expect(ValueError, lambda: array.accumulate(0, [1.0], places=[0, 1]))
        expect(ValueError, lambda: array.accumulate(0, [1.0], index=1, places=[0]))
        for places in ([4], [-1], np.array([1 << 63], np.uint64)):
            expect(IndexError, lambda: array.accumulate(0, [1.0], places=places))
        expect(IndexError, lambda: array.accumulate(0, [1.0, 1.0], index=3))
        expect(IndexError, lambda: array.accumulate(world.size, [1.0]))
        expect(OverflowError, lambda: words.fetch_add(0, 0, 1 << 31))
        expect(IndexError, lambda: words.fetch_add(0, 4, 1))
        expect(ValueError, lambda: words.wait_until(0, "=", 0))
        expect(ValueError, lambda: words.wait_until(0, "==", 1, timeout=-1.0))
        expect(TypeError, lambda: world.array(3, object))
        expect(ValueError, lambda: world.array(-1))
        for shape in (1 << 50, 1 << 62, (1 << 40, 1 << 40)):
            expect(MemoryError, lambda: world.array(shape))
        expect(IndexError, lambda: world.broadcast(np.zeros(2), root=world.size))
        expect(ValueError, lambda: world.allreduce(np.zeros(2), "and"))
        expect(TypeError, lambda: world.allreduce(np.zeros(2, np.complex128)))
        expect(ValueError, lambda: world.alltoall(np.zeros(world.size + 1)))
        expect(IndexError, lambda: world.team([world.size]))
        expect(ValueError, lambda: world.team([0, 0]))
        expect(ValueError, lambda: box.send(0, b"123456789"))
        expect(IndexError, lambda: box.send(world.size, b""))
        expect(ValueError, lambda: world.mailbox(slots=3))
        if world.rank:
            expect(ValueError, lambda: box.receive())
        expect(ValueError, lambda: world.grid((16,), np.int8))
        expect(ValueError, lambda: world.grid((2, 2, 2, 2)))
        expect(ValueError, lambda: world.grid((16,), parts=[5]))
        expect(ValueError, lambda: world.grid((16, 16), halo=(1, 1)))
        expect(IndexError, lambda: grid.with_halo(1))
        expect(ValueError, grid.wait)
        expect(ValueError, lambda: world.map("S33", "i8"))
        pairs, texts = world.map("i8", "i8"), world.map("S3", "S3")
        expect(TypeError, lambda: list(pairs))
        expect(TypeError, lambda: texts.set([3], ["a"]))
        for keys in ((1, 2), []):
            expect(ValueError, lambda: pairs.owner(keys))
            expect(ValueError, lambda: pairs[keys])
        expect(ValueError, lambda: pairs._map.owner(np.zeros(2)))
        assert pairs.set([7], [8]) in (0, 1) and pairs[7] == 8
        for key, value in ((b"long", b"abc"), (b"abc", b"long")):
            expect(OverflowError, lambda: texts.set([key], [value]))
        expect(OverflowError, lambda: world.array(1, np.float32).put(0, [1e300]))
        expect(TypeError, lambda: box.send(0, np.array([None])))
        view = array.local
        expect(BufferError, array.free)
        del view
        array.free()
        expect(RuntimeError, lambda: array.put(0, [1.0]))
        expect(RuntimeError, lambda: array.local)
        failed = []
        def other():
            try:
                expect(RuntimeError, world.barrier)
                expect(RuntimeError, unsigned.free)
            except AssertionError as error:
                failed.append(error)
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert not failed, failed
        assert unsigned.fetch_add(0, 0, 0) == 0
        world.barrier()
        words.local[:] = 7
        kept.append((world, words, words.local))
        print("good")

    pelago.run(main)
    world, words, view = kept[0]
    assert (view == 7).all() and (words.local == 7).all()
    expect(RuntimeError, world.barrier)
    expect(RuntimeError, lambda: words.fetch_add(0, 0, 1))
"""


@pytest.mark.parametrize("ranks", [1, 2])
def test_misuse_gives_exceptions(job, ranks):
    assert job.lines(MISUSE, ranks=ranks) == ["good"] * ranks


def test_an_exception_ends_the_job_with_its_traceback(job):
    program = """
        import pelago

        def fails_here(world):
            raise ArithmeticError("the sum is wrong")

        def main(world):
            if world.rank == 1:
                fails_here(world)
            world.barrier()

        pelago.run(main)
    """
    ended = job.start(program, ranks=3)
    assert ended.returncode != 0
    assert "ArithmeticError: the sum is wrong" in ended.stderr and "in fails_here" in ended.stderr, ended.stderr


@pytest.mark.parametrize(("end", "code"), [("pass", 0), ("raise SystemExit(5)", 5), ("raise ValueError('of a child')", 1)])
def test_a_child_of_a_rank_ends_alone(real, end, code):
    program = f"""
        import os, sys
        import pelago

        def main(world):
            if world.rank == 0:
                if os.fork() == 0:
                    {end}
                    return
                print(os.waitstatus_to_exitcode(os.wait()[1]))
            world.barrier()
            print("good")

        pelago.run(main)
    """
    ended = real.start(program, ranks=2)
    assert ended.returncode == 0 and sorted(ended.stdout.split()) == [str(code), "good", "good"], ended
    assert ended.stderr.count("ValueError: of a child") == (code == 1) and "panic" not in ended.stderr


def test_a_child_of_a_rank_uses_no_object_of_the_rank(job):
    program = """
        import os, sys
        import numpy as np, pelago

        def main(world):
            words = world.array(1, np.int64)
            started = words.start_get(0)
            if os.fork() == 0:
                for act in (world.barrier, lambda: words.put(0, 1), started.wait, lambda: world.array(1), lambda: world.map()):
                    try:
                        act()
                    except RuntimeError as error:
                        assert "forked" in str(error), error
                    else:
                        raise AssertionError("a child acts as the rank")
                del words, started
                if world.rank == 1:
                    sys.exit(5)
                return
            code = os.waitstatus_to_exitcode(os.wait()[1])
            started.wait()
            world.barrier()
            print(code, words.local[0])

        pelago.run(main)
    """
    assert job.lines(program, ranks=2) == ["0 0", "5 0"]


def test_a_rank_that_exits_in_the_middle_of_the_job_ends_it(job):
    program = """
        import sys
        import pelago

        def main(world):
            if world.rank == 1:
                sys.exit(0)
            world.barrier()

        pelago.run(main)
    """
    ended = job.start(program, ranks=2)
    assert ended.returncode == 3, ended
    assert "rank 1 " in ended.stderr and "ended with exit code 0 in the middle of the job" in ended.stderr


@pytest.mark.parametrize("code", [7, 256 + 7])
def test_a_rank_that_exits_with_an_error_fails_the_job(job, code):
    program = """
        import sys
        import pelago

        def main(world):
            if world.rank == 1:
                sys.exit(int(sys.argv[1]))
            world.barrier()

        pelago.run(main)
    """
    ended = job.start(program, code, ranks=2)
    assert ended.returncode == 1, ended
    assert "rank 1 " in ended.stderr and "failed with exit code 7; the job was ended" in ended.stderr


def test_a_program_that_a_rank_starts_is_told_that_it_is_no_rank(real):
    program = """
        import os, subprocess, sys
        import pelago

        def main(world):
            if world.rank == 0:
                # Without and with files under the numbers of the launcher's descriptors.
                for kept in [(), [os.open("/dev/null", os.O_RDONLY) for _ in range(8)]]:
                    ended = subprocess.run([sys.executable, __file__], stderr=subprocess.PIPE, text=True, pass_fds=kept)
                    last = ended.stderr.splitlines()[-1]
                    print(ended.returncode, last.startswith("pelago.JobError: cannot take part in the job"), "is no rank" in last)
            world.barrier()

        pelago.run(main)
    """
    assert real.lines(program, ranks=2) == ["1 True True"] * 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("np.ones(4), 'sum'", "np.ones(4), 'prod'"),
        ("np.ones(4), 'sum'", "np.ones(4, 'i8'), 'sum'"),
        ("np.ones(4, 'u2'), 'max'", "np.ones(4, 'i2'), 'max'"),
    ],
)
def test_members_that_reduce_differently_are_told(job, one, other):
    program = f"""
        import numpy as np, pelago

        def main(world):
            for reduce in (world.allreduce, world.scan, world.reduce):
                try:
                    reduce({one}) if world.rank == 0 else reduce({other})
                    print("no error")
                except ValueError as error:
                    print("dtypes or operators" in str(error))
            # The members go on together.
            print((world.allreduce(np.ones(4)) == world.size).all())

        pelago.run(main)
    """
    assert job.lines(program, ranks=3) == ["True"] * 12


def test_an_operator_that_does_not_exist_is_refused_by_the_rank_alone(real):
    program = """
        import numpy as np, pelago

        def main(world):
            if world.rank == 0:
                try:
                    world.allreduce(np.ones(4), "and")
                except ValueError as error:
                    print("no operator" in str(error))
            world.barrier()

        pelago.run(main)
    """
    assert real.lines(program, ranks=2) == ["True"]


def test_a_process_takes_part_once(job):
    program = """
        import threading
        import pelago

        def main(world):
            refused = []
            def again():
                try:
                    pelago.run(lambda world: world.barrier())
                except RuntimeError as error:
                    refused.append(error)
            again()
            thread = threading.Thread(target=again)
            thread.start()
            thread.join()
            world.barrier()
            print(len(refused))

        pelago.run(main)
    """
    assert job.lines(program, ranks=2) == ["2", "2"]


def test_a_second_job_of_a_process_is_refused(job):
    program = """
        import os
        import pelago

        pelago.run(lambda world: world.barrier())
        opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(8)]
        try:
            pelago.run(lambda world: world.barrier())
        except pelago.JobError as error:
            print("takes part once" in str(error), all(os.fstat(file) for file in opened))
    """
    assert set(job.lines(program, ranks=2)) == {"True True"}


def test_a_deadlock_ends_the_job(job):
    program = """
        import numpy as np, pelago

        def main(world):
            world.array(1, np.int64).wait_until(0, "==", 1)

        pelago.run(main)
    """
    ended = job.start(program, ranks=2)
    assert ended.returncode not in (0, 4) or "--transport" in job.options, ended.stderr


def test_a_full_mailbox_does_not_delay_messages_to_others(job):
    lines = job.lines(
        """
        import numpy as np, pelago

        def main(world):
            box, flag = world.mailbox(slots=2, message_bytes=8), world.array(1, np.int64)
            world.barrier()
            if world.rank == 0:
                sent = 0
                while box.try_send(1, b"first"):
                    sent += 1
                # More ranks than a rank has sending ends for.
                for rank in range(2, world.size):
                    box.send(rank, b"other")
                flag.set(1, 0, sent)
            elif world.rank == 1:
                for _ in range(flag.wait_until(0, ">", 0)):
                    assert box.receive() == (0, b"first")
            else:
                assert box.receive() == (0, b"other")
            world.barrier()

        pelago.run(main)
        """,
        ranks=12,
    )
    assert lines == []


def test_other_threads_of_python_run_while_a_rank_waits(real):
    program = """
        import threading
        import numpy as np, pelago

        def main(world):
            word = world.array(1, np.int64)
            view, told = word.local, threading.Event()
            if world.rank == 0:
                # The thread runs only if the wait below has let go of the interpreter.
                threading.Thread(target=told.set).start()
                word.wait_until(0, "==", 1)
                assert told.is_set()
            else:
                word.set(0, 0, 1)
            world.barrier()
            print("good")

        pelago.run(main)
    """
    assert real.lines(program, ranks=2) == ["good"] * 2


def interruptible(line):
    """A process that SIGINT interrupts, even if the tests run in the background of a shell, which has them ignore it."""
    return subprocess.Popen(
        line,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_an_interrupt_ends_a_wait(tmp_path):
    program = """
import numpy as np, pelago

def main(world):
    word = world.array(1, np.int64)
    try:
        print("waits", flush=True)
        word.wait_until(0, "==", 1)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        raise

pelago.run(main)
"""
    path = tmp_path / "waits.py"
    path.write_text(program)
    with interruptible([sys.executable, path]) as rank:
        assert rank.stdout.readline() == "waits\n"
        rank.send_signal(signal.SIGINT)
        output, error = rank.communicate(timeout=30)
    assert output == "interrupted\n" and "KeyboardInterrupt" in error
    assert rank.returncode in (130, -signal.SIGINT)


def test_an_interrupt_of_the_launcher_ends_the_job(tmp_path):
    path = tmp_path / "waits.py"
    path.write_text(
        "import pelago\n"
        "def main(world):\n"
        "    print('waits', flush=True)\n"
        "    world.barrier() if world.rank else world.array(1, 'i8').wait_until(0, '==', 1)\n"
        "pelago.run(main)\n"
    )
    line = [COMMAND, "run", "-n", "2", sys.executable, path]
    with interruptible(line) as launcher:
        assert launcher.stdout.readline() == "waits\n"
        launcher.send_signal(signal.SIGINT)
        launcher.communicate(timeout=30)
    assert launcher.returncode == 130


def test_a_signal_handler_may_raise_but_not_call(real):
    program = """
        import os, signal, threading
        import numpy as np, pelago

        def main(world):
            word, refused = world.array(1, np.int64), []

            def handler(number, frame):
                try:
                    world.progress()
                except RuntimeError:
                    refused.append(number)
                raise InterruptedError("enough")

            signal.signal(signal.SIGUSR1, handler)
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
            try:
                word.wait_until(0, "==", 1)
            except InterruptedError:
                print("good" if refused else "called")

        pelago.run(main)
    """
    assert real.lines(program, ranks=1) == ["good"]
