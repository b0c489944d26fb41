//! The limit on open descriptors, for those of all ranks.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::launcher::LaunchError;
use crate::launcher::limits::{DESCRIPTORS_BESIDES, DESCRIPTORS_PER_RANK};

/// Raises this process's limit on open descriptors to the need of `processes` ranks or remote shells; returns the previous limit, which
/// ranks get.
pub(crate) fn make_room(processes: u32) -> Result<Rlimit, LaunchError> {
    let before = getrlimit(Resource::Nofile);
    let needed = u64::from(processes) * DESCRIPTORS_PER_RANK + DESCRIPTORS_BESIDES;
    let allowed = before.maximum.unwrap_or(u64::MAX);
    if allowed < needed {
        return Err(LaunchError::Descriptors { processes, needed, allowed });
    }
    if before.current.is_some_and(|current| current < needed) {
        let raised = Rlimit { current: Some(needed), maximum: before.maximum };
        setrlimit(Resource::Nofile, raised).map_err(|error| LaunchError::System(error.into()))?;
    }
    Ok(before)
}
