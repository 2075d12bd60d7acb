//! A rewrite that adds a parameter to a function and to all its calls.

use ptx_edit::{EditError, EditModule as _, NewParam, ParamList};
use ptx_ir::{Module, Operand, Statement};
use ptx_isa::{ScalarType, StateSpace};

/// `scale` multiplies by 3; two kernels call it.
pub const BEFORE: &str = "\
.version 7.0
.target sm_70
.address_size 64

.func (.param .b32 out) scale(.param .b32 x)
{
	.reg .b32 %r<2>;

	ld.param.b32 %r0, [x];
	mul.lo.s32 %r1, %r0, 3; // the factor
	st.param.b32 [out], %r1;
	ret;
}

.visible .entry first(.param .u64 p)
{
	.reg .b32 %v<2>;

	{ // scale(4)
	.param .b32 a;
	.param .b32 r;
	mov.b32 %v0, 4;
	st.param.b32 [a], %v0;
	call.uni (r), scale, (a);
	ld.param.b32 %v1, [r];
	}
	ret;
}

.visible .entry second()
{
	.param .b32 a;
	.param .b32 r;
	call (r), scale, (a);
	ret;
}
";

/// Adds a second parameter `factor` to `scale`, and the argument `factor` to every call.
pub fn add_factor(module: &mut Module, factor: i64) -> Result<(), EditError> {
    let Some(scale) = module.function("scale") else {
        return Err(EditError::NoBody);
    };
    let new = NewParam::new(ScalarType::B32, "factor");
    let mut calls = 0;
    let parameter =
        module
            .editor()
            .insert_param(scale, ParamList::Parameters, 1, &new, |editor, call| {
                calls += 1;
                let name = format!("factor{calls}");
                let (variable, declaration) =
                    editor.variable(StateSpace::Param, 0, ScalarType::B32, &name, None)?;
                editor.insert_before(call, declaration)?;
                let address = editor.address(Operand::Var(variable), Operand::Absent)?;
                let value = editor.integer(factor);
                let store = editor.inst("st.param.b32", &[address, value])?;
                editor.insert_before(call, store)?;
                Ok(Operand::Var(variable))
            })?;
    let mut editor = module.edit(scale)?;
    let multiply = editor
        .body()
        .statements()
        .filter(|(_, s)| matches!(s, Statement::Inst(_)))
        .nth(1);
    let (Some((multiply, _)), Some(parameter)) = (multiply, parameter) else {
        return Err(EditError::NoStatement);
    };
    let (decl, registers) = editor.registers(ScalarType::B32, "%factor", None)?;
    editor.insert_before(multiply, registers)?;
    let register = Operand::Reg(editor.register(decl, 0)?);
    let address = editor.address(parameter, Operand::Absent)?;
    let load = editor.inst("ld.param.b32", &[register, address])?;
    editor.insert_before(multiply, load)?;
    editor.set_operand(multiply, 2, register)
}
