//! Explores what ranks can do to each other at a lock: every order of their operations, deaths at every step, operations of the dead that
//! take effect late, and losses that each rank learns of in its own time.
//!
//! The code that runs is that of the library, over words of a model. Ranks are coroutines that stop at every operation. States that were
//! reached before, with the same words and the same answers to every rank, are not explored again.

use std::cell::RefCell;
use std::collections::hash_map::DefaultHasher;
use std::collections::{HashSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use pelago_base::{Instant, Rank};
use pelago_rma::{Failure, Result};

use crate::memory::{Change, KNOWN, Memory, Place, STATE, WORDS, Waited, newest, tail};
use crate::queue::{Member, Mode, Patience, Remembered};
use crate::word::{Edition, Epoch, State, Tail};

const HOME: u32 = 0;
const STACK_BYTES: usize = 64 << 10;

/// More than any job has that is explored to the end.
const STATES_MAX: usize = 2_000_000;

/// Courses that are followed of each job that is not.
const COURSES: u64 = 3_000;

/// What a rank does, once.
#[derive(Clone, Copy, Debug)]
enum Action {
    Write,
    Read,
    /// Writes, then reads on.
    Downgrade,
    /// As `Write`, if the token comes before it loses patience, which may be at any time.
    WriteInTime,
    ReadInTime,
    TryWrite,
    /// Lays the token down, if it keeps it.
    LayDown,
    /// Writes and tells one that waits, or all.
    WriteAndTell,
    WriteAndTellAll,
    /// Waits until so many have written, or one was lost, then writes. May be told for no reason.
    AwaitWrites(u64),
    /// As that, but may lose patience while it waits to be told, and writes then.
    AwaitWritesInTime(u64),
}

/// What is explored.
#[derive(Clone, Debug)]
struct Job {
    programs: Vec<Vec<Action>>,
    /// Who may die; one of them does.
    mortal: Vec<u32>,
    /// Whether the words of a rank that died are out of reach.
    apart: bool,
    /// Whether what can be posted takes effect later than the rank goes on.
    posts: bool,
    /// Whether ranks keep the token until another comes, and lay it down when they end.
    keeps: bool,
}

/// What a rank asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Request {
    Load(Place),
    Store(Place, u64),
    Swap(Place, u64),
    CompareSwap(Place, u64, u64),
    Add(Place, u64),
    Raise(Place, u64),
    /// Until the word differs from the one seen, a loss is noticed, or, if it is not patient, any time.
    Block {
        word: usize,
        seen: u64,
        losses: usize,
        patient: bool,
    },
    /// Until what it posted has taken effect.
    Settle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Answer {
    Begin,
    Word(u64),
    Lost(Rank),
    Late,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Choice {
    /// What a rank asked for takes effect, and it goes on.
    Go(u32),
    /// It loses patience.
    Tire(u32),
    /// It learns of the death.
    Notice(u32),
    /// It dies, and what it asked for last never takes effect.
    Die(u32),
    /// It dies, and what it asked for last takes effect later.
    DieLate(u32),
    /// The next of what it posted, or of what it asked for last before it died, takes effect.
    Arrive(u32),
}

/// The words, and what nobody in the model can see.
struct Model {
    words: Vec<u64>,
    ranks: u32,
    apart: bool,
    posts: bool,
    /// What each rank has posted and has not taken effect, in order.
    posted: Vec<VecDeque<Request>>,
    /// The version with it, as long as it has not.
    posting: Vec<Option<Edition>>,
    /// The first version that each has released and of which nobody else knows, as far as it has kept the token.
    kept: Vec<Option<u64>>,
    /// What the compare-swap has found that each posted last; `None` if its target was out of reach.
    found: Vec<Option<u64>>,
    dead: Option<Rank>,
    noticed: Vec<bool>,
    /// Who is inside, and how.
    inside: Vec<(Rank, Mode)>,
    given: u64,
    made: u64,
    wrong: Option<String>,
    /// What a rank has done, and all that it remembers of it.
    done: Vec<(usize, Remembered)>,
}

impl Model {
    fn word(&mut self, at: Place) -> &mut u64 {
        &mut self.words[at.rank.index() * WORDS + at.word]
    }

    /// Has an operation take effect.
    fn perform(&mut self, request: Request) -> u64 {
        match request {
            Request::Load(at) => *self.word(at),
            Request::Store(at, new) | Request::Swap(at, new) => std::mem::replace(self.word(at), new),
            Request::CompareSwap(at, expected, new) => {
                let word = self.word(at);
                let found = *word;
                *word = if found == expected { new } else { found };
                found
            }
            Request::Add(at, operand) => {
                let word = self.word(at);
                let found = *word;
                *word = found.wrapping_add(operand);
                found
            }
            Request::Raise(at, new) => {
                let word = self.word(at);
                let found = *word;
                *word = found.max(new);
                found
            }
            Request::Block { .. } | Request::Settle => 0,
        }
    }

    /// Has the next take effect that a rank has posted, unless its target is out of reach.
    fn arrive(&mut self, rank: u32) {
        let Some(request) = self.posted[rank as usize].pop_front() else { return };
        let reached = !self.apart || Self::target(request) != self.dead;
        self.found[rank as usize] = reached.then(|| self.perform(request));
        if self.posted[rank as usize].is_empty() {
            self.posting[rank as usize] = None;
        }
    }

    fn target(request: Request) -> Option<Rank> {
        match request {
            Request::Load(at)
            | Request::Store(at, _)
            | Request::Swap(at, _)
            | Request::CompareSwap(at, ..)
            | Request::Add(at, _)
            | Request::Raise(at, _) => Some(at.rank),
            _ => None,
        }
    }

    fn enter(&mut self, rank: Rank, mode: Mode, edition: Edition) {
        let others = self.inside.iter().any(|&(_, other)| mode == Mode::Write || other == Mode::Write);
        if others {
            self.wrong = Some(format!("{rank} enters to {mode:?} while {:?} are inside", self.inside));
        }
        if edition.version < self.given || edition.version > self.made {
            self.wrong = Some(format!("{rank} gets {edition:?}; {} was given, {} made", self.given, self.made));
        }
        self.inside.push((rank, mode));
        (0..).zip(&mut self.kept).filter(|&(other, _)| rank != Rank::new(other)).for_each(|(_, kept)| *kept = None);
    }

    fn exit(&mut self, rank: Rank) {
        self.inside.retain(|&(other, _)| other != rank);
    }

    /// What a rank that dies has written and released by what has not arrived does not bind the others.
    fn doubt(&mut self, rank: Rank) {
        if let Some(edition) = self.posting[rank.index()].filter(|edition| edition.owner == rank) {
            self.given = self.given.min(edition.version - 1);
        }
        if let Some(version) = self.kept[rank.index()] {
            self.given = self.given.min(version - 1);
        }
    }

    /// A rank has released a version.
    fn give(&mut self, rank: Rank, edition: Edition, remembered: Remembered) {
        self.given = self.given.max(edition.version);
        if remembered.2.is_some() {
            self.kept[rank.index()].get_or_insert(edition.version);
        }
    }
}

/// The words as a rank of the model reaches them.
struct Reach<'y> {
    me: Rank,
    model: Rc<RefCell<Model>>,
    yielder: &'y Yielder<Answer, Request>,
}

impl Reach<'_> {
    fn ask(&self, request: Request) -> Result<u64> {
        match self.yielder.suspend(request) {
            Answer::Word(word) => Ok(word),
            Answer::Lost(rank) => Err(Failure::PeerLost(rank).into()),
            other => unreachable!("{other:?}"),
        }
    }

    fn mine(&self, word: usize) -> Place {
        Place { rank: self.me, word }
    }
}

