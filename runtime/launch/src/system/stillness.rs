//! Whether the ranks of a host can only be woken by others: what a deadlock consists of.

use std::sync::atomic::Ordering;

use pelago_shm::{HostMemory, RankControl, RankStage};

use crate::system::process_stat::ProcessStat;

/// Returns a count of all events on the host, if its ranks are still: all threads that use the library sleep without a time limit, no ring and no
/// request is pending, and no operation is in flight.
///
/// Two equal counts mean that the ranks were still all the time between them, and sent and received no datagram. If that holds for all hosts of a job during a common interval, the job is
/// deadlocked: an operation that is in flight between two hosts belongs to a rank that is not still.
pub(crate) fn stillness(host: &HostMemory) -> Option<u64> {
    host.controls()
        .map(|(_, control)| {
            is_still(control).then(|| [&control.moves, &control.datagrams].map(|count| count.load(Ordering::SeqCst)))
        })
        .try_fold(0, |sum: u64, counts| Some(counts?.into_iter().fold(sum, u64::wrapping_add)))
}

/// Whether a rank of the host is stopped, by SIGSTOP or in a debugger: it may have received data that its threads will notice.
pub(crate) fn is_stopped(host: &HostMemory) -> bool {
    let joined = host.controls().filter(|(_, control)| control.stage() == RankStage::Joined);
    joined.filter_map(|(_, control)| ProcessStat::of(control.process())).any(|stat| stat.is_stopped || stat.state == b't')
}

fn is_still(control: &RankControl) -> bool {
    match control.stage() {
        RankStage::Absent => false,
        // A rank that starts or ends has no registered thread: it is still only if a thread waits.
        RankStage::Joined => {
            let threads = control.threads.load(Ordering::SeqCst).max(1);
            control.waiting.load(Ordering::SeqCst) >= threads && control.is_unasked() && control.report.in_flight() == 0
        }
        RankStage::Finished | RankStage::Failed => true,
    }
}
