//! `generic-space`: accesses through generic addresses that are always in one state space, and accesses whose address is of the wrong kind.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::memory_access::Access;
use ptx_analysis::provenance::Pointer;
use ptx_analysis::ssa::Value;
use ptx_analysis::values::AffineSymbol;
use ptx_ir::facts::Space;
use ptx_ir::{Operand, RegId, Span, Statement, StmtId};
use ptx_isa::internals::Spaces;
use ptx_isa::{Action, Role, StateSpace};

use crate::context::FunctionContext;
use crate::{Finding, Lint};

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    check_specific_spaces(cx, findings);
    check_mismatches(cx, findings);
}

/// Adds findings about accesses through generic addresses that are always in one state space.
fn check_specific_spaces(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    let Some(accesses) = cx.accesses() else {
        return;
    };
    // Code for a debugger and code that is not optimized name no state space, unless the function names that of the stack elsewhere. Code that
    // is not optimized has its variables on the stack.
    let names_local_space = || {
        let local = Space::State(StateSpace::Local);
        let mut accesses = accesses.all().iter();
        accesses.any(|access| access.access.space == local)
    };
    let has_stack_variables = || {
        let mut accesses = accesses.all().iter();
        accesses.any(|access| is_generic_stack_access(cx, access))
    };
    let checks_only_stack = cx.is_unoptimized() && (names_local_space() || !has_stack_variables());
    if cx.is_for_debugger() || cx.is_unoptimized() && !checks_only_stack {
        return;
    }
    let assembly = cx.inline_assembly();
    let mut last_reported = None;
    for access in accesses.all() {
        let Space::State(space) = access.space else {
            continue;
        };
        if checks_only_stack && space != StateSpace::Local
            || access.access.space != Space::Generic
            || last_reported == Some(access.stmt)
            || assembly.contains(access.stmt)
            || is_relative_to_parameter(cx, access)
        {
            continue;
        }
        if let Some(position) = space_modifier_position(cx, access, space) {
            last_reported = Some(access.stmt);
            findings.push(specific_space_finding(cx, access, space, position));
        }
    }
}

/// Returns `true` if an access is to a fixed stack slot, through a generic address.
fn is_generic_stack_access(cx: &FunctionContext<'_>, access: &Access) -> bool {
    let (Some(values), Some(address)) = (cx.values(), access.address) else {
        return false;
    };
    access.access.space == Space::Generic
        && access.space == Space::State(StateSpace::Local)
        && address.terms().iter().all(|term| {
            matches!(
                values.symbol(term.symbol),
                Some(AffineSymbol::Variable(_) | AffineSymbol::Window(_))
            )
        })
}

/// Returns `true` if an address is derived from a parameter of a function, so that the state space depends on its callers.
fn is_relative_to_parameter(cx: &FunctionContext<'_>, access: &Access) -> bool {
    let (Some(values), Some(address)) = (cx.values(), access.address) else {
        return false;
    };
    !values.is_kernel()
        && address.terms().iter().any(|term| {
            term.factor == 1
                && matches!(
                    values.symbol(term.symbol),
                    Some(AffineSymbol::Parameter { .. })
                )
        })
}

/// Returns the source text of a span.
fn text(cx: &FunctionContext<'_>, span: Span) -> String {
    String::from_utf8_lossy(span.of(cx.module().source())).into_owned()
}

/// Returns the number of modifiers before that of the state space; `None` if the instruction cannot have this state space.
fn space_modifier_position(
    cx: &FunctionContext<'_>,
    access: &Access,
    space: StateSpace,
) -> Option<usize> {
    let facts = cx.facts().inst(access.inst);
    let (form, slots) = facts.form()?;
    let modifier = space.modifier()?;
    let is_accessed =
        |index: usize| facts.operand(index).map(|operand| operand.operand) == access.access.operand;
    let space_slot =
        form.operands()
            .iter()
            .enumerate()
            .find_map(|(index, operand)| match operand.spaces() {
                Spaces::Slot(slot) if is_accessed(index) && form.accepts(modifier) => Some(slot),
                _ => None,
            })?;
    let signature = cx.body().inst(access.inst)?.sig;
    let modifiers = cx.module().signature(signature).modifiers().enumerate();
    Some(
        modifiers
            .filter(|(index, _)| {
                let slot = slots.slot_of(*index);
                slot.is_some_and(|slot| slot < usize::from(space_slot))
            })
            .count(),
    )
}

/// Returns the finding about an access that could name its state space, after `modifiers_before` modifiers.
fn specific_space_finding(
    cx: &FunctionContext<'_>,
    access: &Access,
    space: StateSpace,
    modifiers_before: usize,
) -> Finding {
    let mnemonic = cx.mnemonic(access.inst);
    // The first dot is that before the first modifier.
    let offset = mnemonic
        .match_indices('.')
        .nth(modifiers_before)
        .map_or(mnemonic.len(), |(offset, _)| offset);
    let (start, end) = mnemonic.split_at(offset);
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
    let insertion = text(cx, span).find(mnemonic).map(|mnemonic_offset| {
        let offset = span.start + (mnemonic_offset + offset) as u32;
        Span::new(offset, offset)
    });
    if space == StateSpace::Global {
        // Generic addresses of global memory equal the global addresses.
        if let Some(insertion) = insertion {
            return finding
                .with_help(format!("write `{specific}`"))
                .with_fix(insertion, space.text());
        }
    } else if let (Some(insertion), Some(base)) = (insertion, unconverted_base(cx, access)) {
        return finding
            .with_help(format!(
                "write `{specific}` with the address `{}`",
                base.name
            ))
            .with_fix(insertion, space.text())
            .with_fix(base.span, base.name);
    }
    finding.with_help(format!(
        "write `{specific}` with the result of `cvta.to{space}`"
    ))
}

