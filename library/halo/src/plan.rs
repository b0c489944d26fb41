//! A halo exchange that is planned once and executed often.

use std::hash::{DefaultHasher, Hash, Hasher};

use pelago_base::Rank;
use pelago_rma::{Capabilities, DeviceAccess, Error, Pod, Result, World};

use crate::exchange::Exchange;
use crate::explanation::{Candidate, Explanation, Verdict};
use crate::field::Field;
use crate::grid::array::Array;
use crate::grid::direction::{Side, across, number};
use crate::settings::{Halo, Route, Settings};
use crate::trial::{self, MethodComparison, TrialBudget};

/// A persistent exchange of the halos of some fields (`reflect` in XcalableMP): built once, then started and waited for any number of times.
///
/// Memory of each rank: four times the cells of its halo, of which parts that no method uses are never touched; 64 bytes for each direction.
/// Exchanges allocate nothing where all neighbours are mapped, or packed.
///
/// Messages of an exchange to each neighbour: one with the borders of all fields if they are packed; else one block or more of each field, and a word
/// of credit from the receiver, before the blocks or, if the receiver fetches them, after them. A flag uses the rail of its data. There is no
/// barrier.
pub struct Plan<'w, T: Pod, const D: usize> {
    pub(crate) exchange: Exchange<'w, T, D>,
    /// The numbers of its fields.
    fields: Vec<u64>,
    is_under_way: bool,
    /// Whether an exchange has failed: the progress of the two ends of a link may differ.
    has_failed: bool,
    explanation: Explanation,
}

