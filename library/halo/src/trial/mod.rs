//! Trials: measurements of the cost of each method in the job at hand.
//!
//! A trial is a whole exchange: borders that this rank has just used go to the neighbour, and every halo cell is read, because otherwise a method
//! that leaves the reading to its receiver would measure as cheap. Nothing is random; in a simulation costs are in virtual time, and equal ones leave
//! the proposal in place.

mod candidate;

use std::hint::black_box;

use pelago_base::{Duration, Instant};
use pelago_rma::{Error, Pod, Rail, Result, World};

use self::candidate::{STRIPED_BYTES_MIN, is_possible, proposal};
use crate::exchange::Exchange;
use crate::exchange::link::{Link, LinkMethod};
use crate::explanation::{Candidate, LinkExplanation, Verdict};
use crate::field::Field;
use crate::grid::direction::{Direction, count, leading, number, of_number, opposite};
use crate::settings::{Method, Settings};

/// Maximum number of rounds of a trial. Each round measures every candidate, in a different order, so that changing conditions affect all
/// candidates alike.
const ROUNDS_MAX: usize = 5;

/// Exchanges of a turn. The first does not count: the caches are as the previous candidate has left them.
const TURN: usize = 4;

/// A figure is final when a round changes it by at most one part in this many.
const SAME: u64 = 200;

/// Percentage of the proposal's cost below which another candidate replaces it: measurements differ from day to day.
pub(crate) const CHEAPER_PERCENT: u64 = 95;

/// The same for sets, whose figures are those of whole exchanges.
pub(crate) const CHEAPER_TOGETHER_PERCENT: u64 = 99;

/// Maximum number of candidate sets of a trial, each with a method and a rail per dimension. If more sets exist, the trial covers one
/// method with a rail per dimension, or one rail for all dimensions.
const SETS_MAX: usize = 16;

/// The name of all rails at once.
const ALL_RAILS: &str = "all";

/// Cost of a method that was not tried.
const NOT_TRIED: u64 = u64::MAX;

/// Whether `cost` is less than `percent` hundredths of the proposal's.
fn is_cheaper(cost: Duration, proposed: Duration, percent: u64) -> bool {
    u128::from(cost.as_picoseconds()) * 100 < u128::from(proposed.as_picoseconds()) * u128::from(percent)
}

/// The time that is left for trials, agreed by all ranks after each round: it is over for all as soon as one of them has none.
pub(crate) struct TrialBudget<'w> {
    world: &'w World,
    until: Instant,
    is_over: bool,
}

/// The outcome of a round. The maximum over all ranks holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RoundOutcome {
    Settled,
    Moving,
    OutOfTime,
    Failed,
}

impl<'w> TrialBudget<'w> {
    pub(crate) fn new(world: &'w World, limit: Duration) -> Self {
        Self { world, until: world.now() + limit, is_over: limit == Duration::ZERO }
    }

    /// Ends a round; returns whether another one follows. Fails on all ranks if an exchange has failed on one. Collective.
    fn goes_on(&mut self, moves: bool, failed: Option<Error>) -> Result<bool> {
        let here = match moves {
            _ if failed.is_some() => RoundOutcome::Failed,
            _ if self.world.now() >= self.until => RoundOutcome::OutOfTime,
            true => RoundOutcome::Moving,
            false => RoundOutcome::Settled,
        };
        let mut all = [here as u64];
        let agreed = self.world.allreduce(&mut all, u64::max);
        failed.map_or(agreed, Err)?;
        if all == [RoundOutcome::Failed as u64] {
            return Err(Error::Invalid("an exchange that was tried has failed on another rank"));
        }
        self.is_over = all == [RoundOutcome::OutOfTime as u64];
        Ok(all == [RoundOutcome::Moving as u64])
    }
}

