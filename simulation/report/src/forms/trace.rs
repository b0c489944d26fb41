//! The time line as a trace that Perfetto and chrome://tracing open: the trace event format of Chrome, in JSON.
//!
//! A node is a process, and a rank is a thread of it. Viewers attach the ends of an arrow to events, so events without duration mark
//! where a message is posted and where it takes effect. Identifiers of processes and threads begin at 1, since viewers interpret 0 as
//! the idle thread; the process of a node has the identifier of its first rank, as a real process has that of its first
//! thread.

use std::fmt;
use std::io::{self, Write};

use crate::report::Report;
use crate::sections::timeline::{MessageSpan, RankSpan};

impl Report {
    /// Writes the time line as a trace: all kept records, in one JSON object.
    ///
    /// Times are in microseconds with six decimals. Cost: some 90 bytes for each span and 650 for each message, in small writes,
    /// so that `to` should be buffered; memory of one word for each message.
    ///
    /// # Errors
    /// Writing to `to` fails.
    pub fn trace(&self, to: &mut dyn Write) -> io::Result<()> {
        let firsts = (0..self.timeline.ranks).step_by(self.job.per_node.max(1) as usize);
        let nodes: Vec<_> = (0..).zip(firsts).map(|(node, first)| TraceNode { name: format!("node {node}"), first }).collect();
        self.trace_of(&nodes, &[], to)
    }

