//! An exchange that is decided once and done often.

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

/// A persistent exchange of the halos of some fields (`reflect` in XcalableMP): built once, then started and waited for as often as one likes.
///
/// Memory of each rank: four times the cells of its halo, of which what no method uses is never touched; 64 bytes for each direction. No
/// exchange allocates anything where all neighbours are mapped, or packed.
///
/// Messages of an exchange to each neighbour: one with the borders of all fields if they are packed; else one block or more of each field, and
/// a word of credit from the receiver, before the blocks or, if it fetches them itself, behind them. A flag goes by the rail of its data. No barrier.
pub struct Plan<'w, T: Pod, const D: usize> {
    pub(crate) exchange: Exchange<'w, T, D>,
    /// The numbers of its fields.
    fields: Vec<u64>,
    is_under_way: bool,
    /// Whether an exchange has failed: the two ends of a link may differ in how far they have come.
    has_failed: bool,
    explanation: Explanation,
}

impl<'w, T: Pod, const D: usize> Plan<'w, T, D> {
    /// The plan for `fields`, which are exchanged together. Collective; fields and settings are the same on every rank, in the same order.
    ///
    /// Where `settings` leave a choice, trials bring the halos of the fields as they are; cost: 8 to 20 exchanges for each way and direction, and
    /// where there are several rails for each set of them, in turns; few where each takes as long as the last, as in a simulation. They end when
    /// [`Settings::trial_limit`] is over, with the turns that are under way then.
    ///
    /// # Errors
    /// There are no fields, they lie on different nodes, or one of them is under way; ranks name different ones; [`World::alloc`]'s.
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
        world.barrier()?;
        Ok(Self { exchange, fields: fields.iter().map(Field::id).collect(), is_under_way: false, has_failed: false, explanation })
    }

    /// Sends the borders of the fields, which are those that the plan was built for, and lets their halos be written. To be followed by
    /// one [`wait`](Self::wait); until then the fields can be looked at by [`Field::view`] only.
    ///
    /// # Errors
    /// The fields are others, or an exchange of one of them is under way; an exchange of the plan has failed; a rank was lost; the job is at
    /// fault.
    pub fn start(&mut self, fields: &mut [Field<'w, T, D>]) -> Result<()> {
        self.check(fields)?;
        if self.is_under_way || fields.iter().any(Field::is_under_way) {
            return Err(Error::Invalid("an exchange of these fields is under way: wait for it first"));
        }
        self.is_under_way = true;
        let started = self.exchange.start(fields, |_| true);
        self.unless_failed(started)
    }

    /// Waits until all halos have come and all borders are sent. Nothing is under way after that.
    ///
    /// # Errors
    /// The fields are others, or nothing is under way; the job is at fault, or a rank was lost. After a failure neither the plan nor its fields
    /// exchange anything, and what [`quiet`](pelago_rma::Context::quiet) would have reported counts as told.
    pub fn wait(&mut self, fields: &mut [Field<'w, T, D>]) -> Result<()> {
        self.check_under_way(fields)?;
        let ended = self.exchange.wait(fields, None).and_then(|()| self.exchange.end(fields));
        self.unless_failed(ended)?;
        self.is_under_way = false;
        Ok(())
    }

    /// Waits until the halo beside one face has come, so that [`View::row`](crate::View::row) has it. [`wait`](Self::wait) is still to be called.
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

    /// A whole exchange: [`start`](Self::start) and [`wait`](Self::wait).
    ///
    /// # Errors
    /// Theirs.
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

    /// Notes whether the exchange has failed.
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

/// Fails unless all ranks name the same fields and settings: each writes into the memory of others as it understands the plan (N1).
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
