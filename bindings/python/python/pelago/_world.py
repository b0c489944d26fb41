"""The job, seen from one rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pelago import _pelago
from pelago._array import SymmetricArray, integer, plain
from pelago._device import DeviceArray, register
from pelago._grid import Grid
from pelago._map import GlobalMap
from pelago._team import Team


class Mailbox:
    """A bounded inbox with many senders; made by :meth:`World.mailbox`. Messages of one sender arrive in the order in which they were sent."""

    def __init__(self, mailbox: _pelago.Mailbox) -> None:
        self._mailbox = mailbox

    @property
    def message_bytes(self) -> int:
        """The longest message in bytes."""
        return self._mailbox.message_bytes

    def send(self, to: int, message: Any) -> None:
        """Sends bytes, or a contiguous array; waits for a slot. The object may be changed when the call returns."""
        self._mailbox.send(to, _checked(message))

    def try_send(self, to: int, message: Any) -> bool:
        """Sends bytes if a slot is free; whether they were sent."""
        return self._mailbox.try_send(to, _checked(message))

    def receive(self, timeout: float | None = None) -> tuple[int, bytes]:
        """The next message, and its sender; waits for it. Raises TimeoutError after `timeout` seconds."""
        sender, message = self._mailbox.receive(timeout)
        return sender, bytes(message)

    def flush(self) -> None:
        """Waits until all messages that this rank has sent are in the memory of their receivers."""
        self._mailbox.flush()


def _checked(message: Any) -> Any:
    if isinstance(message, np.ndarray):
        plain(message.dtype)
    return message


class World(Team):
    """The job, seen from one rank: given to the function of :func:`pelago.run`, and used in its thread alone.

    Collective operations (arrays, teams, mailboxes, grids, maps, and those of :class:`Team`) are called by every rank in the same order with the same arguments.
    """

    def __init__(self, world: _pelago.World) -> None:
        super().__init__(world.all())
        self._world = world

    @property
    def rank(self) -> int:
        """The number of this rank."""
        return self._world.rank

    def array(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.float64) -> SymmetricArray:
        """Zeros on every rank, at the same place of its memory. Collective."""
        return SymmetricArray(self._world, shape, dtype)

    def device_array(
        self, shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.float64, *, device: int = 0
    ) -> DeviceArray:
        """Zeros on a GPU of every rank, `device` of this one's. Collective: if a rank cannot, all raise."""
        return DeviceArray(self._world, shape, dtype, device)

    def register(self, array: Any) -> DeviceArray:
        """Makes contiguous memory that another library has on a GPU (`__cuda_array_interface__` or DLPack) an array of all ranks, of equal lengths. No copy.

        The process keeps `array` until it ends, as other ranks of the host may have opened its memory. Collective: if a rank's
        array is refused, all raise.
        """
        return register(self._world, array)

    def team(self, ranks: Sequence[int]) -> Team | None:
        """The team of some ranks, in this order; None for a rank that is no member. Collective over all ranks, with the same ranks."""
        team = self._world.team([integer(rank) for rank in ranks])
        return None if team is None else Team(team)

    def mailbox(self, receiver: int | None = None, *, slots: int = 64, message_bytes: int = 1024) -> Mailbox:
        """A mailbox of one receiver, or of every rank. `slots` is a power of two. Collective."""
        return Mailbox(self._world.mailbox(receiver, slots, message_bytes))

    def grid(
        self,
        shape: int | Sequence[int],
        dtype: npt.DTypeLike = np.float64,
        *,
        halo: int | Sequence[tuple[int, int]] = 1,
        periodic: bool | Sequence[bool] = False,
        parts: Sequence[int] | None = None,
        fields: int = 1,
        neighbours: str = "faces",
    ) -> Grid:
        """Zeros on a grid of one to three dimensions, one block for each rank.

        `halo`: a width, or a low and a high one for each dimension; `parts`: blocks of each dimension, by default those of the least surface; `neighbours`: whose cells
        the halo has, across `faces`, `edges` or `corners`; elements have 4, 8 or 16 bytes. Collective.
        """
        return Grid(
            self._world, shape, dtype, halo=halo, periodic=periodic, parts=parts, fields=fields, neighbours=neighbours
        )

    def map(
        self,
        key: npt.DTypeLike = np.int64,
        value: npt.DTypeLike = np.int64,
        *,
        buckets: int = 1024,
        heap_bytes: int = 1 << 20,
    ) -> GlobalMap:
        """A map with `buckets` buckets and `heap_bytes` bytes of memory on each rank. Collective."""
        return GlobalMap(self._world, key, value, buckets, heap_bytes)

    def fence(self) -> None:
        """Later operations to a rank take effect after earlier ones to it."""
        self._world.fence()

    def quiet(self) -> None:
        """Waits until all operations of this rank have taken effect."""
        self._world.quiet()

    def flush(self, rank: int) -> None:
        """Waits until all operations of this rank to `rank` have taken effect."""
        self._world.flush(rank)

    def progress(self) -> bool:
        """Lets the library move; waits do so by themselves."""
        return self._world.progress()

    def maps(self, rank: int) -> bool:
        """Whether loads and stores reach the memory of `rank`: operations on it are then done when their call returns."""
        return self._world.maps(rank)

    def now(self) -> float:
        """Seconds on the clock of this rank; virtual ones in a simulation."""
        return self._world.now()

    def compute(self, seconds: float) -> None:
        """Says that the program computes for so long: time passes in a simulation."""
        self._world.compute(seconds)

    def __repr__(self) -> str:
        return f"World(rank={self.rank}, size={self.size})"
