//! What is known of the simulated job: its ranks, its operations and its network, moved by one event after another.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use pelago_base::{Duration, Instant, Rank};
use pelago_netsim::{Netsim, Notice};
use pelago_platform::{Completion, Failure, Fault, For, Operation, PostError, Rail, Token};
use pelago_report::{Recorder, Why};

use crate::Settings;
use crate::fiber;
use crate::memory::Memory;
use crate::messages::Messages;
use crate::near::Near;
use crate::operations::{Completions, Fetchable, Link, Operations, Pending, Stage, link};
use crate::order::Order;
use crate::progress_threads::{Beginning, ProgressThreads};
use crate::stations::{Ask, Stations};
use crate::work::Work;

/// Operations of one rank that have not completed.
pub(crate) const IN_FLIGHT_MAX: u32 = 4096;

/// A look at the network that finds nothing, and a question for the time, in a measure of how long a rank has been at it without waiting.
pub(crate) const LOOK: u32 = 1000;
pub(crate) const ASK: u32 = 1;

/// From so much on time passes for the rank: with each further look or question, so long.
const PATIENCE: u32 = 64 * LOOK;

/// How often in a row a rank may wait and go on at the same moment, as where operations take no time, before it counts as one that never waits.
const TIMELESS_WAITS_MAX: u32 = 4096;

/// Looks of a thread, after another of its rank has waited, until time passes with each.
const THREAD_LOOKS: u32 = 4;

/// Threads of a rank look so often, at least, whether they may go on.
pub(crate) const THREAD_SLICE: Duration = Duration::from_microseconds(1);

const PASSES: Duration = Duration::from_nanoseconds(100);

/// What a wake-up is for, in the upper half of its token; the rest of it counts.
const FOR_STATION: u64 = 1 << 63;
const FOR_DATAGRAM: u64 = 1 << 62;
const FOR_DEATH: u64 = 1 << 61;
pub(crate) const FOR_SEEN: u64 = FOR_STATION | FOR_DATAGRAM;
const FOR_NIC: u64 = FOR_STATION | FOR_DEATH;
pub(crate) const FOR_SERVED: u64 = FOR_DATAGRAM | FOR_DEATH;
pub(crate) const FOR_TOLD: u64 = FOR_STATION | FOR_DATAGRAM | FOR_DEATH;
const FOR_MASK: u64 = FOR_TOLD;
const COUNT_MASK: u32 = (1 << 29) - 1;

/// What tells the token of a two-sided message from that of an operation.
pub(crate) const IS_MESSAGE: u64 = 1 << 32;

/// What tells a progress thread's answer from the operation that it was asked for.
pub(crate) const IS_ANSWER: u64 = 1 << 33;

pub(crate) struct Core {
    pub(crate) network: Netsim,
    pub(crate) memory: Memory,
    /// Where ranks speak by the library's own protocol: it moves their operations.
    pub(crate) stations: Option<Stations>,
    /// Who writes down what happens, if anybody wants to know.
    pub(crate) recorder: Option<Recorder>,
    /// How many consecutive ranks share a node.
    pub(crate) per_node: u32,
    pub(crate) near: Near,
    /// What the library does with cores.
    pub(crate) progress_threads: ProgressThreads,
    pub(crate) ranks: Vec<RankState>,
    /// Ranks that go on before time does, in their order.
    pub(crate) ready: VecDeque<u32>,
    pub(crate) operations: Operations,
    pub(crate) completions: Completions,
    pub(crate) messages: Messages,
    /// What fences hold up, for each pair that has used one and is not at rest.
    pub(crate) order: BTreeMap<(u32, u32), Order>,
    /// Ranks that stand at the meeting of the job's bootstrap, and how many meetings there have been.
    arrived: u32,
    pub(crate) meetings: u64,
    pub(crate) published: BTreeMap<(Rank, String), Vec<u8>>,
    lost: BTreeSet<Rank>,
    pub(crate) running: Option<Rank>,
    pub(crate) ended: u32,
    pub(crate) fault: Option<Fault>,
    /// Whether the job goes on when ranks are lost, and those that were.
    pub(crate) survives: bool,
    pub(crate) losses: Vec<Rank>,
    /// Ranks that have died, or that others have taken for lost, before the job was at fault, unless it goes on without them.
    gone: BTreeSet<Rank>,
}