    /// As [`trace`](Self::trace), for a job whose nodes have these names and first ranks, in the order of their ranks. `notes` are members of
    /// `otherData`: a name and a JSON value.
    ///
    /// # Errors
    /// Writing to `to` fails.
    ///
    /// # Panics
    /// The first node does not begin with rank 0.
    pub fn trace_of(&self, nodes: &[TraceNode], notes: &[(&str, serde_json::Value)], to: &mut dyn Write) -> io::Result<()> {
        assert!(nodes.first().is_none_or(|node| node.first == 0), "rank 0 has a node");
        let timeline = &self.timeline;
        let mut events = Events { to, nodes, any: false };
        write!(events.to, r#"{{"displayTimeUnit":"ns","otherData":{{"#)?;
        write!(events.to, r#""program":{},"machine":{},"#, text(&self.job.program), text(&self.job.machine))?;
        notes.iter().try_for_each(|(name, value)| write!(events.to, "{}:{value},", text(name)))?;
        timeline.sample.iter().try_for_each(|sample| write!(events.to, r#""sample":{},"#, text(sample)))?;
        write!(events.to, r#""spans_left_out":{},"#, timeline.spans_left_out)?;
        write!(events.to, r#""messages_left_out":{}}},"traceEvents":["#, timeline.messages_left_out)?;
        let mut named = None;
        for rank in timeline.shown() {
            let node = events.node(rank);
            if named.replace(node) != Some(node) {
                events.name_node(rank, node)?;
            }
            events.name(rank)?;
        }
        timeline.spans.iter().try_for_each(|span| events.span(span))?;
        (1..).zip(&timeline.messages).try_for_each(|(number, message)| events.message(number, message))?;
        self.count_under_way(&mut events)?;
        writeln!(events.to, "\n]}}")
    }

    /// Writes the number of messages in flight at each change.
    fn count_under_way(&self, events: &mut Events<'_>) -> io::Result<()> {
        let messages = &self.timeline.messages;
        let process = u64::from(self.timeline.ranks) + 1;
        events.event(format_args!(r#""ph":"M","name":"process_name","pid":{process},"args":{{"name":"job"}}"#))?;
        let name = if self.timeline.messages_left_out == 0 { "messages under way" } else { "messages under way, of those kept" };
        let mut ends: Vec<u64> = messages.iter().filter_map(|message| message.completed_ps).collect();
        ends.sort_unstable();
        let (mut begun, mut ended) = (0, 0);
        loop {
            let begin = messages.get(begun).map(|message| message.posted_ps);
            let end = ends.get(ended).copied();
            let Some(now) = begin.into_iter().chain(end).min() else { return Ok(()) };
            begun += messages[begun..].iter().take_while(|message| message.posted_ps <= now).count();
            ended += ends[ended..].iter().take_while(|&&end| end <= now).count();
            let (now, count) = (Microseconds(now), begun.saturating_sub(ended));
            events.event(format_args!(r#""ph":"C","name":"{name}","pid":{process},"ts":{now},"args":{{"messages":{count}}}"#))?;
        }
    }
}

/// A node of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceNode {
    /// The name of its row.
    pub name: String,
    /// Its first rank; the first rank of the next node follows its last one.
    pub first: u32,
}

/// The list of events, as it is written.
struct Events<'a> {
    to: &'a mut dyn Write,
    nodes: &'a [TraceNode],
    any: bool,
}

impl Events<'_> {
    /// Writes the name of a node, before the row of the first of its ranks that is shown.
    fn name_node(&mut self, rank: u32, node: usize) -> io::Result<()> {
        let (at, name) = (self.at(rank), text(&self.nodes[node].name));
        self.event(format_args!(r#""ph":"M","name":"process_name",{at},"args":{{"name":{name}}}"#))?;
        self.event(format_args!(r#""ph":"M","name":"process_sort_index",{at},"args":{{"sort_index":{node}}}"#))
    }

    /// Writes the name of the row of a rank.
    fn name(&mut self, rank: u32) -> io::Result<()> {
        let at = self.at(rank);
        self.event(format_args!(r#""ph":"M","name":"thread_name",{at},"args":{{"name":"rank {rank}"}}"#))?;
        self.event(format_args!(r#""ph":"M","name":"thread_sort_index",{at},"args":{{"sort_index":{rank}}}"#))
    }

    fn span(&mut self, span: &RankSpan) -> io::Result<()> {
        let (name, at) = (span.state.name(), self.at(span.rank));
        let (from, duration) = (Microseconds(span.from_ps), Microseconds(span.to_ps.saturating_sub(span.from_ps)));
        self.event(format_args!(r#""ph":"X","cat":"rank","name":"{name}",{at},"ts":{from},"dur":{duration}"#))
    }

    fn message(&mut self, number: u64, message: &MessageSpan) -> io::Result<()> {
        let MessageSpan { kind, from, to, bytes, posted_ps, effective_ps, failed, .. } = *message;
        let (kind, now, at) = (kind.name(), Microseconds(posted_ps), self.at(from));
        let flow = format!(r#""cat":"message","name":"{kind}","id":{number}"#);
        let ends = format!(r#""args":{{"bytes":{bytes},"from":{from},"to":{to},"failed":{failed}}}"#);
        self.event(format_args!(r#""ph":"X","cat":"post","name":"{kind}",{at},"ts":{now},"dur":0,{ends}"#))?;
        let Some(effective_ps) = effective_ps else { return Ok(()) };
        let load = format!(r#""args":{{"kind":"{kind}","bytes":{bytes}}}"#);
        self.event(format_args!(r#""ph":"s",{flow},{at},"ts":{now},{load}"#))?;
        let (now, at) = (Microseconds(effective_ps), self.at(to));
        self.event(format_args!(r#""ph":"X","cat":"effect","name":"{kind} effect",{at},"ts":{now},"dur":0,{ends}"#))?;
        self.event(format_args!(r#""ph":"f","bp":"e",{flow},{at},"ts":{now}"#))
    }

    fn event(&mut self, members: fmt::Arguments<'_>) -> io::Result<()> {
        let separator = if std::mem::replace(&mut self.any, true) { ",\n" } else { "\n" };
        write!(self.to, "{separator}{{{members}}}")
    }

    /// Returns the number of the node of a rank.
    fn node(&self, rank: u32) -> usize {
        self.nodes.partition_point(|node| node.first <= rank) - 1
    }

    /// Returns the process and thread identifiers of the row of a rank.
    fn at(&self, rank: u32) -> String {
        let (process, thread) = (u64::from(self.nodes[self.node(rank)].first) + 1, u64::from(rank) + 1);
        format!(r#""pid":{process},"tid":{thread}"#)
    }
}

/// A time in picoseconds, written in microseconds.
struct Microseconds(u64);

impl fmt::Display for Microseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

fn text(value: &str) -> serde_json::Value {
    value.into()
}
