//! Results: one row each, shown as a table or as a picture.
//!
//! | file | content |
//! |---|---|
//! | `row` | one result |
//! | `table`, `plot` | rows as text, and as pictures |
//! | [`evaluation`] | the figures of `docs/evaluation` |

pub mod evaluation;
pub(crate) mod plot;
pub(crate) mod row;
pub(crate) mod table;
