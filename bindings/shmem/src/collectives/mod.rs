//! Collective operations of teams.
//!
//! | file | holds |
//! |---|---|
//! | this one | the memory of a team; synchronization |
//! | `data` | broadcast, collects, exchanges |
//! | `reductions` | reductions and scans |
//! | `teams` | splits: new teams agree on a slot |
//! | `active_sets` | the deprecated operations of active sets, by the program's `pSync` |
//!
//! Each team has a slot of memory at every PE: cache lines with one word each for synchronizations and flags, landing buffers, and parcels of short reductions.
//! Every operation that moves data ends with a synchronization, after which all members have read their lines and buffers, so that the next operation may write
//! them again. Three kinds of reductions have memory of their own instead, and no synchronization at their end:
//!
//! - Short reductions alternate between two sets of parcels. A member that sends for reduction e + 2 has left e + 1, so every member had begun e + 1, and had
//!   read the parcels of e.
//! - Whole exchanges between two PEs alternate between two places, for the same reason.
//! - Long reductions have lines of their own for parts and results. A member sends results of e + 1 after it has received the parts of all members, which have
//!   left e. It sends parts of e + 1, or writes landing buffers for another operation, after it has received the results of e from all members, which had read
//!   their landing buffers before.
//!
//! Synchronizations alternate between two lines of each round: a member that writes a line of synchronization e + 2 has left e + 1, which all members have
//! entered after all their lines of e had arrived. Thus no plain put to a line overtakes an earlier one (`docs/ordering.md`).

pub(crate) mod active_sets;
pub(crate) mod data;
pub(crate) mod reductions;
pub(crate) mod teams;

use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use pelago::{GlobalAddress, GlobalPtr};
use pelago_base::AtomicOperator;
use pelago_memory::Cells;

pub(crate) use crate::addresses::cells;
use crate::library::{DEFAULT, Library, Members, Team, library};
use crate::limits::{DIRECT_MEMBERS_MAX, EXCHANGE_BYTES, LANDING_BYTES, PARCEL_DATA_BYTES, TEAM_ROUNDS, TEAMS_MAX, WAIT_LOOKS};
use crate::refusal::refuse;
use crate::transfer::{SIGNAL_ADD, SIGNAL_SET, SignalWord, put_with_flag, put_with_signal, write_mapped};

const LINE_BYTES: usize = 64;

/// Numbers of the lines of a slot: two for each round of a synchronization, a flag and a second flag for each round, the count of arrivals, the flag of a
/// result, the counts of parts and of results of long reductions, and, in teams of few members, a flag for each from every member. A flag is written by a put,
/// which needs no response; a count is changed by an atomic, which needs one.
const SYNCS: usize = 0;
pub(crate) const FLAGS: usize = SYNCS + 2 * TEAM_ROUNDS;
pub(crate) const SECOND_FLAGS: usize = FLAGS + TEAM_ROUNDS;
pub(crate) const ARRIVALS: usize = SECOND_FLAGS + TEAM_ROUNDS;
pub(crate) const RESULT: usize = ARRIVALS + 1;
const PARTS: usize = RESULT + 1;
const RESULTS: usize = PARTS + 1;
const PART_FLAGS: usize = RESULTS + 1;
const RESULT_FLAGS: usize = PART_FLAGS + DIRECT_MEMBERS_MAX as usize;
const LINES: usize = RESULT_FLAGS + DIRECT_MEMBERS_MAX as usize;

/// Offset of the landing buffers, which follow the lines: one for each round, and one for a result.
const LANDINGS: usize = (LINES * LINE_BYTES).next_multiple_of(4096);

/// Offset of the two sets of parcels, with one parcel from each member. A parcel ends with its flag. Its data lie directly before the flag, so that small data
/// share the flag's cache line.
const PARCELS: usize = LANDINGS + ALL_LANDINGS_BYTES;
const PARCEL_BYTES: usize = PARCEL_DATA_BYTES + size_of::<u64>();
const PARCEL_SETS: usize = 2;

