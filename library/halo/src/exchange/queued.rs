//! Exchanges that are enqueued into streams: no host waits for a device, and no device for a host.
//!
//! Each rank has a *mailbox* in memory of its device. For each direction it holds an inbox and three words: *arrived*, *inbox credit*, *halo credit*.
//! The stream of the neighbour in that direction writes all three, and the stream of this rank waits for them. Exchange n over a link is, in the
//! order of the stream:
//!
//! ```text
//!   direct: halo credit there := k   (its k-th direct exchange: all that reads this halo is before)
//!   wait    direct: halo credit here >= k      packed: inbox credit here >= k − 1
//!   copy    borders of all links and fields, by one launch: into the neighbours' halos (direct), or into their inboxes (packed)
//!   arrived there := n
//!           (what the program computes meanwhile)
//!   wait    arrived here >= n
//!   copy    packed: inboxes into halos, all by one launch
//!   packed: inbox credit there := k            (its k-th packed exchange: the inbox is read)
//! ```
//!
//! **No credit precedes the read of its data**: the stream that reads the data writes the credit after the read (Q1, Q2 of [`DeviceStream`]). That a
//! launch or a wait is enqueued says nothing about the device, so no host writes a credit.
//!
//! **No word decreases**: one stream alone writes it, in the order of its exchanges, and only larger numbers. A plan has one stream for this reason.
//! Writes by several streams, or by puts, would overtake each other.
//!
//! **Nothing is overwritten before it is read.** The k-th packed exchange writes the inbox after inbox credit k − 1, which follows the launch that
//! unpacked the previous one. The k-th direct exchange writes the halo after halo credit k, which follows all that the receiver has enqueued before
//! its own k-th. The two kinds have separate counts, because the credit of one says nothing about the other.
//!
//! **No circular wait**: the credits of an exchange precede its first wait. In the neighbour's stream, everything that a wait of exchange n needs
//! follows only waits of exchange n − 1 and credits of n, or it follows the borders of n, which need credits only.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use pelago_base::{Rank, Shape};
use pelago_rma::{
    BlockCopy, DeviceAnnouncement, DeviceError, DeviceMemory, DeviceRange, DeviceStream, Pod, PreparedCopies, Result, World,
};

use super::link::Link;
use super::{ALIGN_BYTES, Router};
use crate::field::Field;
use crate::grid::array::Array;
use crate::grid::direction::{count, number, of_number, opposite};
use crate::settings::{Halo, Method, Route};

/// Bytes between the words of consecutive directions: a cache line, as each neighbour writes its own.
const WORDS_BYTES: u64 = 64;

const ARRIVED: u64 = 0;
const INBOX_CREDIT: u64 = 8;
const HALO_CREDIT: u64 = 16;

/// Larger than the number of any exchange: releases a stream that waits for a failed rank.
const RELEASED: u64 = 1 << 62;

/// State that the exchanges of a plan on a stream share.
pub(crate) struct Queue {
    stream: Arc<dyn DeviceStream>,
    mailbox: Arc<dyn DeviceMemory>,
    links: Vec<QueuedLink>,
    /// Number of exchanges since the plan was built.
    exchanges: u64,
}

/// A link as the stream sees it.
struct QueuedLink {
    /// The words of the mailbox here, and those at the neighbour.
    here: DeviceRange,
    there: DeviceRange,
    inbox_here: DeviceRange,
    inbox_there: DeviceRange,
    /// The memory of the neighbour's fields.
    fields: Vec<Arc<dyn DeviceMemory>>,
    /// Number of exchanges of each kind.
    packed: u64,
    direct: u64,
}

/// The prepared copies of an exchange: the methods of the links, the copies of borders, the copies that unpack.
pub(crate) struct Batch {
    methods: Vec<Method>,
    leaving: PreparedCopies,
    coming: PreparedCopies,
}

/// The memory of a rank as this rank's stream accesses it: its fields, then its mailbox.
type Memories = Vec<Arc<dyn DeviceMemory>>;

