//! Workspaces: large memory that is distributed over ranks.
#![allow(unsafe_code)]

use std::ffi::c_int;

use pelago::GlobalAddress;
use pelago::containers::GlobalBytes;

use super::{Element, data, source};
use crate::ffi::call;
use crate::library::{Library, library};
use crate::refusal::{End, Refusal};
use crate::workspaces::{Settings, Workspace};

/// No workspace.
const NULL: usize = usize::MAX;

/// Maximum number of parts of a workspace. Every rank stores the address of each part.
const PARTS_MAX: u64 = 1 << 20;

/// Sets the rank on which the next workspaces begin, and the number of bytes of a part. All ranks pass the same values.
#[unsafe(no_mangle)]
pub extern "C" fn acp_setparams_ws(proc_start: usize, size_default: usize) -> c_int {
    call("acp_setparams_ws", 1, || {
        let library = library()?;
        let number = c_int::try_from(proc_start).unwrap_or(-1);
        library.rank_of(number)?;
        if size_default == 0 {
            return Err(Refusal::NoRanks);
        }
        library.set_workspaces(Settings { first: number as u32, part_bytes: size_default as u64 })?;
        Ok(0)
    })
}

/// Creates a workspace. Collective.
#[unsafe(no_mangle)]
pub extern "C" fn acp_create_ws(size: usize) -> usize {
    call("acp_create_ws", NULL, || library()?.create_workspace(size as u64))
}

/// Destroys a workspace. Collective.
#[unsafe(no_mangle)]
pub extern "C" fn acp_destroy_ws(workspace: usize) {
    call("acp_destroy_ws", (), || library()?.destroy_workspace(workspace));
}

/// As `acp_destroy_ws`.
#[unsafe(no_mangle)]
pub extern "C" fn acp_free_ws(workspace: usize) {
    call("acp_free_ws", (), || library()?.destroy_workspace(workspace));
}

/// Copies bytes of a workspace, from an offset on, to an address.
#[unsafe(no_mangle)]
pub extern "C" fn acp_read_ws(workspace: usize, ga: u64, size: usize, offset: usize) -> c_int {
    with("acp_read_ws", workspace, |library, whole| {
        if size == 0 {
            return Ok(());
        }
        let to = library.memory().locate(End::Destination, ga, size as u64)?;
        match to.cells.filter(|_| to.rank == library.memory().me()) {
            Some(cells) => {
                let mut bytes = Vec::new();
                bytes.try_reserve_exact(size).map_err(|_| Refusal::Large(size))?;
                bytes.resize(size, 0);
                whole.read(offset as u64, &mut bytes)?;
                cells.write(&bytes);
                Ok(())
            }
            None => Ok(whole.copy_to(offset as u64, to.address, size as u64)?),
        }
    })
}

/// Copies bytes from an address to a workspace, from an offset on.
#[unsafe(no_mangle)]
pub extern "C" fn acp_write_ws(workspace: usize, ga: u64, size: usize, offset: usize) -> c_int {
    with("acp_write_ws", workspace, |library, whole| {
        let mut buffer = Vec::new();
        Ok(whole.write(offset as u64, source(library, Element { ga, size }, &mut buffer)?)?)
    })
}

fn with(
    function: &str,
    workspace: usize,
    f: impl FnOnce(&'static Library, &GlobalBytes<'_, 'static>) -> Result<(), Refusal>,
) -> c_int {
    let (parts, part_bytes, bytes) = match call(function, None, || library()?.workspace(workspace).map(Some)) {
        Some(known) => known,
        None => return 1,
    };
    let known = Workspace { parts, part_bytes, bytes };
    data(function, 1, |library, heap| f(library, &known.open(heap)?).map(|()| 0))
}

impl Library {
    fn create_workspace(&self, bytes: u64) -> Result<usize, Refusal> {
        let size = self.size();
        self.with_session(|session, job| {
            let Settings { first, part_bytes } = session.workspaces.settings;
            let first_rank = self.rank_of(first as c_int)?;
            // The first rank allocates all parts. All ranks detect a failure from the addresses that it sends.
            let count = bytes.div_ceil(part_bytes);
            if bytes == 0 {
                return Err(Refusal::EmptyWorkspace);
            }
            if bytes / u64::from(size) > session.heap.bytes() || count > PARTS_MAX {
                return Err(Refusal::Large(bytes as usize));
            }
            let count = count as usize;
            let mut parts = Ok(vec![GlobalAddress::NULL; count]);
            if job.rank() == first_rank {
                parts = GlobalBytes::create(&session.heap, first_rank, part_bytes, bytes).map(|whole| whole.parts().to_vec());
            }
            let mut told = vec![0; count];
            if let Ok(parts) = &parts {
                told.iter_mut().zip(parts).for_each(|(word, part)| *word = part.bits());
            }
            job.broadcast(first_rank, &mut told)?;
            parts?;
            if told.contains(&0) {
                return Err(Refusal::Large(bytes as usize));
            }
            session.workspaces.settings.first = (first + count as u32 % size) % size;
            let parts = told.into_iter().map(GlobalAddress::from_bits).collect();
            session.workspaces.known.insert(Workspace { parts, part_bytes, bytes }).ok_or(Refusal::TooMany("workspaces"))
        })
    }

    fn destroy_workspace(&'static self, number: usize) -> Result<(), Refusal> {
        self.workspace(number)?;
        self.sync()?;
        self.with_session(|session, job| {
            let known = session.workspaces.known.remove(number).ok_or(Refusal::Workspace(number))?;
            let addresses = job.reach().addresses();
            if known.parts.first().is_some_and(|&part| addresses.rank(part) == job.rank()) {
                known.open(&session.heap)?.destroy()?;
            }
            Ok(())
        })
    }

    fn workspace(&self, number: usize) -> Result<(Vec<GlobalAddress>, u64, u64), Refusal> {
        self.with_session(|session, _| {
            let known = session.workspaces.known.get(number).ok_or(Refusal::Workspace(number))?;
            Ok((known.parts.clone(), known.part_bytes, known.bytes))
        })
    }

    fn set_workspaces(&self, settings: Settings) -> Result<(), Refusal> {
        self.with_session(|session, _| {
            session.workspaces.settings = settings;
            Ok(())
        })
    }
}
