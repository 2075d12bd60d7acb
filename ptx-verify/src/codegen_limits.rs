//! Modules that ptxas accepts when it checks them, and refuses when it generates code.

use alloc::vec::Vec;
use hashbrown::HashSet;
use ptx_ir::raw::query::Environment;
use ptx_ir::{
    Body, Diagnostic, Function, FunctionKind, Item, Module, NameId, Operand, Param, SectionEntry,
    SigId, Statement, SymbolKind,
};
use ptx_isa::internals::RuleKind;
use ptx_isa::{Directive, Modifier, ScalarType, Target, TargetOption};

use crate::context::Context;
use crate::location::Location;
use crate::problem::module::ResourceProblem;
use crate::uses::{ModuleNames, Uses};
use crate::{memory, unresolved};

/// Returns warnings about legal PTX for which ptxas cannot generate code, as far as the text shows: too much memory, undefined
/// functions, instructions that cannot be combined in one function, values that cannot be passed.
/// [`Code::UnresolvedExtern`](ptx_ir::Code::UnresolvedExtern) is a mistake only where the module is not linked to others.
///
/// ```
/// let text = b".version 8.0 .target sm_80 .address_size 64 .const .b8 c[70000];";
/// let warnings = ptx_verify::codegen_limits(&ptx_parse::parse(text).module);
/// assert_eq!(warnings[0].code.to_string(), "PTX0804");
/// ```
#[must_use]
pub fn codegen_limits(module: &Module) -> Vec<Diagnostic> {
    codegen_limits_with(module, &Uses::new(module))
}

/// Returns the warnings of [`codegen_limits`]. `uses` are the names that the bodies use. The tables of a body may be empty if it
/// [declares no constants](memory::has_constants) and its modifiers [agree](check_modifiers).
pub(crate) fn codegen_limits_with(module: &Module, uses: &Uses) -> Vec<Diagnostic> {
    let mut context = Context::new(module, Environment::of(module));
    let names = ModuleNames::new(module);
    check_address_size(&mut context);
    check_label_differences(&mut context);
    unresolved::check_functions(&mut context, uses, &names);
    unresolved::check_variables(&mut context);
    check_parameters(&mut context, uses, &names);
    check_modifiers_of_functions(&mut context);
    memory::check_constants(&mut context);
    memory::check_shared(&mut context, uses, &names);
    let mut diagnostics = context.into_diagnostics();
    ptx_ir::sort_by_position(&mut diagnostics);
    diagnostics
}

/// Reports 32-bit addresses on `sm_90` and newer targets, which do not have them.
fn check_address_size(context: &mut Context<'_>) {
    let module = context.module;
    let header = module.header();
    let has_wide_addresses_only = header
        .target
        .is_some_and(|target| target.implies(Target::Sm90));
    if header.address_size != Some(32) || !has_wide_addresses_only {
        return;
    }
    let item = module
        .items()
        .find(|(_, item)| module.directive(*item) == Some(Directive::AddressSize));
    if let Some((id, _)) = item {
        let location = Location::keyword(module.span(id), "32");
        context.report(location, ResourceProblem::SmallAddresses);
    }
}

/// Reports differences in sections of labels that no section defines. ptxas refuses them when it generates debug information.
fn check_label_differences(context: &mut Context<'_>) {
    let module = context.module;
    if !module.has_target_option(TargetOption::Debug) {
        return;
    }
    // The defined labels, and those that are reported.
    let mut labels: HashSet<NameId> = module
        .sections()
        .values()
        .flat_map(|section| &section.entries)
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
            let Operand::Difference(operands) = module.pool().get(*value) else {
                continue;
            };
            let (first, second) = module.pool().pair(operands);
            let unknown = [first, second]
                .into_iter()
                .find_map(|operand| match operand {
                    Operand::Name(name) if !labels.contains(&name) => Some(name),
                    _ => None,
                });
            if let Some(name) = unknown {
                labels.insert(name);
                let location = Location::name(module.span(id), name);
                context.report(location, ResourceProblem::CodeLabelDifference(name));
            }
        }
    }
}

