//! The types that most programs use.

pub use crate::{CellSlice, Context, Duration, GlobalPtr, Handle, Pod, Rank, Shape, Symmetric, Team, Word, World};
