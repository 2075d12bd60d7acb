//! Accesses through generic addresses that are always in one state space.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::memory_access::Access;
use ptx_analysis::ssa::Value;
use ptx_analysis::values::Symbol;
use ptx_ir::facts::Space;
use ptx_ir::{Operand, RegId, Span, StmtId};
use ptx_isa::{Action, Modifier, Role, Spaces, StateSpace};

use crate::context::FunctionContext;
use crate::{Finding, Lint};

pub(super) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    let Some(accesses) = cx.accesses() else {
        return;
    };
    // Code for a debugger and code that is not optimized name no state space, unless the function names that of the stack elsewhere. Code that
    // is not optimized has its variables on the stack.
    let names = |space| {
        accesses
            .all()
            .iter()
            .any(|a| a.access.space == Space::State(space))
    };
    let has_variables = || accesses.all().iter().any(|a| is_variable_of_stack(cx, a));
    let is_of_stack = cx.is_unoptimized() && (names(StateSpace::Local) || !has_variables());
    if cx.is_for_debugger() || cx.is_unoptimized() && !is_of_stack {
        return;
    }
    let lines = cx.source_lines().function(cx.body());
    let mut last = None;
    for access in accesses.all() {
        let Space::State(space) = access.space else {
            continue;
        };
        let is_written = !lines.is_inline_asm(access.stmt);
        if is_of_stack && space != StateSpace::Local {
            continue;
        }
        if access.access.space != Space::Generic || last == Some(access.stmt) || !is_written {
            continue;
        }
        if is_of_parameter(cx, access) {
            continue;
        }
        if let Some(place) = place_of_space(cx, access, space) {
            last = Some(access.stmt);
            found.push(finding(cx, access, space, place));
        }
    }
}

/// Whether an access is to a fixed stack slot, through a generic address.
fn is_variable_of_stack(cx: &FunctionContext<'_>, access: &Access) -> bool {
    let is_fixed = || {
        let (values, form) = (cx.values()?, access.address?);
        let is_fixed = |s| {
            matches!(
                values.symbol(s),
                Some(Symbol::Variable(_) | Symbol::Window(_))
            )
        };
        Some(form.terms().iter().all(|t| is_fixed(t.symbol)))
    };
    access.access.space == Space::Generic
        && access.space == Space::State(StateSpace::Local)
        && is_fixed() == Some(true)
}

/// Whether an address is derived from a parameter of a function, so that the state space depends on its callers.
fn is_of_parameter(cx: &FunctionContext<'_>, access: &Access) -> bool {
    let is_parameter = || {
        let (values, form) = (cx.values()?, access.address?);
        let is = |s| matches!(values.symbol(s), Some(Symbol::Parameter { .. }));
        Some(!values.is_kernel() && form.terms().iter().any(|t| t.factor == 1 && is(t.symbol)))
    };
    is_parameter() == Some(true)
}

fn text(cx: &FunctionContext<'_>, span: Span) -> String {
    String::from_utf8_lossy(span.of(cx.module().source())).into_owned()
}

/// After how many modifiers the state space is written; `None` if the instruction takes none, or not this one.
fn place_of_space(cx: &FunctionContext<'_>, access: &Access, space: StateSpace) -> Option<usize> {
    let facts = cx.facts().inst(access.inst);
    let (form, slots) = facts.form()?;
    let word = space.modifier()?;
    let mut operands = form.operands().iter().enumerate();
    let slot = operands.find_map(|(at, o)| match o.spaces() {
        Spaces::Slot(slot) if facts.operand(at).map(|o| o.operand) == access.access.operand => {
            Some(slot).filter(|_| form.accepts(word))
        }
        _ => None,
    })?;
    let signature = cx.body().inst(access.inst)?.sig;
    let written = cx.module().signature(signature).modifiers().enumerate();
    let before = |at: usize| slots.slot_of(at).is_some_and(|s| s < usize::from(slot));
    let before: Vec<Modifier> = written
        .filter(|(at, _)| before(*at))
        .map(|(_, m)| m)
        .collect();
    Some(before.len())
}

