//! Exchanges that are enqueued into a stream of a device, so that the host does not wait between kernels and halos.

use std::sync::Arc;

use pelago_base::Duration;
use pelago_rma::{DeviceStream, Error, Fault, Pod, Result, World};

use crate::exchange::queued::{Batch, Queue};
use crate::explanation::{Candidate, Explanation, Verdict};
use crate::field::Field;
use crate::grid::direction::leading;
use crate::plan::Plan;
use crate::settings::{Method, Route, Settings};
use crate::trial::{CHEAPER_TOGETHER_PERCENT, MethodComparison, TrialBudget};

/// Maximum number of exchanges in a stream. A driver has room for about a thousand launches; beyond, it blocks the host, which then serves no other
/// rank. Therefore the next exchange waits for the stream first.
const QUEUED_EXCHANGES_MAX: u32 = 32;

/// Maximum time that the end of a plan waits for its stream, before it releases the stream.
const END_LIMIT: Duration = Duration::from_milliseconds(10_000);

/// Maximum number of releases of a stream by the end of a plan, once the job is at fault.
const RELEASES_MAX: usize = 100;

/// A persistent exchange of the halos of fields on devices, in the order of a stream: kernels that are enqueued before [`start`](Self::start) write
/// the borders that it sends, and kernels that are enqueued after [`finish`](Self::finish) read the halos that have arrived. The host does not wait.
///
/// The streams of neighbours synchronize by words in memory of their devices. A stream writes the *credit* after its kernels that read the halo or
/// the inbox, and the neighbour's stream waits for it before it writes there. This needs a driver whose streams write and wait for words, neighbours
/// of the same host, and devices that reach each other's memory. If one rank lacks this, all ranks exchange by the host: `start` then waits for the
/// stream and `finish` for the exchange, with the same result. [`is_queued`](Self::is_queued) and [`explain`](Self::explain) report this.
///
/// **Two methods.** *Direct*: one kernel stores all borders of all fields into the halos of all neighbours. *Packed*: one kernel packs them into the
/// neighbours' inboxes, and one unpacks. Edges and corners come from their owners. A trial at [`build`](Self::build) measures both, and the exchange by the
/// host.
///
/// **Bounds.** Memory of the device: the cells of the halo, once, and 64 bytes for each direction. An exchange enqueues one or two launches, and four
/// waits and writes of words for each neighbour; a stream holds 32 exchanges at once, and the next one waits until the stream is over.
///
/// **Failures.** A stream cannot report a failed rank: [`wait`](Self::wait) does, and releases the stream. What the stream reads after that is not a
/// halo.
///
/// Drop waits up to 10 s for the stream.
///
/// ```
/// # use std::sync::Arc;
/// # use pelago_halo::{Array, Field, Settings, StreamPlan};
/// # use pelago_rma::{DeviceMemory, DeviceStream, Result, World};
/// # fn example(world: &World, array: &Array<2>, memory: Arc<dyn DeviceMemory>, stream: Arc<dyn DeviceStream>, steps: u32) -> Result<()> {
/// let mut fields = [Field::<f64, 2>::on_device(world, array, memory)?];
/// let mut plan = StreamPlan::build(world, &mut fields, &Settings::default(), stream)?;
/// for _ in 0..steps {
///     // kernels that write the borders, put into the stream
///     plan.start(&mut fields)?;
///     // kernels that need no halo, put into the stream
///     plan.finish(&mut fields)?;
///     // kernels that read the halos, put into the stream
/// }
/// plan.wait()
/// # }
/// ```
///
/// Source: Odajima et al., hybrid communication in XcalableACC (2015), where chained transfers between GPUs are started once; the order of credits and readers
/// is that which GHEX lacked in its issue 223.
pub struct StreamPlan<'w, T: Pod, const D: usize> {
    world: &'w World,
    plan: Plan<'w, T, D>,
    stream: Arc<dyn DeviceStream>,
    queue: Option<Queue>,
    /// The prepared copies of an exchange; `None` if the host exchanges.
    batch: Option<Batch>,
    /// Exchanges that were enqueued since the stream was last seen to be over.
    queued: u32,
    is_under_way: bool,
    has_failed: bool,
    explanation: Explanation,
}

