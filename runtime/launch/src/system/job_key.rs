//! The secret of a job, which its ranks read from their host's memory: it is never in an argument, a variable or a named file.

use std::fs::File;
use std::io::{Error, Read};

use rustix::io::retry_on_intr;
use rustix::rand::{GetRandomFlags, getrandom};

/// Excludes this process, whose memory contains a key in several places, from core dumps and from inspection by other processes of its user.
/// Programs that it starts are not affected. For launchers.
#[cfg(feature = "launcher")]
pub(crate) fn keep_from_dumps() {
    let _where_granted = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// Draws a key from the system's random numbers, which provides so few bytes in one call; from the device if the call is refused.
pub(crate) fn draw() -> Result<[u8; 16], Error> {
    let mut key = [0; 16];
    if retry_on_intr(|| getrandom(&mut key, GetRandomFlags::empty())) != Ok(key.len()) {
        File::open("/dev/urandom")?.read_exact(&mut key)?;
    }
    Ok(key)
}

/// Parses a secret of 32 hexadecimal digits.
pub(crate) fn parse(text: &str) -> Option<[u8; 16]> {
    let is_hexadecimal = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    Some(u128::from_str_radix(text, 16).ok().filter(|_| is_hexadecimal)?.to_be_bytes())
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
