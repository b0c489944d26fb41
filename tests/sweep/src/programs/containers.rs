//! Ranks share tables, and each rank uses rows, lists and memory on other ranks: a rank finds what it has written, and keys that several ranks add
//! exist once.

use std::collections::{BTreeMap, VecDeque};

use pelago_base::Rank;
use pelago_containers::{GlobalDeque, GlobalHeap, GlobalList, GlobalMap, GlobalMultiset, GlobalVector, WorkQueue, WorkSettings};
use pelago_rma::active::QueueSettings;
use pelago_rma::{Error, GlobalPtr};

use super::{Act, Memory, Trouble, demand};
use crate::crew::Crew;
use crate::random::{Random, stamp};

/// Bytes of the heap of each rank.
const HEAP_BYTES: u64 = 96 << 10;

/// Number of keys of each rank, and of all ranks together. There are fewer buckets than keys.
const OWN_KEYS: u64 = 6;
const SHARED_KEYS: u64 = 8;
const BUCKETS: usize = 5;

/// Settings of a queue whose shared part is full most of the time.
const WORK: WorkSettings = WorkSettings { own: 1 << 10, shared: 4, chunk: 2 };

/// A value, long enough for incomplete writes to be visible.
type Value = [u64; 4];

pub(super) struct Containers {
    seed: u64,
    steps: u64,
}

impl Containers {
    pub(super) fn new(random: &mut Random, size: u32) -> Self {
        Self { seed: random.draw(), steps: random.within(5, if size > 6 { 20 } else { 40 }) }
    }

    fn value(&self, crew: &Crew<'_>, step: u64) -> Value {
        std::array::from_fn(|word| stamp(self.seed, [crew.position().into(), step, word as u64]))
    }

    /// Writes, reads and removes keys of this rank, and reads a key that the next rank may be writing: its value must be one that the rank writes.
    fn use_map(
        &self,
        crew: &Crew<'_>,
        map: &GlobalMap<'_, '_, u64, Value>,
        model: &mut BTreeMap<u64, Value>,
        (step, random): (u64, &mut Random),
    ) -> Result<(), Trouble> {
        let (key, value) = (u64::from(crew.position()) << 32 | random.below(OWN_KEYS), self.value(crew, step));
        match random.below(4) {
            0 => {
                let is_new = map.insert(&key, &value)?;
                demand!(is_new != model.contains_key(&key), "key {key:x} was added: {is_new}");
                model.entry(key).or_insert(value);
            }
            1 => {
                let is_new = map.set(&key, &value)?;
                demand!(is_new == model.insert(key, value).is_none(), "key {key:x} was set anew: {is_new}");
            }
            2 => {
                let was_there = map.remove(&key)?;
                demand!(was_there == model.remove(&key).is_some(), "key {key:x} was removed: {was_there}");
            }
            _ => {
                let next = (crew.position() + 1) % crew.size();
                let other = u64::from(next) << 32 | random.below(OWN_KEYS);
                if let Some(found) = map.find(&other)? {
                    let is_one = (0..self.steps)
                        .any(|step| found == std::array::from_fn(|word| stamp(self.seed, [next.into(), step, word as u64])));
                    demand!(is_one, "key {other:x} has a value that nobody has written");
                }
            }
        }
        let found = map.find(&key)?;
        demand!(found == model.get(&key).copied(), "key {key:x} has the value {found:x?}");
        Ok(())
    }

    /// Writes and reads several keys of this rank in one call.
    fn use_map_for_all(
        &self,
        crew: &Crew<'_>,
        map: &GlobalMap<'_, '_, u64, Value>,
        model: &mut BTreeMap<u64, Value>,
        (step, random): (u64, &mut Random),
    ) -> Result<(), Trouble> {
        let own: Vec<_> = (0..OWN_KEYS).map(|key| u64::from(crew.position()) << 32 | key).collect();
        let mut pairs: Vec<_> = own.iter().map(|&key| (key, self.value(crew, step))).collect();
        pairs.retain(|_| random.one_in(2));
        let before = model.len();
        let added = if random.one_in(2) {
            model.extend(pairs.iter().copied());
            map.set_all(&pairs)?
        } else {
            for &(key, value) in &pairs {
                model.entry(key).or_insert(value);
            }
            map.insert_all(&pairs)?
        };
        demand!(added == model.len() - before, "{added} of {} keys were added", pairs.len());
        let (found, expected) = (map.find_all(&own)?, own.iter().map(|key| model.get(key).copied()));
        demand!(found.iter().copied().eq(expected), "keys have the values {found:x?}");
        Ok(())
    }

    /// Allocates memory of any rank, writes to it and frees it later.
    fn use_memory(
        &self,
        crew: &Crew<'_>,
        heap: &GlobalHeap<'_>,
        blocks: &mut Vec<(GlobalPtr<u64>, Vec<u64>)>,
        (step, random): (u64, &mut Random),
    ) -> Result<(), Trouble> {
        if blocks.len() < 4 {
            let (rank, words) = (Rank::new(random.below(crew.size().into()) as u32), random.within(1, 40));
            let content: Vec<_> = (0..words).map(|word| stamp(self.seed, [crew.position().into(), step << 32, word])).collect();
            let at = GlobalPtr::from_address(heap.allocate(rank, 8 * words)?).map_err(Error::from)?;
            crew.world().put(at, &content)?.wait()?;
            blocks.push((at, content));
            return Ok(());
        }
        let (at, content) = blocks.swap_remove(random.below(blocks.len() as u64) as usize);
        let mut found = vec![0; content.len()];
        crew.world().get_into(at, &mut found)?;
        demand!(found == content, "a block of {} words is not as it was left", content.len());
        Ok(heap.free(at.address())?)
    }
}

