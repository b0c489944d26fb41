//! The objects of a rank, by number, and its waits, which check for signals.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::time::{Duration as Pause, Instant};

use pelago::collectives::{Collectives, Settings};
use pelago::containers::GlobalHeap;
use pelago::messaging::Mailbox;
use pelago::{Duration, Error, Handle, PendingGet, Result, World};
use pyo3::Python;

use crate::fail::Fail;
use crate::limits::OBJECTS_MAX;
use crate::objects::{AnyGrid, AnyMap, Area, Ends};

/// Interval at which a wait asks Python whether a signal has arrived.
const SIGNALS: Pause = Pause::from_millis(100);

/// Bytes of the symmetric heap for all collective operations of a team, and for one of them.
const TEAM_BYTES: (usize, usize) = (8 << 20, 1 << 20);

/// Objects that live until the rank leaves the job, because other objects borrow from them.
#[derive(Default)]
pub(crate) struct Arenas<'w> {
    pub(crate) teams: Arena<Collectives<'w>>,
    pub(crate) mailboxes: Arena<Mailbox<'w>>,
    pub(crate) heaps: Arena<GlobalHeap<'w>>,
}

/// A rank of the job, with the objects that its program has created.
pub(crate) struct Rank<'a, 'w> {
    pub(crate) world: &'w World,
    pub(crate) arenas: &'a Arenas<'w>,
    /// Whether its waits check for signals. Those of a simulated rank do not, because they run in the simulating thread.
    is_process: bool,
    all: OnceCell<&'a Collectives<'w>>,
    pub(crate) memories: Table<Area<'w>>,
    pub(crate) handles: Table<Handle<'w>>,
    pub(crate) gets: Table<PendingGet<'w, u8>>,
    pub(crate) teams: Table<&'a Collectives<'w>>,
    pub(crate) mailboxes: Table<Ends<'a, 'w>>,
    pub(crate) grids: Table<Box<dyn AnyGrid + 'w>>,
    pub(crate) maps: Table<Box<dyn AnyMap + 'a>>,
}

/// An object to which no Python object refers any more.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Garbage {
    Memory(u64),
    Handle(u64),
    Get(u64),
    Grid(u64),
    Map(u64),
}

impl<'a, 'w> Rank<'a, 'w> {
    pub(crate) fn new(world: &'w World, arenas: &'a Arenas<'w>, is_process: bool) -> Self {
        Self {
            world,
            arenas,
            is_process,
            all: OnceCell::new(),
            memories: Table::default(),
            handles: Table::default(),
            gets: Table::default(),
            teams: Table::default(),
            mailboxes: Table::default(),
            grids: Table::default(),
            maps: Table::default(),
        }
    }

    /// Removes an object. The library still keeps resources that it can release only after all ranks have removed theirs.
    pub(crate) fn remove(&self, garbage: Garbage) {
        match garbage {
            Garbage::Memory(number) => drop(self.memories.take(number)),
            Garbage::Handle(number) => drop(self.handles.take(number)),
            Garbage::Get(number) => drop(self.gets.take(number)),
            Garbage::Grid(number) => drop(self.grids.take(number)),
            Garbage::Map(number) => drop(self.maps.take(number)),
        }
    }

    /// Returns the collective operations of a team, or of all ranks. Those of all ranks are created on first use, which is collective.
    pub(crate) fn team(&self, number: Option<u64>) -> Result<&'a Collectives<'w>, Fail> {
        let Some(number) = number else {
            if let Some(all) = self.all.get() {
                return Ok(all);
            }
            let all = self.arenas.teams.keep(Collectives::new(self.world, &team_settings())?)?;
            return Ok(self.all.get_or_init(|| all));
        };
        self.teams.with(number, |team| Ok(*team))
    }

