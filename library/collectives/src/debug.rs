//! `{:?}` of the types of this crate: names and sizes, never contents that other ranks may write.

use pelago_base::debug;
use pelago_rma::Pod;

use crate::{Collectives, DeviceRing, Neighbours, Plan, Running, Started};

debug! {
    Collectives['w]['w] { team: |it| it.team(), position: |it| it.position() }
    DeviceRing['c, 'w, T]['c, 'w, T] {}
    Neighbours['c, 'w]['c, 'w] { targets: |it| it.targets(), sources: |it| it.sources() }
    Plan['c, 'w, T: Pod]['c, 'w, T] { operation: |it| it.operation(), algorithm: |it| it.algorithm() }
    Running['r, 'c, 'w, T: Pod]['r, 'c, 'w, T] {}
    Started['c, 'w, T: Pod]['c, 'w, T] {}
}
