//! Measurements of this machine with shared memory, and its description.

use std::fmt::Write as _;
use std::thread::available_parallelism;
use std::time::{SystemTime, UNIX_EPOCH};

use pelago_bench::Row;

use super::noise::Verdict;
use crate::info::core;
use crate::statistics::median;

/// Measured times, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figures {
    /// A put until a polling rank sees it.
    one_way: f64,
    atomic: f64,
    page: f64,
    /// Times by bytes.
    put: Vec<(u64, f64)>,
    get: Vec<(u64, f64)>,
}

impl Figures {
    /// Extracts the times of one job; the error is the name of a missing measurement.
    pub(crate) fn of(rows: &[Row]) -> Result<Self, &'static str> {
        let all = |name: &'static str| rows.iter().filter(move |row| row.name == name);
        let one = |name| all(name).find_map(|row| row.median_ns).ok_or(name);
        let by_bytes = |name| {
            let times: Vec<_> = all(name).filter_map(|row| Some((row.bytes?, row.median_ns?))).collect();
            if times.is_empty() { Err(name) } else { Ok(times) }
        };
        Ok(Self {
            one_way: one("visible")?,
            atomic: one("crossing_fetch_add")?,
            page: one("crossing_fresh_page")?,
            put: by_bytes("crossing_put")?,
            get: by_bytes("crossing_get")?,
        })
    }

    /// Returns the median of each value over at least one round; all rounds have the same sizes.
    pub(crate) fn median(rounds: &[Self]) -> Self {
        let of = |value: &dyn Fn(&Self) -> f64| median(rounds.iter().map(value).collect());
        let by_bytes = |times: fn(&Self) -> &Vec<(u64, f64)>| {
            let sizes = times(&rounds[0]).iter().enumerate();
            sizes.map(|(index, &(bytes, _))| (bytes, of(&|round| times(round)[index].1))).collect()
        };
        Self {
            one_way: of(&|round| round.one_way),
            atomic: of(&|round| round.atomic),
            page: of(&|round| round.page),
            put: by_bytes(|round| &round.put),
            get: by_bytes(|round| &round.get),
        }
    }

    /// Returns, for each value, its measurements in all rounds. There is at least one round, and all have the same sizes.
    pub(crate) fn by_value(rounds: &[Self]) -> Vec<Vec<f64>> {
        let values = |round: &Self| {
            let single = [round.one_way, round.atomic, round.page];
            let by_bytes = round.put.iter().chain(&round.get).map(|&(_, time)| time);
            single.into_iter().chain(by_bytes).collect::<Vec<_>>()
        };
        let rounds: Vec<_> = rounds.iter().map(values).collect();
        (0..rounds[0].len()).map(|index| rounds.iter().filter_map(|round| round.get(index).copied()).collect()).collect()
    }

    /// Returns the description in TOML, for `pelago sim --machine`.
    pub(crate) fn describe(&self, head: &Head) -> String {
        let Self { one_way, atomic, page, put, get } = self;
        let visible = (one_way - put.first().map_or(0.0, |&(_, time)| time)).max(0.0);
        let pairs = |times: &[(u64, f64)]| {
            times.iter().map(|&(bytes, time)| format!("    [{bytes}, {}],\n", number(time))).collect::<String>()
        };
        let mut text = head.text("One node, whose ranks share memory: give --per-node as many ranks as -n.", "one node");
        text.push_str("\n[node.shared]\n");
        for (key, value, what) in [
            (
                "visible_ns",
                visible,
                "a put until its target, which looks for it, has put back: half of it, less the put of 8 bytes",
            ),
            ("atomic_ns", *atomic, "fetch_add and its result, on a word that its owner has written since"),
            ("page_ns", *page, "4 MiB put to pages that nobody had used, less the same again, by page"),
        ] {
            let _ = writeln!(text, "{:22}# measured: {what}", format!("{key} = {}", number(value)));
        }
        for (key, times, what) in [("put", put, "read"), ("get", get, "written")] {
            let head = format!("{key} = [");
            let _ = writeln!(text, "{head:22}# measured: [bytes, nanoseconds], on memory that its owner has {what} since");
            let _ = writeln!(text, "{}]", pairs(times));
        }
        text
    }
}

/// Header of a description.
pub(crate) struct Head {
    name: String,
    core: String,
    cores: usize,
    date: String,
    /// Whether the machine was quiet, if this was checked.
    verdict: Option<String>,
    /// Nanoseconds of a switch from a rank that yields a core to another on it, if known.
    switch: Option<f64>,
}

