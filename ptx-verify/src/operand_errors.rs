//! Explains operands that an instruction does not take.

use alloc::vec::Vec;
use ptx_isa::internals::{
    ActualOperand, FormMatch, InstQuery, ModifierEdit, OperandShape, OperandViolation, Repair,
    Spaces, Violation,
};
use ptx_isa::{Role, ScalarType};

use crate::explain::{Explainer, Explanation, named_form};
use crate::inst_part;
use crate::location::Part;
use crate::problem::instruction::InstProblemKind;
use crate::problem::operand::{Brackets, FoundOperand, OperandMismatch};

/// A wrong operand, and others with the same cause.
struct MismatchGroup {
    part: Part,
    mismatch: OperandMismatch,
    repeats: Vec<(Part, InstProblemKind)>,
}

impl Explainer<'_, '_> {
    /// Explains the wrong operands. Those with the same cause are one explanation.
    pub(crate) fn explain_operands(&self, selected: &FormMatch<'_>) -> Vec<Explanation> {
        let repairs = self.operand_repairs(selected);
        // A change of a modifier makes all operands legal.
        let has_one_cause = !repairs.is_empty();
        let mut groups: Vec<MismatchGroup> = Vec::new();
        for violation in selected.violations().as_slice() {
            let Violation::Operand(index, problem) = *violation else {
                continue;
            };
            let Some(mismatch) = operand_mismatch(self.query, selected, index, problem) else {
                continue;
            };
            let part = mismatch.part;
            // Several violations of one operand are one mistake.
            if groups.last().is_some_and(|last| last.part == part) {
                continue;
            }
            let group = groups
                .iter_mut()
                .find(|group| has_one_cause || group.mismatch.has_cause_of(&mismatch));
            match group {
                Some(group) => {
                    let kind = InstProblemKind::Operand(mismatch);
                    group.repeats.push((part, kind));
                }
                None => groups.push(MismatchGroup {
                    part,
                    mismatch,
                    repeats: Vec::new(),
                }),
            }
        }
        let all_of_type = self.all_of_type(selected);
        let brackets = self.missing_brackets(&groups);
        groups
            .into_iter()
            .map(|group| {
                let mut mismatch = group.mismatch;
                mismatch.repairs.clone_from(&repairs);
                mismatch.others = group.repeats.len();
                mismatch.all_of_type = all_of_type;
                mismatch.brackets = brackets;
                Explanation {
                    part: group.part,
                    kind: InstProblemKind::Operand(mismatch),
                    repeats: group.repeats,
                }
            })
            .collect()
    }

    /// Returns changes of a modifier with which the operands are legal, the most likely first.
    fn operand_repairs(&self, selected: &FormMatch<'_>) -> Vec<Repair> {
        let violations = selected.violations().as_slice();
        let first = violations.iter().find_map(|violation| match violation {
            Violation::Operand(_, problem) => Some(*problem),
            _ => None,
        });
        // A constant out of range or a sign does not suggest wrong modifiers.
        let mut repairs = match first {
            Some(
                OperandViolation::Type
                | OperandViolation::NeedsRegister
                | OperandViolation::Length(_)
                | OperandViolation::Space
                | OperandViolation::Shape
                | OperandViolation::Missing
                | OperandViolation::Unexpected,
            ) => self.full_repairs(),
            _ => Vec::new(),
        };
        repairs.retain(Repair::fits_operands);
        // The length of a vector follows from a shape or a number, not from the type.
        if let Some(OperandViolation::Length(_)) = first {
            repairs.retain(|repair| type_change(self.query, repair).is_none());
        }
        // A constant is not an additional operand.
        let has_unexpected_constant = violations.iter().any(|violation| match violation {
            Violation::Operand(index, OperandViolation::Unexpected) => selected
                .operands()
                .get(*index)
                .is_some_and(|operand| operand.shape.constant_kind().is_some()),
            _ => false,
        });
        if has_unexpected_constant {
            repairs.clear();
        }
        // A type with the same sign is more likely meant.
        repairs.sort_by_key(|repair| match type_change(self.query, repair) {
            Some((old, new)) => old.is_integer() && new.is_integer() && old.kind() != new.kind(),
            None => false,
        });
        repairs
    }

    /// Returns `true` if no register has the type of a modifier.
    fn all_of_type(&self, selected: &FormMatch<'_>) -> bool {
        let violations = selected.violations().as_slice();
        selected
            .form()
            .operands()
            .iter()
            .enumerate()
            .filter(|(index, operand)| {
                let written = selected.operands().get(*index).map(|written| written.shape);
                let is_register = matches!(
                    written,
                    Some(OperandShape::Register(_) | OperandShape::Vector(_))
                );
                is_register && operand.ty().slot().is_some()
            })
            .all(|(index, _)| {
                violations.contains(&Violation::Operand(index, OperandViolation::Type))
            })
    }

    /// Returns the certainty that brackets around the first wrong operand are missing; `None` if they do not make the instruction legal.
    fn missing_brackets(&self, groups: &[MismatchGroup]) -> Option<Brackets> {
        let operands = self.query.operands();
        let MismatchGroup { part, mismatch, .. } = groups.first()?;
        let Part::Operand(index) = *part else {
            return None;
        };
        let index = index as usize;
        if mismatch.operand.role() != Role::Addr || index >= operands.len() {
            return None;
        }
        // The operand at `other` becomes the address.
        let is_legal = |other: usize| {
            let mut bracketed = operands.to_vec();
            bracketed.swap(index, other);
            let address = bracketed.get(index..=index).unwrap_or_default().to_vec();
            if let Some(entry) = bracketed.get_mut(index) {
                *entry = ActualOperand::new(OperandShape::Bracket(&address));
            }
            self.is_legal(&bracketed)
        };
        if !is_legal(index) {
            return None;
        }
        // A result is always the first operand.
        let first = mismatch.form.form.operands().first();
        let result_count = usize::from(first.is_some_and(|first| first.role() == Role::Def));
        let has_other_address =
            (result_count..operands.len()).any(|other| other != index && is_legal(other));
        Some(if has_other_address {
            Brackets::Perhaps
        } else {
            Brackets::Certain
        })
    }
}

/// Returns the type that a change replaces, and the new one.
fn type_change(query: &InstQuery<'_>, repair: &Repair) -> Option<(ScalarType, ScalarType)> {
    match repair.edit() {
        ModifierEdit::Replace(index, new) => {
            let old = query.modifiers().get(index)?;
            Some((old.scalar_type()?, new.scalar_type()?))
        }
        _ => None,
    }
}

/// Returns a wrong operand of a form.
fn operand_mismatch(
    query: &InstQuery<'_>,
    form: &FormMatch<'_>,
    index: usize,
    problem: OperandViolation,
) -> Option<OperandMismatch> {
    let written = form.operands().get(index);
    let operand = form.form().operands().get(index)?;
    let space = match operand.spaces() {
        Spaces::Slot(slot) => form.assignment().word(slot.into()),
        _ => None,
    };
    let part = inst_part::operand(query, form, index).unwrap_or(Part::Mnemonic);
    Some(OperandMismatch {
        form: named_form(form),
        operand,
        space,
        others: 0,
        all_of_type: false,
        brackets: None,
        part,
        problem,
        expected: form.expected(index),
        found: written.map_or(FoundOperand::Other, |written| {
            FoundOperand::new(written.shape)
        }),
        repairs: Vec::new(),
    })
}
