//! The launcher's store by PMI-1: requests and answers of one line of text over an inherited socket, as in Hydra, MPICH, Intel MPI and srun.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use pelago_base::{Duration, Instant};
use pelago_platform::Clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::OsClock;
use crate::adoption::launcher_store::{JobFacts, KEY_BYTES, KeyValue, Placement, StoreError, StoreEvent, VALUE_BYTES};

/// Maximum size in bytes of an answer of the launcher. Known servers limit a value to 4,096 bytes.
const ANSWER_BYTES_MAX: usize = 8192;

/// The key under which servers store the placement of ranks.
const MAPPING: &str = "PMI_process_mapping";

/// A connection to the launcher.
pub(crate) struct Pmi {
    socket: OwnedFd,
    clock: OsClock,
    /// The name of the store is the name of the job.
    facts: JobFacts,
    /// Bytes received after the last line.
    read: Vec<u8>,
    /// Number of fences that this process has entered and whose end was not reported yet: two, if another process noticed the end of the last one first.
    fences: u32,
}

impl Pmi {
    /// Connects to the launcher that has started this process as `rank` of `size`.
    pub(crate) fn start(socket: OwnedFd, clock: OsClock, rank: u32, size: u32, until: Instant) -> Result<Self, StoreError> {
        let facts = JobFacts { rank, size, job: String::new(), placement: Placement::one_host(size) };
        let mut pmi = Self { socket, clock, facts, read: Vec::new(), fences: 0 };
        pmi.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init", until)?;
        let maxes = pmi.ask("cmd=get_maxes", "maxes", until)?;
        for (name, needed) in [("keylen_max", KEY_BYTES), ("vallen_max", VALUE_BYTES)] {
            let allowed = maxes.value(name).and_then(|text| text.parse().ok()).unwrap_or(0);
            if allowed < needed {
                return Err(StoreError::Room(allowed, needed));
            }
        }
        let name = pmi.ask("cmd=get_my_kvsname", "my_kvsname", until)?;
        pmi.facts.job = name.value("kvsname").filter(|name| !name.is_empty()).ok_or_else(|| name.wrong("get_my_kvsname"))?.into();
        // If a server does not say, all ranks are assumed to be on one host; otherwise the ranks fail to meet there.
        match pmi.get(0, MAPPING, until) {
            Ok(text) => {
                let wrong = || StoreError::Answer(MAPPING.into(), text.clone());
                pmi.facts.placement = Placement::parse(&text).ok_or_else(wrong)?;
            }
            Err(StoreError::Refused(..)) => {}
            Err(error) => return Err(error),
        }
        Ok(pmi)
    }

    /// Sends a line and returns the answer, which must be of this kind and report success.
    fn ask(&mut self, line: &str, kind: &str, until: Instant) -> Result<Answer, StoreError> {
        let what = line.split_whitespace().next().unwrap_or_default().trim_start_matches("cmd=").to_owned();
        self.send(line, &what, until)?;
        let mut answer = Answer(self.receive(&what, until)?);
        while self.fences > 0 && answer.value("cmd") == Some("barrier_out") {
            self.fences -= 1;
            answer = Answer(self.receive(&what, until)?);
        }
        if answer.value("cmd") != Some(kind) {
            return Err(answer.wrong(&what));
        }
        match answer.value("rc") {
            None | Some("0") => Ok(answer),
            Some(_) => Err(answer.refusal(&what)),
        }
    }

    fn send(&mut self, line: &str, what: &str, until: Instant) -> Result<(), StoreError> {
        let line = format!("{line}\n");
        let mut left = line.as_bytes();
        while !left.is_empty() {
            self.wait(PollFlags::OUT, what, until)?;
            match send(&self.socket, left, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(sent) => left = &left[sent..],
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(self.broken(error)),
            }
        }
        Ok(())
    }

    /// Returns the next line.
    fn receive(&mut self, what: &str, until: Instant) -> Result<String, StoreError> {
        loop {
            if let Some(line) = self.next_line(what)? {
                return Ok(line);
            }
            self.wait(PollFlags::IN, what, until)?;
        }
    }

