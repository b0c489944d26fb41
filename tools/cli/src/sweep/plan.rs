//! The file that describes a sweep, and the runs that follow from it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use clap::Args;
use clap::parser::ValueSource;
use pelago_netsim::{Machine, Netsim};
use serde::Deserialize;
use toml::Value;

use super::stamps;
use crate::sim::{Sim, description, overrides};
use crate::{Refused, bundled, one_line, this};

/// Maximum number of runs of a sweep: their results stay in memory until the table is written.
pub(crate) const SWEEP_RUNS_MAX: usize = 100_000;

/// Maximum size of the texts of all runs together (programs, machines, values and options), in bytes: they stay in memory until the table is
/// written, and each of the forms of the table has them again.
pub(crate) const SWEEP_TEXT_BYTES_MAX: usize = 256 << 20;

/// Columns of every table; no argument, value or output may have one of these names.
pub(crate) const COLUMNS: [&str; 6] = ["run", "program", "machine", "ranks", "per_node", "seed"];

/// Options of `pelago sim` that a sweep does not take, and what to do instead.
const NOT_FOR_SWEEPS: [(&str, &str); 10] = [
    ("overrides", "--set: give the value in [set], which --sensitivity knows"),
    ("per_node", "--per-node: use the key per_node"),
    ("seed", "--seed: use the key seeds"),
    ("report", "--report: all runs would write one file; give it to pelago sim"),
    ("trace", "--trace: all runs would write one file; give it to pelago sim"),
    ("quiet", "--quiet: the sweep reads the summary"),
    ("json", "--json: the sweep gives it itself"),
    ("list", "--list: it runs nothing"),
    ("describe", "--describe: it runs nothing"),
    ("end_with_parent", "--end-with-parent: the sweep gives it itself"),
];

/// Contents of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sweep {
    /// Bundled programs or paths, with their arguments: words between spaces, or a list of words.
    programs: Vec<Words>,
    /// Bundled machines, or paths of descriptions.
    machines: Vec<String>,
    ranks: Vec<u32>,
    #[serde(default = "one")]
    per_node: Vec<u32>,
    #[serde(default = "zero")]
    seeds: Vec<u64>,
    /// Further options of `pelago sim` for all runs.
    #[serde(default)]
    options: Vec<String>,
    /// Values of the machine by their paths, as `--set` takes them.
    #[serde(default)]
    set: BTreeMap<String, Vec<Value>>,
    /// Values that replace a name in braces in a program.
    #[serde(default)]
    arguments: BTreeMap<String, Vec<Value>>,
    /// Columns from the output of programs: the number after this word.
    #[serde(default)]
    pub(crate) outputs: BTreeMap<String, String>,
    /// The column that pictures and `--sensitivity` show.
    #[serde(default = "time")]
    pub(crate) measure: String,
    /// The column on the x-axis of pictures.
    #[serde(default)]
    pub(crate) along: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Words {
    Line(String),
    List(Vec<String>),
}

/// One simulation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Run {
    pub(crate) words: Vec<String>,
    pub(crate) machine: String,
    pub(crate) ranks: u32,
    pub(crate) per_node: u32,
    pub(crate) seed: u64,
    /// Names and values of the `arguments` that the program uses.
    pub(crate) arguments: Vec<(String, String)>,
    /// Paths and values of the machine.
    pub(crate) set: Vec<(String, String)>,
    /// Path and changed value of the machine in a sensitivity run.
    pub(crate) changed: Option<(String, String)>,
    pub(crate) options: Vec<String>,
}

