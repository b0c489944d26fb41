//! The links of a block for one route, and the state of an exchange over them.
//!
//! **Fields on devices.** Devices pack and unpack by one launch for all links and fields of a round: borders when the round begins, as packed ones
//! need no credit; halos when the last of them has arrived, or, for a face that is waited for alone, when that one has. The bytes pass through one
//! buffer of the host.

pub(crate) mod link;
pub(crate) mod queued;

use std::ops::Range;

use pelago_rma::{DeviceBlocks, Error, Fault, Pod, Result, World};

use self::link::{Cut, ExchangeMemory, FLAG_WORDS, Link, LinkBuffers, LinkPosition, LinkProgress, pieces};
use crate::field::Field;
use crate::grid::array::Array;
use crate::grid::direction::{
    BORDERS, Direction, DirectionSet, Side, across, count, distance, in_order, leading, number, of_number, opposite,
};
use crate::grid::layout::Layout;
use crate::grid::nodes::Nodes;
use crate::settings::{Halo, Route};

/// Inboxes and outboxes begin at multiples of a cache line.
const ALIGN_BYTES: usize = 64;

/// The links of one route.
pub(crate) struct Exchange<'w, T: Pod, const D: usize> {
    pub(crate) links: Vec<Link<'w, D>>,
    pub(crate) memory: ExchangeMemory<'w, T>,
    rounds: usize,
    /// The current round of the exchange.
    round: usize,
    /// Whether some field is on a device.
    is_on_device: bool,
    staged: Staged,
}

/// Data that devices pack or unpack by one launch: the blocks, the cells of the outbox or inbox of each, and the bytes of all, one after the other.
#[derive(Default)]
struct Staged {
    parts: Vec<DeviceBlocks>,
    places: Vec<Range<usize>>,
    bytes: Vec<u8>,
}

impl<'w, T: Pod, const D: usize> Exchange<'w, T, D> {
    /// Makes the links of this rank. Collective.
    pub(crate) fn new(world: &'w World, arrays: &[Array<D>], halo: Halo, route: Route, is_on_device: bool) -> Result<Self> {
        let nodes = *arrays[0].template().nodes();
        let router = Router { nodes, halo, route };
        let (buffers, cells) = router.buffers::<T>(arrays);
        let memory = ExchangeMemory { world, cells: world.alloc(cells)?, flags: world.alloc(count::<D>() * FLAG_WORDS)? };
        let place = nodes.place(world.rank());
        let links: Vec<_> = in_order(place, router.distance_max())
            .into_iter()
            .filter_map(|direction| {
                let there = nodes.neighbour(place, direction)?;
                let cut = |direction: Direction<D>| move |layout: &Layout<D>| router.cut(layout, place, direction);
                let back = move |layout: &Layout<D>| router.cut(layout, there, opposite(direction));
                let pieces = pieces(arrays, [place, there], cut(direction), back);
                let neighbour = nodes.rank(there);
                let position = LinkPosition { direction, written: router.written(direction), round: router.round(direction) };
                let link = Link::new(world, neighbour, position, pieces, buffers[number(direction)], is_on_device);
                (!link.pieces.is_empty()).then_some(link)
            })
            .collect();
        let rounds = links.iter().map(|link| link.position.round + 1).max().unwrap_or(0);
        Ok(Self { links, memory, rounds, round: rounds, is_on_device, staged: Staged::default() })
    }

    /// Starts an exchange over the links for which `takes_part` is true, and sends the borders that may be sent.
    pub(crate) fn start(&mut self, fields: &mut [Field<'w, T, D>], takes_part: impl Fn(&Link<'w, D>) -> bool) -> Result<()> {
        let started = self.try_start(fields, takes_part);
        self.told(started)
    }

    fn try_start(&mut self, fields: &mut [Field<'w, T, D>], takes_part: impl Fn(&Link<'w, D>) -> bool) -> Result<()> {
        self.round = 0;
        for link in &mut self.links {
            link.progress = takes_part(link).then(LinkProgress::default);
            if link.is_active() {
                // Before any neighbour gets credit to write there.
                fields.iter_mut().for_each(|field| field.mark(link.position.written | BORDERS));
            }
        }
        for link in self.links.iter_mut().filter(|link| link.is_active()) {
            link.begin(&self.memory)?;
        }
        self.pack_by_devices(fields)?;
        for link in self.links.iter_mut().filter(|link| link.is_active() && link.position.round == 0) {
            if link.may_send(&self.memory) {
                link.send(&self.memory, fields)?;
            }
        }
        Ok(())
    }