impl Queue {
    /// Connects the streams of neighbours; the inner error says why the stream of this rank cannot be connected. All ranks must learn of such an error.
    /// Collective.
    pub(crate) fn connect<'w, T: Pod, const D: usize>(
        world: &'w World,
        links: &[Link<'w, D>],
        halo: Halo,
        fields: &[Field<'w, T, D>],
        stream: &Arc<dyn DeviceStream>,
    ) -> Result<Result<Self, DeviceError>> {
        let arrays: Vec<Array<D>> = fields.iter().map(|field| *field.array()).collect();
        let (inboxes, bytes) = inboxes::<T, D>(&arrays, halo);
        let mailbox = if stream.has_words() { stream.allocate(bytes) } else { Err(DeviceError("no words of streams".into())) };
        let own: Result<Memories, DeviceError> = mailbox.map(|mailbox| {
            let fields = fields.iter().filter_map(|field| field.device().cloned());
            fields.chain([mailbox]).collect()
        });
        // Words that stay zero are no announcement.
        let told = world.alloc::<u64>((fields.len() + 1) * DeviceAnnouncement::WORDS)?;
        for (index, memory) in own.iter().flatten().enumerate() {
            let words = DeviceAnnouncement::of(memory).encode();
            (0..words.len()).for_each(|word| told.local().store(index * words.len() + word, words[word]));
        }
        world.meet()?;
        let mut of_ranks: BTreeMap<Rank, Result<Memories, DeviceError>> = BTreeMap::from([(world.rank(), own.clone())]);
        for rank in links.iter().map(|link| link.neighbour) {
            if let Entry::Vacant(entry) = of_ranks.entry(rank) {
                let mut words = vec![0; (fields.len() + 1) * DeviceAnnouncement::WORDS];
                world.get_into(told.at(rank, 0), &mut words)?;
                entry.insert(open(world, rank, &words, &**stream));
            }
        }
        world.meet()?;
        Ok(own.and_then(|mut own| {
            let mailbox = own.pop().expect("the mailbox is last");
            let whole = DeviceRange::whole(mailbox.clone());
            let part = |memory: &DeviceRange, start: u64, bytes: u64| {
                memory.part(start, bytes).ok_or(DeviceError("the mailbox of a neighbour is shorter than its own".into()))
            };
            let link = |link: &Link<'w, D>| {
                let mut memories = of_ranks[&link.neighbour].clone()?;
                let there = DeviceRange::whole(memories.pop().expect("the mailbox is last"));
                let [here_number, there_number] = [link.position.direction, opposite(link.position.direction)].map(number);
                let [inbox_here, inbox_there] =
                    [here_number, there_number].map(|number| (inboxes[number], inboxes[number + 1] - inboxes[number]));
                Ok(QueuedLink {
                    here: part(&whole, here_number as u64 * WORDS_BYTES, WORDS_BYTES)?,
                    there: part(&there, there_number as u64 * WORDS_BYTES, WORDS_BYTES)?,
                    inbox_here: part(&whole, inbox_here.0, inbox_here.1)?,
                    inbox_there: part(&there, inbox_there.0, inbox_there.1)?,
                    fields: memories,
                    packed: 0,
                    direct: 0,
                })
            };
            let links = links.iter().map(link).collect::<Result<Vec<_>, DeviceError>>()?;
            Ok(Self { stream: stream.clone(), mailbox, links, exchanges: 0 })
        }))
    }

