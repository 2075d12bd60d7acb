//! Merges the errors about registers whose declaration has another type than most of their uses need.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ptx_ir::{Body, EntityId, Operand, Span};
use ptx_isa::internals::{Expected, OperandViolation};
use ptx_isa::{Role, ScalarType, TypeKind};

use crate::context::Context;
use crate::finding::{Finding, Repair};
use crate::location::{Location, Part, Word};
use crate::problem::call::CallProblem;
use crate::problem::instruction::InstProblemKind;
use crate::problem::operand::FoundOperand;
use crate::problem::{Problem, Side};
use crate::uses;

/// A use of a register whose declaration has another type than the use needs.
#[derive(Copy, Clone, PartialEq, Eq)]
struct WrongUse {
    declaration: Span,
    declared: ScalarType,
    /// The type that the declaration should have.
    needed: ScalarType,
}

impl WrongUse {
    /// Returns `None` for findings about something else. `address_size` is in bits.
    fn new(finding: &Finding, address_size: u16) -> Option<Self> {
        let declaration = finding.labels.first()?.location.statement;
        let (declared, needed) = match &finding.problem {
            Problem::Call(CallProblem::Guard(ty)) => ((*ty)?, ScalarType::Pred),
            Problem::Instruction(problem) => match &problem.kind {
                InstProblemKind::Operand(mismatch)
                    if mismatch.problem == OperandViolation::Type =>
                {
                    let declared = match mismatch.found {
                        FoundOperand::Scalar(ty) | FoundOperand::Elements(_, Some(ty)) => ty,
                        _ => return None,
                    };
                    let needed = match mismatch.expected {
                        Some(Expected::Type(ty)) if ty.is_register_type() => declaration_type(ty),
                        Some(expected) => bits_type(expected.bits()?)?,
                        None if mismatch.operand.role() == Role::Addr => bits_type(address_size)?,
                        None => return None,
                    };
                    (declared, needed)
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(Self {
            declaration,
            declared,
            needed,
        })
    }
}

/// Returns the type with which a register for values of a type is usually declared: for integers, the bits type.
fn declaration_type(ty: ScalarType) -> ScalarType {
    match ty.kind() {
        TypeKind::Float | TypeKind::Predicate => ty,
        _ => bits_type(ty.bits()).unwrap_or(ty),
    }
}

/// Returns the type that is right for all uses.
fn common_type(uses: &[(WrongUse, usize)]) -> Option<ScalarType> {
    let (first, _) = uses.first()?;
    let ty = first.needed;
    if uses.iter().all(|(wrong_use, _)| wrong_use.needed == ty) {
        Some(ty)
    } else if uses
        .iter()
        .all(|(wrong_use, _)| wrong_use.needed.bits() == ty.bits())
    {
        bits_type(ty.bits())
    } else {
        None
    }
}

/// Returns the bits type of a width.
fn bits_type(width: u16) -> Option<ScalarType> {
    ScalarType::ALL
        .iter()
        .copied()
        .find(|ty| ty.kind() == TypeKind::Bits && ty.bits() == width)
}

/// Returns the number of mentions of the registers of each declaration, by the span of its statement.
fn mention_counts(body: &Body) -> BTreeMap<(u32, u32), usize> {
    let mut counts = vec![0; body.reg_decls().len()];
    for operand in uses::operands(body.pool()) {
        if let Operand::Reg(id) = operand
            && let Some(register) = body.registers().get(id)
            && let Some(count) = counts.get_mut(register.decl.index())
        {
            *count += 1;
        }
    }
    let mut counts_by_span = BTreeMap::new();
    for (declaration, count) in body.reg_decls().values().zip(counts) {
        if let Some(stmt) = declaration.stmt {
            let span = body.source_span(stmt);
            *counts_by_span.entry((span.start, span.end)).or_default() += count;
        }
    }
    counts_by_span
}

/// Merges the errors about registers of one declaration if they are at least half of the mentions of its registers.
pub(crate) fn merge(context: &mut Context<'_>, body: &Body) {
    let address_size = context.module.header().address_size.unwrap_or(64).into();
    let findings = context.findings_mut();
    // With the indices of the findings.
    let mut wrong_uses: Vec<(WrongUse, usize)> = findings
        .iter()
        .enumerate()
        .filter_map(|(index, finding)| Some((WrongUse::new(finding, address_size)?, index)))
        .collect();
    if wrong_uses.len() < 2 {
        return;
    }
    wrong_uses.sort_by_key(|(wrong_use, index)| {
        (wrong_use.declaration.start, wrong_use.declared, *index)
    });
    let mention_counts = mention_counts(body);
    let mut is_merged = vec![false; findings.len()];
    for group in wrong_uses
        .chunk_by(|(a, _), (b, _)| (a.declaration, a.declared) == (b.declaration, b.declared))
    {
        let [(first, first_index), others @ ..] = group else {
            continue;
        };
        let error_count: usize = group
            .iter()
            .filter_map(|(_, index)| findings.get(*index))
            .map(|finding| 1 + finding.repeats.len())
            .sum();
        let span = first.declaration;
        let mention_count = mention_counts
            .get(&(span.start, span.end))
            .copied()
            .unwrap_or(0);
        if others.is_empty() || 2 * error_count < mention_count {
            continue;
        }
        let Some(ty) = common_type(group) else {
            continue;
        };
        let mut repeats = Vec::new();
        for (_, index) in others {
            if let (Some(finding), Some(is_merged)) =
                (findings.get(*index), is_merged.get_mut(*index))
            {
                repeats.extend(finding.clone().into_repeats());
                *is_merged = true;
            }
        }
        if let Some(finding) = findings.get_mut(*first_index) {
            finding.repeats.extend(repeats);
            let part = Part::Token(Word::Keyword(first.declared.text()), 0);
            let location = Location::part(first.declaration, part);
            finding.repair = Some(Repair {
                note: format!(
                    "most uses of the declaration need another type: declare it as `{ty}`"
                ),
                edits: vec![(location, Side::Whole, ty.text().into())],
                replaces: true,
                ..Repair::default()
            });
        }
    }
    let mut is_merged = is_merged.into_iter();
    findings.retain(|_| !is_merged.next().unwrap_or(false));
}
