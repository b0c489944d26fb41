//! Ranks split into teams, and split again. Each team starts several operations of all kinds at once, and its members wait for them in any order.

use pelago_collectives::{Collectives, Commutative, Model, Settings, Started};

use super::{Act, Memory, Trouble, demand};
use crate::crew::Crew;
use crate::random::{Random, stamp};

/// Memory of all teams together, of which each split takes half. Operations are divided into pieces, and several of them fit into the smallest part.
const MEMORY_BYTES: usize = 3 << 20;
const PLAN_BYTES: usize = 4 << 10;

/// Costs of steps, so that no measurement is necessary.
const MODEL: Model = Model { latency_ns: 2000.0, message_ns: 200.0, byte_ns: 0.5, turn_ns: 0.0 };

/// Maximum number of operations that a team has started, and of values of a member in each of them.
const STARTED_MAX: u64 = 3;
const COUNT_MAX: u64 = 300;

/// Number of kinds of operations, of which the last ones have a count for each member.
const KINDS: u64 = 15;

/// Maximum number of splits one within another.
const DEPTH_MAX: u64 = 2;

pub(super) struct Teams {
    seed: u64,
    rounds: u64,
    per_host: u32,
}

/// One operation of a team.
struct Step {
    kind: u64,
    root: u32,
    count: u64,
    /// A number that no other operation of the job has.
    number: u64,
}

impl Step {
    fn draw(random: &mut Random, size: u32) -> Self {
        let [kind, root] = [KINDS, size.into()].map(|end| random.below(end));
        Self { kind, root: root as u32, count: random.spread(COUNT_MAX), number: random.draw() }
    }

    /// Returns the number of values that a member gets or gives in an operation with counts.
    fn count_of(&self, position: u32) -> usize {
        (stamp(self.number, [position.into(), 0, 0]) % (self.count + 1)) as usize
    }

    /// Returns the number of values from one member to another.
    fn count_between(&self, from: u32, to: u32) -> usize {
        (stamp(self.number, [from.into(), to.into(), 1]) % (self.count + 1)) as usize
    }

    /// Returns values of a member.
    fn values(&self, position: u32, indices: std::ops::Range<usize>) -> Vec<u64> {
        indices.map(|index| stamp(self.number, [position.into(), index as u64, 2])).collect()
    }

    /// Returns the sums of values of members.
    fn sums(&self, members: std::ops::Range<u32>, indices: std::ops::Range<usize>) -> Vec<u64> {
        let mut sums = vec![0_u64; indices.len()];
        for position in members {
            let values = self.values(position, indices.clone());
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum = sum.wrapping_add(value));
        }
        sums
    }

    /// Starts the operation.
    fn start<'c, 'w>(&self, team: &'c Collectives<'w>) -> Result<Option<Started<'c, 'w, u64>>, Trouble> {
        let (size, me, root, count) = (team.team().size(), team.position(), self.root, self.count as usize);
        let add = Commutative(u64::wrapping_add);
        let counts: Vec<_> = (0..size).map(|position| self.count_of(position)).collect();
        let (own, all) = (counts[me as usize], counts.iter().sum());
        let of_root = |values: usize| self.values(me, 0..if me == root { values } else { 0 });
        let between = |is_sent: bool| -> Vec<_> {
            (0..size).map(|other| if is_sent { self.count_between(me, other) } else { self.count_between(other, me) }).collect()
        };
        let mine = self.values(me, 0..count);
        Ok(Some(match self.kind {
            0 => {
                team.start_barrier()?.wait()?;
                return Ok(None);
            }
            1 => team.start_broadcast(root, mine)?,
            2 => team.start_reduce(root, mine, add)?,
            3 => team.start_allreduce(mine, add)?,
            4 => team.start_allgather(mine)?,
            5 => team.start_gather(root, mine)?,
            6 => team.start_scatter(root, of_root(count * size as usize), count)?,
            7 => team.start_alltoall(self.values(me, 0..count * size as usize))?,
            8 => team.start_reduce_scatter(self.values(me, 0..count * size as usize), add)?,
            9 => team.start_scan(mine, add)?,
            10 => team.start_allgatherv(self.values(me, 0..own), &counts)?,
            11 => team.start_gatherv(root, self.values(me, 0..own), &counts)?,
            12 => team.start_scatterv(root, of_root(all), &counts, own)?,
            13 => team.start_reduce_scatterv(self.values(me, 0..all), &counts, add)?,
            _ => {
                let sent = between(true);
                team.start_alltoallv(self.values(me, 0..sent.iter().sum()), &sent, &between(false))?
            }
        }))
    }

    /// Returns the result of a member.
    fn expected(&self, size: u32, me: u32) -> Vec<u64> {
        let (root, count) = (self.root, self.count as usize);
        let counts: Vec<_> = (0..size).map(|position| self.count_of(position)).collect();
        let range = |position: u32| {
            let before = counts[..position as usize].iter().sum::<usize>();
            before..before + counts[position as usize]
        };
        let block = |position: u32, number: u32| self.values(position, number as usize * count..(number as usize + 1) * count);
        let from_all = |values: &dyn Fn(u32) -> Vec<u64>| (0..size).flat_map(values).collect();
        let of_root = |values: &dyn Fn() -> Vec<u64>| if me == root { values() } else { Vec::new() };
        match self.kind {
            1 => self.values(root, 0..count),
            2 => of_root(&|| self.sums(0..size, 0..count)),
            3 => self.sums(0..size, 0..count),
            4 => from_all(&|position| block(position, 0)),
            5 => of_root(&|| from_all(&|position| block(position, 0))),
            6 => block(root, me),
            7 => from_all(&|position| block(position, me)),
            8 => self.sums(0..size, me as usize * count..(me as usize + 1) * count),
            9 => self.sums(0..me + 1, 0..count),
            10 => from_all(&|position| self.values(position, 0..counts[position as usize])),
            11 => of_root(&|| from_all(&|position| self.values(position, 0..counts[position as usize]))),
            12 => self.values(root, range(me)),
            13 => self.sums(0..size, range(me)),
            _ => from_all(&|from| {
                let before = (0..me).map(|to| self.count_between(from, to)).sum::<usize>();
                self.values(from, before..before + self.count_between(from, me))
            }),
        }
    }
}

