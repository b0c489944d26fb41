//! Operations between GPU memory, or host memory, of all ranks: the results are equal, as a hash shows. With `--bench`, their times.
//!
//! | file | holds |
//! |---|---|
//! | here | arguments, the memory of a rank, output |
//! | `exchange` | rounds of puts, gets, copies, blocks and atomics from every rank to every other, and their hash |
//! | `times` | copies between ranks compared with the driver's copy; packing of faces by the copy engine and by a kernel |

mod exchange;
mod times;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use pelago::cuda::{CudaError, Device};
use pelago::{GlobalAddress, GlobalPtr, Rank, Registered, RegisteredDevice, World};

use crate::usage::{Output, Stop, at_least_one, exit, if_all_have, parse};

/// Operations between memory of GPUs: rank 0 prints a hash of all memory, which is the same for memory of hosts
#[derive(Parser)]
#[command(name = "gpu")]
struct Arguments {
    /// Memory of each rank: of a GPU, managed by its driver, of the host, or of a GPU if there is one
    #[arg(long, value_name = "KIND", default_value = "auto")]
    device: Kind,
    /// Number of the GPU of rank 0; rank r has the one r further on, modulo their number
    #[arg(long, value_name = "N", default_value_t = 0)]
    ordinal: u32,
    /// Number of words of each rank, 8 bytes each
    #[arg(long, value_name = "W", default_value_t = 40_000, allow_negative_numbers = true, value_parser = at_least_one)]
    words: u32,
    /// Rounds, in each of which every rank writes to another one
    #[arg(long, value_name = "N", default_value_t = 20, allow_negative_numbers = true, value_parser = at_least_one)]
    rounds: u32,
    /// Measure copies and faces instead; 64 MiB and cubes of 512 cells at most
    #[arg(long)]
    bench: bool,
    /// Largest edge of the cubes, and largest copy in KiB [default: 512 and 65536]
    #[arg(long, value_name = "EDGE,KIB", value_delimiter = ',', num_args = 1, value_parser = at_least_one)]
    largest: Vec<u32>,
}

/// Of what memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    Auto,
    Cuda,
    Managed,
    Host,
}

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = parse::<Arguments>(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(arguments) => run(world, arguments),
        Err(stop) => Ok(stop.tell("gpu", world)),
    });
    exit("gpu", result)
}

/// Checks the arguments.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], _ranks: u32) -> Result<(), String> {
    let checked = parse::<Arguments>(arguments).and_then(|arguments| {
        let is_pair = matches!(arguments.largest.len(), 0 | 2);
        if is_pair { Ok(()) } else { Err(Stop::Wrong("--largest takes an edge and KiB".into())) }
    });
    checked.map_or_else(Stop::wrong, |()| Ok(()))
}

fn run(world: &World, arguments: &Arguments) -> pelago::Result<ExitCode> {
    // All ranks use memory of the same kind: GPU memory if each rank has a GPU.
    let is_required = matches!(arguments.device, Kind::Cuda | Kind::Managed);
    let line = |why| match is_required {
        true => format!("gpu: {why}; give --device host for memory of the host"),
        false => format!("gpu: memory of the host is used: {why}"),
    };
    let device = match arguments.device {
        Kind::Host => None,
        _ => if_all_have(world, own_device(world, arguments.ordinal), line)?,
    };
    if device.is_none() && is_required {
        return Ok(ExitCode::FAILURE);
    }
    match (&device, arguments.bench) {
        (Some(device), true) => times::measure(world, device, &arguments.largest),
        (None, true) => {
            if world.rank().number() == 0 {
                let _ = writeln!(std::io::stderr(), "gpu: --bench needs a GPU");
            }
            Ok(ExitCode::FAILURE)
        }
        (_, false) => {
            let is_managed = arguments.device == Kind::Managed;
            let hash = exchange::exchange(world, device.as_ref(), is_managed, arguments.words as usize, arguments.rounds)?;
            if world.rank().number() == 0 {
                let name = device.as_ref().map_or("host", Device::name);
                let _ = writeln!(Output, "gpu ranks {} memory {name:?} hash {hash:016x}", world.size());
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Returns the GPU of this rank.
fn own_device(world: &World, first: u32) -> Result<Device, CudaError> {
    let devices = pelago::cuda::Driver::get()?.devices();
    if first >= devices {
        return Device::get(first);
    }
    Device::get((first + world.rank().number()) % devices)
}

/// Registered memory of a rank.
enum Memory<'w> {
    Host(Registered<'w, u64>),
    Device(RegisteredDevice<'w, u64>),
}

impl<'w> Memory<'w> {
    /// Allocates and registers `words` words with arbitrary contents.
    fn new(world: &'w World, device: Option<&Device>, is_managed: bool, words: usize) -> pelago::Result<Self> {
        let Some(device) = device else { return Ok(Self::Host(world.register(vec![0; words])?)) };
        let bytes = words as u64 * 8;
        let memory = if is_managed { device.allocate_managed(bytes) } else { device.allocate(bytes) };
        // A rank without enough memory ends the job.
        let memory = memory.map_err(|why| {
            let _ = writeln!(std::io::stderr(), "gpu: rank {}: {why}", world.rank());
            pelago::Error::Invalid("there is no memory of the GPU")
        })?;
        Ok(Self::Device(world.register_device(memory)?))
    }

    fn start(&self) -> GlobalPtr<u64> {
        match self {
            Self::Host(memory) => memory.ptr(0),
            Self::Device(memory) => memory.ptr(0),
        }
    }

    /// Returns the start of each rank's memory. Collective.
    fn starts(&self, world: &World) -> pelago::Result<Vec<GlobalPtr<u64>>> {
        let starts = world.alloc::<u64>(1)?;
        starts.local().store(0, self.start().address().bits());
        world.barrier()?;
        let start = |rank| -> pelago::Result<GlobalPtr<u64>> {
            let bits = world.get(starts.at(Rank::new(rank), 0))?;
            GlobalPtr::from_address(GlobalAddress::from_bits(bits)).map_err(|_| pelago::Error::Invalid("no address of words"))
        };
        let starts: pelago::Result<Vec<_>> = (0..world.size()).map(start).collect();
        world.barrier()?;
        starts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_checked_before_any_rank_starts() {
        let check = |text: &str| check(&text.split_whitespace().map(String::from).collect::<Vec<_>>(), 2);
        assert_eq!(check("--device host --words 100 --rounds 3"), Ok(()));
        assert_eq!(check("--bench --largest 64,1024"), Ok(()));
        for wrong in ["--device tape", "--words 0", "--bench --largest 64", "--largest 0,1"] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
    }
}
