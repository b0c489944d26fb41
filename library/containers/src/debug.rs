//! `{:?}` of the types of this crate: names and sizes, never contents that other ranks may write.

use pelago_base::debug;

use crate::hash_tables::{CountUpdates, MapUpdates};
use crate::{
    GlobalBytes, GlobalDeque, GlobalHeap, GlobalList, GlobalMap, GlobalMultiset, GlobalSet, GlobalVector, Guarded, List,
    PlacedMap, PlacedMultiset, Sequence, WorkQueue,
};

debug! {
    CountUpdates['m, 'h, 'w, K]['m, 'h, 'w, K] {}
    GlobalBytes['h, 'w]['h, 'w] { bytes: |it| it.bytes() }
    GlobalDeque['h, 'w, T]['h, 'w, T] {}
    GlobalHeap['w]['w] { bytes: |it| it.bytes() }
    GlobalList['h, 'w, T]['h, 'w, T] {}
    GlobalMap['h, 'w, K, V]['h, 'w, K, V] {}
    GlobalMultiset['h, 'w, K]['h, 'w, K] {}
    GlobalSet['h, 'w, K]['h, 'w, K] {}
    GlobalVector['h, 'w, T]['h, 'w, T] {}
    Guarded['h, 'w, C]['h, 'w, C] {}
    List['h, 'w]['h, 'w] { address: |it| it.address() }
    MapUpdates['m, 'h, 'w, K, V]['m, 'h, 'w, K, V] {}
    PlacedMap['h, 'w]['h, 'w] { address: |it| it.address() }
    PlacedMultiset['h, 'w]['h, 'w] { address: |it| it.address() }
    Sequence['h, 'w]['h, 'w] { address: |it| it.address() }
    WorkQueue['w, T]['w, T] {}
}
