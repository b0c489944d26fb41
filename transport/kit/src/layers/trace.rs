//! A layer that traces the operations of a transport as lines of text.

use core::fmt::{self, Write};

use pelago_base::{Instant, Rank, Team};
use pelago_platform::{
    Completion, Endpoint, Extensions, Flags, Network, Operation, PostError, ReductionGroup, ReductionOperator, Reductions,
    Registry, Token, Transfer, Transport, TwoSided,
};

/// Passes a line to a sink for every fence, post, completion, contribution to a reduction, and two-sided message sent or received, in the order in which they happen.
///
/// A line begins with the time in picoseconds (for a received message, the time of the preceding call) and contains no
/// local address, so that two runs with the same inputs have the same trace. Lines have no newline and fewer than 200 bytes.
pub struct Trace<T, S> {
    inner: T,
    sink: S,
    now: Instant,
    line: String,
}

impl<T, S: FnMut(&str) + Send> Trace<T, S> {
    /// Traces `inner`; `sink` receives each line.
    pub fn new(inner: T, sink: S) -> Self {
        Self { inner, sink, now: Instant::ZERO, line: String::new() }
    }

    /// The inner transport.
    pub fn inner(&self) -> &T {
        &self.inner
    }

    fn write(&mut self, text: fmt::Arguments<'_>) {
        self.line.clear();
        write!(self.line, "{} {text}", self.now.as_picoseconds()).expect("a string takes any text");
        (self.sink)(&self.line);
    }

    fn write_posted(&mut self, posted: Result<(), PostError>, to: Endpoint, token: Token, what: impl fmt::Display) {
        match posted {
            Ok(()) => self.write(format_args!("post {} to {}: {what}", token.0, to.0)),
            Err(error) => self.write(format_args!("refuse {} to {}: {what}: {error}", token.0, to.0)),
        }
    }
}

impl<T: Transport, S: FnMut(&str) + Send> Transport for Trace<T, S> {
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
        self.now = now;
        let posted = self.inner.post(now, to, operation, flags, token);
        if flags.fence {
            self.write(format_args!("fence {}", to.0));
        }
        self.write_posted(posted, to, token, Shown(operation, flags.notify));
        posted
    }

    fn flush(&mut self, now: Instant) {
        self.inner.flush(now);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.inner.next_deadline()
    }

    fn before_sleep(&mut self) {
        self.inner.before_sleep();
    }

    fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool {
        self.now = now;
        let before = completed.len();
        let moved = self.inner.progress(now, completed);
        for Completion { token, result } in &completed[before..] {
            match result {
                Ok(found) => self.write(format_args!("complete {}: {found:#x}", token.0)),
                Err(failure) => self.write(format_args!("fail {}: {failure}", token.0)),
            }
        }
        moved
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        self.inner.extensions()?;
        Some(self)
    }
}

impl<T: Transport, S: FnMut(&str) + Send> Extensions for Trace<T, S> {
    fn two_sided(&mut self) -> Option<&mut dyn TwoSided> {
        self.inner.extensions()?.two_sided()?;
        Some(self)
    }

    fn reductions(&mut self) -> Option<&mut dyn Reductions> {
        self.inner.extensions()?.reductions()?;
        Some(self)
    }
}

impl<T: Transport, S: FnMut(&str) + Send> Reductions for Trace<T, S> {
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
        self.now = now;
        let network = self.inner.extensions().and_then(|inner| inner.reductions()).ok_or(PostError::Group)?;
        let contributed = network.contribute(now, to, operator, words, token);
        let (what, refusal) = match contributed {
            Ok(()) => ("contribute", String::new()),
            Err(error) => ("refuse", format!(": {error}")),
        };
        let (token, group, count) = (token.0, to.0, words.len());
        self.write(format_args!("{what} {token}: {operator:?} of {count} words in group {group}{refusal}"));
        contributed
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

impl<T: Transport, S: FnMut(&str) + Send> TwoSided for Trace<T, S> {
    fn send(&mut self, now: Instant, to: Endpoint, bytes: &[u8], token: Token) -> Result<(), PostError> {
        self.now = now;
        let network = self.inner.extensions().and_then(|inner| inner.two_sided()).ok_or(PostError::Unknown(to))?;
        let posted = network.send(now, to, bytes, token);
        self.write_posted(posted, to, token, format_args!("message of {} bytes", bytes.len()));
        posted
    }

