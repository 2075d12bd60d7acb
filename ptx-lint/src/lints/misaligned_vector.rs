//! `misaligned-vector`: accesses whose address is not, or may not be, a multiple of their size.

mod lanes;
mod unknown_terms;

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::memory_access::{Access, Provenance};
use ptx_analysis::values::{Affine, AffineSymbol, Values, VariableRef};
use ptx_ir::facts::Space;
use ptx_ir::{Binding, FunctionKind, VarId};
use ptx_isa::{SpecialReg, StateSpace};

use self::lanes::Lanes;
use super::performance;
use crate::context::FunctionContext;
use crate::declarations::symbol_name;
use crate::{Finding, Lint};

/// The maximum required alignment of an access of any size, in bytes.
const MOST_ALIGNMENT: u64 = 16;

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    let (Some(accesses), Some(values)) = (cx.accesses(), cx.values()) else {
        return;
    };
    let mut threads = None;
    // The index of the first finding with each cause. An object and a message are a cause.
    let mut index_of_cause: BTreeMap<String, usize> = BTreeMap::new();
    for access in accesses.all() {
        let Some(alignment) = required_alignment(cx, access) else {
            continue;
        };
        let lane_distance = || {
            let (threads, sets) = threads.get_or_insert_with(|| cx.threads()).as_mut()?;
            misaligned_lane_distance(&Lanes::new(cx, threads, sets, access)?, alignment)
        };
        let Some(finding) = finding(cx, values, access, alignment, lane_distance) else {
            continue;
        };
        if finding.certainty == Certainty::Possible && access.provenance.is_some() {
            let cause = format!("{:?} {}", access.provenance, finding.diagnostic.message);
            let first = index_of_cause
                .get(&cause)
                .and_then(|index| findings.get_mut(*index));
            if let Some(first) = first {
                let place = finding.places.first().copied();
                first.repeat(place.unwrap_or(finding.diagnostic.span));
                continue;
            }
            index_of_cause.insert(cause, findings.len());
        }
        findings.push(finding);
    }
}

/// Returns the required alignment of an access in bytes.
fn required_alignment(cx: &FunctionContext<'_>, access: &Access) -> Option<u64> {
    let memory_access = &access.access;
    let is_memory = matches!(access.space, Space::State(_) | Space::Generic);
    if !is_memory || memory_access.is_mbarrier {
        return None;
    }
    if cx.facts().inst(access.inst).is_matrix_move() {
        return performance::is_of_rows(cx, access).then_some(performance::ROW);
    }
    let bytes = memory_access.bytes.filter(|bytes| *bytes > 1)?;
    let is_copy = memory_access.data.is_none();
    if is_copy && memory_access.size.is_none() {
        None
    } else if is_copy && bytes >= MOST_ALIGNMENT {
        Some(MOST_ALIGNMENT)
    } else {
        Some(bytes).filter(|bytes| bytes.is_power_of_two())
    }
}