    /// Prepares exchanges by a method for each link, none of them fetched.
    pub(crate) fn prepare<'w, T: Pod, const D: usize>(
        &self,
        links: &[Link<'w, D>],
        fields: &[Field<'w, T, D>],
        method: impl Fn(&Link<'w, D>) -> Method,
    ) -> Result<Batch, DeviceError> {
        let methods: Vec<Method> = links.iter().map(method).collect();
        let own: Vec<DeviceRange> = fields.iter().filter_map(|field| field.device().cloned()).map(DeviceRange::whole).collect();
        let (mut leaving, mut coming) = (Vec::new(), Vec::new());
        for ((link, queued), &method) in links.iter().zip(&self.links).zip(&methods) {
            for piece in link.leaving() {
                let (to, place, shapes) = match method {
                    Method::Packed => (queued.inbox_there.clone(), piece.outgoing, [piece.packing[1], piece.packing[0]]),
                    _ => {
                        let field = DeviceRange::whole(queued.fields[piece.field].clone());
                        (field, piece.there, [piece.there_shape, piece.border_shape])
                    }
                };
                leaving.push(block_copy::<T>([(&to, place), (&own[piece.field], piece.border)], shapes)?);
            }
            for piece in link.coming().filter(|_| method == Method::Packed) {
                let ends = [(&own[piece.field], piece.halo), (&queued.inbox_here, piece.incoming)];
                coming.push(block_copy::<T>(ends, piece.unpacking)?);
            }
        }
        Ok(Batch { methods, leaving: self.stream.prepare(&leaving)?, coming: self.stream.prepare(&coming)? })
    }

    /// Enqueues the first part of an exchange: borders are sent.
    pub(crate) fn start(&mut self, batch: &Batch) -> Result<(), DeviceError> {
        let Self { stream, links, exchanges, .. } = self;
        *exchanges += 1;
        for (link, _) in links.iter_mut().zip(&batch.methods).filter(|(_, method)| is_direct(**method)) {
            link.direct += 1;
            stream.write_word(&word(&link.there, HALO_CREDIT), link.direct)?;
        }
        for (link, method) in links.iter_mut().zip(&batch.methods) {
            if is_direct(*method) {
                stream.wait_word(&word(&link.here, HALO_CREDIT), link.direct)?;
            } else {
                stream.wait_word(&word(&link.here, INBOX_CREDIT), link.packed)?;
                link.packed += 1;
            }
        }
        stream.copy(&batch.leaving)?;
        links.iter().try_for_each(|link| stream.write_word(&word(&link.there, ARRIVED), *exchanges))
    }

    /// Enqueues the second part: halos are received.
    pub(crate) fn finish(&self, batch: &Batch) -> Result<(), DeviceError> {
        let Self { stream, links, exchanges, .. } = self;
        links.iter().try_for_each(|link| stream.wait_word(&word(&link.here, ARRIVED), *exchanges))?;
        stream.copy(&batch.coming)?;
        for (link, _) in links.iter().zip(&batch.methods).filter(|(_, method)| !is_direct(**method)) {
            stream.write_word(&word(&link.there, INBOX_CREDIT), link.packed)?;
        }
        Ok(())
    }

    /// Makes the stream wait for the last words that neighbours write into the mailbox: the credits of the last packed exchanges. It has already
    /// waited for all others.
    pub(crate) fn end(&self) -> Result<(), DeviceError> {
        let mut packed = self.links.iter().filter(|link| link.packed > 0);
        packed.try_for_each(|link| self.stream.wait_word(&word(&link.here, INBOX_CREDIT), link.packed))
    }

    /// Releases the stream from all its waits, because a rank or this rank's plan has failed. A neighbour that continues may write smaller numbers
    /// meanwhile: the caller repeats this until the stream is over.
    pub(crate) fn release(&self) -> Result<(), DeviceError> {
        let numbers = [RELEASED.to_le_bytes(); 3].concat();
        self.links.iter().try_for_each(|link| link.here.memory().write(link.here.offset(), &numbers))
    }

    /// Keeps the memory that neighbours may still write, until the end of the process.
    pub(crate) fn leak(&self) {
        std::mem::forget(self.mailbox.clone());
    }
}

fn is_direct(method: Method) -> bool {
    method == Method::Direct
}

/// One of the words of a link.
fn word(words: &DeviceRange, which: u64) -> DeviceRange {
    words.part(which, 8).expect("three words of a line")
}

/// A copy of blocks from one place to another, in cells.
fn block_copy<T>([to, from]: [(&DeviceRange, usize); 2], [to_shape, from_shape]: [Shape; 2]) -> Result<BlockCopy, DeviceError> {
    let bytes = size_of::<T>() as u64;
    let past = || DeviceError("cells of a neighbour are not in its memory".into());
    let range = |(range, cell): (&DeviceRange, usize)| {
        let start = cell as u64 * bytes;
        range.part(start, range.bytes().checked_sub(start).ok_or_else(past)?).ok_or_else(past)
    };
    let shape = |shape: Shape| shape.scaled(bytes).map_err(|_| past());
    Ok(BlockCopy { to: range(to)?, to_shape: shape(to_shape)?, from: range(from)?, from_shape: shape(from_shape)? })
}

/// Opens the memory that a rank of this host has announced; ranks of other hosts cannot be reached, and their handles mean nothing here.
fn open(world: &World, rank: Rank, words: &[u64], stream: &dyn DeviceStream) -> Result<Memories, DeviceError> {
    let (announcements, _) = words.as_chunks::<{ DeviceAnnouncement::WORDS }>();
    let announced = announcements.iter().map(DeviceAnnouncement::decode);
    let open = |announced: DeviceAnnouncement| match announced.is_of_this_process() || world.maps(rank) {
        true => stream.open(&announced),
        false => Err(DeviceError("the neighbour is not on this host".into())),
    };
    announced.map(open).collect()
}

/// Starts of the inboxes of all directions in a mailbox, the same on every rank, and the end of the last one; then the bytes of the mailbox.
fn inboxes<T, const D: usize>(arrays: &[Array<D>], halo: Halo) -> (Vec<u64>, u64) {
    let router = Router { nodes: *arrays[0].template().nodes(), halo, route: Route::Direct };
    let mut ends = vec![count::<D>() as u64 * WORDS_BYTES];
    for direction in (0..count::<D>()).map(of_number::<D>) {
        let bytes = router.cells_max(arrays, direction) * size_of::<T>();
        ends.push(ends[ends.len() - 1] + bytes.next_multiple_of(ALIGN_BYTES) as u64);
    }
    let bytes = ends[ends.len() - 1];
    (ends, bytes)
}
