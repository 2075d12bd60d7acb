//! Operands in another order, one operand too many, and vectors or lists without braces or parentheses: one mistake that makes
//! several operands wrong.

use alloc::vec::Vec;
use ptx_isa::internals::{
    ActualOperand, FormMatch, MAX_OPERANDS, OperandShape, OperandViolation, Violation,
};

use crate::explain::{Explainer, Explanation, Search, named_form};
use crate::location::Part;
use crate::problem::instruction::InstProblemKind;

/// The maximum number of operands of an instruction for which other orders are tried. The number of orders is about the square of it.
const MOST_REORDERED: usize = 8;

impl Explainer<'_, '_> {
    /// Explains several wrong operands by one change of the list of operands that makes the instruction legal.
    pub(crate) fn single_mistake(&self, selected: &FormMatch<'_>) -> Option<Explanation> {
        let mut wrong_operands: Vec<usize> = Vec::new();
        let mut wrong_kinds = 0;
        for violation in selected.violations().as_slice() {
            if let Violation::Operand(index, problem) = *violation {
                wrong_operands.push(index);
                wrong_kinds += usize::from(problem != OperandViolation::Type);
            }
        }
        wrong_operands.dedup();
        // A single wrong operand is the mistake.
        if wrong_operands.len() < 2
            || self.search == Search::None
            || self.query.operands().len() > MAX_OPERANDS
        {
            return None;
        }
        self.wrong_order(selected)
            .filter(|_| wrong_kinds != 1)
            .or_else(|| self.extra_operand(selected))
            .or_else(|| self.missing_parentheses())
    }

