//! Running a program as a rank with platform parts of any origin, from joining the job to leaving it.

use pelago_platform::Parts;

use crate::{Error, World};

/// Joins a job with parts that the program supplies: its own transport, clock, waits and bootstrap. Calls `body`, and leaves together with every
/// other rank. The conformance suite of `pelago-kit` checks the requirements of [`platform`](crate::platform) on each part. A tutorial, with a transport
/// over TCP, is in the project's `examples/transports/tcp`. The transport is the one part on which memory safety depends: its author promises that it
/// keeps no memory for longer than it may ([`TrustedTransport`](crate::platform::TrustedTransport)).
///
/// A job of one rank with private memory and a loopback transport:
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::Arc;
///
/// use pelago::platform::{
///     Activity, Bootstrap, BootstrapError, Clock, Fault, For, Parts, Reach, TrustedTransport, Wait, WaitPolicy, Woken,
/// };
/// use pelago::{AddressLayout, Instant, Rank};
/// use pelago_kit::Loopback;
///
/// struct Wall(std::time::Instant);
///
/// impl Clock for Wall {
///     fn now(&self) -> Instant {
///         Instant::ZERO + self.0.elapsed().into()
///     }
/// }
///
/// struct Yielding;
///
/// impl Wait for Yielding {
///     fn policy(&self) -> WaitPolicy { WaitPolicy::default() }
///     fn park(&self, _: For, _: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
///         ready();
///         self.yield_now();
///         Woken::Look
///     }
///     fn yield_now(&self) -> bool { std::thread::yield_now(); true }
///     fn note(&self, _: Activity) {}
///     fn fault(&self) -> Option<Fault> { None }
///     fn tolerate_peer_failures(&self) {}
///     fn failed_peer(&self, _: usize) -> Option<Rank> { None }
/// }
///
/// /// What it has published.
/// struct Alone(HashMap<String, Vec<u8>>);
///
/// impl Bootstrap for Alone {
///     fn rank(&self) -> Rank { Rank::new(0) }
///     fn size(&self) -> u32 { 1 }
///     fn publish(&mut self, key: &str, value: &[u8]) -> Result<(), BootstrapError> {
///         self.0.insert(key.into(), value.into());
///         Ok(())
///     }
///     fn lookup(&mut self, rank: Rank, key: &str) -> Result<Vec<u8>, BootstrapError> {
///         self.0.get(key).cloned().ok_or_else(|| BootstrapError::Missing(rank, key.into()))
///     }
///     fn barrier(&mut self, _meanwhile: &mut dyn FnMut() -> bool) -> Result<(), BootstrapError> { Ok(()) }
///     fn finish(&mut self) {}
/// }
///
/// let addresses = AddressLayout::new(1, 1 << 20).expect("a megabyte");
/// let end = Loopback::network(addresses, 1).pop().expect("the end of rank 0");
/// let parts = Parts {
///     reach: Reach::private(addresses, Rank::new(0))?,
///     clock: Arc::new(Wall(std::time::Instant::now())),
///     wait: Arc::new(Yielding),
///     virtual_time: None,
///     bootstrap: Box::new(Alone(HashMap::new())),
///     // SAFETY: a transport of Pelago.
///     transport: unsafe { TrustedTransport::new(Box::new(end)) },
/// };
/// let sum = pelago::run_with(parts, |world| {
///     let word = world.alloc::<u64>(1)?;
///     world.fetch_add(word.at(world.rank(), 0), 42)?.wait()?;
///     world.get(word.at(world.rank(), 0))
/// })?;
/// assert_eq!(sum, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The world cannot be created from these parts; `body` failed; a rank failed before the end.
pub fn run_with<R, E: From<Error>>(parts: Parts, body: impl FnOnce(&World) -> Result<R, E>) -> Result<R, E> {
    take_part(World::new(parts)?, body)
}

/// Calls `body` and ends this rank's part of the job.
pub(crate) fn take_part<R, E: From<Error>>(world: World, body: impl FnOnce(&World) -> Result<R, E>) -> Result<R, E> {
    let value = body(&world)?;
    world.finish()?;
    Ok(value)
}
