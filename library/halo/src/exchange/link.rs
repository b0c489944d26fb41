//! The link to one neighbour: what goes there and what comes from there.
//!
//! A link has one direction: this block sends its border there and receives the halo that lies there. The neighbour has the link of the
//! opposite direction. Each counts its exchanges; both count alike, as they take part in the same ones. There is no barrier: order comes from
//! words at either end, *arrived* (two) and *credit*, which the other end alone writes.
//!
//! **Packed.** For exchange n a rank writes its border into half n mod 2 of the inbox that the neighbour keeps for it, and *behind it* n into
//! the neighbour's `arrived` of that half. The neighbour waits for n and unpacks. *No half is overwritten before it is read:* `start` sends
//! n + 2 after the `wait` of n + 1 has ended, so after the neighbour's n + 1 has arrived. The neighbour sent that after its own `wait` of n had
//! ended, so after it had unpacked n from the half that n + 2 fills. With one half this would not hold. Nor would one word do: n and n + 1 may
//! be in transit together, and nothing orders two puts to one word. With a word for each half, n has arrived before n + 2 is sent. A link that
//! receives nothing in one direction gets the flag of that direction all the same: it is the credit.
//!
//! **Direct.** The receiver's `start` of exchange n writes n into the sender's `credit`: from now on the receiver does not read the halo. The
//! sender writes its border into the halo once it has seen n there, in `start` or later in `wait`, and behind it n into the receiver's
//! `arrived`, whose `wait` ends no sooner. *So all writes of n lie between `start` and `wait` of the receiver*, and the halo of a slow rank is
//! not written before its credit.
//!
//! **Fetched.** The sender's `start` of exchange n writes n into the receiver's `arrived`: the border may be read. The receiver copies it into
//! its halo and behind that writes n into the sender's `credit`: the border is read. The sender's `wait` ends no sooner. *So all reads of n
//! lie between `start` and `wait` of the sender*, while nothing changes its border; only the own rank writes its halo cells.
//!
//! A rank may be its own neighbour, and one rank may be the neighbour of two links; their directions distinguish links, not their ranks.
//!
//! All messages of a link go by one rail, so that flags stay behind their data.
//!
//! Fields on devices go over a transport, whoever the neighbour is: devices pack and unpack the borders of all links of a round at once (`exchange/mod.rs`).
//!
//! Over a transport a packed border is gathered in memory of this rank first, an outbox of two halves, and goes as one put. A half is used again
//! when its last put is complete. The transport reads a direct border from the field itself; `wait` ends when it has.

use std::ops::Range;

use pelago_base::{Rank, Shape};
use pelago_rma::{DeviceBlocks, GlobalPtr, Handle, Ordered, Pod, Rail, Result, Symmetric, World};

use crate::field::Field;
use crate::grid::array::Array;
use crate::grid::direction::{Direction, DirectionSet};
use crate::grid::layout::{Cuboid, Layout, extents, start};
use crate::grid::shape::{of_box, strides};
use crate::settings::Method;

/// Words from the flags of one link to those of the next: a cache line, as each neighbour writes its own.
pub(crate) const FLAG_WORDS: usize = 8;

/// Where the credit of a link lies in its flags, behind those of the two halves.
const CREDIT: usize = 2;

/// The link to one neighbour, and the state of its exchange.
pub(crate) struct Link<'w, const D: usize> {
    pub(crate) position: LinkPosition<D>,
    pub(crate) neighbour: Rank,
    pub(crate) method: Method,
    /// The rail, if it is not `best`.
    rail: Option<Rail>,
    /// The rail that the library prefers to this neighbour.
    pub(crate) best: Rail,
    /// Whether the neighbour's memory is mapped, its fields included.
    pub(crate) is_mapped: bool,
    /// The rails that move any number of blocks by one operation, a bit for each.
    block_rails: u32,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) buffers: LinkBuffers,
    /// The progress of the exchange that is under way; `None` if the link takes no part in it.
    pub(crate) progress: Option<LinkProgress>,
    /// Of this link, ever.
    exchanges: u64,
    /// What may still be under way of the last exchange that used each half of the outbox, or of the last one if the method is direct.
    sent: [Option<Handle<'w>>; 2],
    /// All rails at once, if there are several; and what goes by them in the exchange that is under way. Its flag follows only when it has ended, by the
    /// progress of this rank.
    all: Option<Rail>,
    parts: Option<Handle<'w>>,
    /// Whether devices have unpacked what has come for them in the exchange that is under way.
    pub(super) has_unpacked: bool,
}

