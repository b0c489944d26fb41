"""Tutorial: the heat equation on a square plate, one block of the plate per rank, with a halo update before each step."""

import sys

import numpy as np

import pelago

CELLS = 64
STEPS = 200


def main(world: pelago.World) -> None:
    # Cut the plate into one block per rank, each with a halo of one cell. The upper edge is hot.
    plate = world.grid((CELLS, CELLS), np.float64, halo=1)
    now, block = plate.with_halo(), plate.local()
    rows, columns = plate.indices()
    block[...] = np.where(rows == 0, 100.0, 0.0)
    edge = (rows == 0) | (rows == CELLS - 1) | (columns == 0) | (columns == CELLS - 1)

    for _ in range(STEPS):
        plate.update()  # the halo holds the neighbours' borders
        mean = (now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:]) / 4.0
        block[...] = np.where(edge, block, block + 0.8 * (mean - block))

    heat = world.allreduce(block.sum())
    if world.rank == 0:
        print(f"heat on {world.size} ranks after {STEPS} steps: {heat:.6f}")
    if "--bits" in sys.argv:
        # A checksum of the bits of all cells and their places, which is the same for every order and every number of ranks.
        places = (rows * CELLS + columns).astype(np.uint64)
        bits = np.ascontiguousarray(block).view(np.uint64)
        checksum = world.allreduce(np.sum(bits * (2 * places + 1), dtype=np.uint64))
        if world.rank == 0:
            print(f"bits {int(checksum):016x}")


pelago.run(main)
