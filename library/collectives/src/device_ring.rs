//! Collective operations on values in memory of devices: copies along a ring, and combinations on the device.
//!
//! Each member reads from the one before it (its *left* member) and announces its progress to the one after it (its *right* member).
//!
//! - **D1** A member reads only values that its left member has announced. An announcement is a number that grows; each one waits for the previous
//!   one, so that none overtakes it.
//! - **D2** No value is overwritten that the right member has yet to read. The partial sums of a chunk pass each member once, and its final value
//!   comes round from members that have read them; a call returns when the right member has read all that it needs.
//! - **D3** No announcement follows an operation, when the words may be freed: a member announces its last number after all others have arrived, and
//!   its neighbours wait for it.
//!
//! Source: the ring algorithms of P. Patarasu and X. Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, JPDC 69(2), 2009.

use std::cell::Cell;
use std::sync::Arc;

use pelago_base::GlobalAddress;
use pelago_rma::{
    Accumulation, Combination, DeviceMemory, Error, Failure, Fault, GlobalPtr, Individual, Number, Pod, RegisteredDevice, Result,
};

use crate::Collectives;

/// Bytes of a piece of a broadcast: a member forwards one while it reads the next.
const PIECE_BYTES: usize = 1 << 20;

/// Word that the left member writes: its progress.
const READY: usize = 0;
/// Word that the right member writes: it has read all values.
const DONE: usize = 1;

/// Collective operations of a team on values in memory of devices, at one member; made by [`Collectives::on_device`]. Kernels that write the values
/// end before a call, and kernels that use them begin after it.
///
/// Each member keeps addresses of two others, whatever the size of the team. Bytes go directly from device to device where ranks of a host open each other's
/// memory.
pub struct DeviceRing<'c, 'w, T> {
    collectives: &'c Collectives<'w>,
    memory: Arc<dyn DeviceMemory>,
    values: RegisteredDevice<'w, T>,
    scratch_memory: Arc<dyn DeviceMemory>,
    scratch: RegisteredDevice<'w, T>,
    told: Individual<'w, u64>,
    left: Side<T>,
    right: Side<T>,
    /// The last number that was announced in the previous operation; the same on all members.
    so_far: Cell<u64>,
}

/// The condition for a step of an operation.
enum Begins {
    /// The left member has made all steps before this one.
    WithLeft,
    /// The left member has made this step.
    AfterLeft,
    /// There are no steps: the member has all values.
    WithAll,
}

/// Places in the memory of another member.
struct Side<T> {
    values: GlobalPtr<T>,
    told: GlobalPtr<u64>,
}

impl<'w> Collectives<'w> {
    /// Prepares operations on all values in `memory`, equally many on each member, with `scratch` on the same device for one chunk of them: the
    /// number of values divided by the number of members, rounded up. Collective over the team.
    ///
    /// Cost: the registration of both; a reduction, and an exchange between neighbours.
    ///
    /// # Errors
    /// The members have different numbers of values, or one has too little scratch: all get the same error. Else as [`neighbours`](Self::neighbours) and
    /// [`World::register_device`](pelago_rma::Context::register_device).
    pub fn on_device<T: Number>(
        &self,
        memory: Arc<dyn DeviceMemory>,
        scratch: Arc<dyn DeviceMemory>,
    ) -> Result<DeviceRing<'_, 'w, T>> {
        let world = self.world();
        let (size, me) = (self.team().size(), self.position());
        let count = memory.bytes() / size_of::<T>() as u64;
        let is_short = scratch.bytes() / (size_of::<T>() as u64) < count.div_ceil(u64::from(size));
        let mut agreed = [count, !count, u64::from(is_short)];
        self.agree(&mut agreed, u64::max)?;
        match agreed {
            [most, least, _] if most != !least => return Err(Error::Disagreement("the number of values on devices")),
            [_, _, 1] => return Err(Error::Invalid("the scratch of a member is smaller than its part of the values")),
            _ => {}
        }
        let (values, scratch_values) = (world.register_device(memory.clone())?, world.register_device(scratch.clone())?);
        let told = world.alloc_individual::<u64>(2)?;
        let (left, right) = ((me + size - 1) % size, (me + 1) % size);
        let mut both = vec![left, right];
        both.dedup();
        let counts = vec![2; both.len()];
        let own = [values.ptr(0).address().bits(), told.ptr(0).address().bits()];
        let mut theirs = vec![[0; 2]; both.len()];
        let neighbours = self.neighbours(&both, &both)?;
        neighbours.exchange(&own.repeat(both.len()), &counts, theirs.as_flattened_mut(), &counts)?;
        let side = |member| {
            let [values, told] = theirs[both.iter().position(|&other| other == member).expect("a neighbour")];
            Ok::<_, Error>(Side { values: pointer(values)?, told: pointer(told)? })
        };
        let (left, right) = (side(left)?, side(right)?);
        let (scratch_memory, scratch) = (scratch, scratch_values);
        Ok(DeviceRing { collectives: self, memory, values, scratch_memory, scratch, told, left, right, so_far: Cell::new(0) })
    }
}