    pub(crate) fn is_legal(&self, operands: &[ActualOperand<'_>]) -> bool {
        let form = self.environment.select(&self.query.with_operands(operands));
        form.is_ok_and(|form| form.violations().is_empty())
    }

    /// Explains an operand that is legal in another place. Near places are preferred.
    fn wrong_order(&self, selected: &FormMatch<'_>) -> Option<Explanation> {
        let operands = self.query.operands();
        let count = operands.len();
        if count > MOST_REORDERED {
            return None;
        }
        let (from, to) = (1..count)
            .flat_map(|distance| {
                let forward = (0..count - distance).map(move |from| (from, from + distance));
                let backward = (0..count - distance).map(move |to| (to + distance, to));
                // Neighbors are exchanged by both moves.
                forward.chain(backward.filter(move |_| distance > 1))
            })
            .find(|&(from, to)| {
                let mut operands = operands.to_vec();
                let operand = operands.remove(from);
                operands.insert(to, operand);
                self.is_legal(&operands)
            })?;
        let kind = InstProblemKind::Reordered {
            form: named_form(selected),
            from: from as u32,
            to: to as u32,
        };
        let part = Part::Operands(from.min(to) as u32, from.max(to) as u32);
        Some(Explanation::new(part, kind))
    }

    /// Explains an operand without which the instruction is legal.
    fn extra_operand(&self, selected: &FormMatch<'_>) -> Option<Explanation> {
        let index = (0..self.query.operands().len()).find(|index| {
            let mut operands = self.query.operands().to_vec();
            operands.remove(*index);
            !operands.is_empty() && self.is_legal(&operands)
        })? as u32;
        let kind = InstProblemKind::Extra(named_form(selected), index);
        Some(Explanation::new(Part::Operand(index), kind))
    }

    /// Explains an address in brackets, or a pair, that is written as two operands.
    pub(crate) fn split_operand(&self) -> Option<Explanation> {
        let operands = self.query.operands();
        if self.search == Search::None || operands.len() > MAX_OPERANDS + 1 {
            return None;
        }
        for first in 0..operands.len().saturating_sub(1) {
            let [a, b] = operands.get(first..first + 2)? else {
                return None;
            };
            let pair = [*a, *b];
            let bracket = match a.shape {
                OperandShape::Bracket([inner]) => [*inner, *b],
                _ => pair,
            };
            for shape in [OperandShape::Pair(&pair), OperandShape::Bracket(&bracket)] {
                let mut joined = operands.to_vec();
                joined.splice(first..first + 2, [ActualOperand::new(shape)]);
                if self.is_legal(&joined) {
                    let is_pair = matches!(shape, OperandShape::Pair(_));
                    let first = first as u32;
                    let kind = InstProblemKind::Apart { first, is_pair };
                    return Some(Explanation::new(Part::Operands(first, first + 1), kind));
                }
            }
        }
        None
    }

    /// Explains lists of a call that are written without parentheses.
    fn missing_parentheses(&self) -> Option<Explanation> {
        let operands = self.query.operands();
        for callee_index in 0..2.min(operands.len()) {
            let (results, callee_and_arguments) = operands.split_at(callee_index);
            let (callee, arguments) = callee_and_arguments.split_first()?;
            let mut grouped = Vec::new();
            if !results.is_empty() {
                grouped.push(ActualOperand::new(OperandShape::List(results)));
            }
            grouped.push(*callee);
            if !arguments.is_empty() {
                grouped.push(ActualOperand::new(OperandShape::List(arguments)));
            }
            if self.is_legal(&grouped) {
                let last = operands.len() as u32 - 1;
                let kind = InstProblemKind::MissingParentheses(callee_index as u32, last);
                return Some(Explanation::new(Part::Operands(0, last), kind));
            }
        }
        None
    }

    /// Explains the elements of a vector in an address that are written as separate elements of the address.
    fn missing_inner_braces(&self) -> Option<Explanation> {
        let operands = self.query.operands();
        for (index, operand) in operands.iter().enumerate() {
            let OperandShape::Bracket(elements) = operand.shape else {
                continue;
            };
            for start in 1..elements.len() {
                let (first_elements, vector) = elements.split_at(start);
                let mut address = first_elements.to_vec();
                address.push(ActualOperand::new(OperandShape::Vector(vector)));
                let mut grouped = operands.to_vec();
                if let Some(entry) = grouped.get_mut(index) {
                    *entry = ActualOperand::new(OperandShape::Bracket(&address));
                }
                // Another target may be needed, too, which is reported afterwards.
                let form = self.environment.select(&self.query.with_operands(&grouped));
                let is_legal_on_a_target = form.is_ok_and(|form| {
                    let mut violations = form.violations().as_slice().iter();
                    violations.all(|violation| matches!(violation, Violation::RequiresTarget(_)))
                });
                if is_legal_on_a_target {
                    let last = elements.len() as u32 - 1;
                    let (index, start) = (index as u32, start as u32);
                    let kind = InstProblemKind::MissingInnerBraces {
                        operand: index,
                        first: start,
                        last,
                    };
                    return Some(Explanation::new(Part::Elements(index, start, last), kind));
                }
            }
        }
        None
    }

    /// Explains the elements of a vector that are written as separate operands.
    pub(crate) fn missing_braces(&self) -> Option<Explanation> {
        let operands = self.query.operands();
        if self.search == Search::None {
            return None;
        }
        // The first and the last operand of the only possible vector.
        let mut vector: Option<(u32, u32)> = None;
        for length in [2, 4, 8] {
            if operands.len() > MAX_OPERANDS + length - 1 {
                continue;
            }
            for (start, elements) in operands.windows(length).enumerate() {
                if !elements.iter().all(may_be_element) {
                    continue;
                }
                let mut grouped = operands.to_vec();
                let operand = ActualOperand::new(OperandShape::Vector(elements));
                grouped.splice(start..start + length, [operand]);
                if self.is_legal(&grouped) {
                    if let Some((first, last)) = vector {
                        return Some(braces(first, last, false));
                    }
                    vector = Some((start as u32, (start + length - 1) as u32));
                }
            }
        }
        match vector {
            Some((first, last)) => Some(braces(first, last, true)),
            None => self.missing_inner_braces(),
        }
    }
}

/// Returns `true` if an operand may be an element of a vector.
fn may_be_element(operand: &ActualOperand<'_>) -> bool {
    match operand.shape {
        OperandShape::Register(_) | OperandShape::Discard => true,
        shape => shape.constant_kind().is_some(),
    }
}

/// Explains missing braces around operands. `is_only` states that no other operands can be the elements.
fn braces(first: u32, last: u32, is_only: bool) -> Explanation {
    let kind = InstProblemKind::MissingBraces {
        first,
        last,
        is_only,
    };
    Explanation::new(Part::Operands(first, last), kind)
}
