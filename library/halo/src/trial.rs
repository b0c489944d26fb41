//! Trials: what each way costs here and now.
//!
//! A trial is the exchange itself: borders that this rank has just used, brought to the neighbour, and every halo cell read, because a
//! way that leaves the reading to its receiver looks cheap otherwise. Nothing is random; in a simulation costs are those of virtual time,
//! and equal ones leave the proposal in place.

use std::hint::black_box;

use pelago_base::{Duration, Instant};
use pelago_rma::{Pod, Rail, Result, World};

use crate::candidate::{Means, STRIPED_BYTES_MIN, is_possible, proposal};
use crate::exchange::Exchange;
use crate::explanation::{Candidate, Choice, Verdict};
use crate::field::Field;
use crate::link::Link;
use crate::settings::{Method, Settings};
use crate::step::{Step, count, leading, number, of_number, opposite};

/// Rounds of a trial at most. In each of them every way has its turn, and another is the first: what changes meanwhile, changes for all.
const ROUNDS_MAX: usize = 5;

/// Exchanges of a turn. The first finds cells where the way before has left them, and does not count.
const TURN: usize = 4;

/// A figure stands when a round moves it by no more than a part of it, one in so many.
const SAME: u64 = 200;

/// What is proposed stays unless another costs less than so many hundredths of it: figures of one day differ from those of the next.
pub(crate) const CHEAPER_PERCENT: u64 = 95;

/// The same of sets, whose figures are those of whole exchanges.
const CHEAPER_TOGETHER_PERCENT: u64 = 99;

/// Sets that are tried at most, of a way for each dimension; where there would be more, of a rail for each, or of one for all.
const SETS_MAX: usize = 16;

/// What all rails at once are called.
const ALL_RAILS: &str = "all";

/// What stands for the cost of a way that was not tried.
const NEVER: u64 = u64::MAX;

/// Whether `cost` is less than so many hundredths of what is proposed.
fn is_cheaper(cost: Duration, proposed: Duration, percent: u64) -> bool {
    u128::from(cost.as_picoseconds()) * 100 < u128::from(proposed.as_picoseconds()) * u128::from(percent)
}

/// The time that is left for trials, as all ranks know it: it is over for all as soon as one of them has none, and they say so after a round.
pub(crate) struct Allowance<'w> {
    world: &'w World,
    until: Instant,
    is_over: bool,
}

/// How a round leaves the turns. The last that any rank says holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Round {
    Settled,
    Moving,
    OutOfTime,
}

impl<'w> Allowance<'w> {
    pub(crate) fn new(world: &'w World, limit: Duration) -> Self {
        Self { world, until: world.now() + limit, is_over: limit == Duration::ZERO }
    }

    /// Ends a round; returns whether another is to follow. Collective.
    fn goes_on(&mut self, moves: bool) -> Result<bool> {
        let here = match moves {
            _ if self.world.now() >= self.until => Round::OutOfTime,
            true => Round::Moving,
            false => Round::Settled,
        };
        let mut all = [here as u64];
        self.world.allreduce(&mut all, u64::max)?;
        self.is_over = all == [Round::OutOfTime as u64];
        Ok(all == [Round::Moving as u64])
    }
}

/// Decides for every link how it goes, as its neighbour does; and says what came of the sets of rails that were tried. Collective.
pub(crate) fn choose<'w, T: Pod, const D: usize>(
    exchange: &mut Exchange<'w, T, D>,
    fields: &mut [Field<'w, T, D>],
    settings: &Settings,
    allowance: &mut Allowance<'w>,
) -> Result<(Vec<Choice>, Vec<Candidate>)> {
    let ground = Ground::new(exchange.boxes.world, settings, size_of::<T>());
    let mut is_open = [u64::from(exchange.links.iter().any(|link| ground.is_open(link)))];
    exchange.boxes.world.allreduce(&mut is_open, u64::max)?;
    let figures = match is_open {
        [0] => vec![vec![[None; 2]; ground.ways.len()]; exchange.links.len()],
        _ => measure_links(exchange, fields, &ground, allowance)?,
    };
    let own: Vec<Means> = exchange.links.iter().zip(&figures).map(|(link, figures)| ground.best(link, figures, None)).collect();
    exchange.links.iter_mut().zip(&own).for_each(|(link, &means)| link.take(means));
    let sets = choose_set(exchange, fields, &ground, &figures, allowance)?;
    let explained = exchange.links.iter().zip(&figures).map(|(link, figures)| ground.explain(link, figures));
    Ok((explained.collect(), sets))
}

