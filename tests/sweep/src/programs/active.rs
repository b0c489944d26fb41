//! Ranks run functions at each other: each message runs once, those of one rank in order, and each reply is that of its call.

use std::cell::RefCell;
use std::rc::Rc;

use pelago_base::Rank;
use pelago_rma::active::{ActiveMessages, Call, Functions, Next, QueueSettings, Reply};

use super::{Act, Memory, Trouble, demand};
use crate::crew::Crew;
use crate::random::{Random, stamp};

/// Number of calls whose replies a rank leaves for later.
const CALLS: usize = 4;

pub(super) struct Active {
    seed: u64,
    rounds: u64,
    steps: u64,
    settings: QueueSettings,
}

/// What a rank has received: the number of messages of each rank, and the violation that a function has found.
struct Received {
    counts: Vec<u64>,
    /// Number of times that a message still refuses to run.
    refusals: u64,
    wrong: Option<String>,
}

impl Active {
    pub(super) fn new(random: &mut Random, size: u32) -> Self {
        // Mostly a queue that is full, of batches with room for two messages or more.
        let (slots, batch_bytes) = (1 << random.below(3), *random.pick(&[64, 128, 1024]));
        let settings = QueueSettings { slots, batch_bytes, calls: CALLS as u32, limit: None };
        Self {
            seed: random.draw(),
            rounds: random.within(1, 3),
            steps: random.within(5, if size > 6 { 30 } else { 60 }),
            settings,
        }
    }

    fn value(&self, from: u32, to: u32, number: u64) -> u64 {
        stamp(self.seed, [from.into(), to.into(), number])
    }
}

/// Accepts the next message of a rank; returns its number.
fn accept(received: &RefCell<Received>, seed: u64, call: &Call<'_>, value: u64) -> u64 {
    let (from, me) = (call.from(), call.context().rank());
    let mut received = received.borrow_mut();
    let number = received.counts[from.index()];
    received.counts[from.index()] += 1;
    if value != stamp(seed, [from.into(), me.into(), number]) {
        received.wrong.get_or_insert_with(|| format!("message {number} of rank {from} to rank {me} is another one"));
    }
    number
}

impl Act for Active {
    fn memory(&self) -> Memory {
        Memory { words: 1, bytes: 0 }
    }

    fn play(&self, crew: &Crew<'_>) -> Result<(), Trouble> {
        let (me, size, seed, world) = (crew.position(), crew.size(), self.seed, crew.world());
        let received = Rc::new(RefCell::new(Received { counts: vec![0; size as usize], refusals: 0, wrong: None }));
        let mut functions = Functions::new();
        let mine = received.clone();
        let plain = functions.register(move |call, value: u64| {
            accept(&mine, seed, call, value);
        });
        let mine = received.clone();
        let retried = functions.register_retried(move |call, [value, refusals]: [u64; 2]| {
            let so_far = mine.borrow().refusals;
            if so_far < refusals {
                mine.borrow_mut().refusals += 1;
                return Next::Later;
            }
            mine.borrow_mut().refusals = 0;
            accept(&mine, seed, call, value);
            Next::Done
        });
        let mine = received.clone();
        let echoed = functions.register_with_reply(move |call, value: u64| [accept(&mine, seed, call, value), !value]);
        let messages = ActiveMessages::new(world, functions, self.settings)?;
        let mut random = Random::of(self.seed, me.into());
        let (mut sent, mut from_all) = (vec![0_u64; size as usize], vec![0_u64; size as usize]);
        for round in 0..self.rounds {
            let mut replies: Vec<(u64, u64, Reply<'_, '_, [u64; 2]>)> = Vec::new();
            for _ in 0..self.steps {
                let to = random.below(size.into()) as u32;
                let (number, rank) = (sent[to as usize], Rank::new(to));
                let value = self.value(me, to, number);
                sent[to as usize] += 1;
                match random.below(5) {
                    0 => messages.send(rank, retried, [value, random.below(3)])?,
                    1 | 2 => {
                        if replies.len() == CALLS {
                            let (number, value, reply) = replies.swap_remove(random.below(CALLS as u64) as usize);
                            let found = reply.wait()?;
                            demand!(found == [number, !value], "the reply to call {number} is {found:x?}");
                        }
                        replies.push((number, value, messages.call(rank, echoed, value)?));
                    }
                    _ => messages.send(rank, plain, value)?,
                }
                if random.one_in(6) {
                    messages.flush()?;
                }
                crew.pause();
            }
            for (number, value, reply) in replies {
                let found = reply.wait()?;
                demand!(found == [number, !value], "the reply to call {number} is {found:x?}");
            }
            messages.barrier()?;
            let mut all: Vec<_> =
                (0..size * size).map(|pair| if pair / size == me { sent[(pair % size) as usize] } else { 0 }).collect();
            crew.allreduce(&mut all)?;
            (0..size).for_each(|from| from_all[from as usize] = all[(from * size + me) as usize]);
            let Received { counts, wrong, .. } = &*received.borrow();
            demand!(wrong.is_none(), "{}", wrong.as_deref().unwrap_or_default());
            // Messages of the next round may have come from ranks that have left the barrier.
            let is_right = |(count, sent): (&u64, &u64)| count == sent || count > sent && round + 1 < self.rounds;
            let all_right = counts.iter().zip(&from_all).all(is_right);
            demand!(all_right, "after round {round} the messages {counts:?} have run, not {from_all:?}");
        }
        Ok(())
    }
}
