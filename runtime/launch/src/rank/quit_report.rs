//! The line that a rank writes to its standard error at SIGQUIT; the rank then continues. The line contains the local knowledge of this rank;
//! under the `pelago` launcher, a SIGQUIT of the launcher reports on all ranks.
//!
//! - **Q1** The handler allocates nothing, takes no lock and calls nothing that sets `errno`: it reads atomics of the host's memory, formats numbers and
//!   text into a buffer on its stack, and makes the system calls `clock_gettime` and `write`.
//! - **Q2** The data that it reads is never freed: the state is created once per process and kept.
//! - **Q3** A handler of the program, or an ignored signal, stays unchanged.
#![allow(unsafe_code)]

use std::fmt::{self, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use pelago_base::Rank;
use pelago_shm::{HostMemory, RankReport};

use crate::limits::REPORT_LINE_BYTES;
use crate::system::report::monotonic_ns;

/// The rank of this process.
static RANK: OnceLock<(Arc<HostMemory>, Rank)> = OnceLock::new();

/// Whether the handler may read `RANK`: set after `RANK`, so that the handler never accesses a `OnceLock` that is being initialized.
static IS_READY: AtomicBool = AtomicBool::new(false);

/// Makes SIGQUIT report the wait of this process, which is `rank`. The first rank of a process counts.
pub(crate) fn install(host: &Arc<HostMemory>, rank: Rank) {
    if RANK.set((host.clone(), rank)).is_err() {
        return;
    }
    IS_READY.store(true, Ordering::Release);
    // SAFETY: Q1, Q3; both structures are of the sizes that the call expects, and valid when zero.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGQUIT, std::ptr::null(), &mut action) != 0 || action.sa_sigaction != libc::SIG_DFL {
            return;
        }
        let handler: extern "C" fn(libc::c_int) = on_quit;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_RESTART;
        // After a refusal the signal keeps its default effect.
        let _ = libc::sigaction(libc::SIGQUIT, &action, std::ptr::null_mut());
    }
}

extern "C" fn on_quit(_signal: libc::c_int) {
    if !IS_READY.load(Ordering::Acquire) {
        return;
    }
    let Some((host, rank)) = RANK.get() else { return };
    let Some(control) = host.control(*rank) else { return };
    let mut line = Line::default();
    // A line that is too long is truncated.
    let _ = describe(&mut line, *rank, &control.report, monotonic_ns());
    line.end();
    // Raw system calls: they do not change `errno`.
    let _ = rustix::io::write(std::io::stderr().as_fd(), line.bytes());
}

fn describe(line: &mut impl Write, rank: Rank, report: &RankReport, now_ns: u64) -> fmt::Result {
    write!(line, "pelago: rank {rank}")?;
    let mut waits = report.waits().peekable();
    if waits.peek().is_none() {
        line.write_str(" does not wait in the library")?;
    }
    for (number, wait) in waits.enumerate() {
        line.write_str(if number == 0 { " waits " } else { "; another thread waits " })?;
        write_seconds(line, wait.seconds_before(now_ns))?;
        write!(line, " in {wait}")?;
    }
    for (number, wait) in report.past_waits().enumerate() {
        write!(line, "{} {} ", if number == 0 { "; waits that ended before:" } else { "," }, wait.what())?;
        write_seconds(line, wait.seconds_before(now_ns))?;
        line.write_str(" ago")?;
    }
    Ok(())
}

/// Writes a time with tenths. Integers only, which `core` formats without allocation.
fn write_seconds(line: &mut impl Write, seconds: f64) -> fmt::Result {
    let tenths = (seconds * 10.0) as u64;
    write!(line, "{}.{} s", tenths / 10, tenths % 10)
}

/// A line on the stack.
struct Line {
    bytes: [u8; REPORT_LINE_BYTES],
    used: usize,
}

impl Default for Line {
    fn default() -> Self {
        Self { bytes: [0; REPORT_LINE_BYTES], used: 0 }
    }
}

impl Line {
    fn end(&mut self) {
        self.used = self.used.min(REPORT_LINE_BYTES - 1);
        self.bytes[self.used] = b'\n';
        self.used += 1;
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let bytes = text.len().min(REPORT_LINE_BYTES - self.used);
        self.bytes[self.used..self.used + bytes].copy_from_slice(&text.as_bytes()[..bytes]);
        self.used += bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use pelago_platform::{Awaited, WaitSite};
    use pelago_shm::HostPlan;

    use super::*;

    #[test]
    fn a_line_says_what_a_rank_waits_for_and_is_cut_where_it_is_too_long() {
        let host = HostMemory::create(&HostPlan::local(1, Some(1 << 16))).unwrap().0;
        let report = &host.control(Rank::new(0)).unwrap().report;
        let text = || {
            let mut line = Line::default();
            describe(&mut line, Rank::new(0), report, 2_500_000_000).unwrap();
            line.end();
            String::from_utf8(line.bytes().to_vec()).unwrap()
        };
        assert_eq!(text(), "pelago: rank 0 does not wait in the library\n");
        let site = WaitSite { what: "flush", awaited: Awaited::Rank(Rank::new(3)), word: None, in_flight: 1 };
        let place = report.show(&site, 1_000_000_000);
        assert_eq!(text(), "pelago: rank 0 waits 1.5 s in flush, for rank 3, 1 operation under way\n");
        report.hide(place, &site, 2_000_000_000);
        assert_eq!(text(), "pelago: rank 0 does not wait in the library; waits that ended before: flush 0.5 s ago\n");
        let long = WaitSite { what: "a wait with a name of 32 letters", in_flight: u32::MAX, word: Some(u64::MAX - 1), ..site };
        for _ in 0..8 {
            report.show(&long, 0);
        }
        assert_eq!((text().len(), text().ends_with('\n')), (REPORT_LINE_BYTES, true));
    }
}