/// One exchange over those links that `takes_part` names, halos read.
pub(crate) fn once<'w, T: Pod, const D: usize>(
    exchange: &mut Exchange<'w, T, D>,
    fields: &mut [Field<'w, T, D>],
    takes_part: impl Fn(&Link<'w, D>) -> bool,
) -> Result<Duration> {
    let world = exchange.boxes.world;
    for link in exchange.links.iter().filter(|link| takes_part(link)) {
        use_borders(link, fields);
    }
    // Who comes late would cost the others what it takes itself.
    world.barrier()?;
    let start = world.now();
    exchange.exchange(fields, &takes_part)?;
    for link in exchange.links.iter().filter(|link| takes_part(link)) {
        read_halos(link, fields);
    }
    Ok(world.now() - start)
}

/// The median of what some ways cost this rank; `exchange` does one exchange by one of them, and says nothing of one in which this rank takes no
/// part. Ends when nobody's figures move any more, or with the first round after which the time is over; where it is over before, nothing is
/// known. Collective.
fn take_turns(
    allowance: &mut Allowance<'_>,
    ways: usize,
    mut exchange: impl FnMut(usize) -> Result<Option<Duration>>,
) -> Result<Vec<Option<Duration>>> {
    let mut figures: Vec<Option<Duration>> = vec![None; ways];
    if allowance.is_over {
        return Ok(figures);
    }
    let mut samples = vec![Vec::with_capacity(ROUNDS_MAX * TURN); ways];
    for round in 0..ROUNDS_MAX {
        for which in (0..ways).map(|turn| (round + turn) % ways) {
            for number in 0..TURN {
                let taken = exchange(which)?;
                samples[which].extend(taken.filter(|_| number > 0));
            }
        }
        let before = figures.clone();
        for (figure, samples) in figures.iter_mut().zip(&mut samples) {
            samples.sort_unstable();
            *figure = samples.get(samples.len() / 2).copied();
        }
        if !allowance.goes_on(before.iter().zip(&figures).any(|(&before, &now)| has_moved(before, now)))? {
            break;
        }
    }
    Ok(figures)
}

/// Whether a figure has become another.
fn has_moved(before: Option<Duration>, now: Option<Duration>) -> bool {
    let [before, now] = [before, now].map(|figure| figure.map_or(0, Duration::as_picoseconds));
    before.abs_diff(now) > now / SAME
}

/// What a way costs here and at the neighbour.
type Cost = [Option<Duration>; 2];

/// What may be chosen.
struct Ground<'w> {
    world: &'w World,
    settings: &'w Settings,
    cell_bytes: usize,
    /// The names of the rails; the last of all of them at once, if there are several.
    names: Vec<&'static str>,
    all: Option<Rail>,
    /// Every method by every rail, rail by rail.
    ways: Vec<Means>,
}

impl<'w> Ground<'w> {
    fn new(world: &'w World, settings: &'w Settings, cell_bytes: usize) -> Self {
        let (mut names, all): (Vec<_>, _) = (world.rails().iter().map(|rail| rail.name).collect(), world.rails().all());
        names.extend(all.map(|_| ALL_RAILS));
        let rails = (0..names.len()).filter_map(Rail::new);
        let ways = rails.flat_map(|rail| Method::ALL.map(|method| Means { method, rail })).collect();
        Self { world, settings, cell_bytes, names, all, ways }
    }

    /// Whether a link may go by a rail: by the one that was asked for, if that leads there, else by any that does.
    fn allows<const D: usize>(&self, link: &Link<'_, D>, rail: Rail) -> bool {
        let leads = |rail: &Rail| self.world.rails().reach(*rail, link.neighbour);
        match self.settings.rails[leading(link.way.step)].filter(leads) {
            Some(asked) => rail == asked,
            None => leads(&rail),
        }
    }

