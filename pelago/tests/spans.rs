//! With the feature `tracing`, control operations are spans of a subscriber; puts, gets and barriers are none.

use std::sync::{Arc, Mutex};

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Notes the names of all spans of the library.
struct Names(Arc<Mutex<Vec<&'static str>>>);

impl Subscriber for Names {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "pelago"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut names = self.0.lock().unwrap();
        names.push(span.metadata().name());
        Id::from_u64(names.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn control_operations_are_spans() {
    let names = Arc::new(Mutex::new(Vec::new()));
    tracing::subscriber::with_default(Names(names.clone()), || {
        pelago::run(|world| {
            let memory = world.alloc::<u64>(4)?;
            let registered = world.register(vec![0_u64; 8])?;
            world.put(memory.at(world.rank(), 0), &[7])?.wait()?;
            assert_eq!(world.get(memory.at(world.rank(), 0))?, 7);
            world.barrier()?;
            registered.unregister()?;
            Ok::<_, pelago::Error>(())
        })
    })
    .unwrap();
    assert_eq!(*names.lock().unwrap(), ["join", "alloc", "register", "leave"]);
}
