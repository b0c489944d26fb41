//! The link to one neighbour: the data sent there and received from there.
//!
//! A link has one direction: this block sends its border there and receives the halo from there. The neighbour has the link of the opposite
//! direction. Each end counts its exchanges; both counts agree, as both ends take part in the same ones. There is no barrier: order comes from words
//! at either end, *arrived* (two) and *credit*, which only the other end writes.
//!
//! **Packed.** For exchange n a rank writes its border into half n mod 2 of the inbox that the neighbour keeps for it, and *after it* n into the
//! neighbour's `arrived` of that half. The neighbour waits for n and unpacks. *No half is overwritten before it is read:* `start` sends n + 2 after
//! the `wait` of n + 1 has ended, hence after the neighbour's n + 1 has arrived. The neighbour sent that after its own `wait` of n had ended, hence
//! after it had unpacked n from the half that n + 2 fills. One half would not suffice. Nor would one word: n and n + 1 may be in transit together,
//! and nothing orders two puts to one word. With a word for each half, n has arrived before n + 2 is sent. A link that receives no cells in one
//! direction still gets the flag of that direction: it is the credit.
//!
//! **Direct.** The receiver's `start` of exchange n writes n into the sender's `credit`: from now on the receiver does not read the halo. The sender
//! writes its border into the halo once it has seen n, in `start` or later in `wait`, and after the border n into the receiver's `arrived`. The
//! receiver's `wait` ends no sooner. *So all writes of n lie between `start` and `wait` of the receiver*, and the halo of a slow rank is not written
//! before its credit.
//!
//! **Fetched.** The sender's `start` of exchange n writes n into the receiver's `arrived`: the border may be read. The receiver copies it into its
//! halo, and then writes n into the sender's `credit`: the border is read. The sender's `wait` ends no sooner. *So all reads of n lie between `start`
//! and `wait` of the sender*, while nothing changes its border; only the receiver itself writes its halo cells.
//!
//! A rank may be its own neighbour, and one rank may be the neighbour of two links: directions identify links, not ranks.
//!
//! All messages of a link use one rail, so that flags stay ordered after their data.
//!
//! Fields on devices use a transport for every neighbour: devices pack and unpack the borders of all links of a round at once (`exchange/mod.rs`).
//!
//! Over a transport a packed border is first gathered in memory of this rank, an outbox of two halves, and sent by one put. A half is used again when
//! its last put is complete. The transport reads a direct border from the field itself; `wait` ends after that.

use std::ops::Range;

use pelago_base::{Rank, Shape};
use pelago_rma::{DeviceBlocks, GlobalPtr, Handle, Ordered, Pod, Rail, Result, Symmetric, World};

use crate::field::Field;
use crate::grid::array::Array;
use crate::grid::direction::{Direction, DirectionSet};
use crate::grid::layout::{Cuboid, Layout, extents, start};
use crate::grid::shape::{of_box, strides};
use crate::settings::Method;

/// Words between the flags of consecutive links: a cache line, as each neighbour writes its own.
pub(crate) const FLAG_WORDS: usize = 8;

/// Index of the credit in the flags of a link, after those of the two halves.
const CREDIT: usize = 2;

/// Index of the word in the flags of a link that is not zero if the exchange of the neighbour has failed.
const BROKEN: usize = 3;

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
    /// The rails that move any number of blocks by one operation, one bit for each.
    block_rails: u32,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) buffers: LinkBuffers,
    /// The progress of the current exchange; `None` if the link takes no part in it.
    pub(crate) progress: Option<LinkProgress>,
    /// Number of exchanges of this link so far.
    exchanges: u64,
    /// Operations that may still be in flight: of the last exchange that used each half of the outbox, or of the last exchange if the method is
    /// direct.
    sent: [Option<Handle<'w>>; 2],
    /// All rails at once, if there are several; and the transfer over them in the current exchange. Its flag is sent only when the transfer has
    /// ended, by the progress of this rank.
    all: Option<Rail>,
    parts: Option<Handle<'w>>,
    /// Whether devices have unpacked their part of the current exchange.
    pub(super) has_unpacked: bool,
}

/// The progress of a link in one exchange.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkProgress {
    /// Whether the border is sent, or may be fetched.
    is_sent: bool,
    /// Whether the halo is in place.
    pub(crate) is_received: bool,
}

