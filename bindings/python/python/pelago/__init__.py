"""One-sided communication (PGAS): processes that read, write and atomically update each other's NumPy arrays.

    import numpy as np, pelago

    def main(world):
        inbox = world.array(1, np.int64)                    # collective: one element on every rank
        right = (world.rank + 1) % world.size
        sent = inbox.put(right, world.rank)
        inbox.fetch_add(right, 0, 1, after=sent)
        world.barrier()
        print(f"rank {world.rank} holds {inbox.local[0]}")

    pelago.run(main)

`pelago run -n 4 python3 program.py` starts four ranks, `pelago sim` simulates them, and `python3 program.py` is a job of one.
"""

from pelago._array import PendingGet, SymmetricArray
from pelago._device import DeviceArray
from pelago._grid import Grid
from pelago._map import GlobalMap
from pelago._pelago import Handle, JobError, PeerLost, PelagoError, run
from pelago._simulate import simulate
from pelago._team import Team
from pelago._world import Mailbox, World

__all__ = [
    "DeviceArray",
    "GlobalMap",
    "Grid",
    "Handle",
    "JobError",
    "Mailbox",
    "PeerLost",
    "PelagoError",
    "PendingGet",
    "SymmetricArray",
    "Team",
    "World",
    "run",
    "simulate",
]
