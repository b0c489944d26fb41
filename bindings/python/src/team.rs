//! Collective operations of the members of a team.
//!
//! Operations are started and then waited for, so that the wait can check for signals.

use std::collections::BTreeSet;
use std::ops::{BitAnd, BitOr, BitXor};
use std::sync::{Arc, Mutex, PoisonError};

use pelago::Pod;
use pelago::collectives::{Collectives, Commutative, Started};
use pyo3::prelude::*;

use crate::buffer::Bytes;
use crate::fail::Fail;
use crate::link::{Link, RankNumber};
use crate::rank::Rank;

/// An ordered set of ranks.
#[pyclass(frozen, module = "pelago._pelago")]
pub(crate) struct Team {
    link: Arc<Link>,
    /// The number among the teams of the rank; `None` for the team of all ranks.
    number: Option<u64>,
    position: u32,
    /// The members; `None` for all ranks.
    members: Option<Vec<u32>>,
    /// The reductions, by their [`code`], in which the members have agreed.
    agreed: Mutex<BTreeSet<u64>>,
}

impl Team {
    pub(crate) fn all(link: Arc<Link>) -> Self {
        let position = link.rank;
        Self { link, number: None, position, members: None, agreed: Mutex::default() }
    }

    pub(crate) fn of(link: Arc<Link>, number: u64, position: u32, members: Vec<u32>) -> Self {
        Self { link, number: Some(number), position, members: Some(members), agreed: Mutex::default() }
    }

    fn size_of(&self) -> usize {
        self.members.as_ref().map_or(self.link.size as usize, Vec::len)
    }

    /// Compares the code of a reduction with those of all members, at its first use. The library compares lengths and roots of each call, but neither
    /// types of the same size nor operators. A program whose members differ usually does so from its first call on, and a comparison in each call would
    /// take as long as a short reduction.
    fn compare(&self, rank: &Rank<'_, '_>, team: &Collectives<'_>, code: u64) -> Result<(), Fail> {
        let agreed = || self.agreed.lock().unwrap_or_else(PoisonError::into_inner);
        if !agreed().contains(&code) {
            agree(rank, team, code)?;
            agreed().insert(code);
        }
        Ok(())
    }

    fn check_root(&self, root: u32) -> Result<(), Fail> {
        let size = self.size_of();
        if (root as usize) < size { Ok(()) } else { Err(Fail::Index(format!("member {root} of a team of {size}"))) }
    }
}

/// Waits for a started operation, and writes its values to `into`.
fn finish<T: Pod>(rank: &Rank<'_, '_>, what: &'static str, mut started: Started<'_, '_, T>, into: &Bytes) -> Result<(), Fail> {
    rank.wait_for(what, None, || Ok(started.test()?.then_some(())))?;
    into.write(&started.wait()?);
    Ok(())
}

/// Evaluates an expression with the type of elements of this name.
macro_rules! with_type {
    ($name:expr, |$type:ident| $act:expr) => {
        with_type!(@of $name, $type, $act; "int8" i8, "uint8" u8, "int16" i16, "uint16" u16, "int32" i32, "uint32" u32,
            "int64" i64, "uint64" u64, "float32" f32, "float64" f64)
    };
    (@of $name:expr, $type:ident, $act:expr; $($text:literal $known:ty),+) => {
        match $name {
            $($text => {
                type $type = $known;
                $act
            })+
            other => Err(Fail::Value(format!("no reduction of {other}"))),
        }
    };
}

/// A type of elements of reductions.
trait Reduced: Pod {
    /// Returns the operator of this name.
    fn operator(name: &str) -> Option<fn(Self, Self) -> Self>;
}

/// Returns the bitwise operator of this name, for integers.
fn bits<T: BitAnd<Output = T> + BitOr<Output = T> + BitXor<Output = T>>(name: &str) -> Option<fn(T, T) -> T> {
    match name {
        "and" => Some(|one, other| one & other),
        "or" => Some(|one, other| one | other),
        "xor" => Some(|one, other| one ^ other),
        _ => None,
    }
}

/// Returns `None`: floating-point types have no bitwise operators.
fn no_bits<T>(_: &str) -> Option<fn(T, T) -> T> {
    None
}

macro_rules! reduced {
    ($bits:ident, $sum:expr, $product:expr; $($type:ty)+) => {$(
        impl Reduced for $type {
            fn operator(name: &str) -> Option<fn(Self, Self) -> Self> {
                let operator: fn(Self, Self) -> Self = match name {
                    "sum" => $sum,
                    "prod" => $product,
                    "min" => |one, other| if other < one { other } else { one },
                    "max" => |one, other| if other > one { other } else { one },
                    _ => return $bits(name),
                };
                Some(operator)
            }
        }
    )+};
}

reduced!(no_bits, |one, other| one + other, |one, other| one * other; f32 f64);
reduced!(bits, |one, other| one.wrapping_add(other), |one, other| one.wrapping_mul(other); i8 u8 i16 u16 i32 u32 i64 u64);

