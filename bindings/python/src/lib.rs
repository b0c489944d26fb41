//! The extension module of the Python package `pelago-pgas`. It handles bytes and numbers; `python/pelago` makes NumPy arrays of them.
//!
//! The modules, from the highest to the lowest; each uses those below it only:
//!
//! | module | holds |
//! |---|---|
//! | `run` | `run(f)`: executes this process as one rank; in a simulation, a Python thread for each rank |
//! | `world`, `team`, `mailbox`, `grid`, `map` | classes for the operations of a single rank, of a team, and on distributed objects |
//! | `memory` | class: memory that all ranks reach, exported to NumPy |
//! | `get` | class: a get that the program waits for later |
//! | `device`, `dlpack` | memory of GPUs that all ranks reach; exchange of tensors with other libraries |
//! | `link` | access of a Python object to its rank, which belongs to one thread |
//! | `rank` | the objects of a rank, by number, and its waits, which check for signals |
//! | `buffer` | contiguous bytes of Python objects |
//! | `objects` | a rank's part of distributed objects, independent of their types |
//! | `fail`, `limits` | errors as Python exceptions; bounds |
//!
//! Absent on purpose: types of elements, shapes, NumPy.

mod buffer;
mod device;
mod dlpack;
mod fail;
mod get;
mod grid;
mod limits;
mod link;
mod mailbox;
mod map;
mod memory;
mod objects;
mod rank;
mod run;
mod team;
mod world;

/// The module.
#[pyo3::pymodule]
mod _pelago {
    #[pymodule_export]
    use crate::fail::{JobError, PeerLost, PelagoError};
    #[pymodule_export]
    use crate::get::Get;
    #[pymodule_export]
    use crate::grid::Grid;
    #[pymodule_export]
    use crate::mailbox::Mailbox;
    #[pymodule_export]
    use crate::map::Map;
    #[pymodule_export]
    use crate::memory::{Handle, Memory};
    #[pymodule_export]
    use crate::run::run;
    #[pymodule_export]
    use crate::team::Team;
    #[pymodule_export]
    use crate::world::World;
}
