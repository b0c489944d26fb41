//! Atomics that wait at the same time travel together: one request carries those of a peer that follow each other, and one answer their results.
//!
//! They wait until the poster has posted the others of a series ([`more`](pelago_platform::Flags::more)), or until the number of unanswered requests permits another one.

use pelago_memory::Cells;
use zerocopy::{FromBytes, IntoBytes};

use super::{Engine, Lane, Path, Way, What};
use crate::message::{ATOMICS_MAX, AnswerEntry, AtomicEntry, Header, kind};

impl Engine {
    /// Issues atomics that were held back for others.
    pub(crate) fn release(&mut self) {
        while let Some(peer) = self.held.pop_first() {
            self.issue_all(peer);
            self.resume(peer);
        }
    }

    /// Sends two or more atomics from the head of a queue in one request, if there are so many and there is space; returns whether it did.
    pub(super) fn issue_atomics(&mut self, peer: usize, lane: usize) -> bool {
        let posted = &self.peers[peer].lanes[lane];
        let Some(&first) = posted.queue.front() else { return false };
        if posted.queue.len() < 2 || !matches!(self.peers[peer].way, Way::Open) || !self.may_request(first) {
            return false;
        }
        let mut payload = Vec::new();
        let mut count = 0;
        for &key in posted.queue.iter().take(ATOMICS_MAX) {
            let operation = &self.operations[key];
            let What::Atomic { at, width, operator, operand } = operation.what else { break };
            let waits = operation.flags.fence && !operation.begun && (count > 0 || posted.started > 0);
            if waits || operation.result.is_err() {
                break;
            }
            payload.extend(AtomicEntry::new(key as u32, Header::atomic(at, width, operator, operand)).as_bytes());
            count += 1;
        }
        let (nonce, from) = (self.peers[peer].nonce.into(), self.me.number().into());
        let header = Header { nonce, from, kind: kind::ATOMICS, ..Header::default() };
        if count < 2 || !self.send(peer, &[header.as_bytes(), &payload].concat()) {
            return false;
        }
        let entry = &mut self.peers[peer];
        entry.unanswered[0] += 1;
        let Lane { queue, started, .. } = &mut entry.lanes[lane];
        for key in queue.drain(..count) {
            let operation = &mut self.operations[key];
            *started += u32::from(!std::mem::replace(&mut operation.begun, true));
            (operation.is_sent, operation.unanswered) = (true, 1);
        }
        true
    }

    /// Performs several atomics of a peer.
    pub(super) fn atomics(&mut self, peer: usize, payload: Cells<'static>) {
        let payload = payload.to_vec();
        let mut answers = Vec::new();
        for entry in payload.chunks_exact(size_of::<AtomicEntry>()) {
            let Ok(entry) = AtomicEntry::read_from_bytes(entry) else { continue };
            let header = entry.header();
            let result = self.atomic(&header);
            answers.extend_from_slice(AnswerEntry::new(header.id, result).as_bytes());
        }
        self.tell(peer, Header { kind: kind::ANSWERS, ..Header::default() }, &answers);
    }

    /// Handles the answers to several atomics. Those for which no operation waits are ignored.
    pub(super) fn take_answers(&mut self, peer: usize, payload: Cells<'static>) {
        let unanswered = &mut self.peers[peer].unanswered[0];
        *unanswered = unanswered.saturating_sub(1);
        for entry in payload.to_vec().chunks_exact(size_of::<AnswerEntry>()) {
            let Some((id, result)) = AnswerEntry::read_from_bytes(entry).ok().and_then(AnswerEntry::result) else { continue };
            let Some(operation) = self.operations.get_mut(id as usize) else { continue };
            let is_atomic = matches!(operation.what, What::Atomic { .. }) && operation.path != Path::Around;
            if operation.peer == peer && operation.unanswered > 0 && is_atomic {
                operation.unanswered -= 1;
                operation.result = operation.result.and(result);
                self.settle(id as usize);
            }
        }
        self.resume(peer);
    }
}

#[cfg(test)]
mod tests {
    use pelago_base::{AtomicOperator, Instant, Width};
    use pelago_platform::{Flags, Operation, Token, Transport};

    use crate::around_tests::{STEP, known};
    use crate::fabric::mock::{Profile, World};

    /// A series leaves as one request, up to an atomic behind a fence, and each atomic has its own result.
    #[test]
    fn atomics_of_a_series_share_a_request() {
        const COUNT: u64 = 100;
        const FENCED: u64 = 70;
        let mut job = known(World::provider(Profile::CXI, 1, 0));
        let to = job.connect(0, 1);
        let peer = to.0 as usize;
        let add = |at| Operation::Atomic { at, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
        let (at, outside) = (job.at(1, 8), job.at(1, 1 << 20));
        job.post(0, to, add(at), 0);
        job.look(50, STEP);
        for token in 1..COUNT {
            let at = if token == 5 { outside } else { at };
            let flags = Flags { more: true, fence: token == FENCED, ..Flags::NONE };
            job.ends[0].post(Instant::ZERO, to, add(at), flags, Token(token)).unwrap();
        }
        assert_eq!(job.ends[0].shared.lock().peers[peer].unanswered[0], 0, "they wait for each other");
        job.ends[0].flush(Instant::ZERO);
        {
            let engine = job.ends[0].shared.lock();
            assert_eq!((engine.peers[peer].unanswered[0], engine.peers[peer].lanes[0].queue.len() as u64), (1, COUNT - FENCED));
        }
        job.look(50, STEP);
        let results = job.results();
        for (token, result) in &results {
            let before = *token - u64::from(*token > 5);
            assert!(if *token == 5 { result.is_err() } else { *result == Ok(before) }, "{token}: {result:?}");
        }
        assert_eq!((results.len() as u64, job.word(1, 1)), (COUNT, COUNT - 1));
    }
}