/// Chooses the method and rail of every link, as its neighbour does; returns the choices and the sets of rails that were tried. Collective.
pub(crate) fn choose<'w, T: Pod, const D: usize>(
    exchange: &mut Exchange<'w, T, D>,
    fields: &mut [Field<'w, T, D>],
    settings: &Settings,
    budget: &mut TrialBudget<'w>,
) -> Result<(Vec<LinkExplanation>, Vec<Candidate>)> {
    let context = TrialContext::new(exchange.memory.world, settings, size_of::<T>());
    let mut is_open = [u64::from(exchange.links.iter().any(|link| context.is_open(link)))];
    exchange.memory.world.allreduce(&mut is_open, u64::max)?;
    let figures = match is_open {
        [0] => vec![vec![[None; 2]; context.methods.len()]; exchange.links.len()],
        _ => measure_links(exchange, fields, &context, budget)?,
    };
    let own: Vec<LinkMethod> =
        exchange.links.iter().zip(&figures).map(|(link, figures)| context.best(link, figures, None)).collect();
    exchange.links.iter_mut().zip(&own).for_each(|(link, &link_method)| link.set_method(link_method));
    let sets = choose_set(exchange, fields, &context, &figures, budget)?;
    let explained = exchange.links.iter().zip(&figures).map(|(link, figures)| context.explain(link, figures));
    Ok((explained.collect(), sets))
}

/// Executes one exchange over the links that `takes_part` selects, and reads the halos; returns its duration.
pub(crate) fn once<'w, T: Pod, const D: usize>(
    exchange: &mut Exchange<'w, T, D>,
    fields: &mut [Field<'w, T, D>],
    takes_part: impl Fn(&Link<'w, D>) -> bool,
) -> Result<Duration> {
    let world = exchange.memory.world;
    for link in exchange.links.iter().filter(|link| takes_part(link)) {
        use_borders(link, fields);
    }
    // Without the barrier the delay of a late rank would count as cost of the others.
    world.meet()?;
    let start = world.now();
    exchange.exchange(fields, &takes_part)?;
    for link in exchange.links.iter().filter(|link| takes_part(link)) {
        read_halos(link, fields);
    }
    Ok(world.now() - start)
}

/// Returns the median cost of each candidate on this rank; `exchange` meets all ranks, executes one exchange by one of the candidates, and returns `None`
/// if this rank takes no part in it. If one fails, this rank only meets the others until the end of the round, as not all of them notice. Ends when the figures of no rank change any more, or with the first round after which the time is over; if it is over before, there
/// are no figures. Collective.
fn take_turns(
    budget: &mut TrialBudget<'_>,
    candidates: usize,
    mut exchange: impl FnMut(usize) -> Result<Option<Duration>>,
) -> Result<Vec<Option<Duration>>> {
    let mut figures: Vec<Option<Duration>> = vec![None; candidates];
    if budget.is_over {
        return Ok(figures);
    }
    let (mut samples, mut failed) = (vec![Vec::with_capacity(ROUNDS_MAX * TURN); candidates], None);
    for round in 0..ROUNDS_MAX {
        for which in (0..candidates).map(|turn| (round + turn) % candidates) {
            for number in 0..TURN {
                if failed.is_some() {
                    budget.world.meet()?;
                    continue;
                }
                match exchange(which) {
                    Ok(taken) => samples[which].extend(taken.filter(|_| number > 0)),
                    Err(error) => failed = Some(error),
                }
            }
        }
        let before = figures.clone();
        for (figure, samples) in figures.iter_mut().zip(&mut samples) {
            samples.sort_unstable();
            *figure = samples.get(samples.len() / 2).copied();
        }
        if !budget.goes_on(before.iter().zip(&figures).any(|(&before, &now)| has_moved(before, now)), failed.take())? {
            break;
        }
    }
    Ok(figures)
}

/// Whether a figure has changed.
fn has_moved(before: Option<Duration>, now: Option<Duration>) -> bool {
    let [before, now] = [before, now].map(|figure| figure.map_or(0, Duration::as_picoseconds));
    before.abs_diff(now) > now / SAME
}

/// The cost of a method here and at the neighbour.
type Cost = [Option<Duration>; 2];

/// The methods and rails to choose from.
struct TrialContext<'w> {
    world: &'w World,
    settings: &'w Settings,
    cell_bytes: usize,
    /// The names of the rails; the last name is for all rails at once, if there are several.
    names: Vec<&'static str>,
    all: Option<Rail>,
    /// Every method with every rail, rail by rail.
    methods: Vec<LinkMethod>,
}

impl<'w> TrialContext<'w> {
    fn new(world: &'w World, settings: &'w Settings, cell_bytes: usize) -> Self {
        let (mut names, all): (Vec<_>, _) = (world.rails().iter().map(|rail| rail.name).collect(), world.rails().all());
        names.extend(all.map(|_| ALL_RAILS));
        let rails = (0..names.len()).filter_map(Rail::new);
        let methods = rails.flat_map(|rail| Method::ALL.map(|method| LinkMethod { method, rail })).collect();
        Self { world, settings, cell_bytes, names, all, methods }
    }

