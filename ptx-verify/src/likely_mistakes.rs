//! Legal code without a defined result: registers that nothing writes, and addresses that are never aligned.

use alloc::vec::Vec;

use hashbrown::HashMap;
use ptx_ir::facts::{FunctionFacts, MemoryAccess, ModuleFacts};
use ptx_ir::raw::query::Environment;
use ptx_ir::{
    Binding, Body, DeclId, Declarations, Diagnostic, EntityId, FuncId, InstId, Module, NameId,
    Operand, OperandPool, RegId, Statement, StmtId, SymbolKind, VarId,
};

use crate::context::Context;
use crate::location::{Location, Part};
use crate::problem::module::ResourceProblem;
use crate::uses::register_of;

/// Returns warnings about registers that are read and never written, and about loads and stores whose address is a variable with a constant
/// offset that is never aligned. ptxas accepts both, so [`verify`](crate::verify) does not report them.
///
/// Linear in the size of the module.
///
/// ```
/// let text = b".version 8.0 .target sm_80 .address_size 64 .shared .align 4 .b8 buf[16];
///     .entry k() { .reg .b32 %a, %b; mov.b32 %a, %b; st.shared.b32 [buf+2], %a; ret; }";
/// let warnings = ptx_verify::likely_mistakes(&ptx_parse::parse(text).module);
/// assert_eq!(warnings.len(), 2);
/// assert!(warnings[0].message.contains("`%b`") && warnings[1].message.contains("`buf`"));
/// ```
#[must_use]
pub fn likely_mistakes(module: &Module) -> Vec<Diagnostic> {
    let mut context = Context::new(module, Environment::of(module));
    let facts = ModuleFacts::new(module);
    for (id, _, body) in module.definitions() {
        let Some(facts) = facts.function(id) else {
            continue;
        };
        check_unwritten_registers(&mut context, body, facts);
        check_alignment(&mut context, id, body, facts);
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

fn check_unwritten_registers(context: &mut Context<'_>, body: &Body, facts: FunctionFacts<'_>) {
    // A statement that was not recognized may write anything.
    if !body.opaques().is_empty() {
        return;
    }
    let mut is_written = vec![false; body.registers().len()];
    let mut first_reads: Vec<Option<(StmtId, InstId)>> = vec![None; is_written.len()];
    for (stmt, inst) in instructions(body) {
        let inst_facts = facts.inst(inst);
        if !inst_facts.is_known() {
            return;
        }
        for place in inst_facts.writes().chain(inst_facts.conditional_writes()) {
            if let Some(is_written) = is_written.get_mut(place.register.index()) {
                *is_written = true;
            }
        }
        for place in inst_facts.reads() {
            if let Some(first_read) = first_reads.get_mut(place.register.index()) {
                first_read.get_or_insert((stmt, inst));
            }
        }
    }
    for ((id, register), (is_written, first_read)) in body
        .registers()
        .iter()
        .zip(is_written.into_iter().zip(first_reads))
    {
        // The caller writes parameters, which no statement declares.
        if !is_written
            && let Some((stmt, inst)) = first_read
            && let Some(decl) = body.reg_decls().get(register.decl)
            && let Some(declaration_stmt) = decl.stmt
        {
            let number = decl.count.map(|_| register.number);
            let problem = ResourceProblem::UnwrittenRegister((decl.name, number));
            let part = register_part(body, inst, id);
            let declaration = Location::name(body.source_span(declaration_stmt), decl.name);
            context
                .report(Location::part(body.source_span(stmt), part), problem)
                .with_label(declaration, "declared here");
        }
    }
}

/// Returns the part of an instruction that contains a register.
fn register_part(body: &Body, inst: InstId, register: RegId) -> Part {
    let operands = body.operands(inst);
    for (index, operand) in operands.iter().enumerate() {
        let index = index as u32;
        let element_count = match operand {
            Operand::Bracket(list) | Operand::Vector(list) | Operand::List(list) => {
                body.pool().list(*list).len() as u32
            }
            _ => 0,
        };
        let part = (0..element_count)
            .map(|element| Part::Element(index, element))
            .chain([Part::Operand(index)])
            .find(|part| register_of(body, operands, *part) == Some(register));
        if let Some(part) = part {
            return part;
        }
    }
    match body.inst(inst).and_then(|inst| inst.guard()) {
        Some(_) => Part::Guard,
        None => Part::Mnemonic,
    }
}

fn check_alignment(context: &mut Context<'_>, id: FuncId, body: &Body, facts: FunctionFacts<'_>) {
    let module = context.module;
    // Computed for the first access to a variable.
    let mut parameters = None;
    for (stmt, inst) in instructions(body) {
        for access in facts.inst(inst).memory() {
            let Some(constant_access) = ConstantAccess::new(&access) else {
                continue;
            };
            let ConstantAccess {
                base,
                offset,
                bytes,
            } = constant_access;
            let variable = match base {
                Operand::Var(id_of_variable) => {
                    let parameters =
                        parameters.get_or_insert_with(|| aligned_parameters(module, id));
                    let parameter = parameters.get(&id_of_variable).copied();
                    parameter.or_else(|| local_variable(body, id_of_variable))
                }
                base => module_variable(module, base),
            };
            let Some(variable) = variable else {
                continue;
            };
            let known_alignment = bytes.min(i64::try_from(variable.alignment).unwrap_or(i64::MAX));
            if known_alignment > 1 && offset.rem_euclid(known_alignment) != 0 {
                let problem = ResourceProblem::MisalignedAccess(variable.name, offset, bytes);
                let index = body
                    .operands(inst)
                    .iter()
                    .position(|operand| Some(*operand) == access.operand);
                let part = index.map_or(Part::Mnemonic, |index| Part::Operand(index as u32));
                context.report(Location::part(body.source_span(stmt), part), problem);
            }
        }
    }
}

/// A load or store of a variable at a constant offset.
struct ConstantAccess {
    base: Operand,
    offset: i64,
    /// A power of two.
    bytes: i64,
}

impl ConstantAccess {
    /// Returns `None` for other accesses.
    fn new(access: &MemoryAccess) -> Option<Self> {
        access.data?;
        let bytes = access.bytes.filter(|bytes| bytes.is_power_of_two())?;
        let base = access
            .base
            .filter(|base| matches!(base, Operand::Var(_) | Operand::Symbol(_)))?;
        Some(Self {
            base,
            offset: access.offset?,
            bytes: i64::try_from(bytes).ok()?,
        })
    }
}

/// A variable with its declared alignment in bytes.
#[derive(Copy, Clone)]
struct AlignedVariable {
    name: NameId,
    alignment: u64,
}

/// Returns the parameters and results of a function.
fn aligned_parameters(module: &Module, id: FuncId) -> HashMap<VarId, AlignedVariable> {
    let Some(function) = module.functions().get(id) else {
        return HashMap::new();
    };
    [function.interface.params, function.interface.returns]
        .iter()
        .flat_map(|list| list.of(module.params()))
        .filter_map(|param| {
            let Binding::Var(id) = param.binding else {
                return None;
            };
            let variable = AlignedVariable {
                name: param.name?,
                alignment: param.layout(module.pool())?.align,
            };
            Some((id, variable))
        })
        .collect()
}

/// Returns a variable of a body.
fn local_variable(body: &Body, var: VarId) -> Option<AlignedVariable> {
    let var = body.vars().get(var)?;
    let Statement::Decl(id) = body.statement(var.stmt?)? else {
        return None;
    };
    aligned_variable(body.declarations(), body.pool(), id, var.name)
}

/// Returns a variable with the alignment of the first variable of its declaration.
fn aligned_variable(
    declarations: &Declarations,
    pool: &OperandPool,
    id: DeclId,
    name: NameId,
) -> Option<AlignedVariable> {
    let declarator = declarations.declarators(id).first()?;
    let layout = declarations.decls.get(id)?.layout(declarator, pool)?;
    Some(AlignedVariable {
        name,
        alignment: layout.align,
    })
}

/// Returns a variable of a module.
fn module_variable(module: &Module, base: Operand) -> Option<AlignedVariable> {
    let Operand::Symbol(symbol) = base else {
        return None;
    };
    let symbol = module.symbols().get(symbol)?;
    let SymbolKind::Variable(_, id) = symbol.kind else {
        return None;
    };
    aligned_variable(module.declarations(), module.pool(), id, symbol.name)
}
