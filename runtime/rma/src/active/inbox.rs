//! The queue of a rank, whose messages run during progress.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use pelago_base::{Rank, SegmentId};

use super::functions::{Call, Entry, Functions};
use super::layout::{GRANTED, Layout, SLOT_HEADER_WORDS};
use super::outbox::{COUNT_BITS, LENGTH_BITS};
use super::replies;
use crate::memory::segment::{known, own};
use crate::{Advance, Background, Context, Error};

/// The queue of this rank, as its receiver sees it.
pub(super) struct Inbox {
    layout: Layout,
    /// Offset of its words in the symmetric heap.
    offset: u64,
    functions: RefCell<Vec<Entry>>,
    /// The ticket of the next batch.
    next: Cell<u64>,
    /// The running batch, a copy of its slot; empty if there is none.
    batch: RefCell<Vec<u64>>,
    /// Index of its next run, and number of messages of that run that have run.
    place: Cell<(usize, usize)>,
    /// Number of messages that have run.
    pub(super) run: Cell<u64>,
    failure: RefCell<Option<Error>>,
}

impl Inbox {
    pub(super) fn new(layout: Layout, offset: u64, functions: Functions) -> Self {
        Self {
            layout,
            offset,
            functions: RefCell::new(functions.into_entries()),
            next: Cell::new(0),
            batch: RefCell::new(Vec::with_capacity(layout.batch_words)),
            place: Cell::new((0, 0)),
            run: Cell::new(0),
            failure: RefCell::default(),
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failure.borrow().is_some()
    }

    pub(super) fn take_failure(&self) -> Option<Error> {
        self.failure.borrow_mut().take()
    }

    /// Runs the rest of the batch; returns whether all of it has run.
    fn run_batch(&self, context: &Context, from: Rank, batch: &[u64]) -> bool {
        let call = Call { context, from, failure: &self.failure };
        let functions = &mut *self.functions.borrow_mut();
        let (mut run, mut done) = self.place.get();
        while let Some(&word) = batch.get(run) {
            let (function, count) = ((word >> COUNT_BITS) as usize, (word & ((1 << COUNT_BITS) - 1)) as usize);
            let Some(entry) = functions.get_mut(function) else {
                call.fail(Error::Invalid("an active message names no function"));
                return true;
            };
            let records = run + 1..(run + 1 + count * entry.record_words).min(batch.len());
            let (before, left) = (done, &batch[records.start + done * entry.record_words..records.end]);
            let panicked = catch_unwind(AssertUnwindSafe(|| (entry.run)(&call, left, &mut done))).err();
            // A message whose function panics has run: the ones behind it run at the next progress.
            done += usize::from(panicked.is_some());
            self.run.set(self.run.get() + (done - before) as u64);
            if panicked.is_some() || done < count {
                self.place.set((run, done));
            }
            if let Some(panic) = panicked {
                call.fail(Error::Invalid("the function of an active message panicked"));
                resume_unwind(panic);
            }
            if done < count {
                return false;
            }
            (run, done) = (records.end, 0);
        }
        true
    }
}

impl Background for Inbox {
    fn advance(&self, context: &Context) -> Advance {
        let words = own::<u64>(context, SegmentId::SYMMETRIC, self.offset, self.layout.words());
        let before = self.run.get();
        // At most as many batches as there are slots: then the caller checks whether the awaited event has occurred.
        for _ in 0..self.layout.slots() {
            let ticket = self.next.get();
            let slot = self.layout.slot(ticket);
            if words.load(slot) != ticket + 1 {
                break;
            }
            let header = words.load(slot + 1);
            let batch = &mut *self.batch.borrow_mut();
            if batch.is_empty() {
                let length = (header & ((1 << LENGTH_BITS) - 1)) as usize;
                batch.resize(length.min(self.layout.batch_words), 0);
                words.read(slot + SLOT_HEADER_WORDS, batch);
            }
            if !self.run_batch(context, Rank::new((header >> LENGTH_BITS) as u32), batch) {
                break;
            }
            batch.clear();
            self.place.set((0, 0));
            self.next.set(ticket + 1);
            words.store(GRANTED, ticket + 1);
        }
        if self.run.get() > before {
            Advance::Moved
        } else if self.batch.borrow().is_empty() {
            Advance::Nothing
        } else {
            // A function has postponed its message.
            Advance::Blocked
        }
    }
}

/// Sends a reply to its slot at the caller.
pub(super) fn reply(call: &Call<'_>, place: u64, bytes: &[u8]) {
    let (offset, sequence) = replies::parts(place);
    let context = call.context;
    let sent = || {
        let address = context.reach.addresses().encode(call.from, SegmentId::SYMMETRIC, offset)?;
        let flag = known::<u64>(address);
        let write = || context.put_data(known::<u8>(flag.add(1).address()), bytes);
        context.pair(write, |written| context.after(&written).set(flag, sequence)).map(drop)
    };
    if let Err(error) = sent() {
        call.fail(error);
    }
}