    /// Whether a way is to be considered.
    fn considers<const D: usize>(&self, link: &Link<'_, D>, means: Means) -> bool {
        self.allows(link, means.rail)
            && match self.asked(link) {
                Some(method) => method == means.method,
                None => is_possible(link, means),
            }
            && (Some(means.rail) != self.all || self.goes_in_parts(link))
    }

    /// Whether a link is to go by all rails at once, or may well.
    fn goes_in_parts<const D: usize>(&self, link: &Link<'_, D>) -> bool {
        let bytes = link.cells().into_iter().max().unwrap_or(0) * self.cell_bytes;
        self.settings.rails[leading(link.way.step)] == self.all || bytes as u64 >= STRIPED_BYTES_MIN
    }

    /// The method that was asked for.
    fn asked<const D: usize>(&self, link: &Link<'_, D>) -> Option<Method> {
        self.settings.methods[leading(link.way.step)]
    }

    /// Whether there is a choice.
    fn is_open<const D: usize>(&self, link: &Link<'_, D>) -> bool {
        self.asked(link).is_none() || self.ways.iter().filter(|&&means| self.considers(link, means)).count() > 1
    }

    /// What is taken, by one rail or by any, unless another way is clearly cheaper. Both ends propose the same: mapped memory, or the first rail, as
    /// what each takes by itself to the other may be two.
    fn proposal<const D: usize>(&self, link: &Link<'_, D>, rail: Option<Rail>) -> Means {
        let allowed = || self.ways.iter().map(|means| means.rail).filter(|&rail| self.allows(link, rail));
        let is_mapped = |rail: &Rail| link.is_mapped && *rail == link.best;
        let rail = rail.or_else(|| allowed().find(is_mapped)).or_else(|| allowed().next()).unwrap_or(link.best);
        Means { method: self.asked(link).unwrap_or_else(|| proposal(link, rail, self.cell_bytes)), rail }
    }

    /// What all that take part know of the cost of a way.
    fn cost(&self, figures: &[Cost], means: Means) -> Option<Duration> {
        let which = self.ways.iter().position(|&way| way == means)?;
        let [here, there] = figures[which];
        here.zip(there).map(|(here, there)| here.max(there))
    }

    /// The proposal, or what is clearly cheaper, by one rail or by any. Both ends know the same figures.
    fn best<const D: usize>(&self, link: &Link<'_, D>, figures: &[Cost], rail: Option<Rail>) -> Means {
        let proposed = self.proposal(link, rail);
        let others = self.ways.iter().filter(|&&means| means != proposed && rail.is_none_or(|rail| rail == means.rail));
        let costs = others.filter_map(|&means| self.cost(figures, means).map(|cost| (cost, means)));
        match (costs.min_by_key(|(cost, _)| *cost), self.cost(figures, proposed)) {
            (Some((cost, means)), Some(proposed)) if is_cheaper(cost, proposed, CHEAPER_PERCENT) => means,
            (Some((_, means)), None) => means,
            _ => proposed,
        }
    }

    /// Has every link go the way that a set has for it, where it may, or else by its rail and the best method there; else as is best for it alone.
    fn apply<T: Pod, const D: usize>(&self, exchange: &mut Exchange<'_, T, D>, figures: &[Vec<Cost>], set: Option<&Set<D>>) {
        for (link, figures) in exchange.links.iter_mut().zip(figures) {
            let wish = set.and_then(|set| set[leading(link.way.step)]);
            let way = wish.and_then(|wish| wish.method.map(|method| Means { method, rail: wish.rail }));
            let rail = wish.map(|wish| wish.rail).filter(|&rail| self.allows(link, rail));
            let way = way.filter(|&means| self.considers(link, means));
            link.take(way.unwrap_or_else(|| self.best(link, figures, rail)));
        }
    }