    /// Whether a link may use a rail: the requested one, if that reaches the neighbour, else any that does.
    fn allows<const D: usize>(&self, link: &Link<'_, D>, rail: Rail) -> bool {
        let reaches = |rail: &Rail| self.world.rails().reach(*rail, link.neighbour);
        match self.settings.rails[leading(link.position.direction)].filter(reaches) {
            Some(asked) => rail == asked,
            None => reaches(&rail),
        }
    }

    /// Whether a method is a candidate.
    fn considers<const D: usize>(&self, link: &Link<'_, D>, link_method: LinkMethod) -> bool {
        self.allows(link, link_method.rail)
            && match self.asked(link) {
                Some(method) => method == link_method.method,
                None => is_possible(link, link_method),
            }
            && (Some(link_method.rail) != self.all || self.goes_in_parts(link))
    }

    /// Whether a link is to use all rails at once, or may gain from it.
    fn goes_in_parts<const D: usize>(&self, link: &Link<'_, D>) -> bool {
        let bytes = link.cells().into_iter().max().unwrap_or(0) * self.cell_bytes;
        self.settings.rails[leading(link.position.direction)] == self.all || bytes as u64 >= STRIPED_BYTES_MIN
    }

    /// The requested method.
    fn asked<const D: usize>(&self, link: &Link<'_, D>) -> Option<Method> {
        self.settings.methods[leading(link.position.direction)]
    }

    /// Whether there is a choice.
    fn is_open<const D: usize>(&self, link: &Link<'_, D>) -> bool {
        self.asked(link).is_none() || self.methods.iter().filter(|&&link_method| self.considers(link, link_method)).count() > 1
    }

    /// The proposal, for one rail or for any: it is chosen unless another is clearly cheaper. Both ends propose the same: mapped memory, or the first
    /// rail, because the best rails of the two ends to each other may differ.
    fn proposal<const D: usize>(&self, link: &Link<'_, D>, rail: Option<Rail>) -> LinkMethod {
        let allowed = || self.methods.iter().map(|link_method| link_method.rail).filter(|&rail| self.allows(link, rail));
        let is_mapped = |rail: &Rail| link.is_mapped && *rail == link.best;
        let rail = rail.or_else(|| allowed().find(is_mapped)).or_else(|| allowed().next()).unwrap_or(link.best);
        LinkMethod { method: self.asked(link).unwrap_or_else(|| proposal(link, rail, self.cell_bytes)), rail }
    }

    /// The cost of a method that both ends have measured: the larger of the two.
    fn cost(&self, figures: &[Cost], link_method: LinkMethod) -> Option<Duration> {
        let which = self.methods.iter().position(|&known| known == link_method)?;
        let [here, there] = figures[which];
        here.zip(there).map(|(here, there)| here.max(there))
    }

    /// The proposal, or a clearly cheaper method, with one rail or with any. Both ends know the same figures.
    fn best<const D: usize>(&self, link: &Link<'_, D>, figures: &[Cost], rail: Option<Rail>) -> LinkMethod {
        let proposed = self.proposal(link, rail);
        let others = self
            .methods
            .iter()
            .filter(|&&link_method| link_method != proposed && rail.is_none_or(|rail| rail == link_method.rail));
        let costs = others.filter_map(|&link_method| self.cost(figures, link_method).map(|cost| (cost, link_method)));
        match (costs.min_by_key(|(cost, _)| *cost), self.cost(figures, proposed)) {
            (Some((cost, link_method)), Some(proposed)) if is_cheaper(cost, proposed, CHEAPER_PERCENT) => link_method,
            (Some((_, link_method)), None) => link_method,
            _ => proposed,
        }
    }

    /// Sets the method of every link: the method of the set, if it is allowed; else the best one with the set's rail; else the best one for the link
    /// alone.
    fn apply<T: Pod, const D: usize>(
        &self,
        exchange: &mut Exchange<'_, T, D>,
        figures: &[Vec<Cost>],
        set: Option<&MethodSet<D>>,
    ) {
        for (link, figures) in exchange.links.iter_mut().zip(figures) {
            let choice = set.and_then(|set| set[leading(link.position.direction)]);
            let wanted = choice.and_then(|choice| choice.method.map(|method| LinkMethod { method, rail: choice.rail }));
            let rail = choice.map(|choice| choice.rail).filter(|&rail| self.allows(link, rail));
            let wanted = wanted.filter(|&link_method| self.considers(link, link_method));
            link.set_method(wanted.unwrap_or_else(|| self.best(link, figures, rail)));
        }
    }

