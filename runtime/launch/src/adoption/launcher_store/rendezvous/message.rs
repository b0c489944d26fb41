//! The messages of the processes of a job and the server of their rendezvous: short texts.

use std::fmt;

/// A message of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ToServer {
    /// The process has arrived, on a host of this identity.
    Come {
        host: u64,
    },
    Put {
        key: String,
        value: String,
    },
    Get {
        key: String,
    },
    Arrive,
    Leave,
    Abort,
}

/// A message of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ToClient {
    /// All have arrived: the name of the job, and the host of each process.
    Placed {
        job: String,
        hosts: Vec<u32>,
    },
    /// The process cannot belong to the job, or not all have arrived.
    Refused(String),
    Done,
    Value(String),
    NoValue,
    Met,
    Left,
    /// A process has ended without leaving.
    Lost(u32),
    /// A process requests the end of the job.
    Aborted,
    /// The server, and thus the rendezvous, ends: no more messages will come, which is not a failure.
    Over,
}

impl fmt::Display for ToServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Come { host } => write!(f, "come {host:016x}"),
            Self::Put { key, value } => write!(f, "put {key} {value}"),
            Self::Get { key } => write!(f, "get {key}"),
            Self::Arrive => f.write_str("arrive"),
            Self::Leave => f.write_str("leave"),
            Self::Abort => f.write_str("abort"),
        }
    }
}

impl ToServer {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.splitn(3, ' ').collect();
        Some(match words[..] {
            ["come", host] => Self::Come { host: u64::from_str_radix(host, 16).ok()? },
            ["put", key, value] => Self::Put { key: key.into(), value: value.into() },
            ["get", key] => Self::Get { key: key.into() },
            ["arrive"] => Self::Arrive,
            ["leave"] => Self::Leave,
            ["abort"] => Self::Abort,
            _ => return None,
        })
    }
}

impl fmt::Display for ToClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Placed { job, hosts } => {
                write!(f, "placed {job} ")?;
                hosts.chunk_by(|one, next| one == next).try_for_each(|run| write!(f, "{}x{},", run[0], run.len()))
            }
            Self::Refused(why) => write!(f, "refused {why}"),
            Self::Done => f.write_str("done"),
            Self::Value(value) => write!(f, "value {value}"),
            Self::NoValue => f.write_str("none"),
            Self::Met => f.write_str("met"),
            Self::Left => f.write_str("left"),
            Self::Lost(rank) => write!(f, "lost {rank}"),
            Self::Aborted => f.write_str("aborted"),
            Self::Over => f.write_str("over"),
        }
    }
}

impl ToClient {
    /// `size`: number of processes of the job, and of entries of `hosts`.
    pub(super) fn parse(text: &str, size: u32) -> Option<Self> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        Some(match word {
            "placed" => {
                let (job, runs) = rest.split_once(' ')?;
                let mut hosts = Vec::new();
                for run in runs.split_terminator(',') {
                    let (host, count) = run.split_once('x')?;
                    let (host, count): (u32, u32) = (host.parse().ok()?, count.parse().ok()?);
                    if count > size - hosts.len() as u32 {
                        return None;
                    }
                    hosts.resize(hosts.len() + count as usize, host);
                }
                (hosts.len() == size as usize).then(|| Self::Placed { job: job.into(), hosts })?
            }
            "refused" => Self::Refused(rest.into()),
            "done" => Self::Done,
            "value" => Self::Value(rest.into()),
            "none" => Self::NoValue,
            "met" => Self::Met,
            "left" => Self::Left,
            "lost" => Self::Lost(rest.parse().ok().filter(|&rank| rank < size)?),
            "aborted" => Self::Aborted,
            "over" => Self::Over,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_as_they_were_sent() {
        let text = || "a".to_owned();
        let all = [
            ToServer::Come { host: u64::MAX },
            ToServer::Put { key: text(), value: "b".into() },
            ToServer::Get { key: text() },
            ToServer::Arrive,
            ToServer::Leave,
            ToServer::Abort,
        ];
        for message in all {
            assert_eq!(ToServer::parse(&message.to_string()), Some(message));
        }
        let all = [
            ToClient::Placed { job: text(), hosts: vec![0, 1, 0, 0, 7] },
            ToClient::Refused("not so".into()),
            ToClient::Done,
            ToClient::Value("v w".into()),
            ToClient::NoValue,
            ToClient::Met,
            ToClient::Left,
            ToClient::Lost(4),
            ToClient::Aborted,
            ToClient::Over,
        ];
        for message in all {
            assert_eq!(ToClient::parse(&message.to_string(), 5), Some(message));
        }
    }

    #[test]
    fn what_nobody_says_is_none() {
        for text in ["", "come", "come x", "put a", "get", "go"] {
            assert_eq!(ToServer::parse(text), None, "{text}");
        }
        for text in ["", "placed a", "placed a 0x4,", "placed a 0x6,", "placed a 0x4294967295,0x6,", "lost 5", "lost", "go"] {
            assert_eq!(ToClient::parse(text, 5), None, "{text}");
        }
    }
}
