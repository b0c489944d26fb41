//! Which rank owns which cells, and where they lie in its memory.
//!
//! | part | for |
//! |---|---|
//! | `nodes`, `direction` | the grid of ranks, and the directions to neighbours in it |
//! | `array` | templates and arrays: block distribution, alignment, shadows |
//! | `layout`, `shape` | the cells of a block and its halo in memory; boxes of cells as count × block × stride |
//! | `error` | why cells cannot be distributed as described |

pub(crate) mod array;
pub(crate) mod direction;
pub(crate) mod error;
pub(crate) mod layout;
pub(crate) mod nodes;
pub mod shape;
