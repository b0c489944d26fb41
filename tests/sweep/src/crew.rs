//! The ranks that run a program together (the crew), and their operations on a rank that may fail (the stranger).
//!
//! Usually, all ranks of the job are the crew. In a job that survives failures, the rank that may fail is not a member: the crew
//! synchronizes as a group of its own. Each member occasionally accesses the stranger, which accesses the crew until it fails.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use pelago_base::{Duration, Instant, Rank, Team};
use pelago_platform::{Failure, Fault};
use pelago_rma::{BarrierAlgorithm, Error, GlobalPtr, Group, Symmetric, World};

use crate::program::{Memory, Program, Room, Trouble, demand};
use crate::random::Random;
use crate::scenario::Scenario;

/// Maximum number of requests of the stranger to the crew.
const REQUESTS_MAX: u64 = 30;

/// A program of a run, the same for all its ranks.
pub(crate) trait Act {
    /// Returns the words and bytes that each rank needs, initially zero.
    fn memory(&self) -> Memory;

    /// Makes the program's mailbox or channels, collectively over all ranks of the job.
    ///
    /// # Errors
    /// The library reports an error.
    fn room<'w>(&self, _world: &'w World, _team: &Team, _stranger: Option<Rank>) -> Result<Room<'w>, Error> {
        Ok(Room::Empty)
    }

    /// Performs the part of one rank.
    ///
    /// # Errors
    /// The library reports an error, or a property is violated.
    fn play(&self, crew: &Crew<'_>) -> Result<(), Trouble>;

    /// Performs the part of the stranger, if there is one.
    ///
    /// # Errors
    /// Those of [`play`](Self::play).
    fn play_stranger(&self, _world: &World, _room: &Room<'_>, _team: &Team, _pause: &dyn Fn()) -> Result<(), Trouble> {
        Ok(())
    }
}

/// State that all ranks of one run share, in addition to the simulated memory.
pub(crate) struct Stage<'s> {
    pub(crate) scenario: &'s Scenario,
    pub(crate) acts: Vec<Box<dyn Act>>,
    /// The rank that is not a member of the crew, and the time of its failure, if it fails.
    pub(crate) stranger: Option<Rank>,
    pub(crate) dies: Option<Instant>,
    /// The time at which all ranks were ready to begin.
    pub(crate) ready: Cell<Instant>,
    /// The stranger's requests to each rank, and the answered ones.
    asked: Vec<Cell<u64>>,
    answered: Vec<Cell<u64>>,
}

/// A rank of the crew.
pub(crate) struct Crew<'w> {
    world: &'w World,
    stage: &'w Stage<'w>,
    team: Team,
    position: u32,
    group: Option<Group<'w>>,
    words: &'w Symmetric<'w, u64>,
    bytes: &'w Symmetric<'w, u8>,
    rooms: &'w [Room<'w>],
    /// The number of the running program, and its first word.
    act: Cell<usize>,
    base: Cell<usize>,
    random: RefCell<Random>,
    stranger: Option<Stranger<'w>>,
}

/// A member's state for its accesses to the stranger.
struct Stranger<'w> {
    rank: Rank,
    /// A word for each rank, which only that rank increments.
    requests: &'w Symmetric<'w, u64>,
    answered: Cell<u64>,
    /// Whether its failure was detected.
    lost: Cell<bool>,
    told: Rc<RefCell<Vec<Rank>>>,
}

impl<'s> Stage<'s> {
    /// Returns the state of a run in which the stranger fails at `dies`, if it is given. `act` makes a program with its parameters for a number of ranks.
    pub(crate) fn new(
        scenario: &'s Scenario,
        dies: Option<Instant>,
        act: impl Fn(Program, &mut Random, u32) -> Box<dyn Act>,
    ) -> Self {
        let stranger = scenario.death.filter(|death| death.survival).map(|death| death.rank);
        let crew = scenario.ranks - u32::from(stranger.is_some());
        let of_program = |(number, &program): (u64, &Program)| act(program, &mut Random::of(scenario.seed, 1 + number), crew);
        let counts = || (0..scenario.ranks).map(|_| Cell::new(0)).collect();
        Self {
            acts: (0..).zip(&scenario.programs).map(of_program).collect(),
            scenario,
            stranger,
            dies,
            ready: Cell::new(Instant::ZERO),
            asked: counts(),
            answered: counts(),
        }
    }

