//! Another target and version in the header, all other bytes unchanged.

use alloc::string::ToString;
use alloc::vec::Vec;

use ptx_ir::{Module, TextPatches};
use ptx_isa::{Directive, PtxVersion, Target};

use crate::printed::Printed;

/// The text of a module with another target and version in its header, all other bytes unchanged. Nothing is checked: call
/// [`ptx_verify::verify`] to find out whether the module is legal there. `None` where the header has no `.version` or no known
/// target.
///
/// ```
/// use ptx_isa::{PtxVersion, Target};
/// let module = ptx_parse::parse(b".version 7.8 // old\n.target sm_80, debug\n.address_size 64").module;
/// let text = ptx_transform::retarget(&module, Target::Sm90a, PtxVersion::new(8, 0)).expect("there is a header");
/// assert_eq!(text, b".version 8.0 // old\n.target sm_90a, debug\n.address_size 64");
/// ```
#[must_use]
pub fn retarget(module: &Module, target: Target, version: PtxVersion) -> Option<Vec<u8>> {
    let printed = Printed::of(module);
    let module = printed.module();
    let (_, number) = module.header_value(Directive::Version)?;
    let (_, name) = module.header_value(Directive::Target)?;
    let mut patches = TextPatches::new();
    patches.replace(number?, version.to_string());
    patches.replace(name?, target.text());
    Some(patches.apply(module.source()).text)
}
