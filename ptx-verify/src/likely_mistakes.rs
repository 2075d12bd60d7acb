//! Legal code without a defined result: registers that nothing writes, and addresses that are never aligned.

use alloc::vec::Vec;

use hashbrown::HashMap;
use ptx_ir::facts::{FunctionFacts, MemoryAccess, ModuleFacts};
use ptx_ir::query::Environment;
use ptx_ir::{
    Binding, Body, Diagnostic, EntityId, FuncId, InstId, Module, Operand, RegId, Statement, StmtId,
    SymbolKind, VarId,
};

use crate::context::Context;
use crate::declared::register_of;
use crate::location::{Location, Part};
use crate::problem::resource::ResourceProblem;

/// Warns of registers that are read and never written, and of loads and stores whose address is a variable with a constant
/// offset that is never aligned. ptxas accepts both, so [`verify`](crate::verify) does not report them.
///
/// Linear in the size of the module.
///
/// ```
/// let text = b".version 8.0 .target sm_80 .address_size 64 .shared .align 4 .b8 buf[16];
///     .entry k() { .reg .b32 %a, %b; mov.b32 %a, %b; st.shared.b32 [buf+2], %a; ret; }";
/// let found = ptx_verify::likely_mistakes(&ptx_parse::parse(text).module);
/// assert_eq!(found.len(), 2);
/// assert!(found[0].message.contains("`%b`") && found[1].message.contains("`buf`"));
/// ```
#[must_use]
pub fn likely_mistakes(module: &Module) -> Vec<Diagnostic> {
    let mut context = Context::new(module, Environment::of(module));
    let facts = ModuleFacts::new(module);
    for (id, _, body) in module.definitions() {
        let Some(facts) = facts.function(id) else {
            continue;
        };
        unwritten_registers(&mut context, body, facts);
        misaligned_accesses(&mut context, id, body, facts);
    }
    let mut diagnostics = context.into_diagnostics();
    ptx_ir::sort_by_position(&mut diagnostics);
    diagnostics
}

fn instructions(body: &Body) -> impl Iterator<Item = (StmtId, InstId)> {
    body.statements()
        .filter_map(|(stmt, statement)| match statement {
            Statement::Inst(inst) => Some((stmt, inst)),
            _ => None,
        })
}

fn unwritten_registers(context: &mut Context<'_>, body: &Body, facts: FunctionFacts<'_>) {
    // A statement that was not recognized may write anything.
    if !body.opaques().is_empty() {
        return;
    }
    let mut written = alloc::vec![false; body.registers().len()];
    let mut first_read: Vec<Option<(StmtId, InstId)>> = alloc::vec![None; written.len()];
    for (stmt, inst) in instructions(body) {
        let of = facts.inst(inst);
        if !of.is_known() {
            return;
        }
        for place in of.writes().chain(of.conditional_writes()) {
            if let Some(written) = written.get_mut(place.register.index()) {
                *written = true;
            }
        }
        for place in of.reads() {
            if let Some(first) = first_read.get_mut(place.register.index()) {
                first.get_or_insert((stmt, inst));
            }
        }
    }
    for ((id, register), (written, first)) in
        body.registers().iter().zip(written.iter().zip(first_read))
    {
        let decl = body.reg_decls().get(register.decl);
        // The caller writes parameters.
        let declared = decl.and_then(|decl| Some((decl, decl.stmt?)));
        if let (false, Some((stmt, inst)), Some((decl, declaration_stmt))) =
            (written, first, declared)
        {
            let number = decl.count.map(|_| register.number);
            let problem = ResourceProblem::UnwrittenRegister((decl.name, number));
            let part = part_of(body, inst, id);
            let declaration = Location::name(body.source_span(declaration_stmt), decl.name);
            context
                .report(Location::part(body.source_span(stmt), part), problem)
                .with_label(declaration, "declared here");
        }
    }
}

