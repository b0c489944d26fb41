//! `pelago top`: the ranks of a job that hangs, as a table and as JSON, and of a job of 64 ranks.

use crate::{RANK, Running, end, pelago};

fn top(job: &Running, options: &[&str]) -> String {
    let launcher = job.launcher.id().to_string();
    let ended = end(pelago(&[&["top", &launcher], options].concat()).0);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.output
}

#[test]
fn a_job_of_64_ranks_is_shown_while_it_runs() {
    let job = Running::of(64, pelago(&["run", "-n", "64", "--transport", "shm", RANK, "wait"]));
    // All ranks except rank 0 wait at a barrier, which rank 0 never reaches; they park there soon.
    let patience = std::time::Instant::now() + crate::PATIENCE;
    let table = loop {
        let table = top(&job, &["--once"]);
        if table.contains("63 wait") || std::time::Instant::now() > patience {
            break table;
        }
    };
    assert!(table.contains("64 of 64 ranks on this host; 63 wait, 0 run, 1 others"), "{table}");
    assert_eq!(
        table.lines().filter(|line| line.ends_with("s: the start or end of the job, for all ranks")).count(),
        63,
        "{table}"
    );
    let json = top(&job, &["--json"]);
    assert!(json.lines().count() == 64 && json.starts_with("{\"bytes\":0,\"operations\":0,"), "{json}");
    job.signal_launcher(rustix::process::Signal::TERM);
    assert_eq!(job.end().0.code(), Some(130));
}

#[test]
fn a_process_that_is_no_launcher_is_refused() {
    let ended = end(pelago(&["top", "1073741823"]).0);
    assert_eq!(
        (ended.code, ended.error.as_str()),
        (Some(2), "pelago: process 1073741823 is no launcher of a job that this user may look at\n")
    );
}
