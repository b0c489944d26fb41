//! Runs the programs of a job in every order, or in random orders. Ranks are coroutines that stop at every operation. A state that was reached before,
//! with the same words and the same answers to every rank, is not explored again.

use std::cell::RefCell;
use std::collections::hash_map::DefaultHasher;
use std::collections::{HashSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use fastrand::Rng;
use pelago_base::Rank;
use pelago_dsm::lock::{Epoch, KNOWN, Member, STATE, State, Tail, Version, WORDS, WordAddress, newest, tail};
use pelago_rma::Result;

use crate::model::{Answer, HOME, Model, Reach, Request};
use crate::program::{Job, play};

const STACK_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Choice {
    /// The requested operation of a rank takes effect, and the rank continues.
    Go(u32),
    /// The rank's time limit passes.
    Tire(u32),
    /// The rank notices the death.
    Notice(u32),
    /// The rank dies, and its last requested operation never takes effect.
    Die(u32),
    /// The rank dies, and its last requested operation takes effect later.
    DieLate(u32),
    /// The next posted operation of the rank, or the last that it requested before it died, takes effect.
    Arrive(u32),
}

struct Fiber {
    coroutine: Option<Coroutine<Answer, Request, Result<()>>>,
    pending: Option<Request>,
    /// Hash of the answers since the last completed action of the rank.
    history: u64,
}

/// One execution of a job, up to the present state.
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
        let first = Version { number: 1, owner: home };
        *model.word(WordAddress { rank: home, word: newest(Epoch(0)) }) = first.word();
        *model.word(WordAddress { rank: home, word: KNOWN }) = first.word();
        *model.word(WordAddress { rank: home, word: tail(Epoch(0)) }) = Tail::free(Epoch(0), false).word();
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
                member.release_to_home()
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
                // Only the loss of the home may make an action fail.
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
                    // It takes effect after operations that were posted to the same rank.
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

    /// The violation in the present state, given the remaining choices; `None` if there is none.
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

/// Explores a job, up to `states_max` states; returns their number.
pub(crate) fn explore(job: &Job, states_max: usize) -> usize {
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

/// Follows `courses` random executions, each to its end.
pub(crate) fn wander(job: &Job, courses: u64, seed: u64) {
    for number in 0..courses {
        let mut random = Rng::with_seed(seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let (mut course, mut path) = (Course::new(job), Vec::new());
        loop {
            let choices = course.choices();
            if let Some(wrong) = course.wrong(&choices) {
                panic!("{wrong} in course {number} of seed {seed} after {path:?}");
            }
            if choices.is_empty() {
                break;
            }
            // Deaths are rare, so that some happen late.
            let lively: Vec<_> =
                choices.iter().filter(|choice| !matches!(choice, Choice::Die(_) | Choice::DieLate(_))).copied().collect();
            let among = if lively.is_empty() || random.u32(..40) == 0 { &choices } else { &lively };
            let choice = among[random.usize(..among.len())];
            path.push(choice);
            course.take(choice);
        }
    }
}