impl Memory for Reach<'_> {
    fn me(&self) -> Rank {
        self.me
    }

    fn home(&self) -> Rank {
        Rank::new(HOME)
    }

    fn size(&self) -> u32 {
        self.model.borrow().ranks
    }

    fn lost(&self) -> Vec<Rank> {
        let model = self.model.borrow();
        model.dead.filter(|_| model.noticed[self.me.index()]).into_iter().collect()
    }

    fn losses(&self) -> usize {
        usize::from(self.model.borrow().noticed[self.me.index()])
    }

    fn load(&self, at: Place) -> Result<u64> {
        self.ask(Request::Load(at))
    }

    fn store(&self, at: Place, word: u64) -> Result<()> {
        self.ask(Request::Store(at, word)).map(drop)
    }

    fn swap(&self, at: Place, word: u64) -> Result<u64> {
        self.ask(Request::Swap(at, word))
    }

    fn compare_swap(&self, at: Place, expected: u64, new: u64) -> Result<u64> {
        self.ask(Request::CompareSwap(at, expected, new))
    }

    fn add(&self, at: Place, operand: u64) -> Result<u64> {
        self.ask(Request::Add(at, operand))
    }

    fn post(&self, at: Place, change: Change, then: usize, expected: u64, new: u64) -> Result<Option<u64>> {
        let (first, word) = match change {
            Change::Store(word) => (Request::Store(at, word), word),
            Change::Raise(word) => (Request::Raise(at, word), word),
        };
        let second = Request::CompareSwap(Place { word: then, ..at }, expected, new);
        if !self.model.borrow().posts || at.rank == self.me {
            self.ask(first)?;
            return self.ask(second).map(Some);
        }
        let mut model = self.model.borrow_mut();
        let posted = &mut model.posted[self.me.index()];
        assert!(posted.is_empty(), "one release at a time is posted");
        posted.extend([first, second]);
        model.posting[self.me.index()] = Some(Edition::of_word(word));
        Ok(None)
    }

    fn settle(&self) -> Result<Option<u64>> {
        self.ask(Request::Settle).map(Some)
    }

    fn own(&self, word: usize) -> u64 {
        self.ask(Request::Load(self.mine(word))).unwrap()
    }

    fn set_own(&self, word: usize, value: u64) {
        self.ask(Request::Store(self.mine(word), value)).unwrap();
    }

    fn change_own(&self, word: usize, expected: u64, new: u64) -> bool {
        self.ask(Request::CompareSwap(self.mine(word), expected, new)).unwrap() == expected
    }

    fn wait(&self, word: usize, until: Option<Instant>, is: &mut dyn FnMut(u64) -> bool) -> Result<Waited> {
        let losses = self.losses();
        loop {
            let seen = self.own(word);
            if is(seen) {
                return Ok(Waited::Seen(seen));
            }
            if self.losses() != losses {
                return Ok(Waited::Lost);
            }
            if self.yielder.suspend(Request::Block { word, seen, losses, patient: until.is_none() }) == Answer::Late {
                return Ok(Waited::Late);
            }
        }
    }
}

