//! Segment buffers: a ring of segments in the program's memory on both sides, with counts that determine which segments may be written and read.
//!
//! A segment is put into memory of the library at the destination, followed by its count. When the destination's program calls the library, the
//! library copies arrived segments to the program's memory. Thus no memory has to be registered, and a segment that the program still reads is
//! not overwritten.
//!
//! Invariant **A6**: from its creation until it is freed, the memory of a segment buffer is valid; the program does not access the segments that
//! the counts assign to the library.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::ptr::NonNull;

use pelago::{Context, GlobalPtr, Handle, Rank, Result};
use pelago_memory::Cells;

use super::{BLOCK_WORDS, COME, Connection, Connector, LinkKind, ReceivingEnd, SendingEnd};
use crate::refusal::Refusal;
use pelago_c_support::slab::Slab;

/// The segment buffers of this rank.
pub(crate) struct SegmentBuffers {
    buffers: Slab<SegmentBuffer>,
    /// Destinations that are not connected.
    waiting: Vec<usize>,
    /// Ends that were freed before their peers had closed the link.
    closing: Vec<End>,
}

pub(crate) struct SegmentBuffer {
    end: End,
    memory: NonNull<u8>,
    segment_bytes: usize,
    segments: u64,
    /// Number of segments that the destination has freed, and that the source has sent, as far as this end knows.
    head: u64,
    tail: u64,
    state: State,
    /// Operations in flight that change a count at the peer, each with the new count.
    flights: VecDeque<(u64, Handle<'static>)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Created,
    Connected(GlobalPtr<u64>),
    Closed,
}

enum End {
    Source(SendingEnd),
    Destination(ReceivingEnd),
}

impl SegmentBuffers {
    pub(crate) const fn new() -> Self {
        Self { buffers: Slab::new(3), waiting: Vec::new(), closing: Vec::new() }
    }

    /// Makes this rank's end of a segment buffer with `peer`.
    pub(crate) fn create(
        &mut self,
        connector: &mut Connector,
        context: &'static Context,
        peer: Rank,
        is_source: bool,
        memory: usize,
        [segment_bytes, segments]: [usize; 2],
    ) -> Result<usize, Refusal> {
        let bytes = segment_bytes.checked_mul(segments).filter(|&bytes| bytes > 0 && bytes <= isize::MAX as usize);
        let (Some(start), Some(_)) = (NonNull::new(memory as *mut u8), bytes) else {
            return Err(Refusal::NoMemory { address: memory, bytes: bytes.unwrap_or(0) });
        };
        if peer == context.rank() {
            return Err(Refusal::SameRank);
        }
        let shape = [segment_bytes as u64, segments as u64];
        let end = if is_source {
            End::Source(connector.sending_end(context, LinkKind::SegmentBuffer, peer, shape)?)
        } else {
            let words = segment_bytes.div_ceil(8) * segments;
            End::Destination(connector.receiving_end(context, LinkKind::SegmentBuffer, peer, shape, words)?)
        };
        let buffer = SegmentBuffer {
            end,
            memory: start,
            segment_bytes,
            segments: segments as u64,
            head: 0,
            tail: 0,
            state: State::Created,
            flights: VecDeque::new(),
        };
        let number = self.buffers.insert(buffer).ok_or(Refusal::TooMany("segment buffers"))?;
        if !is_source {
            self.waiting.push(number);
        }
        Ok(number)
    }

    /// Whether a destination of this rank still has to answer its source.
    pub(crate) fn is_busy(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Answers no more sources.
    pub(crate) fn stop(&mut self) {
        self.waiting.clear();
    }

    /// Answers the sources whose requests have arrived. Their programs may wait for connections in any order.
    pub(crate) fn advance(&mut self, connector: &mut Connector, context: &'static Context) -> Result<()> {
        let mut failure = Ok(());
        self.waiting.retain(|&number| match self.buffers.get(number).map(|buffer| buffer.connect(connector, context)) {
            Some(Ok(connection)) => connection == Connection::Pending,
            Some(Err(error)) => {
                failure = Err(error);
                true
            }
            None => false,
        });
        failure
    }

    /// Returns the segment buffer with this number.
    pub(crate) fn get(&mut self, number: usize) -> Result<&mut SegmentBuffer, Refusal> {
        self.buffers.get(number).ok_or(Refusal::SegmentBuffer(number))
    }

    /// Frees an end that is not connected.
    pub(crate) fn free(&mut self, number: usize) -> Result<(), Refusal> {
        match self.get(number)?.state {
            State::Connected(_) => Err(Refusal::Connected),
            State::Closed | State::Created => {
                let buffer = self.buffers.remove(number).ok_or(Refusal::SegmentBuffer(number))?;
                // The peer may still write to the memory of this end until it has closed the link.
                self.closing.push(buffer.end);
                self.closing.retain(|end| !end.is_closed());
                Ok(())
            }
        }
    }
}

impl End {
    fn is_closed(&self) -> bool {
        match self {
            Self::Source(link) => link.is_closed(),
            Self::Destination(link) => link.is_closed(),
        }
    }
}

impl SegmentBuffer {
    /// Connects this end if the other end is ready. Returns the state of the connection.
    pub(crate) fn connect(&mut self, connector: &mut Connector, context: &'static Context) -> Result<Connection<()>> {
        if self.state != State::Created {
            return Ok(if self.state == State::Closed { Connection::Refused } else { Connection::Established(()) });
        }
        let connection = match &mut self.end {
            End::Source(link) => link.connection()?,
            End::Destination(link) => link.connection(connector, context)?,
        };
        Ok(match connection {
            Connection::Established(peer) => {
                self.state = State::Connected(peer);
                Connection::Established(())
            }
            Connection::Refused => Connection::Refused,
            Connection::Pending => Connection::Pending,
        })
    }

