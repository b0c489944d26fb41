//! The choice of the next packet of a link by traffic classes.

use super::{Channel, Lane, Network, Packet, Request};
use crate::classes::ClassTurn;
use crate::events::queue::Queue;

/// The turn of a packet: that of its class, when it may be sent, and since when it has been ready.
type Turn = (ClassTurn, u64, u64);

impl Network {
    /// Whether the rail of a channel has traffic classes.
    #[inline]
    fn has_classes(&self, channel: u32) -> bool {
        !self.leads.is_empty() && !self.fabrics[usize::from(self.channels[channel as usize].network)].classes.is_empty()
    }

    /// Returns the packet to be sent next over a channel, of those that are first in line, and the time at which it may be sent.
    #[inline]
    pub(super) fn next(&mut self, channel: u32, now: u64) -> Option<(Request, u64)> {
        if self.has_classes(channel) { self.choose_by_class(channel, now) } else { self.choose(channel, now) }
    }

    /// Returns, of the packets that are first in line for a channel, the one to be sent next, and the time at which it may be sent.
    ///
    /// The link is reserved for a packet that would be sent now, but for the allocation of its lane or the end of the packet before it in its
    /// buffer: otherwise a class whose packets follow each other would lose every second turn. Room that becomes free later does not count: when
    /// a router learns of it depends on the division into regions.
    fn choose_by_class(&mut self, channel: u32, now: u64) -> Option<(Request, u64)> {
        let Channel { lane: first, network, mut lines, .. } = self.channels[channel as usize];
        let (mut earliest, mut next) = (None::<(Request, u64)>, None::<(Turn, Request, u64)>);
        while lines != 0 {
            let lane = first + lines.trailing_zeros();
            lines &= lines - 1;
            let Some(packet) = self.lanes[lane as usize].line.first() else { continue };
            let Packet { input, ready, part, .. } = self.packets[packet];
            let request = Request { packet, input, channel, lane };
            let admitted = self.admitted(request, now);
            let at = admitted.max(self.follows(request));
            if earliest.is_none_or(|(_, time)| at < time) {
                earliest = Some((request, at));
            }
            if admitted <= now {
                let fabric = &self.fabrics[usize::from(network)];
                let turn = (fabric.classes.turn(part.class, &self.leads[fabric.shares(channel)]), at, ready);
                if next.is_none_or(|(least, ..)| turn < least) {
                    next = Some((turn, request, at));
                }
            }
        }
        match (earliest, next) {
            (Some((_, time)), Some((_, request, at))) if time <= now => {
                if at > now {
                    // Nothing else is sent before, however often the channel is looked at meanwhile.
                    self.channels[channel as usize].free = at;
                }
                Some((request, at))
            }
            _ => earliest,
        }
    }

    /// Lets a packet ask that is the first in its buffer now. If it takes the link of the packet before it, it stands in line before that one has
    /// left completely.
    pub(super) fn schedule_by_class(&mut self, queue: &mut Queue, packet: u32) {
        let state = &mut self.packets[packet];
        let Lane { drained, last, .. } = self.lanes[state.input as usize];
        let arrived = state.ready;
        state.ready = arrived.max(drained);
        let &mut Packet { ready, input, channel, lane, .. } = state;
        let asks = if last == channel { arrived } else { ready };
        queue.push(Request { packet, input, channel, lane }.event(asks));
    }
}
