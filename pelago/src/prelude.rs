//! The types that most programs use.

pub use crate::{CellSlice, Context, GlobalPtr, Handle, Pod, Rank, Shape, Symmetric, Team, Word, World};
