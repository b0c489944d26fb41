# What shmem4py does with this library: memory, puts, gets, atomics, waits, collective operations, teams, contexts, locks.
# pelago run -n 4 python3 groups.py
from shmem4py import shmem
import numpy as np

me, n = shmem.my_pe(), shmem.n_pes()
right, left = (me + 1) % n, (me - 1) % n

# Memory, puts and gets.
inbox = shmem.zeros(4, dtype="i8")
shmem.put(inbox, np.arange(4, dtype="i8") + 10 * me, right)
shmem.barrier_all()
assert (inbox == np.arange(4) + 10 * left).all()
got = np.zeros(4, dtype="i8")
shmem.get(got, inbox, right)
assert (got == np.arange(4) + 10 * me).all()
shmem.barrier_all()

# Atomics.
counter = shmem.zeros(1, dtype="i8")
shmem.atomic_add(counter, 2, 0)
shmem.barrier_all()
assert shmem.atomic_fetch(counter, 0) == 2 * n

# Waits and signals.
flag = shmem.zeros(1, dtype="i8")
shmem.atomic_set(flag, 7, right)
shmem.wait_until(flag, shmem.CMP.EQ, 7)

# Collective operations.
source = shmem.full(3, me, dtype="f8")
total = shmem.zeros(3, dtype="f8")
shmem.sum_reduce(total, source)
assert (total == n * (n - 1) / 2).all()
every = shmem.zeros(3 * n, dtype="f8")
shmem.fcollect(every, source)
assert (every == np.repeat(np.arange(n), 3)).all()
shmem.broadcast(total, source, n - 1)
assert (total == n - 1).all()
shmem.barrier_all()

# Teams, contexts, locks.
team = shmem.TEAM_WORLD.split_strided(0, 1, n)
assert team.n_pes() == n
team.sync()
team.destroy()
ctx = shmem.Ctx.create()
shmem.put(inbox, np.full(4, me, dtype="i8"), right, ctx=ctx)
ctx.quiet()
shmem.barrier_all()
assert (inbox == left).all()
ctx.destroy()
lock = shmem.Lock()
lock.acquire()
lock.release()
lock.destroy()
shmem.barrier_all()
print("good")
