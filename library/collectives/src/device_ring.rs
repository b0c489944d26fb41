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
//! - **D4** A member whose operation fails announces `BROKEN` to both neighbours, after all other announcements, and keeps its words for ever: a neighbour
//!   that waits for it fails, does the same, and may announce that later.
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

/// The announcement of a member whose operation has failed (D4).
const BROKEN: u64 = u64::MAX;

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
    /// `None` only in the drop of a ring that has failed.
    told: Option<Individual<'w, u64>>,
    left: Side<T>,
    right: Side<T>,
    /// The last number that was announced in the previous operation; the same on all members.
    so_far: Cell<u64>,
    has_failed: Cell<bool>,
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
    /// The members have different numbers of values, or one has too little scratch: all get the same error. A member's memory cannot be registered: it
    /// gets the error of [`World::register_device`](pelago_rma::Context::register_device), the others `Invalid`. Else as
    /// [`neighbours`](Self::neighbours).
    pub fn on_device<T: Number>(
        &self,
        memory: Arc<dyn DeviceMemory>,
        scratch: Arc<dyn DeviceMemory>,
    ) -> Result<DeviceRing<'_, 'w, T>> {
        let world = self.world();
        let (size, me) = (self.team().size(), self.position());
        let count = memory.bytes() / size_of::<T>() as u64;
        let is_short = scratch.bytes() / (size_of::<T>() as u64) < count.div_ceil(u64::from(size));
        let own = || {
            let registered = (world.register_device(memory.clone())?, world.register_device(scratch.clone())?);
            Ok::<_, Error>((registered, world.alloc_individual::<u64>(2)?))
        };
        let own = own();
        let mut agreed = [count, !count, u64::from(is_short), u64::from(own.is_err())];
        self.agree(&mut agreed, u64::max)?;
        match agreed {
            [most, least, ..] if most != !least => return Err(Error::Disagreement("the number of values on devices")),
            [_, _, 1, _] => return Err(Error::Invalid("the scratch of a member is smaller than its part of the values")),
            _ => {}
        }
        let ((values, scratch_values), told) = own?;
        if agreed[3] == 1 {
            return Err(Error::Invalid("a member could not register its memory of a device, and has the reason"));
        }
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
        let (told, so_far, has_failed) = (Some(told), Cell::new(0), Cell::new(false));
        Ok(DeviceRing { collectives: self, memory, values, scratch_memory, scratch, told, left, right, so_far, has_failed })
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
    /// A device failed, of this member or of another; a member failed; the job is at fault. After that the ring executes no operation on any member.
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
        if self.has_failed.get() {
            return Err(Error::Invalid("an operation of the ring has failed"));
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
                    let stepped = self.wait_for(READY, made + ahead).and_then(|()| step((made - begun) as usize));
                    telling.wait()?;
                    stepped?;
                    telling = world.put(right, &[made + 1])?;
                }
            }
            telling.wait()?;
            let last = [world.put(right, &[over])?, world.put(done, &[over])?];
            let heard = self.wait_for(READY, over).and_then(|()| self.wait_for(DONE, over));
            world.wait_all(&last)?;
            self.so_far.set(over);
            heard
        };
        let ended = all();
        if ended.is_err() {
            self.has_failed.set(true);
            self.tell_broken();
        }
        self.collectives.told(ended)
    }

    /// Makes both neighbours fail (D4). Not if a member or the job has failed: all notice that themselves.
    fn tell_broken(&self) {
        let world = self.collectives.world();
        if self.collectives.context().is_whole().is_ok() && world.fault().is_none() {
            for word in [self.right.told.add(READY as u64), self.left.told.add(DONE as u64)] {
                // A put that fails is reported by the next wait of this member.
                let _told = world.put(word, &[BROKEN]);
            }
        }
    }

    fn wait_for(&self, which: usize, number: u64) -> Result<()> {
        let (world, told) = (self.collectives.world(), self.told.as_ref().expect("the ring is alive").local());
        loop {
            match told.load(which) {
                BROKEN => return Err(Error::Invalid("an operation of the ring has failed on another member")),
                told if told >= number => return Ok(()),
                _ => {}
            }
            self.collectives.context().is_whole()?;
            match world.wait_for_value("an operation of a device ring", None, told, which, |told| told >= number) {
                // The failure of a rank that is not a member does not matter.
                Err(Error::Fault(Fault::PeerLost(_))) if world.fault().is_none() => {}
                ended => ended.map(drop)?,
            }
        }
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

impl<T> Drop for DeviceRing<'_, '_, T> {
    fn drop(&mut self) {
        if self.has_failed.get() {
            // A neighbour may still announce its failure there.
            std::mem::forget(self.told.take());
        }
    }
}

fn pointer<T: Pod>(bits: u64) -> Result<GlobalPtr<T>> {
    GlobalPtr::from_address(GlobalAddress::from_bits(bits)).map_err(|_| Error::Invalid("no address of values"))
}
