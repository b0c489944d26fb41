//! Remedies for a process that may have no more threads or open files.

use std::io::Error;

use rustix::io::Errno;

/// Adds the remedy to the error of a transport that got no progress thread, or no descriptor for it.
pub fn with_remedy(error: Error) -> Error {
    let remedy = match Errno::from_io_error(&error) {
        Some(Errno::AGAIN) => {
            "no further thread may be started; start fewer ranks, raise the limit (ulimit -u, or pids.max), or use --progress manual"
        }
        Some(Errno::MFILE) => "this process has as many files open as it may; raise the limit (ulimit -n)",
        Some(Errno::NFILE) => "this host has as many files open as it may; raise the limit (sysctl fs.file-max)",
        _ => return error,
    };
    Error::other(format!("{error}: {remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_are_reached_are_named() {
        for (code, limit) in [(Errno::AGAIN, "ulimit -u"), (Errno::MFILE, "ulimit -n"), (Errno::NFILE, "fs.file-max")] {
            let error = with_remedy(code.into()).to_string();
            assert!(error.starts_with(&Error::from(code).to_string()) && error.contains(limit), "{error}");
        }
        assert_eq!(with_remedy(Errno::PERM.into()).raw_os_error(), Some(Errno::PERM.raw_os_error()));
    }
}
