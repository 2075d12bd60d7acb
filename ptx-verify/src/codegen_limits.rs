//! Modules that ptxas accepts when it checks them, and refuses when it generates code.

use alloc::vec::Vec;
use hashbrown::HashSet;
use ptx_ir::query::Environment;
use ptx_ir::{
    Body, Diagnostic, Function, FunctionKind, Item, Module, NameId, Operand, Param, SectionEntry,
    SigId, Statement, SymbolKind,
};
use ptx_isa::{Directive, Modifier, Rule, RuleKind, ScalarType, Slot, Target, TargetOption};

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

/// As above, with the requirements of bodies. A body [without constants](memory::has_constants) in which modifiers [agree](mixed_in) may have no tables any more.
pub(crate) fn with_uses(module: &Module, uses: &Uses) -> Vec<Diagnostic> {
    let mut context = Context::new(module, Environment::of(module));
    let names = ModuleNames::new(module);
    addresses(&mut context);
    label_differences(&mut context);
    unresolved::functions(&mut context, uses, &names);
    unresolved::variables(&mut context);
    parameters(&mut context, uses, &names);
    mixed(&mut context);
    memory::constants(&mut context);
    memory::shared(&mut context, uses, &names);
    let mut diagnostics = context.into_diagnostics();
    ptx_ir::sort_by_position(&mut diagnostics);
    diagnostics
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
        let location = Location::keyword(module.span(id), "32");
        context.report(location, ResourceProblem::SmallAddresses);
    }
}

/// The differences in sections are of labels that sections define; ptxas finds this out where it generates debug information.
fn label_differences(context: &mut Context<'_>) {
    let module = context.module;
    if !module.has_target_option(TargetOption::Debug) {
        return;
    }
    let entries = module.sections().values().flat_map(|s| &s.entries);
    let mut known: HashSet<NameId> = entries
        .filter_map(|entry| match entry {
            SectionEntry::Label(name) => Some(*name),
            _ => None,
        })
        .collect();
    for (id, item) in module.items() {
        let Item::Section(section) = item else {
            continue;
        };
        let section = module.sections().get(section);
        for entry in section.map_or(&[][..], |s| &s.entries) {
            let SectionEntry::Other { value, .. } = entry else {
                continue;
            };
            let Operand::Difference(labels) = module.pool().get(*value) else {
                continue;
            };
            let (first, second) = module.pool().pair(labels);
            let unknown = [first, second]
                .into_iter()
                .find_map(|operand| match operand {
                    Operand::Name(name) if !known.contains(&name) => Some(name),
                    _ => None,
                });
            // A label is reported once.
            if let Some(name) = unknown {
                known.insert(name);
                let location = Location::name(module.span(id), name);
                context.report(location, ResourceProblem::CodeLabelDifference(name));
            }
        }
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

/// The modifier in which each mnemonic of a module must agree with all others of its function.
#[derive(Default, Debug)]
pub(crate) struct Agreeing {
    modifiers: Vec<Option<Modifier>>,
    is_any: bool,
}

impl Agreeing {
    /// Adds those of the mnemonics that the module got since the last time.
    pub(crate) fn extend(&mut self, module: &Module) {
        let known = self.modifiers.len();
        let new = module.signatures().ids().skip(known);
        self.modifiers.extend(new.map(|s| must_agree(module, s)));
        let new = self.modifiers.get(known..).unwrap_or_default();
        self.is_any |= new.iter().any(Option::is_some);
    }
}

/// Instructions of one function that must have the same modifier.
fn mixed(context: &mut Context<'_>) {
    let module = context.module;
    let mut agreeing = Agreeing::default();
    agreeing.extend(module);
    for (_, function, body) in module.definitions() {
        mixed_in(context, function, body, &agreeing);
    }
}

/// The checks of one body.
pub(crate) fn mixed_in(
    context: &mut Context<'_>,
    function: &Function,
    body: &Body,
    agreeing: &Agreeing,
) {
    if !agreeing.is_any {
        return;
    }
    let mut first: Option<(Modifier, Location)> = None;
    for (stmt, statement) in body.statements() {
        let Statement::Inst(id) = statement else {
            continue;
        };
        let modifier = body.inst(id).and_then(|inst| {
            let modifier = agreeing.modifiers.get(inst.sig.as_u32() as usize)?;
            *modifier
        });
        let Some(found) = modifier else { continue };
        let location = Location::keyword(body.source_span(stmt), found.text());
        match first {
            None => first = Some((found, location)),
            Some((expected, before)) if expected != found => {
                let name = function.name;
                context
                    .report(
                        location,
                        ResourceProblem::MixedModifiers(name, found, expected),
                    )
                    .with_label(before, "first used here");
                break;
            }
            Some(_) => {}
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