/// The part of an instruction that has a register.
fn part_of(body: &Body, inst: InstId, register: RegId) -> Part {
    let operands = body.operands(inst);
    for (nth, operand) in operands.iter().enumerate() {
        let nth = nth as u32;
        let elements = match operand {
            Operand::Bracket(list) | Operand::Vector(list) | Operand::List(list) => {
                body.pool().list(*list).len() as u32
            }
            _ => 0,
        };
        let parts = (0..elements).map(|element| Part::Element(nth, element));
        let mut parts = parts.chain([Part::Operand(nth)]);
        if let Some(part) = parts.find(|p| register_of(body, operands, *p) == Some(register)) {
            return part;
        }
    }
    match body.inst(inst).and_then(|i| i.guard()) {
        Some(_) => Part::Guard,
        None => Part::Mnemonic,
    }
}

fn misaligned_accesses(
    context: &mut Context<'_>,
    id: FuncId,
    body: &Body,
    facts: FunctionFacts<'_>,
) {
    let module = context.module;
    let mut params = None;
    for (stmt, inst) in instructions(body) {
        for access in facts.inst(inst).memory() {
            let Some((base, offset, bytes)) = constant_address(&access) else {
                continue;
            };
            let aligned = match base {
                Operand::Var(var) => {
                    let params = params.get_or_insert_with(|| parameters(module, id));
                    params.get(&var).copied().or_else(|| local(body, var))
                }
                base => global(module, base),
            };
            let Some((name, aligned)) = aligned else {
                continue;
            };
            let Ok(bytes) = i64::try_from(bytes) else {
                continue;
            };
            let align = bytes.min(i64::try_from(aligned).unwrap_or(i64::MAX));
            if align > 1 && offset.rem_euclid(align) != 0 {
                let problem = ResourceProblem::MisalignedAccess(name, offset, bytes);
                let operands = body.operands(inst);
                let nth = operands.iter().position(|o| Some(*o) == access.operand);
                let part = nth.map_or(Part::Mnemonic, |nth| Part::Operand(nth as u32));
                context.report(Location::part(body.source_span(stmt), part), problem);
            }
        }
    }
}

/// The variable, the offset and the number of bytes of a load or store.
fn constant_address(access: &MemoryAccess) -> Option<(Operand, i64, u64)> {
    access.data?;
    let bytes = access.bytes.filter(|bytes| bytes.is_power_of_two())?;
    let variable = |base: &Operand| matches!(base, Operand::Var(_) | Operand::Symbol(_));
    Some((access.base.filter(variable)?, access.offset?, bytes))
}

/// The alignment of the parameters and results of a function, with their names.
fn parameters(module: &Module, id: FuncId) -> HashMap<VarId, (ptx_ir::NameId, u64)> {
    let interface = module.functions().get(id).map(|f| f.interface);
    let lists = interface.map(|i| [i.params, i.returns]).unwrap_or_default();
    let params = lists.iter().flat_map(|range| range.of(module.params()));
    let aligned = params.filter_map(|param| match param.binding {
        Binding::Var(var) => {
            let layout = param.layout(module.pool())?;
            Some((var, (param.name?, layout.align)))
        }
        _ => None,
    });
    aligned.collect()
}

/// The name and the alignment of a variable of a body.
fn local(body: &Body, var: VarId) -> Option<(ptx_ir::NameId, u64)> {
    let var = body.vars().get(var)?;
    let Statement::Decl(id) = body.statement(var.stmt?)? else {
        return None;
    };
    let declarations = body.declarations();
    let declarator = declarations.declarators(id).first()?;
    let layout = declarations
        .decls
        .get(id)?
        .layout(declarator, body.pool())?;
    Some((var.name, layout.align))
}

/// The name and the alignment of a variable of a module.
fn global(module: &Module, base: Operand) -> Option<(ptx_ir::NameId, u64)> {
    let Operand::Symbol(symbol) = base else {
        return None;
    };
    let symbol = module.symbols().get(symbol)?;
    let SymbolKind::Variable(_, id) = symbol.kind else {
        return None;
    };
    let declarations = module.declarations();
    let declarator = declarations.declarators(id).first()?;
    let layout = declarations
        .decls
        .get(id)?
        .layout(declarator, module.pool())?;
    Some((symbol.name, layout.align))
}
