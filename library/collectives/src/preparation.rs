//! The preparation of an operation: its pieces, its memory, and the agreement of all members on both. Collective.

use pelago_rma::{Error, FixedMemory, Rail, Result};

use crate::choice::Rails;
use crate::collectives::{Collectives, Key};
use crate::executor::{LINE_BYTES, Layout, kept, rail_between, whole_blocks};
use crate::plan_state::PlanState;
use crate::pool::Region;
use crate::schedule::{Buffer, Schedule, Shape, Span, Step};
use crate::{Algorithm, Collective};

/// The memory of a team's operations.
const TEAM_MEMORY: &FixedMemory = &FixedMemory {
    name: "the team's memory for collective operations",
    remedy: "create the team with a larger Settings::memory_bytes, or drop plans that are no longer used",
};

/// Maximum number of slots of a plan: the number of operations by which a member may be ahead of another. If members share cores, a member
/// executes as many operations per time slice as slots exist.
const SLOTS_MAX: usize = 512;

/// Bytes of the room of all slots of a plan, unless two slots need more: the size of a core's own cache. By the time a slot is written again, its
/// lines have left the caches of the cores that wrote and read it last; a line that another core still holds modified comes from there three times as
/// slowly.
const ROOM_BYTES: usize = 1024 * 1024;

/// Bytes of one slot of an exchange of all members on networks whose data the cores move: received data is read while it is in the core's own cache,
/// unless pieces would be too short. In operations to or from one member, pieces stay long: each waits for a credit.
const ROOM_BYTES_MOVED: usize = 512 * 1024;

/// Bytes of the lines of all slots of a plan, unless two need more. They are cleared when the plan is made.
const LINES_BYTES: usize = 64 * 1024;

/// Bounds of the pieces of an operation, in bytes.
struct Bounds {
    /// Maximum bytes of a slot.
    room: usize,
    /// Maximum bytes of a slot whose blocks have at most `least` bytes.
    room_max: usize,
    least: usize,
    /// Maximum bytes of a block, if the pieces of an operation follow one another through members.
    block: usize,
}

impl Bounds {
    /// Returns the bounds of an operation on whole blocks, with the settings `plan_bytes` and `piece_bytes`, on a network that captures puts of up to
    /// `captured` bytes.
    fn new(whole: Shape, value_bytes: usize, (plan_bytes, piece_bytes): (usize, usize), mapped: bool, captured: usize) -> Self {
        let flows = matches!(whole.operation, Collective::Broadcast { .. } | Collective::Reduce { .. })
            || matches!(whole.algorithm, Algorithm::Chain | Algorithm::Shared);
        // Networks whose data the cores move capture long puts.
        let is_moved = !mapped && captured >= piece_bytes;
        let (room_max, least) = (plan_bytes / 2, if is_moved { piece_bytes } else { 0 });
        let is_exchange = matches!(
            whole.operation,
            Collective::Allgather | Collective::Allreduce | Collective::Alltoall | Collective::ReduceScatter
        );
        let near = match (mapped, is_moved && is_exchange) {
            // Received data is read while it is in the core's own cache.
            (true, _) => ROOM_BYTES / 4,
            (false, true) => ROOM_BYTES_MOVED,
            (false, false) => room_max,
        };
        let piece_bytes = if is_moved { whole.piece_bytes(value_bytes, piece_bytes) } else { piece_bytes };
        let block = if flows { piece_bytes.min(room_max) } else { usize::MAX };
        Self { room: near.min(room_max), room_max, least, block }
    }

    /// Whether a slot and a block may have these sizes.
    fn hold(&self, slot: usize, block: usize) -> bool {
        let room = if block <= self.least { self.room_max } else { self.room };
        slot <= room && block <= self.block
    }
}

/// Returns the values of a piece of a block of `count`, at most `piece`, such that the pieces take as few messages of `message` values as possible:
/// pieces are equally long, and messages are full except for the remainder.
fn filling(count: usize, piece: usize, message: usize) -> usize {
    match piece.checked_div(message) {
        Some(messages @ 1..) if piece < count => count.div_ceil(count.div_ceil(messages * message)),
        _ => piece,
    }
}

