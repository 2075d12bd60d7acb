//! What a device can be asked to run: the newest version of PTX that it takes, and its target.

use anyhow::{Context as _, Result};
use ptx_ir::Module;
use ptx_ir::query::Environment;
use ptx_isa::{PtxVersion, Target};

use crate::device::Device;

/// The modules that a device takes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Abilities {
    /// The newest version of PTX.
    pub version: PtxVersion,
    /// The target with all that the device has, `sm_90a`, not `sm_90`; for a device that runs modules for every target, one of them.
    pub target: Target,
}

impl Abilities {
    /// Asks a device which versions it takes. `otherwise` is the target of a device that runs modules for every target.
    ///
    /// # Errors
    ///
    /// If its architecture is not known, or it takes no version.
    pub fn of(device: &dyn Device, otherwise: Target) -> Result<Self> {
        let target = match device.architecture() {
            None => otherwise,
            Some(number) => {
                let all = Target::ALL.iter().copied();
                let own = all.filter(|t| u32::from(t.number()) == number);
                own.max_by_key(|t| t.implied().iter().count())
                    .with_context(|| format!("no target for architecture {number}"))?
            }
        };
        let takes = |version: &&PtxVersion| {
            let text = format!(
                ".version {version}\n.target {target}\n.address_size 64\n.visible .entry k()\n{{\nret;\n}}\n"
            );
            **version >= target.min_version() && device.load(&text).is_ok()
        };
        let mut newest = PtxVersion::KNOWN.iter().rev();
        let version = newest.find(takes).copied();
        let version =
            version.with_context(|| format!("{} takes no module for {target}", device.name()))?;
        Ok(Self { version, target })
    }

    /// Whether a device with these abilities runs a module.
    #[must_use]
    pub fn run(&self, device: &dyn Device, module: &Module) -> bool {
        let environment = Environment::of(module);
        let target = environment.target();
        device.architecture().is_none()
            || target.is_some_and(|t| self.target.implies(t))
                && environment.version() <= self.version
    }
}
