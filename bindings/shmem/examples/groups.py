# What shmem4py does with this library, group by group; each PE prints "good".
# pelago run -n 4 python3 groups.py
import numpy as np
from shmem4py import shmem

me, n = shmem.my_pe(), shmem.n_pes()
right, left = (me + 1) % n, (me - 1) % n

# Queries and threads.
assert shmem.info_get_version() == (1, 6) and shmem.info_get_name()
assert shmem.query_thread() in list(shmem.THREAD)
assert shmem.pe_accessible(right) and not shmem.pe_accessible(n)

# Memory.
inbox = shmem.zeros(4, dtype="i8")
assert shmem.addr_accessible(inbox, right) and not shmem.addr_accessible(np.zeros(1), right)
mapped = shmem.ptr(inbox, me)
assert mapped is not None and mapped.shape == (4,)
hinted = shmem.array([1.5, 2.5], hints=shmem.MALLOC.ATOMICS_REMOTE)
assert (hinted == [1.5, 2.5]).all()
ordinary = shmem.ones((2, 3), dtype="f4")
assert ordinary.sum() == 6

# Puts and gets: contiguous, strided, without waiting.
shmem.put(inbox, np.arange(4, dtype="i8") + 10 * me, right)
shmem.barrier_all()
assert (inbox == np.arange(4) + 10 * left).all()
got = np.zeros(4, dtype="i8")
shmem.get(got, inbox, right)
assert (got == np.arange(4) + 10 * me).all()
shmem.barrier_all()
strided = shmem.zeros(8, dtype="i4")
shmem.iput(strided, np.arange(8, dtype="i4") + me, right, tst=2, sst=2, size=4)
shmem.barrier_all()
assert (strided[::2] == np.arange(0, 8, 2) + left).all() and (strided[1::2] == 0).all()
back = np.zeros(8, dtype="i4")
shmem.iget(back, strided, right, tst=1, sst=2, size=4)
assert (back[:4] == np.arange(0, 8, 2) + me).all()
shmem.barrier_all()
shmem.put_nbi(inbox, np.full(4, me, dtype="i8"), right)
shmem.quiet()
shmem.barrier_all()
later = shmem.zeros(4, dtype="i8")
shmem.get_nbi(later, inbox, right)
shmem.quiet()
assert (later == me).all()
shmem.fence()
shmem.barrier_all()

# Atomics: standard, extended, bitwise, without waiting.
counter = shmem.zeros(1, dtype="i8")
shmem.atomic_add(counter, 2, 0)
shmem.atomic_inc(counter, 0)
shmem.quiet()
shmem.barrier_all()
assert shmem.atomic_fetch(counter, 0) == 3 * n
shmem.barrier_all()
word = shmem.zeros(1, dtype="u8")
assert shmem.atomic_swap(word, 6, right) == 0
assert shmem.atomic_compare_swap(word, 6, 12, right) == 6
assert shmem.atomic_fetch_add(word, 1, right) == 12 and shmem.atomic_fetch_inc(word, right) == 13
assert shmem.atomic_fetch_or(word, 1, right) == 14 and shmem.atomic_fetch_and(word, 7, right) == 15
assert shmem.atomic_fetch_xor(word, 2, right) == 7
for change, value in [(shmem.atomic_or, 8), (shmem.atomic_and, 12), (shmem.atomic_xor, 1)]:
    change(word, value, right)
    shmem.quiet()
shmem.barrier_all()
assert word[0] == 13
shmem.barrier_all()
old = shmem.zeros(1, dtype="u8")
shmem.atomic_fetch_add_nbi(old, word, 5, right)
shmem.quiet()
assert old[0] == 13
shmem.atomic_set(word, 4, right)
shmem.quiet()
shmem.barrier_all()
assert shmem.atomic_fetch_op(word, 1, shmem.AMO.ADD, right) == 4
shmem.barrier_all()

# Signals, waits and tests.
flag = shmem.zeros(1, dtype="i8")
shmem.atomic_set(flag, 7, right)
shmem.wait_until(flag, shmem.CMP.EQ, 7)
assert shmem.test(flag, shmem.CMP.GE, 7) and not shmem.test(flag, shmem.CMP.LT, 7)
flags = shmem.zeros(3, dtype="i4")
for index in range(3):
    shmem.atomic_set(flags[index:index + 1], index + 1, right)
