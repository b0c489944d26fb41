//! Execution of the graph of a rank: operations start in the order in which they become ready, and the rank waits for those in flight.

use std::collections::{BTreeSet, VecDeque};

use pelago::collectives::{Collective, Collectives, Commutative, Settings, Started};
use pelago::zerocopy::FromZeros;
use pelago::{Duration, Error, GlobalPtr, Handle, PendingGet, Rank, Result, Team, World};

use super::cores::Cores;
use super::messages::{Messages, ZEROS};
use super::{Graph, Kind, Operation, When};

/// Memory of each rank for the collective operations of a group, if there are several groups.
const GROUP_BYTES: usize = 16 << 20;

/// Maximum number of pieces of a get in flight.
const GETS_MAX: usize = 64;

/// Runs the graph of this rank. Collective.
///
/// `takes_time` is the result of [`computing_takes_time`]. Computing in a graph with one core occupies the rank; with several cores it overlaps
/// with other operations.
///
/// # Errors
/// An operation fails; a message arrives for which no receive exists; all ranks wait.
pub(crate) fn run<'w>(
    world: &'w World,
    collectives: &[Option<Collectives<'w>>],
    graph: &Graph,
    messages: &mut Messages<'w>,
    takes_time: bool,
) -> std::result::Result<(), Box<Stopped>> {
    let is_ready = |number: &u32| graph.blockers[*number as usize] == 0;
    let mut runner = Runner {
        world,
        collectives,
        graph,
        messages,
        blockers: graph.blockers.clone(),
        ready: (0..graph.operations.len() as u32).filter(is_ready).map(Ready::Operation).collect(),
        left: graph.operations.len(),
        cores: Cores::new(graph.cores()),
        takes_time,
        under_way: Vec::new(),
        ended: Vec::new(),
        open: BTreeSet::new(),
    };
    let ended = runner.run();
    ended.map_err(|error| {
        let first = runner.open.first();
        Box::new(Stopped { error, waits_for: first.map(|&number| graph.operations[number as usize]) })
    })
}

/// Reason why a graph did not end.
pub(crate) struct Stopped {
    pub(crate) error: Error,
    /// An operation that has begun but not ended.
    pub(crate) waits_for: Option<Operation>,
}

struct Runner<'r, 'c, 'w> {
    world: &'w World,
    collectives: &'c [Option<Collectives<'w>>],
    graph: &'r Graph,
    messages: &'r mut Messages<'w>,
    /// Number of operations for which each operation still waits.
    blockers: Vec<u32>,
    /// What begins next, in the order in which it became ready.
    ready: VecDeque<Ready>,
    /// Number of operations that have not ended.
    left: usize,
    cores: Cores,
    /// Whether computing on one of several cores takes time.
    takes_time: bool,
    /// Operations in flight on whose end others depend.
    under_way: Vec<(u32, Flight<'c, 'w>)>,
    /// Scratch list of completed receives.
    ended: Vec<u32>,
    /// Receives and collectives in flight, and a send that has failed, for reports of awaited operations.
    open: BTreeSet<u32>,
}

#[derive(Clone, Copy)]
enum Ready {
    Operation(u32),
    /// The operations that were held until the computation on this core ended.
    Released(u8),
}

enum Flight<'c, 'w> {
    Handles(Vec<Handle<'w>>),
    Gets(Gets<'w>),
    Started(Started<'c, 'w, u8>),
}

/// A get in pieces, of which few are in flight at once: each has memory of its own for what it reads.
struct Gets<'w> {
    world: &'w World,
    from: GlobalPtr<u8>,
    /// The pieces that have not begun, the last first.
    left: Vec<usize>,
    in_flight: VecDeque<PendingGet<'w, u8>>,
}

impl Gets<'_> {
    /// Starts as many pieces as may be in flight.
    fn start(&mut self) -> Result<()> {
        while self.in_flight.len() < GETS_MAX
            && let Some(piece) = self.left.pop()
        {
            self.in_flight.push_back(self.world.start_get(self.from, piece)?);
        }
        Ok(())
    }

    fn have_ended(&mut self) -> Result<bool> {
        while let Some(get) = self.in_flight.front() {
            if !get.handle().has_ended()? {
                return Ok(false);
            }
            self.in_flight.pop_front();
            self.start()?;
        }
        Ok(true)
    }
}