impl Sweep {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let sweep: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            format!("line {line}: {}", error.message().replace('\n', " "))
        })?;
        let lists = [
            ("programs", sweep.programs.len()),
            ("machines", sweep.machines.len()),
            ("ranks", sweep.ranks.len()),
            ("per_node", sweep.per_node.len()),
            ("seeds", sweep.seeds.len()),
        ];
        let of_tables = sweep.set.iter().chain(&sweep.arguments).map(|(name, values)| (&**name, values.len()));
        if let Some((name, _)) = lists.into_iter().chain(of_tables).find(|(_, length)| *length == 0) {
            return Err(format!("{name}: the list is empty"));
        }
        sweep.check_values()?;
        sweep.check_options()?;
        let mut names = BTreeSet::from(COLUMNS);
        names.extend(super::table::FIGURES);
        let all = sweep.set.keys().chain(sweep.arguments.keys()).chain(sweep.outputs.keys());
        if let Some(twice) = all.map(String::as_str).find(|&name| !names.insert(name)) {
            return Err(format!("{twice}: there are two columns of this name"));
        }
        if let Some((name, word)) = sweep.outputs.iter().find(|(_, word)| word.split_whitespace().ne([word.as_str()])) {
            return Err(format!("outputs: {name} = \"{word}\": must be one word of the output, the one before the number"));
        }
        for column in [Some(&sweep.measure), sweep.along.as_ref()].into_iter().flatten() {
            if !names.contains(&**column) {
                let names: Vec<&str> = names.into_iter().collect();
                return Err(format!("{column}: there is no such column; there are {}", names.join(", ")));
            }
        }
        Ok(sweep)
    }

    /// Checks that no list has a value twice, which would count twice in medians.
    fn check_values(&self) -> Result<(), String> {
        let numbers = |values: &[u32]| values.iter().map(u32::to_string).collect::<Vec<_>>();
        let lists = [
            ("programs", self.programs.iter().map(|words| words.words().join(" ")).collect()),
            ("machines", self.machines.clone()),
            ("ranks", numbers(&self.ranks)),
            ("per_node", numbers(&self.per_node)),
            ("seeds", self.seeds.iter().map(u64::to_string).collect()),
        ];
        let texts = |(name, values): (&'_ String, &Vec<Value>)| (name.clone(), values.iter().map(text_of).collect::<Vec<_>>());
        let of_tables = self.set.iter().chain(&self.arguments).map(texts);
        for (name, values) in lists.map(|(name, values)| (name.to_owned(), values)).into_iter().chain(of_tables) {
            let mut known = BTreeSet::new();
            if let Some(twice) = values.iter().find(|value| !known.insert(*value)) {
                return Err(format!("{name}: {twice} is there twice; leave one out"));
            }
        }
        Ok(())
    }

    /// Checks that the options are some of `pelago sim`, without those that the sweep gives itself and those that have one file for all runs.
    fn check_options(&self) -> Result<(), String> {
        let refused = |why: &str| format!("options: {why}");
        let own =
            ["-n", "1", "--machine", "m"].into_iter().chain(self.options.iter().map(String::as_str)).chain(["--", "program"]);
        let command = Sim::augment_args(clap::Command::new("sim").no_binary_name(true));
        let found = command.try_get_matches_from(own).map_err(|error| {
            refused(&if error.use_stderr() {
                one_line(&error.render().to_string(), "pelago sim --help")
            } else {
                "--help: it runs nothing".into()
            })
        })?;
        let is_given = |id: &str| found.value_source(id) == Some(ValueSource::CommandLine);
        if let Some((_, why)) = NOT_FOR_SWEEPS.into_iter().find(|(id, _)| is_given(id)) {
            return Err(refused(why));
        }
        let words: Vec<_> = found.get_many::<OsString>("command").into_iter().flatten().collect();
        match &words[..] {
            [program] if *program == "program" => Ok(()),
            [word, ..] => Err(refused(&format!("{} is no option", word.display()))),
            [] => Err(refused("one of them lacks its value")),
        }
    }

    /// Returns all combinations, each once, with the seeds as the innermost dimension.
    ///
    /// # Errors
    /// There are too many, or a program or machine is invalid.
    pub(crate) fn runs(&self) -> Result<Vec<Run>, String> {
        for words in self.programs.iter().map(Words::words) {
            self.check_program(&words)?;
        }
        let uses = |name: &String| {
            let brace = format!("{{{name}}}");
            self.programs.iter().flat_map(Words::words).any(|word| word.contains(&brace))
        };
        if let Some(name) = self.arguments.keys().find(|name| !uses(name)) {
            return Err(format!("arguments: {name}: no program has {{{name}}}"));
        }
        let base = Run {
            words: Vec::new(),
            machine: String::new(),
            ranks: 0,
            per_node: 0,
            seed: 0,
            arguments: Vec::new(),
            set: Vec::new(),
            changed: None,
            options: self.options.clone(),
        };
        let mut runs = vec![base];
        each(&mut runs, &self.programs, |run, program| run.words = program.words())?;
        each(&mut runs, &self.machines, |run, machine| run.machine.clone_from(machine))?;
        each(&mut runs, &self.ranks, |run, &ranks| run.ranks = ranks)?;
        each(&mut runs, &self.per_node, |run, &per_node| run.per_node = per_node)?;
        for (name, values) in &self.arguments {
            let brace = format!("{{{name}}}");
            each(&mut runs, values, |run, value| {
                if run.words.iter().any(|word| word.contains(&brace)) {
                    run.arguments.push((name.clone(), text_of(value)));
                }
            })?;
            // A program that does not use the name has one run for all its values.
            runs.dedup();
        }
        let mut room = SWEEP_TEXT_BYTES_MAX;
        for run in &mut runs {
            for word in &mut run.words {
                *word = filled(word, &run.arguments, room).ok_or_else(too_long)?;
                room -= word.len();
            }
        }
        for (path, values) in &self.set {
            each(&mut runs, values, |run, value| run.set.push((path.clone(), text_of(value))))?;
        }
        each(&mut runs, &self.seeds, |run, &seed| run.seed = seed)?;
        Ok(runs)
    }

    fn check_program(&self, words: &[String]) -> Result<(), String> {
        let Some(name) = words.first() else { return Err("programs: one has no name".into()) };
        let known = |word: &str| {
            word.split('{')
                .skip(1)
                .filter_map(|rest| rest.split_once('}'))
                .all(|(name, _)| name.is_empty() || name.contains(char::is_whitespace) || self.arguments.contains_key(name))
        };
        if let Some(word) = words.iter().find(|word| !known(word)) {
            return Err(format!("programs: {word}: [arguments] does not name that"));
        }
        if bundled::find(name.as_ref()).is_none() && !name.contains('/') {
            return Err(format!("programs: {name} is no bundled program; give a path with a /; pelago run --list shows those"));
        }
        Ok(())
    }
}

