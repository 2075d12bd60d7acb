//! Renaming a range of registers next to one that would capture it.

use ptx_edit::{EditError, EditModule as _};
use ptx_ir::Module;

/// With `%a<6>` renamed to `%r1`, its member `%a1` would be spelled `%r11`, which is a member of `%r<20>`.
pub const BEFORE: &str = "\
.version 7.0
.target sm_70
.entry k()
{
	.reg .b32 %a<6>;
	.reg .b32 %r<20>;
	mov.b32 %a1, 1;
	mov.b32 %r11, 2;
	add.s32 %r2, %r11, %a1;
	ret;
}
";

/// Renames the range `%a` of the kernel to the first of these names that captures nothing.
pub fn rename<'n>(module: &mut Module, names: &[&'n str]) -> Result<&'n str, EditError> {
    let k = module.function("k").ok_or(EditError::NoBody)?;
    let mut editor = module.edit(k)?;
    let (module, decls) = (editor.module(), editor.body().reg_decls());
    let range = decls
        .ids()
        .find(|id| module.name(decls[*id].name) == "%a")
        .ok_or(EditError::NoStatement)?;
    let mut last_error = EditError::NoStatement;
    for &name in names {
        match editor.rename_register(range, name) {
            Ok(()) => return Ok(name),
            Err(error) => last_error = error,
        }
    }
    Err(last_error)
}