/// The progress of a link in one exchange.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkProgress {
    /// Whether the border is sent, or may be fetched.
    is_sent: bool,
    /// Whether the halo is in its place.
    pub(crate) is_received: bool,
}

/// The place of a link among those of a block.
#[derive(Clone, Copy)]
pub(crate) struct LinkPosition<const D: usize> {
    pub(crate) direction: Direction<D>,
    /// The directions of the halo cells that it writes.
    pub(crate) written: DirectionSet,
    /// Links of an earlier round are over before it sends.
    pub(crate) round: usize,
}

/// The method and the rail of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkMethod {
    pub(crate) method: Method,
    pub(crate) rail: Rail,
}

/// The cells of one field that a link moves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// Its number in the plan.
    pub(crate) field: usize,
    /// Where the border begins, where the neighbour's halo begins, and the cells from there on.
    pub(super) border: usize,
    pub(super) there: usize,
    pub(super) border_shape: Shape,
    pub(super) there_shape: Shape,
    /// The border in the outbox or in the neighbour's inbox: where it begins, and the two shapes.
    pub(super) outgoing: usize,
    pub(super) packing: [Shape; 2],
    /// The halo, and where its cells lie in the inbox; its shape first.
    pub(super) halo: usize,
    pub(super) incoming: usize,
    pub(super) unpacking: [Shape; 2],
    /// Where the neighbour's border begins, and the shapes of the halo and of that border.
    beyond: usize,
    fetching: [Shape; 2],
    /// Blocks that nothing joins, there and back; the neighbour counts the same, the other way round.
    blocks: [u64; 2],
}

/// Where the buffers and flags of a link lie; buffers in cells, flags in words.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkBuffers {
    /// The halves of the inbox here and at the neighbour, and of the outbox.
    pub(crate) inbox_here: [usize; 2],
    pub(crate) inbox_there: [usize; 2],
    pub(crate) outbox: [usize; 2],
    pub(crate) flags_here: usize,
    pub(crate) flags_there: usize,
}

/// The memory that all links of an exchange share.
pub(crate) struct ExchangeMemory<'w, T: Pod> {
    pub(crate) world: &'w World,
    /// The inboxes, then the outboxes.
    pub(crate) cells: Symmetric<'w, T>,
    pub(crate) flags: Symmetric<'w, u64>,
}

impl<'w, const D: usize> Link<'w, D> {
    /// A link that has taken part in no exchange.
    pub(crate) fn new(
        world: &World,
        neighbour: Rank,
        position: LinkPosition<D>,
        pieces: Vec<Piece>,
        buffers: LinkBuffers,
        is_on_device: bool,
    ) -> Self {
        Self {
            position,
            neighbour,
            method: Method::Packed,
            rail: None,
            best: world.rails().to(neighbour),
            is_mapped: !is_on_device && world.maps(neighbour),
            block_rails: world
                .rails()
                .iter()
                .enumerate()
                .fold(0, |rails, (number, rail)| rails | u32::from(rail.blocks_max > 0) << number),
            pieces,
            buffers,
            progress: None,
            exchanges: 0,
            sent: [None; 2],
            all: world.rails().all(),
            parts: None,
            has_unpacked: false,
        }
    }

