//! The kernels of this crate: strided copies of many boxes in one launch, signals, sums, stencils.
//!
//! They are PTX text, which the driver translates for its device when they are loaded: `kernels/pelago.ptx`, compiled from `kernels/pelago.cu` by
//! NVRTC without contraction of products and sums, so that results are bitwise equal to the host's. `kernels/generate.py` regenerates it, and a test
//! compares.
//!
//! - **T1** The arguments of a launch match those of the kernel in `pelago.cu` in order and layout.
//! - C1 to C3 of `driver/table.rs`, D1 of `memory.rs`, S1 of `stream.rs`.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::sync::Arc;

use pelago_base::Shape;
/// Blocks to copy, such as a face of a block of cells.
pub use pelago_memory::BlockCopy as Face;
pub use pelago_memory::{Combination, NumberKind};
use pelago_memory::{DeviceMemory, DeviceRange};

use super::Device;
use super::stream::Stream;
pub use super::water::{WATER_FIELDS, Water};
use crate::driver::{CudaError, Functions, RawFunction, RawModule, RawStream, Result};
pub use crate::limits::{FACES_MAX, LISTED_FACES_MAX};

/// The text of the kernels.
pub const PTX: &str = include_str!("../../kernels/pelago.ptx");

/// Number of threads per block.
pub(super) const THREADS: u32 = 256;

/// Maximum number of blocks of a launch for one face or array; beyond it, each thread takes several words.
const BLOCKS_MAX: u64 = 1024;

/// The kernels of a device.
#[derive(Debug)]
pub struct Kernels {
    module: RawModule,
    copy_faces: RawFunction,
    copy_listed: RawFunction,
    signal: RawFunction,
    /// By [`Combination`] and [`NumberKind`].
    combinations: [[RawFunction; 6]; 3],
    himeno: RawFunction,
    pub(super) water: RawFunction,
}

/// The kernel's argument for a face.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct RawFace {
    from: u64,
    to: u64,
    counts: [u64; 3],
    /// Words of a block.
    words: u64,
    from_strides: [u64; 3],
    to_strides: [u64; 3],
    /// Bytes of a word.
    word: u64,
}

#[repr(C)]
struct RawFaces {
    count: u64,
    faces: [RawFace; FACES_MAX],
}

const _: () = assert!(size_of::<RawFaces>() == 2712, "T1: what pelago.ptx says of its parameter");

/// Bytes of a face in a list in memory of a device.
pub(super) const RAW_FACE_BYTES: usize = size_of::<RawFace>();

/// Faces in memory of a device, copied by one launch.
pub(super) struct FaceList {
    device: Device,
    /// The list; `None` if the faces move no bytes.
    list: Option<DeviceRange>,
    count: u32,
    /// Words of the longest face.
    words: u64,
    /// S1: all memory to which the faces refer.
    _used: Vec<Arc<dyn DeviceMemory>>,
}

/// A sweep of the 19-point stencil of the Himeno benchmark over a box of cells, numbers of 32 bits. Each range begins at cell 0.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The old pressures.
    pub p: DeviceRange,
    /// The new pressures.
    pub next: DeviceRange,
    /// The squares of residuals.
    pub squares: DeviceRange,
    /// Twelve arrays at equal distances: a0 to a3, b0 to b2, c0 to c2, bnd, wrk1.
    pub coefficients: DeviceRange,
    /// Cells from one of these arrays to the next.
    pub distance: u64,
    /// The first cell of the box.
    pub first: u64,
    /// Cells from one plane, and from one row, to the next.
    pub strides: [u64; 2],
    /// Planes, rows of a plane, cells of a row.
    pub counts: [u64; 3],
}

/// The kernel's argument for a sweep.
#[repr(C)]
struct RawSweep {
    next: u64,
    squares: u64,
    p: u64,
    coefficients: u64,
    distance: u64,
    first: u64,
    strides: [u64; 2],
    counts: [u64; 3],
}

impl Sweep {
    /// Whether all cells that the stencil reads and writes are in the ranges.
    fn fits(&self) -> Option<bool> {
        let ([plane, row], [planes, rows, cells]) = (self.strides, self.counts);
        let around = plane.checked_add(row)?.checked_add(1)?;
        let reach = (planes - 1).checked_mul(plane)?.checked_add((rows - 1).checked_mul(row)?)?.checked_add(cells - 1)?;
        let last = self.first.checked_add(reach)?;
        let holds = |range: &DeviceRange, cell: u64| Some(cell.checked_add(1)?.checked_mul(4)? <= range.bytes());
        let coefficient = self.distance.checked_mul(11)?.checked_add(last)?;
        Some(
            around <= self.first
                && holds(&self.p, last.checked_add(around)?)?
                && holds(&self.next, last)?
                && holds(&self.squares, last)?
                && holds(&self.coefficients, coefficient)?,
        )
    }
}

