//! `launch`: the time of empty jobs, measured by the command.

use std::io;
use std::process::{Command, Stdio};

use crate::Row;
use crate::comparison::{Comparison, Side, time};
use crate::error::{Error, Result};

const REPETITIONS: u64 = 11;

/// A program on every system that does nothing.
const NOTHING: &str = "true";

/// Times empty jobs of each of these numbers of ranks; `start` runs an empty job of a number of ranks to its end.
///
/// The raw limit is the same number of processes that do nothing, started one after the other and then waited for.
///
/// # Errors
/// A job failed, or the system cannot start a process.
pub fn launch_rows(transport: &str, ranks: &[u32], mut start: impl FnMut(u32) -> io::Result<()>) -> Result<Vec<Row>> {
    let mut row = |&ranks: &u32| {
        let comparison = Comparison::run(REPETITIONS, |side| {
            time(|| {
                match side {
                    Side::Library => start(ranks),
                    Side::Raw => spawn(ranks),
                }
                .map_err(|error| Error::System("cannot start a job", error))
            })
        })?;
        let row = Row { name: "launch".into(), transport: transport.into(), ranks, ..Row::default() };
        Ok(row.timed(&comparison, "processes"))
    };
    ranks.iter().map(&mut row).collect()
}

fn spawn(count: u32) -> io::Result<()> {
    let start = |_| Command::new(NOTHING).stdin(Stdio::null()).spawn();
    let children = (0..count).map(start).collect::<io::Result<Vec<_>>>()?;
    children.into_iter().try_for_each(|mut child| child.wait().map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_ranks_has_a_row() {
        let mut started = Vec::new();
        let rows = launch_rows("shm", &[2, 3], |ranks| {
            started.push(ranks);
            Ok(())
        });
        let rows = rows.unwrap();
        assert_eq!(rows.iter().map(|row| row.ranks).collect::<Vec<_>>(), [2, 3]);
        assert!(rows.iter().all(|row| row.repetitions == Some(REPETITIONS) && row.ratio.is_some()));
        assert_eq!(started.iter().filter(|ranks| **ranks == 3).count() as u64, REPETITIONS + 2);
    }

    #[test]
    fn a_job_that_fails_has_no_time() {
        assert!(launch_rows("shm", &[1], |_| Err(io::Error::other("no"))).is_err());
    }
}