    /// Whether it takes part in the exchange that is under way.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.progress.is_some()
    }

    /// Whether its halo is in its place.
    pub(crate) fn is_received(&self) -> bool {
        self.progress.is_some_and(|progress| progress.is_received)
    }

    /// The rail that it uses.
    pub(crate) fn rail(&self) -> Rail {
        self.rail.unwrap_or(self.best)
    }

    /// Sets the method and the rail of later exchanges.
    pub(crate) fn set_method(&mut self, LinkMethod { method, rail }: LinkMethod) {
        (self.method, self.rail) = (method, (rail != self.best).then_some(rail));
    }

    /// Whether it goes by mapped memory.
    #[inline]
    fn is_by_memory(&self) -> bool {
        self.is_mapped && self.rail.is_none()
    }

    /// Begins an exchange: gives credit if the neighbour is to write the halo itself.
    pub(crate) fn begin<T: Pod>(&mut self, memory: &ExchangeMemory<'w, T>) -> Result<()> {
        self.exchanges += 1;
        if self.method == Method::Direct { self.give_credit(memory) } else { Ok(()) }
    }

    /// Whether it may send now.
    #[inline]
    pub(crate) fn may_send<T: Pod>(&self, memory: &ExchangeMemory<'w, T>) -> bool {
        self.progress.is_some_and(|progress| !progress.is_sent) && (self.method != Method::Direct || self.has_credit(memory))
    }

    /// Whether the exchange is over: the border is sent, the halo has arrived, and the neighbour has read what it fetches.
    #[inline]
    pub(crate) fn is_over<T: Pod>(&self, memory: &ExchangeMemory<'w, T>) -> bool {
        self.progress.is_some_and(|progress| progress.is_sent && progress.is_received)
            && (self.method != Method::Fetched || self.has_credit(memory))
    }

    /// Whether its halo has arrived and is not yet unpacked.
    #[inline]
    pub(crate) fn may_receive<T: Pod>(&self, memory: &ExchangeMemory<'w, T>) -> bool {
        self.progress.is_some_and(|progress| !progress.is_received)
            && memory.flags.local().load(self.buffers.flags_here + self.half()) >= self.exchanges
    }

    /// Sends the border, or signals that it may be fetched.
    pub(crate) fn send<T: Pod>(&mut self, memory: &ExchangeMemory<'w, T>, fields: &[Field<'w, T, D>]) -> Result<()> {
        let world = memory.world;
        let last = match (self.method, self.is_by_memory()) {
            (Method::Fetched, _) => None,
            (Method::Direct, _) => self.send_direct(world, fields)?,
            (Method::Packed, true) => {
                self.pack(memory, fields, memory.cells.at(self.neighbour, self.buffers.inbox_there[self.half()]))?
            }
            (Method::Packed, false) => self.send_packed(memory, fields)?,
        };
        let flag = memory.flags.at(self.neighbour, self.buffers.flags_there + self.half());
        let flagged = match (last, self.rail) {
            (None, None) => world.put(flag, &[self.exchanges])?,
            (last, _) => self.behind(world, last).put(flag, &[self.exchanges])?,
        };
        if !self.is_by_memory() {
            let half = self.half();
            self.sent[half] = Some(flagged);
        }
        if self.rail.is_some() && self.rail == self.all {
            self.parts = last;
        }
        self.progress = self.progress.map(|progress| LinkProgress { is_sent: true, ..progress });
        Ok(())
    }

    /// Brings the halo to its place, unless the neighbour has written it there.
    pub(crate) fn receive<T: Pod>(&mut self, memory: &ExchangeMemory<'w, T>, fields: &[Field<'w, T, D>]) -> Result<()> {
        match self.method {
            Method::Direct => {}
            Method::Packed => {
                let inbox = memory.cells.at(memory.world.rank(), self.buffers.inbox_here[self.half()]);
                for piece in self.coming() {
                    let [to_shape, from_shape] = piece.unpacking;
                    if fields[piece.field].device().is_some() {
                        continue; // The device has unpacked it.
                    }
                    let (from, to) = (inbox.add(piece.incoming as u64), fields[piece.field].here(piece.halo));
                    memory.world.copy_strided(from, from_shape, to, to_shape)?.wait()?;
                }
                memory.world.gathered((self.cells()[1] * size_of::<T>()) as u64);
            }
            Method::Fetched => {
                for piece in self.coming() {
                    let ([to_shape, from_shape], field) = (piece.fetching, &fields[piece.field]);
                    let (from, to) = (field.at(self.neighbour, piece.beyond), field.here(piece.halo));
                    self.behind(memory.world, None).copy_strided(from, from_shape, to, to_shape)?.wait()?;
                }
                self.give_credit(memory)?;
            }
        }
        self.has_unpacked = false;
        self.progress = self.progress.map(|progress| LinkProgress { is_received: true, ..progress });
        Ok(())
    }

    /// What devices pack of its border, and the cells of the outbox where it goes, which [`empty_outbox`](Self::empty_outbox) has emptied: links of fields on
    /// devices are not by mapped memory.
    pub(crate) fn packed_by_devices<'f, T: Pod>(
        &'f self,
        fields: &'f [Field<'w, T, D>],
    ) -> impl Iterator<Item = (DeviceBlocks, Range<usize>)> + 'f {
        let outbox = self.buffers.outbox[self.half()];
        let packed = move |piece: &Piece| {
            let (start, blocks) = (outbox + piece.outgoing, piece.packing[0]);
            Some((fields[piece.field].device_blocks(piece.border, blocks)?, start..start + cells(blocks)))
        };
        self.leaving().filter(|_| self.method == Method::Packed).filter_map(packed)
    }

    /// What devices unpack of its halo, and the cells of the inbox where it comes from.
    pub(crate) fn unpacked_by_devices<'f, T: Pod>(
        &'f self,
        fields: &'f [Field<'w, T, D>],
    ) -> impl Iterator<Item = (DeviceBlocks, Range<usize>)> + 'f {
        let inbox = self.buffers.inbox_here[self.half()];
        let unpacked = move |piece: &Piece| {
            let (start, blocks) = (inbox + piece.incoming, piece.unpacking[0]);
            Some((fields[piece.field].device_blocks(piece.halo, blocks)?, start..start + cells(blocks)))
        };
        self.coming().filter(|_| self.method == Method::Packed).filter_map(unpacked)
    }

    /// Waits until the half of the outbox that this exchange uses has been sent before.
    pub(crate) fn empty_outbox(&mut self) -> Result<()> {
        let half = self.half();
        self.sent[half].take().map_or(Ok(()), Handle::wait)
    }

    /// Waits until the exchange reads the field no longer, and until its flag is on its way: what has to follow all parts of a border would else
    /// follow them at the next progress of this rank, which may compute first while the neighbour waits.
    pub(crate) fn end(&mut self) -> Result<()> {
        let parts = self.parts.take().map_or(Ok(()), Handle::wait);
        match self.method {
            Method::Direct => parts.and(self.sent[self.half()].take().map_or(Ok(()), Handle::wait)),
            Method::Packed | Method::Fetched => parts,
        }
    }

    /// How many cells go to the neighbour, and come from it.
    pub(crate) fn cells(&self) -> [usize; 2] {
        let sum = |shape: fn(&Piece) -> Shape| self.pieces.iter().map(|piece| cells(shape(piece))).sum();
        [sum(|piece| piece.packing[0]), sum(|piece| piece.unpacking[0])]
    }

    /// Whether all blocks of a field are one operation by a rail.
    pub(crate) fn takes_blocks(&self, rail: Rail) -> bool {
        self.block_rails >> rail.number() & 1 == 1
    }

    /// How many blocks go to the neighbour and come from it if nothing is packed.
    pub(crate) fn blocks(&self) -> [u64; 2] {
        [0, 1].map(|side| self.pieces.iter().map(|piece| piece.blocks[side]).sum())
    }

    /// The field of each halo that it receives, where it begins and its shape.
    pub(crate) fn halos(&self) -> impl Iterator<Item = (usize, usize, Shape)> {
        self.coming().map(|piece| (piece.field, piece.halo, piece.unpacking[0]))
    }

    /// The field of each border that it sends, where it begins and its shape.
    pub(crate) fn borders(&self) -> impl Iterator<Item = (usize, usize, Shape)> {
        self.leaving().map(|piece| (piece.field, piece.border, piece.packing[0]))
    }

    /// Whether the neighbour has given credit in this exchange: it may be written to, or has read the border.
    #[inline]
    fn has_credit<T: Pod>(&self, memory: &ExchangeMemory<'w, T>) -> bool {
        memory.flags.local().load(self.buffers.flags_here + CREDIT) >= self.exchanges
    }

    /// Gives the neighbour credit.
    fn give_credit<T: Pod>(&self, memory: &ExchangeMemory<'w, T>) -> Result<()> {
        let credit = memory.flags.at(self.neighbour, self.buffers.flags_there + CREDIT);
        self.behind(memory.world, None).put(credit, &[self.exchanges]).map(|_| ())
    }

    /// Operations on its rail, ordered behind `last`.
    #[inline]
    fn behind<'c>(&self, world: &'c World, last: Option<Handle<'_>>) -> Ordered<'c> {
        let ordered = world.after(&last.unwrap_or(Handle::done()));
        match self.rail {
            None => ordered,
            Some(rail) => ordered.on(rail),
        }
    }

    /// The pieces that it receives.
    pub(super) fn coming(&self) -> impl Iterator<Item = &Piece> {
        self.pieces.iter().filter(|piece| !is_empty(piece.unpacking[0]))
    }

    /// The pieces that it sends.
    pub(super) fn leaving(&self) -> impl Iterator<Item = &Piece> {
        self.pieces.iter().filter(|piece| !is_empty(piece.border_shape))
    }

    /// The half of its buffers that this exchange uses.
    fn half(&self) -> usize {
        (self.exchanges % 2) as usize
    }

    /// One piece after the other, so that the last is there when all are.
    fn send_direct<T: Pod>(&self, world: &'w World, fields: &[Field<'w, T, D>]) -> Result<Option<Handle<'w>>> {
        let mut last = None;
        for piece in self.leaving() {
            let field = &fields[piece.field];
            let (from, to) = (field.here(piece.border), field.at(self.neighbour, piece.there));
            last = Some(self.behind(world, last).copy_strided(from, piece.border_shape, to, piece.there_shape)?);
        }
        Ok(last)
    }

    /// Through the outbox, whose half was last read two exchanges ago.
    fn send_packed<T: Pod>(&mut self, memory: &ExchangeMemory<'w, T>, fields: &[Field<'w, T, D>]) -> Result<Option<Handle<'w>>> {
        self.empty_outbox()?;
        let half = self.half();
        let outbox = memory.cells.at(memory.world.rank(), self.buffers.outbox[half]);
        self.pack(memory, fields, outbox)?;
        let inbox = memory.cells.at(self.neighbour, self.buffers.inbox_there[half]);
        Ok(Some(self.behind(memory.world, None).copy(outbox, inbox, self.cells()[0])?))
    }

    /// Gathers the border of every field of the host from `to` on, which is mapped.
    fn pack<T: Pod>(
        &self,
        memory: &ExchangeMemory<'w, T>,
        fields: &[Field<'w, T, D>],
        to: GlobalPtr<T>,
    ) -> Result<Option<Handle<'w>>> {
        for piece in self.leaving() {
            let ([from_shape, to_shape], field) = (piece.packing, &fields[piece.field]);
            if field.device().is_some() {
                continue; // The device has packed it.
            }
            let from = field.here(piece.border);
            memory.world.copy_strided(from, from_shape, to.add(piece.outgoing as u64), to_shape)?;
        }
        memory.world.gathered((self.cells()[0] * size_of::<T>()) as u64);
        Ok(None)
    }
}