/// Combines every run with every value.
fn each<T>(runs: &mut Vec<Run>, values: &[T], apply: impl Fn(&mut Run, &T)) -> Result<(), String> {
    let count = runs.len().saturating_mul(values.len());
    if count > SWEEP_RUNS_MAX {
        return Err(format!("there are {count} runs or more; at most {SWEEP_RUNS_MAX} are possible"));
    }
    let (mut combined, mut bytes) = (Vec::with_capacity(count), 0);
    for run in runs.iter() {
        for value in values {
            let run = with(run, value, &apply);
            bytes += run.text_bytes();
            if bytes > SWEEP_TEXT_BYTES_MAX {
                return Err(too_long());
            }
            combined.push(run);
        }
    }
    *runs = combined;
    Ok(())
}

/// Returns the error about texts beyond [`SWEEP_TEXT_BYTES_MAX`].
pub(crate) fn too_long() -> String {
    let mebibytes = SWEEP_TEXT_BYTES_MAX >> 20;
    format!(
        "the programs, machines, values and options of all runs together have more than {mebibytes} MiB: give shorter or fewer ones"
    )
}

fn with<T>(run: &Run, value: &T, apply: impl Fn(&mut Run, &T)) -> Run {
    let mut run = run.clone();
    apply(&mut run, value);
    run
}

/// Replaces each name in braces by its value. Braces in values remain. `None` if the result has more than `bytes_max` bytes.
fn filled(word: &str, arguments: &[(String, String)], bytes_max: usize) -> Option<String> {
    let (mut text, mut rest) = (String::new(), word);
    while let Some(begin) = rest.find('{') {
        let (before, after) = rest.split_at(begin);
        let named = after[1..].split_once('}').and_then(|(name, rest)| {
            let (_, value) = arguments.iter().find(|(known, _)| known == name)?;
            Some((&**value, rest))
        });
        let (value, left) = named.unwrap_or(("{", &after[1..]));
        text += before;
        text += value;
        rest = left;
        if text.len() > bytes_max {
            return None;
        }
    }
    text += rest;
    (text.len() <= bytes_max).then_some(text)
}

