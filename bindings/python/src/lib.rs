//! The extension module of the Python package `pelago-pgas`: bytes and numbers. `python/pelago` makes NumPy arrays of them.
//!
//! The modules, from the highest to the lowest; each uses those below it only:
//!
//! | module | holds |
//! |---|---|
//! | `run` | `run(f)`: this process as one rank; in a simulation, a Python thread for each rank |
//! | `world`, `team`, `mailbox`, `grid`, `map` | classes: what a rank does alone, with a team, and with distributed objects |
//! | `memory` | class: memory that all ranks reach, exported to NumPy |
//! | `device`, `dlpack` | memory of GPUs that all ranks reach; tensors that libraries hand to each other |
//! | `link` | from a Python object to its rank, which belongs to one thread |
//! | `rank` | the objects of a rank, by number, and its waits, which notice signals |
//! | `buffer` | contiguous bytes of Python objects |
//! | `objects` | what a rank keeps of distributed objects, whatever their types |
//! | `fail`, `limits` | errors as Python exceptions; bounds |
//!
//! Absent on purpose: types of elements, shapes, NumPy.

mod buffer;
mod device;
mod dlpack;
mod fail;
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
