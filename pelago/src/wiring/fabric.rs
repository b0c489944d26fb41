//! The transport by libfabric.

use std::io;
use std::path::Path;

use pelago_base::Rank;
use pelago_launch::{LaunchSettings, LocalBootstrap, ProgressMode, names};
use pelago_ofi::{FabricChoice, FabricName, NAME, Ofi, Setup};
#[cfg(feature = "udp")]
use pelago_ofi::{Introduced, Introduction};
#[cfg(feature = "udp")]
use pelago_platform::Fault;
use pelago_platform::{Address, Bootstrap, Transport, Wait};
use pelago_shm::RankStage;
use pelago_sync::Doorbell;

/// Returns the address that a rank of this host has published.
type Find = Box<dyn Fn(Rank) -> Option<Address> + Send>;

/// Connects to all ranks of a job on one host through the fabric of the settings.
pub(super) fn connect(settings: &LaunchSettings, local: &LocalBootstrap) -> io::Result<Box<dyn Transport>> {
    let host = local.host().clone();
    let find = Box::new(move |rank: Rank| host.published(rank, NAME).map(Address));
    let ofi = Ofi::new(setup(settings, local, find)?);
    Ok(Box::new(ofi.map_err(|error| io::Error::other(error.to_string()))?))
}

/// Connects to ranks of other hosts through the fabric of the settings; they exchange addresses by datagrams, and detect failures by datagrams.
#[cfg(feature = "udp")]
pub(super) fn introduce<C: Transport>(
    settings: &LaunchSettings,
    local: &LocalBootstrap,
    control: C,
) -> io::Result<Introduced<C>> {
    let host = local.host().clone();
    let find = Box::new(move |rank| host.address_of(rank).map(|address| Address(address.to_string().into())));
    let setup = setup(settings, local, Box::new(|_| None))?;
    let host = local.host().clone();
    // As for udp: other ranks may still reach it.
    let unreachable = Box::new(move |rank| host.fail(Fault::Unreachable(rank)));
    let introduction = Introduction { control, find, failure_limit: settings.failure_limit, unreachable };
    Introduced::new(setup, introduction).map_err(|error| io::Error::other(error.to_string()))
}

/// Returns the setup of a rank's transport.
fn setup(settings: &LaunchSettings, local: &LocalBootstrap, find: Find) -> io::Result<Setup> {
    let (host, me) = (local.host().clone(), local.rank());
    let refuse = |why: &str| Err(io::Error::other(format!("--transport ofi: {why}")));
    if settings.encrypt {
        return refuse("fabrics do not encrypt: encryption needs --transport auto or udp");
    }
    if settings.progress == ProgressMode::Manual {
        return refuse("a progress thread is needed: --progress manual is for other transports");
    }
    Ok(Setup {
        me,
        layout: host.reach().addresses(),
        fabric: choice(settings.fabric.as_deref()).map_err(io::Error::other)?,
        interface: host.address_of(me).map(|address| address.ip()),
        find,
        wake: Box::new({
            let host = host.clone();
            move || {
                host.reach().bell(me).map(Doorbell::ring);
            }
        }),
        // A provider may fail to send a last reply to a rank that has ended in good order.
        lost: Box::new(move |rank| {
            if host.control(rank).is_none_or(|control| control.stage() != RankStage::Finished) {
                host.mark_failed(rank);
            }
        }),
        progress_thread: true,
        devices: has_devices(),
        is_oversubscribed: local.wait().policy().is_oversubscribed,
    })
}

/// Whether this host has a GPU, according to the drivers' files: no driver is initialized for this check.
fn has_devices() -> bool {
    #[cfg(feature = "cuda")]
    if std::env::var_os(pelago_cuda::LIBRARY_VARIABLE).is_some_and(|name| !name.is_empty()) {
        return true;
    }
    ["/dev/nvidiactl", "/dev/kfd"].into_iter().any(|file| Path::new(file).exists())
}

fn choice(fabric: Option<&str>) -> Result<FabricChoice, String> {
    let parsed = fabric.map(|text| text.parse().map_err(|why| format!("{} cannot be {text:?}: {why}", names::FABRIC)));
    parsed.transpose().map(Option::unwrap_or_default)
}

/// Returns the fabric that `--transport ofi` would select, as a line of text, with its access path to memory of GPUs: of the given provider and domain, or the
/// default choice. The library may take a second to detect devices.
///
/// # Errors
/// Why there is no fabric, and the remedy.
pub fn fabric(wanted: Option<&str>) -> Result<String, String> {
    FabricName::selected(&choice(wanted)?, has_devices()).map(|name| name.to_string()).map_err(|error| error.to_string())
}

/// Whether libfabric is installed; does not detect devices.
///
/// # Errors
/// Why it cannot be opened, and the packages to install.
pub fn fabric_library() -> Result<(), String> {
    FabricName::library_version().map(drop).map_err(|error| error.to_string())
}