/// Whether the blocks match at both ends and are inside the ranges.
fn fits(face: &Face) -> bool {
    let inside = |shape: Shape, range: &DeviceRange| shape.extent().is_ok_and(|extent| extent <= range.bytes());
    face.to_shape.matches(&face.from_shape).is_ok() && inside(face.to_shape, &face.to) && inside(face.from_shape, &face.from)
}

impl RawFace {
    /// Creates a face of blocks at two addresses, with the longest words that all addresses and distances allow. The shapes match.
    pub(super) fn new([to, from]: [u64; 2], shapes: [Shape; 2]) -> Self {
        let joined = shapes.map(Shape::canonical);
        // Adjacent blocks are joined in the same way at both ends, or not at all.
        let [to_shape, from_shape] = if joined[0].matches(&joined[1]).is_ok() { joined } else { shapes };
        let Shape { block, counts, .. } = to_shape;
        let distances = |shape: Shape| (0..3).filter(|&d| counts[d] > 1).fold(0, |all, d| all | shape.strides[d]);
        let word = 1 << (to | from | block | distances(to_shape) | distances(from_shape)).trailing_zeros().min(4);
        let (from_strides, to_strides) = (from_shape.strides, to_shape.strides);
        Self { from, to, counts, words: block / word, from_strides, to_strides, word }
    }

    /// Returns the number of words of the face.
    fn all_words(&self) -> u64 {
        self.counts.iter().product::<u64>() * self.words
    }

    /// Encodes the face for a list in device memory.
    pub(super) fn encode(&self) -> [u8; RAW_FACE_BYTES] {
        let Self { from, to, counts: [i, j, k], words, from_strides: [fi, fj, fk], to_strides: [ti, tj, tk], word } = *self;
        let numbers = [from, to, i, j, k, words, fi, fj, fk, ti, tj, tk, word];
        std::array::from_fn(|index| numbers[index / 8].to_le_bytes()[index % 8])
    }
}

impl Kernels {
    pub(crate) fn load(device: &Device) -> Result<Self> {
        let functions = &device.driver().functions;
        device.within(|| {
            let module = functions.load_module(PTX)?;
            let find = |name: &str| functions.find_kernel(module, name);
            let mut combinations = [[RawFunction(std::ptr::null_mut()); 6]; 3];
            for (functions, name) in combinations.iter_mut().zip(["sum", "min", "max"]) {
                for (function, numbers) in functions.iter_mut().zip(["f32", "f64", "u32", "u64", "i32", "i64"]) {
                    // Sums of integers wrap, so that signed and unsigned ones share a kernel.
                    let numbers = if name == "sum" { numbers.replace('i', "u") } else { numbers.into() };
                    *function = find(&format!("pelago_{name}_{numbers}"))?;
                }
            }
            Ok(Self {
                module,
                copy_faces: find("pelago_copy_faces")?,
                copy_listed: find("pelago_copy_listed")?,
                signal: find("pelago_signal")?,
                combinations,
                himeno: find("pelago_himeno")?,
                water: find("pelago_water")?,
            })
        })
    }

    pub(crate) fn unload(self, functions: &Functions) {
        // SAFETY: C1: no stream of the device exists any more, as a stream keeps its device alive.
        let _code = unsafe { (functions.module_unload)(self.module) };
    }
}

impl Stream {
    /// Copies blocks with one launch: packs, unpacks, or writes into the memory of another process. Words are as long as all addresses and distances
    /// allow, at most 16 bytes.
    ///
    /// # Errors
    /// There are more than [`FACES_MAX`] faces; the shapes of one differ or reach past its ranges; the device cannot run the kernels; the driver fails.
    pub fn copy_faces(&self, faces: &[Face]) -> Result<()> {
        if faces.len() > FACES_MAX {
            return Err(CudaError::Invalid("a launch copies 26 faces at most"));
        }
        let mut raw = RawFaces { count: 0, faces: [RawFace::default(); FACES_MAX] };
        for face in faces {
            let Some(one) = self.raw_face(face, |range| self.reach(range).map(|memory| memory.address()))? else { continue };
            raw.faces[raw.count as usize] = one;
            raw.count += 1;
        }
        if raw.count == 0 {
            return Ok(());
        }
        let words = raw.faces.iter().map(RawFace::all_words).max().unwrap_or(0);
        let kernel = self.device().kernels()?.copy_faces;
        // SAFETY: T1, D1; all blocks are inside the ranges, as checked, and the stream keeps them (S1).
        unsafe { self.launch(kernel, [blocks(words), raw.count as u32, 1], THREADS, &mut [(&raw mut raw).cast()]) }
    }

