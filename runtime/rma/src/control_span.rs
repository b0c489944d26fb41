//! Spans of control operations for a subscriber of `tracing`, with the feature of this name; without the feature, no code.
//!
//! Control operations prepare communication: joining and leaving a job, allocation, registration, groups. Puts, gets, atomics, waits and barriers have no
//! spans, because their instructions are counted.

/// Opens a span until the end of the block: a name, then fields with their values.
macro_rules! control_span {
    ($name:literal $(, $field:ident = $value:expr)* $(,)?) => {
        #[cfg(feature = "tracing")]
        let _span = tracing::info_span!(target: "pelago", $name $(, $field = $value)*).entered();
    };
}