/// Reports parameters and results that the calling convention does not pass: predicates, and integers of 8 and 16 bits.
fn check_parameters(context: &mut Context<'_>, uses: &Uses, names: &ModuleNames) {
    let module = context.module;
    // A function with several results disables the convention.
    if module
        .functions()
        .values()
        .any(|function| function.interface.returns.len > 1)
    {
        return;
    }
    for symbol in uses.all().iter() {
        let Some(SymbolKind::Function(id)) = module.symbols().get(symbol).map(|s| s.kind) else {
            continue;
        };
        let function = module.functions().get(id);
        let Some(function) = function.filter(|f| f.kind == FunctionKind::Func) else {
            continue;
        };
        let (params, returns) = (function.interface.params, function.interface.returns);
        let mut values = returns
            .of(module.params())
            .iter()
            .chain(params.of(module.params()));
        if let Some(ty) = values.find_map(small_type) {
            let wide = match ty {
                ScalarType::Pred => ScalarType::B32,
                _ => ScalarType::B16,
            };
            let problem = ResourceProblem::SmallParameter(function.name, ty, wide);
            context.report(names.function(id), problem);
        }
    }
}

/// Returns the type of a parameter if it is a scalar that the calling convention does not pass.
fn small_type(param: &Param) -> Option<ScalarType> {
    let ty = param.ty.known()?;
    let is_small =
        ty == ScalarType::Pred || ty.is_integer() && ty.bits() < 32 && ty.elements() == 1;
    (is_small && param.dims.is_empty() && param.vector <= 1).then_some(ty)
}

/// The modifier in which each mnemonic of a module must agree with all others of its function.
#[derive(Default, Debug)]
pub(crate) struct AgreeingModifiers {
    /// By mnemonic.
    modifiers: Vec<Option<Modifier>>,
    /// A mnemonic has such a modifier.
    has_any: bool,
}

impl AgreeingModifiers {
    /// Adds the mnemonics that were added to the module since the last call.
    pub(crate) fn extend(&mut self, module: &Module) {
        for id in module.signatures().ids().skip(self.modifiers.len()) {
            let modifier = agreeing_modifier(module, id);
            self.has_any |= modifier.is_some();
            self.modifiers.push(modifier);
        }
    }
}

/// Reports instructions of one function that must have the same modifier.
fn check_modifiers_of_functions(context: &mut Context<'_>) {
    let module = context.module;
    let mut agreeing = AgreeingModifiers::default();
    agreeing.extend(module);
    for (_, function, body) in module.definitions() {
        check_modifiers(context, function, body, &agreeing);
    }
}

/// Reports the first instruction of a body whose modifier does not agree with the others.
pub(crate) fn check_modifiers(
    context: &mut Context<'_>,
    function: &Function,
    body: &Body,
    agreeing: &AgreeingModifiers,
) {
    if !agreeing.has_any {
        return;
    }
    let mut first: Option<(Modifier, Location)> = None;
    for (stmt, statement) in body.statements() {
        let Statement::Inst(id) = statement else {
            continue;
        };
        let Some(modifier) = body.inst(id).and_then(|inst| {
            let index = inst.sig.as_u32() as usize;
            agreeing.modifiers.get(index).copied().flatten()
        }) else {
            continue;
        };
        let location = Location::keyword(body.source_span(stmt), modifier.text());
        let Some((expected, first_location)) = first else {
            first = Some((modifier, location));
            continue;
        };
        if expected != modifier {
            let problem = ResourceProblem::MixedModifiers(function.name, modifier, expected);
            context
                .report(location, problem)
                .with_label(first_location, "first used here");
            break;
        }
    }
}

/// Returns the modifier in which a mnemonic must agree with all others of its function.
fn agreeing_modifier(module: &Module, id: SigId) -> Option<Modifier> {
    let signature = module.signature(id);
    signature.instruction()?.forms().iter().find_map(|form| {
        form.rules().iter().find_map(|rule| {
            let RuleKind::MustAgree(slot, _) = rule.kind() else {
                return None;
            };
            let words = form.slot(slot.into())?.words();
            signature
                .modifiers()
                .find(|modifier| words.contains(*modifier))
        })
    })
}