    /// Returns the next line, if it has arrived.
    fn next_line(&mut self, what: &str) -> Result<Option<String>, StoreError> {
        loop {
            if let Some(end) = self.read.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Ok(Some(String::from_utf8_lossy(&line[..end]).into_owned()));
            }
            if self.read.len() > ANSWER_BYTES_MAX {
                return Err(StoreError::Answer(what.into(), "more than the protocol allows".into()));
            }
            let mut piece = [0; 1024];
            match recv(&self.socket, &mut piece[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(StoreError::Gone),
                Ok((bytes, _)) => self.read.extend_from_slice(&piece[..bytes]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(None),
                Err(error) => return Err(self.broken(error)),
            }
        }
    }

    fn wait(&self, flags: PollFlags, what: &str, until: Instant) -> Result<(), StoreError> {
        loop {
            let left = until.since(self.clock.now());
            if left == Duration::ZERO {
                return Err(StoreError::Silent(what.into()));
            }
            match poll(&mut [PollFd::new(&self.socket, flags)], Some(&timespec(left))) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(self.broken(error)),
            }
        }
    }

    fn broken(&self, error: Errno) -> StoreError {
        match error {
            Errno::PIPE | Errno::CONNRESET => StoreError::Gone,
            error => StoreError::System(self.socket.as_raw_fd(), error),
        }
    }
}

impl KeyValue for Pmi {
    fn facts(&self) -> &JobFacts {
        &self.facts
    }

    fn put(&mut self, key: &str, value: &str, until: Instant) -> Result<(), StoreError> {
        debug_assert!(key.len() <= KEY_BYTES && value.len() <= VALUE_BYTES && !value.contains(char::is_whitespace));
        let line = format!("cmd=put kvsname={} key={key} value={value}", self.facts.job);
        self.ask(&line, "put_result", until).map(drop)
    }

    fn get(&mut self, _owner: u32, key: &str, until: Instant) -> Result<String, StoreError> {
        let answer = self.ask(&format!("cmd=get kvsname={} key={key}", self.facts.job), "get_result", until)?;
        answer.value("value").map(str::to_owned).ok_or_else(|| answer.wrong("get"))
    }

    fn arrive(&mut self, until: Instant) -> Result<(), StoreError> {
        self.send("cmd=barrier_in", "barrier_in", until)?;
        self.fences += 1;
        Ok(())
    }

    fn hear(&mut self) -> Result<Option<StoreEvent>, StoreError> {
        let Some(line) = self.next_line("barrier_in")? else { return Ok(None) };
        let answer = Answer(line);
        match (answer.value("cmd"), answer.value("rc")) {
            (Some("barrier_out"), None | Some("0")) if self.fences > 0 => {
                self.fences -= 1;
                Ok(Some(StoreEvent::Met))
            }
            (_, Some(code)) if code != "0" => Err(answer.refusal("barrier_in")),
            _ => Err(answer.wrong("barrier_in")),
        }
    }

    fn leave(&mut self, until: Instant) {
        let _whatever_it_says = self.ask("cmd=finalize", "finalize_ack", until);
    }