impl Teams {
    pub(super) fn new(random: &mut Random, size: u32) -> Self {
        Self { seed: random.draw(), rounds: random.within(1, 3), per_host: random.within(1, size.into()) as u32 }
    }

    fn settings(&self, depth: u64) -> Settings {
        let (memory_bytes, per_host) = (MEMORY_BYTES >> depth, Some(self.per_host));
        Settings { memory_bytes, plan_bytes: PLAN_BYTES, per_host, model: Some(MODEL), ..Settings::default() }
    }

    /// Starts operations of a team, and waits for them in an order of this member.
    fn operate(&self, crew: &Crew<'_>, team: &Collectives<'_>, common: &mut Random, own: &mut Random) -> Result<(), Trouble> {
        let (size, me) = (team.team().size(), team.position());
        let mut started = Vec::new();
        for _ in 0..common.within(1, STARTED_MAX) {
            let step = Step::draw(common, size);
            crew.pause();
            started.extend(step.start(team)?.map(|operation| (step, operation)));
        }
        while !started.is_empty() {
            let (step, mut operation) = started.swap_remove(own.below(started.len() as u64) as usize);
            if own.one_in(3) && !operation.test()? {
                started.push((step, operation));
                continue;
            }
            let (kind, found) = (step.kind, operation.wait()?);
            let members = team.team();
            demand!(
                found == step.expected(size, me),
                "operation {kind} of {} values of the team {members:?} is wrong",
                step.count
            );
        }
        Ok(())
    }

    /// Splits a team, lets the parts operate and split again, and then the whole team operate.
    fn divide(
        &self,
        crew: &Crew<'_>,
        team: &Collectives<'_>,
        (depth, common, own): (u64, &mut Random, &mut Random),
    ) -> Result<(), Trouble> {
        let (colours, is_reversed, omits) = (common.within(1, 3) as u32, common.one_in(2), common.one_in(4));
        let colour_of = |position: u32| {
            let colour = stamp(self.seed, [depth, position.into(), colours.into()]) as u32 % colours;
            if omits && position == 0 { None } else { Some(colour) }
        };
        let key_of = |position: u32| if is_reversed { -(position as i32) } else { 0 };
        let (size, position) = (team.team().size(), team.position());
        let (number, colour) = (common.draw(), colour_of(position));
        let part = team.split(colour, key_of(position), &self.settings(depth + 1))?;
        demand!(part.is_some() == colour.is_some(), "a member without a colour has a team, or one with a colour has none");
        if let (Some(part), Some(colour)) = (&part, colour) {
            let mut ranks: Vec<_> = (0..size).filter(|&position| colour_of(position) == Some(colour)).collect();
            ranks.sort_by_key(|&position| (key_of(position), position));
            let me = ranks.iter().position(|&other| other == position).unwrap_or_default() as u32;
            demand!((part.team().size(), part.position()) == (ranks.len() as u32, me), "a part has other members");
            let mut common = Random::of(number, colour.into());
            for _ in 0..common.within(1, 3) {
                self.operate(crew, part, &mut common, own)?;
            }
            if depth + 1 < DEPTH_MAX && common.one_in(2) {
                self.divide(crew, part, (depth + 1, &mut common, own))?;
            }
        }
        self.operate(crew, team, common, own)
    }
}

impl Act for Teams {
    fn memory(&self) -> Memory {
        Memory::default()
    }

    fn play(&self, crew: &Crew<'_>) -> Result<(), Trouble> {
        let all = Collectives::new(crew.world(), &self.settings(0))?;
        // The same numbers on every rank.
        let mut common = Random::of(self.seed, 0);
        let mut own = Random::of(self.seed, 1 + u64::from(crew.position()));
        for _ in 0..self.rounds {
            self.divide(crew, &all, (0, &mut common, &mut own))?;
        }
        Ok(())
    }
}
