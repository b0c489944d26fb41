//! Errors as Python exceptions.

use pelago::cuda::CudaError;
use pelago::{Error, Scope};
use pyo3::exceptions::{PyBufferError, PyException, PyIndexError, PyMemoryError, PyRuntimeError, PyTimeoutError, PyValueError};
use pyo3::{PyErr, create_exception};

create_exception!(pelago, PelagoError, PyException, "An operation failed; the job goes on.");
create_exception!(pelago, PeerLost, PelagoError, "An operation needs a rank that was lost or does not answer.");
create_exception!(
    pelago,
    JobError,
    PelagoError,
    "The job is at fault: a rank was lost, all ranks wait for each other, or ranks disagree."
);

/// The reason why a call of the package fails.
#[derive(Debug)]
pub(crate) enum Fail {
    /// An error of the library.
    Library(Error),
    /// An error of a GPU or its driver.
    Device(CudaError),
    /// A signal handler of the program raised an exception while the rank waited.
    Raised(PyErr),
    /// A rank, an element or an object that does not exist.
    Index(String),
    /// An invalid argument.
    Value(String),
    /// The memory to be freed is still used by NumPy arrays.
    InUse,
    /// The object belongs to a job that has ended, or was freed.
    Ended,
    /// The calling thread does not own the object.
    ForeignThread,
    /// The calling process was forked by the rank that owns the object.
    ForeignProcess,
    /// A signal handler called the library while the rank waits inside it.
    Reentered,
}

impl From<Error> for Fail {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl From<CudaError> for Fail {
    fn from(error: CudaError) -> Self {
        Self::Device(error)
    }
}

impl From<Fail> for PyErr {
    fn from(fail: Fail) -> Self {
        match fail {
            Fail::Library(error @ Error::NoMemory { .. }) => PyMemoryError::new_err(error.to_string()),
            Fail::Library(error @ Error::TimedOut { .. }) => PyTimeoutError::new_err(error.to_string()),
            Fail::Library(
                error @ (Error::Invalid(_)
                | Error::WrongNumber { .. }
                | Error::TooLong { .. }
                | Error::Team(_)
                | Error::NotMember(_)
                | Error::Address(_)
                | Error::Pointer(_)
                | Error::Shape(_)),
            ) => PyValueError::new_err(error.to_string()),
            Fail::Library(error) => match error.scope() {
                Scope::Operation => PelagoError::new_err(error.to_string()),
                Scope::Peer => PeerLost::new_err(error.to_string()),
                Scope::Job => JobError::new_err(error.to_string()),
            },
            Fail::Device(error @ CudaError::OutOfMemory { .. }) => PyMemoryError::new_err(error.to_string()),
            Fail::Device(error @ CudaError::Invalid(_)) => PyValueError::new_err(error.to_string()),
            Fail::Device(error) => PelagoError::new_err(error.to_string()),
            Fail::Raised(raised) => raised,
            Fail::Index(why) => PyIndexError::new_err(why),
            Fail::Value(why) => PyValueError::new_err(why),
            Fail::InUse => PyBufferError::new_err("NumPy arrays of this memory exist: delete them before free()"),
            Fail::Ended => PyRuntimeError::new_err("this object was freed, or the function given to pelago.run has returned"),
            Fail::ForeignThread => {
                PyRuntimeError::new_err("only the thread in which pelago.run called the function may use its objects")
            }
            Fail::ForeignProcess => PyRuntimeError::new_err(
                "a process that a rank has forked is no rank: only the rank itself may use the objects of its job",
            ),
            Fail::Reentered => PyRuntimeError::new_err("a signal handler must not use pelago: the rank waits inside the library"),
        }
    }
}