/// Returns a number for a reduction by name: different ones for different reductions.
fn code(kind: &str, dtype: &str, operator: &str) -> u64 {
    // The hash function of FNV.
    let bytes = [kind, dtype, operator].into_iter().flat_map(|name| name.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Compares the code of a reduction with those of all members.
///
/// # Errors
/// The members call different reductions. All members get this error.
fn agree(rank: &Rank<'_, '_>, team: &Collectives<'_>, code: u64) -> Result<(), Fail> {
    let mut started = team.start_allreduce(vec![code, !code], Commutative(u64::max))?;
    rank.wait_for("a reduction", None, || Ok(started.test()?.then_some(())))?;
    let greatest = started.wait()?;
    if greatest == [code, !code] {
        return Ok(());
    }
    let why = "the members call reductions of different kinds, dtypes or operators: a collective operation takes the same on every member";
    Err(Fail::Value(why.into()))
}

/// Performs a reduction by name, after `compare`.
fn reduce<T: Reduced>(
    rank: &Rank<'_, '_>,
    team: &Collectives<'_>,
    (kind, operator): (&str, &str),
    root: Option<u32>,
    values: &Bytes,
    compare: impl FnOnce() -> Result<(), Fail>,
) -> Result<(), Fail> {
    let operator = T::operator(operator).ok_or_else(|| {
        Fail::Value(format!("no operator {operator:?} of this type: sum, prod, min, max, and of integers and, or, xor"))
    })?;
    compare()?;
    let (operator, own) = (Commutative(operator), values.to_values::<T>());
    match (kind, root) {
        ("allreduce", _) => finish(rank, "a reduction", team.start_allreduce(own, operator)?, values),
        ("scan", _) => finish(rank, "a scan", team.start_scan(own, operator)?, values),
        ("exclusive_scan", _) => finish(rank, "a scan", team.start_exclusive_scan(own, operator)?, values),
        ("reduce", Some(root)) => finish(rank, "a reduction", team.start_reduce(root, own, operator)?, values),
        _ => Err(Fail::Value(format!("there is no reduction {kind:?}"))),
    }
}

/// Performs a data movement by name.
fn move_blocks<T: Pod>(
    rank: &Rank<'_, '_>,
    team: &Collectives<'_>,
    kind: &str,
    root: u32,
    from: &Bytes,
    into: &Bytes,
) -> Result<(), Fail> {
    let own = from.to_values::<T>();
    let count = into.len() / size_of::<T>();
    let started = match kind {
        "broadcast" => team.start_broadcast(root, own)?,
        "allgather" => team.start_allgather(own)?,
        "alltoall" => team.start_alltoall(own)?,
        "gather" => team.start_gather(root, own)?,
        "scatter" => team.start_scatter(root, own, count)?,
        _ => return Err(Fail::Value(format!("there is no collective operation {kind:?}"))),
    };
    finish(rank, "a collective operation", started, into)
}

#[pymethods]
impl Team {
    /// The position of this rank.
    #[getter]
    fn position(&self) -> u32 {
        self.position
    }

    /// The number of members.
    #[getter]
    fn size(&self) -> usize {
        self.size_of()
    }

    /// The members, in their order.
    #[getter]
    fn ranks(&self) -> Vec<u32> {
        self.members.clone().unwrap_or_else(|| (0..self.link.size).collect())
    }

    fn barrier(&self, py: Python<'_>) -> PyResult<()> {
        Ok(self.link.call(py, |me| {
            me.world.quiet()?;
            let mut started = me.team(self.number)?.start_barrier()?;
            me.wait_for("a barrier", None, || Ok(started.test()?.then_some(())))
        })?)
    }

    /// Combines values in place.
    #[pyo3(signature = (kind, values, dtype, operator, root=None))]
    fn reduce(
        &self,
        py: Python<'_>,
        kind: &str,
        values: &Bound<'_, PyAny>,
        dtype: &str,
        operator: &str,
        root: Option<RankNumber>,
    ) -> PyResult<()> {
        let root = root.map(|RankNumber(root)| root);
        root.map_or(Ok(()), |root| self.check_root(root))?;
        let values = Bytes::writable(values)?;
        Ok(self.link.call(py, |me| {
            let team = me.team(self.number)?;
            let compare = || self.compare(me, team, code(kind, dtype, operator));
            with_type!(dtype, |T| reduce::<T>(me, team, (kind, operator), root, &values, compare))
        })?)
    }

    /// Moves blocks of bytes. The source and the destination of a broadcast are the same buffer.
    #[pyo3(signature = (kind, source, into, root=RankNumber(0)))]
    fn blocks(
        &self,
        py: Python<'_>,
        kind: &str,
        source: &Bound<'_, PyAny>,
        into: &Bound<'_, PyAny>,
        root: RankNumber,
    ) -> PyResult<()> {
        let RankNumber(root) = root;
        self.check_root(root)?;
        let (from, into) = (Bytes::of(source)?, Bytes::writable(into)?);
        let (size, is_root) = (self.size_of(), root == self.position);
        let fits = match kind {
            "broadcast" => from.len() == into.len(),
            "allgather" => Some(into.len()) == from.len().checked_mul(size),
            "gather" => into.len() == if is_root { from.len() * size } else { 0 },
            "scatter" => from.len() == if is_root { into.len() * size } else { 0 },
            _ => from.len() == into.len() && from.len().is_multiple_of(size),
        };
        if !fits {
            let (from, into) = (from.len(), into.len());
            return Err(Fail::Value(format!("{kind} of {from} bytes into {into} among {size} members")).into());
        }
        // The blocks of all members have the same length, so that all members select the same type.
        let block = if kind == "scatter" {
            into.len()
        } else if kind == "alltoall" {
            from.len() / size
        } else {
            from.len()
        };
        Ok(self.link.call(py, |me| {
            let team = me.team(self.number)?;
            if block.is_multiple_of(8) {
                move_blocks::<u64>(me, team, kind, root, &from, &into)
            } else {
                move_blocks::<u8>(me, team, kind, root, &from, &into)
            }
        })?)
    }
}
