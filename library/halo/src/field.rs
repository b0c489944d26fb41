//! The cells of one rank, as slices.
//!
//! Slices of memory that other ranks can write are sound for these reasons; the unsafe blocks cite them.
//!
//! - **N1** Only a field knows the address of its memory: no [`GlobalPtr`] to it leaves this crate, and the crate passes it only to copies of a plan
//!   that was built with the field. All ranks have built that plan with the same fields (`plan.rs` compares them). Operations of the program stay
//!   inside the memory that it has allocated: no type enforces that, as addresses are numbers (`docs/book/src/memory-model.md`).
//! - **N2** Such a copy writes only halo cells at directions of its plan. It is issued after this rank has given credit for this exchange, and this
//!   rank's `wait` ends after it has taken effect (`exchange/link.rs` has the argument). `start` gives the credit and marks those directions in
//!   `under_way`; they stay marked until `wait` has seen the end. The mark of borders, which others may read meanwhile, lasts as long.
//! - **N3** So no rank writes a cell whose direction is not marked, and slices are made of such cells only. A transport or a neighbour may still read
//!   cells of the block; no mutable slice of these is made while anything is marked.
//! - **N4** A view borrows its field, and every call that marks directions or lets this rank write needs the field exclusively: no slice is alive
//!   then.
//! - **N5** A region lies in the memory of its field: it is a box of the layout, whose ends are checked on creation. Its rows lie in it.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pelago_base::{Failure, GlobalAddress, Rank, Shape};
use pelago_rma::{CellSlice, DeviceBlocks, DeviceMemory, Error, GlobalPtr, Pod, RegisteredDevice, Result, Symmetric, World};

use crate::grid::array::Array;
use crate::grid::direction::{DirectionSet, in_order};
use crate::grid::layout::{Block, Layout};

/// The cells of an array that one rank owns, and their halo.
///
/// They are plain slices while no exchange of the field is under way. During an exchange, [`View::row`] still has those cells that no other rank
/// writes.
pub struct Field<'w, T: Pod, const D: usize> {
    world: &'w World,
    array: Array<D>,
    layout: Layout<D>,
    memory: FieldMemory<'w, T>,
    /// Directions whose halo cells others may write now, and whether others may read borders (N2).
    under_way: DirectionSet,
    id: u64,
}

/// The memory of the cells.
enum FieldMemory<'w, T: Pod> {
    Host(Symmetric<'w, T>),
    Device(DeviceCells<'w, T>),
}

/// Cells in memory of a device: no slice refers to them, and N1 to N5 do not apply.
struct DeviceCells<'w, T: Pod> {
    memory: Arc<dyn DeviceMemory>,
    registered: RegisteredDevice<'w, T>,
    /// First cell of each neighbour, and of this rank.
    starts: BTreeMap<Rank, GlobalPtr<T>>,
    /// The word in which each rank publishes its start. Its address identifies the field to all ranks.
    told: Symmetric<'w, u64>,
}

/// Checks that each rank of the job has a block.
fn check_nodes<const D: usize>(world: &World, array: &Array<D>) -> Result<()> {
    let blocks = array.template().nodes().ranks() as usize;
    Error::check_number("the number of blocks of the array, one for each rank,", blocks, world.size() as usize)
}

/// The number of the next field of this process; a plan recognizes its fields by their numbers.
static FIELDS: AtomicU64 = AtomicU64::new(0);

/// The cells of a field that can be read now.
#[derive(Clone, Copy)]
pub struct View<'f, T, const D: usize> {
    layout: &'f Layout<D>,
    cells: CellSlice<'f, T>,
    under_way: DirectionSet,
}

impl<'w, T: Pod, const D: usize> Field<'w, T, D> {
    /// Makes the field of this rank's block of `array`, all zero. Collective.
    ///
    /// Cost: one [`alloc`](World::alloc) of the largest block and its halo, in large pages where the system has them.
    ///
    /// # Errors
    /// The numbers of ranks of the job and of the nodes differ; as [`World::alloc`].
    pub fn new(world: &'w World, array: &Array<D>) -> Result<Self> {
        check_nodes(world, array)?;
        let layout = array.layout(array.template().nodes().place(world.rank()));
        let (memory, id) = (world.alloc::<T>(array.length_max())?, FIELDS.fetch_add(1, Ordering::Relaxed));
        // All of it is used, and planes of it number by number.
        memory.local().use_large_pages();
        Ok(Self { world, array: *array, layout, memory: FieldMemory::Host(memory), under_way: 0, id })
    }

