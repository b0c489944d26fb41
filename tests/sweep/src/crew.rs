//! The ranks that run a program together, and how they treat one that may die.
//!
//! Usually all ranks of the job are the crew. In a job that survives losses the rank that may die is no member: the crew meets
//! as a group of its own, and each member now and then has to do with the stranger, who does the same until it dies.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use pelago_base::{Duration, Instant, Rank, Team};
use pelago_platform::{Failure, Fault};
use pelago_rma::{BarrierAlgorithm, Error, GlobalPtr, Group, Symmetric, World};

use crate::program::{Memory, Program, Room, Trouble, demand};
use crate::random::Random;
use crate::scenario::Scenario;

/// How often the stranger asks something of the crew, at most.
const REQUESTS_MAX: u64 = 30;

/// A program on the stage, the same for all its ranks.
pub(crate) trait Act {
    /// Words and bytes that each rank needs, all zero at first.
    fn memory(&self) -> Memory;

    /// What it needs besides, made by all ranks of the job together.
    ///
    /// # Errors
    /// The library reports something.
    fn room<'w>(&self, _world: &'w World, _team: &Team, _stranger: Option<Rank>) -> Result<Room<'w>, Error> {
        Ok(Room::Empty)
    }

    /// What one rank does.
    ///
    /// # Errors
    /// The library reports something, or something is not as it must be.
    fn play(&self, crew: &Crew<'_>) -> Result<(), Trouble>;

    /// What the stranger does meanwhile, if there is one.
    ///
    /// # Errors
    /// As [`play`](Self::play).
    fn play_stranger(&self, _world: &World, _room: &Room<'_>, _team: &Team, _pause: &dyn Fn()) -> Result<(), Trouble> {
        Ok(())
    }
}

/// What all ranks of one run know, besides the simulated memory.
pub(crate) struct Stage<'s> {
    pub(crate) scenario: &'s Scenario,
    pub(crate) acts: Vec<Box<dyn Act>>,
    /// Who is no member of the crew, and when it dies, if it does.
    pub(crate) stranger: Option<Rank>,
    pub(crate) dies: Option<Instant>,
    /// When all ranks were ready to begin.
    pub(crate) ready: Cell<Instant>,
    /// What the stranger has asked of each rank, and what was answered.
    asked: Vec<Cell<u64>>,
    answered: Vec<Cell<u64>>,
}

/// A rank among the crew.
pub(crate) struct Crew<'w> {
    world: &'w World,
    stage: &'w Stage<'w>,
    team: Team,
    position: u32,
    group: Option<Group<'w>>,
    words: &'w Symmetric<'w, u64>,
    bytes: &'w Symmetric<'w, u8>,
    rooms: &'w [Room<'w>],
    /// The number of the program that runs, and its first word.
    act: Cell<usize>,
    base: Cell<usize>,
    random: RefCell<Random>,
    stranger: Option<Stranger<'w>>,
}

/// What a member has to do with the stranger.
struct Stranger<'w> {
    rank: Rank,
    /// A word for each rank, which it alone counts up.
    requests: &'w Symmetric<'w, u64>,
    answered: Cell<u64>,
    /// Whether it was found to be lost.
    lost: Cell<bool>,
    told: Rc<RefCell<Vec<Rank>>>,
}

impl<'s> Stage<'s> {
    /// The stage of a run whose death comes at `dies`, if it comes; `act` makes a program for so many ranks, with its parameters.
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

    /// Does the part of a rank in all programs.
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

    /// Asks the crew for this and that, as long as it lives, and in the middle does its part in the programs.
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

    /// Where the messages of the program that runs are.
    pub(crate) fn room(&self) -> &'w Room<'w> {
        &self.rooms[self.act.get()]
    }

    /// Who is no member, and may die.
    pub(crate) fn stranger(&self) -> Option<Rank> {
        self.stage.stranger
    }

    pub(crate) fn is_stranger_dead(&self) -> bool {
        self.stage.dies.is_some_and(|at| self.world.now() > at)
    }

    /// A word of a member.
    pub(crate) fn word(&self, position: u32, index: usize) -> GlobalPtr<u64> {
        self.words.at(self.rank_at(position), self.base.get() + index)
    }

    /// A byte of a member.
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

    /// This rank's bytes.
    pub(crate) fn content(&self) -> Vec<u8> {
        self.bytes.local().to_vec()
    }

    /// Waits for a word of this rank; the loss of the stranger, which does not write it, is no reason to give up.
    pub(crate) fn await_word(&self, index: usize, condition: impl Fn(u64) -> bool) -> Result<u64, Trouble> {
        loop {
            match self.world.wait_until(self.words.local(), self.base.get() + index, &condition) {
                Err(Error::Fault(Fault::PeerLost(rank))) if self.is_stranger(rank) => {}
                other => return Ok(other?),
            }
        }
    }

    /// As `await_word`, for one of several words; returns which one and its value.
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

    /// Fails if the job is at fault: for loops that do not wait.
    pub(crate) fn look_for_fault(&self) -> Result<(), Trouble> {
        self.world.fault().map_or(Ok(()), |fault| Err(Error::from(fault).into()))
    }

    /// Meets the others, by an algorithm or the library's choice.
    pub(crate) fn meet(&self, algorithm: Option<BarrierAlgorithm>) -> Result<(), Trouble> {
        self.ask_stranger()?;
        Ok(match (&self.group, algorithm) {
            (None, None) => self.world.barrier(),
            (None, Some(algorithm)) => self.world.barrier_by(algorithm),
            (Some(group), None) => group.barrier(),
            (Some(group), Some(algorithm)) => group.barrier_by(algorithm),
        }?)
    }

    /// Adds up the values of all members.
    pub(crate) fn allreduce(&self, values: &mut [u64]) -> Result<(), Trouble> {
        self.ask_stranger()?;
        match &self.group {
            None => self.world.allreduce(values, u64::wrapping_add)?,
            Some(group) => group.allreduce(values, u64::wrapping_add)?,
        }
        Ok(())
    }

    /// Brings the values of a member to all.
    pub(crate) fn broadcast(&self, position: u32, values: &mut [u64]) -> Result<(), Trouble> {
        match &self.group {
            None => self.world.broadcast(self.rank_at(position), values)?,
            Some(group) => group.broadcast(position, values)?,
        }
        Ok(())
    }

    /// Computes for a while, or not.
    pub(crate) fn pause(&self) {
        pause(self.world, self.stage.scenario, &mut self.random.borrow_mut());
    }

    fn rank_at(&self, position: u32) -> Rank {
        self.team.rank(position).expect("positions are below the size")
    }

    fn is_stranger(&self, rank: Rank) -> bool {
        self.stage.stranger == Some(rank)
    }

    /// Asks something of the stranger, now and then: it answers each request once, until it is dead, and none that began later.
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

    /// Checks in the end what the stranger has done here, and what is known of its loss.
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

/// Computes for up to the pause of the scenario; if it rests, now and then for very long.
fn pause(world: &World, scenario: &Scenario, random: &mut Random) {
    let most = if scenario.rests && random.one_in(20) { Scenario::REST_MAX } else { scenario.pause_max };
    if most > Duration::ZERO && random.one_in(2) {
        world.compute(Duration::from_picoseconds(random.below(most.as_picoseconds())));
    }
}
