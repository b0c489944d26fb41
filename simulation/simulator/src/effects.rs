//! What becomes of an operation: it comes to where it reads and to where it writes, takes effect when its turn has come, is seen, and ends.

use pelago_base::Rank;
use pelago_netsim::Operation as Message;
use pelago_platform::{Completion, Failure, For, Transfer};

use crate::core::{Core, FOR_SEEN, State};
use crate::operations::{Pending, Stage};
use crate::progress_threads::QUESTION_BYTES;
use crate::work::Work;

impl Core {
    /// The same operation, as the network sees it.
    pub(crate) fn message(&self, me: u32, work: &Work) -> Message {
        let node = |address| self.memory.addresses().rank(address).number().min(self.size() - 1) / self.per_node;
        // What is longer than a segment fails where it arrives.
        let most = self.memory.addresses().segment_bytes();
        let by = me / self.per_node;
        match work {
            Work::Write { to, bytes } => Message::Put { from: by, to: node(*to), bytes: bytes.as_slice().len() as u64 },
            Work::Put { from, to } => Message::Put { from: by, to: node(*to), bytes: from.bytes() as u64 },
            Work::Get { from, to, .. } => Message::Get { by, at: node(*from), bytes: to.bytes() as u64 },
            Work::Copy { from, to, bytes, .. } => {
                Message::Copy { by, from: node(*from), to: node(*to), bytes: (*bytes).min(most) }
            }
            Work::Atomic { at, .. } if self.progress_threads.perform(work) => {
                Message::Put { from: by, to: node(*at), bytes: QUESTION_BYTES }
            }
            Work::Atomic { at, .. } => Message::Atomic { by, at: node(*at) },
            Work::Sized(Transfer::Put { to, bytes }) => Message::Put { from: by, to: node(*to), bytes: *bytes },
            Work::Sized(Transfer::Get { from, bytes }) => Message::Get { by, at: node(*from), bytes: *bytes },
            Work::Sized(Transfer::Copy { from, to, bytes }) => {
                Message::Copy { by, from: node(*from), to: node(*to), bytes: (*bytes).min(most) }
            }
        }
    }

    /// An operation has come to where it reads.
    pub(crate) fn come_to_source(&mut self, number: u32) {
        let pending = self.operations.get_mut(number);
        if pending.stage == Stage::OnItsWay {
            pending.stage = Stage::AtSource;
            self.proceed_all(number);
        }
    }

    /// An operation has come to where it takes effect.
    pub(crate) fn come_to_target(&mut self, number: u32) {
        let before = std::mem::replace(&mut self.operations.get_mut(number).stage, Stage::AtTarget);
        if before == Stage::Ahead && self.operations.get(number).effective {
            self.show(number);
            return self.complete(number);
        }
        self.hasten_earlier(number);
        self.proceed_all(number);
    }

    /// Does what an operation may do by now, and then what others waited for.
    pub(crate) fn proceed_all(&mut self, number: u32) {
        let mut due = vec![number];
        while let Some(number) = due.pop() {
            let pending = self.operations.get(number);
            let (epoch, pair) = (pending.epoch, self.pair(pending));
            if self.proceed(number, epoch, pair) {
                due.extend(self.release(pair, epoch));
            }
        }
    }

    /// Does what an operation may do by now; returns whether it has taken effect.
    pub(crate) fn proceed(&mut self, number: u32, epoch: u32, pair: (u32, u32)) -> bool {
        if let Some(order) = self.order.get_mut(&pair)
            && !order.may(epoch)
        {
            if !std::mem::replace(&mut self.operations.get_mut(number).postponed, true) {
                order.postpone(epoch, number);
            }
            return false;
        }
        let pending = self.operations.get_mut(number);
        pending.postponed = false;
        if pending.work.needs_read() && pending.result.is_ok() {
            pending.result = pending.work.read(&self.memory).map(|()| 0);
        }
        let arrived = matches!(pending.stage, Stage::Ahead | Stage::AtTarget);
        if arrived {
            self.take_effect(number);
        }
        arrived
    }

