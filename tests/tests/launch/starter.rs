//! A minimal launcher that starts processes and provides rank number, job size and a key-value store. It neither monitors nor ends processes. It
//! implements the necessary part of PMI-1.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, PipeReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::{MARK, wait_until_gone};

/// The description of a job to start.
pub(crate) struct Start<'a> {
    pub(crate) ranks: u32,
    /// The name of the job; if it is empty, a unique name is used.
    pub(crate) name: &'a str,
    /// A program and its arguments.
    pub(crate) command: &'a [&'a str],
    /// Environment variables of all ranks, and additional ones of single ranks.
    pub(crate) variables: &'a [(&'a str, &'a str)],
    pub(crate) variables_of: &'a [(u32, &'a str, &'a str)],
    /// Initial keys and values of the store.
    pub(crate) store: &'a [(&'a str, &'a str)],
    /// Commands of PMI that the launcher refuses, and those that it does not answer.
    pub(crate) refused: &'a [&'a str],
    pub(crate) unanswered: &'a [&'a str],
}

/// The running processes of a job.
pub(crate) struct Started {
    children: Vec<Child>,
    server: Arc<Server>,
    output: BufReader<PipeReader>,
    error: PipeReader,
    mark: String,
    /// Lines that the ranks have printed: see [`Started::await_lines`].
    pub(crate) lines: Vec<String>,
}

/// The outcome of the ranks.
#[derive(Debug)]
pub(crate) struct Over {
    statuses: Vec<ExitStatus>,
    pub(crate) output: String,
    pub(crate) error: String,
}

/// The store, and the connection to each rank.
struct Server {
    streams: Vec<UnixStream>,
    store: Mutex<HashMap<String, String>>,
    /// Number of ranks that have arrived at the current barrier.
    arrived: AtomicU32,
    refused: Vec<String>,
    unanswered: Vec<String>,
}

pub(crate) const NOTHING: Start<'static> =
    Start { ranks: 0, name: "", command: &[], variables: &[], variables_of: &[], store: &[], refused: &[], unanswered: &[] };

impl Start<'_> {
    pub(crate) fn start(&self) -> Started {
        static JOBS: AtomicU32 = AtomicU32::new(0);
        let mark = format!("adopted-{}-{}", std::process::id(), JOBS.fetch_add(1, Ordering::Relaxed));
        let (output, output_of_ranks) = std::io::pipe().expect("a pipe");
        let (error, error_of_ranks) = std::io::pipe().expect("a pipe");
        let (mut streams, mut children) = (Vec::new(), Vec::new());
        for rank in 0..self.ranks {
            let (ours, theirs) = UnixStream::pair().expect("sockets");
            let (program, arguments) = self.command.split_first().expect("a program");
            let mut command = Command::new(program);
            command.args(arguments).env(MARK, &mark).env("PMI_FD", "0");
            command.env("PMI_RANK", rank.to_string()).env("PMI_SIZE", self.ranks.to_string());
            command.envs(self.variables.iter().copied());
            command.envs(self.variables_of.iter().filter(|(of, ..)| *of == rank).map(|&(_, name, value)| (name, value)));
            command.stdin(OwnedFd::from(theirs));
            let pipe = |pipe: &std::io::PipeWriter| Stdio::from(OwnedFd::from(pipe.try_clone().expect("a descriptor")));
            command.stdout(pipe(&output_of_ranks)).stderr(pipe(&error_of_ranks));
            children.push(command.spawn().expect("the program"));
            streams.push(ours);
        }
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let store = self.store.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        let server = Arc::new(Server {
            streams,
            store: Mutex::new(store),
            arrived: AtomicU32::new(0),
            refused: texts(self.refused),
            unanswered: texts(self.unanswered),
        });
        for rank in 0..self.ranks as usize {
            let (server, name) = (server.clone(), if self.name.is_empty() { mark.clone() } else { self.name.into() });
            std::thread::spawn(move || server.serve(rank, &name));
        }
        Started { children, server, output: BufReader::new(output), error, mark, lines: Vec::new() }
    }

    pub(crate) fn run(&self) -> Over {
        self.start().end()
    }
}

