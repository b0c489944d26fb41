//! Times of copies between GPU memory, measured alternately with the driver's copy; and of packing faces of a cube, by the copy engine and by
//! a kernel.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use pelago::cuda::kernels::Face;
use pelago::cuda::{CudaError, CudaMemory, Device, DeviceRange, Rows, Stream};
use pelago::{DeviceMemory as _, Shape, World};

use super::Memory;
use crate::usage::Output;

/// Number of measurements for each median.
const TURNS: usize = 15;

/// Sizes of copies, and edges of cubes, up to the maxima in the arguments.
const SIZES: [u64; 7] = [8, 4 << 10, 64 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20];
const EDGES: [u64; 4] = [64, 128, 256, 512];

/// Measures both; rank 0 prints a table. Collective.
pub(super) fn measure(world: &World, device: &Device, largest: &[u32]) -> pelago::Result<ExitCode> {
    let (edge, kib) = (largest.first().map_or(512, |&edge| edge.into()), largest.get(1).map_or(65_536, |&kib| kib.into()));
    let mut text = format!("device: {} (driver {}), ranks: {}\n", device.name(), device.driver().version(), world.size());
    copies(world, device, kib << 10, &mut text)?;
    let mut good = true;
    if world.rank().number() == 0 {
        match faces(world, device, edge, &mut text) {
            Ok(are_equal) => good = are_equal,
            Err(why) => {
                let _ = writeln!(std::io::stderr(), "gpu: {why}");
                good = false;
            }
        }
        let _ = Output.write_all(text.as_bytes());
    }
    world.barrier()?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Measures copies from rank 0's memory to the last rank's, alternating with the driver's copy of as many bytes on one device.
fn copies(world: &World, device: &Device, bytes_max: u64, text: &mut String) -> pelago::Result<()> {
    let sizes = SIZES.into_iter().filter(|&bytes| bytes <= bytes_max);
    let words = sizes.clone().max().unwrap_or(8) as usize / 8;
    let memory = Memory::new(world, Some(device), false, words)?;
    let starts = memory.starts(world)?;
    let failed = |why: CudaError| {
        let _ = writeln!(std::io::stderr(), "gpu: {why}");
        pelago::Error::Invalid("the driver's copy failed")
    };
    if world.rank().number() == 0 {
        let _ = writeln!(text, "{:>12} {:>12} {:>12} {:>8} {:>10}", "copy bytes", "pelago us", "driver us", "ratio", "GB/s");
        let (from, to) = (starts[0], starts[world.size() as usize - 1]);
        let [one, other] = [device.allocate(words as u64 * 8), device.allocate(words as u64 * 8)];
        let (one, other) = (DeviceRange::whole(one.map_err(failed)?), DeviceRange::whole(other.map_err(failed)?));
        let stream = device.stream().map_err(failed)?;
        for bytes in sizes {
            let (mut ours, mut drivers) = (Vec::new(), Vec::new());
            let part = |range: &DeviceRange| range.part(0, bytes).expect("it is large enough");
            for turn in 0..=TURNS {
                let start = world.now();
                // With one rank, source and target would be the same memory: the rank copies to a second memory.
                if world.size() > 1 {
                    world.copy(from, to, bytes as usize / 8)?.wait()?
                } else {
                    copy(&stream, &part(&one), &part(&other)).map_err(failed)?
                }
                let between = world.now();
                copy(&stream, &part(&other), &part(&one)).map_err(failed)?;
                let end = world.now();
                // The first copy opens the memory and warms up.
                if turn > 0 {
                    ours.push((between - start).as_seconds() * 1e6);
                    drivers.push((end - between).as_seconds() * 1e6);
                }
            }
            let (ours, drivers) = (median(ours), median(drivers));
            let _ = writeln!(
                text,
                "{bytes:>12} {ours:>12.2} {drivers:>12.2} {:>8.3} {:>10.2}",
                drivers / ours,
                bytes as f64 / ours / 1e3
            );
        }
    }
    world.barrier()
}

fn copy(stream: &Stream, to: &DeviceRange, from: &DeviceRange) -> Result<(), CudaError> {
    stream.copy(to, from)?;
    stream.synchronize()
}

/// Packs the faces of cubes of 4-byte cells; returns whether both methods gave the same bytes.
fn faces(world: &World, device: &Device, edge_max: u64, text: &mut String) -> Result<bool, CudaError> {
    let _ = writeln!(text, "{:>12} {:>6} {:>12} {:>12} {:>8}", "cube", "face", "engine us", "kernel us", "better");
    let (stream, mut are_equal) = (device.stream()?, true);
    for edge in EDGES.into_iter().filter(|&edge| edge <= edge_max) {
        let cube = device.allocate(edge * edge * edge * 4)?;
        fill(&cube)?;
        let cube = DeviceRange::whole(cube);
        let packed = [device.allocate(edge * edge * 4)?, device.allocate(edge * edge * 4)?];
        let [by_engine, by_kernel] = packed.each_ref().map(|memory| DeviceRange::whole(memory.clone()));
        // Rows of a face: number, bytes, and pitch.
        for (face, count, bytes, pitch) in [
            ("jk", 1, edge * edge * 4, edge * edge * 4),
            ("ik", edge, edge * 4, edge * edge * 4),
            ("ij", edge * edge, 4, edge * 4),
        ] {
            let rows = Rows { count, bytes, from_pitch: pitch, to_pitch: bytes };
            let (from_shape, to_shape) = (Shape::strided(count, bytes, pitch), Shape::strided(count, bytes, bytes));
            let one = Face { to: by_kernel.clone(), to_shape, from: cube.clone(), from_shape };
            let mut times = [Vec::new(), Vec::new()];
            for turn in 0..=TURNS {
                let start = world.now();
                stream.copy_rows(&by_engine, &cube, rows)?;
                stream.synchronize()?;
                let between = world.now();
                stream.copy_faces(std::slice::from_ref(&one))?;
                stream.synchronize()?;
                let end = world.now();
                if turn > 0 {
                    times[0].push((between - start).as_seconds() * 1e6);
                    times[1].push((end - between).as_seconds() * 1e6);
                }
            }
            are_equal &= contents(&packed[0])? == contents(&packed[1])?;
            let [engine, kernel] = times.map(median);
            let better = if engine <= kernel { "engine" } else { "kernel" };
            let _ = writeln!(text, "{edge:>12} {face:>6} {engine:>12.2} {kernel:>12.2} {better:>8}");
        }
    }
    let _ = writeln!(text, "faces: {}", if are_equal { "both ways are equal" } else { "WRONG: the two ways differ" });
    Ok(are_equal)
}

/// Fills a cube with cells that differ from their neighbours.
fn fill(cube: &Arc<CudaMemory>) -> Result<(), CudaError> {
    let piece: Vec<u8> = (0..1u32 << 18).flat_map(|cell| cell.wrapping_mul(0x9E37_79B9).to_le_bytes()).collect();
    for start in (0..cube.bytes()).step_by(piece.len()) {
        let length = (cube.bytes() - start).min(piece.len() as u64) as usize;
        cube.write(start, &piece[..length]).map_err(|_| CudaError::Unsupported("memory that can be filled"))?;
    }
    Ok(())
}

fn contents(memory: &CudaMemory) -> Result<Vec<u8>, CudaError> {
    let mut bytes = vec![0; memory.bytes() as usize];
    memory.read(0, &mut bytes).map_err(|_| CudaError::Unsupported("memory that can be read"))?;
    Ok(bytes)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