    /// Makes the field of this rank's block of `array` in memory of a device, and leaves its contents. Collective: all ranks pass memory of devices.
    ///
    /// Plans exchange its halo as that of any field: the device gathers and scatters a packed border ([`DeviceMemory::gather`]), a direct one goes
    /// from device to device where their driver offers that. [`device`](Self::device) and kernels give access to its cells, nothing else here does.
    /// An exchange by the host's threads reads and writes them between `start` and `wait`: kernels that write borders end before `start`, and kernels
    /// that read the halo begin after `wait`.
    ///
    /// Cost: the memory stays registered as long as the field exists; a table of the neighbours' addresses.
    ///
    /// # Errors
    /// The memory of a rank is too small, on all ranks; that of a rank cannot be registered: it gets the error of
    /// [`World::register_device`](pelago_rma::Context::register_device), the others `Invalid`; the numbers of ranks of the job and of the nodes differ;
    /// as [`World::alloc`].
    pub fn on_device(world: &'w World, array: &Array<D>, memory: Arc<dyn DeviceMemory>) -> Result<Self> {
        let nodes = array.template().nodes();
        check_nodes(world, array)?;
        let place = nodes.place(world.rank());
        let layout = array.layout(place);
        // All ranks fail together: otherwise the others would wait for this rank.
        let is_short = memory.bytes() < (layout.length() as u64).saturating_mul(size_of::<T>() as u64);
        let registered = world.register_device::<T>(memory.clone());
        let mut lacking = [is_short, registered.is_err()].map(u64::from);
        world.allreduce(&mut lacking, u64::max)?;
        if lacking[0] > 0 {
            return Err(Error::Invalid("the memory of a device is smaller than the block and its halo"));
        }
        let registered = registered?;
        if lacking[1] > 0 {
            return Err(Error::Invalid("a rank could not register its memory of a device, and has the reason"));
        }
        let told = world.alloc::<u64>(1)?;
        told.local().store(0, registered.ptr(0).address().bits());
        world.meet()?;
        let mut starts = BTreeMap::from([(world.rank(), registered.ptr(0))]);
        for there in in_order(place, D).into_iter().filter_map(|direction| nodes.neighbour(place, direction)) {
            let rank = nodes.rank(there);
            if let Entry::Vacant(entry) = starts.entry(rank) {
                let start = GlobalAddress::from_bits(world.get(told.at(rank, 0))?);
                entry.insert(GlobalPtr::from_address(start).map_err(|_| Error::Invalid("a rank told no address of cells"))?);
            }
        }
        world.meet()?;
        let (memory, id) = (DeviceCells { memory, registered, starts, told }, FIELDS.fetch_add(1, Ordering::Relaxed));
        Ok(Self { world, array: *array, layout, memory: FieldMemory::Device(memory), under_way: 0, id })
    }

    /// The memory of the device that holds the cells, from its start on in the order of [`layout`](Self::layout); `None` if host memory holds them.
    pub fn device(&self) -> Option<&Arc<dyn DeviceMemory>> {
        match &self.memory {
            FieldMemory::Host(_) => None,
            FieldMemory::Device(cells) => Some(&cells.memory),
        }
    }

    /// The array to which the field belongs.
    pub fn array(&self) -> &Array<D> {
        &self.array
    }

    /// The layout of its cells in [`cells`](Self::cells).
    pub fn layout(&self) -> &Layout<D> {
        &self.layout
    }

    /// The cells that this rank owns, by their place in the whole array.
    pub fn block(&self) -> Block<D> {
        self.layout.block()
    }

    /// Whether an exchange of the field has started and is not over.
    pub fn is_under_way(&self) -> bool {
        self.under_way != 0
    }

    /// All cells, halo included.
    ///
    /// # Panics
    /// An exchange is under way; [`view`](Self::view) has the cells that can be read meanwhile. The cells are in memory of a device.
    pub fn cells(&self) -> &[T] {
        self.check_rest();
        // SAFETY: N3: no direction is marked.
        unsafe { self.slice().as_slice() }
    }

    /// All cells, for writing.
    ///
    /// # Panics
    /// An exchange is under way; the cells are in memory of a device.
    pub fn cells_mut(&mut self) -> &mut [T] {
        self.check_rest();
        // SAFETY: N3: no direction is marked; exclusive by the borrow of `self` (N4).
        unsafe { self.slice().as_mut_slice() }
    }

