//! The event loop of the launcher of a job of several hosts: converts remote shells, messages and output to events.

use std::ffi::OsString;

use pelago_base::{Duration, Instant, Rank};
use pelago_platform::Clock;
use rustix::event::{PollFd, PollFlags};
use signal_hook::consts::SIGQUIT;

use crate::OsClock;
use crate::launcher::cluster::protocol::frame::{LauncherFrame, parse};
use crate::launcher::cluster::protocol::message::{FromHost, ToHost};
use crate::launcher::cluster::remote_shell::process::RemoteShellProcess;
use crate::launcher::cluster::state_machine::{ClusterStateMachine, HostAction};
use crate::launcher::error::reason;
use crate::launcher::job::event_loop::sleep;
use crate::launcher::job::outcome::JobOutcome;
use crate::launcher::limits::{COLLECT, READER, ROOM_BYTES, SHELL_LEAVE, STARTS_PER_ROUND, WATCH};
use crate::launcher::output::lines::LineSink;
use crate::launcher::output::writer::OutputWriter;
use crate::launcher::process::guard::ProcessGuard;
use crate::launcher::process::reap;
use crate::launcher::process::signals::Signals;
use crate::launcher::system::call_error::{NamedCall, SystemCallError};
use crate::launcher::system::poll_set::PollSet;

/// A running job on several hosts.
pub(crate) struct HostEventLoop {
    /// The command that starts the node daemon of each host.
    calls: Vec<Vec<OsString>>,
    /// The started remote shells, from the first host on; `None` if the start failed.
    remotes: Vec<Option<RemoteShellProcess>>,
    /// Number of bytes that each host has sent of each stream since it last got credit.
    taken: Vec<[u64; 2]>,
    /// For each host its messages and the end of its shell, then the signals.
    ready: PollSet,
    signals: Signals,
    guard: ProcessGuard,
    writers: [OutputWriter; 2],
    state: ClusterStateMachine,
    clock: OsClock,
}

impl HostEventLoop {
    /// Creates a job on hosts that these commands reach.
    pub(crate) fn new(
        calls: Vec<Vec<OsString>>,
        clock: OsClock,
        state: ClusterStateMachine,
        writers: [OutputWriter; 2],
    ) -> Result<Self, SystemCallError> {
        let (ready, signals, guard) = (PollSet::new()?, Signals::watch().named("sigaction")?, ProcessGuard::start()?);
        for (place, descriptor) in signals.descriptors().enumerate() {
            ready.add(descriptor, (2 * calls.len() + place) as u64)?;
        }
        let taken = vec![[0; 2]; calls.len()];
        Ok(Self { calls, remotes: Vec::new(), taken, ready, signals, guard, writers, state, clock })
    }

    /// Runs from the first start to the last message of every host and the last byte of output.
    pub(crate) fn run(mut self) -> Result<JobOutcome, SystemCallError> {
        while !self.state.is_over() {
            self.call_some()?;
            self.act();
            self.wait()?;
            self.look()?;
            self.pump();
            self.act();
        }
        self.drain()?;
        self.end()?;
        Ok(self.state.into_outcome())
    }

    /// Starts the next remote shells; between rounds the running ones are handled.
    fn call_some(&mut self) -> Result<(), SystemCallError> {
        for _ in 0..STARTS_PER_ROUND {
            let place = self.remotes.len();
            let Some(words) = self.calls.get(place) else { return Ok(()) };
            let started = self.state.hears(place).then(|| RemoteShellProcess::start(words, &self.guard));
            let remote = started.transpose().unwrap_or_else(|error| {
                let name = words[0].to_string_lossy();
                let package = if name == "ssh" { " (Debian: openssh-client)" } else { "" };
                let remedy = match error.kind() {
                    std::io::ErrorKind::NotFound => format!("; install it{package}, or name another command with --remote-shell"),
                    _ => String::new(),
                };
                let why = format!("cannot run {name}: {}{remedy}", reason(&error));
                self.state.handle_host_failure(self.clock.now(), place, &why);
                None
            });
            if let Some(RemoteShellProcess { link: Some(link), .. }) = &remote {
                self.ready.add(link.input(), 2 * place as u64)?;
            }
            if let Some(remote) = &remote {
                self.ready.add(remote.process(), 2 * place as u64 + 1)?;
            }
            self.remotes.push(remote);
        }
        Ok(())
    }

    /// Sleeps until an event or a deadline.
    fn wait(&self) -> Result<(), SystemCallError> {
        let now = self.clock.now();
        let breaks = self.remotes.iter().flatten().filter_map(RemoteShellProcess::break_end);
        let deadline = breaks.fold(self.state.next_deadline(), Instant::min);
        self.sleep(if self.remotes.len() < self.calls.len() { Duration::ZERO } else { deadline.since(now) })
    }

    /// Handles all events.
    fn look(&mut self) -> Result<(), SystemCallError> {
        for number in self.ready.poll()? {
            self.note(number as usize)?;
        }
        let now = self.clock.now();
        for (place, remote) in self.remotes.iter().enumerate() {
            if let Some(why) = remote.as_ref().and_then(|remote| remote.broken(now)) {
                self.state.handle_host_failure(now, place, why);
            }
        }
        self.state.handle_time(now);
        Ok(())
    }

