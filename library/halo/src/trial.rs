//! Trials: what each way costs here and now.
//!
//! A trial is the exchange itself: borders that this rank has just used, brought to the neighbour, and every halo cell read, because a
//! way that leaves the reading to its receiver looks cheap otherwise. Nothing is random; in a simulation costs are those of virtual time,
//! and equal ones leave the proposal in place.

use std::hint::black_box;

use pelago_base::Duration;
use pelago_rma::{Pod, Rail, Result, World};

use crate::candidate::{Means, is_possible, proposal};
use crate::exchange::Exchange;
use crate::explanation::{Candidate, Choice, Verdict};
use crate::field::Field;
use crate::link::Link;
use crate::nodes::Nodes;
use crate::settings::{Method, Settings};
use crate::step::{Step, count, leading, number, of_number, opposite};

/// Rounds of a trial at most. In each of them every way has its turn, and another is the first: what changes meanwhile, changes for all.
const ROUNDS_MAX: usize = 5;

/// Exchanges of a turn. The first finds cells where the way before has left them, and does not count.
const TURN: usize = 4;

/// A figure stands when a round moves it by no more than a part of it, one in so many.
const SAME: u64 = 200;

/// What is proposed stays unless another costs less than so many hundredths of it: figures of one day differ from those of the next.
const CLEARLY_CHEAPER_PERCENT: u64 = 95;

/// Sets of rails that are tried at most; where there would be more, those that have one rail for all.
const SETS_MAX: usize = 32;

/// What stands for the cost of a way that was not tried.
const NEVER: u64 = u64::MAX;

/// Whether `cost` beats what is proposed.
pub(crate) fn is_clearly_cheaper(cost: Duration, proposed: Duration) -> bool {
    u128::from(cost.as_picoseconds()) * 100 < u128::from(proposed.as_picoseconds()) * u128::from(CLEARLY_CHEAPER_PERCENT)
}