    /// The cells that can be read now.
    ///
    /// # Panics
    /// The cells are in memory of a device.
    pub fn view(&self) -> View<'_, T, D> {
        View { layout: &self.layout, cells: self.slice(), under_way: self.under_way }
    }

    /// Calls `act` with each cell that this rank owns and its place in the whole array, the last dimension fastest.
    ///
    /// # Panics
    /// An exchange is under way.
    pub fn for_each(&mut self, mut act: impl FnMut([usize; D], &mut T)) {
        let (layout, cells) = (self.layout, self.cells_mut());
        each_row(layout.block().cells, |row| {
            let first = layout.index(row.map(|at| at as isize)).expect("a cell of the block");
            let mut global: [usize; D] = std::array::from_fn(|d| layout.block().first[d] + row[d]);
            for cell in &mut cells[first..first + layout.block().cells[D - 1]] {
                act(global, cell);
                global[D - 1] += 1;
            }
        });
    }

    /// Folds all cells that this rank owns by `act`, each with its place in the whole array, the last dimension fastest.
    pub fn fold<A>(&self, start: A, mut act: impl FnMut(A, [usize; D], T) -> A) -> A {
        let (view, mut result) = (self.view(), Some(start));
        let Block { first, cells } = self.block();
        each_row(cells, |row| {
            let mut global: [usize; D] = std::array::from_fn(|d| first[d] + row[d]);
            for &cell in view.row(row.map(|at| at as isize), cells[D - 1]) {
                result = result.take().map(|before| act(before, global, cell));
                global[D - 1] += 1;
            }
        });
        result.expect("it is put back after each cell")
    }

    /// An address that identifies the field, the same on all ranks.
    pub(crate) fn agreed(&self) -> u64 {
        match &self.memory {
            FieldMemory::Host(memory) => memory.at(Rank::new(0), 0).address().bits(),
            FieldMemory::Device(cells) => cells.told.at(Rank::new(0), 0).address().bits(),
        }
    }

    /// Blocks of a field on a device, given in cells from the one at `first` on; `None` for host memory.
    pub(crate) fn device_blocks(&self, first: usize, blocks: Shape) -> Option<DeviceBlocks> {
        let (memory, bytes) = (self.device()?.clone(), size_of::<T>() as u64);
        let blocks = blocks.scaled(bytes).expect("cells of the field are in memory");
        Some(DeviceBlocks { memory, offset: first as u64 * bytes, blocks })
    }

    /// The error that the field's device failed.
    pub(crate) fn failed(&self) -> Error {
        Error::Failed(Failure::Device(self.here(0).address()))
    }

    /// The number that identifies the field in this process.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The cell at `index` of the memory of `rank`.
    pub(crate) fn at(&self, rank: Rank, index: usize) -> GlobalPtr<T> {
        match &self.memory {
            FieldMemory::Host(memory) => memory.at(rank, index),
            FieldMemory::Device(cells) => cells.starts.get(&rank).expect("a plan names neighbours alone").add(index as u64),
        }
    }

    /// The cell at `index` of this rank's memory.
    pub(crate) fn here(&self, index: usize) -> GlobalPtr<T> {
        match &self.memory {
            FieldMemory::Host(memory) => memory.at(self.world.rank(), index),
            FieldMemory::Device(cells) => cells.registered.ptr(0).add(index as u64),
        }
    }

    /// The cells, which others may write.
    pub(crate) fn slice(&self) -> CellSlice<'_, T> {
        match &self.memory {
            FieldMemory::Host(memory) => memory.local().range(0..self.layout.length()),
            FieldMemory::Device(_) => panic!("the cells of the field are in memory of a device: no slice leads there"),
        }
    }

    /// Marks the directions whose halo cells others may write from now on.
    pub(crate) fn mark(&mut self, directions: DirectionSet) {
        self.under_way |= directions;
    }

    /// Unmarks directions whose halo cells no other rank writes any more.
    pub(crate) fn unmark(&mut self, directions: DirectionSet) {
        self.under_way &= !directions;
    }

    fn check_rest(&self) {
        assert!(self.under_way == 0, "an exchange of the field is under way: wait for it, or look at a row of its view");
    }
}

/// A box of cells that can be read now: checked once, so that access to its rows is cheap.
#[derive(Clone, Copy)]
pub struct Region<'f, T, const D: usize> {
    cells: CellSlice<'f, T>,
    /// Index of the first cell.
    start: usize,
    strides: [usize; D],
    first: [isize; D],
    extents: [usize; D],
}