    /// Performs the part of a rank in all programs.
    pub(crate) fn play(&self, world: &World) -> Result<(), Trouble> {
        let told = Rc::new(RefCell::new(Vec::new()));
        if self.stranger.is_some() {
            let told = told.clone();
            world.on_peer_lost(move |rank| told.borrow_mut().push(rank));
        }
        let memory = self.acts.iter().map(|act| act.memory());
        let Memory { words, bytes } =
            memory.fold(Memory::default(), |all, one| Memory { words: all.words + one.words, bytes: all.bytes.max(one.bytes) });
        let words = world.alloc::<u64>(words)?;
        let bytes = world.alloc::<u8>(bytes)?;
        let requests = world.alloc::<u64>(self.scenario.ranks as usize)?;
        let (team, group) = match self.stranger {
            None => (Team::all(world.size()), None),
            Some(stranger) => {
                let others: Vec<Rank> = world.ranks().filter(|&rank| rank != stranger).collect();
                let team = Team::of(&others).map_err(Error::from)?;
                (team.clone(), world.group(&team)?)
            }
        };
        let rooms = self.acts.iter().map(|act| act.room(world, &team, self.stranger)).collect::<Result<Vec<_>, _>>()?;
        world.barrier()?;
        self.ready.set(self.ready.get().max(world.now()));
        let random = Random::of(self.scenario.seed, 1 << 32 | u64::from(world.rank()));
        let Some(position) = team.position(world.rank()) else {
            return self.play_stranger(world, &requests, &rooms, &team, random);
        };
        let stranger = self.stranger.map(|rank| {
            let (answered, lost) = (Cell::new(0), Cell::new(false));
            Stranger { rank, requests: &requests, answered, lost, told }
        });
        let (act, base, random) = (Cell::new(0), Cell::new(0), RefCell::new(random));
        let (words, bytes, rooms) = (&words, &bytes, &rooms[..]);
        let crew = Crew { world, stage: self, team, position, group, words, bytes, rooms, act, base, random, stranger };
        for (number, act) in self.acts.iter().enumerate() {
            crew.act.set(number);
            act.play(&crew)?;
            crew.base.set(crew.base.get() + act.memory().words);
            crew.meet(None)?;
        }
        crew.take_leave()
    }

    /// Sends requests to the crew until the stranger fails, and performs its part in the programs in between.
    fn play_stranger(
        &self,
        world: &World,
        requests: &Symmetric<'_, u64>,
        rooms: &[Room<'_>],
        team: &Team,
        mut random: Random,
    ) -> Result<(), Trouble> {
        let me = world.rank();
        let count = random.within(1, REQUESTS_MAX);
        for number in 0..count {
            if number == count / 2 {
                let parts = RefCell::new(Random::of(self.scenario.seed, 2 << 32));
                let pause = || pause(world, self.scenario, &mut parts.borrow_mut());
                self.acts.iter().zip(rooms).try_for_each(|(act, room)| act.play_stranger(world, room, team, &pause))?;
            }
            let other = random.below(u64::from(world.size()) - 1) as u32;
            let rank = Rank::new(other + u32::from(other >= me.number()));
            let (asked, answered) = (&self.asked[rank.index()], &self.answered[rank.index()]);
            asked.set(asked.get() + 1);
            let found = world.fetch_add(requests.at(rank, me.index()), 1)?.wait()?;
            demand!(found == answered.get(), "request {} of rank {me} to rank {rank} found {found}", answered.get());
            answered.set(answered.get() + 1);
            pause(world, self.scenario, &mut random);
        }
        Ok(())
    }
}

impl<'w> Crew<'w> {
    pub(crate) fn world(&self) -> &'w World {
        self.world
    }

    pub(crate) fn size(&self) -> u32 {
        self.team.size()
    }

    pub(crate) fn position(&self) -> u32 {
        self.position
    }

    pub(crate) fn team(&self) -> &Team {
        &self.team
    }

    /// Returns the mailbox or channels of the running program.
    pub(crate) fn room(&self) -> &'w Room<'w> {
        &self.rooms[self.act.get()]
    }

    /// Returns the rank that is not a member, and may fail.
    pub(crate) fn stranger(&self) -> Option<Rank> {
        self.stage.stranger
    }

    pub(crate) fn is_stranger_dead(&self) -> bool {
        self.stage.dies.is_some_and(|at| self.world.now() > at)
    }

    /// Returns a word of a member.
    pub(crate) fn word(&self, position: u32, index: usize) -> GlobalPtr<u64> {
        self.words.at(self.rank_at(position), self.base.get() + index)
    }

    /// Returns a byte of a member.
    pub(crate) fn byte(&self, position: u32, index: usize) -> GlobalPtr<u8> {
        self.bytes.at(self.rank_at(position), index)
    }

    pub(crate) fn own_word(&self, index: usize) -> u64 {
        self.words.local().load(self.base.get() + index)
    }

    /// Overwrites this rank's first bytes.
    pub(crate) fn fill(&self, content: &[u8]) {
        self.bytes.local().write(0, content);
    }

    /// Returns this rank's bytes.
    pub(crate) fn content(&self) -> Vec<u8> {
        self.bytes.local().to_vec()
    }

    /// Waits for a word of this rank. The failure of the stranger, which does not write the word, does not end the wait.
    pub(crate) fn await_word(&self, index: usize, condition: impl Fn(u64) -> bool) -> Result<u64, Trouble> {
        loop {
            match self.world.wait_until(self.words.local(), self.base.get() + index, &condition) {
                Err(Error::Fault(Fault::PeerLost(rank))) if self.is_stranger(rank) => {}
                other => return Ok(other?),
            }
        }
    }