    /// What became of every way of a link.
    fn explain<const D: usize>(&self, link: &Link<'_, D>, figures: &[Cost]) -> Choice {
        let (taken, own) = (Means { method: link.method, rail: link.rail() }, self.best(link, figures, None));
        let is_open = self.is_open(link);
        let verdict = |means: Means| match self.cost(figures, means) {
            _ if means == taken && !is_open => Verdict::Forced,
            _ if means == taken && means != own => Verdict::Together,
            _ if means == taken && means == self.proposal(link, None) => Verdict::Proposed,
            _ if means == taken => Verdict::Cheaper,
            _ if !self.world.rails().reach(means.rail, link.neighbour) => Verdict::NoRail,
            _ if !self.allows(link, means.rail) => Verdict::Excluded,
            _ if self.asked(link).is_some_and(|method| method != means.method) => Verdict::Excluded,
            None if !self.considers(link, means) => Verdict::NotTried,
            None => Verdict::NoTime,
            cost if cost < self.cost(figures, taken) && taken == own => Verdict::NotClearlyCheaper,
            cost if cost < self.cost(figures, taken) => Verdict::CheaperAlone,
            _ => Verdict::Dearer,
        };
        let candidate = |(&means, &[here, there]): (&Means, &Cost)| {
            let name = match self.names[..] {
                [_] => means.method.to_string(),
                _ => format!("{} by {}", means.method, self.names[means.rail.number()]),
            };
            Candidate { name, here, there, verdict: verdict(means) }
        };
        Choice {
            neighbour: link.neighbour,
            step: link.way.step.to_vec(),
            fields: link.pieces.len(),
            bytes: (link.cells()[0] * self.cell_bytes) as u64,
            blocks: link.blocks()[0],
            is_mapped: link.is_mapped,
            candidates: self.ways.iter().zip(figures).map(candidate).collect(),
        }
    }

    /// The sets that are tried: a way by one rail for each dimension in which there are neighbours, of those that some link considers there. Where
    /// there would be too many, a rail for each, or one rail for all. Besides, by each method, what may go by all rails at once.
    fn sets<T: Pod, const D: usize>(&self, exchange: &Exchange<'_, T, D>) -> Result<Vec<Set<D>>> {
        let mut open = [0_u64; D];
        for link in &exchange.links {
            let considered = self.ways.iter().map(|&means| u64::from(self.considers(link, means)));
            open[leading(link.way.step)] |= considered.rev().fold(0, |set, bit| set << 1 | bit);
        }
        self.world.allreduce(&mut open, |one, other| one | other)?;
        if self.names.len() == 1 || open.iter().all(|open| open.count_ones() <= 1) {
            return Ok(Vec::new());
        }
        let wishes: [Vec<Wish>; D] = open.map(|open| {
            let ways = self.ways.iter().enumerate().filter(|(which, _)| open >> which & 1 == 1);
            ways.map(|(_, &Means { method, rail })| Wish { rail, method: Some(method) }).collect()
        });
        let by_all = |method| {
            let wish = Wish { rail: self.all?, method: Some(method) };
            let set = wishes.each_ref().map(|wishes| wishes.contains(&wish).then_some(wish));
            (set != [None; D]).then_some(set)
        };
        let by_all: Vec<Set<D>> = Method::ALL.into_iter().filter_map(by_all).collect();
        let ways = wishes.map(|wishes| wishes.into_iter().filter(|wish| Some(wish.rail) != self.all).collect::<Vec<_>>());
        let rails = ways.clone().map(|mut ways| {
            ways.iter_mut().for_each(|wish| wish.method = None);
            ways.dedup();
            ways
        });
        let count = |choices: &[Vec<Wish>; D]| choices.iter().map(|choices| choices.len().max(1)).product::<usize>();
        if let Some(choices) = [ways, rails.clone()].into_iter().find(|choices| count(choices) <= SETS_MAX) {
            let sets = choices.iter().enumerate().fold(vec![[None; D]], |sets, (d, choices)| {
                let with = |set: Set<D>| {
                    let open =
                        choices.iter().map(move |&wish| std::array::from_fn(|at| if at == d { Some(wish) } else { set[at] }));
                    open.chain(choices.is_empty().then_some(set))
                };
                sets.into_iter().flat_map(with).collect::<Vec<_>>()
            });
            return Ok([sets, by_all].concat());
        }
        let each = (0..self.names.len()).filter_map(Rail::new).filter(|&rail| Some(rail) != self.all);
        let sets = each.map(|rail| rails.each_ref().map(|choices| choices.iter().copied().find(|wish| wish.rail == rail)));
        Ok(sets.chain(by_all).collect())
    }