fn play(member: &Member<Reach<'_>>, action: Action) -> Result<()> {
    let (mode, patience) = match action {
        Action::AwaitWrites(writes) => return await_writes(member, writes, Patience::Endless),
        Action::AwaitWritesInTime(writes) => return await_writes(member, writes, Patience::Until(Instant::ZERO)),
        Action::Write | Action::Downgrade | Action::WriteAndTell | Action::WriteAndTellAll => (Mode::Write, Patience::Endless),
        Action::Read => (Mode::Read, Patience::Endless),
        Action::WriteInTime => (Mode::Write, Patience::Until(Instant::ZERO)),
        Action::ReadInTime => (Mode::Read, Patience::Until(Instant::ZERO)),
        Action::TryWrite => (Mode::Write, Patience::None),
        Action::LayDown => {
            let laid = member.unless_lost(member.lay_down());
            return laid.map(drop);
        }
    };
    let (me, model) = (member.memory.me, member.memory.model.clone());
    let Some(taken) = member.take(mode, patience, Ok)? else {
        if patience == Patience::Endless {
            model.borrow_mut().wrong = Some(format!("{me} waits as long as it takes and gets nothing"));
        }
        return Ok(());
    };
    model.borrow_mut().enter(me, mode, taken.edition);
    if mode == Mode::Read {
        // Stays inside for a step.
        member.memory.own(0);
        model.borrow_mut().exit(me);
        return member.leave();
    }
    let edition = Edition { version: taken.edition.version + 1, owner: me };
    model.borrow_mut().made = edition.version;
    member.commit(edition);
    if let Action::WriteAndTell | Action::WriteAndTellAll = action {
        member.tell(matches!(action, Action::WriteAndTellAll))?;
    }
    model.borrow_mut().exit(me);
    if let Action::Downgrade = action {
        member.downgrade(edition)?;
        let mut model_now = model.borrow_mut();
        model_now.give(me, edition, member.remembered());
        model_now.enter(me, Mode::Read, edition);
        drop(model_now);
        member.memory.own(0);
        model.borrow_mut().exit(me);
        return member.leave();
    }
    member.give(edition)?;
    model.borrow_mut().give(me, edition, member.remembered());
    Ok(())
}

