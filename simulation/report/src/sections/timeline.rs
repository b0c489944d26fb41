//! The time line: the activities of ranks, and the messages between them.

use std::collections::BTreeSet;

use pelago_base::Instant;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::Limits;
use crate::sections::latencies::OperationKind;

/// Spans and messages, as many as the limits permit.
///
/// In JSON, a span is a list of `rank`, `state`, `from_ps`, `to_ps`, and a message is one of `kind`, `from`, `to`, `bytes`,
/// `posted_ps`, `effective_ps`, `completed_ps`, `failed`: a tenth of the size of objects with names, of which there may be a million.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// The [`Sample`](pelago_base::Sample) that it is confined to, as text; `None` if it covers the whole job. Records outside of it count as left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<String>,
    /// The time line contains only ranks below this one.
    pub ranks: u32,
    /// The time before which no record of those ranks is left out; `None` if none is left out at all.
    pub complete_until_ps: Option<u64>,
    /// Number of spans that are left out, of any rank.
    pub spans_left_out: u64,
    /// Number of messages that are left out, of any ranks.
    pub messages_left_out: u64,
    /// The spans, ordered by beginning, then by rank.
    pub spans: Vec<RankSpan>,
    /// The messages, in the order of posting.
    pub messages: Vec<MessageSpan>,
}

/// The activity of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RankActivity {
    /// It waits for an event.
    Waiting,
    /// It computes.
    Computing,
}

impl RankActivity {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Computing => "computing",
        }
    }
}

/// An interval of one activity of a rank; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankSpan {
    /// The rank.
    pub rank: u32,
    /// Its activity.
    pub state: RankActivity,
    /// When it begins.
    pub from_ps: u64,
    /// When it ends.
    pub to_ps: u64,
}

/// An operation from its posting to its completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageSpan {
    /// Its kind.
    pub kind: OperationKind,
    /// The rank that posted it.
    pub from: u32,
    /// The rank at its other end.
    pub to: u32,
    /// Number of bytes that it moves.
    pub bytes: u64,
    /// When it was posted.
    pub posted_ps: u64,
    /// When it took effect; `None` if it never did.
    pub effective_ps: Option<u64>,
    /// When its initiator got its completion; `None` if the job ended before.
    pub completed_ps: Option<u64>,
    /// Whether it failed.
    pub failed: bool,
}

impl Timeline {
    pub(crate) fn new(limits: &Limits) -> Self {
        let sample = &limits.sample;
        let is_sample = sample.names_ranks() || sample.names_times();
        let ranks = if sample.names_ranks() { u32::MAX } else { limits.ranks_max };
        Self { sample: is_sample.then(|| sample.to_string()), ranks, ..Self::default() }
    }

    /// Keeps a span if there is room.
    pub(crate) fn add_span(&mut self, span: RankSpan, limits: &Limits) {
        let [from, until] = [limits.sample.from(), limits.sample.until()].map(Instant::as_picoseconds);
        let span = RankSpan { from_ps: span.from_ps.max(from), to_ps: span.to_ps.min(until), ..span };
        if !limits.has(span.rank) || span.from_ps >= span.to_ps {
            self.spans_left_out += 1;
        } else if self.spans.len() < limits.records_max {
            self.spans.push(span);
        } else {
            self.spans_left_out += 1;
            self.leave_out_from(span.from_ps);
        }
    }

    /// Keeps a message if there is room; returns its index.
    pub(crate) fn add_message(&mut self, message: MessageSpan, limits: &Limits) -> Option<usize> {
        let is_in_time = limits.sample.has_moment(Instant::from_picoseconds(message.posted_ps));
        if !is_in_time || !limits.has_message(message.from, message.to) {
            self.messages_left_out += 1;
            return None;
        }
        if self.messages.len() >= limits.records_max {
            self.messages_left_out += 1;
            self.leave_out_from(message.posted_ps);
            return None;
        }
        self.messages.push(message);
        Some(self.messages.len() - 1)
    }

    /// Counts spans and messages without times, of a rank whose other records end at `from`.
    pub(crate) fn leave_out(&mut self, spans: u64, messages: u64, from: Instant) {
        self.spans_left_out += spans;
        self.messages_left_out += messages;
        if spans > 0 || messages > 0 {
            self.leave_out_from(from.as_picoseconds());
        }
    }

    /// Sorts the spans.
    pub(crate) fn finish(&mut self, ranks: u32) {
        self.ranks = self.ranks.min(ranks);
        self.spans.sort_by_key(|span| (span.from_ps, span.rank, span.to_ps));
    }

    /// Returns the same time line with at most the first `records` spans and messages.
    pub(crate) fn first(&self, records: usize) -> Self {
        let (spans, more_spans) = self.spans.split_at(records.min(self.spans.len()));
        let (messages, more_messages) = self.messages.split_at(records.min(self.messages.len()));
        let mut first = Self {
            spans_left_out: self.spans_left_out.saturating_add(more_spans.len() as u64),
            messages_left_out: self.messages_left_out.saturating_add(more_messages.len() as u64),
            spans: spans.into(),
            messages: messages.into(),
            sample: self.sample.clone(),
            ..*self
        };
        more_spans.first().into_iter().for_each(|span| first.leave_out_from(span.from_ps));
        more_messages.first().into_iter().for_each(|message| first.leave_out_from(message.posted_ps));
        first
    }

    /// Returns the ranks that a viewer shows, in ascending order: all below [`ranks`](Self::ranks), or those with records in the sample.
    pub(crate) fn shown(&self) -> Vec<u32> {
        if self.sample.is_none() {
            return (0..self.ranks).collect();
        }
        let ends = self.messages.iter().flat_map(|message| [message.from, message.to]);
        let shown: BTreeSet<u32> = self.spans.iter().map(|span| span.rank).chain(ends).collect();
        shown.into_iter().collect()
    }

    fn leave_out_from(&mut self, from_ps: u64) {
        self.complete_until_ps = Some(self.complete_until_ps.map_or(from_ps, |until| until.min(from_ps)));
    }
}

impl Serialize for RankSpan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.rank, self.state, self.from_ps, self.to_ps).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RankSpan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (rank, state, from_ps, to_ps) = Deserialize::deserialize(deserializer)?;
        Ok(Self { rank, state, from_ps, to_ps })
    }
}

impl Serialize for MessageSpan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { kind, from, to, bytes, posted_ps, effective_ps, completed_ps, failed } = *self;
        (kind, from, to, bytes, posted_ps, effective_ps, completed_ps, failed).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for MessageSpan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (kind, from, to, bytes, posted_ps, effective_ps, completed_ps, failed) = Deserialize::deserialize(deserializer)?;
        Ok(Self { kind, from, to, bytes, posted_ps, effective_ps, completed_ps, failed })
    }
}
