//! `{:?}` of the types of this crate: names and sizes, never contents that other ranks may write.

use crate::{CellSlice, DeviceBlocks, Place, Pod, PreparedCopies, Window};

pelago_base::debug! {
    CellSlice['a, T: Pod]['a, T] { len: |it| it.len() }
    DeviceBlocks[][] {}
    Place['a, T]['a, T] {}
    PreparedCopies[][] {}
    Window[][] {}
}
