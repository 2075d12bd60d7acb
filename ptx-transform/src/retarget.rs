//! Another target and version in the header, all other bytes unchanged.

use alloc::string::ToString;
use core::fmt;

use ptx_edit::Rewriting;
use ptx_ir::Module;
use ptx_ir::raw::TextPatches;
use ptx_isa::{Directive, PtxVersion, Target};

use crate::printed::Printed;

/// The reason why a module has no header that could be changed.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum RetargetError {
    /// The header has no `.version`, or no `.target` with a known target.
    NoHeader,
}

impl fmt::Display for RetargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHeader => f.write_str("the header has no `.version` or no `.target`"),
        }
    }
}

impl core::error::Error for RetargetError {}

/// Changes the target and the version in the header of a module; all other bytes stay unchanged. Nothing is checked: call
/// [`ptx_verify::verify`] to find out whether the module is legal there.
///
/// ```
/// use ptx_isa::{PtxVersion, Target};
/// let module = ptx_parse::parse(b".version 7.8 // old\n.target sm_80, debug\n.address_size 64").module;
/// let retargeted = ptx_transform::retarget(&module, Target::Sm90a, PtxVersion::new(8, 0))?;
/// assert_eq!(retargeted.text(), b".version 8.0 // old\n.target sm_90a, debug\n.address_size 64");
/// # Ok::<(), ptx_transform::RetargetError>(())
/// ```
///
/// # Errors
///
/// The header has no `.version` or no known target.
pub fn retarget(
    module: &Module,
    target: Target,
    version: PtxVersion,
) -> Result<Rewriting, RetargetError> {
    let printed = Printed::of(module);
    let module = printed.module();
    let version_span = module.header_value(Directive::Version);
    let target_span = module.header_value(Directive::Target);
    let (Some((_, Some(version_span))), Some((_, Some(target_span)))) = (version_span, target_span)
    else {
        return Err(RetargetError::NoHeader);
    };
    let mut patches = TextPatches::new();
    patches.replace(version_span, version.to_string());
    patches.replace(target_span, target.text());
    Ok(printed.rewriting(patches.apply(module.source())))
}
