//! Variables in operands.

use alloc::vec::Vec;

use ptx_ir::{Binding, Body, InstId, Operand, VarId};

/// The variables of the function that an instruction names.
pub(super) fn variables(body: &Body, inst: InstId) -> Vec<VarId> {
    let mut found = Vec::new();
    for operand in body.operands(inst) {
        add(body, *operand, 2, &mut found);
    }
    found
}

fn add(body: &Body, operand: Operand, depth: u32, found: &mut Vec<VarId>) {
    let pool = body.pool();
    match operand {
        Operand::Var(variable) => found.push(variable),
        Operand::Address(id) => {
            if let Some(Operand::Var(variable)) = pool.address(id).map(|a| a.base) {
                found.push(variable);
            }
        }
        Operand::List(id) | Operand::Vector(id) | Operand::Bracket(id) if depth > 0 => {
            for &part in pool.list(id) {
                add(body, part, depth - 1, found);
            }
        }
        _ => {}
    }
}

/// The bytes of a variable that a body declares.
pub(super) fn size(body: &Body, variable: VarId) -> Option<u64> {
    let stmt = body.vars().get(variable)?.stmt?;
    let declarations = body.declarations();
    let ptx_ir::Statement::Decl(id) = body.statement(stmt)? else {
        return None;
    };
    let decl = declarations.decls.get(id)?;
    let mut declarators = declarations.declarators(id).iter();
    let declarator = declarators.find(|d| d.binding == Binding::Var(variable))?;
    decl.layout(declarator, body.pool())?.size
}
