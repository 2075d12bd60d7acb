//! One error for a declaration with another type than most uses of its registers need.

use alloc::vec::Vec;
use ptx_ir::{Body, EntityId, Operand, Span};
use ptx_isa::{Expected, OperandViolation, Role, ScalarType, TypeKind};

use crate::context::Context;
use crate::finding::{Finding, Repair};
use crate::location::{Location, Part, Word};
use crate::problem::call::CallProblem;
use crate::problem::instruction::InstProblemKind;
use crate::problem::operand::FoundOperand;
use crate::problem::{Problem, Side};
use crate::uses;

/// A register whose declaration has another type than its use needs.
#[derive(Copy, Clone, PartialEq, Eq)]
struct Use {
    declaration: Span,
    found: ScalarType,
    /// The type that the declaration should have.
    wanted: ScalarType,
}

impl Use {
    fn of(finding: &Finding, address_size: u16) -> Option<Self> {
        let declaration = finding.labels.first()?.location.statement;
        let (found, wanted) = match &finding.problem {
            Problem::Call(CallProblem::Guard(ty)) => ((*ty)?, ScalarType::Pred),
            Problem::Instruction(problem) => match &problem.kind {
                InstProblemKind::Operand(mismatch)
                    if mismatch.problem == OperandViolation::Type =>
                {
                    let found = match mismatch.found {
                        FoundOperand::Scalar(ty) | FoundOperand::Elements(_, Some(ty)) => ty,
                        _ => return None,
                    };
                    let wanted = match mismatch.expected {
                        Some(Expected::Type(ty)) if ty.is_register_type() => declared(ty),
                        Some(expected) => bits(expected.bits()?)?,
                        None if mismatch.operand.role() == Role::Addr => bits(address_size)?,
                        None => return None,
                    };
                    (found, wanted)
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(Self {
            declaration,
            found,
            wanted,
        })
    }
}

/// The type with which a register for values of a type is declared: integers have bits.
fn declared(ty: ScalarType) -> ScalarType {
    match ty.kind() {
        TypeKind::Float | TypeKind::Predicate => ty,
        _ => bits(ty.bits()).unwrap_or(ty),
    }
}

/// The type that suits all uses.
fn common(uses: &[(Use, usize)]) -> Option<ScalarType> {
    let first = uses.first()?.0.wanted;
    let all = |test: &dyn Fn(ScalarType) -> bool| uses.iter().all(|(of, _)| test(of.wanted));
    if all(&|ty| ty == first) {
        Some(first)
    } else if all(&|ty| ty.bits() == first.bits()) {
        bits(first.bits())
    } else {
        None
    }
}

fn bits(width: u16) -> Option<ScalarType> {
    let mut all = ScalarType::ALL.iter().copied();
    all.find(|t| t.kind() == TypeKind::Bits && t.bits() == width)
}

/// The number of mentions of the registers of each declaration, by statement.
fn mentions(body: &Body) -> Vec<(Span, usize)> {
    let mut counts = vec![0; body.reg_decls().len()];
    for operand in uses::operands(body.pool()) {
        if let Operand::Reg(id) = operand
            && let Some(register) = body.registers().get(id)
            && let Some(count) = counts.get_mut(register.decl.index())
        {
            *count += 1;
        }
    }
    let declarations = body.reg_decls().values().zip(counts);
    let mut found: Vec<(Span, usize)> = declarations
        .filter_map(|(d, count)| Some((body.source_span(d.stmt?), count)))
        .collect();
    found.sort_unstable_by_key(|(span, _)| span.start);
    found
}

/// Replaces the errors about registers of one declaration by one if they are most of its uses.
pub(crate) fn merge(context: &mut Context<'_>, body: &Body) {
    let address_size = context.module.header().address_size.unwrap_or(64).into();
    let findings = context.findings_mut();
    let mut found: Vec<(Use, usize)> =
        findings.iter().enumerate().fold(Vec::new(), |mut all, f| {
            all.extend(Use::of(f.1, address_size).map(|of| (of, f.0)));
            all
        });
    if found.len() < 2 {
        return;
    }
    found.sort_by_key(|(of, index)| (of.declaration.start, of.found, *index));
    let mentions = mentions(body);
    let mut merged = vec![false; findings.len()];
    for group in
        found.chunk_by(|(a, _), (b, _)| (a.declaration, a.found) == (b.declaration, b.found))
    {
        let [(first, head), rest @ ..] = group else {
            continue;
        };
        let errors = group.iter().filter_map(|(_, i)| findings.get(*i));
        let errors: usize = errors.map(|f| 1 + f.repeats.len()).sum();
        let all = mentions
            .iter()
            .filter(|(span, _)| *span == first.declaration);
        let all: usize = all.map(|(_, count)| count).sum();
        let Some(ty) = common(group).filter(|_| !rest.is_empty() && 2 * errors >= all) else {
            continue;
        };
        let mut places = Vec::new();
        for (_, index) in rest {
            if let (Some(finding), Some(done)) = (findings.get(*index), merged.get_mut(*index)) {
                places.extend(finding.clone().into_repeats());
                *done = true;
            }
        }
        if let Some(finding) = findings.get_mut(*head) {
            finding.repeats.extend(places);
            let text = Part::Token(Word::Keyword(first.found.text()), 0);
            let location = Location::part(first.declaration, text);
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
    let mut index = 0;
    findings.retain(|_| {
        index += 1;
        !merged.get(index - 1).is_some_and(|m| *m)
    });
}
