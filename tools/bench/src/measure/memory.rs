//! `memory`: the memory use of a rank before its first allocation.

use crate::Row;
use crate::error::Result;
use crate::rank::context::RankContext;
use crate::results::row::rounded;

pub(crate) fn run(stage: &RankContext<'_>) -> Result<()> {
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