impl<'c, 'w> Runner<'_, 'c, 'w> {
    fn run(&mut self) -> Result<()> {
        loop {
            while let Some(next) = self.ready.pop_front() {
                match next {
                    Ready::Operation(number) => self.begin(number)?,
                    Ready::Released(core) => {
                        while let Some(number) = self.cores.next_released(core) {
                            self.begin(number)?;
                        }
                    }
                }
            }
            if self.left == 0 {
                return self.world.quiet();
            }
            if !self.look()? {
                self.wait()?;
            }
        }
    }

    fn begin(&mut self, number: u32) -> Result<()> {
        let graph = self.graph;
        let operation = graph.operations[number as usize];
        let Operation { kind, core, peer, tag, amount, .. } = operation;
        if !self.cores.admits(core, number) {
            return Ok(());
        }
        let peer_rank = Rank::new(peer);
        for dependent in graph.waiting_for(number, When::Begun) {
            self.unblock(dependent);
        }
        match kind {
            Kind::Compute => {
                let duration = Duration::from_nanoseconds(amount);
                if self.cores.count() > 1 && self.takes_time {
                    self.cores.compute(core, self.world.now() + duration, number);
                    return Ok(());
                }
                compute(self.world, duration);
            }
            Kind::Send => {
                let mut ended = std::mem::take(&mut self.ended);
                let sent = self.messages.send(peer, tag, amount, &mut ended);
                ended.drain(..).for_each(|number| self.end_open(number));
                self.ended = ended;
                if sent.is_err() {
                    self.open.insert(number);
                }
                sent?;
            }
            Kind::Receive => {
                if !self.messages.receive(number, peer, tag) {
                    self.open.insert(number);
                    return Ok(());
                }
            }
            Kind::Put => {
                let landing = self.messages.landing.at(peer_rank, 0);
                let pieces = self.messages.pieces(amount).into_iter();
                let puts = pieces.map(|piece| self.world.put(landing, &ZEROS[..piece])).collect::<Result<_>>()?;
                return self.goes_on(number, Flight::Handles(puts));
            }
            Kind::Get => {
                let (from, mut left) = (self.messages.landing.at(peer_rank, 0), self.messages.pieces(amount));
                left.reverse();
                let mut gets = Gets { world: self.world, from, left, in_flight: VecDeque::new() };
                gets.start()?;
                if gets.left.is_empty() {
                    return self.goes_on(number, Flight::Gets(gets));
                }
                self.under_way.push((number, Flight::Gets(gets)));
                return Ok(());
            }
            Kind::Atomic => {
                let word = self.messages.landing.at(peer_rank, 0).cast::<u64>();
                let word = word.map_err(|_| Error::Invalid("the landing area is aligned"))?;
                let added = self.world.add(word, 0)?;
                return self.goes_on(number, Flight::Handles(vec![added]));
            }
            Kind::Collective(collective) => {
                self.open.insert(number);
                let started = self.start(collective, tag, amount as usize)?;
                self.under_way.push((number, Flight::Started(started)));
                return Ok(());
            }
        }
        self.end(number);
        Ok(())
    }

    fn start(&self, collective: Collective, group: u32, bytes: usize) -> Result<Started<'c, 'w, u8>> {
        let Some(Some(all)) = self.collectives.get(group as usize) else {
            return Err(Error::Invalid("a rank takes part in a collective operation of a group that it is not in"));
        };
        let (size, me) = (all.team().size() as usize, all.position());
        let operator = Commutative(u8::wrapping_add);
        match collective {
            Collective::Barrier => all.start_barrier(),
            Collective::Broadcast { root } => all.start_broadcast(root, zeros(bytes)?),
            Collective::Reduce { root } => all.start_reduce(root, zeros(bytes)?, operator),
            Collective::Allreduce => all.start_allreduce(zeros(bytes)?, operator),
            Collective::Allgather => all.start_allgather(zeros(bytes)?),
            // The blocks of all ranks must be equal.
            Collective::ReduceScatter => all.start_reduce_scatter(zeros(bytes.next_multiple_of(size))?, operator),
            Collective::Gather { root } => all.start_gather(root, zeros(bytes)?),
            Collective::Scatter { root } => {
                let blocks = if root == me { size } else { 0 };
                all.start_scatter(root, zeros(bytes.saturating_mul(blocks))?, bytes)
            }
            Collective::Alltoall => all.start_alltoall(zeros(bytes.next_multiple_of(size))?),
            Collective::Scan => all.start_scan(zeros(bytes)?, operator),
            Collective::ExclusiveScan => all.start_exclusive_scan(zeros(bytes)?, operator),
        }
    }

    /// Marks a network operation as begun; it is tracked only if others depend on its end.
    fn goes_on(&mut self, number: u32, flight: Flight<'c, 'w>) -> Result<()> {
        if self.graph.waiting_for(number, When::Ended).next().is_some() {
            self.under_way.push((number, flight));
        } else {
            self.left -= 1;
        }
        Ok(())
    }

    fn end(&mut self, number: u32) {
        self.left -= 1;
        let graph = self.graph;
        for dependent in graph.waiting_for(number, When::Ended) {
            self.unblock(dependent);
        }
    }

    fn end_open(&mut self, number: u32) {
        let was_open = self.open.remove(&number);
        debug_assert!(was_open);
        self.end(number);
    }

    fn unblock(&mut self, number: u32) {
        let blockers = &mut self.blockers[number as usize];
        *blockers -= 1;
        if *blockers == 0 {
            self.ready.push_back(Ready::Operation(number));
        }
    }

    /// Processes completed operations; returns whether there were any.
    fn look(&mut self) -> Result<bool> {
        let before = self.left;
        let mut ended = std::mem::take(&mut self.ended);
        let read = self.messages.read(&mut ended);
        ended.drain(..).for_each(|number| self.end_open(number));
        self.ended = ended;
        read?;
        let mut place = 0;
        while place < self.under_way.len() {
            let (number, flight) = &mut self.under_way[place];
            let (number, is_open) = (*number, matches!(flight, Flight::Started(_)));
            if flight.has_ended()? {
                self.under_way.swap_remove(place);
                if is_open { self.end_open(number) } else { self.end(number) }
            } else {
                place += 1;
            }
        }
        if self.cores.count() > 1 {
            self.end_computing();
        }
        Ok(self.left < before)
    }

    fn end_computing(&mut self) {
        let now = self.world.now();
        for core in (0..=u8::MAX).take(self.cores.count()) {
            if let Some(number) = self.cores.end(core, now) {
                self.ready.push_back(Ready::Released(core));
                self.end(number);
            }
        }
    }

    /// Waits until an operation ends.
    fn wait(&mut self) -> Result<()> {
        let world = self.world;
        let limit = self.cores.next_end().map(|until| until.since(world.now()));
        match limit {
            Some(limit) if !self.messages.is_any_open() && self.under_way.is_empty() => {
                compute(world, limit);
                Ok(())
            }
            limit => match world.wait_for("an operation of the graph", limit, || Ok(self.look()?.then_some(()))) {
                Err(Error::TimedOut { .. }) => Ok(()),
                other => other,
            },
        }
    }
}

