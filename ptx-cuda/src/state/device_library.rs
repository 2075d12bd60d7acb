//! Functions of the device runtime that programs declare, and that the driver provides as PTX.

use ptx_ir::Module;
use ptx_isa::Target;

use super::images::LoadError;
use super::linkers::linked;

/// The functions, each of which a program may define itself.
const LIBRARY: &str = include_str!("device_library.ptx");

/// The names of functions that a module declares and does not define.
fn declared(module: &Module) -> impl Iterator<Item = &str> {
    let functions = module.functions().iter();
    let without_body = functions.filter(|(_, function)| function.body.is_none());
    without_body.map(|(_, function)| module.name(function.name))
}

/// The text of a module together with the functions of the library, if it needs any of them.
pub(crate) fn with_library(module: &Module, target: Target) -> Result<Option<Vec<u8>>, LoadError> {
    // A definition in the text of the library begins with the name and a parenthesis.
    let provides = |name: &str| LIBRARY.contains(&format!(" {name}("));
    if !declared(module).any(provides) {
        return Ok(None);
    }
    let texts = [module.source().to_vec(), LIBRARY.as_bytes().to_vec()];
    linked(&texts, target).map(Some)
}