/// Bytes of a team's slot.
pub(crate) const TEAM_BYTES: usize = PARCELS + (PARCEL_SETS * DIRECT_MEMBERS_MAX as usize * PARCEL_BYTES).next_multiple_of(4096);

/// Bytes of all landing buffers, which are contiguous.
pub(crate) const ALL_LANDINGS_BYTES: usize = (TEAM_ROUNDS + 1) * LANDING_BYTES;

/// Offset of the two places of whole exchanges between the two PEs of a job, after the slots of all teams. A place has the data, then a line for the flag.
const EXCHANGES: usize = TEAMS_MAX * TEAM_BYTES;
const EXCHANGE_SET_BYTES: usize = (EXCHANGE_BYTES + LINE_BYTES).next_multiple_of(4096);

/// Bytes of the memory of the teams.
pub(crate) const SCRATCH_BYTES: usize = EXCHANGES + 2 * EXCHANGE_SET_BYTES;

/// Number of the landing buffer of results.
pub(crate) const RESULT_LANDING: usize = TEAM_ROUNDS;

/// How a member detects that the data of each other member has arrived.
#[derive(Clone, Copy)]
pub(crate) struct Arrivals {
    /// In a team of few members, the first of the lines that the members set to `word`, one line for each member.
    flags: Option<usize>,
    /// In a larger team, the line in which arrivals are counted up to `word`.
    count: usize,
    word: u64,
}

/// A collective operation of a team at this member.
pub(crate) struct Run<'l> {
    pub(crate) library: &'l Library,
    pub(crate) routine: &'static str,
    pub(crate) team: &'l Team,
    index: usize,
    pub(crate) members: Members,
    /// The position of this member.
    pub(crate) me: u32,
    _turn: MutexGuard<'l, ()>,
}

impl Run<'static> {
    /// Begins an operation of the team with the handle `team`.
    pub(crate) fn begin(routine: &'static str, team: usize) -> Self {
        let library = library(routine);
        library.announce_stores();
        let (index, team) = library.team(routine, team);
        let turn = match team.turn.try_lock() {
            Ok(turn) => turn,
            Err(std::sync::TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // Concurrent collective operations of one team are an error of the program. Outside a simulation, however, a thread may begin the next operation
            // while another thread is about to return from the previous one.
            Err(std::sync::TryLockError::WouldBlock) if library.is_simulated => {
                refuse(routine, &"two threads are in collective operations of one team")
            }
            Err(std::sync::TryLockError::WouldBlock) => team.turn.lock().unwrap_or_else(PoisonError::into_inner),
        };
        Self { library, routine, team, index, members: team.members(), me: team.me(), _turn: turn }
    }
}