/// What a rank waits for, without an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waiting {
    /// For the others, where all meet while they join or leave the job.
    Meeting,
    /// That its memory is written to.
    Memory,
    /// That so many of its operations complete.
    Operations(u32),
    /// That its memory is written to, or one of so many operations of it completes.
    Anything(u32),
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operations = |count: u32| format!("{count} operation{}", if count == 1 { "" } else { "s" });
        match *self {
            Self::Meeting => f.write_str("for all ranks to join or leave"),
            Self::Memory | Self::Anything(0) => f.write_str("for incoming writes"),
            Self::Operations(count) => write!(f, "for {} to complete", operations(count)),
            Self::Anything(count) => write!(f, "for incoming writes, or one of {} to complete", operations(count)),
        }
    }
}

/// How far a rank is.
#[derive(Default)]
pub(crate) struct RankState {
    pub(crate) state: State,
    /// Told apart from earlier sleeps, whose time may still come.
    sleep: u32,
    /// How long it has been looking and asking.
    restless: u32,
    /// Since when it waits for something.
    parked: Option<Instant>,
    /// How often in a row it has waited for no time.
    timeless: u32,
    /// Whether something that concerns it has happened in its sleep since [`Core::attend`].
    missed: bool,
    /// Whether it stands at the meeting of the job's bootstrap.
    pub(crate) meets: bool,
    pub(crate) in_flight: u32,
    /// The latest of its operations; each knows the one before.
    pub(crate) latest: Link,
    pub(crate) completed: Fetchable,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// It runs or stands in the queue of those that do.
    #[default]
    Ready,
    /// Until this happens, or the time comes.
    Parked(For),
    /// Until the time comes.
    Asleep,
    Ended,
}

impl Core {
    pub(crate) fn new(mut network: Netsim, memory: Memory, stations: Option<Stations>, settings: &Settings) -> Self {
        let Settings { ranks, per_node, .. } = *settings;
        for faults in stations.iter().map(Stations::faults) {
            for &(rank, at) in &faults.deaths {
                let news = faults.told_after.map(|told_after| at + told_after);
                for at in [Some(at), news].into_iter().flatten() {
                    network.wake_at(at, rank.number(), FOR_DEATH | u64::from(rank.number()));
                }
            }
        }
        Self {
            network,
            memory,
            stations,
            recorder: None,
            per_node,
            near: Near::of(&settings.machine),
            progress_threads: ProgressThreads::of(&settings.machine, ranks),
            ranks: (0..ranks).map(|_| RankState::default()).collect(),
            ready: (0..ranks).collect(),
            operations: Operations::default(),
            completions: Completions::default(),
            messages: Messages::default(),
            order: BTreeMap::new(),
            arrived: 0,
            meetings: 0,
            published: BTreeMap::new(),
            lost: BTreeSet::new(),
            running: None,
            ended: 0,
            fault: None,
            survives: false,
            losses: Vec::new(),
            gone: BTreeSet::new(),
        }
    }

    pub(crate) fn size(&self) -> u32 {
        self.ranks.len() as u32
    }

    pub(crate) fn now(&self) -> Instant {
        self.network.now()
    }