    /// Why each method of a link was chosen or rejected.
    fn explain<const D: usize>(&self, link: &Link<'_, D>, figures: &[Cost]) -> LinkExplanation {
        let (taken, own) = (LinkMethod { method: link.method, rail: link.rail() }, self.best(link, figures, None));
        let is_open = self.is_open(link);
        let verdict = |link_method: LinkMethod| match self.cost(figures, link_method) {
            _ if link_method == taken && !is_open => Verdict::Forced,
            _ if link_method == taken && link_method != own => Verdict::Together,
            _ if link_method == taken && link_method == self.proposal(link, None) => Verdict::Proposed,
            _ if link_method == taken => Verdict::Cheaper,
            _ if !self.world.rails().reach(link_method.rail, link.neighbour) => Verdict::NoRail,
            _ if !self.allows(link, link_method.rail) => Verdict::Excluded,
            _ if self.asked(link).is_some_and(|method| method != link_method.method) => Verdict::Excluded,
            None if !self.considers(link, link_method) => Verdict::NotTried,
            None => Verdict::NoTime,
            cost if cost < self.cost(figures, taken) && taken == own => Verdict::NotClearlyCheaper,
            cost if cost < self.cost(figures, taken) => Verdict::CheaperAlone,
            _ => Verdict::MoreExpensive,
        };
        let candidate = |(&link_method, &[here, there]): (&LinkMethod, &Cost)| {
            let name = match self.names[..] {
                [_] => link_method.method.to_string(),
                _ => format!("{} by {}", link_method.method, self.names[link_method.rail.number()]),
            };
            Candidate { name, here, there, verdict: verdict(link_method) }
        };
        LinkExplanation {
            neighbour: link.neighbour,
            direction: link.position.direction.to_vec(),
            fields: link.pieces.len(),
            bytes: (link.cells()[0] * self.cell_bytes) as u64,
            blocks: link.blocks()[0],
            is_mapped: link.is_mapped,
            candidates: self.methods.iter().zip(figures).map(candidate).collect(),
        }
    }

    /// The sets to try: a method with a rail for each dimension in which there are neighbours, from those that some link considers there. If there
    /// are too many, a rail for each dimension, or one rail for all. In addition, for each method, the set that uses all rails at once where
    /// possible.
    fn sets<T: Pod, const D: usize>(&self, exchange: &Exchange<'_, T, D>) -> Result<Vec<MethodSet<D>>> {
        let mut open = [0_u64; D];
        for link in &exchange.links {
            let considered = self.methods.iter().map(|&link_method| u64::from(self.considers(link, link_method)));
            open[leading(link.position.direction)] |= considered.rev().fold(0, |set, bit| set << 1 | bit);
        }
        self.world.allreduce(&mut open, |one, other| one | other)?;
        if self.names.len() == 1 || open.iter().all(|open| open.count_ones() <= 1) {
            return Ok(Vec::new());
        }
        let choices_of: [Vec<DimensionMethod>; D] = open.map(|open| {
            let methods = self.methods.iter().enumerate().filter(|(which, _)| open >> which & 1 == 1);
            methods.map(|(_, &LinkMethod { method, rail })| DimensionMethod { rail, method: Some(method) }).collect()
        });
        let by_all = |method| {
            let choice = DimensionMethod { rail: self.all?, method: Some(method) };
            let set = choices_of.each_ref().map(|choices_of| choices_of.contains(&choice).then_some(choice));
            (set != [None; D]).then_some(set)
        };
        let by_all: Vec<MethodSet<D>> = Method::ALL.into_iter().filter_map(by_all).collect();
        let methods = choices_of
            .map(|choices_of| choices_of.into_iter().filter(|choice| Some(choice.rail) != self.all).collect::<Vec<_>>());
        let rails = methods.clone().map(|mut methods| {
            methods.iter_mut().for_each(|choice| choice.method = None);
            methods.dedup();
            methods
        });
        let count = |choices: &[Vec<DimensionMethod>; D]| choices.iter().map(|choices| choices.len().max(1)).product::<usize>();
        if let Some(choices) = [methods, rails.clone()].into_iter().find(|choices| count(choices) <= SETS_MAX) {
            let sets = choices.iter().enumerate().fold(vec![[None; D]], |sets, (d, choices)| {
                let with = |set: MethodSet<D>| {
                    let open =
                        choices.iter().map(move |&choice| std::array::from_fn(|at| if at == d { Some(choice) } else { set[at] }));
                    open.chain(choices.is_empty().then_some(set))
                };
                sets.into_iter().flat_map(with).collect::<Vec<_>>()
            });
            return Ok([sets, by_all].concat());
        }
        let each = (0..self.names.len()).filter_map(Rail::new).filter(|&rail| Some(rail) != self.all);
        let sets = each.map(|rail| rails.each_ref().map(|choices| choices.iter().copied().find(|choice| choice.rail == rail)));
        Ok(sets.chain(by_all).collect())
    }