impl Head {
    /// Creates the header for this machine with today's date.
    pub(crate) fn of(name: &str, verdict: Option<&Verdict>, switch: Option<f64>) -> Self {
        let core = core().unwrap_or_else(|| "an unknown core".into()).replace(['"', '\\'], "");
        let cores = available_parallelism().map_or(1, usize::from);
        Self { name: name.into(), core, cores, date: date(SystemTime::now()), verdict: verdict.map(Verdict::to_string), switch }
    }

    /// Formats the header. `purpose` is a sentence on the use of the description, `what` names the described machine in a few words.
    pub(crate) fn text(&self, purpose: &str, what: &str) -> String {
        let Self { name, core, cores, date, verdict, switch } = self;
        let node = switch.map_or(String::new(), |switch| {
            let turns = "measured: two threads that take turns on a core by yielding";
            format!(
                "\n[node]\n{:28}# read\n{:28}# {turns}\n",
                format!("cores = {cores}"),
                format!("switch_ns = {}", number(switch))
            )
        });
        let verdict = verdict.as_ref().map_or(String::new(), |verdict| format!("# The machine was {verdict}.\n"));
        format!(
            "# Measured by `pelago tune` on {date}: {core}, {cores} cores.\n{verdict}# {purpose}\n\
             name = \"{name}\"\nabout = \"{what}, {cores} cores ({core}), measured on {date}\"\n{node}"
        )
    }
}

/// Formats a number with a decimal point, which TOML requires, and without insignificant digits.
pub(crate) fn number(value: f64) -> String {
    format!("{value:.2}")
}

/// Returns the UTC date of a time (Hinnant, days from the civil calendar).
fn date(moment: SystemTime) -> String {
    let days = moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400) + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    format!("{}-{month:02}-{day:02}", year_of_era + era * 400 + u64::from(month <= 2))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pelago_netsim::Machine;

    use super::*;

    fn rows(times: f64) -> Vec<Row> {
        let row =
            |name: &str, bytes, median_ns| Row { name: name.into(), bytes, median_ns: Some(median_ns * times), ..Row::default() };
        vec![
            row("visible", Some(8), 62.0),
            row("crossing_put", Some(8), 2.0),
            row("crossing_get", Some(8), 8.0),
            row("crossing_fetch_add", Some(8), 7.0),
            row("crossing_put", Some(64), 5.0),
            row("crossing_get", Some(64), 9.0),
            row("crossing_fresh_page", None, 3000.0),
        ]
    }

    #[test]
    fn what_was_measured_is_a_machine() {
        let text = Figures::of(&rows(1.0)).unwrap().describe(&Head::of("mine", Some(&Verdict::Unknown), Some(700.0)));
        let machine = Machine::parse(&text).unwrap();
        assert_eq!((machine.name(), machine.switch().as_picoseconds()), ("mine", 700_000));
        assert!(machine.cores().is_some());
        assert!(text.contains("visible_ns = 60.00 ") && text.contains("[64, 5.00]"), "{text}");
        assert!(text.contains("\n# The machine was not known to be quiet"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 130), "{text}");
    }

    #[test]
    fn what_is_missing_is_named() {
        for (index, row) in rows(1.0).iter().enumerate() {
            let mut rows = rows(1.0);
            rows.retain(|other| other.name != row.name);
            assert_eq!(Figures::of(&rows), Err(name_of(row.name.as_str())), "row {index}");
        }
    }

    fn name_of(name: &str) -> &'static str {
        let names = ["visible", "crossing_put", "crossing_get", "crossing_fetch_add", "crossing_fresh_page"];
        names.into_iter().find(|known| *known == name).unwrap()
    }

    #[test]
    fn the_median_is_that_of_each_value() {
        let rounds: Vec<_> = [3.0, 1.0, 2.0].map(|times| Figures::of(&rows(times)).unwrap()).into();
        assert_eq!(Figures::median(&rounds), Figures::of(&rows(2.0)).unwrap());
        assert_eq!(Figures::by_value(&rounds)[1], [21.0, 7.0, 14.0], "the atomic");
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        let at = |days: u64| date(UNIX_EPOCH + Duration::from_secs(days * 86_400));
        assert_eq!(
            [0, 59, 11_016, 19_782, 19_783, 20_088].map(at),
            ["1970-01-01", "1970-03-01", "2000-02-29", "2024-02-29", "2024-03-01", "2024-12-31"]
        );
    }
}
