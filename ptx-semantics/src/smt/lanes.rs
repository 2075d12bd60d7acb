//! Functions about operands with lanes, and numbers as integers.

use super::NotExpressible;
use super::integer::Integer;
use super::number::mode;
use super::term::{Bits, Terms};
use super::translate::{Translation, Value};
use crate::fold::computation::Scope;
use crate::fold::value::{exact, limits};
use ptx_isa::{Expr, ExprFunction as Function, ScalarType, TypeKind};

impl Translation<'_> {
    /// The functions whose first argument is an operand, whatever its value is.
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
                let negated = self.inputs.is_negated(operand);
                Ok(self.terms.constant(exact(if negated { -1 } else { 1 })))
            }
            (Function::Bits, [_]) => {
                let width = self.inputs.value_type(operand).ok_or(unknown)?.bits();
                let name = self
                    .inputs
                    .form
                    .operands()
                    .get(operand)
                    .ok_or(unknown)?
                    .name();
                let term = self.source(operand, name);
                Ok(Terms::natural(Bits {
                    term,
                    width: width.into(),
                }))
            }
            (Function::Sum, [_, a]) => {
                let mut sum = self.terms.constant(exact(0));
                for (lane, _) in self.inputs.written(operand).ok_or(unknown)? {
                    let part = self.in_lane(lane.into(), |this| this.integer(a))?;
                    sum = self.terms.add(sum, part)?;
                }
                Ok(sum)
            }
            _ => Err(unknown),
        }
    }

    /// The lowest bits of `merge(.operand, c, a)`.
    pub(super) fn merged(&mut self, list: &[Expr], width: u32) -> Result<Bits, NotExpressible> {
        let unknown = NotExpressible::Function(Function::Merge);
        let [operand, c, a] = list else {
            return Err(unknown);
        };
        let operand = Scope::operand(operand).ok_or(unknown)?;
        let mut result = self.low_bits(c, width)?;
        for (lane, part) in self.inputs.written(operand).ok_or(unknown)? {
            let (from, length) = (part.position, u32::from(part.length));
            if from + length > width {
                return Err(unknown);
            }
            let mut bits = self.in_lane(lane.into(), |this| this.low_bits(a, length))?;
            if from > 0 {
                let below = self.terms.extract(result, 0, from);
                bits = self.terms.bits("concat", &[bits, below], from + length);
            }
            if bits.width < width {
                let above = self.terms.extract(result, bits.width, width - bits.width);
                bits = self.terms.bits("concat", &[above, bits], width);
            }
            result = bits;
        }
        Ok(result)
    }

    /// The nearest integer of a type; of a number, rounded by the rounding modifier.
    pub(super) fn converted(
        &mut self,
        ty: ScalarType,
        a: Value,
    ) -> Result<Integer, NotExpressible> {
        let (least, most) = limits(ty.kind() == TypeKind::Signed, ty.bits().into());
        let number = match a {
            Value::Integer(a) => return Ok(self.terms.clamped(a, least, most)),
            Value::Number(number) => number,
            Value::Predicate(_) => return Err(NotExpressible::Function(Function::Convert)),
        };
        let [a, _] = self.terms.aligned_floats(number.clone(), number)?;
        let is_number = self.terms.relation("fp.eq", a, a);
        if self.decided(is_number) != Some(true) {
            return Err(NotExpressible::Construct(
                "a NaN that no condition excludes as an integer",
            ));
        }
        let rounding = self.terms.leaf(mode(self.inputs.rounding()));
        let integral = self.terms.apply("fp.roundToIntegral", &[rounding, a.term]);
        let integral = a.replaced(integral);
        // The limits are powers of two, which all wider sorts have.
        let beyond = self.terms.constant(most.wrapping_add(exact(1)));
        let lowest = self.terms.constant(least);
        let (beyond, lowest) = (
            self.terms.integer_as_float(beyond, a.sort),
            self.terms.integer_as_float(lowest, a.sort),
        );
        let sort = beyond.sort.with(lowest.sort);
        let [number, beyond, lowest] =
            [integral, beyond, lowest].map(|x| self.terms.converted(x, sort));
        let above = self.terms.relation("fp.geq", number, beyond);
        let below = self.terms.relation("fp.leq", number, lowest);
        let width = u32::from(ty.bits()) + 1;
        let head = alloc::format!("(_ fp.to_sbv {width})");
        let toward_zero = self.terms.leaf("RTZ");
        let term = self.terms.apply(head, &[toward_zero, integral.term]);
        let bits = self.terms.extract(Bits { term, width }, 0, width - 1);
        let inside = match ty.kind() {
            TypeKind::Signed => Terms::signed(bits),
            _ => Terms::natural(bits),
        };
        let (least, most) = (self.terms.constant(least), self.terms.constant(most));
        let upper = self.terms.select(above, most, inside);
        Ok(self.terms.select(below, least, upper))
    }
}