/// Formats a value as an option or argument.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl Words {
    fn words(&self) -> Vec<String> {
        match self {
            Self::Line(line) => line.split_whitespace().map(str::to_owned).collect(),
            Self::List(words) => words.clone(),
        }
    }
}

/// Returns one of the runs of a file for each machine, its values and its numbers of ranks: what [`Run::check`] depends on.
pub(crate) fn of_machines(runs: &[Run]) -> impl Iterator<Item = &Run> {
    let mut known = BTreeSet::new();
    runs.iter().filter(move |run| known.insert(run.on()))
}

impl Run {
    /// Returns what the validity of the machine without a change depends on: its name, its values, and the numbers of ranks.
    pub(crate) fn on(&self) -> (&str, &[(String, String)], u32, u32) {
        (&self.machine, &self.set, self.ranks, self.per_node)
    }

    /// Returns the size of the texts, with what each takes in memory besides its bytes.
    pub(crate) fn text_bytes(&self) -> usize {
        let pairs = self.arguments.iter().chain(&self.set).chain(&self.changed).flat_map(|(name, value)| [name, value]);
        let texts = self.words.iter().chain(&self.options).chain([&self.machine]).chain(pairs);
        texts.map(|text| size_of::<String>() + text.len()).sum()
    }

    /// Returns the values of `--set`; later ones replace earlier ones.
    pub(crate) fn overrides(&self) -> Vec<String> {
        self.set.iter().chain(&self.changed).map(|(path, value)| format!("{path}={value}")).collect()
    }

    /// Checks that the machine is valid with these values and has enough nodes.
    pub(crate) fn check(&self) -> Result<(), Refused> {
        let text = overrides::apply(&description(&self.machine)?, &self.overrides())?;
        let refused = |why: &dyn std::fmt::Display| Refused(format!("{}: {why}", self.machine));
        let machine = Machine::parse(&text).map_err(|error| refused(&error))?;
        if self.ranks == 0 || self.per_node == 0 {
            return Err(Refused("ranks and per_node: each must be at least 1".into()));
        }
        Netsim::check_failures(&machine, self.ranks.div_ceil(self.per_node)).map_err(|error| refused(&error))
    }

    /// Returns the arguments of the `pelago` command.
    pub(crate) fn command(&self, parent: u32) -> Vec<String> {
        let mut command: Vec<String> = ["sim", "--json", "--end-with-parent"].map(str::to_owned).into();
        command.push(parent.to_string());
        let numbers = [("-n", u64::from(self.ranks)), ("--per-node", self.per_node.into()), ("--seed", self.seed)];
        command.extend(numbers.into_iter().flat_map(|(option, value)| [option.to_owned(), value.to_string()]));
        command.extend(["--machine".to_owned(), self.machine.clone()]);
        command.extend(self.overrides().into_iter().flat_map(|text| ["--set".to_owned(), text]));
        command.extend(self.options.iter().cloned());
        command.push("--".into());
        command.extend(self.words.iter().cloned());
        command
    }

    /// Returns a hash of what the result depends on: the command, the machine description, the program, the words before the `outputs`, this
    /// version. A bundled program is this executable. The files that arguments name are [inputs](Self::inputs) of the result.
    pub(crate) fn key(&self, outputs: &BTreeMap<String, String>) -> Result<String, Refused> {
        let name = &self.words[0];
        let program = if name.contains('/') { stamps::of_file(name) } else { stamps::of_file(this()?) };
        let machine = description(&self.machine)?;
        Ok(stamps::hash(&format!("{:?} {machine:?} {program:?} {outputs:?} {}", self.command(0), env!("CARGO_PKG_VERSION"))))
    }
}

fn one() -> Vec<u32> {
    vec![1]
}

