//! Results, combined from all ranks.

use std::io::Write;
use std::process::ExitCode;

use pelago::{Duration, World};

use super::letter::{self, Head};
use super::{Arguments, RECEIVER};
use crate::usage::Output;

/// Results of one rank.
pub(super) struct Report {
    senders: u32,
    /// Bytes of the receiver's memory reserved for messages of all senders.
    pub(super) room_bytes: usize,
    /// Number of ranks that hold counters of the mailbox.
    pub(super) servers: usize,
    /// Maximum bytes of unexpected messages.
    pub(super) unexpected_bytes: usize,
    /// Operations issued by the receiver's core, plus two-sided messages that it has processed.
    pub(super) operations: u64,
    /// Number of times that a sender polled for permission to send.
    pub(super) looks: u64,
    /// 1 if a message of this rank found no room in all attempts of the network, or was not fetched in time.
    pub(super) refused: u64,
    pub(super) found: Option<Found>,
    /// Mean time of a bystander's put before the messages, and during them.
    pub(super) quiet: Option<Duration>,
    pub(super) busy: Option<Duration>,
}

/// Results of the receiver.
pub(super) struct Found {
    /// The first sender, and the number of messages of each sender.
    first: u32,
    messages: u32,
    /// Whether each message has arrived, as bits.
    seen: Vec<u64>,
    /// For each sender: the number after the highest received one, the count of received messages, and the time of the last one.
    next: Vec<u32>,
    count: Vec<u32>,
    last: Vec<Duration>,
    pub(super) end: Duration,
    /// Number of corrupt or duplicate messages.
    wrong: u64,
    /// Number of messages that arrived after a later one of their sender.
    overtaken: u64,
}

impl Found {
    pub(super) fn new(first: u32, senders: u32, messages: u32) -> Self {
        let places = senders as usize;
        let (next, count, last) = (vec![0; places], vec![0; places], vec![Duration::ZERO; places]);
        let seen = vec![0; (places * messages as usize).div_ceil(64)];
        Self { first, messages, seen, next, count, last, end: Duration::ZERO, wrong: 0, overtaken: 0 }
    }

    /// Records a received message; `after` returns the time since the start.
    pub(super) fn note(&mut self, bytes: &[u8], after: impl Fn() -> Duration) {
        let senders = self.first..self.first + self.next.len() as u32;
        let known = |head: &Head| senders.contains(&head.sender) && head.number < self.messages;
        let Some(Head { sender, number }) = letter::read(bytes).filter(known) else {
            self.wrong += 1;
            return;
        };
        let place = (sender - self.first) as usize;
        let bit = place * self.messages as usize + number as usize;
        if self.seen[bit / 64] >> (bit % 64) & 1 == 1 {
            self.wrong += 1;
            return;
        }
        self.seen[bit / 64] |= 1 << (bit % 64);
        self.overtaken += u64::from(number < self.next[place]);
        self.next[place] = self.next[place].max(number + 1);
        self.count[place] += 1;
        if self.count[place] == self.messages {
            self.last[place] = after();
        }
    }

    fn received(&self) -> u64 {
        self.count.iter().map(|&count| u64::from(count)).sum()
    }

    /// Returns the time at which the first sender was finished, divided by that of the last: 1 if all were served equally.
    fn fairness(&self) -> f64 {
        let done =
            self.last.iter().zip(&self.count).filter(|(_, count)| **count == self.messages).map(|(last, _)| last.as_seconds());
        let first = done.fold(f64::INFINITY, f64::min);
        if first.is_finite() { first / self.end.as_seconds().max(f64::MIN_POSITIVE) } else { 0.0 }
    }
}

impl Report {
    pub(super) fn new(senders: u32) -> Self {
        Self {
            senders,
            room_bytes: 0,
            servers: 0,
            unexpected_bytes: 0,
            operations: 0,
            looks: 0,
            refused: 0,
            found: None,
            quiet: None,
            busy: None,
        }
    }