    /// Whether this end may be used.
    pub(crate) fn is_connected(&self) -> bool {
        matches!(self.state, State::Connected(_))
    }

    /// Sends the segment at the tail.
    pub(crate) fn send(&mut self, context: &'static Context) -> Result<(), Refusal> {
        self.look(context);
        let (End::Source(_), State::Connected(block)) = (&self.end, self.state) else { return Err(Refusal::NotConnected) };
        if self.tail - self.head >= self.segments {
            return Err(Refusal::NoSegment("is free at the destination"));
        }
        let index = self.tail % self.segments;
        let words = (self.segment_bytes.div_ceil(8)) as u64;
        let to = block.add(BLOCK_WORDS as u64 + index * words).address();
        let from = self.segment(index).pointer();
        let (last, tail) = (self.last()?, self.tail + 1);
        // After the previous segment, so that the count does not decrease.
        // SAFETY: A6.
        let write = || unsafe {
            match last {
                Some(last) => context.after(&last).put_raw(to, from, self.segment_bytes),
                None => context.put_raw(to, from, self.segment_bytes),
            }
        };
        let told = context.pair(write, |written| context.after(&written).put(block.add(COME as u64), &[tail]))?;
        self.tail = tail;
        self.flights.push_back((tail, told));
        Ok(())
    }

    /// Frees the segment at the head.
    pub(crate) fn release(&mut self, context: &'static Context) -> Result<(), Refusal> {
        self.look(context);
        let (End::Destination(_), State::Connected(progress)) = (&self.end, self.state) else {
            return Err(Refusal::NotConnected);
        };
        if self.head == self.tail {
            return Err(Refusal::NoSegment("has come"));
        }
        self.head += 1;
        let told = match self.last()? {
            Some(last) => context.after(&last).put(progress, &[self.head]),
            None => context.put(progress, &[self.head]),
        }?;
        self.flights.push_back((self.head, told));
        Ok(())
    }

    /// Returns the number of freed segments, and the number of segments that were sent or have arrived.
    pub(crate) fn counts(&mut self, context: &'static Context) -> [u64; 2] {
        self.look(context);
        [self.head, self.tail]
    }

    /// At the source, whether a segment may be written; at the destination, whether one may be read.
    pub(crate) fn is_open(&mut self, context: &'static Context) -> bool {
        let [head, tail] = self.counts(context);
        match self.end {
            End::Source(_) => tail - head < self.segments,
            End::Destination(_) => tail > head,
        }
    }

    /// Whether this end sends.
    pub(crate) fn is_source(&self) -> bool {
        matches!(self.end, End::Source(_))
    }

    /// Returns the number of segments that have arrived at the destination.
    pub(crate) fn sent(&mut self) -> Result<u64> {
        while let Some(&(_, handle)) = self.flights.front() {
            if !handle.test()? {
                break;
            }
            self.flights.pop_front();
        }
        Ok(self.flights.front().map_or(self.tail, |&(count, _)| count - 1))
    }

    /// Closes the connection after all operations in flight have completed.
    pub(crate) fn close(&mut self, context: &'static Context) -> Result<(), Refusal> {
        let State::Connected(peer) = self.state else { return Err(Refusal::NotConnected) };
        self.flights.drain(..).try_for_each(|(_, handle)| handle.wait())?;
        match &self.end {
            End::Source(link) => link.close(context, peer)?,
            End::Destination(link) => link.close(context)?,
        }
        self.state = State::Closed;
        Ok(())
    }

    /// Reads the counts that the peer has written. At the destination, copies arrived segments to the program's memory.
    fn look(&mut self, context: &'static Context) {
        match &self.end {
            End::Source(link) => self.head = link.progress(context).load(0),
            End::Destination(link) => {
                let block = link.block(context);
                let come = block.load(COME).min(self.head + self.segments);
                // The segments are read after the count.
                std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
                let words = self.segment_bytes.div_ceil(8);
                while self.tail < come {
                    let index = self.tail % self.segments;
                    let start = BLOCK_WORDS + index as usize * words;
                    let from = block.range(start..start + words).cells().part(0, self.segment_bytes as u64);
                    self.segment(index).copy_from(from.expect("a segment fits its words"));
                    self.tail += 1;
                }
            }
        }
    }

    /// Returns a segment of the program's memory.
    fn segment(&self, index: u64) -> Cells<'static> {
        // SAFETY: A6; the index is below the number of segments.
        unsafe { Cells::new(self.memory.add(index as usize * self.segment_bytes), self.segment_bytes) }
    }

    /// Returns the operation that was issued last, if it is still in flight.
    fn last(&mut self) -> Result<Option<Handle<'static>>> {
        self.sent()?;
        Ok(self.flights.back().map(|&(_, handle)| handle))
    }
}
