//! Trials: what each way costs here and now.
//!
//! A trial is the exchange itself: borders that this rank has just used, brought to the neighbour, and every halo cell read, because a
//! way that leaves the reading to its receiver looks cheap otherwise. Nothing is random; in a simulation costs are those of virtual time,
//! and equal ones leave the proposal in place.

use std::hint::black_box;

use pelago_base::Duration;
use pelago_rma::{Pod, Result};

use crate::candidate::{is_possible, proposal};
use crate::exchange::Exchange;
use crate::explanation::{Candidate, Choice, Verdict};
use crate::field::Field;
use crate::link::Link;
use crate::settings::Method;
use crate::step::{Step, count, number, of_number, opposite};

/// Exchanges before the first that counts: pages are made, and ways through the network are found.
const WARM_UP: usize = 2;

/// Exchanges of which the lower quartile counts: whatever else a machine does only adds to some of them.
const SAMPLES: usize = 15;

/// What is proposed stays unless another costs less than so many hundredths of it: figures of one day differ from those of the next.
const CLEARLY_CHEAPER_PERCENT: u64 = 95;

/// What stands for the cost of a way that was not tried.
const NEVER: u64 = u64::MAX;

/// Whether `cost` beats what is proposed.
pub(crate) fn is_clearly_cheaper(cost: Duration, proposed: Duration) -> bool {
    u128::from(cost.as_picoseconds()) * 100 < u128::from(proposed.as_picoseconds()) * u128::from(CLEARLY_CHEAPER_PERCENT)
}

/// Decides for every link how it goes, as its neighbour does. Collective.
pub(crate) fn choose<'w, T: Pod, const D: usize>(
    exchange: &mut Exchange<'w, T, D>,
    fields: &mut [Field<'w, T, D>],
    forced: Option<Method>,
) -> Result<Vec<Choice>> {
    if let Some(method) = forced {
        exchange.links.iter_mut().for_each(|link| link.method = method);
        return Ok(exchange.links.iter().map(|link| choice::<T, D>(link, forced_verdicts(method))).collect());
    }
    let figures = measure_links(exchange, fields)?;
    Ok(exchange.links.iter_mut().zip(figures).map(|(link, figures)| decide::<T, D>(link, figures)).collect())
}

