//! Translation of the functions whose first argument is an operand.

use super::NotExpressible;
use super::integer::Integer;
use super::term::{Bits, Terms};
use super::translate::Translation;
use crate::fold::computation::Scope;
use crate::fold::value::exact;
use ptx_isa::ExprFunction as Function;
use ptx_isa::internals::Expr;

impl Translation<'_> {
    /// The value of a function whose first argument is an operand.
    pub(super) fn of_operand(
        &mut self,
        function: Function,
        list: &[Expr],
    ) -> Result<Integer, NotExpressible> {
        let unknown = NotExpressible::Function(function);
        let operand = list.first().and_then(Scope::operand).ok_or(unknown)?;
        match (function, list) {
            (Function::Length, [_]) => {
                let length = self.inputs.part_length(operand).ok_or(unknown)?;
                Ok(self.terms.constant(exact(length.into())))
            }
            (Function::Sign, [_]) => {
                let is_negated = self.inputs.is_negated(operand);
                Ok(self.terms.constant(exact(if is_negated { -1 } else { 1 })))
            }
            (Function::Bits, [_]) => {
                let width = self.inputs.value_type(operand).ok_or(unknown)?.bits();
                let definition = self.inputs.form.operands().get(operand).ok_or(unknown)?;
                let term = self.source(operand, definition.name());
                Ok(Terms::natural(Bits {
                    term,
                    width: width.into(),
                }))
            }
            (Function::Sum, [_, a]) => {
                let mut sum = self.terms.constant(exact(0));
                for (element_index, _) in self.inputs.written(operand).ok_or(unknown)? {
                    let summand = self
                        .in_element(element_index.into(), |translation| translation.integer(a))?;
                    sum = self.terms.add(sum, summand)?;
                }
                Ok(sum)
            }
            _ => Err(unknown),
        }
    }

    /// The lowest bits of `merge(.operand, c, a)`: of `c` with the written parts of the operand replaced by values of `a`.
    pub(super) fn merged(&mut self, list: &[Expr], width: u32) -> Result<Bits, NotExpressible> {
        let unknown = NotExpressible::Function(Function::Merge);
        let [operand, c, a] = list else {
            return Err(unknown);
        };
        let operand = Scope::operand(operand).ok_or(unknown)?;
        let mut result = self.low_bits(c, width)?;
        for (element_index, part) in self.inputs.written(operand).ok_or(unknown)? {
            let (position, length) = (part.position, u32::from(part.length));
            if position + length > width {
                return Err(unknown);
            }
            let mut bits = self.in_element(element_index.into(), |translation| {
                translation.low_bits(a, length)
            })?;
            if position > 0 {
                let low_bits = self.terms.extract(result, 0, position);
                bits = self
                    .terms
                    .bits("concat", &[bits, low_bits], position + length);
            }
            if bits.width < width {
                let high_bits = self.terms.extract(result, bits.width, width - bits.width);
                bits = self.terms.bits("concat", &[high_bits, bits], width);
            }
            result = bits;
        }
        Ok(result)
    }
}