    /// Waits until `ready` returns a value, like [`Context::wait_for`](pelago::Context::wait_for). Waits without a limit count for the detection of deadlocks.
    ///
    /// # Errors
    /// The errors of `ready`; the limit has passed; the job has failed; a signal handler raised an exception.
    pub(crate) fn wait_for<T>(
        &self,
        what: &'static str,
        limit: Option<Duration>,
        mut ready: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T, Fail> {
        let (mut raised, mut ask_at) = (None, Instant::now() + SIGNALS);
        let found = self.world.wait_for(what, limit, || {
            if let Some(found) = ready()? {
                return Ok(Some(Some(found)));
            }
            if self.is_process && Instant::now() >= ask_at {
                ask_at = Instant::now() + SIGNALS;
                raised = Python::attach(|py| py.check_signals()).err();
            }
            Ok(raised.is_some().then_some(None))
        })?;
        match (found, raised) {
            (Some(found), _) => Ok(found),
            (None, Some(raised)) => Err(Fail::Raised(raised)),
            (None, None) => Err(Fail::Ended),
        }
    }

    /// Polls a condition outside the library until it holds, like [`Context::poll_for`](pelago::Context::poll_for). The library makes progress meanwhile.
    ///
    /// # Errors
    /// The errors of `is_so`; the job has failed; a signal handler raised an exception.
    pub(crate) fn poll_for<E: Into<Fail>>(
        &self,
        what: &'static str,
        mut is_so: impl FnMut() -> std::result::Result<bool, E>,
    ) -> Result<(), Fail> {
        let mut ask_at = Instant::now() + SIGNALS;
        self.world.poll_for(what, None, || {
            let found = is_so().map_err(Into::into);
            if !matches!(found, Ok(false)) {
                return Ok(Some(found.map(drop)));
            }
            if self.is_process && Instant::now() >= ask_at {
                ask_at = Instant::now() + SIGNALS;
                return Ok(Python::attach(|py| py.check_signals()).err().map(|raised| Err(Fail::Raised(raised))));
            }
            Ok(None)
        })?
    }

    /// Waits for an operation.
    pub(crate) fn wait(&self, handle: Handle<'_>) -> Result<(), Fail> {
        if handle.was_done_at_once() {
            return Ok(());
        }
        self.wait_for("an operation", None, || Ok(handle.test()?.then_some(())))
    }
}

/// Checks and converts a time limit in seconds.
pub(crate) fn duration(seconds: Option<f64>) -> Result<Option<Duration>, Fail> {
    let good = |seconds: &f64| (0.0..=1e6).contains(seconds);
    match seconds {
        None => Ok(None),
        Some(seconds) if good(&seconds) => Ok(Some(Duration::from_seconds(seconds))),
        Some(seconds) => Err(Fail::Value(format!("a time is from 0 to 1000000 seconds, not {seconds}"))),
    }
}

/// Returns the settings of the collective operations of a team.
pub(crate) fn team_settings() -> Settings {
    Settings { memory_bytes: TEAM_BYTES.0, plan_bytes: TEAM_BYTES.1, ..Settings::default() }
}

/// Objects by number. Numbers are not reused.
pub(crate) struct Table<T> {
    next: Cell<u64>,
    objects: RefCell<BTreeMap<u64, T>>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { next: Cell::new(0), objects: RefCell::default() }
    }
}

impl<T> Table<T> {
    pub(crate) fn insert(&self, object: T) -> u64 {
        let number = self.next.get();
        self.next.set(number + 1);
        self.objects.borrow_mut().insert(number, object);
        number
    }

    pub(crate) fn take(&self, number: u64) -> Option<T> {
        self.objects.borrow_mut().remove(&number)
    }

    /// Calls `act` with an object.
    ///
    /// # Errors
    /// The object was removed.
    pub(crate) fn with<R>(&self, number: u64, act: impl FnOnce(&mut T) -> Result<R, Fail>) -> Result<R, Fail> {
        // The object is out of the table during the call, because a call that waits may remove other objects.
        let mut object = self.take(number).ok_or(Fail::Ended)?;
        let result = act(&mut object);
        self.objects.borrow_mut().insert(number, object);
        result
    }
}

/// Objects whose addresses stay valid as long as the arena lives.
pub(crate) struct Arena<T> {
    first: OnceCell<Box<Node<T>>>,
    count: Cell<usize>,
}

struct Node<T> {
    value: T,
    next: OnceCell<Box<Self>>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self { first: OnceCell::new(), count: Cell::new(0) }
    }
}

impl<T> Arena<T> {
    /// Adds an object.
    ///
    /// # Errors
    /// There are too many objects.
    pub(crate) fn keep(&self, value: T) -> Result<&T> {
        if self.count.get() == OBJECTS_MAX {
            return Err(Error::TooMany { what: "teams, mailboxes or maps", limit: OBJECTS_MAX });
        }
        self.count.set(self.count.get() + 1);
        let mut place = &self.first;
        while let Some(node) = place.get() {
            place = &node.next;
        }
        Ok(&place.get_or_init(|| Box::new(Node { value, next: OnceCell::new() })).value)
    }
}
