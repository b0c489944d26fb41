//! The way to other ranks by libfabric.

use std::io;

use pelago_base::Rank;
use pelago_launch::{LaunchSettings, LocalBootstrap, ProgressMode, names};
use pelago_ofi::{FabricChoice, FabricName, NAME, Ofi, Setup};
use pelago_platform::{Address, Bootstrap, Transport};
use pelago_sync::Doorbell;

/// All ranks are reached by the fabric that the settings name, those of this host too.
pub(super) fn connect(settings: &LaunchSettings, local: &LocalBootstrap) -> io::Result<Box<dyn Transport>> {
    let (host, me) = (local.host().clone(), local.rank());
    let refuse = |why: &str| Err(io::Error::other(format!("--transport ofi: {why}")));
    if settings.encrypt {
        return refuse("fabrics do not encrypt: encryption needs --transport auto or udp");
    }
    if settings.progress == ProgressMode::Manual {
        return refuse("a progress thread is needed: --progress manual is for other transports");
    }
    if host.count() != host.ranks() {
        return refuse("ranks of several hosts do not find each other yet: use --transport auto or udp");
    }
    let fabric = choice(settings.fabric.as_deref()).map_err(io::Error::other)?;
    let ofi = Ofi::new(Setup {
        me,
        layout: host.reach().addresses(),
        fabric,
        find: Box::new({
            let host = host.clone();
            move |rank: Rank| host.published(rank, NAME).map(Address)
        }),
        wake: Box::new({
            let host = host.clone();
            move || {
                host.reach().bell(me).map(Doorbell::ring);
            }
        }),
        lost: Box::new(move |rank| _ = host.mark_failed(rank)),
        progress_thread: true,
    });
    Ok(Box::new(ofi.map_err(|error| io::Error::other(error.to_string()))?))
}

fn choice(fabric: Option<&str>) -> Result<FabricChoice, String> {
    let parsed = fabric.map(|text| text.parse().map_err(|why| format!("{} cannot be {text:?}: {why}", names::FABRIC)));
    parsed.transpose().map(Option::unwrap_or_default)
}

/// The fabric that `--transport ofi` would take, as a line for people: of this provider and domain, or the one that is chosen. The library may look for a second
/// which devices there are.
///
/// # Errors
/// Why there is none, and what to do.
pub fn fabric(wanted: Option<&str>) -> Result<String, String> {
    FabricName::selected(&choice(wanted)?).map(|name| name.to_string()).map_err(|error| error.to_string())
}

/// Whether libfabric is installed, without a look at devices.
///
/// # Errors
/// Why it cannot be opened, and what to install.
pub fn fabric_library() -> Result<(), String> {
    FabricName::library_version().map(drop).map_err(|error| error.to_string())
}
