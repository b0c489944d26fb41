//! What most programs name.

pub use crate::{CellSlice, Context, GlobalPtr, Handle, Pod, Rank, Shape, Symmetric, Team, Word, World};