impl<'w, T: Pod, const D: usize> StreamPlan<'w, T, D> {
    /// Makes the plan for `fields` and a stream, which belongs to the device that holds them. Collective, as [`Plan::build`].
    ///
    /// A [method](Settings::methods) that `settings` request applies to streams too; the host does *fetched*. [`Settings::route`] is
    /// [`Route::Direct`] here. Trials write halos, and wait for earlier work in the stream.
    ///
    /// # Errors
    /// A field is not on a device; as [`Plan::build`].
    pub fn build(
        world: &'w World,
        fields: &mut [Field<'w, T, D>],
        settings: &Settings,
        stream: Arc<dyn DeviceStream>,
    ) -> Result<Self> {
        let plan = Plan::build(world, fields, &Settings { route: Some(Route::Direct), ..*settings })?;
        if fields.iter().any(|field| field.device().is_none()) {
            return Err(Error::Invalid("a plan on a stream exchanges fields on devices"));
        }
        let methods = methods::<D>(settings);
        let links = &plan.exchange.links;
        let connected = Queue::connect(world, links, settings.halo, fields, &stream)?;
        let made = connected.and_then(|queue| {
            let prepare = |&method: &Method| {
                queue.prepare(links, fields, |link| settings.methods[leading(link.position.direction)].unwrap_or(method))
            };
            let batches = methods.iter().map(prepare).collect::<Result<Vec<_>, _>>()?;
            Ok((queue, batches))
        });
        let mut is_possible = [u64::from(made.is_ok() && !methods.is_empty())];
        world.allreduce(&mut is_possible, u64::min)?;
        let (queue, mut batches) = match made {
            Ok((queue, batches)) if is_possible == [1] => (Some(queue), batches),
            _ => (None, Vec::new()),
        };
        let explanation = plan.explain().clone();
        let mut built =
            Self { world, plan, stream, queue, batch: None, queued: 0, is_under_way: false, has_failed: false, explanation };
        let name = |which: usize| methods.get(which).map_or("by the host".into(), |method| format!("{method} on streams"));
        if built.queue.is_none() {
            let verdict = |which| if which == methods.len() { Verdict::Forced } else { Verdict::NoStreams };
            let candidate = |which| Candidate { name: name(which), here: None, there: None, verdict: verdict(which) };
            built.explanation.streams = (0..=methods.len()).map(candidate).collect();
            return Ok(built);
        }
        let mut budget = TrialBudget::new(world, settings.trial_limit);
        let compared = MethodComparison::run(&mut budget, batches.len() + 1, CHEAPER_TOGETHER_PERCENT, |which| {
            let tried = built.once(fields, batches.get(which));
            // Before the next meeting: neighbours wait for the streams of this rank.
            built.unless_failed(tried)
        });
        let comparison = built.unless_failed(compared)?;
        built.explanation.streams = comparison.candidates(name);
        if comparison.winner() < batches.len() {
            built.batch = Some(batches.swap_remove(comparison.winner()));
        }
        // No rank enqueues an exchange before all have ended their trials.
        world.meet()?;
        Ok(built)
    }

    /// Enqueues an exchange: [`start`](Self::start) and [`finish`](Self::finish).
    ///
    /// # Errors
    /// As [`start`](Self::start) and [`finish`](Self::finish).
    pub fn enqueue(&mut self, fields: &mut [Field<'w, T, D>]) -> Result<()> {
        self.start(fields)?;
        self.finish(fields)
    }

    /// Enqueues the first part of an exchange of the fields, which are those that the plan was built for: the borders are sent. Work that is enqueued
    /// between this call and [`finish`](Self::finish) runs during the exchange: it reads no halo, and writes neither halos nor borders. Every rank
    /// starts equally many exchanges.
    ///
    /// If the exchange [is not queued](Self::is_queued), this call waits for the stream and starts the exchange of the host.
    ///
    /// # Errors
    /// The fields differ from those of the plan; an exchange has started and is not finished; one of the plan has failed; an error of the driver, as
    /// [`Error::Failed`]; for the exchange of the host, as [`Plan::start`].
    pub fn start(&mut self, fields: &mut [Field<'w, T, D>]) -> Result<()> {
        self.check(fields, false)?;
        let batch = self.batch.take();
        let started = self.start_by(fields, batch.as_ref());
        self.batch = batch;
        self.unless_failed(started)
    }

    /// Enqueues the second part of the exchange: work that is enqueued after it finds the halos.
    ///
    /// If the exchange [is not queued](Self::is_queued), this call waits for the exchange of the host.
    ///
    /// # Errors
    /// As [`start`](Self::start); no exchange has started.
    pub fn finish(&mut self, fields: &mut [Field<'w, T, D>]) -> Result<()> {
        self.check(fields, true)?;
        let batch = self.batch.take();
        let finished = self.finish_by(fields, batch.as_ref());
        self.batch = batch;
        self.unless_failed(finished)
    }

    /// Waits until all work in the stream is done, including the program's; other ranks are served meanwhile.
    ///
    /// # Errors
    /// Some of the work failed; a rank failed, for which the stream would wait forever; the job is at fault. After that the plan exchanges nothing.
    pub fn wait(&mut self) -> Result<()> {
        let waited = self.idle();
        self.unless_failed(waited)
    }

    /// Whether exchanges are enqueued into the stream; else the host executes them. The same on every rank.
    pub fn is_queued(&self) -> bool {
        self.batch.is_some()
    }

    /// The methods of exchanges and their reasons: [`streams`](Explanation::streams) has the candidates for the stream, the rest is of the plan by the
    /// host.
    pub fn explain(&self) -> &Explanation {
        &self.explanation
    }

    fn start_by(&mut self, fields: &mut [Field<'w, T, D>], batch: Option<&Batch>) -> Result<()> {
        if batch.is_none() || self.queued == QUEUED_EXCHANGES_MAX {
            self.idle()?;
        }
        self.is_under_way = true;
        match (&mut self.queue, batch) {
            (Some(queue), Some(batch)) => {
                self.queued += 1;
                queue.start(batch).map_err(|_| fields[0].failed())
            }
            _ => self.plan.start(fields),
        }
    }

    fn finish_by(&mut self, fields: &mut [Field<'w, T, D>], batch: Option<&Batch>) -> Result<()> {
        self.is_under_way = false;
        match (&self.queue, batch) {
            (Some(queue), Some(batch)) => queue.finish(batch).map_err(|_| fields[0].failed()),
            _ => self.plan.wait(fields),
        }
    }

    /// Executes an exchange, and returns the time until the device has completed it.
    fn once(&mut self, fields: &mut [Field<'w, T, D>], batch: Option<&Batch>) -> Result<Duration> {
        let is_idle = self.idle();
        // Also after a failure: the other ranks wait for this one.
        self.world.meet()?;
        is_idle?;
        let start = self.world.now();
        self.start_by(fields, batch)?;
        self.finish_by(fields, batch)?;
        self.idle()?;
        Ok(self.world.now() - start)
    }

    fn idle(&mut self) -> Result<()> {
        let failed = |_| Error::Invalid("a stream of a device failed");
        self.world.poll_for("a stream of a device", None, || {
            if self.stream.is_over().map_err(failed)? {
                return Ok(Some(()));
            }
            if self.world.losses() > 0
                && let Some(&rank) = self.world.lost().first()
            {
                return Err(Fault::PeerLost(rank).into());
            }
            self.plan.exchange.check_neighbours()?;
            Ok(None)
        })?;
        self.queued = 0;
        Ok(())
    }

    fn check(&self, fields: &[Field<'w, T, D>], is_under_way: bool) -> Result<()> {
        match (self.has_failed, self.is_under_way) {
            (true, _) => Err(Error::Invalid("an exchange of the plan has failed")),
            (_, true) if !is_under_way => Err(Error::Invalid("an exchange of the plan is under way: finish it first")),
            (_, false) if is_under_way => Err(Error::Invalid("no exchange of the plan is under way: start one first")),
            _ => self.plan.check(fields),
        }
    }

    /// Releases the stream after a failure.
    fn unless_failed<R>(&mut self, ended: Result<R>) -> Result<R> {
        if ended.is_err() && !self.has_failed {
            self.has_failed = true;
            self.plan.exchange.tell_broken();
            self.release();
        }
        ended
    }

    /// Releases the stream from all waits for words of neighbours, until it is over or has failed.
    fn release(&self) {
        let Some(queue) = &self.queue else { return };
        // Neighbours that continue may still write there.
        queue.leak();
        let is_over = || queue.release().is_err() || self.stream.is_over() != Ok(false);
        let released = self.world.poll_for("a stream of a device", Some(END_LIMIT), || Ok(is_over().then_some(())));
        if released.is_err() {
            let _over = (0..RELEASES_MAX).any(|_| is_over());
        }
    }
}

impl<T: Pod, const D: usize> Drop for StreamPlan<'_, T, D> {
    fn drop(&mut self) {
        let Some(queue) = self.queue.as_ref().filter(|_| !self.has_failed) else { return };
        if self.is_under_way {
            // Neighbours wait only for data that has been sent; this rank does not wait for their data.
            return self.release();
        }
        // Until here neighbours may write credits into the mailbox: its memory must not be reused before.
        let is_over =
            || self.stream.is_over().map(|is_over| is_over.then_some(())).map_err(|_| Error::Invalid("a stream failed"));
        let has_ended = queue.end().is_ok() && self.world.poll_for("a stream of a device", Some(END_LIMIT), is_over).is_ok();
        if !has_ended {
            self.release();
        }
    }
}

/// The candidate methods on streams, the proposed one first; none if a requested one is not available on streams.
fn methods<const D: usize>(settings: &Settings) -> Vec<Method> {
    let asked = &settings.methods[..D];
    match asked {
        _ if asked.contains(&Some(Method::Fetched)) => Vec::new(),
        _ if asked.iter().all(Option::is_some) => asked[..1].iter().flatten().copied().collect(),
        _ => vec![Method::Direct, Method::Packed],
    }
}