    /// The name of a set.
    fn name<const D: usize>(&self, set: &MethodSet<D>) -> String {
        let of = |choice: DimensionMethod| match choice.method {
            Some(method) => format!("{method} by {}", self.names[choice.rail.number()]),
            None => self.names[choice.rail.number()].into(),
        };
        set.map(|choice| choice.map_or("-".into(), of)).join(", ")
    }
}

/// The choice to try for the faces of a dimension: a method with a rail, or the best method with a rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DimensionMethod {
    rail: Rail,
    method: Option<Method>,
}

/// A choice for each dimension in which there are neighbours.
type MethodSet<const D: usize> = [Option<DimensionMethod>; D];

/// Measures each method on the links of each pair of opposite directions, while all other links rest, and sends the figures to the neighbours.
fn measure_links<'w, T: Pod, const D: usize>(
    exchange: &mut Exchange<'w, T, D>,
    fields: &mut [Field<'w, T, D>],
    context: &TrialContext<'_>,
    budget: &mut TrialBudget<'w>,
) -> Result<Vec<Vec<Cost>>> {
    let (world, methods) = (exchange.memory.world, &context.methods);
    let figures = world.alloc::<u64>(methods.len() * count::<D>())?;
    let directions = || (count::<D>() / 2 + 1..count::<D>()).map(of_number::<D>);
    let is_tried = |link: &Link<'_, D>, direction, link_method| is_of(link, direction) && context.considers(link, link_method);
    // All ranks take part in the turns of all methods that some rank tries.
    let every = directions().flat_map(|direction| methods.iter().map(move |&link_method| (direction, link_method)));
    let mut tried: Vec<u64> = every
        .map(|(direction, link_method)| u64::from(exchange.links.iter().any(|link| is_tried(link, direction, link_method))))
        .collect();
    world.allreduce(&mut tried, u64::max)?;
    let mut here = vec![vec![NOT_TRIED; methods.len()]; exchange.links.len()];
    for (direction, tried) in directions().zip(tried.chunks(methods.len())) {
        let tried: Vec<usize> = (0..methods.len()).filter(|&which| tried[which] > 0).collect();
        let costs = take_turns(budget, tried.len(), |turn| {
            let link_method = methods[tried[turn]];
            let takes_part = |link: &Link<'_, D>| is_tried(link, direction, link_method);
            let any = exchange.links.iter().any(takes_part);
            exchange.links.iter_mut().filter(|link| takes_part(link)).for_each(|link| link.set_method(link_method));
            let taken = once(exchange, fields, takes_part)?;
            Ok(any.then_some(taken))
        })?;
        for (&which, cost) in tried.iter().zip(costs) {
            for (_, here) in exchange.links.iter().zip(&mut here).filter(|(link, _)| is_tried(link, direction, methods[which])) {
                here[which] = cost.map_or(NOT_TRIED, Duration::as_picoseconds);
            }
        }
    }
    for (link, here) in exchange.links.iter().zip(&here) {
        world.put(figures.at(link.neighbour, number(opposite(link.position.direction)) * methods.len()), here)?;
    }
    world.meet()?;
    let of_neighbours = figures.local();
    let known = |cost: u64| (cost != NOT_TRIED).then(|| Duration::from_picoseconds(cost));
    let of_link = |(link, here): (&Link<'_, D>, &Vec<u64>)| {
        let there = |which: usize| of_neighbours.load(number(link.position.direction) * methods.len() + which);
        here.iter().enumerate().map(|(which, &here)| [known(here), known(there(which))]).collect()
    };
    Ok(exchange.links.iter().zip(&here).map(of_link).collect())
}