    /// Time goes on to the next event; `false` if there is none.
    pub(crate) fn step(&mut self) -> bool {
        let Some(notice) = self.network.next() else { return false };
        match notice {
            Notice::Wake { token } => self.wake(token),
            Notice::Read { token } if token & IS_MESSAGE != 0 => {}
            Notice::Effect { token } if token & IS_MESSAGE != 0 => self.deliver(token as u32),
            Notice::Done { token } if token & IS_MESSAGE != 0 => self.tell(token as u32, None),
            Notice::Failed { token, reason } if token & IS_MESSAGE != 0 => self.tell(token as u32, Some(reason)),
            Notice::Lost { token } if token & IS_MESSAGE != 0 => self.messages.forget(token as u32),
            Notice::Read { token } | Notice::Done { token } if token & IS_ANSWER != 0 => {}
            Notice::Effect { token } if token & IS_ANSWER != 0 => self.hear_of_progress_thread(token as u32),
            Notice::Lost { token } => self.forget(token as u32),
            Notice::Read { .. } if self.stations.is_some() => {}
            Notice::Read { token } => self.come_to_source(token as u32),
            Notice::Effect { token } if self.stations.is_some() => self.arrive(token as u32),
            Notice::Effect { token } if self.is_asked_of_progress_thread(token as u32) => self.ask_progress_thread(token as u32),
            Notice::Effect { token } => self.come_to_target(token as u32),
            Notice::Done { .. } | Notice::Failed { .. } if self.stations.is_some() => {}
            Notice::Done { token } if self.is_asked_of_progress_thread(token as u32) => {
                self.hear_of_progress_thread(token as u32)
            }
            Notice::Done { token } => self.learn(token as u32),
            Notice::Failed { token, .. } => {
                let lost = self.operations.get(token as u32).work.target(&self.memory);
                self.end(token as u32, Some(Failure::PeerLost(lost)));
            }
        }
        true
    }

    /// Starts an operation of `rank`; returns for how long that keeps it busy.
    pub(crate) fn post(
        &mut self,
        rank: Rank,
        (to, rail): (Rank, Option<u8>),
        operation: Operation<'_>,
        token: Token,
    ) -> Result<Duration, PostError> {
        if let Some(stations) = self.stations.as_mut().filter(|_| !matches!(operation, Operation::Sized(_))) {
            stations.post(self.network.now(), rank, to, operation, token)?;
            self.settle(rank);
            return Ok(Duration::ZERO);
        }
        self.start(rank, rail, Work::new(operation), token)
    }

    /// Has the network begin what an operation of `rank` does, by a rail or by whichever the machine chooses; returns as `post`.
    pub(crate) fn start(&mut self, rank: Rank, rail: Option<u8>, work: Work, token: Token) -> Result<Duration, PostError> {
        let state = &mut self.ranks[u32::from(rank) as usize];
        if state.in_flight == IN_FLIGHT_MAX {
            return Err(PostError::Full);
        }
        state.in_flight += 1;
        let (target, me) = (work.target(&self.memory), u32::from(rank));
        let message = self.message(me, &work);
        let epoch = self.order.get_mut(&(me, target.number())).map_or(0, Order::admit);
        let result = if target.number() < self.size() { Ok(0) } else { Err(Failure::OutOfBounds(work.address())) };
        let result = self.lost_end(&work).map_or(result, |lost| Err(Failure::PeerLost(lost)));
        let earlier = self.ranks[me as usize].latest;
        let (later, stage, postponed, effective, done, told) = (None, Stage::OnItsWay, false, false, false, false);
        let pending = Pending {
            earlier,
            later,
            rank,
            rail,
            token,
            work,
            epoch,
            result,
            stage,
            postponed,
            effective,
            done,
            told,
            heard: false,
        };
        let number = self.operations.insert(pending);
        self.ranks[me as usize].latest = link(number);
        if let Some(recorder) = &mut self.recorder {
            let (kind, bytes) = self.operations.get(number).work.kind();
            recorder.posted(number, kind, rank, target, bytes, self.network.now());
        }
        if let Some(earlier) = earlier {
            self.operations.get_mut(earlier.get() - 1).later = link(number);
        }
        let idle = self.ranks[me as usize].in_flight == 1;
        match self.progress_threads.begin(self.network.now(), rank, idle) {
            None => self.network.post_by(rail, me, message, u64::from(number)),
            Some(Beginning { busy, at }) => {
                self.network.wake_at(at, me, FOR_NIC | u64::from(number));
                return Ok(busy + self.network.busy(message));
            }
        }
        Ok(self.network.busy(message))
    }