impl Run<'_> {
    /// Returns the number of members.
    pub(crate) fn size(&self) -> u32 {
        self.members.size
    }

    /// Returns the rank of a member.
    pub(crate) fn rank(&self, position: u32) -> u32 {
        self.members.rank_at(position)
    }

    /// Returns the other members, beginning with the next one, so that members do not all send to the same one first.
    pub(crate) fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let (me, size) = (self.me, self.size());
        (1..size).map(move |distance| (me + distance) % size)
    }

    /// Returns the number of a new data operation.
    pub(crate) fn number(&self) -> u64 {
        advance(&self.team.operations, 1)
    }

    /// Returns the number of a new short reduction.
    pub(crate) fn short_number(&self) -> u64 {
        advance(&self.team.short_reductions, 1)
    }

    /// Returns the address, at a member, of an offset in the team's slot.
    fn place(&self, position: u32, offset: usize) -> GlobalAddress {
        let bits = self.library.scratch().bits + (self.index * TEAM_BYTES + offset) as u64;
        self.library.at(bits, self.rank(position))
    }

    /// Returns the address, at a member, of a landing buffer.
    pub(crate) fn landing(&self, position: u32, number: usize) -> GlobalAddress {
        self.landing_at(position, number * LANDING_BYTES)
    }

    /// Returns the address, at a member, of an offset in its landing buffers.
    pub(crate) fn landing_at(&self, position: u32, offset: usize) -> GlobalAddress {
        self.place(position, LANDINGS + offset)
    }

    /// Returns the address in this process of a landing buffer of this member.
    pub(crate) fn own_landing(&self, number: usize) -> *const u8 {
        (self.library.scratch().start + self.index * TEAM_BYTES + LANDINGS + number * LANDING_BYTES) as *const u8
    }

    /// Returns the word at an offset of the team's slot at a member.
    fn word(&self, position: u32, offset: usize) -> GlobalPtr<u64> {
        GlobalPtr::from_address(self.place(position, offset)).expect("words are aligned")
    }

    fn load(&self, offset: usize) -> u64 {
        let word = self.library.reach.place(self.word(self.me, offset)).expect("a PE reaches its own memory").load();
        fence(Ordering::Acquire);
        word
    }

    /// Zeroes the lines and the parcels' flags of this member.
    pub(crate) fn clear(&self) {
        let parcels =
            (0..PARCEL_SETS * DIRECT_MEMBERS_MAX as usize).map(|parcel| PARCELS + parcel * PARCEL_BYTES + PARCEL_DATA_BYTES);
        for offset in (0..LINES).map(|line| line * LINE_BYTES).chain(parcels) {
            self.library.reach.place(self.word(self.me, offset)).expect("a PE reaches its own memory").store(0);
        }
    }

    /// Writes a word of the team's slot at a member.
    fn tell(&self, position: u32, offset: usize, word: u64) {
        fence(Ordering::Release);
        let at = self.word(position, offset);
        match self.library.reach.place(at) {
            Some(place) => place.store(word),
            None => {
                let issued = self.library.default_context().issue(|context| context.put(at, &[word]).map(drop));
                self.library.or_end(self.routine, issued);
            }
        }
    }

    /// Counts an arrival at a member.
    pub(crate) fn count(&self, position: u32) {
        self.count_at(position, ARRIVALS * LINE_BYTES);
    }

    fn count_at(&self, position: u32, offset: usize) {
        fence(Ordering::Release);
        let at = self.word(position, offset);
        match self.library.reach.place(at) {
            Some(place) => drop(place.atomic(AtomicOperator::Add, 1)),
            None => {
                let issued = self.library.default_context().issue(|context| context.add(at, 1).map(drop));
                self.library.or_end(self.routine, issued);
            }
        }
    }

    /// Puts bytes to a member, and then writes the word of a line there.
    pub(crate) fn send(&self, position: u32, to: GlobalAddress, from: Cells<'static>, line: usize, word: u64) {
        self.send_as(position, to, from, line * LINE_BYTES, set(word));
    }

    /// Puts bytes to a member, and then counts an arrival in a line there.
    pub(crate) fn send_counted(&self, position: u32, to: GlobalAddress, from: Cells<'static>, line: usize) {
        let one = SignalWord { address: std::ptr::null_mut(), value: 1, operation: SIGNAL_ADD };
        self.send_as(position, to, from, line * LINE_BYTES, one);
    }

    /// Puts bytes to a member, and then signals their arrival there.
    pub(crate) fn send_arrival(&self, position: u32, to: GlobalAddress, from: Cells<'static>, arrivals: Arrivals) {
        match arrivals.flags {
            Some(flags) => self.send(position, to, from, flags + self.me as usize, arrivals.word),
            None => self.send_counted(position, to, from, arrivals.count),
        }
    }

    fn send_as(&self, position: u32, to: GlobalAddress, from: Cells<'static>, offset: usize, word: SignalWord) {
        let is_set = word.operation == SIGNAL_SET;
        if from.bytes() == 0 || write_mapped(self.library, to, self.rank(position), from) {
            return if is_set { self.tell(position, offset, word.value) } else { self.count_at(position, offset) };
        }
        let at = self.word(position, offset);
        let sent = if is_set {
            put_with_flag(self.library, self.routine, to, from, at, word.value)
        } else {
            put_with_signal(self.library, self.routine, DEFAULT, to, from, at, word)
        };
        self.library.or_end(self.routine, sent);
    }

    /// Returns the offset in a slot of the flag of the parcel from a member.
    fn parcel_flag(&self, from: u32, number: u64) -> usize {
        let set = number as usize % PARCEL_SETS;
        PARCELS + (set * DIRECT_MEMBERS_MAX as usize + from as usize) * PARCEL_BYTES + PARCEL_DATA_BYTES
    }

    /// Sends the parcel of a short reduction to a member.
    pub(crate) fn send_parcel(&self, position: u32, from: Cells<'static>, number: u64) {
        let flag = self.parcel_flag(self.me, number);
        self.send_as(position, self.place(position, flag - from.bytes()), from, flag, set(number));
    }

    /// Waits for the parcel of a member, and returns the address of its `bytes` bytes.
    pub(crate) fn parcel(&self, from: u32, number: u64, bytes: usize) -> usize {
        let flag = self.parcel_flag(from, number);
        self.wait_at(flag, number);
        self.library.scratch().start + self.index * TEAM_BYTES + flag - bytes
    }

    /// Whether this is the team of all PEs of a job of two PEs that reach each other only by a network.
    pub(crate) fn is_pair(&self) -> bool {
        self.index == DEFAULT - 1 && self.size() == 2 && !self.is_mapped()
    }

    /// Returns the number of a new whole exchange of the pair.
    pub(crate) fn exchange_number(&self) -> u64 {
        advance(&self.team.exchanges, 1)
    }

    /// Returns the offsets of the values of an exchange and of their flag in the memory of the teams.
    fn exchange(number: u64) -> (usize, usize) {
        let set = EXCHANGES + number as usize % 2 * EXCHANGE_SET_BYTES;
        (set, set + EXCHANGE_BYTES)
    }

    /// Sends the values of an exchange to the other PE.
    pub(crate) fn send_whole(&self, from: Cells<'static>, number: u64) {
        let (other, (data, flag)) = (1 - self.me, Self::exchange(number));
        self.send_as(other, self.place(other, data), from, flag, set(number));
    }

    /// Waits for the values of the other PE in an exchange, and returns their address.
    pub(crate) fn whole(&self, number: u64) -> usize {
        let (data, flag) = Self::exchange(number);
        self.wait_at(flag, number);
        self.library.scratch().start + data
    }

    /// Waits until the word of a line of this member is at least `word`.
    pub(crate) fn wait(&self, line: usize, word: u64) {
        self.wait_at(line * LINE_BYTES, word);
    }

    fn wait_at(&self, offset: usize, word: u64) {
        if !self.library.is_simulated {
            for _ in 0..WAIT_LOOKS {
                if self.load(offset) >= word {
                    return;
                }
                std::hint::spin_loop();
            }
        }
        let monitor = &self.library.default_context().monitor;
        let own = self.library.awaited(self.place(self.me, offset));
        let waited = monitor.wait_for_word("a collective operation", own, |_| Ok((self.load(offset) >= word).then_some(())));
        self.library.or_end(self.routine, waited);
    }

    /// Waits for `count` further arrivals.
    pub(crate) fn wait_for_arrivals(&self, count: u64) {
        self.wait(ARRIVALS, advance(&self.team.arrivals, count));
    }

    /// Returns the arrivals of the parts of a new long reduction.
    pub(crate) fn parts(&self) -> Arrivals {
        self.arrivals(&self.team.parts, PART_FLAGS, PARTS)
    }

    /// Returns the arrivals of the results of a new long reduction.
    pub(crate) fn results(&self) -> Arrivals {
        self.arrivals(&self.team.results, RESULT_FLAGS, RESULTS)
    }

    fn arrivals(&self, counter: &AtomicU64, flags: usize, count: usize) -> Arrivals {
        let are_few = self.size() <= DIRECT_MEMBERS_MAX;
        let word = advance(counter, if are_few { 1 } else { u64::from(self.size() - 1) });
        Arrivals { flags: are_few.then_some(flags), count, word }
    }

    /// Waits for the arrival from a member; in a team of more than a few members, for the arrivals from all.
    pub(crate) fn wait_for(&self, position: u32, arrivals: Arrivals) {
        self.wait(arrivals.flags.map_or(arrivals.count, |flags| flags + position as usize), arrivals.word);
    }

    /// Whether the memory of all members is mapped. It is if all members are on one host; then this is true at all members, otherwise at none.
    pub(crate) fn is_mapped(&self) -> bool {
        (0..self.size()).all(|position| self.library.reach.cells(self.landing(position, 0), 1).is_some())
    }

    /// Synchronizes the team: returns after every member has called it.
    pub(crate) fn sync(&self) {
        let size = self.size();
        if size == 1 {
            return;
        }
        if self.index == DEFAULT - 1 && !self.library.has_threads() {
            let met = self.library.default_context().monitor.with(|state| state.job.map_or(Ok(()), |job| job.barrier()));
            return self.library.or_end(self.routine, met);
        }
        let number = advance(&self.team.syncs, 1);
        for round in 0..rounds(size) {
            let line = SYNCS + (number % 2) as usize * TEAM_ROUNDS + round as usize;
            self.tell((self.me + (1 << round)) % size, line * LINE_BYTES, number);
            self.wait(line, number);
        }
    }

    /// Ends the job unless the bytes at `address`, an argument of a call, are symmetric.
    pub(crate) fn check(&self, argument: &str, address: usize, bytes: usize) {
        if bytes > 0 {
            self.library.global(self.routine, argument, address, bytes, self.library.me);
        }
    }

    /// If arguments are to be compared, ends the job unless those of all members are equal.
    pub(crate) fn compare(&self, arguments: &[u64]) {
        if !self.library.is_debugged.load(Ordering::Relaxed) {
            return;
        }
        // The maximum yields the greatest value of each and, through the complement, the least.
        let mut both: Vec<u64> = arguments.iter().flat_map(|&argument| [argument, !argument]).collect();
        reductions::reduce_private(self, &mut both, crate::values::Combine::Max);
        if both.chunks_exact(2).any(|pair| pair[0] != !pair[1]) {
            refuse(self.routine, &format_args!("the arguments {arguments:?} of this PE differ from those of other members"));
        }
    }
}