fn await_writes(member: &Member<Reach<'_>>, writes: u64, patience: Patience) -> Result<()> {
    let (me, model) = (member.memory.me, member.memory.model.clone());
    let (mut listed, mut told) = (None, true);
    loop {
        let taken = member.take(Mode::Write, Patience::Endless, Ok)?.expect("it is patient");
        model.borrow_mut().enter(me, Mode::Write, taken.edition);
        if let (Some(epoch), false) = (listed, told) {
            member.withdraw(epoch)?;
        }
        if taken.edition.version > writes || !told || member.memory.losses() > 0 {
            let edition = Edition { version: taken.edition.version + 1, owner: me };
            model.borrow_mut().made = edition.version;
            member.commit(edition);
            model.borrow_mut().exit(me);
            member.give(edition)?;
            model.borrow_mut().give(me, edition, member.remembered());
            return Ok(());
        }
        listed = Some(member.enlist()?);
        model.borrow_mut().exit(me);
        member.give(taken.edition)?;
        told = member.sleep(patience)?;
    }
}

struct Fiber {
    coroutine: Option<Coroutine<Answer, Request, Result<()>>>,
    pending: Option<Request>,
    /// What it was answered since it has done the last of its actions.
    history: u64,
}

/// One course of things, as far as it has come.
struct Course {
    model: Rc<RefCell<Model>>,
    fibers: Vec<Fiber>,
    mortal: Vec<u32>,
}

impl Course {
    fn new(job: &Job) -> Self {
        let ranks = job.programs.len() as u32;
        let mut model = Model {
            words: vec![0; ranks as usize * WORDS],
            ranks,
            apart: job.apart,
            posts: job.posts,
            posted: vec![VecDeque::new(); ranks as usize],
            posting: vec![None; ranks as usize],
            kept: vec![None; ranks as usize],
            found: vec![Some(0); ranks as usize],
            dead: None,
            noticed: vec![false; ranks as usize],
            inside: Vec::new(),
            given: 1,
            made: 1,
            wrong: None,
            done: vec![(0, (0, None, None)); ranks as usize],
        };
        let home = Rank::new(HOME);
        let first = Edition { version: 1, owner: home };
        *model.word(Place { rank: home, word: newest(Epoch(0)) }) = first.word();
        *model.word(Place { rank: home, word: KNOWN }) = first.word();
        *model.word(Place { rank: home, word: tail(Epoch(0)) }) = Tail::free(Epoch(0), false).word();
        let model = Rc::new(RefCell::new(model));
        let fibers = job.programs.iter().enumerate().map(|(rank, program)| {
            let (model, program, me, keeps) = (model.clone(), program.clone(), Rank::new(rank as u32), job.keeps);
            let body = move |yielder: &Yielder<Answer, Request>, _: Answer| {
                let member = Member::new(Reach { me, model: model.clone(), yielder });
                member.keep(keeps)?;
                for (number, action) in program.into_iter().enumerate() {
                    play(&member, action)?;
                    model.borrow_mut().done[me.index()] = (number + 1, member.remembered());
                }
                member.lay_down()
            };
            let coroutine = Coroutine::with_stack(DefaultStack::new(STACK_BYTES).unwrap(), body);
            Fiber { coroutine: Some(coroutine), pending: None, history: 0 }
        });
        let mut course = Self { fibers: fibers.collect(), model, mortal: job.mortal.clone() };
        for rank in 0..ranks {
            course.resume(rank, Answer::Begin);
        }
        course
    }