    /// The rail that the machine chooses for short operations of `rank` on `peer`; within a node, where none is needed, the same there and back.
    pub(crate) fn rail_to(&self, rank: Rank, peer: Rank) -> Rail {
        let [from, to] = [rank, peer].map(|rank| rank.number() / self.per_node);
        let entity = if from == to { rank.min(peer) } else { rank };
        let chosen = if self.stations.is_some() { 0 } else { self.network.choice(entity.number(), from, to, 0) };
        Rail::new(usize::from(chosen)).unwrap_or(Rail::FIRST)
    }

    /// Whether a rail leads from `rank` to `peer`; within a node the one does that the machine chooses, as none is needed.
    pub(crate) fn leads(&self, rail: Rail, rank: Rank, peer: Rank) -> bool {
        let [from, to] = [rank, peer].map(|rank| rank.number() / self.per_node);
        let is_chosen = rail == self.rail_to(rank, peer);
        is_chosen || from != to && self.network.leads(rail.number() as u8, from, to)
    }

    /// A datagram of the library's own protocol was lost.
    fn forget(&mut self, number: u32) {
        if let Some(stations) = &mut self.stations {
            stations.forget(number);
        }
    }

    /// `rank` is gone, as `me` knows: what needs it and has not taken effect never will. A rank that loses itself falls silent.
    pub(crate) fn lose(&mut self, me: Rank, rank: Rank) {
        if let Some(stations) = &mut self.stations {
            if me == rank {
                return stations.kill(rank);
            }
            stations.peer_failed(self.network.now(), me, rank);
            return self.settle(me);
        }
        if !self.lost.insert(rank) {
            return;
        }
        for number in 0..self.operations.places.len() as u32 {
            let Some(pending) = &self.operations.places[number as usize] else { continue };
            let doomed = !pending.effective && self.lost_end(&pending.work) == Some(rank);
            if doomed {
                self.operations.get_mut(number).result = Err(Failure::PeerLost(rank));
            }
        }
    }

    /// A lost rank that an operation needs.
    fn lost_end(&self, work: &Work) -> Option<Rank> {
        if self.lost.is_empty() {
            return None;
        }
        let needed = [Some(work.target(&self.memory)), work.written(&self.memory)];
        needed.into_iter().flatten().find(|rank| self.lost.contains(rank))
    }

    /// What is posted from now on by `rank` for `target` takes effect after what was before.
    pub(crate) fn fence(&mut self, rank: Rank, target: Rank) {
        if let Some(stations) = &mut self.stations {
            return stations.fence(rank, target);
        }
        let pair = (u32::from(rank), u32::from(target));
        if let Some(order) = self.order.get_mut(&pair) {
            order.epoch += 1;
            return;
        }
        let (mut next, mut left) = (self.ranks[u32::from(rank) as usize].latest, 0);
        while let Some(number) = next {
            let pending = self.operations.get(number.get() - 1);
            left += u32::from(!pending.effective && pending.work.target(&self.memory) == target);
            next = pending.earlier;
        }
        if left > 0 {
            self.order.insert(pair, Order { epoch: 1, first: 0, epochs: VecDeque::from([(left, Vec::new())]) });
        }
    }

    /// Moves what has completed to its owner; returns whether anything had.
    pub(crate) fn take_completed(&mut self, rank: Rank, into: &mut Vec<Completion>) -> bool {
        if let Some(stations) = &mut self.stations {
            return stations.completed(rank, into);
        }
        let state = &mut self.ranks[u32::from(rank) as usize];
        self.completions.fetch(&mut state.completed, into)
    }

    /// Counts a look that found nothing, or a question for the time; returns how long it takes.
    pub(crate) fn look_in_vain(&mut self, rank: Rank, what: u32) -> Option<Duration> {
        let state = &mut self.ranks[u32::from(rank) as usize];
        state.restless = state.restless.saturating_add(what);
        (state.restless > PATIENCE).then_some(PASSES)
    }

    /// `rank` is about to look whether it has to stop. Looking may take time.
    pub(crate) fn attend(&mut self) {
        if let Some(rank) = self.running {
            self.ranks[rank.index()].missed = false;
        }
    }

    /// Whether something has happened while `rank` looked, so that it has to look again.
    pub(crate) fn has_missed(&self, rank: Rank) -> bool {
        self.ranks[rank.index()].missed
    }

