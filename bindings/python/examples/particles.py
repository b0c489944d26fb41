"""Tutorial: particles in a periodic box, cut into one slab per rank; those that leave a slab travel to its owner by a mailbox."""

import numpy as np

import pelago

PARTICLES = 10_000
STEPS = 50
BATCH = 64
PARTICLE = np.dtype([("id", "i8"), ("x", "f8"), ("v", "f8")])


def main(world: pelago.World) -> None:
    # Every rank makes all particles from one seed, and keeps those of its slab.
    random = np.random.default_rng(7)
    every = np.zeros(PARTICLES, PARTICLE)
    every["id"], every["x"], every["v"] = np.arange(PARTICLES), random.random(PARTICLES), random.normal(0, 0.02, PARTICLES)
    owner = (every["x"] * world.size).astype(int)
    mine = every[owner == world.rank]

    # One inbox on every rank, of as many slots as all can send at once, and one array of counts.
    batches = PARTICLES // BATCH + world.size
    slots = 1 << (2 * batches - 1).bit_length()
    inbox = world.mailbox(slots=slots, message_bytes=BATCH * PARTICLE.itemsize)

    moved = 0
    for _ in range(STEPS):
        mine["x"] = (mine["x"] + mine["v"]) % 1.0
        owner = (mine["x"] * world.size).astype(int)
        counts = np.zeros(world.size, np.int64)
        for rank in range(world.size):
            if rank != world.rank:
                leaving = np.ascontiguousarray(mine[owner == rank])
                for first in range(0, len(leaving), BATCH):
                    inbox.send(rank, leaving[first : first + BATCH].view(np.uint8))
                    counts[rank] += 1
                moved += len(leaving)
        # How many messages come is known from a reduction, so that nobody waits for one that does not.
        expected = int(world.allreduce(counts)[world.rank])
        arrived = [np.frombuffer(inbox.receive()[1], PARTICLE) for _ in range(expected)]
        mine = np.concatenate([mine[owner == world.rank], *arrived])
        world.compute(len(mine) * 2e-9)
        world.barrier()  # no message of the next step comes before all of this one are received

    count = int(world.allreduce(len(mine)))
    moved = int(world.allreduce(moved))
    # The same for every number of ranks: the particles in the order of their numbers.
    sums = np.zeros(PARTICLES)
    sums[mine["id"]] = mine["x"]
    whole = world.allreduce(sums)
    if world.rank == 0:
        print(f"{count} particles after {STEPS} steps, mean place {whole.mean():.9f}")
        if world.size > 1:
            print(f"{moved} moved to another rank")


pelago.run(main)
