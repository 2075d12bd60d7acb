//! The options of the verifier.

use ptx_ir::Module;
use ptx_ir::query::Environment;
use ptx_isa::{PtxVersion, Target};

/// The version and the target that a module is checked for; by default those of its header.
///
/// ```
/// use ptx_isa::Target;
/// let module = ptx_parse::parse(b".version 8.0\n.target sm_80\n").module;
/// let options = ptx_verify::Options::default().with_target(Target::Sm90);
/// assert_eq!(options.environment(&module).target(), Some(Target::Sm90));
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Hash, Default, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Replaces the version of the header.
    pub version: Option<PtxVersion>,
    /// Replaces the target of the header.
    pub target: Option<Target>,
}

impl Options {
    /// Replaces the version of the header; `None` is the version of the header.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<Option<PtxVersion>>) -> Self {
        self.version = version.into();
        self
    }

    /// Replaces the target of the header; `None` is the target of the header.
    #[must_use]
    pub fn with_target(mut self, target: impl Into<Option<Target>>) -> Self {
        self.target = target.into();
        self
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