impl Containers {
    /// Executes all tasks, each of which creates further ones; every task is executed once.
    fn work(&self, crew: &Crew<'_>, work: &WorkQueue<'_, [u64; 2]>, pushed: u64) -> Result<(), Trouble> {
        let (mut worked, mut made) = (0, pushed);
        while let Some([more, task]) = work.next()? {
            worked += 1;
            for number in 0..more {
                let task = stamp(self.seed, [task, number, 8]);
                work.push([more / 2, task])?;
                made += 1;
            }
            crew.pause();
        }
        let mut all = [worked, made];
        crew.allreduce(&mut all)?;
        demand!(all[0] == all[1], "{} of {} tasks were worked at", all[0], all[1]);
        Ok(())
    }
}

impl Act for Containers {
    fn memory(&self) -> Memory {
        Memory::default()
    }

    fn play(&self, crew: &Crew<'_>) -> Result<(), Trouble> {
        let (world, me, size) = (crew.world(), crew.position(), crew.size());
        let mut random = Random::of(self.seed, me.into());
        let heap = GlobalHeap::new(world, HEAP_BYTES)?;
        let map = GlobalMap::<u64, Value>::new(&heap, BUCKETS)?;
        let counts = GlobalMultiset::<u64>::new(&heap, BUCKETS)?;
        let other = |random: &mut Random| Rank::new(random.below(size.into()) as u32);
        let vector = GlobalVector::<u64>::new(&heap, other(&mut random), 2)?;
        let deque = GlobalDeque::<u64>::new(&heap, other(&mut random), 2)?;
        let list = GlobalList::<u64>::new(&heap, other(&mut random))?;
        let settings = QueueSettings { slots: 2, batch_bytes: 64 << (self.seed % 3), calls: 2, limit: None };
        let (counting, work) = (counts.updates(settings)?, WorkQueue::<[u64; 2]>::new(world, WORK)?);
        let (mut known, mut row, mut ring, mut listed) =
            <(BTreeMap<u64, Value>, Vec<u64>, VecDeque<u64>, VecDeque<u64>)>::default();
        let (mut blocks, mut counted, mut pushed) = (Vec::new(), [0_u64; SHARED_KEYS as usize], 0);
        for step in 0..self.steps {
            crew.pause();
            let value = self.value(crew, step)[0];
            match random.below(10) {
                8 | 9 => {
                    let (key, count) = (random.below(SHARED_KEYS), random.within(1, 2));
                    counting.insert(key, count)?;
                    counted[key as usize] += count;
                    work.push([random.below(4), stamp(self.seed, [me.into(), step, 7])])?;
                    pushed += 1;
                }
                0 => self.use_memory(crew, &heap, &mut blocks, (step, &mut random))?,
                1 => {
                    let key = random.below(SHARED_KEYS);
                    counts.insert(&key, 1)?;
                    counted[key as usize] += 1;
                }
                2 => {
                    let at = random.below(row.len() as u64 + 1);
                    vector.insert(at, &[value, !value])?;
                    row.splice(at as usize..at as usize, [value, !value]);
                    let found = vector.to_vec()?;
                    demand!(found == row, "the vector has {} values, not as they were written", found.len());
                }
                3 => {
                    deque.push_front(value)?;
                    ring.push_front(value);
                    if random.one_in(2) {
                        let (last, expected) = (deque.pop_back()?, ring.pop_back());
                        demand!(last == expected, "the deque ends with {last:x?}");
                    }
                }
                4 => {
                    list.push_back(value, other(&mut random))?;
                    listed.push_back(value);
                    if random.one_in(2) {
                        let first = list.bytes().next(list.end())?;
                        let (value, expected) = (list.get(first)?, listed.pop_front());
                        demand!(Some(value) == expected, "the list began with {value:x}");
                        list.erase(first)?;
                    }
                }
                5 => {
                    let keys: Vec<_> = (0..random.within(0, 12)).map(|_| random.below(SHARED_KEYS)).collect();
                    counts.insert_all(&keys, 2)?;
                    keys.iter().for_each(|&key| counted[key as usize] += 2);
                    self.use_map_for_all(crew, &map, &mut known, (step, &mut random))?;
                }
                _ => self.use_map(crew, &map, &mut known, (step, &mut random))?,
            }
        }
        demand!(ring == deque.to_vec()?, "the deque is not as it was written");
        demand!(listed == list.to_vec()?, "the list is not as it was written");
        counting.barrier()?;
        self.work(crew, &work, pushed)?;
        let (mut all, mine) = (counted, counted);
        crew.allreduce(&mut all)?;
        for (key, (&all, &mine)) in (0..).zip(all.iter().zip(&mine)) {
            let found = counts.count(&key)?;
            demand!(found == all, "key {key} was counted {found} times, by all {all} times, {mine} of them here");
        }
        for (key, value) in &known {
            demand!(map.find(key)? == Some(*value), "key {key:x} is not as it was left");
        }
        crew.meet(None)?;
        Ok(())
    }
}
