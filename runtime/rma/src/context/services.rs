//! What a context does for other ranks whenever it makes progress: a list that waits and `progress` go through.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use pelago_base::{Duration, Instant};

use crate::Context;

/// Something that is done for other ranks.
pub(crate) trait Service {
    /// Does what there is to do, without waiting for other ranks; returns whether there was anything.
    fn serve(&self, context: &Context) -> bool;

    /// Whether something could not be done yet, and is to be tried again though nothing is written to this rank's memory.
    fn is_stuck(&self) -> bool;
}

/// How long a rank sleeps that has something to try again.
const RETRY_INTERVAL: Duration = Duration::from_microseconds(100);

/// The services of a context.
#[derive(Default)]
pub(crate) struct Services {
    list: RefCell<Vec<Weak<dyn Service>>>,
    /// Whether one of them is running: what it calls makes progress too.
    is_serving: Cell<bool>,
    /// Whether one of them has something to try again.
    is_stuck: Cell<bool>,
}

impl Context {
    /// Serves from now on, as long as somebody holds the service.
    pub(crate) fn add_service(&self, service: &Rc<impl Service + 'static>) {
        let weak: Weak<dyn Service> = Rc::downgrade(service) as Weak<dyn Service>;
        let services = self.services.get_or_init(Box::default);
        let mut list = services.list.borrow_mut();
        list.retain(|service| service.strong_count() > 0);
        list.push(weak);
    }

    /// Whether this context serves: then whatever is written to its memory may concern it.
    #[inline]
    pub(crate) fn has_services(&self) -> bool {
        self.services.get().is_some()
    }

    /// When a service is to try something again.
    pub(crate) fn retry_at(&self) -> Option<Instant> {
        let services = self.services.get().filter(|services| services.is_stuck.get())?;
        (!services.is_serving.get()).then(|| self.shared().clock.now() + RETRY_INTERVAL)
    }

    /// Lets each service do what there is to do; whether there was anything. A service that waits inside is not begun again.
    #[cold]
    #[inline(never)]
    pub(crate) fn serve(&self) -> bool {
        let Some(services) = self.services.get() else { return false };
        if services.is_serving.replace(true) {
            return false;
        }
        // A function of the program may panic.
        let _ended = Ended(&services.is_serving);
        let (mut moved, mut is_stuck, mut index) = (false, false, 0);
        while let Some(service) = services.list.borrow().get(index).map(Weak::upgrade) {
            if let Some(service) = service {
                moved |= service.serve(self);
                is_stuck |= service.is_stuck();
            }
            index += 1;
        }
        services.is_stuck.set(is_stuck);
        moved
    }
}

/// Ends a round of services.
struct Ended<'a>(&'a Cell<bool>);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}