    /// Combines the results of all ranks; rank 0 prints them.
    pub(super) fn tell(self, world: &World, arguments: &Arguments) -> pelago::Result<ExitCode> {
        let wrong = self.found.as_ref().map_or(0, |found| found.wrong);
        // A sender that has acquired a slot cannot lose its message.
        let missing = self.found.as_ref().filter(|_| arguments.method.acquires()).map_or(0, |found| self.lost(arguments, found));
        let time = |time: Option<Duration>| time.map_or(0, Duration::as_picoseconds);
        let mut sums = [self.looks, self.refused, wrong, time(self.quiet), time(self.busy), missing];
        world.allreduce(&mut sums, |one, other| one + other)?;
        if world.rank() == RECEIVER {
            let _ = writeln!(Output, "{}", self.lines(world, arguments, sums));
        }
        Ok(if sums[2] + sums[5] == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Number of messages that the receiver has not received.
    fn lost(&self, arguments: &Arguments, found: &Found) -> u64 {
        u64::from(self.senders) * u64::from(arguments.messages) - found.received()
    }

    fn lines(&self, world: &World, arguments: &Arguments, [looks, refused, wrong, quiet, busy, _]: [u64; 6]) -> String {
        let Some(found) = &self.found else { return String::new() };
        let received = found.received();
        let seconds = found.end.as_seconds();
        let rate = received as f64 / seconds.max(f64::MIN_POSITIVE);
        let per_message = |number: f64| number / (received as f64).max(1.0);
        let operations = per_message(self.operations as f64);
        let memory = self.room_bytes + self.unexpected_bytes;
        let (lost, fairness) = (self.lost(arguments, found), found.fairness());
        let slowdown = if quiet > 0 { busy as f64 / quiet as f64 } else { 0.0 };
        let Arguments { method, messages, bytes, slots, waiters, batch, .. } = arguments;
        if arguments.format == "json" {
            let peak = if arguments.peak { peak_bytes() } else { None };
            let peak = peak.map_or_else(String::new, |bytes| format!(r#","memory_peak_bytes":{bytes}"#));
            return format!(
                r#"{{"program":"incast","method":"{method}","ranks":{},"senders":{},"messages":{messages},"bytes":{bytes},"slots":{slots},"waiters":{waiters},"batch":{batch},"sleep_ms":{},"time_us":{:.3},"messages_per_second":{rate:.0},"received":{received},"lost":{lost},"senders_refused":{refused},"servers":{},"overtaken":{},"wrong":{wrong},"receiver_memory_bytes":{memory},"unexpected_bytes":{},"looks_per_message":{:.3},"receiver_operations_per_message":{operations:.3},"fairness":{fairness:.3},"bystander_quiet_us":{:.3},"bystander_busy_us":{:.3},"bystander_slowdown":{slowdown:.2}{peak}}}"#,
                world.size(),
                self.senders,
                arguments.sleep_ms,
                seconds * 1e6,
                self.servers,
                found.overtaken,
                self.unexpected_bytes,
                per_message(looks as f64),
                quiet as f64 / 1e6,
                busy as f64 / 1e6,
            );
        }
        let mut text = format!(
            "incast {method} senders {} messages {messages} bytes {bytes} slots {slots} us {:.3} messages/s {rate:.0} received {received} lost {lost} \
             refused {refused} overtaken {} wrong {wrong} receiver-bytes {memory} looks/message {:.2} receiver-operations/message {operations:.2} fairness {fairness:.2}",
            self.senders,
            seconds * 1e6,
            found.overtaken,
            per_message(looks as f64),
        );
        if quiet > 0 {
            text += &format!(" bystander-slowdown {slowdown:.2}");
        }
        text
    }
}

/// Returns the peak memory of this process, if the system reports it.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::letter::Letter;
    use super::*;
    use pelago::Rank;

    #[test]
    fn what_is_wrong_is_counted_and_what_is_missing_is_lost() {
        let (mut found, mut letter) = (Found::new(1, 2, 3), Letter::new(32));
        let time = Duration::from_microseconds;
        let mut note = |sender, number, at| found.note(letter.write(Rank::new(sender), number), || time(at));
        note(1, 0, 1);
        note(1, 2, 2);
        note(1, 1, 3);
        note(1, 1, 3);
        note(2, 0, 4);
        note(2, 0, 5);
        note(3, 0, 6);
        note(2, 3, 7);
        found.note(&[0; 32], || time(8));
        assert_eq!((found.received(), found.overtaken, found.wrong), (4, 1, 5));
        assert_eq!(found.last, [time(3), Duration::ZERO], "when all of a sender had come");
        found.end = time(6);
        assert_eq!(found.fairness(), 0.5, "the first was done after half the time");
    }
}
