//! The secret of a job, which its ranks find in their host's memory: it is never in an argument, a variable or a file with a name.

use rustix::io::{Errno, retry_on_intr};
use rustix::rand::{GetRandomFlags, getrandom};

/// Draws a key from the system's random numbers, which gives so few bytes at once.
pub(crate) fn draw() -> Result<[u8; 16], Errno> {
    let mut key = [0; 16];
    retry_on_intr(|| getrandom(&mut key, GetRandomFlags::empty()))?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_jobs_have_one_key() {
        let keys = [draw().unwrap(), draw().unwrap()];
        assert!(keys[0] != keys[1] && keys.iter().all(|key| *key != [0; 16]));
    }
}
