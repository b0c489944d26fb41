//! `{:?}` of the types of this crate: names and sizes, never contents that other ranks may write.

use pelago_base::debug;
use pelago_rma::Pod;

use crate::lock::Member;
use crate::{
    Bundle, BundleReadGuard, BundleReadRequest, BundleWriteGuard, BundleWriteRequest, Counter, PartMut, Parts, ReadRequest,
    Region, Section, Shared, SyncBarrier, WriteRequest,
};

debug! {
    Bundle['w, P: Parts]['w, P] { home: |it| it.home() }
    BundleReadGuard['g, 'w, P: Parts]['g, 'w, P] {}
    BundleReadRequest['g, 'w, P: Parts]['g, 'w, P] {}
    BundleWriteGuard['g, 'w, P: Parts]['g, 'w, P] {}
    BundleWriteRequest['g, 'w, P: Parts]['g, 'w, P] {}
    Counter['w]['w] { home: |it| it.home() }
    Member[M][M] {}
    PartMut['a, T]['a, T] {}
    ReadRequest['g, 'w, T: ?Sized]['g, 'w, T] {}
    Region['w, T: Pod]['w, T] { len: |it| it.len() }
    Section['g, 'w, T: Pod]['g, 'w, T] {}
    Shared['w, T: ?Sized]['w, T] {}
    SyncBarrier['w]['w] {}
    WriteRequest['g, 'w, T: ?Sized]['g, 'w, T] {}
}