/// Whether a link has a direction or its opposite.
fn is_of<const D: usize>(link: &Link<'_, D>, direction: Direction<D>) -> bool {
    link.position.direction == direction || link.position.direction == opposite(direction)
}

/// Tries whole exchanges by each set, and by the best method of each link alone: links that are active together share rails. Applies the best.
/// Collective.
fn choose_set<'w, T: Pod, const D: usize>(
    exchange: &mut Exchange<'w, T, D>,
    fields: &mut [Field<'w, T, D>],
    context: &TrialContext<'_>,
    figures: &[Vec<Cost>],
    budget: &mut TrialBudget<'w>,
) -> Result<Vec<Candidate>> {
    let sets = context.sets(exchange)?;
    if sets.is_empty() {
        return Ok(Vec::new());
    }
    let comparison = MethodComparison::run(budget, 1 + sets.len(), CHEAPER_TOGETHER_PERCENT, |which| {
        context.apply(exchange, figures, which.checked_sub(1).map(|which| &sets[which]));
        once(exchange, fields, |_| true)
    })?;
    context.apply(exchange, figures, comparison.winner().checked_sub(1).map(|which| &sets[which]));
    Ok(comparison.candidates(|which| match which.checked_sub(1) {
        None => "each its own".into(),
        Some(which) => context.name(&sets[which]),
    }))
}

/// Candidates for whole exchanges, the proposal first, with the cost of each that was tried: on this rank and on the slowest rank.
pub(crate) struct MethodComparison {
    costs: Vec<Option<[Duration; 2]>>,
    percent: u64,
}

impl MethodComparison {
    /// Tries all candidates in turns; `exchange` executes a whole exchange by one of them. The first is chosen unless another costs less than
    /// `percent` hundredths of it. Collective.
    pub(crate) fn run(
        budget: &mut TrialBudget<'_>,
        candidates: usize,
        percent: u64,
        mut exchange: impl FnMut(usize) -> Result<Duration>,
    ) -> Result<Self> {
        let here = take_turns(budget, candidates, |which| exchange(which).map(Some))?;
        let mut slowest: Vec<u64> = here.iter().map(|here| here.map_or(0, Duration::as_picoseconds)).collect();
        budget.world.allreduce(&mut slowest, u64::max)?;
        let both = |(here, slowest): (Option<Duration>, u64)| here.map(|here| [here, Duration::from_picoseconds(slowest)]);
        Ok(Self { costs: here.into_iter().zip(slowest).map(both).collect(), percent })
    }

    /// The first candidate, unless another is clearly cheaper.
    pub(crate) fn winner(&self) -> usize {
        let costs = self.costs.iter().enumerate().filter_map(|(which, cost)| cost.map(|[_, slowest]| (slowest, which)));
        match (costs.min(), self.costs[0]) {
            (Some((cost, cheapest)), Some([_, proposed])) if is_cheaper(cost, proposed, self.percent) => cheapest,
            _ => 0,
        }
    }

    /// The candidates with their verdicts.
    pub(crate) fn candidates(&self, name: impl Fn(usize) -> String) -> Vec<Candidate> {
        let winner = self.winner();
        let slowest = |which: usize| self.costs[which].map(|[_, slowest]| slowest);
        let verdict = |which: usize| match which == winner {
            true if which == 0 => Verdict::Proposed,
            true => Verdict::Cheaper,
            false if self.costs[which].is_none() => Verdict::NoTime,
            false if slowest(which) < slowest(winner) => Verdict::NotClearlyCheaper,
            false => Verdict::MoreExpensive,
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

/// Rewrites the cells of the borders, so that they are in the caches as after a computation.
fn use_borders<T: Pod, const D: usize>(link: &Link<'_, D>, fields: &[Field<'_, T, D>]) {
    for (field, first, shape) in link.borders().filter(|&(field, ..)| fields[field].device().is_none()) {
        let cells = fields[field].slice();
        for cell in shape.offsets().flat_map(|offset| offset..offset + shape.block) {
            let index = first + cell as usize;
            cells.store(index, cells.load(index));
        }
    }
}

fn read_halos<T: Pod, const D: usize>(link: &Link<'_, D>, fields: &[Field<'_, T, D>]) {
    for (field, first, shape) in link.halos().filter(|&(field, ..)| fields[field].device().is_none()) {
        let cells = fields[field].slice();
        for cell in shape.offsets().flat_map(|offset| offset..offset + shape.block) {
            black_box(cells.load(first + cell as usize));
        }
    }
}