/// Returns the finding about an access. `lane_distance` returns the difference of the addresses of two lanes if it is not a multiple of the
/// alignment; it is only called if other reasons do not apply.
fn finding(
    cx: &FunctionContext<'_>,
    values: &Values,
    access: &Access,
    alignment: u64,
    lane_distance: impl FnOnce() -> Option<u64>,
) -> Option<Finding> {
    let address = access.address?;
    let known_bits = values.alignment_of(&address);
    // All low bits are known if the shift overflows.
    let known_modulus = 1u64.checked_shl(u32::from(known_bits.bits)).unwrap_or(0);
    let modulus = if known_modulus == 0 {
        alignment
    } else {
        known_modulus.min(alignment)
    };
    let residue = known_bits.residue % modulus.max(1);
    if residue != 0 {
        let message = format!(
            "the address of this {alignment}-byte access is {residue} more than a multiple of {modulus}"
        );
        let finding = cx.finding(
            Lint::MisalignedVector,
            Certainty::Definite,
            access.stmt,
            message,
        );
        let help =
            format!("use an address that is a multiple of {alignment}, or narrower accesses");
        return Some(finding.with_help(help));
    }
    if known_bits.divisor() >= alignment {
        return None;
    }
    let declared = declared_alignment(cx, access, alignment);
    if let (Some(declared), Some(Provenance::Variable(variable))) = (declared, access.provenance)
        && let Some(finding) = declaration_finding(cx, access, variable, declared)
    {
        return Some(finding);
    }
    let reason = match declared {
        Some(declared) => {
            format!("the memory that it points to is declared with an alignment of {declared}")
        }
        None => possible_reason(cx, values, access, alignment, lane_distance)?,
    };
    let message =
        format!("the address of this access may not be a multiple of {alignment}: {reason}");
    let finding = cx.finding(
        Lint::MisalignedVector,
        Certainty::Possible,
        access.stmt,
        message,
    );
    Some(finding.with_help(format!(
        "declare an alignment of {alignment}, or use narrower accesses"
    )))
}

/// Returns a reason in the terms of the address why an access may be misaligned.
fn possible_reason(
    cx: &FunctionContext<'_>,
    values: &Values,
    access: &Access,
    alignment: u64,
    lane_distance: impl FnOnce() -> Option<u64>,
) -> Option<String> {
    let address = access.address?;
    let thread_distance = misaligned_distance(values, &address, SpecialReg::Tid, alignment);
    if let Some(bytes) = thread_distance.or_else(lane_distance) {
        return Some(format!(
            "the addresses of different threads are {bytes} bytes apart"
        ));
    }
    if let Some(bytes) = misaligned_distance(values, &address, SpecialReg::Ctaid, alignment) {
        return Some(format!(
            "the addresses of different CTAs are {bytes} bytes apart"
        ));
    }
    if let Some(bytes) = misaligned_pointer_offset(values, &address, alignment) {
        return Some(format!(
            "it is {bytes} bytes from a multiple of {alignment} if the pointer is aligned like an allocation"
        ));
    }
    unknown_terms::reason(cx, values, access, alignment)
}

/// Returns a finding about the declaration of a variable: at the declaration if it is in the function, and otherwise with its name, so that
/// `merge_by_declaration` moves the finding there. Returns `None` for parameters.
fn declaration_finding(
    cx: &FunctionContext<'_>,
    access: &Access,
    variable: VariableRef,
    alignment: u64,
) -> Option<Finding> {
    let module = cx.module();
    let (name, declaration) = match variable {
        VariableRef::Local(id) if is_parameter(cx, id) => return None,
        VariableRef::Local(id) => {
            let var = cx.body().vars().get(id)?;
            (
                Cow::Borrowed(module.name(var.name)),
                Some(cx.span(var.stmt?)),
            )
        }
        VariableRef::Module(symbol) => (symbol_name(module, symbol), None),
    };
    let message = format!(
        "accesses of `{name}` may not be aligned: it is declared with an alignment of {alignment}"
    );
    let mut finding = cx.finding(
        Lint::MisalignedVector,
        Certainty::Possible,
        access.stmt,
        message,
    ).with_help("declare the alignment that the largest access needs, such as `.align 16`, or use narrower accesses");
    match declaration {
        Some(span) => {
            finding.repeat(finding.diagnostic.span);
            finding.diagnostic.span = span;
        }
        None => finding.declaration = Some(name.into()),
    }
    Some(finding)
}