    /// An operation of `epoch` between these two is over: returns those that need wait no longer.
    pub(crate) fn release(&mut self, pair: (u32, u32), epoch: u32) -> Vec<u32> {
        let Some(order) = self.order.get_mut(&pair) else { return Vec::new() };
        let released = order.ended(epoch);
        if order.is_at_rest() {
            self.order.remove(&pair);
        }
        released
    }

    pub(crate) fn take_effect(&mut self, number: u32) {
        let pending = self.operations.get_mut(number);
        if pending.result.is_ok() {
            pending.result = pending.work.perform(&self.memory);
        }
        pending.effective = true;
        let is_answered = self.progress_threads.perform(&pending.work);
        if let Some(recorder) = &mut self.recorder {
            recorder.effective(number, self.network.now());
        }
        let (done, stage) = (pending.done, pending.stage);
        if is_answered {
            self.answer(number);
        }
        if stage == Stage::AtTarget {
            self.show(number);
            if done {
                self.complete(number);
            }
        }
    }

    /// Those whom an effect concerns see it.
    pub(crate) fn show(&mut self, number: u32) {
        let pending = self.operations.get(number);
        // What a get brings may be waited for where it is brought to.
        let touched = pending.work.written(&self.memory).unwrap_or(pending.rank);
        if let Some(later) = self.seen_later(pending) {
            return self.network.wake_at(self.network.now() + later, touched.number(), FOR_SEEN | u64::from(touched));
        }
        self.see(touched);
    }

    /// A rank sees an effect that concerns it.
    pub(crate) fn see(&mut self, rank: Rank) {
        if self.ranks.get(rank.index()).is_some_and(|state| !matches!(state.state, State::Parked(For::AtMost(_)))) {
            self.rouse(rank.number(), false);
        }
    }

    /// The initiator of an operation may know that it has ended.
    pub(crate) fn end(&mut self, number: u32, failure: Option<Failure>) {
        let pending = self.operations.get_mut(number);
        pending.done = true;
        let mut over = None;
        if let Some(failure) = failure {
            pending.result = Err(failure);
            if !std::mem::replace(&mut pending.effective, true) {
                over = Some(pending.epoch);
            }
        }
        // What takes effect ahead of its time is kept until then.
        let effective = pending.effective && pending.stage != Stage::Ahead;
        let over = over.map(|epoch| (self.pair(self.operations.get(number)), epoch));
        if effective {
            self.complete(number);
        } else {
            self.tell_ahead(number);
        }
        if let Some((pair, epoch)) = over {
            for number in self.release(pair, epoch) {
                self.proceed_all(number);
            }
        }
    }

    pub(crate) fn complete(&mut self, number: u32) {
        let Pending { rank, token, result, earlier, later, told, .. } = self.operations.remove(number);
        if let Some(recorder) = &mut self.recorder {
            recorder.completed(number, result.is_err(), self.network.now());
        }
        if let Some(earlier) = earlier {
            self.operations.get_mut(earlier.get() - 1).later = later;
        }
        match later {
            Some(later) => self.operations.get_mut(later.get() - 1).earlier = earlier,
            None => self.ranks[rank.index()].latest = earlier,
        }
        if !told {
            self.completed(rank, Completion { token, result });
        }
    }

    /// Something of `rank` has completed.
    pub(crate) fn completed(&mut self, rank: Rank, completion: Completion) {
        let state = &mut self.ranks[rank.index()];
        state.in_flight -= 1;
        self.completions.add(&mut state.completed, completion);
        let concerns = match state.state {
            State::Parked(For::Memory) => false,
            State::Parked(For::AtMost(left)) => state.in_flight <= left,
            _ => true,
        };
        if concerns {
            self.rouse(u32::from(rank), false);
        }
    }

    pub(crate) fn pair(&self, pending: &Pending) -> (u32, u32) {
        (u32::from(pending.rank), pending.work.target(&self.memory).number())
    }
}
