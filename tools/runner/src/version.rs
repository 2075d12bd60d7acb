//! The modules that a device can run: its target and the newest version of PTX.

use anyhow::{Context as _, Result};
use ptx_ir::Module;
use ptx_ir::raw::query::Environment;
use ptx_isa::{PtxVersion, Target};

use crate::device::Device;

/// The modules that a device can run.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Abilities {
    /// The newest version of PTX.
    pub version: PtxVersion,
    /// The target with all features of the device, `sm_90a`, not `sm_90`; for a device that runs modules for every target, one of them.
    pub target: Target,
}

impl Abilities {
    /// Determines the abilities of a device by loading empty modules. `default_target` is the target of a device that runs modules for every target.
    ///
    /// # Errors
    ///
    /// Fails if the architecture is not known, or the device loads no version.
    pub fn of(device: &dyn Device, default_target: Target) -> Result<Self> {
        let target = match device.architecture() {
            None => default_target,
            Some(number) => Target::ALL
                .iter()
                .copied()
                .filter(|t| u32::from(t.number()) == number)
                .max_by_key(|t| t.implied().iter().count())
                .with_context(|| format!("no target for architecture {number}"))?,
        };
        let version = PtxVersion::KNOWN
            .iter()
            .copied()
            .rfind(|version| {
                let text = format!(
                    ".version {version}\n.target {target}\n.address_size 64\n.visible .entry k()\n{{\nret;\n}}\n"
                );
                *version >= target.min_version() && device.load(&text).is_ok()
            })
            .with_context(|| format!("{} takes no module for {target}", device.name()))?;
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