impl Flight<'_, '_> {
    fn has_ended(&mut self) -> Result<bool> {
        match self {
            Self::Handles(handles) => all_ended(handles),
            Self::Gets(gets) => gets.have_ended(),
            Self::Started(started) => started.test(),
        }
    }
}

/// Removes completed flights from the end of the list; returns whether it is empty.
fn all_ended(flights: &mut Vec<Handle<'_>>) -> Result<bool> {
    while let Some(flight) = flights.last() {
        if !flight.has_ended()? {
            return Ok(false);
        }
        flights.pop();
    }
    Ok(true)
}

/// Returns zeros for a collective operation. The system provides a page when it is written, so that the zeros of a sender take no memory.
///
/// # Errors
/// The process has no memory for them.
fn zeros(length: usize) -> Result<Vec<u8>> {
    let missing = |_| Error::OutOfMemory { what: "the data of a collective operation", bytes: length as u64 };
    u8::new_vec_zeroed(length).map_err(missing)
}

/// Computes: in virtual time according to the simulation's settings, on a real machine by keeping the core busy.
fn compute(world: &World, duration: Duration) {
    if world.has_virtual_time() {
        world.compute(duration);
        return;
    }
    let until = world.now() + duration;
    while world.now() < until {
        std::hint::spin_loop();
    }
}

/// Creates the collectives of all ranks and of groups, if some rank has such operations; `None` for a group without this rank. Collective.
pub(crate) fn collectives<'w>(world: &'w World, graph: &Graph, groups: &[Team]) -> Result<Vec<Option<Collectives<'w>>>> {
    let mut is_used = vec![0_u64; groups.len() + 1];
    for operation in &graph.operations {
        if matches!(operation.kind, Kind::Collective(_)) {
            is_used[operation.tag as usize] = 1;
        }
    }
    world.allreduce(&mut is_used, u64::max)?;
    let settings = match groups.len() {
        0 => Settings::default(),
        _ => Settings { memory_bytes: GROUP_BYTES, ..Settings::default() },
    };
    let all = Team::all(world.size());
    let teams = std::iter::once(&all).chain(groups).zip(is_used);
    teams.map(|(team, is_used)| if is_used == 0 { Ok(None) } else { Collectives::of(world, team, &settings) }).collect()
}

/// Returns whether declared computing takes time: not in a simulation with `--compute zero` or `--compute measured`.
pub(crate) fn computing_takes_time(world: &World) -> bool {
    let before = world.now();
    world.compute(Duration::from_nanoseconds(1));
    !world.has_virtual_time() || world.now() > before
}
