//! The execution of the messages of a member over its streams.

use pelago_rma::{Context, Error, Pod, Result};

use super::schedule::{Messages, Source};
use super::streams::{Broken, Fragment, Streams};
use crate::executor::MemberContext;
use crate::operator::Fold;
use crate::schedule::Side;

/// Bytes that are combined at a time: they stay in the first-level cache.
pub(crate) const CHUNK_BYTES: usize = 16 * 1024;

/// The messages of an operation, and the progress of each.
#[derive(Default)]
pub(crate) struct Exchange {
    pub(crate) messages: Messages,
    sent: Vec<Progress>,
    received: Vec<Progress>,
    /// Index of the first send, and of the first receive, that has not ended.
    first: [usize; 2],
}

#[derive(Clone, Copy, Default)]
struct Progress {
    values: usize,
    has_ended: bool,
}

/// The program's memory.
pub(crate) struct Buffers<'b, T> {
    pub(crate) input: &'b [T],
    pub(crate) output: &'b mut [T],
    pub(crate) chunk: &'b mut [T],
    pub(crate) fold: &'b dyn Fold<T>,
}

impl Exchange {
    /// Starts the operation with its messages.
    pub(crate) fn begin(&mut self) {
        self.sent.clear();
        self.sent.resize(self.messages.sends.len(), Progress::default());
        self.received.clear();
        self.received.resize(self.messages.receives.len(), Progress::default());
        self.first = [0; 2];
    }

    fn has_ended(&self) -> bool {
        self.first == [self.sent.len(), self.received.len()]
    }

    /// Advances as far as possible without waiting; returns whether anything moved, and whether the operation has ended.
    pub(crate) fn advance<T: Pod>(
        &mut self,
        member: &MemberContext<'_>,
        context: &Context,
        streams: &mut Streams,
        buffers: Buffers<'_, T>,
    ) -> Result<(bool, bool)> {
        if let Some(broken) = streams.ended() {
            // The failure of a member is the better reason.
            member.is_whole()?;
            return Err(error_of(broken));
        }
        let mut advancing = Advancing { streams, member, context, has_returned: false };
        let advanced = self.go_on(member, context, advancing.streams, buffers);
        advancing.has_returned = true;
        if advanced.is_err() && advancing.streams.ended().is_none() {
            advancing.streams.end(Broken::Failed);
        }
        advanced
    }

    fn go_on<T: Pod>(
        &mut self,
        member: &MemberContext<'_>,
        context: &Context,
        streams: &mut Streams,
        mut buffers: Buffers<'_, T>,
    ) -> Result<(bool, bool)> {
        let mut any = false;
        loop {
            let mut moved = false;
            for index in self.first[0]..self.sent.len() {
                moved |= self.send(index, member, context, streams, &buffers)?;
                if self.messages.sends_in_order && !self.sent[index].has_ended {
                    break;
                }
            }
            for index in self.first[1]..self.received.len() {
                moved |= self.receive(index, member, context, streams, &mut buffers)?;
                if self.messages.receives_in_order && !self.received[index].has_ended {
                    break;
                }
            }
            for (first, progress) in self.first.iter_mut().zip([&self.sent, &self.received]) {
                *first += progress[*first..].iter().take_while(|progress| progress.has_ended).count();
            }
            any |= moved;
            if self.has_ended() {
                return Ok((any, true));
            }
            if !moved {
                member.is_whole()?;
                if let Some(broken) = streams.broken(context) {
                    return Err(end(streams, broken));
                }
                return Ok((any, false));
            }
        }
    }