    /// `rank` is about to stop until something happens, and goes on at `until` at the latest.
    pub(crate) fn park(&mut self, rank: Rank, until: Option<Instant>, what: For) {
        self.stop(rank, State::Parked(what), until);
    }

    /// `rank` is about to stop until this time.
    pub(crate) fn sleep(&mut self, rank: Rank, until: Instant) {
        self.stop(rank, State::Asleep, Some(until));
    }

    /// `rank` has come to the meeting; returns whether it was the last, which has the others go on.
    pub(crate) fn meet(&mut self) -> bool {
        self.arrived += 1;
        self.may_part()
    }

    /// Has those that stand at the meeting go on if everybody has come who can.
    fn may_part(&mut self) -> bool {
        if self.arrived == 0 || self.arrived < self.size() - self.ended {
            return false;
        }
        self.arrived = 0;
        self.meetings += 1;
        self.rouse_all();
        true
    }

    /// A rank dies where it stands.
    fn kill(&mut self, rank: Rank) {
        if self.is_ended(rank) {
            return;
        }
        self.end_rank(rank);
        self.note_gone(rank);
        if let Some(stations) = &mut self.stations {
            stations.kill(rank);
        }
        self.may_part();
    }

    /// A datagram reaches its rank.
    fn arrive(&mut self, number: u32) {
        let Some(stations) = &mut self.stations else { return };
        let rank = stations.arrive(self.network.now(), number);
        self.network.consume(rank.number() / self.per_node);
        self.settle(rank);
    }

    /// Lets a rank's station send what it has to send, and tells the rank what is new.
    fn settle(&mut self, rank: Rank) {
        let Some(stations) = &mut self.stations else { return };
        let (mut asks, now) = (Vec::new(), self.network.now());
        let shown = stations.settle(now, rank, self.per_node, &mut asks);
        for ask in asks {
            match ask {
                Ask::Send { number, message, from, later } if later == Duration::ZERO => {
                    self.network.post(from.number(), message, u64::from(number));
                }
                Ask::Send { number, from, later, .. } => {
                    self.network.wake_at(now + later, from.number(), FOR_DATAGRAM | u64::from(number));
                }
                Ask::Look { rank, at, asked } => {
                    let token = FOR_STATION | u64::from(asked & COUNT_MASK) << 32 | u64::from(rank.number());
                    self.network.wake_at(at, rank.number(), token);
                }
            }
        }
        if shown.news {
            self.rouse(rank.number(), false);
        }
        for lost in shown.lost {
            self.note_gone(lost);
            self.fail(Fault::PeerLost(lost));
        }
    }

    /// The body of a rank has ended, or never will.
    pub(crate) fn end_rank(&mut self, rank: Rank) {
        let state = &mut self.ranks[u32::from(rank) as usize].state;
        if *state != State::Ended {
            *state = State::Ended;
            self.ended += 1;
            if let Some(recorder) = &mut self.recorder {
                recorder.stopped(rank, self.network.now(), Why::Ended);
            }
        }
    }

    /// Something is wrong with the job: whoever waits hears of it.
    pub(crate) fn fail(&mut self, fault: Fault) {
        match fault {
            Fault::PeerLost(rank) if self.survives => {
                if !self.losses.contains(&rank) {
                    self.losses.push(rank);
                }
            }
            _ => drop(self.fault.get_or_insert(fault)),
        }
        self.rouse_all();
    }

    /// Whether a rank has died.
    pub(crate) fn is_ended(&self, rank: Rank) -> bool {
        self.ranks[u32::from(rank) as usize].state == State::Ended
    }

    /// A rank is about to go on.
    pub(crate) fn go_on(&mut self, rank: Rank) {
        self.running = Some(rank);
        let (now, state) = (self.network.now(), &mut self.ranks[rank.index()]);
        if let Some(since) = state.parked.take() {
            state.timeless = if now > since { 0 } else { state.timeless.saturating_add(1) };
            if state.timeless <= TIMELESS_WAITS_MAX {
                state.restless = 0;
            }
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.resumed(rank, self.network.now());
        }
    }