    /// Stores a list of faces in device memory, for repeated copies with one launch each.
    pub(super) fn list_faces(&self, faces: &[Face]) -> Result<FaceList> {
        if faces.len() > LISTED_FACES_MAX {
            return Err(CudaError::Invalid("a launch copies 4,096 listed faces at most"));
        }
        let mut used: Vec<Arc<dyn DeviceMemory>> = Vec::new();
        let mut raw = Vec::with_capacity(faces.len());
        for face in faces {
            for end in [face.to.memory(), face.from.memory()] {
                if !used.iter().any(|other| Arc::ptr_eq(other, end)) {
                    used.push(end.clone());
                }
            }
            raw.extend(self.raw_face(face, |range| self.reachable(range).map(|memory| memory.address()))?);
        }
        let device = self.device().clone();
        device.kernels()?;
        let list = match raw.len() {
            0 => None,
            count => {
                let memory = device.allocate((count * RAW_FACE_BYTES) as u64)?;
                let bytes: Vec<u8> = raw.iter().flat_map(RawFace::encode).collect();
                device.state().lanes.upload(&device, memory.address(), &bytes)?;
                Some(DeviceRange::whole(memory))
            }
        };
        let words = raw.iter().map(RawFace::all_words).max().unwrap_or(0);
        Ok(FaceList { device, list, count: raw.len() as u32, words, _used: used })
    }

    /// Copies listed faces with one launch.
    pub(super) fn copy_listed(&self, faces: &Arc<FaceList>) -> Result<()> {
        let Some(list) = &faces.list else { return Ok(()) };
        if !self.device().is(&faces.device) {
            return Err(CudaError::Invalid("the list of faces is in memory of another device"));
        }
        let mut address = self.reach(list)?.address();
        // S1: this also keeps all memory to which its faces refer.
        self.keep(faces.clone())?;
        let kernel = self.device().kernels()?.copy_listed;
        // SAFETY: T1, D1; all blocks are inside their ranges, as was checked, and the stream keeps them (S1).
        unsafe { self.launch(kernel, [blocks(faces.words), faces.count, 1], THREADS, &mut [(&raw mut address).cast()]) }
    }

    /// Returns the kernel's argument for a face, after a check; `None` if it moves no bytes. `start` returns the address of a memory.
    fn raw_face(&self, face: &Face, start: impl Fn(&DeviceRange) -> Result<u64>) -> Result<Option<RawFace>> {
        if !fits(face) {
            return Err(CudaError::Invalid("the ends of a face differ, or reach past its memory"));
        }
        if face.to_shape.bytes() == Ok(0) {
            return Ok(None);
        }
        // A range is inside its memory.
        let address = |range: &DeviceRange| Ok::<u64, CudaError>(start(range)? + range.offset());
        Ok(Some(RawFace::new([address(&face.to)?, address(&face.from)?], [face.to_shape, face.from_shape])))
    }

    /// Writes a word by a kernel, after all earlier writes of the stream: a signal also for devices whose streams cannot write words.
    ///
    /// # Errors
    /// The word is not an aligned word of a GPU; the device cannot run the kernels; the driver fails.
    pub fn signal(&self, word: &DeviceRange, value: u64) -> Result<()> {
        let mut address = self.word(word)?;
        let (kernel, mut value) = (self.device().kernels()?.signal, value);
        // SAFETY: T1, D1, S1.
        unsafe { self.launch(kernel, [1; 3], 1, &mut [(&raw mut address).cast(), (&raw mut value).cast()]) }
    }

    /// Performs one sweep of the stencil of the Himeno benchmark; each cell is bitwise equal to the result of the host's sweep.
    ///
    /// # Errors
    /// The box and the cells around it are not in the ranges, or the box has more than 65,535 planes or rows; the device cannot run the kernels; the
    /// driver fails.
    pub fn himeno(&self, sweep: &Sweep) -> Result<()> {
        let Sweep { distance, first, strides, counts, .. } = *sweep;
        if counts.contains(&0) {
            return Ok(());
        }
        let is_launched = counts[0] <= 65_535 && counts[1] <= 65_535 && counts[2] < 1 << 31;
        let address = |range: &DeviceRange| self.reach(range)?.range(range.offset(), range.bytes());
        let [p, next, squares, coefficients] = [&sweep.p, &sweep.next, &sweep.squares, &sweep.coefficients].map(address);
        let (p, next, squares, coefficients) = (p?, next?, squares?, coefficients?);
        let is_aligned = (p | next | squares | coefficients).is_multiple_of(4);
        if !is_launched || !is_aligned || sweep.fits() != Some(true) {
            return Err(CudaError::Invalid("the stencil reaches past its memory"));
        }
        let mut raw = RawSweep { next, squares, p, coefficients, distance, first, strides, counts };
        let kernel = self.device().kernels()?.himeno;
        let grid = [counts[2].div_ceil(u64::from(THREADS)) as u32, counts[1] as u32, counts[0] as u32];
        // SAFETY: T1, D1, S1; all cells are in the ranges, as checked.
        unsafe { self.launch(kernel, grid, THREADS, &mut [(&raw mut raw).cast()]) }
    }