/// Returns the declared alignment of the object that an address points into, if it is less than `required`.
fn declared_alignment(cx: &FunctionContext<'_>, access: &Access, required: u64) -> Option<u64> {
    let module = cx.module();
    let declared = match access.provenance? {
        Provenance::Variable(VariableRef::Local(id)) if is_parameter(cx, id) => {
            return parameter_alignment(cx, id, access.address?.constant(), required);
        }
        Provenance::Variable(variable) => cx.layout(variable)?.align,
        Provenance::Parameter { variable, .. } => {
            let function = module.functions().get(cx.id())?;
            let mut params = function.interface.params.of(module.params()).iter();
            let param = params.find(|p| p.binding == Binding::Var(variable))?;
            // Compilers write 1 for all pointers.
            let align = module.pool().integer(param.ptr?.align)?;
            u64::try_from(align).ok().filter(|align| *align > 1)?
        }
        _ => return None,
    };
    (declared < required).then_some(declared)
}

/// Returns `true` if a variable is a parameter of the function.
fn is_parameter(cx: &FunctionContext<'_>, variable: VarId) -> bool {
    let var = cx.body().vars().get(variable);
    var.is_some_and(|v| v.space.base() == StateSpace::Param && v.stmt.is_none())
}

/// Returns the declared alignment of a parameter, if it is less than `required` and an access at `access_offset` of the parameter may be misaligned. The
/// parameters of a kernel are stored one after the other in an aligned block.
fn parameter_alignment(
    cx: &FunctionContext<'_>,
    variable: VarId,
    access_offset: i64,
    required: u64,
) -> Option<u64> {
    let module = cx.module();
    let function = module.functions().get(cx.id())?;
    let is_kernel = function.kind == FunctionKind::Entry;
    let mut offset: u64 = 0;
    for param in function.interface.params.of(module.params()) {
        let layout = param.layout(module.pool())?;
        offset = offset.checked_next_multiple_of(layout.align.max(1))?;
        if param.binding == Binding::Var(variable) {
            let is_aligned = is_kernel
                && offset
                    .checked_add_signed(access_offset)?
                    .is_multiple_of(required);
            return Some(layout.align).filter(|align| *align < required && !is_aligned);
        }
        offset = offset.checked_add(layout.size?)?;
    }
    None
}

/// Returns the distance in bytes between the addresses for neighboring values of the x component of `register`, if it is not a multiple of the
/// alignment and the other terms are aligned.
fn misaligned_distance(
    values: &Values,
    address: &Affine,
    register: SpecialReg,
    alignment: u64,
) -> Option<u64> {
    let mut distance = None;
    for term in address.terms() {
        let factor = term.factor.unsigned_abs();
        match values.symbol(term.symbol)? {
            AffineSymbol::Special(special, 0) if special == register => distance = Some(factor),
            AffineSymbol::Variable(_) | AffineSymbol::Window(_) => {}
            AffineSymbol::Parameter { bytes: 8, .. } if values.is_kernel() && factor == 1 => {}
            _ if factor.is_multiple_of(alignment) => {}
            _ => return None,
        }
    }
    distance.filter(|distance| !distance.is_multiple_of(alignment))
}

/// Returns the difference in bytes of an address from a multiple of the alignment if its pointer parameter is aligned. Returns `None` if the address
/// is aligned or is not relative to one pointer parameter.
fn misaligned_pointer_offset(values: &Values, address: &Affine, alignment: u64) -> Option<u64> {
    let mut pointer_count = 0;
    for term in address.terms() {
        match values.symbol(term.symbol)? {
            AffineSymbol::Parameter { bytes: 8, .. } if values.is_kernel() && term.factor == 1 => {
                pointer_count += 1;
            }
            _ if term.factor.unsigned_abs().is_multiple_of(alignment) => {}
            _ => return None,
        }
    }
    let offset = address
        .constant()
        .rem_euclid(i64::try_from(alignment).ok()?);
    (pointer_count == 1 && offset != 0).then_some(offset.unsigned_abs())
}

/// Returns the difference in bytes of the addresses of two lanes if it is not a multiple of the alignment.
fn misaligned_lane_distance(lanes: &Lanes, alignment: u64) -> Option<u64> {
    if lanes.depends_on_size {
        return None;
    }
    lanes
        .differences()
        .map(i64::unsigned_abs)
        .find(|bytes| !bytes.is_multiple_of(alignment))
}
