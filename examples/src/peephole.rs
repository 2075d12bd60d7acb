//! A peephole pass: products with powers of two become shifts, and additions of zero become moves.
//! `cargo run -p ptx-examples --bin peephole -- FILE`

use ptx_edit::{EditError, EditModule as _};
use ptx_ir::{FuncId, Module, Operand, Statement};
use ptx_isa::{Modifier, Opcode};

use crate::kernel::{Element, Kernel, Parameter};

/// `peephole(in, out)`: `out[i] = in[i] * 8 + 0`, one thread for each element.
pub const BEFORE: &str = "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry peephole(.param .u64 in, .param .u64 out)
{
	.reg .b32 %r<3>;
	.reg .b64 %rd<4>;

	mov.u32 %r0, %tid.x;
	ld.param.u64 %rd0, [in];
	ld.param.u64 %rd1, [out];
	mul.wide.u32 %rd2, %r0, 4;
	add.s64 %rd0, %rd0, %rd2;
	add.s64 %rd1, %rd1, %rd2;
	ld.global.u32 %r1, [%rd0];
	mul.lo.s32 %r1, %r1, 8; // a shift would do
	add.s32 %r2, %r1, 0;
	st.global.u32 [%rd1], %r2;
	ret;
}
";

/// Returns the mnemonic and the operands of a simpler instruction with the same result.
fn simpler_instruction(
    module: &Module,
    function: FuncId,
    statement: Statement,
) -> Option<(String, Vec<Operand>)> {
    let body = module.body(function)?;
    let Statement::Inst(inst) = statement else {
        return None;
    };
    let signature = module.signature(body.inst(inst)?.sig);
    let [d, a, Operand::Small(n)] = *body.operands(inst) else {
        return None;
    };
    let bits = signature.types().next().filter(|t| t.is_integer())?.bits();
    let has_only_a_type = signature.words().len() == 1;
    let power = u32::try_from(n).ok().filter(|n| n.is_power_of_two());
    match (signature.opcode()?, power) {
        (Opcode::Add | Opcode::Sub, _) if n == 0 && has_only_a_type => {
            Some((format!("mov.b{bits}"), vec![d, a]))
        }
        // The low half of a product does not depend on signs.
        (Opcode::Mul, Some(power)) if signature.has(Modifier::Lo) && bits > 16 => {
            let distance = Operand::Small(power.trailing_zeros() as i32);
            Some((format!("shl.b{bits}"), vec![d, a, distance]))
        }
        _ => None,
    }
}

/// Rewrites all functions, and returns the number of changed instructions. Guards and comments stay.
pub fn peephole(module: &mut Module) -> Result<usize, EditError> {
    let functions: Vec<FuncId> = module.definitions().map(|(id, ..)| id).collect();
    let mut changed = 0;
    for function in functions {
        let mut editor = module.edit(function)?;
        let mut cursor = editor.cursor();
        while let Some((stmt, statement)) = cursor.next() {
            let editor = cursor.editor();
            if let Some((mnemonic, operands)) =
                simpler_instruction(editor.module(), function, statement)
            {
                editor.set_mnemonic(stmt, &mnemonic)?;
                editor.set_operands(stmt, &operands)?;
                changed += 1;
            }
        }
    }
    Ok(changed)
}

/// Returns [`BEFORE`] after the pass.
pub fn kernel() -> Result<Kernel, EditError> {
    let mut module = ptx_parse::parse(BEFORE.as_bytes()).module;
    peephole(&mut module)?;
    let text = String::from_utf8_lossy(&ptx_print::verbatim(&module)).into_owned();
    Ok(Kernel {
        text,
        name: "peephole",
        parameters: vec![
            Parameter::input("in", Element::U32, 256),
            Parameter::output("out", Element::U32, 256),
        ],
        grid: [1, 1, 1],
        block: [256, 1, 1],
    })
}
