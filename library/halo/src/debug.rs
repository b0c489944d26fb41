//! `{:?}` of the types of this crate: names and sizes, never contents that other ranks may write.

use pelago_base::debug;
use pelago_rma::Pod;

use crate::{Field, Plan, Region, StreamPlan, View};

debug! {
    Field['w, T: Pod, const D: usize]['w, T, D] { array: |it| it.array() }
    Plan['w, T: Pod, const D: usize]['w, T, D] {}
    Region['f, T, const D: usize]['f, T, D] {}
    StreamPlan['w, T: Pod, const D: usize]['w, T, D] {}
    View['f, T: Pod, const D: usize]['f, T, D] { layout: |it| it.layout() }
}
