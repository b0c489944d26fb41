//! Interruptions of cores by the operating system.

use pelago_base::Duration;
use serde::Deserialize;

use super::{MachineError, check, picoseconds};

/// Maximum number of interruptions of a trace. Each takes 32 bytes of the simulator's memory.
const INTERRUPTIONS_MAX: usize = 1 << 16;

/// The interruptions of each core by the operating system: periodic ones, or those of a trace that repeats. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// Where each core begins in the period or in the trace.
    #[serde(default)]
    pub phases: Phases,
    /// Time from the end of an interruption until the end of the next one.
    period_ns: Option<f64>,
    /// Time of each interruption.
    duration_ns: Option<f64>,
    /// The interruptions of a trace: pairs of beginning and duration, in order of time.
    trace: Option<Vec<(f64, f64)>>,
    /// Time after which the trace repeats.
    trace_ns: Option<f64>,
}

/// Where each core begins in the period or in the trace of its interruptions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phases {
    /// At a time of its own, by the seed of the job.
    #[default]
    Random,
    /// At its beginning, so that all cores are interrupted at the same time.
    Same,
}

impl Noise {
    /// Returns the beginning and the end of each interruption, in order, and the time after which all of them repeat. The interruption of a period
    /// is at its end.
    pub fn interruptions(&self) -> (Vec<(Duration, Duration)>, Duration) {
        let time = |nanoseconds: f64| Duration::from_picoseconds(picoseconds(nanoseconds));
        match (self.period_ns, self.duration_ns, &self.trace, self.trace_ns) {
            (Some(period), Some(duration), ..) => (vec![(time(period) - time(duration), time(period))], time(period)),
            (.., Some(trace), Some(length)) => {
                let interruption = |&(begin, duration): &(f64, f64)| (time(begin), time(begin + duration));
                (trace.iter().map(interruption).collect(), time(length))
            }
            _ => (Vec::new(), time(1.0)),
        }
    }

    pub(super) fn check(&self) -> Result<(), MachineError> {
        match (self.period_ns, self.duration_ns, &self.trace, self.trace_ns) {
            (Some(period), Some(duration), None, None) => {
                repetition("node.noise.period_ns", period)?;
                check::delay("node.noise.duration_ns", duration)?;
                if picoseconds(duration) >= picoseconds(period) {
                    let allowed = format!("less than period_ns, which is {period}");
                    return Err(MachineError::value("node.noise.duration_ns", duration, &allowed));
                }
                Ok(())
            }
            (None, None, Some(trace), Some(length)) => {
                repetition("node.noise.trace_ns", length)?;
                check_trace(trace, length)
            }
            _ => Err(MachineError(
                "node.noise: needs either period_ns and duration_ns, or trace and trace_ns, and not keys of both".into(),
            )),
        }
    }
}

/// Checks a time after which interruptions repeat.
fn repetition(key: &str, nanoseconds: f64) -> Result<(), MachineError> {
    check::delay(key, nanoseconds)?;
    if nanoseconds >= 1.0 { Ok(()) } else { Err(MachineError::value(key, nanoseconds, "at least 1")) }
}

fn check_trace(trace: &[(f64, f64)], length: f64) -> Result<(), MachineError> {
    const KEY: &str = "node.noise.trace";
    if trace.is_empty() || trace.len() > INTERRUPTIONS_MAX {
        let allowed = format!("1 to {INTERRUPTIONS_MAX} of [start, duration], in nanoseconds");
        return Err(MachineError::value(KEY, format!("{} pairs", trace.len()), &allowed));
    }
    let (mut end, mut sum) = (0.0, 0);
    for &(start, duration) in trace {
        check::delay(KEY, start)?;
        check::delay(KEY, duration)?;
        let pair = format!("[{start}, {duration}]");
        if start < end {
            return Err(MachineError::value(KEY, pair, &format!("later: the pair before ends at {end}")));
        }
        end = start + duration;
        if end > length {
            return Err(MachineError::value(KEY, pair, &format!("over at trace_ns at the latest, which is {length}")));
        }
        sum += picoseconds(end) - picoseconds(start);
    }
    if sum >= picoseconds(length) {
        let allowed = "longer than all interruptions of the trace together";
        return Err(MachineError::value("node.noise.trace_ns", length, allowed));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;

    fn machine(noise: &str) -> Result<Machine, String> {
        let text = format!("{}\n[node.noise]\n{noise}\n", Machine::bundled("laptop").unwrap());
        Machine::parse(&text).map_err(|error| error.to_string())
    }

    #[test]
    fn interruptions_have_a_beginning_and_an_end() {
        let of = |noise| {
            let (interruptions, length) = machine(noise).unwrap().noise().unwrap().interruptions();
            let numbers = |(begin, end): (Duration, Duration)| (begin.as_picoseconds(), end.as_picoseconds());
            (interruptions.into_iter().map(numbers).collect::<Vec<_>>(), length.as_picoseconds())
        };
        assert_eq!(of("period_ns = 1000\nduration_ns = 2.5"), (vec![(997_500, 1_000_000)], 1_000_000));
        assert_eq!(
            of("trace_ns = 9.0\ntrace = [[0, 1], [1, 0.5], [3, 0.25]]"),
            (vec![(0, 1000), (1000, 1500), (3000, 3250)], 9000)
        );
    }

    #[test]
    fn wrong_values_are_named() {
        for (noise, says) in [
            ("", "node.noise: needs either period_ns and duration_ns, or trace and trace_ns"),
            ("period_ns = 5", "node.noise: needs either"),
            ("trace_ns = 5", "node.noise: needs either"),
            ("period_ns = 5\nduration_ns = 1\ntrace_ns = 7", "node.noise: needs either"),
            ("period_ns = 0.5\nduration_ns = 0", "node.noise.period_ns = 0.5: must be at least 1"),
            ("period_ns = 5\nduration_ns = 5", "node.noise.duration_ns = 5: must be less than period_ns, which is 5"),
            ("period_ns = -1\nduration_ns = 0", "node.noise.period_ns = -1: must be nanoseconds"),
            ("trace_ns = 5\ntrace = []", "node.noise.trace = 0 pairs: must be 1 to 65536 of [start, duration]"),
            ("trace_ns = 5\ntrace = [[1, 2], [2, 1]]", "node.noise.trace = [2, 1]: must be later: the pair before ends at 3"),
            (
                "trace_ns = 5\ntrace = [[1, 2], [4, 2]]",
                "node.noise.trace = [4, 2]: must be over at trace_ns at the latest, which is 5",
            ),
            ("trace_ns = 5\ntrace = [[0, 3], [3, 2]]", "node.noise.trace_ns = 5: must be longer than all interruptions"),
            ("trace_ns = 5\ntrace = [[0, nan]]", "node.noise.trace = NaN: must be nanoseconds"),
        ] {
            let error = machine(noise).unwrap_err();
            assert!(error.starts_with(says), "{error}");
        }
    }
}
