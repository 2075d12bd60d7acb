//! Whether the sources of an instruction may change places.

use super::Video;
use super::computation::{Inputs, is_source};
use super::parts::PARTS;
use ptx_isa::{Assignment, Expr, ExprFunction as Function, Modifier, Opcode, find_instruction};

/// Whether the first two sources may change places: what the tables state about the instruction stays the same, up to
/// operands of operators that commute.
#[must_use]
pub fn commutes(opcode: Opcode, modifiers: &[Modifier]) -> bool {
    let found = || {
        let instruction = find_instruction(opcode, modifiers)?;
        let free = modifiers.get(instruction.words().len()..)?;
        let mut forms = instruction.forms().iter();
        let (form, slots) = forms.find_map(|f| Some((f, f.match_modifiers(free)?)))?;
        let assignments = form.computation()?.assignments();
        let mut sources = (0u8..).zip(form.operands()).filter(|(_, o)| is_source(o));
        let inputs = Inputs {
            form,
            slots: &slots,
            modifiers,
            operands: &[],
            carry: None,
            video: Video::default(),
            choose: false,
        };
        // The parts that they select would change places as well.
        if form.operands().iter().any(|o| o.marks().intersects(PARTS)) {
            return None;
        }
        let swap = Swap {
            inputs: &inputs,
            assignments,
            sources: [sources.next()?.0, sources.next()?.0],
        };
        let mut values = assignments.iter().map(Assignment::value);
        Some(values.all(|value| swap.are_equal(&value, &value)))
    };
    found().unwrap_or(false)
}

/// Two sources that change places.
struct Swap<'a> {
    inputs: &'a Inputs<'a>,
    assignments: &'static [Assignment],
    sources: [u8; 2],
}

impl Swap<'_> {
    /// Whether an expression is another one after the change.
    fn are_equal(&self, a: &Expr, b: &Expr) -> bool {
        let (a, b) = (self.chosen(a), self.chosen(b));
        match (a, b) {
            (Expr::Operand(a), Expr::Operand(b)) => *a == self.other(*b),
            (Expr::Assigned(a), Expr::Assigned(b)) => {
                let value = |at: u8| self.assignments.get(usize::from(at)).map(Assignment::value);
                let values = value(*a).zip(value(*b));
                values.is_some_and(|(a, b)| self.are_equal(&a, &b))
            }
            (Expr::If(a), Expr::If(b)) => self.are_all_equal(*a, *b),
            // The sign of a difference does not matter.
            (
                Expr::Call(Function::Abs, [Expr::Call(Function::Sub, a)]),
                Expr::Call(Function::Abs, [Expr::Call(Function::Sub, b)]),
            ) => self.are_all_equal(a, b) || self.are_all_reversed(a, b),
            (Expr::Call(function, a), Expr::Call(other, b)) if function == other => {
                self.are_all_equal(a, b)
                    || self.is_symmetric(*function, a) && self.are_all_reversed(a, b)
            }
            _ => a == b,
        }
    }

    fn are_all_equal(&self, a: &[Expr], b: &[Expr]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.are_equal(a, b))
    }

    /// With the last two arguments in the other order.
    fn are_all_reversed(&self, a: &[Expr], b: &[Expr]) -> bool {
        let (Some((first, [x, y])), Some((other, [u, v]))) =
            (a.split_last_chunk(), b.split_last_chunk())
        else {
            return false;
        };
        self.are_all_equal(first, other) && self.are_equal(x, v) && self.are_equal(y, u)
    }

    /// Whether the last two arguments of a function may change places.
    fn is_symmetric(&self, function: Function, arguments: &[Expr]) -> bool {
        match function {
            Function::And | Function::Or | Function::Xor => true,
            Function::Equal | Function::NotEqual => true,
            Function::Compare => {
                let test = arguments
                    .first()
                    .and_then(|slot| self.inputs.scope().modifier(slot));
                matches!(test, Some(Modifier::Eq | Modifier::Ne))
            }
            // Of the two zeros, and of two NaNs, the first may be the result.
            Function::Add | Function::Mul | Function::Min | Function::Max => !self.has_floats(),
            _ => false,
        }
    }

    fn has_floats(&self) -> bool {
        let mut types = self.inputs.types();
        types.any(|ty| super::element(ty).is_float())
    }

    const fn other(&self, operand: u8) -> u8 {
        let [a, b] = self.sources;
        match operand {
            _ if operand == a => b,
            _ if operand == b => a,
            _ => operand,
        }
    }

    /// The branch that modifiers and types choose.
    fn chosen<'e>(&self, expr: &'e Expr) -> &'e Expr {
        let Expr::If([when, then, otherwise]) = expr else {
            return expr;
        };
        match self.inputs.scope().predicate(when) {
            Some(true) => self.chosen(then),
            Some(false) => self.chosen(otherwise),
            None => expr,
        }
    }
}
