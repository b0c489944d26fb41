//! Records that the ranks of a host publish for each other at start: a key and a value, each with its length, one record after the other.

use std::sync::atomic::Ordering;

use pelago_base::Rank;
use pelago_platform::limits::PUBLISHED_BYTES_MAX;

use crate::HostMemory;
use crate::host::memory::words;

impl HostMemory {
    /// Adds a record to those of `rank`; `false` if there is no space.
    pub fn publish(&self, rank: Rank, key: &str, value: &[u8]) -> bool {
        let Some(control) = self.control(rank) else { return false };
        let used = control.published_bytes.load(Ordering::Relaxed) as usize;
        let (Ok(key_bytes), Ok(value_bytes)) = (u16::try_from(key.len()), u16::try_from(value.len())) else { return false };
        let mut record = Vec::with_capacity(4 + key.len() + value.len());
        record.extend_from_slice(&key_bytes.to_le_bytes());
        record.extend_from_slice(&value_bytes.to_le_bytes());
        record.extend_from_slice(key.as_bytes());
        record.extend_from_slice(value);
        let Some(room) = words(&control.published).part(used as u64, record.len() as u64) else { return false };
        room.write(&record);
        control.published_bytes.store((used + record.len()) as u32, Ordering::Release);
        true
    }

    /// Returns the value that `rank` published under `key`.
    pub fn published(&self, rank: Rank, key: &str) -> Option<Vec<u8>> {
        let control = self.control(rank)?;
        let used = (control.published_bytes.load(Ordering::Acquire) as usize).min(PUBLISHED_BYTES_MAX);
        let mut records = vec![0; used];
        words(&control.published).part(0, used as u64)?.read(&mut records);
        let mut rest = records.as_slice();
        while let Some((head, body)) = rest.split_at_checked(4) {
            let (found, after) = body.split_at_checked(usize::from(u16::from_le_bytes([head[0], head[1]])))?;
            let (value, after) = after.split_at_checked(usize::from(u16::from_le_bytes([head[2], head[3]])))?;
            if found == key.as_bytes() {
                return Some(value.to_vec());
            }
            rest = after;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostPlan;

    #[test]
    fn what_is_published_is_found_until_the_room_is_used_up() {
        let (host, _file) = HostMemory::create(&HostPlan::local(2, Some(1 << 20))).unwrap();
        let rank = Rank::new(1);
        assert!(host.publish(rank, "udp", b"1.2.3.4"));
        assert!(host.publish(rank, "empty", b""));
        assert_eq!(host.published(rank, "udp").as_deref(), Some(&b"1.2.3.4"[..]));
        assert_eq!(host.published(rank, "empty").as_deref(), Some(&b""[..]));
        assert_eq!(host.published(rank, "shm"), None);
        assert_eq!(host.published(Rank::new(0), "udp"), None);
        assert!(!host.publish(rank, "long", &[0; PUBLISHED_BYTES_MAX]));
    }
}