fn zero() -> Vec<u64> {
    vec![0]
}

fn time() -> String {
    "time_us".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "programs = [\"ring\"]\nmachines = [\"rx200-qdr\"]\nranks = [2]\n";

    #[test]
    fn a_sweep_has_every_combination_once() {
        let text = "programs = [\"barrier --algorithm {how}\", [\"ring\", \"--a b\"]]\nmachines = [\"rx200-qdr\", \"tofu2\"]\n\
                    ranks = [2, 4]\nseeds = [1, 2, 3]\n[set]\n\"rail.nic.gap_ns\" = [5, \"1us\"]\n[arguments]\nhow = [\"ring\", \"dissemination\"]";
        let runs = Sweep::parse(text).unwrap().runs().unwrap();
        assert_eq!(runs.len(), (2 + 1) * 2 * 2 * 2 * 3);
        let commands: BTreeSet<Vec<String>> = runs.iter().map(|run| run.command(1)).collect();
        assert_eq!(commands.len(), runs.len());
        let last = ["sim", "--json", "--end-with-parent", "1", "-n", "4", "--per-node", "1", "--seed", "3", "--machine", "tofu2"];
        let last: Vec<&str> = last.into_iter().chain(["--set", "rail.nic.gap_ns=1us", "--", "ring", "--a b"]).collect();
        assert_eq!(runs.last().unwrap().command(1), last);
        assert_eq!(runs[0].words, ["barrier", "--algorithm", "ring"]);
        assert_eq!((runs[0].seed, runs[1].seed), (1, 2));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let more = |more: &str| Sweep::parse(&format!("{TWO}{more}")).and_then(|sweep| sweep.runs()).unwrap_err();
        for (text, why) in [
            ("seed = [1]", "line 4: unknown field `seed`"),
            ("seeds = []", "seeds: the list is empty"),
            ("seeds = [1, 2, 1]", "seeds: 1 is there twice; leave one out"),
            ("[set]\n\"rail.nic.gap_ns\" = [\"5ns\", \"5ns\"]", "rail.nic.gap_ns: 5ns is there twice"),
            ("[set]\n\"rail.nic.gap_ns\" = []", "rail.nic.gap_ns: the list is empty"),
            ("[arguments]\nranks = [1]", "ranks: there are two columns of this name"),
            ("measure = \"speed\"", "speed: there is no such column; there are "),
            ("[outputs]\nx = \"rank 1\"", "outputs: x = \"rank 1\": must be one word"),
            ("[outputs]\nx = \"\"", "outputs: x = \"\": must be one word"),
            ("[arguments]\nhow = [1]", "arguments: how: no program has {how}"),
            (
                "options = [\"--dta\", \"sizes\"]",
                "options: unexpected argument '--dta' found; a similar argument exists: '--data'",
            ),
            ("options = [\"--data\"]", "options: "),
            ("options = [\"--threads\", \"0\"]", "options: invalid value '0'"),
            ("options = [\"-n\", \"4\"]", "options: the argument '-n <N>' cannot be used multiple times"),
            ("options = [\"--set\", \"rail.nic.gap_ns=5\"]", "options: --set: give the value in [set]"),
            ("options = [\"--per-node=1\"]", "options: --per-node: use the key per_node"),
            ("options = [\"--report\", \"r.json\"]", "options: --report: all runs would write one file"),
            ("options = [\"--trace\", \"t\", \"--sample\", \"1\"]", "options: --trace: all runs"),
            ("options = [\"--describe\"]", "options: --describe: it runs nothing"),
            ("options = [\"--quiet\"]", "options: --quiet: the sweep reads the summary"),
            ("options = [\"--help\"]", "options: --help: it runs nothing"),
            ("options = [\"ring\"]", "options: ring is no option"),
            ("options = [\"--\"]", "options: -- is no option"),
        ] {
            assert!(more(text).starts_with(why), "{}", more(text));
        }
        let with = |programs: &str| Sweep::parse(&TWO.replace("[\"ring\"]", programs)).unwrap().runs().unwrap_err();
        assert!(with("[\"barrier --algorithm {how}\"]").contains("{how}: [arguments] does not name that"));
        assert!(with("[\"rign\"]").contains("rign is no bundled program"));
        assert!(with("[\"\"]").contains("no name"));
        let twice = Sweep::parse(&TWO.replace("[\"ring\"]", "[\"ring\", [\"ring\"]]"));
        assert_eq!(twice.unwrap_err(), "programs: ring is there twice; leave one out");
        let many = format!("seeds = {:?}", (0..=SWEEP_RUNS_MAX).collect::<Vec<_>>());
        assert!(more(&many).contains("at most 100000"));
    }

    /// A file of 1 MiB can describe texts of many GiB: long ones in many runs, or a value that replaces many names.
    #[test]
    fn texts_of_runs_are_bounded_together() {
        let long = "x".repeat(900_000);
        let seeds: Vec<usize> = (0..=SWEEP_TEXT_BYTES_MAX / long.len()).collect();
        let names = "{how}".repeat(seeds.len());
        for (program, more) in [
            (format!("ring {long}"), String::new()),
            ("ring {how}".into(), format!("[arguments]\nhow = [\"{long}\"]")),
            (format!("ring {names}"), format!("[arguments]\nhow = [\"{long}\"]")),
        ] {
            let seeds = if program.contains(&names) { &seeds[..1] } else { &seeds[..] };
            let text = format!("{}seeds = {seeds:?}\n{more}", TWO.replace("ring", &program));
            assert_eq!(Sweep::parse(&text).unwrap().runs().unwrap_err(), too_long());
        }
    }

    #[test]
    fn a_machine_is_checked_once_for_all_programs_and_seeds() {
        let text = "programs = [\"ring\", \"barrier\"]\nmachines = [\"rx200-qdr\", \"tofu2\"]\nranks = [2, 4]\nseeds = [0, 1, 2]\n[set]\n\"rail.nic.gap_ns\" = [1, 2]";
        let runs = Sweep::parse(text).unwrap().runs().unwrap();
        assert_eq!((runs.len(), of_machines(&runs).count()), (48, 8));
    }

    #[test]
    fn braces_in_values_are_not_names() {
        let text = TWO.replace("[\"ring\"]", "[[\"ring\", \"{a}{b}\", \"{ x}{{b}\", \"{}\"]]");
        let text = format!("{text}[arguments]\na = [\"{{b}}\", \"x\"]\nb = [\"1\"]");
        let runs = Sweep::parse(&text).unwrap().runs().unwrap();
        let words: Vec<_> = runs.iter().map(|run| run.words.join(" ")).collect();
        assert_eq!(words, ["ring {b}1 { x}{1 {}", "ring x1 { x}{1 {}"]);
    }

    #[test]
    fn options_of_runs_are_taken() {
        for options in ["[]", "[\"--data\", \"sizes\"]", "[\"--time-limit\", \"9\", \"--faults\", \"loss=0.1\", \"--protocol\"]"]
        {
            assert!(Sweep::parse(&format!("{TWO}options = {options}")).is_ok(), "{options}");
        }
    }

    #[test]
    fn a_key_changes_with_what_the_result_depends_on() {
        let run = Sweep::parse(TWO).unwrap().runs().unwrap().remove(0);
        let key = |run: &Run, outputs: &[(&str, &str)]| {
            let outputs = outputs.iter().map(|&(name, word)| (name.to_owned(), word.to_owned())).collect();
            run.key(&outputs).unwrap_or_else(|_| panic!())
        };
        let changed = |change: &dyn Fn(&mut Run)| key(&with(&run, &(), |run, ()| change(run)), &[]);
        let keys = [
            changed(&|_| ()),
            changed(&|run| run.seed = 1),
            changed(&|run| run.machine = "tofu2".into()),
            changed(&|run| run.changed = Some(("rail.nic.gap_ns".into(), "5".into()))),
            changed(&|run| run.options.push("--data".into())),
            key(&run, &[("us", "us")]),
            key(&run, &[("us", "ms")]),
        ];
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
        assert_eq!(changed(&|_| ()), keys[0]);
    }
}
