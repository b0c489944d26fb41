//! `{:?}` of the types of this crate: names and sizes, never contents that other ranks may write.

use pelago_base::debug;

use crate::active::{ActiveMessages, Call, Function, Functions, Reply};
use crate::{
    Chain, Context, ContextFactory, DeviceCompletion, DeviceCompletions, Group, Individual, Ordered, PendingGet, Pod, Rails,
    Registered, RegisteredDevice, Symmetric, World,
};

debug! {
    ActiveMessages['w]['w] { world: |it| it.world() }
    Call['c]['c] { from: |it| it.from() }
    Chain['c]['c] {}
    Context[][] { rank: |it| it.rank(), size: |it| it.size() }
    ContextFactory[][] {}
    DeviceCompletion['c]['c] {}
    DeviceCompletions['c]['c] {}
    Function[A, R][A, R] {}
    Functions[][] {}
    Group['w]['w] { team: |it| it.team(), position: |it| it.position() }
    Individual['c, T: Pod]['c, T] { len: |it| it.len() }
    Ordered['c]['c] {}
    PendingGet['c, T: Pod]['c, T] { len: |it| it.len() }
    Rails['c]['c] { len: |it| it.iter().len() }
    Registered['c, T: Pod]['c, T] { len: |it| it.len() }
    RegisteredDevice['c, T: Pod]['c, T] { len: |it| it.len(), kind: |it| it.kind() }
    Reply['m, 'w, R]['m, 'w, R] {}
    Symmetric['w, T: Pod]['w, T] { len: |it| it.len() }
    World[][] { rank: |it| it.rank(), size: |it| it.size() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_its_name() {
        assert_eq!(format!("{:?}", Functions::new().register(|_, _: u64| ())), "Function { .. }");
    }
}