impl Started {
    /// Waits until the ranks have printed `count` lines.
    pub(crate) fn await_lines(mut self, count: usize) -> Self {
        while self.lines.len() < count {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("text") > 0, "a line of each rank");
            self.lines.extend(Some(line).filter(|line| line.starts_with("rank ")));
        }
        self
    }

    pub(crate) fn signal(&self, rank: usize, signal: Signal) {
        kill_process(Pid::from_child(&self.children[rank]), signal).expect("it has not been waited for");
    }

    /// Waits until `count` ranks have ended.
    pub(crate) fn await_ends(&mut self, count: usize) {
        while self.children.iter_mut().filter_map(|child| child.try_wait().expect("a status")).count() < count {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Simulates the end of the launcher, which does not end the ranks.
    pub(crate) fn lose_launcher(&self) {
        self.server.hang_up();
    }

    /// Waits for the end of all ranks, and of all processes that they have started.
    pub(crate) fn end(mut self) -> Over {
        let (mut output, mut error) = (String::new(), String::new());
        self.output.read_to_string(&mut output).expect("text");
        self.error.read_to_string(&mut error).expect("text");
        let statuses = self.children.iter_mut().map(|child| child.wait().expect("a status")).collect();
        wait_until_gone(&self.mark);
        Over { statuses, output: self.lines.concat() + &output, error }
    }
}

impl Drop for Started {
    /// Kills the ranks, so that a failed test leaves no process.
    fn drop(&mut self) {
        self.children.iter_mut().for_each(|child| _ = child.kill());
    }
}

impl Over {
    /// Returns the exit code of each rank; for a killed rank, the negative number of the signal.
    pub(crate) fn codes(&self) -> Vec<i32> {
        let code = |status: &ExitStatus| status.code().or(status.signal().map(|signal| -signal)).expect("one of the two");
        self.statuses.iter().map(code).collect()
    }

    /// Returns the sorted lines of the ranks, as their order among ranks is arbitrary.
    pub(crate) fn sorted_lines(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.output.lines().collect();
        lines.sort();
        lines
    }

    /// Returns the messages about the job, in order of ranks.
    pub(crate) fn told(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.error.lines().filter(|line| line.starts_with("pelago: ")).collect();
        lines.sort();
        lines
    }
}

impl Server {
    fn serve(&self, rank: usize, name: &str) {
        let lines = BufReader::new(self.streams[rank].try_clone().expect("a descriptor")).lines();
        for line in lines.map_while(Result::ok) {
            let word =
                |name: &str| line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('=')).unwrap_or_default();
            let command = word("cmd");
            if self.unanswered.iter().any(|unanswered| unanswered == command) {
                continue;
            }
            if self.refused.iter().any(|refused| refused == command) {
                self.answer(rank, &format!("cmd={command}_result rc=-1 msg=no_room"));
                continue;
            }
            match command {
                "init" => self.answer(rank, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"),
                "get_maxes" => self.answer(rank, "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024"),
                "get_my_kvsname" => self.answer(rank, &format!("cmd=my_kvsname kvsname={name}")),
                "put" => {
                    self.store.lock().expect("no panic").insert(word("key").into(), word("value").into());
                    self.answer(rank, "cmd=put_result rc=0 msg=success");
                }
                "get" => {
                    let found = self.store.lock().expect("no panic").get(word("key")).cloned();
                    let found = found.map(|value| format!("cmd=get_result rc=0 msg=success value={value}"));
                    self.answer(rank, &found.unwrap_or("cmd=get_result rc=-1 msg=key_not_found value=unknown".into()));
                }
                "barrier_in" => {
                    if self.arrived.fetch_add(1, Ordering::SeqCst) + 1 == self.streams.len() as u32 {
                        self.arrived.store(0, Ordering::SeqCst);
                        (0..self.streams.len()).for_each(|rank| self.answer(rank, "cmd=barrier_out"));
                    }
                }
                "finalize" => self.answer(rank, "cmd=finalize_ack"),
                "abort" => self.hang_up(),
                _ => self.answer(rank, "cmd=unknown"),
            }
        }
    }

    /// Closes the connections, as at the end of the launcher.
    fn hang_up(&self) {
        // An error is ignored: a rank that has ended has closed its connection before.
        self.streams.iter().for_each(|stream| _ = stream.shutdown(Shutdown::Both));
    }

    fn answer(&self, rank: usize, line: &str) {
        // An error is ignored: a rank that has ended receives nothing.
        let _ = (&self.streams[rank]).write_all(format!("{line}\n").as_bytes());
    }
}