    /// Handles an event of a number of `ready`.
    fn note(&mut self, number: usize) -> Result<(), SystemCallError> {
        let (place, now) = (number / 2, self.clock.now());
        let signals = 2 * self.calls.len();
        match self.remotes.get_mut(place).and_then(Option::as_mut) {
            _ if number >= signals => match self.signals.take(number - signals) {
                Some(SIGQUIT) => self.state.ask_for_reports(),
                Some(signal) => self.state.handle_signal(now, signal),
                None => {}
            },
            Some(remote) if number % 2 == 1 => {
                remote.handle_end(now)?;
                if remote.has_ended() {
                    self.ready.remove(remote.process());
                }
            }
            Some(remote) => {
                let Some(link) = &mut remote.link else { return Ok(()) };
                if !link.receive() {
                    self.ready.remove(link.input());
                    remote.handle_silence(now);
                }
                self.listen(place);
            }
            None => {}
        }
        Ok(())
    }

    /// Handles the messages of a host.
    fn listen(&mut self, place: usize) {
        let now = self.clock.now();
        while let Some(RemoteShellProcess { link: Some(link), .. }) = &mut self.remotes[place]
            && self.state.hears(place)
        {
            let understood = match link.take() {
                Ok(None) => return,
                Ok(Some(LauncherFrame::Message(message))) => {
                    parse::<FromHost>(message).map(|message| self.state.handle_message(now, place, message))
                }
                Ok(Some(LauncherFrame::Output { stream, rank, bytes })) if self.state.has_running(place, rank) => {
                    self.state.handle_sign_of_life(place);
                    self.taken[place][stream] += bytes.len() as u64;
                    self.writers[stream].push(rank, bytes);
                    Ok(())
                }
                Ok(Some(LauncherFrame::Output { rank, .. })) => {
                    return self.state.handle_host_failure(now, place, &stranger(rank));
                }
                Err(error) => Err(error),
            };
            if let Err(error) = understood {
                let why = format!(
                    "it sent data that are no message of this version of pelago ({error}); does its shell print a greeting?"
                );
                return self.state.handle_host_failure(now, place, &why);
            }
        }
    }

    /// Forwards output, and gives hosts credit for more.
    fn pump(&mut self) -> bool {
        for writer in &mut self.writers {
            writer.flush();
            if let Some(error) = writer.broken() {
                self.state.handle_output(self.clock.now(), error);
            }
        }
        for (remote, taken) in self.remotes.iter_mut().zip(&mut self.taken) {
            let Some(RemoteShellProcess { link: Some(link), .. }) = remote else { continue };
            link.flush();
            for (stream, taken) in taken.iter_mut().enumerate() {
                // In large portions, to save messages; a host without credit has sent at least this much.
                if *taken >= ROOM_BYTES / 2 && self.writers[stream].has_room() {
                    link.send(&ToHost::Room { stream, bytes: std::mem::take(taken) });
                }
            }
        }
        self.writers.iter().any(OutputWriter::is_waiting)
    }

    /// Executes the pending actions.
    fn act(&mut self) {
        while let Some(action) = self.state.poll_action() {
            let (HostAction::Send(place, _) | HostAction::HangUp(place)) = &action;
            let Some(remote) = self.remotes.get_mut(*place).and_then(Option::as_mut) else { continue };
            match (action, &mut remote.link) {
                (HostAction::Send(_, message), Some(link)) => link.send(&message),
                (HostAction::HangUp(_), Some(link)) => {
                    self.ready.remove(link.input());
                    remote.link = None;
                }
                (_, None) => {}
            }
        }
    }

    /// Forwards the rest of the output, as on one host.
    fn drain(&mut self) -> Result<(), SystemCallError> {
        let begun = self.clock.now();
        // The line about the outcome of the job follows here.
        if self.state.is_ending() {
            let [_, error] = &mut self.writers;
            error.close_line();
        }
        while self.pump() && !(self.state.is_ending() && self.clock.now().since(begun) >= READER) {
            self.sleep(WATCH.min(READER))?;
            for number in self.ready.poll()? {
                self.note(number as usize)?;
            }
        }
        Ok(())
    }

    /// Waits for a limited time for the remote shells, all of which have nothing left to do, and ends the remaining ones.
    fn end(&mut self) -> Result<(), SystemCallError> {
        let end = self.clock.now() + SHELL_LEAVE;
        while self.remotes.iter().flatten().any(|remote| !remote.has_ended()) && self.clock.now() < end {
            self.sleep(end.since(self.clock.now()))?;
            for number in self.ready.poll()? {
                self.note(number as usize)?;
            }
        }
        self.remotes.iter_mut().flatten().for_each(|remote| remote.kill(&self.guard));
        reap::wait(COLLECT, || {
            self.remotes.retain(|remote| remote.as_ref().is_some_and(|remote| !remote.is_gone()));
            self.remotes.is_empty()
        });
        Ok(())
    }

    fn sleep(&self, pause: Duration) -> Result<(), SystemCallError> {
        let links = self.remotes.iter().flatten().filter_map(|remote| remote.link.as_ref()?.interest());
        let ready = PollFd::new(self.ready.descriptor(), PollFlags::IN);
        sleep(pause, self.writers.iter().filter_map(OutputWriter::interest).chain(links).chain([ready]))
    }
}

fn stranger(rank: Rank) -> String {
    format!("it sent output of rank {rank}, which does not run there")
}