fn finding(cx: &FunctionContext<'_>, access: &Access, space: StateSpace, place: usize) -> Finding {
    let mnemonic = cx.mnemonic(access.inst);
    let at = end_of_words(mnemonic, place);
    let (start, end) = mnemonic.split_at(at);
    let specific = [start, space.text(), end].concat();
    let message = format!(
        "`{mnemonic}` accesses memory through a generic address that is always in `{space}`"
    );
    let finding = cx.finding(
        Lint::GenericSpace,
        Certainty::Definite,
        access.stmt,
        message,
    );
    let span = cx.span(access.stmt);
    let text = text(cx, span);
    let insertion = text.find(mnemonic).map(|n| span.start + (n + at) as u32);
    let base = match space {
        // Generic addresses of global memory equal the global addresses.
        StateSpace::Global => Some(None),
        _ => source(cx, access).map(Some),
    };
    let (Some(insertion), Some(base)) = (insertion, base) else {
        return finding.with_help(format!(
            "write `{specific}` with the result of `cvta.to{space}`"
        ));
    };
    let insertion = Span::new(insertion, insertion);
    match base {
        None => finding
            .with_help(format!("write `{specific}`"))
            .with_fix(insertion, space.text()),
        Some((operand, name)) => finding
            .with_help(format!("write `{specific}` with the address `{name}`"))
            .with_fix(insertion, space.text())
            .with_fix(operand, name),
    }
}

/// Where a word and as many modifiers end.
fn end_of_words(mnemonic: &str, modifiers: usize) -> usize {
    let mut dots = mnemonic.match_indices('.').map(|(at, _)| at);
    dots.nth(modifiers).unwrap_or(mnemonic.len())
}

/// The address in the state space from which a generic one was converted, if a register or a variable still holds it: the operand to replace, and
/// its new text.
fn source(cx: &FunctionContext<'_>, access: &Access) -> Option<(Span, String)> {
    let Some(Operand::Reg(register)) = access.access.base else {
        return None;
    };
    let converted = definition(cx, access.stmt, register)?;
    let Some(ptx_ir::Statement::Inst(inst)) = cx.body().statement(converted) else {
        return None;
    };
    let facts = cx.facts().inst(inst);
    if facts.action() != Some(Action::ToGeneric) || facts.guard().is_some() {
        return None;
    }
    let source = facts
        .operands()
        .find(|o| matches!(o.role, Role::Use | Role::Symbol))?;
    let name = match source.operand {
        Operand::Reg(source) if writes(cx, source) == 1 => {
            cx.body().register_name(cx.module(), source)
        }
        _ => return None,
    };
    let span = cx.span(access.stmt);
    let text = text(cx, span);
    let old = cx.body().register_name(cx.module(), register);
    let open = text.find('[')? + 1;
    let skipped = text[open..].len() - text[open..].trim_start().len();
    let start = open + skipped;
    let end = start + old.len();
    let next = text[start..].strip_prefix(&*old)?;
    let is_whole = !next.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.'));
    let at = |n: usize| span.start + n as u32;
    is_whole.then(|| (Span::new(at(start), at(end)), name))
}

/// The statement that alone defines what another one reads in a register.
fn definition(cx: &FunctionContext<'_>, stmt: StmtId, register: RegId) -> Option<StmtId> {
    let variable = cx.analysis().variables().of(register.into()).next()?;
    let ssa = cx.ssa()?;
    match ssa.value(ssa.read(stmt, variable)?) {
        Value::Def {
            stmt, old: None, ..
        } => Some(stmt),
        _ => None,
    }
}

/// The number of writes of a register.
fn writes(cx: &FunctionContext<'_>, register: RegId) -> usize {
    let Some(ssa) = cx.ssa() else { return 0 };
    let mut variables = cx.analysis().variables().of(register.into());
    let Some(variable) = variables.next() else {
        return 0;
    };
    let of = |value: &Value| matches!(value, Value::Def { variable: v, .. } if *v == variable);
    ssa.values().filter(|(_, value)| of(value)).count()
}
