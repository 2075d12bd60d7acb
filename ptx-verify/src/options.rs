//! The options of the verifier.

use ptx_ir::Module;
use ptx_ir::query::Environment;
use ptx_isa::{PtxVersion, Target};

/// The version and the target that a module is checked for; by default those of its header.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Default, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Replaces the version of the header.
    pub version: Option<PtxVersion>,
    /// Replaces the target of the header.
    pub target: Option<Target>,
}

impl Options {
    /// A version and a target that replace those of the header, where given.
    #[must_use]
    pub const fn new(version: Option<PtxVersion>, target: Option<Target>) -> Self {
        Self { version, target }
    }

    /// The version and the target that a module is checked for.
    #[must_use]
    pub fn environment(&self, module: &Module) -> Environment {
        let of_header = Environment::of(module);
        Environment::new(
            self.version.unwrap_or(of_header.version()),
            self.target.or(of_header.target()),
        )
    }
}