impl<T: Number> DeviceRing<'_, '_, T> {
    /// Number of values of a member.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values, for other operations.
    pub fn values(&self) -> &RegisteredDevice<'_, T> {
        &self.values
    }

    /// Combines the values of all members; each gets the result. Each chunk is combined in the order of the ring, starting from another member: sums
    /// of floating-point numbers are rounded alike on all members.
    ///
    /// A minimum or maximum with a NaN operand may be either operand.
    ///
    /// Cost: each member reads twice its values, less two parts, in `2 (members - 1)` steps, one after the other.
    ///
    /// # Errors
    /// A device failed; a member failed; the job is at fault.
    pub fn allreduce(&self, accumulation: Accumulation) -> Result<()> {
        let (size, me) = (self.size(), self.me());
        self.steps(2 * (size - 1), |step| {
            if step < size - 1 {
                self.combine(self.chunk((me + 2 * size - step - 2) % size), accumulation)
            } else {
                self.fetch(self.chunk((me + 2 * size - 2 - step) % size))
            }
        })
    }

    /// Combines the values of all members; the member at position p gets chunk p of the result, in its place, and other values are undefined. Chunk p is from
    /// `p * len / members` to `(p + 1) * len / members`.
    ///
    /// Cost: each member reads its values once, less a part, in `members - 1` steps.
    ///
    /// # Errors
    /// As [`allreduce`](Self::allreduce).
    pub fn reduce_scatter(&self, accumulation: Accumulation) -> Result<()> {
        let (size, me) = (self.size(), self.me());
        self.steps(size - 1, |step| self.combine(self.chunk((me + 2 * size - step - 2) % size), accumulation))
    }

    /// Gathers chunk p of the member at each position p at all members, in its place; chunks are those of [`reduce_scatter`](Self::reduce_scatter).
    ///
    /// Cost: each member reads the values once, less its part, in `members - 1` steps.
    ///
    /// # Errors
    /// As [`allreduce`](Self::allreduce).
    pub fn allgather(&self) -> Result<()> {
        let (size, me) = (self.size(), self.me());
        self.steps(size - 1, |step| self.fetch(self.chunk((me + size - 1 - step) % size)))
    }

    /// Copies the values of the member at `root` to all members.
    ///
    /// Cost: each member but the root reads the values once, in pieces of 1 MiB that it forwards while it reads the next: the longest path takes the
    /// time of the values and of `members - 2` pieces.
    ///
    /// # Errors
    /// The root is no member; else as [`allreduce`](Self::allreduce).
    pub fn broadcast(&self, root: u32) -> Result<()> {
        if root >= self.collectives.team().size() {
            return Err(Error::Invalid("the root of a broadcast is no member of the team"));
        }
        let piece = PIECE_BYTES / size_of::<T>();
        let pieces = self.len().div_ceil(piece);
        let is_root = self.collectives.position() == root;
        let begins = if is_root { Begins::WithAll } else { Begins::AfterLeft };
        self.operation(pieces, begins, |number| self.fetch(number * piece..self.len().min((number + 1) * piece)))
    }

    fn size(&self) -> usize {
        self.collectives.team().size() as usize
    }

    fn me(&self) -> usize {
        self.collectives.position() as usize
    }

    fn chunk(&self, number: usize) -> core::ops::Range<usize> {
        let at = |number: usize| (self.len() as u128 * number as u128 / self.size() as u128) as usize;
        at(number)..at(number + 1)
    }

    fn steps(&self, count: usize, step: impl Fn(usize) -> Result<()>) -> Result<()> {
        self.operation(count, Begins::WithLeft, step)
    }

    /// Makes steps, each when the left member has progressed far enough (D1); returns when the right one has read all values (D2), and the left one
    /// announces nothing more (D3).
    fn operation(&self, count: usize, begins: Begins, step: impl Fn(usize) -> Result<()>) -> Result<()> {
        if self.size() == 1 {
            return Ok(());
        }
        let all = || {
            let world = self.collectives.world();
            let (right, done) = (self.right.told.add(READY as u64), self.left.told.add(DONE as u64));
            // The first number announces the start of the operation, each further one a step.
            let begun = self.so_far.get() + 1;
            let (made_all, over) = (begun + count as u64, begun + count as u64 + 1);
            let ahead = match begins {
                Begins::WithAll => None,
                Begins::WithLeft => Some(0),
                Begins::AfterLeft => Some(1),
            };
            let mut telling = world.put(right, &[if ahead.is_some() { begun } else { made_all }])?;
            if let Some(ahead) = ahead {
                for made in begun..made_all {
                    self.wait_for(READY, made + ahead)?;
                    step((made - begun) as usize)?;
                    telling.wait()?;
                    telling = world.put(right, &[made + 1])?;
                }
            }
            telling.wait()?;
            let last = [world.put(right, &[over])?, world.put(done, &[over])?];
            self.wait_for(READY, over)?;
            self.wait_for(DONE, over)?;
            world.wait_all(&last)?;
            self.so_far.set(over);
            Ok(())
        };
        self.collectives.told(all())
    }

    fn wait_for(&self, which: usize, number: u64) -> Result<()> {
        let (world, told) = (self.collectives.world(), self.told.local());
        while told.load(which) < number {
            self.collectives.context().is_whole()?;
            match world.wait_until(told, which, |told| told >= number) {
                // The failure of a rank that is not a member does not matter.
                Err(Error::Fault(Fault::PeerLost(_))) if world.fault().is_none() => {}
                ended => ended.map(drop)?,
            }
        }
        Ok(())
    }

    /// Reads values of the left member.
    fn fetch(&self, values: core::ops::Range<usize>) -> Result<()> {
        self.copy(values.start, values.len(), self.values.ptr(values.start))
    }

    /// Combines values of the left member with those of this one.
    fn combine(&self, values: core::ops::Range<usize>, accumulation: Accumulation) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        self.copy(values.start, values.len(), self.scratch.ptr(0))?;
        let combination = match accumulation {
            Accumulation::Sum => Combination::Sum,
            Accumulation::Min => Combination::Min,
            Accumulation::Max => Combination::Max,
        };
        let (bytes, width) = ((values.len() * size_of::<T>()) as u64, size_of::<T>() as u64);
        let done = self.memory.combine(values.start as u64 * width, (&*self.scratch_memory, 0), bytes, combination, T::KIND);
        done.map_err(|_| Error::Failed(Failure::Device(self.values.ptr(values.start).address())))
    }

    fn copy(&self, from: usize, count: usize, to: GlobalPtr<T>) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        self.collectives.world().copy(self.left.values.add(from as u64), to, count)?.wait()
    }
}

fn pointer<T: Pod>(bits: u64) -> Result<GlobalPtr<T>> {
    GlobalPtr::from_address(GlobalAddress::from_bits(bits)).map_err(|_| Error::Invalid("no address of values"))
}