/// Decides for every link how it goes, as its neighbour does; and says what came of the sets of rails that were tried. Collective.
pub(crate) fn choose<'w, T: Pod, const D: usize>(
    exchange: &mut Exchange<'w, T, D>,
    fields: &mut [Field<'w, T, D>],
    settings: &Settings,
) -> Result<(Vec<Choice>, Vec<Candidate>)> {
    let ground = Ground::new(exchange.boxes.world, settings, size_of::<T>());
    let mut is_open = [u64::from(exchange.links.iter().any(|link| ground.is_open(link)))];
    exchange.boxes.world.allreduce(&mut is_open, u64::max)?;
    let figures = match is_open {
        [0] => vec![vec![[None; 2]; ground.ways.len()]; exchange.links.len()],
        _ => measure_links(exchange, fields, &ground)?,
    };
    let own: Vec<Means> = exchange.links.iter().zip(&figures).map(|(link, figures)| ground.best(link, figures, None)).collect();
    exchange.links.iter_mut().zip(&own).for_each(|(link, &means)| link.take(means));
    let sets = choose_set(exchange, fields, &ground, &figures)?;
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
/// part. Ends when nobody's figures move any more. Collective.
fn take_turns(
    world: &World,
    ways: usize,
    mut exchange: impl FnMut(usize) -> Result<Option<Duration>>,
) -> Result<Vec<Option<Duration>>> {
    let mut samples = vec![Vec::with_capacity(ROUNDS_MAX * TURN); ways];
    let mut figures: Vec<Option<Duration>> = vec![None; ways];
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
        let mut move_still = [u64::from(before.iter().zip(&figures).any(|(&before, &now)| has_moved(before, now)))];
        world.allreduce(&mut move_still, u64::max)?;
        if move_still == [0] {
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
    /// The names of the rails.
    names: Vec<&'static str>,
    /// Every method by every rail, rail by rail.
    ways: Vec<Means>,
}

impl<'w> Ground<'w> {
    fn new(world: &'w World, settings: &'w Settings, cell_bytes: usize) -> Self {
        let names: Vec<_> = world.rails().iter().map(|rail| rail.name).collect();
        let rails = (0..names.len()).filter_map(Rail::new);
        let ways = rails.flat_map(|rail| Method::ALL.map(|method| Means { method, rail })).collect();
        Self { world, settings, cell_bytes, names, ways }
    }

    /// Whether a link may go by a rail: by the one that was asked for, if that leads there, else by any that does.
    fn allows<const D: usize>(&self, link: &Link<'_, D>, rail: Rail) -> bool {
        let leads = |rail: &Rail| self.world.reaches(*rail, link.neighbour);
        match self.settings.rails[leading(link.way.step)].filter(leads) {
            Some(asked) => rail == asked,
            None => leads(&rail),
        }
    }

    /// Whether a way is to be considered.
    fn considers<const D: usize>(&self, link: &Link<'_, D>, means: Means) -> bool {
        self.allows(link, means.rail)
            && match self.settings.method {
                Some(method) => method == means.method,
                None => is_possible(link, means),
            }
    }

    /// Whether there is a choice.
    fn is_open<const D: usize>(&self, link: &Link<'_, D>) -> bool {
        self.settings.method.is_none() || self.ways.iter().filter(|&&means| self.considers(link, means)).count() > 1
    }

    /// What is taken, by one rail or by any, unless another way is clearly cheaper.
    fn proposal<const D: usize>(&self, link: &Link<'_, D>, rail: Option<Rail>) -> Means {
        let allowed = || self.ways.iter().map(|means| means.rail).filter(|&rail| self.allows(link, rail));
        let rail = rail.or_else(|| allowed().find(|&rail| rail == link.best)).or_else(|| allowed().next()).unwrap_or(link.best);
        Means { method: self.settings.method.unwrap_or_else(|| proposal(link, rail, self.cell_bytes)), rail }
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
            (Some((cost, means)), Some(proposed)) if is_clearly_cheaper(cost, proposed) => means,
            (Some((_, means)), None) => means,
            _ => proposed,
        }
    }

    /// Has every link go by the rail that a set has for it, where it may, by the best method there; else as is best for it alone.
    fn apply<T: Pod, const D: usize>(
        &self,
        exchange: &mut Exchange<'_, T, D>,
        figures: &[Vec<Cost>],
        set: Option<&[Option<Rail>; D]>,
    ) {
        for (link, figures) in exchange.links.iter_mut().zip(figures) {
            let rail = set.and_then(|set| set[leading(link.way.step)]).filter(|&rail| self.allows(link, rail));
            link.take(self.best(link, figures, rail));
        }
    }

    /// What became of every way of a link.
    fn explain<const D: usize>(&self, link: &Link<'_, D>, figures: &[Cost]) -> Choice {
        let (taken, own) = (Means { method: link.method, rail: link.rail() }, self.best(link, figures, None));
        let is_tried = figures.iter().flatten().any(Option::is_some);
        let verdict = |means: Means| match self.cost(figures, means) {
            _ if means == taken && !is_tried => Verdict::Forced,
            _ if means == taken && means != own => Verdict::Together,
            _ if means == taken && means == self.proposal(link, None) => Verdict::Proposed,
            _ if means == taken => Verdict::Cheaper,
            _ if !self.world.reaches(means.rail, link.neighbour) => Verdict::NoRail,
            _ if !self.allows(link, means.rail) => Verdict::Excluded,
            _ if self.settings.method.is_some_and(|method| method != means.method) => Verdict::Excluded,
            None => Verdict::NotTried,
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

    /// The sets of rails that are tried, one for the faces of each dimension in which there are neighbours and nothing was asked for.
    fn sets<const D: usize>(&self, nodes: &Nodes<D>) -> Vec<[Option<Rail>; D]> {
        let rails = || (0..self.names.len()).filter_map(Rail::new);
        let is_free = |d: usize| nodes.is_joined(d) && self.settings.rails[d].is_none();
        let free = (0..D).filter(|&d| is_free(d)).count() as u32;
        if self.names.len() == 1 || free == 0 {
            return Vec::new();
        }
        if self.names.len().checked_pow(free).is_none_or(|sets| sets > SETS_MAX) {
            return rails().map(|rail| std::array::from_fn(|d| is_free(d).then_some(rail))).collect();
        }
        (0..D).filter(|&d| is_free(d)).fold(vec![[None; D]], |sets, d| {
            let with = |set: [Option<Rail>; D]| {
                rails().map(move |rail| {
                    let mut set = set;
                    set[d] = Some(rail);
                    set
                })
            };
            sets.into_iter().flat_map(with).collect()
        })
    }
}

/// Measures each way on the links of each pair of steps, all other links at rest, and tells the neighbours.
fn measure_links<'w, T: Pod, const D: usize>(
    exchange: &mut Exchange<'w, T, D>,
    fields: &mut [Field<'w, T, D>],
    ground: &Ground<'_>,
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
        let costs = take_turns(world, tried.len(), |turn| {
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

/// Tries whole exchanges with the rails of one set after the other, each link by its best method there, beside each link as is best for it alone:
/// links that are at work together share rails. Takes the best. Collective.
fn choose_set<'w, T: Pod, const D: usize>(
    exchange: &mut Exchange<'w, T, D>,
    fields: &mut [Field<'w, T, D>],
    ground: &Ground<'_>,
    figures: &[Vec<Cost>],
) -> Result<Vec<Candidate>> {
    let sets = ground.sets(exchange.nodes());
    if sets.is_empty() {
        return Ok(Vec::new());
    }
    let race = Race::run(exchange.boxes.world, 1 + sets.len(), |which| {
        ground.apply(exchange, figures, which.checked_sub(1).map(|which| &sets[which]));
        once(exchange, fields, |_| true)
    })?;
    ground.apply(exchange, figures, race.winner().checked_sub(1).map(|which| &sets[which]));
    Ok(race.candidates(|which| match which.checked_sub(1) {
        None => "each its own".into(),
        Some(which) => sets[which].map(|rail| rail.map_or("-", |rail| ground.names[rail.number()])).join(", "),
    }))
}

/// Ways of which each was tried for whole exchanges, the proposed one first: the cost here and on the slowest rank.
pub(crate) struct Race(Vec<[Duration; 2]>);

impl Race {
    /// Tries each of some ways by turns; `exchange` does a whole exchange by one of them. Collective.
    pub(crate) fn run(world: &World, ways: usize, mut exchange: impl FnMut(usize) -> Result<Duration>) -> Result<Self> {
        let here = take_turns(world, ways, |which| exchange(which).map(Some))?;
        let here: Vec<Duration> = here.into_iter().map(Option::unwrap_or_default).collect();
        let mut slowest: Vec<u64> = here.iter().map(|here| here.as_picoseconds()).collect();
        world.allreduce(&mut slowest, u64::max)?;
        Ok(Self(here.into_iter().zip(slowest).map(|(here, slowest)| [here, Duration::from_picoseconds(slowest)]).collect()))
    }

    /// The first, unless another is clearly cheaper.
    pub(crate) fn winner(&self) -> usize {
        let cheapest = (0..self.0.len()).min_by_key(|&which| self.0[which][1]).unwrap_or(0);
        if cheapest > 0 && is_clearly_cheaper(self.0[cheapest][1], self.0[0][1]) { cheapest } else { 0 }
    }

    /// What became of each.
    pub(crate) fn candidates(&self, name: impl Fn(usize) -> String) -> Vec<Candidate> {
        let winner = self.winner();
        let verdict = |which: usize| match which == winner {
            true if which == 0 => Verdict::Proposed,
            true => Verdict::Cheaper,
            false if self.0[which][1] < self.0[winner][1] => Verdict::NotClearlyCheaper,
            false => Verdict::Dearer,
        };
        let candidate = |(which, &[here, slowest]): (usize, &[Duration; 2])| Candidate {
            name: name(which),
            here: Some(here),
            there: Some(slowest),
            verdict: verdict(which),
        };
        self.0.iter().enumerate().map(candidate).collect()
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