    /// What a set is called.
    fn name<const D: usize>(&self, set: &Set<D>) -> String {
        let of = |wish: Wish| match wish.method {
            Some(method) => format!("{method} by {}", self.names[wish.rail.number()]),
            None => self.names[wish.rail.number()].into(),
        };
        set.map(|wish| wish.map_or("-".into(), of)).join(", ")
    }
}

/// What is tried for the faces of a dimension: a way, or the best by a rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wish {
    rail: Rail,
    method: Option<Method>,
}

/// One for each dimension in which there are neighbours.
type Set<const D: usize> = [Option<Wish>; D];

/// Measures each way on the links of each pair of steps, all other links at rest, and tells the neighbours.
fn measure_links<'w, T: Pod, const D: usize>(
    exchange: &mut Exchange<'w, T, D>,
    fields: &mut [Field<'w, T, D>],
    ground: &Ground<'_>,
    allowance: &mut Allowance<'w>,
) -> Result<Vec<Vec<Cost>>> {
    let (world, ways) = (exchange.boxes.world, &ground.ways);
    let figures = world.alloc::<u64>(ways.len() * count::<D>())?;
    let steps = || (count::<D>() / 2 + 1..count::<D>()).map(of_number::<D>);
    let is_tried = |link: &Link<'_, D>, step, means| is_of(link, step) && ground.considers(link, means);
    // All take part in the turns of all ways that anybody tries.
    let every = steps().flat_map(|step| ways.iter().map(move |&means| (step, means)));
    let mut tried: Vec<u64> =
        every.map(|(step, means)| u64::from(exchange.links.iter().any(|link| is_tried(link, step, means)))).collect();
    world.allreduce(&mut tried, u64::max)?;
    let mut here = vec![vec![NEVER; ways.len()]; exchange.links.len()];
    for (step, tried) in steps().zip(tried.chunks(ways.len())) {
        let tried: Vec<usize> = (0..ways.len()).filter(|&which| tried[which] > 0).collect();
        let costs = take_turns(allowance, tried.len(), |turn| {
            let means = ways[tried[turn]];
            let takes_part = |link: &Link<'_, D>| is_tried(link, step, means);
            let any = exchange.links.iter().any(takes_part);
            exchange.links.iter_mut().filter(|link| takes_part(link)).for_each(|link| link.take(means));
            let taken = once(exchange, fields, takes_part)?;
            Ok(any.then_some(taken))
        })?;
        for (&which, cost) in tried.iter().zip(costs) {
            for (_, here) in exchange.links.iter().zip(&mut here).filter(|(link, _)| is_tried(link, step, ways[which])) {
                here[which] = cost.map_or(NEVER, Duration::as_picoseconds);
            }
        }
    }
    for (link, here) in exchange.links.iter().zip(&here) {
        world.put(figures.at(link.neighbour, number(opposite(link.way.step)) * ways.len()), here)?;
    }
    world.barrier()?;
    let told = figures.local();
    let known = |cost: u64| (cost != NEVER).then(|| Duration::from_picoseconds(cost));
    let of_link = |(link, here): (&Link<'_, D>, &Vec<u64>)| {
        let there = |which: usize| told.load(number(link.way.step) * ways.len() + which);
        here.iter().enumerate().map(|(which, &here)| [known(here), known(there(which))]).collect()
    };
    Ok(exchange.links.iter().zip(&here).map(of_link).collect())
}

/// Whether a link is at a step or at its opposite.
fn is_of<const D: usize>(link: &Link<'_, D>, step: Step<D>) -> bool {
    link.way.step == step || link.way.step == opposite(step)
}