    fn send<T: Pod>(
        &mut self,
        index: usize,
        member: &MemberContext<'_>,
        context: &Context,
        streams: &mut Streams,
        buffers: &Buffers<'_, T>,
    ) -> Result<bool> {
        let send = self.messages.sends[index];
        if send.after.is_some_and(|after| !self.received[after].has_ended) {
            return Ok(false);
        }
        let (values, there) = match send.from {
            Source::Input => (buffers.input, send.block.count),
            Source::Received(receive) => (&*buffers.output, self.received[receive].values),
        };
        let (progress, fragment) = (&mut self.sent[index], streams.fragment::<T>());
        let (kind, to) = (self.messages.kind, (send.to, member.rank(send.to)));
        let mut moved = false;
        while !progress.has_ended {
            let length = fragment.min(send.block.count - progress.values);
            if progress.values + length > there {
                break;
            }
            let start = send.block.start + progress.values;
            let is_last = progress.values + length == send.block.count;
            let said = Fragment { kind, bytes: length * size_of::<T>(), is_last };
            if !streams.send(context, to, &values[start..start + length], said)? {
                break;
            }
            progress.values += length;
            (progress.has_ended, moved) = (is_last, true);
        }
        Ok(moved)
    }

    fn receive<T: Pod>(
        &mut self,
        index: usize,
        member: &MemberContext<'_>,
        context: &Context,
        streams: &mut Streams,
        buffers: &mut Buffers<'_, T>,
    ) -> Result<bool> {
        let receive = self.messages.receives[index];
        let Buffers { input, output, chunk, fold } = buffers;
        let output = &mut output[receive.block.start..receive.block.start + receive.block.count];
        let progress = &mut self.received[index];
        if progress.has_ended {
            return Ok(false);
        }
        if receive.from == member.position {
            if receive.own.count != receive.block.count {
                streams.tell_broken(context, Broken::Different, member.team.iter())?;
                return Err(end(streams, Broken::Different));
            }
            let own = &input[receive.own.start..receive.own.start + receive.own.count];
            if receive.combines {
                fold.fold(output, own, Side::Right)
            } else {
                output.copy_from_slice(own)
            }
            *progress = Progress { values: receive.block.count, has_ended: true };
            return Ok(true);
        }
        let (fragment, from) = (streams.fragment::<T>(), (receive.from, member.rank(receive.from)));
        let mut moved = false;
        while !progress.has_ended
            && let Some(said) = streams.next(context, receive.from)
        {
            let length = fragment.min(receive.block.count - progress.values);
            let is_last = progress.values + length == receive.block.count;
            if !Streams::is(said, Fragment { kind: self.messages.kind, bytes: length * size_of::<T>(), is_last }) {
                streams.tell_broken(context, Broken::Different, member.team.iter())?;
                return Err(end(streams, Broken::Different));
            }
            let landed = streams.landed::<T>(context, receive.from, length);
            let into = &mut output[progress.values..progress.values + length];
            if receive.combines {
                let mut done = 0;
                for some in into.chunks_mut(chunk.len().max(1)) {
                    let with = &mut chunk[..some.len()];
                    landed.read(done, with);
                    done += some.len();
                    fold.fold(some, with, Side::Right);
                }
            } else {
                landed.read(0, into);
            }
            streams.take(context, from)?;
            progress.values += length;
            (progress.has_ended, moved) = (is_last, true);
        }
        Ok(moved)
    }
}

/// An operation that is advancing. If its operator panics, part of a fragment is combined already: neither this member nor one that waits for it can
/// continue.
struct Advancing<'a> {
    streams: &'a mut Streams,
    member: &'a MemberContext<'a>,
    context: &'a Context,
    has_returned: bool,
}

impl Drop for Advancing<'_> {
    fn drop(&mut self) {
        if !self.has_returned {
            self.streams.end(Broken::Panicked);
            // A put that fails is reported by the next wait of this member.
            let _told = self.streams.tell_broken(self.context, Broken::Panicked, self.member.team.iter());
        }
    }
}

/// Ends all operations of this member. Fragments of the operation that fails may arrive later, and would be taken for those of the next.
fn end(streams: &mut Streams, broken: Broken) -> Error {
    streams.end(broken);
    error_of(broken)
}

fn error_of(broken: Broken) -> Error {
    match broken {
        Broken::Different => Error::Disagreement("the counts of a collective operation, or in the order of operations"),
        Broken::Panicked => Error::Invalid(
            "the operator of a member has panicked: no operation with counts of the team, and none in flight, can continue",
        ),
        Broken::Failed => Error::Invalid(
            "an operation with counts has failed on this member: its messages may arrive later, so that no further one of the team is possible",
        ),
    }
}