shmem.wait_until_all(flags, shmem.CMP.GT, 0)
assert shmem.wait_until_any(flags, shmem.CMP.EQ, 2) == 1
assert sorted(shmem.wait_until_some(flags, shmem.CMP.GE, 2)) == [1, 2]
shmem.wait_until_all_vector(flags, shmem.CMP.EQ, [1, 2, 3])
assert shmem.test_all(flags, shmem.CMP.NE, 0) and shmem.test_any(flags, shmem.CMP.EQ, 3) == 2
signal = shmem.new_signal()
data = shmem.zeros(2, dtype="f8")
shmem.put_signal(data, np.array([me, 0.5]), right, signal, 3, shmem.SIGNAL.SET)
assert shmem.signal_wait_until(signal, shmem.CMP.EQ, 3) == 3 and shmem.signal_fetch(signal) == 3
assert (data == [left, 0.5]).all()
shmem.barrier_all()
shmem.put_signal_nbi(data, np.array([me, 1.5]), right, signal, 2, shmem.SIGNAL.ADD)
shmem.signal_wait_until(signal, shmem.CMP.EQ, 5)
assert (data == [left, 1.5]).all()
shmem.barrier_all()
shmem.del_signal(signal)

# Collective operations.
source = shmem.full(3, me, dtype="f8")
total = shmem.zeros(3, dtype="f8")
every = shmem.zeros(3 * n, dtype="f8")
shmem.sum_reduce(total, source)
assert (total == n * (n - 1) / 2).all()
shmem.sync_all()
shmem.max_reduce(total, source)
assert (total == n - 1).all()
shmem.sync_all()
shmem.min_reduce(total, source)
assert (total == 0).all()
bits = shmem.full(1, 1 << me, dtype="u4")
found = shmem.zeros(1, dtype="u4")
shmem.or_reduce(found, bits)
assert found[0] == (1 << n) - 1
shmem.sync_all()
shmem.fcollect(every, source)
assert (every == np.repeat(np.arange(n), 3)).all()
shmem.sync_all()
own = me % 2 + 1
shmem.collect(every, source, own)
assert (every[:sum(pe % 2 + 1 for pe in range(n))] == np.concatenate([np.full(pe % 2 + 1, pe) for pe in range(n)])).all()
shmem.sync_all()
shmem.broadcast(total, source, n - 1)
assert (total == n - 1).all()
outgoing = shmem.array([100.0 * me + pe for pe in range(n)])
incoming = shmem.zeros(n, dtype="f8")
shmem.sync_all()
shmem.alltoall(incoming, outgoing, 1)
assert (incoming == 100 * np.arange(n) + me).all()
shmem.barrier_all()

# Teams and contexts.
team = shmem.Team(shmem.TEAM_WORLD).split_strided(0, 1, n)
assert team.n_pes() == n and team.my_pe() == me and team.translate_pe(right) == right
team.sync()
shmem.prod_reduce(total, shmem.full(3, 2.0, dtype="f8"), team=team)
assert (total == 2.0 ** n).all()
ctx = team.create_ctx()
shmem.put(inbox, np.full(4, me, dtype="i8"), right, ctx=ctx)
ctx.fence()
ctx.quiet()
shmem.barrier_all()
assert (inbox == left).all()
ctx.destroy()
team.destroy()
with shmem.Ctx.create() as ctx:
    assert shmem.atomic_fetch(inbox[:1], me, ctx=ctx) == left
shmem.barrier_all()

# Locks.
lock = shmem.Lock()
shared = shmem.zeros(1, dtype="i8")
for _ in range(10):
    with lock:
        value = np.zeros(1, dtype="i8")
        shmem.get(value, shared, 0)
        shmem.put(shared, value + 1, 0)
        shmem.quiet()
shmem.barrier_all()
shmem.get(got[:1], shared, 0)
assert got[0] == 10 * n
shmem.barrier_all()
lock.destroy()
print("good")