    /// Ranks that wait for something without an end, and for what.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (Rank, Waiting)> {
        (0..).map(Rank::new).zip(&self.ranks).filter_map(|(rank, state)| {
            let waiting = match state.state {
                State::Parked(_) if state.meets => Waiting::Meeting,
                State::Parked(For::Memory) => Waiting::Memory,
                State::Parked(For::AtMost(left)) => Waiting::Operations(state.in_flight.saturating_sub(left)),
                State::Parked(For::Anything) => Waiting::Anything(state.in_flight),
                _ => return None,
            };
            Some((rank, waiting))
        })
    }

    /// A rank has died, or was taken for lost. What happens after the job's fault is no cause of its end, nor what the job survives.
    fn note_gone(&mut self, rank: Rank) {
        if self.fault.is_none() && !self.survives {
            self.gone.insert(rank);
        }
    }

    /// Ranks that have died, or were taken for lost, before the job was at fault, unless it goes on without them.
    pub(crate) fn gone(&self) -> impl Iterator<Item = Rank> {
        self.gone.iter().copied()
    }

    fn stop(&mut self, rank: Rank, mut state: State, mut until: Option<Instant>) {
        let number = u32::from(rank);
        if fiber::has_threads() {
            // What one thread waits for may be another's doing, without an event: each looks again after a slice at the latest.
            let slice = self.now() + THREAD_SLICE;
            until = Some(until.map_or(slice, |until| until.min(slice)));
            state = State::Parked(For::Anything);
        }
        let known = &mut self.ranks[number as usize];
        known.state = state;
        known.sleep = known.sleep.wrapping_add(1);
        if let Some(recorder) = &mut self.recorder {
            let why = if state == State::Asleep { Why::Computing } else { Why::Waiting };
            recorder.stopped(rank, self.network.now(), why);
        }
        if fiber::has_threads() {
            // One that waits says nothing of another that looks all the time.
            known.restless = known.restless.min(PATIENCE - THREAD_LOOKS * LOOK);
        } else if state != State::Asleep {
            known.parked = Some(self.network.now());
        }
        if let Some(until) = until {
            let token = u64::from(known.sleep & COUNT_MASK) << 32 | u64::from(number);
            let now = self.network.now();
            self.network.wake_at(until.max(now), number, token);
        }
    }

    fn wake(&mut self, token: u64) {
        let (number, count) = (token as u32, (token >> 32) as u32 & COUNT_MASK);
        let rank = Rank::new(number);
        match token & FOR_MASK {
            FOR_SEEN => return self.see(rank),
            FOR_NIC => return self.hand_over(number),
            FOR_SERVED => return self.come_to_target(number),
            FOR_TOLD => return self.end(number, None),
            _ => {}
        }
        if token & FOR_DATAGRAM != 0 {
            let message = self.stations.as_ref().map(|stations| stations.message(number, self.per_node));
            if let Some((message, from)) = message {
                self.network.post(from.number(), message, u64::from(number));
            }
        } else if token & FOR_STATION != 0 {
            let now = self.network.now();
            if self.stations.as_mut().is_some_and(|stations| stations.look(now, rank, count)) {
                self.settle(rank);
            }
        } else if token & FOR_DEATH != 0 {
            match self.stations.as_ref().is_some_and(|stations| stations.is_dead(rank)) {
                false => self.kill(rank),
                true => self.fail(Fault::PeerLost(rank)),
            }
        } else if self.ranks[number as usize].sleep & COUNT_MASK == count {
            self.rouse(number, true);
        }
    }

    /// Has a rank go on that has stopped; one that sleeps only if its time has come.
    pub(crate) fn rouse(&mut self, number: u32, in_time: bool) {
        let RankState { state, missed, .. } = &mut self.ranks[number as usize];
        if matches!(state, State::Parked(_)) || (in_time && *state == State::Asleep) {
            *state = State::Ready;
            self.ready.push_back(number);
        } else {
            *missed |= *state == State::Asleep;
        }
    }

    fn rouse_all(&mut self) {
        (0..self.size()).for_each(|number| self.rouse(number, false));
    }
}