/// Adds to a counter that one thread uses at a time, and returns the sum.
fn advance(counter: &AtomicU64, count: u64) -> u64 {
    let sum = counter.load(Ordering::Relaxed) + count;
    counter.store(sum, Ordering::Relaxed);
    sum
}

/// Returns a signal that sets its word.
fn set(word: u64) -> SignalWord {
    SignalWord { address: std::ptr::null_mut(), value: word, operation: SIGNAL_SET }
}

/// Returns the number of doublings by which 1 reaches at least `size`.
pub(crate) const fn rounds(size: u32) -> u32 {
    size.next_power_of_two().ilog2()
}

/// `shmem_sync_all`, `shmem_team_sync`.
pub(crate) fn sync(routine: &'static str, team: usize) {
    Run::begin(routine, team).sync();
}

/// `shmem_barrier_all`.
pub(crate) fn barrier_all(routine: &'static str) {
    let library = library(routine);
    library.or_end(routine, library.default_context().quiet());
    sync(routine, DEFAULT);
}

/// Compares the arguments of a collective call of all PEs, if comparisons are enabled.
pub(crate) fn compare(library: &Library, routine: &'static str, arguments: &[u64]) {
    if library.is_debugged.load(Ordering::Relaxed) {
        Run::begin(routine, DEFAULT).compare(arguments);
    }
}