    /// Combines each number of `to` with that of `from`, in place: one step of a reduction. Each sum is rounded once, as on the host.
    ///
    /// # Errors
    /// The ranges differ in length, contain partial numbers, or are not aligned to the numbers; the device cannot run the kernels; the driver fails.
    pub fn combine(&self, to: &DeviceRange, from: &DeviceRange, combination: Combination, number: NumberKind) -> Result<()> {
        let address = |range: &DeviceRange| self.reach(range)?.range(range.offset(), range.bytes());
        let (mut target, mut source, bytes) = (address(to)?, address(from)?, number.width().bytes());
        if to.bytes() != from.bytes() || !(to.bytes() | target | source).is_multiple_of(bytes) {
            return Err(CudaError::Invalid("two ranges of equally many aligned numbers are combined"));
        }
        let mut count = to.bytes() / bytes;
        if count == 0 {
            return Ok(());
        }
        let kernel = self.device().kernels()?.combinations[combination as usize][number as usize];
        let mut arguments: [*mut c_void; 3] = [(&raw mut target).cast(), (&raw mut source).cast(), (&raw mut count).cast()];
        // SAFETY: T1, D1, S1; both ranges have as many numbers.
        unsafe { self.launch(kernel, [blocks(count), 1, 1], THREADS, &mut arguments) }
    }
}

/// Enqueues the combination of numbers at two addresses of a device, in its context: as [`Stream::combine`], whose checks the caller has made.
///
/// # Safety
/// Both addresses refer to memory that has `count` numbers until the stream has ended.
pub(super) unsafe fn enqueue_combination(
    device: &Device,
    stream: RawStream,
    [mut to, mut from]: [u64; 2],
    mut count: u64,
    combination: Combination,
    number: NumberKind,
) -> Result<()> {
    let kernel = device.kernels()?.combinations[combination as usize][number as usize];
    let functions = &device.driver().functions;
    let mut arguments: [*mut c_void; 3] = [(&raw mut to).cast(), (&raw mut from).cast(), (&raw mut count).cast()];
    // SAFETY: T1; the caller's promise. C1.
    functions.check("cuLaunchKernel", unsafe {
        (functions.launch)(kernel, blocks(count), 1, 1, THREADS, 1, 1, 0, stream, arguments.as_mut_ptr(), std::ptr::null_mut())
    })
}

/// Enqueues the copy of faces of a device, in its context, with one launch: as [`Stream::copy_faces`], whose checks the caller has made. If there
/// are more than [`FACES_MAX`], the kernel reads them from the encoded list at `list`, which the stream has written before.
///
/// # Safety
/// The faces refer to memory that has their blocks until the stream has ended, and `list` to memory that has the list.
pub(super) unsafe fn enqueue_faces(device: &Device, stream: RawStream, faces: &[RawFace], list: u64) -> Result<()> {
    let words = faces.iter().map(RawFace::all_words).max().unwrap_or(0);
    let (kernels, functions) = (device.kernels()?, &device.driver().functions);
    let mut raw = RawFaces { count: faces.len() as u64, faces: [RawFace::default(); FACES_MAX] };
    let mut list = list;
    let (kernel, argument) = match raw.faces.get_mut(..faces.len()) {
        Some(room) => {
            room.copy_from_slice(faces);
            (kernels.copy_faces, (&raw mut raw).cast())
        }
        None => (kernels.copy_listed, (&raw mut list).cast()),
    };
    let (mut arguments, none): ([*mut c_void; 1], _) = ([argument], std::ptr::null_mut());
    // SAFETY: T1; the caller's promise. C1.
    functions.check("cuLaunchKernel", unsafe {
        (functions.launch)(kernel, blocks(words), faces.len() as u32, 1, THREADS, 1, 1, 0, stream, arguments.as_mut_ptr(), none)
    })
}

/// Returns the number of blocks of a launch for `words` words.
fn blocks(words: u64) -> u32 {
    words.div_ceil(u64::from(THREADS)).clamp(1, BLOCKS_MAX) as u32
}