/// The place of a link among those of a block.
#[derive(Clone, Copy)]
pub(crate) struct LinkPosition<const D: usize> {
    pub(crate) direction: Direction<D>,
    /// The directions of the halo cells that it writes.
    pub(crate) written: DirectionSet,
    /// Its round: links of earlier rounds are over before it sends.
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
    /// Start of the border, start of the neighbour's halo, and the shapes of both.
    pub(super) border: usize,
    pub(super) there: usize,
    pub(super) border_shape: Shape,
    pub(super) there_shape: Shape,
    /// The border in the outbox or in the neighbour's inbox: its start, and the two shapes.
    pub(super) outgoing: usize,
    pub(super) packing: [Shape; 2],
    /// Start of the halo, start of its cells in the inbox, and the two shapes, the halo's first.
    pub(super) halo: usize,
    pub(super) incoming: usize,
    pub(super) unpacking: [Shape; 2],
    /// Start of the neighbour's border, and the shapes of the halo and of that border.
    beyond: usize,
    fetching: [Shape; 2],
    /// Number of separate blocks, there and back; the neighbour counts the same, the other way round.
    blocks: [u64; 2],
}

/// Offsets of the buffers and flags of a link; buffers in cells, flags in words.
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

    /// Whether the link takes part in the current exchange.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.progress.is_some()
    }

    /// Whether its halo is in place.
    pub(crate) fn is_received(&self) -> bool {
        self.progress.is_some_and(|progress| progress.is_received)
    }

    /// The rail of the link.
    pub(crate) fn rail(&self) -> Rail {
        self.rail.unwrap_or(self.best)
    }

    /// Sets the method and the rail of later exchanges.
    pub(crate) fn set_method(&mut self, LinkMethod { method, rail }: LinkMethod) {
        (self.method, self.rail) = (method, (rail != self.best).then_some(rail));
    }

    /// Whether the link uses mapped memory.
    #[inline]
    fn is_by_memory(&self) -> bool {
        self.is_mapped && self.rail.is_none()
    }

    /// Starts an exchange: gives credit if the neighbour writes the halo itself.
    pub(crate) fn begin<T: Pod>(&mut self, memory: &ExchangeMemory<'w, T>) -> Result<()> {
        self.exchanges += 1;
        if self.method == Method::Direct { self.give_credit(memory) } else { Ok(()) }
    }

    /// Whether the link may send now.
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

    /// Moves the halo into place, unless the neighbour has written it there.
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

    /// The blocks of its border that devices pack, and their cells in the outbox, which [`empty_outbox`](Self::empty_outbox) has emptied. Links of
    /// fields on devices always use the outbox: they do not use mapped memory.
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

    /// The blocks of its halo that devices unpack, and their cells in the inbox.
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

    /// Waits until the previous put from the half of the outbox that this exchange uses is complete.
    pub(crate) fn empty_outbox(&mut self) -> Result<()> {
        let half = self.half();
        self.sent[half].take().map_or(Ok(()), Handle::wait)
    }

    /// Waits until the exchange no longer reads the field and its flag is sent. Without this wait, a flag that follows all parts of a striped border
    /// would be sent at the next progress of this rank, which may compute first while the neighbour waits.
    pub(crate) fn end(&mut self) -> Result<()> {
        let parts = self.parts.take().map_or(Ok(()), Handle::wait);
        match self.method {
            Method::Direct => parts.and(self.sent[self.half()].take().map_or(Ok(()), Handle::wait)),
            Method::Packed | Method::Fetched => parts,
        }
    }

    /// Number of cells that are sent to the neighbour, and received from it.
    pub(crate) fn cells(&self) -> [usize; 2] {
        let sum = |shape: fn(&Piece) -> Shape| self.pieces.iter().map(|piece| cells(shape(piece))).sum();
        [sum(|piece| piece.packing[0]), sum(|piece| piece.unpacking[0])]
    }

    /// Whether a rail moves all blocks of a field by one operation.
    pub(crate) fn takes_blocks(&self, rail: Rail) -> bool {
        self.block_rails >> rail.number() & 1 == 1
    }

    /// Number of blocks that are sent and received if nothing is packed.
    pub(crate) fn blocks(&self) -> [u64; 2] {
        [0, 1].map(|side| self.pieces.iter().map(|piece| piece.blocks[side]).sum())
    }

    /// The field, start and shape of each halo that the link receives.
    pub(crate) fn halos(&self) -> impl Iterator<Item = (usize, usize, Shape)> {
        self.coming().map(|piece| (piece.field, piece.halo, piece.unpacking[0]))
    }

    /// The field, start and shape of each border that the link sends.
    pub(crate) fn borders(&self) -> impl Iterator<Item = (usize, usize, Shape)> {
        self.leaving().map(|piece| (piece.field, piece.border, piece.packing[0]))
    }

    /// Whether the neighbour has given credit in this exchange: its halo may be written, or it has read the border.
    #[inline]
    fn has_credit<T: Pod>(&self, memory: &ExchangeMemory<'w, T>) -> bool {
        memory.flags.local().load(self.buffers.flags_here + CREDIT) >= self.exchanges
    }

    /// Gives the neighbour credit.
    fn give_credit<T: Pod>(&self, memory: &ExchangeMemory<'w, T>) -> Result<()> {
        let credit = memory.flags.at(self.neighbour, self.buffers.flags_there + CREDIT);
        self.behind(memory.world, None).put(credit, &[self.exchanges]).map(|_| ())
    }

    /// Fails if the border could not be written to the neighbour's field: then its flag is not sent either.
    pub(super) fn check_sent(&self) -> Result<()> {
        let is_sent = self.method == Method::Direct && self.progress.is_some_and(|progress| progress.is_sent);
        let sent = self.sent[self.half()].filter(|_| is_sent);
        sent.map_or(Ok(()), |sent| sent.has_ended().map(drop))
    }

    /// Counts failures of the link's operations as reported.
    pub(super) fn dismiss_failures(&self) {
        for sent in self.sent.iter().chain([&self.parts]).flatten() {
            let _told = sent.has_ended();
        }
    }

    /// Tells the neighbour that the exchange of this rank has failed.
    pub(super) fn tell_broken<T: Pod>(&self, memory: &ExchangeMemory<'w, T>) -> Result<()> {
        memory.world.put(memory.flags.at(self.neighbour, self.buffers.flags_there + BROKEN), &[1]).map(drop)
    }

    /// Whether the exchange of the neighbour has failed.
    pub(super) fn is_broken<T: Pod>(&self, memory: &ExchangeMemory<'w, T>) -> bool {
        memory.flags.local().load(self.buffers.flags_here + BROKEN) != 0
    }

    /// Operations on the link's rail, ordered after `last`.
    #[inline]
    fn behind<'c>(&self, world: &'c World, last: Option<Handle<'_>>) -> Ordered<'c> {
        let ordered = world.after(&last.unwrap_or(Handle::done()));
        match self.rail {
            None => ordered,
            Some(rail) => ordered.on(rail),
        }
    }

    /// The pieces that the link receives.
    pub(super) fn coming(&self) -> impl Iterator<Item = &Piece> {
        self.pieces.iter().filter(|piece| !is_empty(piece.unpacking[0]))
    }

    /// The pieces that the link sends.
    pub(super) fn leaving(&self) -> impl Iterator<Item = &Piece> {
        self.pieces.iter().filter(|piece| !is_empty(piece.border_shape))
    }

    /// The half of its buffers that this exchange uses.
    fn half(&self) -> usize {
        (self.exchanges % 2) as usize
    }

    /// Sends one piece after the other, so that all have arrived when the last has.
    fn send_direct<T: Pod>(&self, world: &'w World, fields: &[Field<'w, T, D>]) -> Result<Option<Handle<'w>>> {
        let mut last = None;
        for piece in self.leaving() {
            let field = &fields[piece.field];
            let (from, to) = (field.here(piece.border), field.at(self.neighbour, piece.there));
            last = Some(self.behind(world, last).copy_strided(from, piece.border_shape, to, piece.there_shape)?);
        }
        Ok(last)
    }

    /// Sends through the outbox, whose half was last read two exchanges ago.
    fn send_packed<T: Pod>(&mut self, memory: &ExchangeMemory<'w, T>, fields: &[Field<'w, T, D>]) -> Result<Option<Handle<'w>>> {
        self.empty_outbox()?;
        let half = self.half();
        let outbox = memory.cells.at(memory.world.rank(), self.buffers.outbox[half]);
        self.pack(memory, fields, outbox)?;
        let inbox = memory.cells.at(self.neighbour, self.buffers.inbox_there[half]);
        Ok(Some(self.behind(memory.world, None).copy(outbox, inbox, self.cells()[0])?))
    }

    /// Gathers the borders of all fields in host memory from `to` on, which is mapped.
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

/// The pieces of a link from the block at `place` to the one at `there`: of each array the cells that `cut` returns for its layout. Arrays without
/// cells to move in either direction are left out.
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
