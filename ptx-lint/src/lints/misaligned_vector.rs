//! `misaligned-vector`: accesses whose address is not, or may not be, a multiple of their size.

mod unknown;

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::memory_access::{Access, Provenance};
use ptx_analysis::values::{Affine, Symbol, Values, VariableRef};
use ptx_ir::facts::Space;
use ptx_ir::{Binding, FunctionKind, VarId};
use ptx_isa::{SpecialReg, StateSpace};

use super::performance::{self, Lanes};
use crate::context::FunctionContext;
use crate::declarations::symbol_name;
use crate::{Finding, Lint};

/// The maximum required alignment of an access of any size.
const MOST: u64 = 16;

pub(crate) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    let (Some(accesses), Some(values)) = (cx.accesses(), cx.values()) else {
        return;
    };
    let mut threads = None;
    let mut first: BTreeMap<Reason, usize> = BTreeMap::new();
    for access in accesses.all() {
        let Some(needed) = needed(cx, access) else {
            continue;
        };
        let apart = || {
            let (threads, sets) = threads.get_or_insert_with(|| cx.threads()).as_mut()?;
            apart(&Lanes::of(cx, (threads, sets), access)?, needed)
        };
        let Some(new) = finding(cx, values, (access, needed), apart) else {
            continue;
        };
        // Of one variable or pointer, the same reason is the same cause.
        let reason = Reason(format!(
            "{:?} {}",
            access.provenance, new.diagnostic.message
        ));
        if new.certainty == Certainty::Possible && access.provenance.is_some() {
            if let Some(known) = first.get(&reason).and_then(|at| found.get_mut(*at)) {
                let place = new.places.first().copied();
                known.repeat(place.unwrap_or(new.diagnostic.span));
                continue;
            }
            first.insert(reason, found.len());
        }
        found.push(new);
    }
}

/// An object, and why its accesses may be misaligned.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Reason(String);

/// The required alignment of an access.
fn needed(cx: &FunctionContext<'_>, access: &Access) -> Option<u64> {
    let of = &access.access;
    let memory = matches!(access.space, Space::State(_) | Space::Generic);
    if !memory || of.is_mbarrier {
        return None;
    }
    if cx.facts().inst(access.inst).is_matrix_move() {
        return performance::is_of_rows(cx, access).then_some(performance::ROW);
    }
    let bytes = of.bytes.filter(|bytes| *bytes > 1)?;
    match of.data {
        Some(_) => Some(bytes).filter(|bytes| bytes.is_power_of_two()),
        // Copies of a number of bytes.
        None if of.size.is_some() && bytes >= MOST => Some(MOST),
        None if of.size.is_some() => Some(bytes).filter(|bytes| bytes.is_power_of_two()),
        None => None,
    }
}

fn finding(
    cx: &FunctionContext<'_>,
    values: &Values,
    (access, needed): (&Access, u64),
    apart: impl FnOnce() -> Option<u64>,
) -> Option<Finding> {
    let form = access.address?;
    let known = values.alignment_of(&form);
    let certain = 1u64.checked_shl(u32::from(known.bits)).unwrap_or(0);
    let modulus = if certain == 0 {
        needed
    } else {
        certain.min(needed)
    };
    let residue = known.residue % modulus.max(1);
    if residue != 0 {
        let message = format!(
            "the address of this {needed}-byte access is {residue} more than a multiple of {modulus}"
        );
        let finding = cx.finding(
            Lint::MisalignedVector,
            Certainty::Definite,
            access.stmt,
            message,
        );
        let help = format!("use an address that is a multiple of {needed}, or narrower accesses");
        return Some(finding.with_help(help));
    }
    if known.divisor() >= needed {
        return None;
    }
    let align = declared(cx, access, needed);
    if let Some((align, Provenance::Variable(variable))) = align.zip(access.provenance)
        && let Some(finding) = of_declaration(cx, access, (variable, align))
    {
        return Some(finding);
    }
    let reason = match align {
        Some(align) => {
            format!("the memory that it points to is declared with an alignment of {align}")
        }
        None => {
            let threads = distance(values, &form, needed).or_else(apart);
            let threads = threads
                .map(|bytes| format!("the addresses of different threads are {bytes} bytes apart"));
            let blocks = || of_blocks(values, &form, needed);
            let blocks = || {
                blocks()
                    .map(|bytes| format!("the addresses of different CTAs are {bytes} bytes apart"))
            };
            let pointer = || from_pointer(values, &form, needed);
            let pointer = || {
                pointer().map(|bytes| format!("it is {bytes} bytes from a multiple of {needed} if the pointer is aligned like an allocation"))
            };
            let unknown = || unknown::reason(cx, values, (access, needed), &form);
            threads.or_else(blocks).or_else(pointer).or_else(unknown)?
        }
    };
    let message = format!("the address of this access may not be a multiple of {needed}: {reason}");
    let finding = cx.finding(
        Lint::MisalignedVector,
        Certainty::Possible,
        access.stmt,
        message,
    );
    Some(finding.with_help(format!(
        "declare an alignment of {needed}, or use narrower accesses"
    )))
}