/// An address in a state space that can replace the generic address that was converted from it.
struct UnconvertedBase {
    /// The span of the generic address.
    span: Span,
    /// The name of the register that contains the address in the state space.
    name: String,
}

/// Returns the address in the state space from which a generic one was converted, if a register still contains it.
fn unconverted_base(cx: &FunctionContext<'_>, access: &Access) -> Option<UnconvertedBase> {
    let Some(Operand::Reg(register)) = access.access.base else {
        return None;
    };
    let conversion = definition(cx, access.stmt, register)?;
    let Some(Statement::Inst(inst)) = cx.body().statement(conversion) else {
        return None;
    };
    let facts = cx.facts().inst(inst);
    if facts.action() != Some(Action::ToGeneric) || facts.guard().is_some() {
        return None;
    }
    let source = facts
        .operands()
        .find(|operand| matches!(operand.role, Role::Use | Role::Symbol))?;
    let name = match source.operand {
        Operand::Reg(source) if write_count(cx, source) == 1 => {
            cx.body().register_name(cx.module(), source)
        }
        _ => return None,
    };
    let span = cx.span(access.stmt);
    let text = text(cx, span);
    let generic_name = cx.body().register_name(cx.module(), register);
    let bracket_end = text.find('[')? + 1;
    let address = text.get(bracket_end..)?;
    let start = bracket_end + (address.len() - address.trim_start().len());
    let after_name = text.get(start..)?.strip_prefix(&*generic_name)?;
    let continues_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.');
    if after_name.starts_with(continues_name) {
        return None;
    }
    let name_span = Span::new(start as u32, (start + generic_name.len()) as u32);
    Some(UnconvertedBase {
        span: name_span.shifted(span.start),
        name,
    })
}

/// Returns the statement that alone defines the value that another statement reads from a register.
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

/// Returns the number of writes of a register.
fn write_count(cx: &FunctionContext<'_>, register: RegId) -> usize {
    let Some(ssa) = cx.ssa() else { return 0 };
    let Some(register_variable) = cx.analysis().variables().of(register.into()).next() else {
        return 0;
    };
    ssa.values()
        .filter(|(_, value)| {
            matches!(value, Value::Def { variable, .. } if *variable == register_variable)
        })
        .count()
}

/// Adds findings about accesses whose address is of the wrong kind: in a state space instead of generic, generic instead of in a state space, or in a
/// different state space.
fn check_mismatches(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    let Some(accesses) = cx.accesses() else {
        return;
    };
    let mut last_reported = None;
    // Accesses with the same register and message have the same cause.
    let mut index_of_cause: BTreeMap<(RegId, String), usize> = BTreeMap::new();
    for access in accesses.all() {
        if last_reported == Some(access.stmt) {
            continue;
        }
        let Some(finding) = access
            .mismatch
            .and_then(|pointer| mismatch_finding(cx, access, pointer))
        else {
            continue;
        };
        last_reported = Some(access.stmt);
        let Some(Operand::Reg(register)) = access.access.base else {
            findings.push(finding);
            continue;
        };
        let cause = (register, finding.diagnostic.message.clone());
        let first = index_of_cause
            .get(&cause)
            .and_then(|index| findings.get_mut(*index));
        if let Some(first) = first {
            first.repeat(cx.span(access.stmt));
        } else {
            index_of_cause.insert(cause, findings.len());
            findings.push(finding);
        }
    }
}

fn mismatch_finding(
    cx: &FunctionContext<'_>,
    access: &Access,
    pointer: Pointer,
) -> Option<Finding> {
    let space = pointer.space?;
    let mnemonic = cx.mnemonic(access.inst);
    let (expected, help) = match access.access.space {
        Space::Generic => (
            String::from("a generic address"),
            format!("convert the address with `cvta{space}`, or use an access with `{space}`"),
        ),
        Space::State(accessed) if accessed.base() == space => (
            format!("an address in `{accessed}`"),
            format!("convert the address with `cvta.to{space}`"),
        ),
        Space::State(accessed) => (
            format!("an address in `{accessed}`"),
            format!("use an access with `{space}`, or the address of a variable in `{accessed}`"),
        ),
        _ => return None,
    };
    let actual = if pointer.is_generic && space != StateSpace::Global {
        format!("a generic address of memory in `{space}`")
    } else {
        format!("an address in `{space}`")
    };
    let action = cx.facts().inst(access.inst).action();
    // These instructions access shared memory only. Assemblers use the low 32 bits of the address, which are the same for both kinds of addresses.
    let is_shared_only = matches!(action, Some(Action::TensorAllocate | Action::TensorCommit));
    let (certainty, verb) = if is_shared_only && space.base() == StateSpace::Shared {
        (Certainty::Possible, "may need")
    } else {
        (Certainty::Definite, "expects")
    };
    let message = format!("`{mnemonic}` {verb} {expected}, but this is {actual}");
    let finding = cx.finding(Lint::GenericSpace, certainty, access.stmt, message);
    Some(finding.with_help(help))
}