impl<'f, T: Pod, const D: usize> View<'f, T, D> {
    /// The box of `extents` cells from the local index `first` on: the cells of a stencil, whose rows are then accessed often.
    ///
    /// # Panics
    /// It reaches past the halo, or contains halo cells that an exchange may write.
    pub fn region(&self, first: [isize; D], extents: [usize; D]) -> Region<'f, T, D> {
        let is_empty = extents.contains(&0);
        let last: [isize; D] = std::array::from_fn(|d| first[d].saturating_add_unsigned(extents[d]).saturating_sub(1));
        let start = self.layout.index(first).filter(|_| self.layout.index(last).is_some());
        assert!(is_empty || start.is_some(), "{extents:?} cells from {first:?} on reach past the halo");
        let is_free = is_empty || self.under_way == 0 || self.under_way & self.layout.directions_of_box(first, last) == 0;
        assert!(is_free, "the halo in {extents:?} cells from {first:?} on is under way");
        // An empty box has no row at all.
        let extents = if is_empty { [0; D] } else { extents };
        Region { cells: self.cells, start: start.unwrap_or(0), strides: self.layout.strides(), first, extents }
    }

    /// The `length` cells from a local index on along the last dimension.
    ///
    /// # Panics
    /// They reach past the halo, or contain halo cells that an exchange may write.
    #[inline]
    pub fn row(&self, at: [isize; D], length: usize) -> &'f [T] {
        let first = self.layout.index(at).unwrap_or_else(|| panic!("{at:?} is outside the halo"));
        let mut last = at;
        last[D - 1] = last[D - 1].saturating_add_unsigned(length.max(1) - 1);
        assert!(self.layout.index(last).is_some(), "{length} cells from {at:?} on reach past the halo");
        let is_free = self.under_way == 0 || self.under_way & self.layout.directions_of_row(at, length.max(1)) == 0;
        assert!(is_free, "the halo in {length} cells from {at:?} on is under way");
        // SAFETY: N3: no direction of the row is marked. N4: none is marked while the view lives.
        unsafe { self.cells.range(first..first + length).as_slice() }
    }

    /// The layout of the cells.
    pub fn layout(&self) -> &'f Layout<D> {
        self.layout
    }
}

impl<'f, T: Pod, const D: usize> Region<'f, T, D> {
    /// The `length` cells from a local index of the block on along the last dimension.
    ///
    /// # Panics
    /// They reach out of the box.
    #[inline(always)]
    pub fn row(&self, at: [isize; D], length: usize) -> &'f [T] {
        let [row] = self.rows(at, [[0; D]], length);
        row
    }

    /// The rows of `length` cells at some distances from a local index of the block: the access of a stencil.
    ///
    /// Cost: two comparisons for each dimension, whatever the number of rows, if the compiler knows the distances.
    ///
    /// # Panics
    /// One of them reaches out of the box.
    #[inline(always)]
    pub fn rows<const N: usize>(&self, at: [isize; D], distances: [[isize; D]; N], length: usize) -> [&'f [T]; N] {
        const { assert!(N > 0, "one row at least") };
        let [mut low, mut high] = [distances[0]; 2];
        for distance in distances {
            for d in 0..D {
                (low[d], high[d]) = (low[d].min(distance[d]), high[d].max(distance[d]));
            }
        }
        let is_inside = (0..D).all(|d| {
            let (nearest, farthest) = (at[d].checked_add(low[d]), at[d].checked_add(high[d]));
            let room = self.extents[d].checked_sub(if d + 1 == D { length } else { 1 });
            let last = room.map(|room| self.first[d].wrapping_add_unsigned(room));
            nearest >= Some(self.first[d]) && farthest.is_some() && last.is_some() && farthest <= last
        });
        if !is_inside {
            outside(&at, length);
        }
        let index_of = |from: [isize; D], to: [isize; D]| {
            let distance = |d: usize| to[d].wrapping_sub(from[d]).wrapping_mul(self.strides[d] as isize);
            (0..D).fold(0isize, |index, d| index.wrapping_add(distance(d)))
        };
        let first = self.start.wrapping_add_signed(index_of(self.first, at));
        let pointer = self.cells.cells().pointer().cast::<T>();
        // SAFETY: N3: no direction of the box is marked. N4: none is marked while the region's view lives. N5: the rows are in the box, and so in
        // memory.
        distances.map(|distance| unsafe {
            let index = first.wrapping_add_signed(index_of([0; D], distance));
            core::slice::from_raw_parts(pointer.add(index).as_ptr(), length)
        })
    }
}

#[cold]
#[inline(never)]
fn outside(at: &[isize], length: usize) -> ! {
    panic!("{length} cells from {at:?} on reach out of the region");
}

/// Calls `act` with the index of the first cell of each row of a block.
fn each_row<const D: usize>(cells: [usize; D], mut act: impl FnMut([usize; D])) {
    let rows: usize = cells[..D - 1].iter().product();
    let mut row = [0; D];
    for _ in 0..if cells[D - 1] == 0 { 0 } else { rows } {
        act(row);
        for d in (0..D - 1).rev() {
            row[d] += 1;
            if row[d] < cells[d] {
                break;
            }
            row[d] = 0;
        }
    }
}