/// The lower quartile of exchanges over those links that `takes_part` names, halos read.
pub(crate) fn measure<'w, T: Pod, const D: usize>(
    exchange: &mut Exchange<'w, T, D>,
    fields: &mut [Field<'w, T, D>],
    takes_part: impl Fn(&Link<'w, D>) -> bool,
) -> Result<Duration> {
    let mut taken = [Duration::ZERO; SAMPLES];
    for sample in 0..WARM_UP + SAMPLES {
        let world = exchange.boxes.world;
        for link in exchange.links.iter().filter(|link| takes_part(link)) {
            use_borders(link, fields);
        }
        let start = world.now();
        exchange.exchange(fields, &takes_part)?;
        for link in exchange.links.iter().filter(|link| takes_part(link)) {
            read_halos(link, fields);
        }
        if let Some(sample) = sample.checked_sub(WARM_UP) {
            taken[sample] = world.now() - start;
        }
    }
    taken.sort();
    Ok(taken[SAMPLES / 4])
}

/// What each method costs this rank and the neighbour of each link.
type Figures = [[Option<Duration>; 2]; Method::ALL.len()];

/// Measures each method on the links of each pair of steps, all other links at rest, and tells the neighbours.
fn measure_links<'w, T: Pod, const D: usize>(
    exchange: &mut Exchange<'w, T, D>,
    fields: &mut [Field<'w, T, D>],
) -> Result<Vec<Figures>> {
    let world = exchange.boxes.world;
    let figures = world.alloc::<u64>(Method::ALL.len() * count::<D>())?;
    let mut here = vec![[NEVER; Method::ALL.len()]; exchange.links.len()];
    for step in (count::<D>() / 2 + 1..count::<D>()).map(of_number::<D>) {
        for (which, method) in Method::ALL.into_iter().enumerate() {
            let is_tried = |link: &Link<'_, D>| is_of(link, step) && is_possible(link, method);
            if !exchange.links.iter().any(is_tried) {
                continue;
            }
            exchange.links.iter_mut().filter(|link| is_tried(link)).for_each(|link| link.method = method);
            let cost = measure(exchange, fields, is_tried)?;
            for (link, here) in exchange.links.iter().zip(&mut here).filter(|(link, _)| is_tried(link)) {
                here[which] = cost.as_picoseconds();
                debug_assert!(link.method == method);
            }
        }
    }
    for (link, here) in exchange.links.iter().zip(&here) {
        world.put(figures.at(link.neighbour, number(opposite(link.way.step)) * Method::ALL.len()), here)?;
    }
    world.barrier()?;
    let told = figures.local();
    let of_link = |(link, here): (&Link<'_, D>, &[u64; Method::ALL.len()])| {
        let there = |which: usize| told.load(number(link.way.step) * Method::ALL.len() + which);
        std::array::from_fn(|which| {
            [here[which], there(which)].map(|cost| (cost != NEVER).then(|| Duration::from_picoseconds(cost)))
        })
    };
    Ok(exchange.links.iter().zip(&here).map(of_link).collect())
}

/// Whether a link is at a step or at its opposite.
fn is_of<const D: usize>(link: &Link<'_, D>, step: Step<D>) -> bool {
    link.way.step == step || link.way.step == opposite(step)
}

/// Takes the proposal, or what is clearly cheaper. Both ends know the same figures.
fn decide<T: Pod, const D: usize>(link: &mut Link<'_, D>, figures: Figures) -> Choice {
    let cost = |which: usize| {
        let [here, there] = figures[which];
        here.zip(there).map(|(here, there)| here.max(there))
    };
    let proposed = proposal(link, size_of::<T>());
    let of = |method: Method| Method::ALL.iter().position(|&other| other == method).expect("all are there");
    let challengers = Method::ALL.into_iter().filter(|&method| method != proposed && cost(of(method)).is_some());
    let challenger = challengers.min_by_key(|&method| cost(of(method)));
    let beats = |method: &Method| match (cost(of(*method)), cost(of(proposed))) {
        (Some(cost), Some(proposed)) => is_clearly_cheaper(cost, proposed),
        (challenger, None) => challenger.is_some(),
        (None, _) => false,
    };
    link.method = challenger.filter(beats).unwrap_or(proposed);
    let taken = link.method;
    let verdict = |method: Method| match cost(of(method)) {
        None if method != taken => Verdict::NotTried,
        _ if method == taken && method == proposed => Verdict::Proposed,
        _ if method == taken => Verdict::Cheaper,
        cost_of if taken == proposed && cost_of < cost(of(proposed)) => Verdict::NotClearlyCheaper,
        _ => Verdict::Dearer,
    };
    let candidates = Method::ALL.map(|method| {
        let [here, there] = figures[of(method)];
        Candidate { name: method.to_string(), here, there, verdict: verdict(method) }
    });
    choice::<T, D>(link, candidates)
}

fn forced_verdicts(method: Method) -> [Candidate; Method::ALL.len()] {
    Method::ALL.map(|other| {
        let verdict = if other == method { Verdict::Forced } else { Verdict::Excluded };
        Candidate { name: other.to_string(), here: None, there: None, verdict }
    })
}

fn choice<T: Pod, const D: usize>(link: &Link<'_, D>, candidates: [Candidate; Method::ALL.len()]) -> Choice {
    Choice {
        neighbour: link.neighbour,
        step: link.way.step.to_vec(),
        fields: link.pieces.len(),
        bytes: (link.cells()[0] * size_of::<T>()) as u64,
        blocks: link.blocks()[0],
        is_mapped: link.is_mapped,
        candidates: candidates.to_vec(),
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
