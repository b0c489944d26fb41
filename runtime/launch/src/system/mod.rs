//! The operating system, as ranks and launchers use it.
//!
//! | file | content |
//! |---|---|
//! | `clock`, `wait` | the clock of the machine; waiting by yielding and then sleeping on a doorbell |
//! | `process_stat` | the state of a process in `/proc` |
//! | `report` | the waits of the ranks of a host, and the ranks for which they wait |
//! | `stillness` | whether the ranks of a host can only be woken by others |
//! | `network` | the addresses of a host, and their reachability from other hosts |
//! | `udp_ports` | sockets on consecutive ports |
//! | `job_key` | the secret of a job |
//! | `exhausted` | remedies where no more threads or open files are allowed |

pub(crate) mod clock;
pub(crate) mod exhausted;
pub(crate) mod job_key;
pub(crate) mod network;
pub(crate) mod process_stat;
pub(crate) mod report;
pub(crate) mod stillness;
pub(crate) mod udp_ports;
pub(crate) mod wait;

/// Returns the longest prefix of the text that fits into `limit` bytes.
pub(crate) fn shortened(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn texts_are_cut_between_characters() {
        for (limit, cut) in [(0, ""), (1, "a"), (2, "a"), (3, "aµ"), (4, "aµ"), (5, "aµ")] {
            assert_eq!(shortened("aµ", limit), cut, "{limit}");
        }
    }
}
