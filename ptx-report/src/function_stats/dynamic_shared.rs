//! Shared variables whose size the launch determines: arrays without a size.

use ptx_ir::{Body, Linkage, Module, Operand, Statement, SymbolId, SymbolKind};
use ptx_isa::StateSpace;

/// Returns whether the instructions of a function name such a variable.
pub(super) fn is_used(module: &Module, body: &Body) -> bool {
    if !module
        .symbols()
        .iter()
        .any(|(id, _)| has_no_size(module, id))
    {
        return false;
    }
    let pool = body.pool();
    let names = |operand: &Operand| match *operand {
        Operand::Symbol(id) => has_no_size(module, id),
        Operand::Address(id) => pool.address(id).is_some_and(
            |address| matches!(address.base, Operand::Symbol(id) if has_no_size(module, id)),
        ),
        _ => false,
    };
    body.statements().any(|(_, statement)| match statement {
        Statement::Inst(inst) => body.operands(inst).iter().any(names),
        _ => false,
    })
}

/// Returns whether a symbol is a shared array without a size.
fn has_no_size(module: &Module, id: SymbolId) -> bool {
    let Some(SymbolKind::Variable(space, decl)) = module.symbols().get(id).map(|s| s.kind) else {
        return false;
    };
    let declarations = module.declarations();
    let is_extern = declarations
        .decls
        .get(decl)
        .is_some_and(|declaration| declaration.linkage == Some(Linkage::Extern));
    let mut declarators = declarations.declarators(decl).iter();
    space.base() == StateSpace::Shared
        && is_extern
        && declarators.any(|declarator| {
            let dims = module.pool().slice(declarator.dims);
            dims.first()
                .is_some_and(|size| module.pool().integer(*size).is_none())
        })
}