    fn resume(&mut self, rank: u32, answer: Answer) {
        let before = self.model.borrow().done[rank as usize];
        let fiber = &mut self.fibers[rank as usize];
        let mut hasher = DefaultHasher::new();
        (fiber.history, answer).hash(&mut hasher);
        fiber.history = hasher.finish();
        let coroutine = fiber.coroutine.as_mut().expect("it has not ended");
        match coroutine.resume(answer) {
            CoroutineResult::Yield(request) => {
                fiber.pending = Some(request);
                if self.model.borrow().done[rank as usize] != before {
                    fiber.history = 0;
                }
            }
            CoroutineResult::Return(ended) => {
                (fiber.coroutine, fiber.pending) = (None, None);
                let mut model = self.model.borrow_mut();
                // Only the loss of the home is a reason to fail.
                let home_lost = model.dead == Some(Rank::new(HOME));
                if let (Err(error), false) = (&ended, home_lost) {
                    model.wrong = Some(format!("rank {rank}: {error}"));
                }
            }
        }
    }

    fn choices(&self) -> Vec<Choice> {
        let model = self.model.borrow();
        let mut choices = Vec::new();
        for (rank, fiber) in (0..).zip(&self.fibers) {
            let Some(request) = fiber.pending else { continue };
            match request {
                Request::Block { word, seen, losses, patient } => {
                    let now = model.words[rank as usize * WORDS + word];
                    if now != seen || usize::from(model.noticed[rank as usize]) != losses {
                        choices.push(Choice::Go(rank));
                    } else if !patient {
                        choices.push(Choice::Tire(rank));
                    }
                }
                Request::Settle if !model.posted[rank as usize].is_empty() => {}
                _ => choices.push(Choice::Go(rank)),
            }
            if model.dead.is_some() && !model.noticed[rank as usize] {
                choices.push(Choice::Notice(rank));
            }
            if model.dead.is_none() && self.mortal.contains(&rank) {
                choices.push(Choice::Die(rank));
                let changes = !matches!(request, Request::Load(_) | Request::Block { .. } | Request::Settle);
                if changes {
                    choices.push(Choice::DieLate(rank));
                }
            }
        }
        choices.extend((0..model.ranks).filter(|&rank| !model.posted[rank as usize].is_empty()).map(Choice::Arrive));
        choices
    }

    fn take(&mut self, choice: Choice) {
        match choice {
            Choice::Go(rank) => {
                let request = self.fibers[rank as usize].pending.take().expect("it asked for something");
                let mut model = self.model.borrow_mut();
                if let Request::Swap(..) = request {
                    // It takes effect after what was posted to the same rank.
                    while model.posted[rank as usize]
                        .front()
                        .is_some_and(|&posted| Model::target(posted) == Model::target(request))
                    {
                        model.arrive(rank);
                    }
                }
                let lost = match request {
                    Request::Settle => model.dead.filter(|_| model.found[rank as usize].is_none()),
                    other => Model::target(other).filter(|&target| model.apart && model.dead == Some(target)),
                };
                let answer = match (lost, request) {
                    (Some(target), _) => {
                        model.noticed[rank as usize] = true;
                        Answer::Lost(target)
                    }
                    (None, Request::Settle) => Answer::Word(model.found[rank as usize].unwrap_or(0)),
                    (None, request) => Answer::Word(model.perform(request)),
                };
                drop(model);
                self.resume(rank, answer);
            }
            Choice::Tire(rank) => self.resume(rank, Answer::Late),
            Choice::Notice(rank) => self.model.borrow_mut().noticed[rank as usize] = true,
            Choice::Die(rank) | Choice::DieLate(rank) => {
                let fiber = &mut self.fibers[rank as usize];
                fiber.coroutine = None;
                let request = fiber.pending.take();
                let mut model = self.model.borrow_mut();
                model.posted[rank as usize].extend(request.filter(|_| matches!(choice, Choice::DieLate(_))));
                model.doubt(Rank::new(rank));
                model.dead = Some(Rank::new(rank));
                model.exit(Rank::new(rank));
            }
            Choice::Arrive(rank) => self.model.borrow_mut().arrive(rank),
        }
    }