/// The bit of the first word of an agreement on an operation that says that a member has no memory for its part.
const LACKS_MEMORY: u64 = 1 << 63;

impl Collectives<'_> {
    /// Prepares memory and steps for an operation by an algorithm. `own`: whether this member has its memory for the operation. Collective.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], on all members: one has no memory for the operation. The team has no memory left; members disagree; the job is at
    /// fault.
    pub(crate) fn make(&self, key: Key, algorithm: Algorithm, rails: Rails, own: &Result<()>) -> Result<PlanState> {
        let size = self.team().size();
        let (whole, value_bytes) = (self.shape(key, algorithm), key.value_bytes);
        if size == 1 {
            own.clone()?;
            return Ok(PlanState::new(self.alone(key, algorithm)));
        }
        self.meet_for(key, algorithm, rails, own)?;
        let mut shape = whole;
        let captured = self.captured();
        // Half of the memory of the team for the room, an eighth for the lines: a team that was split off may have less than the settings of a plan.
        let team_bytes = self.member.words.length() * 8;
        let (plan_bytes, lines_bytes) = (self.plan_bytes.min(team_bytes / 2), LINES_BYTES.min(team_bytes / 8));
        let bounds = Bounds::new(whole, value_bytes, (plan_bytes, self.piece_bytes), self.is_mapped(), captured);
        let rail = |to| rail_between(self.world, self.team(), rails, self.per_host, [self.position(), to]);
        let maps = |to| rail(to).is_none() && self.team().rank(to).is_some_and(|rank| self.world.maps(rank));
        let slot = |shape: &Shape| {
            let piece = shape.schedule(self.position());
            let kept = kept(&piece, value_bytes, (captured, whole_blocks(shape, key.count)), maps);
            let mut values = [piece.room.saturating_add(kept) as u64];
            // The kept values depend on the member's neighbours: members may have different numbers of them.
            if !self.is_mapped() || rails != Rails::default() {
                self.agree(&mut values, u64::max)?;
            }
            Ok::<_, Error>((piece, values[0] as usize))
        };
        let (mut piece, mut slot_values) = slot(&shape)?;
        while !bounds.hold(slot_values.saturating_mul(value_bytes), shape.count * value_bytes) && shape.count > 1 {
            shape.count = shape.count.div_ceil(2);
            (piece, slot_values) = slot(&shape)?;
        }
        let filling = filling(key.count, shape.count, self.message_bytes() / value_bytes);
        if filling < shape.count {
            shape.count = filling;
            (piece, slot_values) = slot(&shape)?;
        }
        let rest = match key.count % shape.count.max(1) {
            0 => None,
            rest => Some(Shape { count: rest, ..shape }.schedule(self.position())),
        };
        let of_room = plan_bytes.min(ROOM_BYTES) / (slot_values * value_bytes).max(1);
        let of_lines = lines_bytes / (piece.lines as usize * LINE_BYTES).max(1);
        let slots = of_room.min(of_lines).clamp(2, SLOTS_MAX);
        let kept = slot_values - piece.room;
        let needed = Layout::words(size, slots, &piece, kept, value_bytes);
        let region = self.take(needed)?;
        let (awaits, owes) = (piece.awaits(), piece.owes());
        let count = key.count;
        let layout = Layout { shape, count, value_bytes, slots, piece, rest, awaits, owes, captured, kept, region, rails };
        self.settle(&layout)?;
        Ok(PlanState::new(layout))
    }

    /// Returns the layout for a single member: its output is its input.
    fn alone(&self, key: Key, algorithm: Algorithm) -> Layout {
        let whole = |buffer| Span::blocks(buffer, 0, 1, key.count);
        let gets = key.operation.blocks_in(0, 1) == 1 && key.operation != Collective::ExclusiveScan;
        let copy = Step::Copy { from: whole(Buffer::Input), to: whole(Buffer::Output) };
        let piece = Schedule { steps: if gets { vec![copy] } else { Vec::new() }, ..Schedule::default() };
        let shape = Shape { size: 1, ..self.shape(key, algorithm) };
        let region = Region { start: 0, words: 0 };
        let (awaits, owes) = (Vec::new(), Vec::new());
        let (count, value_bytes, rails) = (key.count, key.value_bytes, Rails::default());
        let (captured, kept) = (0, 0);
        Layout { shape, count, value_bytes, slots: 1, piece, rest: None, awaits, owes, captured, kept, region, rails }
    }

    pub(crate) fn take(&self, words: usize) -> Result<Region> {
        let heap_bytes = self.member.words.length() as u64 * 8;
        self.pool.borrow_mut().take(words).ok_or(Error::NoMemory {
            bytes: (words as u64).saturating_mul(8),
            heap_bytes,
            memory: TEAM_MEMORY,
        })
    }

    /// Makes sure that all members prepare the same operation. After it, no member uses memory that all have given back.
    fn meet_for(&self, key: Key, algorithm: Algorithm, rails: Rails, own: &Result<()>) -> Result<()> {
        // This member's puts for an earlier plan must have arrived: a member does not wait for the credits that it receives.
        self.world.await_quiet()?;
        let Key { operation, count, value_bytes, commutes } = key;
        let place = Collective::ALL.iter().position(|other| *other == operation.rooted(0)).unwrap_or_default();
        let names = (place as u64) << 16 | (algorithm as u64) << 8 | u64::from(commutes);
        let number = |rail: Option<Rail>| rail.map_or(0, |rail| rail.number() as u64 + 1);
        let root =
            u64::from(operation.root().unwrap_or_default()) << 16 | number(rails.intra_node) << 8 | number(rails.inter_node);
        let lacks = if own.is_err() { LACKS_MEMORY } else { 0 };
        let mine = [names, root, count as u64, value_bytes as u64];
        let [mut all, mut none] = self.words_of_all([names | lacks, root, count as u64, value_bytes as u64])?;
        let some_lack = none[0] & LACKS_MEMORY == 0;
        (all[0], none[0]) = (all[0] & !LACKS_MEMORY, none[0] | LACKS_MEMORY);
        check_equal([all, none], mine)?;
        own.clone()?;
        if some_lack {
            return Err(Error::OutOfMemory { what: "a block of another member", bytes: (count * value_bytes) as u64 });
        }
        Ok(())
    }

    /// Clears the flags of a new plan, and makes sure that all members have the same memory for it.
    fn settle(&self, layout: &Layout) -> Result<()> {
        let words = self.member.words.local(self.world);
        layout.flags().for_each(|flag| words.store(flag, 0));
        let Region { start, words } = layout.region;
        self.agree_on([start as u64, words as u64, 0, 0]).inspect_err(|_| self.give_back(layout.region))
    }

    pub(crate) fn agree_on(&self, mine: [u64; 4]) -> Result<()> {
        check_equal(self.words_of_all(mine)?, mine)
    }

    /// Returns the bits that are set in the words of all members, and those that are set in none.
    fn words_of_all(&self, mine: [u64; 4]) -> Result<[[u64; 4]; 2]> {
        let mut met = [mine, mine.map(|word| !word)];
        self.agree(met.as_flattened_mut(), |one, other| one & other)?;
        Ok(met)
    }
}