    /// Waits until the halo of a direction has arrived, or, without a direction, until the exchange is over.
    ///
    /// Fails if any rank has failed, whether it is a neighbour or not: a neighbour that waits for the failed rank sends nothing more. Fails also if
    /// the exchange of a neighbour has failed.
    pub(crate) fn wait(&mut self, fields: &mut [Field<'w, T, D>], wanted: Option<Direction<D>>) -> Result<()> {
        let waited = self.try_wait(fields, wanted);
        self.told(waited)
    }

    fn try_wait(&mut self, fields: &mut [Field<'w, T, D>], wanted: Option<Direction<D>>) -> Result<()> {
        let world = self.memory.world;
        loop {
            let moved = self.advance(fields, wanted)?;
            if self.round == self.rounds || wanted.is_some_and(|direction| self.has_arrived(direction)) {
                return Ok(());
            }
            if !moved {
                // A wait reports only failures that occur during the wait.
                if world.losses() > 0
                    && let Some(&rank) = world.lost().first()
                {
                    return Err(Fault::PeerLost(rank).into());
                }
                self.check_neighbours()?;
                self.check_sent()?;
                let ready = |_: u64| {
                    let unpacks = self.unpacks_now(fields, wanted);
                    let may_take = |link: &Link<'w, D>| unpacks || !self.is_on_device || !is_by_device(link, fields);
                    let may_move =
                        |link: &Link<'w, D>| link.may_send(&self.memory) || link.may_receive(&self.memory) && may_take(link);
                    self.current().any(may_move)
                        || self.current().all(|link| link.is_over(&self.memory))
                        || self.is_broken()
                        || self.check_sent().is_err()
                };
                world.wait_for_value("a halo update", None, self.memory.flags.local(), 0, ready)?;
            }
        }
    }

    /// Waits until no transport reads a field any more. After that nothing of the exchange is in flight.
    pub(crate) fn end(&mut self, fields: &mut [Field<'w, T, D>]) -> Result<()> {
        let ended = self.links.iter_mut().filter(|link| link.is_active()).try_for_each(Link::end);
        self.told(ended)?;
        for link in self.links.iter_mut().filter(|link| link.is_active()) {
            link.progress = None;
            fields.iter_mut().for_each(|field| field.unmark(link.position.written | BORDERS));
        }
        Ok(())
    }

    /// Executes a whole exchange over the links for which `takes_part` is true.
    pub(crate) fn exchange(&mut self, fields: &mut [Field<'w, T, D>], takes_part: impl Fn(&Link<'w, D>) -> bool) -> Result<()> {
        self.start(fields, takes_part)?;
        self.wait(fields, None)?;
        self.end(fields)
    }

    /// Fails if a border could not be sent: the neighbour waits for it, and learns of the failure from this rank alone.
    fn check_sent(&self) -> Result<()> {
        self.links.iter().try_for_each(Link::check_sent)
    }

    /// Whether the exchange of a neighbour has failed: it sends nothing more.
    fn is_broken(&self) -> bool {
        self.links.iter().any(|link| link.is_broken(&self.memory))
    }

    /// Fails if the exchange of a neighbour has failed.
    pub(crate) fn check_neighbours(&self) -> Result<()> {
        if self.is_broken() { Err(Error::Invalid("the exchange of a neighbour has failed")) } else { Ok(()) }
    }

    /// Makes the exchanges of all neighbours fail. Not if a rank or the job has failed: all notice that themselves.
    pub(crate) fn tell_broken(&self) {
        let world = self.memory.world;
        if world.losses() == 0 && world.fault().is_none() {
            // A put that fails is reported by the next wait of this rank.
            let _told = self.links.iter().try_for_each(|link| link.tell_broken(&self.memory));
        }
    }

    /// Tells neighbours of a failure, and waits until nothing of the exchange is in flight. The returned error already reports failed operations of the
    /// exchange: the next barrier must not report them again. Failures of other operations of the program are left to it.
    fn told(&self, ended: Result<()>) -> Result<()> {
        if ended.is_err() {
            self.tell_broken();
            let _at_fault = self.memory.world.await_quiet();
            self.links.iter().for_each(Link::dismiss_failures);
            self.memory.world.dismiss_lost();
        }
        ended
    }

    /// Whether the halo of a direction has arrived, or none is expected from there.
    pub(crate) fn has_arrived(&self, direction: Direction<D>) -> bool {
        let has_arrived = |link: &Link<'w, D>| link.progress.is_none_or(|progress| progress.is_received);
        self.links.iter().all(|link| link.position.direction != direction || has_arrived(link))
    }

    /// Advances the links as far as possible, round by round; returns whether anything was sent or received.
    fn advance(&mut self, fields: &mut [Field<'w, T, D>], wanted: Option<Direction<D>>) -> Result<bool> {
        let mut moved = false;
        let is_on_device = self.is_on_device;
        while self.round < self.rounds {
            self.pack_by_devices(fields)?;
            if self.unpacks_now(fields, wanted) {
                self.unpack_by_devices(fields)?;
            }
            let mut is_over = true;
            for link in self.links.iter_mut().filter(|link| link.is_active() && link.position.round == self.round) {
                if link.may_send(&self.memory) {
                    link.send(&self.memory, fields)?;
                    moved = true;
                }
                if link.may_receive(&self.memory) && (!is_on_device || link.has_unpacked || !is_by_device(link, fields)) {
                    link.receive(&self.memory, fields)?;
                    moved = true;
                }
                is_over &= link.is_over(&self.memory);
            }
            if !is_over {
                break;
            }
            self.round += 1;
        }
        Ok(moved)
    }

    /// Lets devices pack the borders of the current round that may be sent, into their outboxes, by one launch.
    fn pack_by_devices(&mut self, fields: &[Field<'w, T, D>]) -> Result<()> {
        if !self.is_on_device {
            return Ok(());
        }
        let Self { links, memory, round, staged, .. } = self;
        let is_sent_now = |link: &&mut Link<'w, D>| link.is_active() && link.position.round == *round && link.may_send(memory);
        staged.clear();
        for link in links.iter_mut().filter(is_sent_now) {
            if link.packed_by_devices(fields).next().is_some() {
                link.empty_outbox()?;
                staged.extend(link.packed_by_devices(fields));
            }
        }
        let Staged { parts, places, bytes } = staged;
        let Some(first) = parts.first() else { return Ok(()) };
        bytes.resize(parts.iter().map(DeviceBlocks::bytes).sum::<u64>() as usize, 0);
        first.memory.gather(parts, bytes).map_err(|_| failed(fields))?;
        let mut rest = &bytes[..];
        for place in places {
            let (mine, others) = rest.split_at(place.len() * size_of::<T>());
            memory.cells.local().range(place.clone()).cells().write(mine);
            rest = others;
        }
        Ok(())
    }

    /// Lets devices unpack the halos of the current round that have arrived, from their inboxes, by one launch.
    fn unpack_by_devices(&mut self, fields: &[Field<'w, T, D>]) -> Result<()> {
        let Self { links, memory, round, staged, .. } = self;
        staged.clear();
        for link in links.iter_mut().filter(|link| link.is_active() && link.position.round == *round) {
            if is_by_device(link, fields) && link.may_receive(memory) {
                staged.extend(link.unpacked_by_devices(fields));
                link.has_unpacked = true;
            }
        }
        let Staged { parts, places, bytes } = staged;
        let Some(first) = parts.first() else { return Ok(()) };
        bytes.resize(parts.iter().map(DeviceBlocks::bytes).sum::<u64>() as usize, 0);
        let mut rest = &mut bytes[..];
        for place in places {
            let (mine, others) = rest.split_at_mut(place.len() * size_of::<T>());
            memory.cells.local().range(place.clone()).cells().read(mine);
            rest = others;
        }
        first.memory.scatter(parts, bytes).map_err(|_| failed(fields))
    }

    /// Whether devices unpack arrived halos now: all of the round have arrived, or the one that is waited for alone has.
    fn unpacks_now(&self, fields: &[Field<'w, T, D>], wanted: Option<Direction<D>>) -> bool {
        if !self.is_on_device {
            return false;
        }
        let mut awaited = self.current().filter(|link| !link.is_received() && is_by_device(link, fields)).peekable();
        let is_wanted = |link: &Link<'w, D>| wanted == Some(link.position.direction) && link.may_receive(&self.memory);
        awaited.peek().is_some() && (self.current().any(is_wanted) || awaited.all(|link| link.may_receive(&self.memory)))
    }

    /// The links of the current round.
    fn current(&self) -> impl Iterator<Item = &Link<'w, D>> {
        self.links.iter().filter(|link| link.is_active() && link.position.round == self.round)
    }
}

impl Staged {
    fn clear(&mut self) {
        self.parts.clear();
        self.places.clear();
    }

    fn extend(&mut self, all: impl Iterator<Item = (DeviceBlocks, Range<usize>)>) {
        for (part, place) in all {
            self.parts.push(part);
            self.places.push(place);
        }
    }
}

/// Whether devices unpack some of the data of a link.
fn is_by_device<'w, T: Pod, const D: usize>(link: &Link<'w, D>, fields: &[Field<'w, T, D>]) -> bool {
    link.unpacked_by_devices(fields).next().is_some()
}

/// The error that a device failed, without saying which of several.
fn failed<T: Pod, const D: usize>(fields: &[Field<'_, T, D>]) -> Error {
    fields.iter().find(|field| field.device().is_some()).expect("some field is on a device").failed()
}

/// The links of a route, and the cells that they transfer.
#[derive(Clone, Copy)]
struct Router<const D: usize> {
    nodes: Nodes<D>,
    halo: Halo,
    route: Route,
}

impl<const D: usize> Router<D> {
    fn distance_max(&self) -> usize {
        if self.route == Route::Forwarded { 1 } else { self.halo.distance_max() }
    }

    /// The round of a link: its dimension, if halos of one dimension are forwarded in the next.
    fn round(&self, direction: Direction<D>) -> usize {
        if self.route == Route::Forwarded { leading(direction) } else { 0 }
    }

    /// The directions of the halo cells that the link at `direction` writes: its own, and those of edges and corners that are forwarded.
    fn written(&self, direction: Direction<D>) -> DirectionSet {
        let forwarded = |d: usize| self.route == Route::Forwarded && d < self.round(direction);
        let written = |other: &Direction<D>| (0..D).all(|d| direction[d] == other[d] || forwarded(d));
        let all = (0..count::<D>()).map(of_number::<D>);
        all.filter(written).fold(0, |directions, direction| directions | 1 << number(direction))
    }

    /// The cells that the block at `place` sends and receives at `direction`.
    fn cut(&self, layout: &Layout<D>, place: [usize; D], direction: Direction<D>) -> Cut<D> {
        let (mut border, mut halo) = (layout.border(direction), layout.halo(direction));
        if self.route == Route::Forwarded {
            for d in 0..self.round(direction) {
                // Halos of earlier rounds are forwarded; cells outside the grid belong to the program.
                let beyond = |side| self.nodes.neighbour(place, across(d, side)).is_some();
                let owned = layout.owned()[d].clone();
                let from = if beyond(Side::Low) { 0 } else { owned.start };
                let to = if beyond(Side::High) { layout.halo(across(d, Side::High))[d].end } else { owned.end };
                (border[d], halo[d]) = (from..to, from..to);
            }
        }
        Cut { border, halo }
    }

    /// Offsets of the buffers and flags of every direction, the same on every rank, and the number of cells of all buffers.
    fn buffers<T: Pod>(&self, arrays: &[Array<D>]) -> (Vec<LinkBuffers>, usize) {
        let align = (ALIGN_BYTES / size_of::<T>()).max(1);
        let mut end = 0;
        let mut halves = |cells: usize| {
            [0, 1].map(|_| {
                end += cells.next_multiple_of(align);
                end - cells.next_multiple_of(align)
            })
        };
        let directions = || (0..count::<D>()).map(of_number::<D>);
        let cells: Vec<usize> = directions().map(|direction| self.cells_max(arrays, direction)).collect();
        let inboxes: Vec<_> = cells.iter().map(|&cells| halves(cells)).collect();
        let back = |number: usize| count::<D>() - 1 - number;
        let outboxes: Vec<_> = (0..count::<D>()).map(|number| halves(cells[back(number)])).collect();
        let of_link = |number: usize| LinkBuffers {
            inbox_here: inboxes[number],
            inbox_there: inboxes[back(number)],
            outbox: outboxes[number],
            flags_here: number * FLAG_WORDS,
            flags_there: back(number) * FLAG_WORDS,
        };
        // A buffer without cells has an offset too.
        ((0..count::<D>()).map(of_link).collect(), end + 1)
    }

    /// Maximum number of cells that any block receives at `direction`.
    fn cells_max(&self, arrays: &[Array<D>], direction: Direction<D>) -> usize {
        let is_neighbour = (1..=self.distance_max()).contains(&distance(direction));
        if !is_neighbour || (0..D).any(|d| direction[d] != 0 && !self.nodes.is_joined(d)) {
            return 0;
        }
        let length = |array: &Array<D>, d: usize| match direction[d] {
            ..0 => array.widths()[d][0],
            0 if self.route == Route::Forwarded && d < self.round(direction) => {
                array.part_cells_max(d) + array.widths()[d].iter().sum::<usize>()
            }
            0 => array.part_cells_max(d),
            _ => array.widths()[d][1],
        };
        arrays.iter().map(|array| (0..D).map(|d| length(array, d)).product::<usize>()).sum()
    }
}
