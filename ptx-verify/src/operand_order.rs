//! Operands in another order, one operand too many, and lists without parentheses: one mistake that makes several operands
//! wrong.

use alloc::vec::Vec;
use ptx_isa::{ActualOperand, FormMatch, MAX_OPERANDS, OperandShape, OperandViolation, Violation};

use crate::explain::{Explainer, Explanation, Search, named};
use crate::location::Part;
use crate::problem::instruction::InstProblemKind;

/// The most operands of an instruction for which other orders are tried: there are about as many as the square of this.
const MOST_REORDERED: usize = 8;

impl Explainer<'_, '_> {
    /// One change of the list of operands that makes the instruction legal, if several operands are wrong.
    pub(crate) fn one_mistake(&self, selected: &FormMatch<'_>) -> Option<Explanation> {
        let mut wrong: Vec<usize> = Vec::new();
        let mut of_kind = 0;
        for violation in selected.violations().as_slice() {
            if let Violation::Operand(index, problem) = *violation {
                wrong.push(index);
                of_kind += usize::from(problem != OperandViolation::Type);
            }
        }
        wrong.dedup();
        // One wrong operand is wrong itself.
        if wrong.len() < 2
            || self.search == Search::None
            || self.query.operands().len() > MAX_OPERANDS
        {
            return None;
        }
        let reordered = self.reordered(selected);
        let reordered = reordered.filter(|_| of_kind != 1);
        reordered
            .or_else(|| self.extra(selected))
            .or_else(|| self.missing_parentheses())
    }

    fn is_legal(&self, operands: &[ActualOperand<'_>]) -> bool {
        let form = self.environment.select(&self.query.with_operands(operands));
        form.is_ok_and(|f| f.violations().is_empty())
    }

    /// An operand that is legal in another place, the nearest one first.
    fn reordered(&self, selected: &FormMatch<'_>) -> Option<Explanation> {
        let operands = self.query.operands();
        let count = operands.len();
        if count > MOST_REORDERED {
            return None;
        }
        let moves = (1..count).flat_map(|distance| {
            let forward = (0..count - distance).map(move |from| (from, from + distance));
            let back = (0..count - distance).map(move |to| (to + distance, to));
            // Two neighbours change places either way.
            forward.chain(back.filter(move |_| distance > 1))
        });
        let legal = |&(from, to): &(usize, usize)| {
            let mut operands = operands.to_vec();
            let moved = operands.remove(from);
            operands.insert(to, moved);
            self.is_legal(&operands)
        };
        let (from, to) = moves.into_iter().find(legal)?;
        let kind = InstProblemKind::Reordered(named(selected), from as u32, to as u32);
        let part = Part::Operands(from.min(to) as u32, from.max(to) as u32);
        Some(Explanation::new(part, kind))
    }

    /// An operand without which the others are legal.
    fn extra(&self, selected: &FormMatch<'_>) -> Option<Explanation> {
        let legal = |extra: &usize| {
            let mut operands = self.query.operands().to_vec();
            operands.remove(*extra);
            !operands.is_empty() && self.is_legal(&operands)
        };
        let extra = (0..self.query.operands().len()).find(legal)? as u32;
        let kind = InstProblemKind::Extra(named(selected), extra);
        Some(Explanation::new(Part::Operand(extra), kind))
    }

    /// An address in brackets, or a pair, that is written as two operands.
    pub(crate) fn apart(&self) -> Option<Explanation> {
        let operands = self.query.operands();
        if self.search == Search::None || operands.len() > MAX_OPERANDS + 1 {
            return None;
        }
        for first in 0..operands.len().saturating_sub(1) {
            let (before, rest) = operands.split_at(first);
            let ([a, b], after) = (rest.get(..2)?, rest.get(2..)?) else {
                return None;
            };
            let pair = [*a, *b];
            let bracket = match a.shape {
                OperandShape::Bracket([inner]) => [*inner, *b],
                _ => pair,
            };
            for joined in [OperandShape::Pair(&pair), OperandShape::Bracket(&bracket)] {
                let joined = [ActualOperand::new(joined)];
                if self.is_legal(&[before, &joined, after].concat()) {
                    let is_pair = matches!(joined[0].shape, OperandShape::Pair(_));
                    let first = first as u32;
                    let kind = InstProblemKind::Apart(first, is_pair);
                    return Some(Explanation::new(Part::Operands(first, first + 1), kind));
                }
            }
        }
        None
    }

    /// Lists of a call that are written without parentheses.
    fn missing_parentheses(&self) -> Option<Explanation> {
        let operands = self.query.operands();
        for function in 0..2.min(operands.len()) {
            let (results, rest) = operands.split_at(function);
            let (callee, arguments) = rest.split_first()?;
            let mut lists = Vec::new();
            if !results.is_empty() {
                lists.push(ActualOperand::new(OperandShape::List(results)));
            }
            lists.push(*callee);
            if !arguments.is_empty() {
                lists.push(ActualOperand::new(OperandShape::List(arguments)));
            }
            if self.is_legal(&lists) {
                let last = operands.len() as u32 - 1;
                let kind = InstProblemKind::MissingParentheses(function as u32, last);
                return Some(Explanation::new(Part::Operands(0, last), kind));
            }
        }
        None
    }
}
