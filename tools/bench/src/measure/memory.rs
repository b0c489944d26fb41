//! `memory`: what a rank costs before it has allocated anything.

use crate::Row;
use crate::error::{Error, Result};
use crate::row::rounded;
use crate::stage::Stage;

/// Memory of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Memory that only this process has: what one more of its kind takes.
    pub(crate) private_bytes: u64,
    pub(crate) resident_bytes: u64,
}

impl Usage {
    pub(crate) fn now() -> Result<Self> {
        let text = std::fs::read_to_string("/proc/self/smaps_rollup")
            .map_err(|error| Error::System("/proc/self/smaps_rollup", error))?;
        Ok(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let bytes = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
        };
        let bytes = |name| bytes(name).unwrap_or(0);
        Self { private_bytes: bytes("Private_Clean") + bytes("Private_Dirty"), resident_bytes: bytes("Rss") }
    }
}

pub(crate) fn run(stage: &Stage<'_>) -> Result<()> {
    let mut largest = [stage.usage.private_bytes, stage.usage.resident_bytes, stage.usage_before.private_bytes];
    stage.world.allreduce(&mut largest, u64::max)?;
    let [private_bytes, resident_bytes, raw_bytes] = largest;
    stage.emit(&Row {
        private_bytes: Some(private_bytes),
        resident_bytes: Some(resident_bytes),
        raw_name: Some("process".into()),
        raw_bytes: Some(raw_bytes),
        ratio: Some(rounded(private_bytes as f64 / raw_bytes as f64)),
        ..stage.row("memory")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clean_and_dirty_count() {
        let text = "55d0-7ffe ---p 00000000 00:00 0    [rollup]\nRss:    1692 kB\nPss:  272 kB\nPrivate_Clean:  8 kB\nPrivate_Dirty:   100 kB\n";
        assert_eq!(Usage::parse(text), Usage { private_bytes: 108 * 1024, resident_bytes: 1692 * 1024 });
    }
}