/// A finding about a declaration: at the declaration if it is in the function, or else to be moved there.
fn of_declaration(
    cx: &FunctionContext<'_>,
    access: &Access,
    (variable, align): (VariableRef, u64),
) -> Option<Finding> {
    let module = cx.module();
    let (name, declared) = match variable {
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
        "accesses of `{name}` may not be aligned: it is declared with an alignment of {align}"
    );
    let finding = cx.finding(
        Lint::MisalignedVector,
        Certainty::Possible,
        access.stmt,
        message,
    );
    let mut finding = finding.with_help("declare the alignment that the largest access needs, such as `.align 16`, or use narrower accesses");
    match declared {
        Some(span) => {
            finding.repeat(finding.diagnostic.span);
            finding.diagnostic.span = span;
        }
        None => finding.declaration = Some(name.into()),
    }
    Some(finding)
}

/// The declared alignment of the object that an address points into, if it is less than required.
fn declared(cx: &FunctionContext<'_>, access: &Access, needed: u64) -> Option<u64> {
    let module = cx.module();
    let align = match access.provenance? {
        Provenance::Variable(VariableRef::Local(id)) if is_parameter(cx, id) => {
            return of_parameter(cx, id, access.address?.constant(), needed);
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
    (align < needed).then_some(align)
}

/// Whether a variable is a parameter of the function.
fn is_parameter(cx: &FunctionContext<'_>, variable: VarId) -> bool {
    let var = cx.body().vars().get(variable);
    var.is_some_and(|v| v.space.base() == StateSpace::Param && v.stmt.is_none())
}

/// The alignment of a parameter, if an access at an offset of it is not aligned: those of kernels lie one after the other.
fn of_parameter(cx: &FunctionContext<'_>, variable: VarId, at: i64, needed: u64) -> Option<u64> {
    let module = cx.module();
    let function = module.functions().get(cx.id())?;
    let is_kernel = function.kind == FunctionKind::Entry;
    let mut offset: u64 = 0;
    for param in function.interface.params.of(module.params()) {
        let layout = param.layout(module.pool())?;
        offset = offset.checked_next_multiple_of(layout.align.max(1))?;
        if param.binding == Binding::Var(variable) {
            let is_aligned = is_kernel && offset.checked_add_signed(at)?.is_multiple_of(needed);
            return Some(layout.align).filter(|align| *align < needed && !is_aligned);
        }
        offset = offset.checked_add(layout.size?)?;
    }
    None
}

/// The distance between the addresses of neighboring threads, if it is not a multiple of the required alignment.
fn distance(values: &Values, form: &Affine, needed: u64) -> Option<u64> {
    let kernel = values.is_kernel();
    let mut step = None;
    for term in form.terms() {
        let factor = term.factor.unsigned_abs();
        match values.symbol(term.symbol)? {
            Symbol::Special(SpecialReg::Tid, 0) => step = Some(factor),
            Symbol::Variable(_) | Symbol::Window(_) => {}
            Symbol::Parameter { bytes: 8, .. } if kernel && factor == 1 => {}
            _ if factor % needed == 0 => {}
            _ => return None,
        }
    }
    step.filter(|step| step % needed != 0)
}

/// The offset of an address from a multiple of the required alignment, if the pointer parameter is aligned.
fn from_pointer(values: &Values, form: &Affine, needed: u64) -> Option<u64> {
    let mut pointers = 0;
    for term in form.terms() {
        match values.symbol(term.symbol)? {
            Symbol::Parameter { bytes: 8, .. } if values.is_kernel() && term.factor == 1 => {
                pointers += 1;
            }
            _ if term.factor.unsigned_abs() % needed == 0 => {}
            _ => return None,
        }
    }
    let rest = form.constant().rem_euclid(i64::try_from(needed).ok()?);
    (pointers == 1 && rest != 0).then_some(rest.unsigned_abs())
}

/// The difference of the addresses of two threads of a warp, if not both can be aligned.
fn apart(lanes: &Lanes, needed: u64) -> Option<u64> {
    lanes
        .differences()
        .map(i64::unsigned_abs)
        .find(|bytes| bytes % needed != 0)
}

/// The distance between the addresses of neighboring CTAs, likewise.
fn of_blocks(values: &Values, form: &Affine, needed: u64) -> Option<u64> {
    let mut step = None;
    for term in form.terms() {
        let factor = term.factor.unsigned_abs();
        match values.symbol(term.symbol)? {
            Symbol::Special(SpecialReg::Ctaid, 0) => step = Some(factor),
            Symbol::Variable(_) | Symbol::Window(_) => {}
            Symbol::Parameter { bytes: 8, .. } if values.is_kernel() && factor == 1 => {}
            _ if factor % needed == 0 => {}
            _ => return None,
        }
    }
    step.filter(|step| step % needed != 0)
}