/// The cells of a link: the border that it sends, the halo that it receives.
#[derive(Clone)]
pub(crate) struct Cut<const D: usize> {
    pub(crate) border: Cuboid<D>,
    pub(crate) halo: Cuboid<D>,
}

/// The pieces of a link from the block at `place` to the one at `there`: of each array the cells that `cut` returns for its layout. Arrays of
/// which no cell moves in either direction are left out.
pub(crate) fn pieces<const D: usize>(
    arrays: &[Array<D>],
    [place, there]: [[usize; D]; 2],
    cut: impl Fn(&Layout<D>) -> Cut<D>,
    back: impl Fn(&Layout<D>) -> Cut<D>,
) -> Vec<Piece> {
    let (mut outgoing, mut incoming) = (0, 0);
    let piece = |(field, array): (usize, &Array<D>)| {
        let (mine, theirs) = (array.layout(place), array.layout(there));
        let (here, beyond) = (cut(&mine), back(&theirs));
        let (sent, received) = (extents(&here.border), extents(&here.halo));
        debug_assert_eq!((sent, received), (extents(&beyond.halo), extents(&beyond.border)), "the two ends cut alike");
        let [border_shape, there_shape] = of_box(sent, [mine.strides(), theirs.strides()]);
        let fetching = of_box(received, [mine.strides(), theirs.strides()]);
        let piece = Piece {
            field,
            border: start(&here.border, mine.strides()),
            there: start(&beyond.halo, theirs.strides()),
            border_shape,
            there_shape,
            outgoing,
            packing: of_box(sent, [mine.strides(), strides(sent)]),
            halo: start(&here.halo, mine.strides()),
            incoming,
            unpacking: of_box(received, [mine.strides(), strides(received)]),
            beyond: start(&beyond.border, theirs.strides()),
            fetching,
            blocks: [border_shape, fetching[0]].map(|shape| if is_empty(shape) { 0 } else { shape.blocks() }),
        };
        let (leaving, coming) = (sent.iter().product::<usize>(), received.iter().product::<usize>());
        outgoing += leaving;
        incoming += coming;
        (leaving + coming > 0).then_some(piece)
    };
    arrays.iter().enumerate().filter_map(piece).collect()
}

fn cells(shape: Shape) -> usize {
    (shape.blocks() * shape.block) as usize
}

fn is_empty(shape: Shape) -> bool {
    cells(shape) == 0
}
