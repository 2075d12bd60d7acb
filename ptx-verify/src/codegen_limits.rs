//! What ptxas accepts when it checks a module, and refuses when it generates code.

use alloc::vec::Vec;
use ptx_ir::query::Environment;
use ptx_ir::{
    Body, Diagnostic, EntityId, Function, FunctionKind, Inst, Item, Module, Param, SigId,
    Statement, SymbolKind,
};
use ptx_isa::{Directive, Modifier, Rule, RuleKind, ScalarType, Slot, Target};

use crate::context::Context;
use crate::location::Location;
use crate::problem::resource::ResourceProblem;
use crate::uses::{ModuleNames, Uses};
use crate::{memory, unresolved};

/// Warns of legal PTX for which ptxas cannot generate code, as far as the text shows: too much memory, undefined
/// functions, instructions that cannot be combined in one function, values that cannot be passed.
/// [`Code::UnresolvedExtern`](ptx_ir::Code::UnresolvedExtern) is a mistake only where the module is not linked to others.
///
/// ```
/// let text = b".version 8.0 .target sm_80 .address_size 64 .const .b8 c[70000];";
/// let found = ptx_verify::codegen_limits(&ptx_parse::parse(text).module);
/// assert_eq!(found[0].code.to_string(), "PTX0804");
/// ```
#[must_use]
pub fn codegen_limits(module: &Module) -> Vec<Diagnostic> {
    with_uses(module, &Uses::new(module))
}

/// The same with what bodies need. A body whose statements [are not read](reads_statements) may have no tables any more.
pub(crate) fn with_uses(module: &Module, uses: &Uses) -> Vec<Diagnostic> {
    let mut context = Context::new(module, Environment::of(module));
    let names = ModuleNames::new(module);
    addresses(&mut context);
    unresolved::functions(&mut context, uses, &names);
    unresolved::variables(&mut context);
    parameters(&mut context, uses, &names);
    mixed(&mut context);
    memory::constants(&mut context);
    memory::shared(&mut context, uses, &names);
    let mut found = context.into_diagnostics();
    ptx_ir::sort_by_position(&mut found);
    found
}

/// `sm_90` and newer targets have no 32-bit addresses.
fn addresses(context: &mut Context<'_>) {
    let module = context.module;
    let target = module.header().target;
    let new = target.is_some_and(|t| t.implies(Target::Sm90));
    if module.header().address_size != Some(32) || !new {
        return;
    }
    let directive = |item: Item| match item {
        Item::Directive(id) => {
            let stmt = module.directives().get(id);
            stmt.is_some_and(|d| d.directive == Directive::AddressSize)
        }
        _ => false,
    };
    if let Some((id, _)) = module.items().find(|(_, i)| directive(*i)) {
        let at = Location::keyword(module.span(id), "32");
        context.report(at, ResourceProblem::SmallAddresses);
    }
}

/// Values that the calling convention does not pass: predicates, and integers of 8 and 16 bits.
fn parameters(context: &mut Context<'_>, uses: &Uses, names: &ModuleNames) {
    let module = context.module;
    // A function with several results switches the convention off.
    let several = |f: &Function| f.interface.returns.len > 1;
    if module.functions().values().any(several) {
        return;
    }
    let small = |p: &Param| {
        let scalar = p.dims.is_empty() && p.vector <= 1;
        p.ty.known().filter(|&ty| {
            let short = ty.is_integer() && ty.bits() < 32 && ty.lanes() == 1;
            scalar && (ty == ScalarType::Pred || short)
        })
    };
    for symbol in uses.all().iter() {
        let Some(SymbolKind::Function(id)) = module.symbols().get(symbol).map(|s| s.kind) else {
            continue;
        };
        let function = module.functions().get(id);
        let Some(function) = function.filter(|f| f.kind == FunctionKind::Func) else {
            continue;
        };
        let (params, returns) = (function.interface.params, function.interface.returns);
        let results = returns.of(module.params()).iter();
        let mut all = results.chain(params.of(module.params()));
        if let Some(ty) = all.find_map(small) {
            let wide = match ty {
                ScalarType::Pred => ScalarType::B32,
                _ => ScalarType::B16,
            };
            let problem = ResourceProblem::SmallParameter(function.name, ty, wide);
            context.report(names.function(id), problem);
        }
    }
}

/// Whether rules of [`codegen_limits`] look at the statements of a body.
pub(crate) fn reads_statements(body: &Body, agreeing: &[Option<Modifier>]) -> bool {
    let must_agree = |inst: &Inst| agreeing.get(inst.sig.index()).is_some_and(Option::is_some);
    memory::has_constants(body) || body.inst_table().values().any(must_agree)
}

/// The modifier in which each mnemonic must agree with all others of its function.
pub(crate) fn agreeing(module: &Module) -> Vec<Option<Modifier>> {
    let sigs = module.signatures().ids();
    sigs.map(|s| must_agree(module, s)).collect()
}

/// Instructions of one function that must have the same modifier.
fn mixed(context: &mut Context<'_>) {
    let module = context.module;
    let modifiers = agreeing(module);
    if modifiers.iter().all(Option::is_none) {
        return;
    }
    for (_, function, body) in module.definitions() {
        let mut first: Option<(Modifier, Location)> = None;
        for (stmt, statement) in body.statements() {
            let Statement::Inst(id) = statement else {
                continue;
            };
            let modifier = body.inst(id).and_then(|inst| {
                let modifier = modifiers.get(inst.sig.as_u32() as usize)?;
                *modifier
            });
            let Some(found) = modifier else { continue };
            let at = Location::keyword(body.source_span(stmt), found.text());
            match first {
                None => first = Some((found, at)),
                Some((expected, before)) if expected != found => {
                    let name = function.name;
                    context
                        .report(at, ResourceProblem::MixedModifiers(name, found, expected))
                        .with_label(before, "first used here");
                    break;
                }
                Some(_) => {}
            }
        }
    }
}

/// The modifier in which a mnemonic must agree with all others of its function.
fn must_agree(module: &Module, id: SigId) -> Option<Modifier> {
    let signature = module.signature(id);
    let forms = signature.instruction()?.forms();
    let slots = forms.iter().flat_map(|f| {
        let of_rule = |r: &Rule| match r.kind() {
            RuleKind::MustAgree(slot, _) => f.slot(slot.into()),
            _ => None,
        };
        f.rules().iter().filter_map(of_rule)
    });
    let mut sets = slots.map(Slot::words);
    sets.find_map(|set| signature.modifiers().find(|m| set.contains(*m)))
}