    fn key(&self) -> u64 {
        let model = self.model.borrow();
        let mut hasher = DefaultHasher::new();
        (&model.words, model.dead, &model.noticed, &model.done, &model.inside, model.given).hash(&mut hasher);
        (&model.posted, &model.found, &model.kept).hash(&mut hasher);
        for fiber in &self.fibers {
            (fiber.history, fiber.pending).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// What is wrong with it, given that so much can still happen.
    fn wrong(&self, choices: &[Choice]) -> Option<String> {
        let model = self.model.borrow();
        if model.wrong.is_some() {
            return model.wrong.clone();
        }
        let stuck: Vec<_> =
            (0..).zip(&self.fibers).filter(|(_, fiber)| fiber.coroutine.is_some()).map(|(rank, _): (u32, _)| rank).collect();
        let asked: Vec<_> = self.fibers.iter().map(|fiber| fiber.pending).collect();
        let states: Vec<_> = (0..model.ranks as usize).map(|rank| State::of_word(model.words[rank * WORDS + STATE])).collect();
        let wrong = || format!("{stuck:?} wait for ever: {asked:?}, {states:?}, dead {:?} {:?}", model.dead, model.noticed);
        (choices.is_empty() && !stuck.is_empty()).then(wrong)
    }
}

/// Explores a job, up to so many states; returns how many there were.
fn explore(job: &Job, states_max: usize) -> usize {
    let (mut seen, mut open) = (HashSet::new(), vec![Vec::new()]);
    while let Some(path) = open.pop() {
        let mut course = Course::new(job);
        let mut path: Vec<Choice> = path;
        for &choice in &path {
            course.take(choice);
        }
        loop {
            let choices = course.choices();
            if let Some(wrong) = course.wrong(&choices) {
                panic!("{wrong} after {path:?}");
            }
            if seen.len() >= states_max || !seen.insert(course.key()) {
                break;
            }
            let Some((&first, others)) = choices.split_first() else { break };
            open.extend(others.iter().map(|&other| path.iter().copied().chain([other]).collect::<Vec<_>>()));
            path.push(first);
            course.take(first);
        }
        if seen.len() >= states_max {
            break;
        }
    }
    seen.len()
}

/// Follows so many courses, each to its end, by chance.
fn wander(job: &Job, courses: u64, seed: u64) {
    for number in 0..courses {
        let mut state = seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut below = |end: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) as usize) % end
        };
        let (mut course, mut path) = (Course::new(job), Vec::new());
        loop {
            let choices = course.choices();
            if let Some(wrong) = course.wrong(&choices) {
                panic!("{wrong} in course {number} of seed {seed} after {path:?}");
            }
            if choices.is_empty() {
                break;
            }
            // Deaths are rare, so that they come late, too.
            let lively: Vec<_> =
                choices.iter().filter(|choice| !matches!(choice, Choice::Die(_) | Choice::DieLate(_))).copied().collect();
            let among = if lively.is_empty() || below(40) == 0 { &choices } else { &lively };
            let choice = among[below(among.len())];
            path.push(choice);
            course.take(choice);
        }
    }
}

#[cfg(test)]
mod tests;