    /// Like `await_word`, for one of several words. Returns its index and its value.
    pub(crate) fn await_any_word(
        &self,
        indices: &[usize],
        condition: impl Fn(usize, u64) -> bool,
    ) -> Result<(usize, u64), Trouble> {
        let base = self.base.get();
        let places: Vec<_> = indices.iter().map(|index| base + index).collect();
        loop {
            let condition = |place: usize, value| condition(place - base, value);
            match self.world.wait_until_any(None, self.words.local(), &places, condition) {
                Err(Error::Fault(Fault::PeerLost(rank))) if self.is_stranger(rank) => {}
                other => return Ok(other.map(|(place, value)| (place - base, value))?),
            }
        }
    }

    /// Fails if the job has failed: for loops that do not wait.
    pub(crate) fn look_for_fault(&self) -> Result<(), Trouble> {
        self.world.fault().map_or(Ok(()), |fault| Err(Error::from(fault).into()))
    }

    /// Synchronizes with the other members, by the given barrier algorithm or the library's choice.
    pub(crate) fn meet(&self, algorithm: Option<BarrierAlgorithm>) -> Result<(), Trouble> {
        self.ask_stranger()?;
        Ok(match (&self.group, algorithm) {
            (None, None) => self.world.barrier(),
            (None, Some(algorithm)) => self.world.barrier_by(algorithm),
            (Some(group), None) => group.barrier(),
            (Some(group), Some(algorithm)) => group.barrier_by(algorithm),
        }?)
    }

    /// Sums the values of all members.
    pub(crate) fn allreduce(&self, values: &mut [u64]) -> Result<(), Trouble> {
        self.ask_stranger()?;
        match &self.group {
            None => self.world.allreduce(values, u64::wrapping_add)?,
            Some(group) => group.allreduce(values, u64::wrapping_add)?,
        }
        Ok(())
    }

    /// Broadcasts the values of a member to all.
    pub(crate) fn broadcast(&self, position: u32, values: &mut [u64]) -> Result<(), Trouble> {
        match &self.group {
            None => self.world.broadcast(self.rank_at(position), values)?,
            Some(group) => group.broadcast(position, values)?,
        }
        Ok(())
    }

    /// Computes for a random time, which may be zero.
    pub(crate) fn pause(&self) {
        pause(self.world, self.stage.scenario, &mut self.random.borrow_mut());
    }

    fn rank_at(&self, position: u32) -> Rank {
        self.team.rank(position).expect("positions are below the size")
    }

    fn is_stranger(&self, rank: Rank) -> bool {
        self.stage.stranger == Some(rank)
    }

    /// Sends an occasional request to the stranger. The stranger answers each request once until it fails, and no request that began later.
    fn ask_stranger(&self) -> Result<(), Trouble> {
        let Some(stranger) = &self.stranger else { return Ok(()) };
        if !self.random.borrow_mut().one_in(3) {
            return Ok(());
        }
        let Stranger { rank, requests, answered, lost, .. } = stranger;
        let began = self.world.now();
        let fetch = self.world.fetch_add(requests.at(*rank, self.world.rank().index()), 1);
        match fetch.and_then(|fetch| fetch.wait()) {
            Ok(found) => {
                let (number, dead) = (answered.get(), self.stage.dies.is_some_and(|at| began > at));
                demand!(!dead && !lost.get(), "rank {rank} has answered, though it was dead");
                demand!(found == number, "request {number} to rank {rank} found {found}");
                answered.set(number + 1);
            }
            Err(Error::Failed(Failure::PeerLost(other)) | Error::Fault(Fault::PeerLost(other))) if other == *rank => {
                demand!(self.is_stranger_dead(), "rank {rank} counts as lost, though it lives");
                lost.set(true);
            }
            Err(other) => return Err(other.into()),
        }
        Ok(())
    }

    /// Checks, at the end, the operations of the stranger on this rank, and the detection of its failure.
    fn take_leave(&self) -> Result<(), Trouble> {
        let Some(stranger) = &self.stranger else { return Ok(()) };
        let Stranger { rank, requests, lost, told, .. } = stranger;
        let found = requests.local().load(rank.index());
        let me = self.world.rank().index();
        let (asked, answered) = (self.stage.asked[me].get(), self.stage.answered[me].get());
        demand!(
            (answered..=asked).contains(&found),
            "{found} requests of rank {rank} came, {asked} were made, {answered} answered"
        );
        self.world.progress();
        let (told, known) = (told.borrow(), self.world.lost());
        demand!(*told == known, "the program was told that {told:?} were lost, and the library says {known:?}");
        demand!(known.is_empty() || known == [*rank], "{known:?} are lost");
        demand!(!lost.get() || !known.is_empty(), "an operation failed because rank {rank} is lost, and nobody was told");
        Ok(())
    }
}

/// Computes for up to the pause of the scenario; if the scenario rests, occasionally for a very long time.
fn pause(world: &World, scenario: &Scenario, random: &mut Random) {
    let most = if scenario.rests && random.one_in(20) { Scenario::REST_MAX } else { scenario.pause_max };
    if most > Duration::ZERO && random.one_in(2) {
        world.compute(Duration::from_picoseconds(random.below(most.as_picoseconds())));
    }
}
