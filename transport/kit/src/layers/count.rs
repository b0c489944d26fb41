//! A layer that counts the operations of a transport.

use std::sync::{Arc, Mutex, PoisonError};

use pelago_base::{Counters, Event, Instant, Rank, Team};
use pelago_platform::{
    Completion, Endpoint, Extensions, Flags, Network, Operation, PostError, ReductionGroup, ReductionOperator, Reductions,
    Registry, Token, Transfer, Transport, TwoSided,
};

/// Counts accepted operations, two-sided messages and contributions to reductions by kind, posts refused with `Full`, completions, and received messages.
///
/// A transfer of which only the size travels counts as one with bytes. Every completion is [`Event::Completed`]; one with a
/// failure is [`Event::Failed`] as well. So the operations in flight are those accepted less those completed. Costs one uncontended lock per
/// post and per progress.
pub struct Count<T> {
    inner: T,
    counters: Arc<Mutex<Counters>>,
}

impl<T> Count<T> {
    /// Counts the operations of `inner`, from zero.
    pub fn new(inner: T) -> Self {
        Self { inner, counters: Arc::default() }
    }

    /// The counters, which a report may read at any time and from any thread.
    pub fn counters(&self) -> Arc<Mutex<Counters>> {
        Arc::clone(&self.counters)
    }

    /// The inner transport.
    pub fn inner(&self) -> &T {
        &self.inner
    }

    /// Counts a post of this kind if it was accepted, or refused with `Full`.
    fn posted(&self, event: Event, posted: Result<(), PostError>) -> Result<(), PostError> {
        match posted {
            Ok(()) => count(&self.counters, [event]),
            Err(PostError::Full) => count(&self.counters, [Event::PostRefused]),
            Err(_) => {}
        }
        posted
    }
}

impl<T: Transport> Transport for Count<T> {
    fn network(&mut self) -> &mut dyn Network {
        self.inner.network()
    }

    fn memory(&mut self) -> &mut dyn Registry {
        self.inner.memory()
    }

    fn post(
        &mut self,
        now: Instant,
        to: Endpoint,
        operation: Operation<'_>,
        flags: Flags,
        token: Token,
    ) -> Result<(), PostError> {
        let event = match operation {
            Operation::Write { .. }
            | Operation::Signalled { .. }
            | Operation::Put { .. }
            | Operation::PutBlocks { .. }
            | Operation::Sized(Transfer::Put { .. }) => Event::PutPosted,
            Operation::Get { .. } | Operation::GetBlocks { .. } | Operation::Sized(Transfer::Get { .. }) => Event::GetPosted,
            Operation::Copy { .. } | Operation::Sized(Transfer::Copy { .. }) => Event::CopyPosted,
            Operation::Atomic { .. } => Event::AtomicPosted,
        };
        let posted = self.inner.post(now, to, operation, flags, token);
        self.posted(event, posted)
    }

    fn flush(&mut self, now: Instant) {
        self.inner.flush(now);
    }

    fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool {
        let before = completed.len();
        let moved = self.inner.progress(now, completed);
        let events = completed[before..].iter().flat_map(|completion| {
            let failed = completion.result.is_err().then_some(Event::Failed);
            [Some(Event::Completed), failed].into_iter().flatten()
        });
        count(&self.counters, events);
        moved
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.inner.next_deadline()
    }

    fn before_sleep(&mut self) {
        self.inner.before_sleep();
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        self.inner.extensions()?;
        Some(self)
    }
}

impl<T: Transport> Extensions for Count<T> {
    fn two_sided(&mut self) -> Option<&mut dyn TwoSided> {
        self.inner.extensions()?.two_sided()?;
        Some(self)
    }

    fn reductions(&mut self) -> Option<&mut dyn Reductions> {
        self.inner.extensions()?.reductions()?;
        Some(self)
    }
}

impl<T: Transport> Reductions for Count<T> {
    fn words_max(&mut self) -> usize {
        self.inner.extensions().and_then(|inner| inner.reductions()).map_or(0, |inner| inner.words_max())
    }

    fn open(&mut self, members: &Team) -> Option<ReductionGroup> {
        self.inner.extensions()?.reductions()?.open(members)
    }

    fn contribute(
        &mut self,
        now: Instant,
        to: ReductionGroup,
        operator: ReductionOperator,
        words: &[u64],
        token: Token,
    ) -> Result<(), PostError> {
        let network = self.inner.extensions().and_then(|inner| inner.reductions()).ok_or(PostError::Group)?;
        let contributed = network.contribute(now, to, operator, words, token);
        self.posted(Event::ContributionPosted, contributed)
    }

    fn take(&mut self, of: ReductionGroup, into: &mut [u64]) -> bool {
        self.inner.extensions().and_then(|inner| inner.reductions()).is_some_and(|inner| inner.take(of, into))
    }

    fn close(&mut self, group: ReductionGroup) {
        if let Some(inner) = self.inner.extensions().and_then(|inner| inner.reductions()) {
            inner.close(group);
        }
    }
}

impl<T: Transport> TwoSided for Count<T> {
    fn send(&mut self, now: Instant, to: Endpoint, bytes: &[u8], token: Token) -> Result<(), PostError> {
        let network = self.inner.extensions().and_then(|inner| inner.two_sided()).ok_or(PostError::Unknown(to))?;
        let posted = network.send(now, to, bytes, token);
        self.posted(Event::MessagePosted, posted)
    }

    fn take(&mut self) -> Option<(Rank, Box<[u8]>)> {
        let taken = self.inner.extensions()?.two_sided()?.take()?;
        count(&self.counters, [Event::MessageTaken]);
        Some(taken)
    }
}

fn count(counters: &Mutex<Counters>, events: impl IntoIterator<Item = Event>) {
    // A panic of a reader does no harm: the counters are consistent at every moment.
    let mut counters = counters.lock().unwrap_or_else(PoisonError::into_inner);
    events.into_iter().for_each(|event| counters.count(event));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Loopback;
    use pelago_base::{AddressLayout, AtomicOperator, GlobalAddress, Rank, Width};
    use pelago_platform::limits;

    #[test]
    fn counts_what_was_accepted_refused_completed_and_failed() {
        let layout = AddressLayout::new(1, 4096).unwrap();
        let mut transport = Count::new(Loopback::network(layout, 1).remove(0));
        let address = transport.network().address();
        let itself = transport.network().connect(None, Rank::new(0), &address).unwrap();
        let nowhere = GlobalAddress::NULL;
        let write = Operation::Write { to: nowhere, bytes: &[] };
        let atomic = Operation::Atomic { at: nowhere, width: Width::Four, operator: AtomicOperator::Load, operand: 0 };
        let long = Operation::Write { to: nowhere, bytes: &[0; pelago_base::limits::INJECT_SIZE + 1] };
        for token in 0..limits::COMPLETIONS_MAX as u64 + 3 {
            let operation = if token < 5 { atomic } else { write };
            let _ = transport.post(Instant::ZERO, itself, operation, Flags::NONE, Token(token));
        }
        transport.post(Instant::ZERO, itself, long, Flags::NONE, Token(9)).unwrap_err();
        transport.progress(Instant::ZERO, &mut Vec::new());
        let counters = transport.counters();
        let of = |event| counters.lock().unwrap().of(event);
        let accepted = limits::COMPLETIONS_MAX as u64;
        assert_eq!((of(Event::AtomicPosted), of(Event::PutPosted), of(Event::PostRefused)), (5, accepted - 5, 3));
        assert_eq!((of(Event::Completed), of(Event::Failed)), (accepted, accepted));
    }
}