    fn abort(&mut self, code: i32, until: Instant) {
        // There is no reply.
        let _unless_it_has_gone = self.send(&format!("cmd=abort exitcode={code}"), "abort", until);
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A line of fields `name=value`.
struct Answer(String);

impl Answer {
    fn value(&self, name: &str) -> Option<&str> {
        self.0.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }

    fn refusal(&self, what: &str) -> StoreError {
        StoreError::Refused(what.into(), self.value("msg").unwrap_or("it does not say why").into())
    }

    fn wrong(&self, what: &str) -> StoreError {
        StoreError::Answer(what.into(), self.0.chars().take(100).collect())
    }
}

/// Converts to the system's type.
pub(crate) fn timespec(pause: Duration) -> Timespec {
    let pause = std::time::Duration::from(pause);
    Timespec { tv_sec: pause.as_secs() as i64, tv_nsec: i64::from(pause.subsec_nanos()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixStream;

    const LONG: Duration = Duration::from_milliseconds(60_000);

    /// Connects to a launcher that answers each line by the next of `answers`, and then closes the connection; also returns the requests.
    fn start(answers: &[&str]) -> (Result<Pmi, StoreError>, Vec<String>) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let clock = OsClock::start();
        std::thread::scope(|threads| {
            let server = threads.spawn(move || {
                let mut lines = BufReader::new(theirs.try_clone().unwrap()).lines();
                let mut asked = Vec::new();
                for answer in answers {
                    let Some(Ok(line)) = lines.next() else { break };
                    asked.push(line);
                    // A peer that has closed the connection needs no further answers.
                    let _ = (&theirs).write_all(answer.as_bytes());
                }
                asked
            });
            let pmi = Pmi::start(ours.into(), clock, 1, 4, clock.now() + LONG);
            (pmi, server.join().unwrap())
        })
    }

    const INIT: &str = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";
    const MAXES: &str = "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n";
    const NAME: &str = "cmd=my_kvsname kvsname=kvs_1\n";

    #[test]
    fn a_launcher_is_asked_for_the_job() {
        let (pmi, asked) = start(&[INIT, MAXES, NAME, "cmd=get_result rc=0 msg=success value=(vector,(0,2,1))\n"]);
        let pmi = pmi.unwrap();
        let JobFacts { rank, size, job, placement } = pmi.facts();
        assert_eq!((job.as_str(), *rank, *size, placement.hosts().nth(3)), ("kvs_1", 1, 4, Some(1)));
        assert_eq!(asked[3], "cmd=get kvsname=kvs_1 key=PMI_process_mapping");
        let (pmi, _) = start(&[INIT, MAXES, NAME, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n"]);
        assert_eq!(pmi.unwrap().facts().placement, Placement::one_host(4), "nothing is said of hosts");
    }

    #[test]
    fn ends_of_fences_are_told_one_by_one_and_none_hides_an_answer() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let clock = OsClock::start();
        let facts = JobFacts { rank: 0, size: 2, job: "kvs_1".into(), placement: Placement::one_host(2) };
        let mut pmi = Pmi { socket: ours.into(), clock, facts, read: Vec::new(), fences: 0 };
        let until = clock.now() + LONG;
        (0..2).for_each(|_| pmi.arrive(until).unwrap());
        assert_eq!(pmi.hear(), Ok(None));
        (&theirs).write_all(b"cmd=barrier_out\ncmd=barrier_out rc=0\n").unwrap();
        assert_eq!([pmi.hear(), pmi.hear(), pmi.hear()], [Ok(Some(StoreEvent::Met)), Ok(Some(StoreEvent::Met)), Ok(None)]);
        pmi.arrive(until).unwrap();
        (&theirs).write_all(b"cmd=barrier_out\ncmd=get_result rc=0 value=x\ncmd=barrier_out\n").unwrap();
        assert_eq!(pmi.get(0, "key", until), Ok("x".into()));
        assert!(matches!(pmi.hear(), Err(StoreError::Answer(..))), "nobody waits for it");
    }

    #[test]
    fn what_a_launcher_should_not_say_is_an_error() {
        let error = |answers: &[&str]| start(answers).0.err().expect("an error").to_string();
        assert_eq!(error(&["cmd=response_to_init rc=-1 msg=too_new\n"]), "the launcher refuses init: too_new");
        assert_eq!(error(&["nonsense\n"]), "the launcher answered init by \"nonsense\"");
        assert_eq!(error(&["cmd=maxes\n"]), "the launcher answered init by \"cmd=maxes\"");
        assert!(error(&[INIT, "cmd=maxes keylen_max=8 vallen_max=8\n"]).contains("keys and values of 8 bytes"));
        assert!(error(&[INIT, MAXES, "cmd=my_kvsname\n"]).starts_with("the launcher answered get_my_kvsname by"));
        let mapping = error(&[INIT, MAXES, NAME, "cmd=get_result rc=0 value=(vector,(0,1\n"]);
        assert!(mapping.contains("PMI_process_mapping"), "{mapping}");
        let long = "x".repeat(2 * ANSWER_BYTES_MAX);
        assert!(error(&[&long]).contains("more than the protocol allows"));
        assert!(error(&[INIT, "cmd=maxes keylen"]).contains("closed its connection"), "in the middle of a line");
    }

    #[test]
    fn a_launcher_that_is_silent_is_not_waited_for_without_end() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let clock = OsClock::start();
        let pmi = Pmi::start(ours.into(), clock, 0, 2, clock.now() + Duration::from_milliseconds(20));
        assert_eq!(pmi.err(), Some(StoreError::Silent("init".into())));
    }

    #[test]
    fn a_descriptor_that_is_no_socket_is_an_error() {
        let clock = OsClock::start();
        let file = std::fs::OpenOptions::new().write(true).open("/dev/null").unwrap();
        let error = Pmi::start(file.into(), clock, 0, 2, clock.now() + LONG).err().unwrap();
        assert!(matches!(error, StoreError::System(_, Errno::NOTSOCK)), "{error}");
    }
}