/// Makes sure that all members have met with these words.
fn check_equal(met: [[u64; 4]; 2], mine: [u64; 4]) -> Result<()> {
    let is_equal = met == [mine, mine.map(|word| !word)];
    if is_equal { Ok(()) } else { Err(Error::Disagreement("a plan of a team, or the order of plans")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use pelago_test_support::threads::{Platform, run};

    /// All members get the error, and the next operation finds them in step.
    #[test]
    fn a_member_without_memory_ends_the_preparation_for_all() {
        run(Platform::Remote, 3, |world| {
            let all = Collectives::new(world, &Settings { memory_bytes: 1 << 20, ..Settings::default() }).unwrap();
            let key = all.key::<u64>(Collective::Allreduce, 5, true).unwrap();
            let make = |own: &Result<()>| all.make(key, Algorithm::Ring, Rails::default(), own).map(drop);
            for lacking in [&[1][..], &[0, 2], &[0, 1, 2], &[]] {
                let mine = Error::OutOfMemory { what: "a test", bytes: 77 };
                let lacks = lacking.contains(&all.position());
                let made = make(&if lacks { Err(mine.clone()) } else { Ok(()) });
                match made {
                    Ok(()) => assert!(lacking.is_empty()),
                    Err(error) if lacks => assert_eq!(error, mine),
                    Err(error) => assert_eq!(error, Error::OutOfMemory { what: "a block of another member", bytes: 40 }),
                }
            }
            world.barrier().unwrap();
        });
    }

    #[test]
    fn pieces_fill_messages() {
        const MESSAGE: usize = 8000;
        let messages = |count: usize, piece: usize| {
            let rest = count % piece;
            count / piece * piece.div_ceil(MESSAGE) + rest.div_ceil(MESSAGE)
        };
        // Of 16 pieces, each would take a message and a bit.
        assert_eq!(filling(1 << 17, 1 << 13, MESSAGE), 7711);
        assert_eq!((messages(1 << 17, 1 << 13), messages(1 << 17, 7711)), (32, 17));
        assert_eq!(messages(1 << 17, filling(1 << 17, 1 << 14, MESSAGE)), 18, "24 messages before");
        for (count, piece, message) in [(1 << 17, 1 << 17, MESSAGE), (1 << 17, 4096, MESSAGE), (1 << 17, 1 << 13, 0)] {
            assert_eq!(filling(count, piece, message), piece, "a whole block, short pieces, messages that cost little");
        }
    }

    /// Bytes of a piece of blocks of `count` values of 8 bytes, of which a slot has one from each of `size` members.
    fn piece_bytes(operation: Collective, size: u32, count: usize, mapped: bool, captured: usize) -> usize {
        let algorithm = Algorithm::Direct;
        let whole = Shape { operation, algorithm, size, count, per_host: 1, commutes: true };
        let bounds = Bounds::new(whole, 8, (4 << 20, 64 << 10), mapped, captured);
        let mut block = count * 8;
        while !bounds.hold(size as usize * block, block) {
            block = block.div_ceil(2);
        }
        block
    }

    #[test]
    fn what_processors_move_lands_in_pieces_that_stay_near_the_core() {
        const LONG: usize = 1 << 20;
        let pieces =
            |captured, mapped| [2, 4, 8, 32, 64].map(|size| piece_bytes(Collective::Alltoall, size, LONG / 8, mapped, captured));
        assert_eq!(
            pieces(16 << 20, false),
            [256 << 10, 128 << 10, 64 << 10, 64 << 10, 32 << 10],
            "the memory of a plan is the last bound"
        );
        assert_eq!(pieces(4096, false), [LONG, 512 << 10, 256 << 10, 64 << 10, 32 << 10], "a network that moves them itself");
        assert_eq!(pieces(16 << 20, true), [128 << 10, 64 << 10, 32 << 10, 8 << 10, 4 << 10], "mapped memory");
        // Pieces that follow one another through members have a bound of their own: here that of one step.
        let flowing = Collective::Broadcast { root: 0 };
        assert_eq!(piece_bytes(flowing, 1, LONG / 8, false, 4096), 64 << 10);
        assert_eq!(piece_bytes(flowing, 1, LONG / 8, false, 16 << 20), LONG);
        assert_eq!(piece_bytes(Collective::Gather { root: 0 }, 8, LONG / 8, false, 16 << 20), 256 << 10, "no exchange");
    }
}
