//! Times and traffic of an exchange: for each rank, for the slowest in each phase, and on average.

use std::fmt::Write;

use pelago::{Duration, World};

use super::exchange::{Exchanged, PHASES};

/// Phases in which a rank may wait for others; the remaining phases are the time of a rank alone.
const WAITING: [&str; 2] = ["ready", "arrive"];

/// Number of words per rank.
const WORDS: usize = 3 + PHASES.len();

/// One exchange on all ranks; the same on each.
pub(crate) struct Report {
    rows: Vec<Row>,
}

/// One exchange on one rank.
struct Row {
    /// Number of particles before the exchange, leaving, and arriving.
    owned: u64,
    sent: u64,
    came: u64,
    /// Picoseconds of each phase.
    phases: [u64; PHASES.len()],
}

impl Report {
    /// Gathers the results of all ranks. Collective.
    pub(crate) fn new(world: &World, exchanged: &Exchanged) -> pelago::Result<Self> {
        let mut words = vec![0; world.size() as usize * WORDS];
        let own = &mut words[world.rank().index() * WORDS..][..WORDS];
        own[..3].copy_from_slice(&[exchanged.owned, exchanged.sent, exchanged.came]);
        own[3..].iter_mut().zip(exchanged.phases).for_each(|(word, time)| *word = time.as_picoseconds());
        world.allreduce(&mut words, |one, other| one + other)?;
        let row = |words: &[u64]| Row {
            owned: words[0],
            sent: words[1],
            came: words[2],
            phases: std::array::from_fn(|phase| words[3 + phase]),
        };
        Ok(Self { rows: words.chunks(WORDS).map(row).collect() })
    }

    /// Returns the time of the slowest rank, in picoseconds.
    pub(crate) fn slowest(&self) -> u64 {
        self.rows.iter().map(Row::total).max().unwrap_or(0)
    }

    /// Returns the number of particles that changed their rank.
    fn moved(&self) -> u64 {
        self.rows.iter().map(|row| row.sent).sum()
    }

    /// Returns the time of each phase and the total time, on the slowest rank and on average.
    fn times(&self) -> impl Iterator<Item = (&'static str, f64, f64)> {
        let of = |name: &'static str, time: &dyn Fn(&Row) -> u64| {
            let sum: u64 = self.rows.iter().map(time).sum();
            let slowest = self.rows.iter().map(time).max().unwrap_or(0);
            (name, milliseconds(slowest), milliseconds(sum) / self.rows.len() as f64)
        };
        let phases: Vec<_> = PHASES.into_iter().enumerate().map(|(phase, name)| of(name, &|row| row.phases[phase])).collect();
        phases.into_iter().chain([of("total", &Row::total)])
    }

    /// Returns the report as a table.
    pub(crate) fn text(&self, particles: u64, checksum: u64) -> String {
        let mut report = format!("{:<10}{:>12}{:>12}\n", "phase", "slowest ms", "mean ms");
        for (name, slowest, mean) in self.times() {
            let _ = writeln!(report, "{name:<10}{slowest:>12.3}{mean:>12.3}");
        }
        let moved = self.moved();
        let _ = writeln!(report, "ranks {} particles {particles} moved {moved} checksum {checksum:016x}", self.rows.len());
        report
    }

    /// Returns one line of JSON: the table, the time of the slowest rank without waiting, and the data of each rank.
    pub(crate) fn json(&self, particles: u64, checksum: u64) -> String {
        let times: Vec<_> = self.times().map(|(name, slowest, mean)| format!("\"{name}_ms\":[{slowest:.3},{mean:.3}]")).collect();
        let alone = milliseconds(self.rows.iter().map(Row::alone).max().unwrap_or(0));
        let rows: Vec<_> = self.rows.iter().map(Row::json).collect();
        format!(
            "{{\"program\":\"particles\",\"ranks\":{},\"particles\":{particles},\"moved\":{},\"checksum\":\"{checksum:016x}\",\
             {},\"alone_ms\":{alone:.3},\"each\":[{}]}}\n",
            self.rows.len(),
            self.moved(),
            times.join(","),
            rows.join(",")
        )
    }
}

impl Row {
    fn total(&self) -> u64 {
        self.phases.iter().sum()
    }

    /// Returns the time of the rank without phases in which it waits for others.
    fn alone(&self) -> u64 {
        PHASES.iter().zip(self.phases).filter(|(name, _)| !WAITING.contains(name)).map(|(_, time)| time).sum()
    }

    fn json(&self) -> String {
        let Self { owned, sent, came, .. } = self;
        let times: Vec<_> = self.phases.iter().map(|&time| format!("{:.3}", milliseconds(time))).collect();
        format!("{{\"owned\":{owned},\"sent\":{sent},\"came\":{came},\"ms\":[{}]}}", times.join(","))
    }
}

fn milliseconds(picoseconds: u64) -> f64 {
    Duration::from_picoseconds(picoseconds).as_seconds() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_of_a_phase_need_not_be_the_slowest_of_all() {
        let row = |owned, ms: [u64; PHASES.len()]| Row { owned, sent: 1, came: 2, phases: ms.map(|ms| ms * 1_000_000_000) };
        let report = Report { rows: vec![row(10, [5, 0, 1, 1, 3, 1]), row(20, [1, 4, 3, 1, 0, 1])] };
        assert_eq!(report.slowest(), 11_000_000_000);
        let text = report.text(30, 0xff);
        assert!(
            text.contains("\ncount            5.000       3.000\n") && text.contains("\ntotal           11.000      10.500\n"),
            "{text}"
        );
        assert!(text.ends_with("ranks 2 particles 30 moved 2 checksum 00000000000000ff\n"), "{text}");
        let json = report.json(30, 0xff);
        assert!(json.contains("\"total_ms\":[11.000,10.500],\"alone_ms\":8.000,"), "{json}");
        assert!(json.contains("{\"owned\":20,\"sent\":1,\"came\":2,\"ms\":[1.000,4.000,3.000,1.000,0.000,1.000]}]}"), "{json}");
    }
}