/// Tries whole exchanges by each set, beside each link as is best for it alone: links that are at work together share rails. Takes the best.
/// Collective.
fn choose_set<'w, T: Pod, const D: usize>(
    exchange: &mut Exchange<'w, T, D>,
    fields: &mut [Field<'w, T, D>],
    ground: &Ground<'_>,
    figures: &[Vec<Cost>],
    allowance: &mut Allowance<'w>,
) -> Result<Vec<Candidate>> {
    let sets = ground.sets(exchange)?;
    if sets.is_empty() {
        return Ok(Vec::new());
    }
    let race = Race::run(allowance, 1 + sets.len(), CHEAPER_TOGETHER_PERCENT, |which| {
        ground.apply(exchange, figures, which.checked_sub(1).map(|which| &sets[which]));
        once(exchange, fields, |_| true)
    })?;
    ground.apply(exchange, figures, race.winner().checked_sub(1).map(|which| &sets[which]));
    Ok(race.candidates(|which| match which.checked_sub(1) {
        None => "each its own".into(),
        Some(which) => ground.name(&sets[which]),
    }))
}

/// Ways of which each was tried for whole exchanges, if there was time, the proposed one first: the cost here and on the slowest rank.
pub(crate) struct Race {
    costs: Vec<Option<[Duration; 2]>>,
    percent: u64,
}

impl Race {
    /// Tries each of some ways by turns; `exchange` does a whole exchange by one of them. The first stays unless another costs less than so many
    /// hundredths of it. Collective.
    pub(crate) fn run(
        allowance: &mut Allowance<'_>,
        ways: usize,
        percent: u64,
        mut exchange: impl FnMut(usize) -> Result<Duration>,
    ) -> Result<Self> {
        let here = take_turns(allowance, ways, |which| exchange(which).map(Some))?;
        let mut slowest: Vec<u64> = here.iter().map(|here| here.map_or(0, Duration::as_picoseconds)).collect();
        allowance.world.allreduce(&mut slowest, u64::max)?;
        let both = |(here, slowest): (Option<Duration>, u64)| here.map(|here| [here, Duration::from_picoseconds(slowest)]);
        Ok(Self { costs: here.into_iter().zip(slowest).map(both).collect(), percent })
    }

    /// The first, unless another is clearly cheaper.
    pub(crate) fn winner(&self) -> usize {
        let costs = self.costs.iter().enumerate().filter_map(|(which, cost)| cost.map(|[_, slowest]| (slowest, which)));
        match (costs.min(), self.costs[0]) {
            (Some((cost, cheapest)), Some([_, proposed])) if is_cheaper(cost, proposed, self.percent) => cheapest,
            _ => 0,
        }
    }

    /// What became of each.
    pub(crate) fn candidates(&self, name: impl Fn(usize) -> String) -> Vec<Candidate> {
        let winner = self.winner();
        let slowest = |which: usize| self.costs[which].map(|[_, slowest]| slowest);
        let verdict = |which: usize| match which == winner {
            true if which == 0 => Verdict::Proposed,
            true => Verdict::Cheaper,
            false if self.costs[which].is_none() => Verdict::NoTime,
            false if slowest(which) < slowest(winner) => Verdict::NotClearlyCheaper,
            false => Verdict::Dearer,
        };
        let candidate = |(which, costs): (usize, &Option<[Duration; 2]>)| Candidate {
            name: name(which),
            here: costs.map(|[here, _]| here),
            there: costs.map(|[_, slowest]| slowest),
            verdict: verdict(which),
        };
        self.costs.iter().enumerate().map(candidate).collect()
    }
}

/// Writes the cells of the borders again, so that they are where a program that has computed them has them.
fn use_borders<T: Pod, const D: usize>(link: &Link<'_, D>, fields: &[Field<'_, T, D>]) {
    for (field, first, shape) in link.borders() {
        let cells = fields[field].slice();
        for cell in shape.offsets().flat_map(|offset| offset..offset + shape.block) {
            let index = first + cell as usize;
            cells.store(index, cells.load(index));
        }
    }
}

fn read_halos<T: Pod, const D: usize>(link: &Link<'_, D>, fields: &[Field<'_, T, D>]) {
    for (field, first, shape) in link.halos() {
        let cells = fields[field].slice();
        for cell in shape.offsets().flat_map(|offset| offset..offset + shape.block) {
            black_box(cells.load(first + cell as usize));
        }
    }
}