impl<'w, T: Pod, const D: usize> Plan<'w, T, D> {
    /// Makes the plan for `fields`, which are exchanged together. Collective; fields and settings are the same on every rank, in the same order.
    ///
    /// Where `settings` leave a choice, trials exchange the halos of the fields as they are. Cost: 8 to 20 exchanges for each method and direction,
    /// and for each set of rails if there are several, in turns; few if each takes as long as the last, as in a simulation. Trials end with the round
    /// of turns in which [`Settings::trial_limit`] passes.
    ///
    /// # Errors
    /// There are no fields, they lie on different nodes, or one of them is under way; ranks name different ones; an exchange that was tried failed on a
    /// rank (on all ranks: the others get `Invalid`); as [`World::alloc`].
    pub fn build(world: &'w World, fields: &mut [Field<'w, T, D>], settings: &Settings) -> Result<Self> {
        check(fields)?;
        agree(world, fields, settings)?;
        let arrays: Vec<Array<D>> = fields.iter().map(|field| *field.array()).collect();
        let is_on_device = fields.iter().any(|field| field.device().is_some());
        let routes = routes::<D>(settings);
        let mut plans = Vec::new();
        let mut budget = TrialBudget::new(world, settings.trial_limit);
        for route in routes {
            let mut exchange = Exchange::new(world, &arrays, settings.halo, *route, is_on_device)?;
            let (links, sets) = trial::choose(&mut exchange, fields, settings, &mut budget)?;
            plans.push((exchange, links, sets));
        }
        let (taken, explained) = match routes {
            [only] => (0, vec![Candidate { name: only.to_string(), here: None, there: None, verdict: Verdict::Forced }]),
            _ => {
                let comparison = MethodComparison::run(&mut budget, plans.len(), trial::CHEAPER_PERCENT, |which| {
                    trial::once(&mut plans[which].0, fields, |_| true)
                })?;
                (comparison.winner(), comparison.candidates(|which| routes[which].to_string()))
            }
        };
        let (exchange, links, rails) = plans.swap_remove(taken);
        let offers = |rail: &Capabilities| matches!(rail.device_memory, DeviceAccess::Registered { .. });
        let offering = world.rails().iter().filter(|rail| is_on_device && offers(rail));
        let devices = offering.map(|rail| (rail.name, rail.device_memory)).collect();
        let explanation = Explanation { routes: explained, rails, links, streams: Vec::new(), devices };
        // No rank starts an exchange before all have ended their trials.
        world.meet()?;
        Ok(Self { exchange, fields: fields.iter().map(Field::id).collect(), is_under_way: false, has_failed: false, explanation })
    }

    /// Sends the borders of the fields, which are those that the plan was built for, and lets neighbours write their halos. One [`wait`](Self::wait)
    /// must follow; until then only [`Field::view`] gives access to the fields.
    ///
    /// # Errors
    /// The fields differ from those of the plan, or an exchange of one of them is under way; an exchange of the plan has failed; a rank failed; the
    /// job is at fault.
    pub fn start(&mut self, fields: &mut [Field<'w, T, D>]) -> Result<()> {
        self.check(fields)?;
        if self.is_under_way || fields.iter().any(Field::is_under_way) {
            return Err(Error::Invalid("an exchange of these fields is under way: wait for it first"));
        }
        self.is_under_way = true;
        let started = self.exchange.start(fields, |_| true);
        self.unless_failed(started)
    }

    /// Waits until all halos have arrived and all borders are sent. Nothing is in flight after that.
    ///
    /// # Errors
    /// The fields differ from those of the plan, or nothing is under way; the job is at fault, a rank failed, or the exchange of a neighbour failed,
    /// because its device did for example. After a failure neither the plan nor its fields exchange anything, and a later [`quiet`](pelago_rma::Context::quiet) does not report the failure again.
    pub fn wait(&mut self, fields: &mut [Field<'w, T, D>]) -> Result<()> {
        self.check_under_way(fields)?;
        let ended = self.exchange.wait(fields, None).and_then(|()| self.exchange.end(fields));
        self.unless_failed(ended)?;
        self.is_under_way = false;
        Ok(())
    }

    /// Waits until the halo at one face has arrived, so that [`View::row`](crate::View::row) has it. [`wait`](Self::wait) must still follow.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    ///
    /// # Panics
    /// There is no such dimension.
    pub fn wait_face(&mut self, fields: &mut [Field<'w, T, D>], dimension: usize, side: Side) -> Result<()> {
        assert!(dimension < D, "dimension {dimension} of {D}");
        self.check_under_way(fields)?;
        let direction = across(dimension, side);
        let arrived = self.exchange.wait(fields, Some(direction));
        self.unless_failed(arrived)?;
        fields.iter_mut().for_each(|field| field.unmark(1 << number(direction)));
        Ok(())
    }

    /// Executes a whole exchange: [`start`](Self::start) and [`wait`](Self::wait).
    ///
    /// # Errors
    /// As [`start`](Self::start) and [`wait`](Self::wait).
    pub fn reflect(&mut self, fields: &mut [Field<'w, T, D>]) -> Result<()> {
        self.start(fields)?;
        self.wait(fields)
    }

    /// Every method and route that was considered, with its cost, and why it was chosen or rejected.
    pub fn explain(&self) -> &Explanation {
        &self.explanation
    }

    /// The neighbours in the order in which an exchange sends to them; a rank occurs once for each direction in which it is a neighbour.
    pub fn neighbours(&self) -> impl Iterator<Item = Rank> {
        self.exchange.links.iter().map(|link| link.neighbour)
    }

    /// Records whether the exchange has failed.
    fn unless_failed(&mut self, ended: Result<()>) -> Result<()> {
        self.has_failed |= ended.is_err();
        ended
    }

    pub(crate) fn check(&self, fields: &[Field<'w, T, D>]) -> Result<()> {
        if self.has_failed {
            return Err(Error::Invalid("an exchange of the plan has failed"));
        }
        let same = fields.iter().map(Field::id).eq(self.fields.iter().copied());
        if same { Ok(()) } else { Err(Error::Invalid("the fields are not those that the plan was built for, in their order")) }
    }

    fn check_under_way(&self, fields: &[Field<'w, T, D>]) -> Result<()> {
        self.check(fields)?;
        if self.is_under_way { Ok(()) } else { Err(Error::Invalid("no exchange is under way: start one first")) }
    }
}

/// The routes to edges and corners that are considered, the proposed one first.
fn routes<const D: usize>(settings: &Settings) -> &'static [Route] {
    match settings.route {
        _ if settings.halo == Halo::Faces || D == 1 => &[Route::Direct],
        Some(Route::Direct) => &[Route::Direct],
        Some(Route::Forwarded) => &[Route::Forwarded],
        None => &[Route::Direct, Route::Forwarded],
    }
}

fn check<T: Pod, const D: usize>(fields: &[Field<'_, T, D>]) -> Result<()> {
    let Some(first) = fields.first() else { return Err(Error::Invalid("a plan needs at least one field")) };
    if fields.iter().any(|field| field.array().template().nodes() != first.array().template().nodes()) {
        return Err(Error::Invalid("all fields of a plan must have the same nodes"));
    }
    if fields.iter().any(Field::is_under_way) {
        return Err(Error::Invalid("an exchange of these fields is under way: wait for it first"));
    }
    Ok(())
}

/// Fails unless all ranks name the same fields and settings: each writes to the memory of others according to its own plan (N1).
fn agree<T: Pod, const D: usize>(world: &World, fields: &[Field<'_, T, D>], settings: &Settings) -> Result<()> {
    let mut hasher = DefaultHasher::new();
    (format!("{settings:?}"), size_of::<T>()).hash(&mut hasher);
    for field in fields {
        (format!("{:?}", field.array()), field.agreed(), field.device().is_some()).hash(&mut hasher);
    }
    let mine = [hasher.finish(), !hasher.finish()];
    let mut all = mine;
    world.allreduce(&mut all, u64::max)?;
    if all == mine { Ok(()) } else { Err(Error::Disagreement("the fields of a plan")) }
}