    fn take(&mut self) -> Option<(Rank, Box<[u8]>)> {
        let (from, bytes) = self.inner.extensions()?.two_sided()?.take()?;
        self.write(format_args!("take message of {} bytes from rank {from}", bytes.len()));
        Some((from, bytes))
    }
}

/// An operation without its bytes and local addresses, and whether it notifies its target.
struct Shown<'a>(Operation<'a>, bool);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Operation::Write { to, bytes } => write!(f, "write {} bytes to {:#x}", bytes.len(), to.bits()),
            Operation::Signalled { to, bytes, at, word } => {
                write!(f, "write {} bytes to {:#x}, then {word:#x} to {:#x}", bytes.len(), to.bits(), at.bits())
            }
            Operation::Put { from, to } => write!(f, "put {} bytes to {:#x}", from.bytes(), to.bits()),
            Operation::Get { from, to } => write!(f, "get {} bytes from {:#x}", to.bytes(), from.bits()),
            Operation::PutBlocks { to, blocks, .. } => {
                write!(f, "put {} bytes to blocks at {:#x}", blocks.bytes().unwrap_or(u64::MAX), to.bits())
            }
            Operation::GetBlocks { from, blocks, .. } => {
                write!(f, "get {} bytes from blocks at {:#x}", blocks.bytes().unwrap_or(u64::MAX), from.bits())
            }
            Operation::Copy { from, to, bytes } => write!(f, "copy {bytes} bytes from {:#x} to {:#x}", from.bits(), to.bits()),
            Operation::Atomic { at, width, operator, operand } => {
                write!(f, "{operator:?} of {} bytes at {:#x} with {operand:#x}", width.bytes(), at.bits())
            }
            Operation::Sized(Transfer::Put { to, bytes }) => write!(f, "size of put {bytes} bytes to {:#x}", to.bits()),
            Operation::Sized(Transfer::Get { from, bytes }) => write!(f, "size of get {bytes} bytes from {:#x}", from.bits()),
            Operation::Sized(Transfer::Copy { from, to, bytes }) => {
                write!(f, "size of copy {bytes} bytes from {:#x} to {:#x}", from.bits(), to.bits())
            }
        }?;
        f.write_str(if self.1 { ", and notify" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Loopback;
    use pelago_base::{AddressLayout, AtomicOperator, GlobalAddress, Rank, Width};

    #[test]
    fn each_post_fence_and_completion_is_a_line() {
        let mut lines = Vec::new();
        let mut network = Loopback::network(AddressLayout::new(2, 4096).unwrap(), 2);
        let peer = network[1].network().address();
        let mut transport = Trace::new(network.into_iter().next().unwrap(), |line: &str| lines.push(line.to_owned()));
        let there = transport.network().connect(None, Rank::new(1), &peer).unwrap();
        let at = GlobalAddress::from_bits(0x1000);
        let operator = AtomicOperator::CompareSwap { expected: 5 };
        let atomic = Operation::Atomic { at, width: Width::Eight, operator, operand: 16 };
        let write = Operation::Write { to: at, bytes: b"abc" };
        transport.post(Instant::from_picoseconds(7), there, write, Flags { notify: true, ..Flags::FENCE }, Token(1)).unwrap();
        transport.post(Instant::from_picoseconds(8), Endpoint(5), atomic, Flags::NONE, Token(2)).unwrap_err();
        transport.progress(Instant::from_picoseconds(9), &mut Vec::new());
        assert_eq!(
            lines,
            [
                "7 fence 1",
                "7 post 1 to 1: write 3 bytes to 0x1000, and notify",
                "8 refuse 2 to 5: CompareSwap { expected: 5 } of 8 bytes at 0x1000 with 0x10: Endpoint(5) is not connected",
                "9 fail 1: GlobalAddress(0x0000000000001000) is not in registered memory of its rank",
            ]
        );
    }
}
