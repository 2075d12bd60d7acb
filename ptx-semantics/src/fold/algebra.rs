//! Properties of instructions that hold for all operands: copies, selections, conversions of addresses, and commutativity.

use ptx_isa::internals::{Assignment, Destination, Expr, Length};
use ptx_isa::{
    Action, ExprFunction as Function, Form, Modifier, Opcode, StateSpace, find_instruction,
};

use super::Video;
use super::computation::{Inputs, is_source};
use super::parts::PARTS;

/// The instruction that writes its only source to its only result; a type follows it.
pub const COPY: Opcode = Opcode::Mov;

/// The instruction that converts a generic address to an address of a state space, with its modifier before that of the space.
pub const TO_SPACE: (Opcode, Modifier) = (Opcode::Cvta, Modifier::To);

/// Whether the first result is the first source, bit for bit (both being scalars of one width).
#[must_use]
pub fn is_copy(opcode: Opcode) -> bool {
    let mut computations = opcode
        .instructions()
        .iter()
        .flat_map(|instruction| instruction.forms())
        .filter(|form| has_scalar_operands(form))
        .filter_map(|form| form.computation())
        .peekable();
    computations.peek().is_some()
        && computations.all(|computation| {
            matches!(computation.assignments(), [assignment] if assigns_operand(assignment))
        })
}

fn has_scalar_operands(form: &Form) -> bool {
    form.operands()
        .iter()
        .all(|operand| operand.length() == Length::Scalar)
}

/// Whether an operand is assigned to another one unchanged.
fn assigns_operand(assignment: &Assignment) -> bool {
    let (value, target) = (assignment.value(), assignment.target());
    matches!((value, target), (Expr::Operand(_), Destination::Operand(_)))
}

/// The indices of three operands of a form that selects one of two: the condition, the operand selected if it is true, and the operand
/// selected if it is false.
#[must_use]
pub fn selection(form: &Form) -> Option<[usize; 3]> {
    let [assignment] = form.computation()?.assignments() else {
        return None;
    };
    match assignment.value() {
        Expr::If(
            &[
                Expr::Operand(condition),
                Expr::Operand(then),
                Expr::Operand(otherwise),
            ],
        ) => Some([condition, then, otherwise].map(usize::from)),
        _ => None,
    }
}

/// A conversion between an address of a state space and a generic address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Conversion {
    /// The state space.
    pub space: StateSpace,
    /// Whether the result is the generic address; otherwise the source is.
    pub to_generic: bool,
}

/// The conversion of an address from the first source to the first result; `None` for other instructions.
#[must_use]
pub fn conversion(opcode: Opcode, modifiers: &[Modifier]) -> Option<Conversion> {
    let space = modifiers.iter().find_map(|m| m.state_space())?;
    let instruction = find_instruction(opcode, modifiers)?;
    let to_generic = match instruction.forms().iter().find_map(|f| f.action())? {
        Action::ToGeneric => true,
        Action::FromGeneric => false,
        _ => return None,
    };
    Some(Conversion { space, to_generic })
}

/// Whether the first two sources may change places: the computation in the tables stays the same, up to the order of operands of
/// commutative operators.
#[must_use]
pub fn commutes(opcode: Opcode, modifiers: &[Modifier]) -> bool {
    find_commutativity(opcode, modifiers).unwrap_or(false)
}

/// Whether the first two sources may change places; `None` if the tables do not state what the instruction computes.
fn find_commutativity(opcode: Opcode, modifiers: &[Modifier]) -> Option<bool> {
    let instruction = find_instruction(opcode, modifiers)?;
    let choices = modifiers.get(instruction.words().len()..)?;
    let (form, slots) = instruction
        .forms()
        .iter()
        .find_map(|form| Some((form, form.match_modifiers(choices)?)))?;
    let assignments = form.computation()?.assignments();
    let mut sources = (0u8..)
        .zip(form.operands())
        .filter(|(_, operand)| is_source(operand))
        .map(|(index, _)| index);
    // Selected parts of the sources would change places as well.
    if form.operands().iter().any(|o| o.marks().intersects(PARTS)) {
        return None;
    }
    let inputs = Inputs {
        form,
        slots: &slots,
        modifiers,
        operands: &[],
        carry: None,
        video: Video::default(),
        choose: false,
    };
    let swap = Swap {
        inputs: &inputs,
        assignments,
        sources: [sources.next()?, sources.next()?],
    };
    let is_unchanged = assignments
        .iter()
        .map(Assignment::value)
        .all(|value| swap.are_equal(&value, &value));
    Some(is_unchanged)
}

/// The comparison of expressions before and after two sources change places.
struct Swap<'a> {
    inputs: &'a Inputs<'a>,
    assignments: &'static [Assignment],
    sources: [u8; 2],
}

impl Swap<'_> {
    /// Whether the expression `a` equals `b` with the sources exchanged.
    fn are_equal(&self, a: &Expr, b: &Expr) -> bool {
        let (a, b) = (self.chosen_branch(a), self.chosen_branch(b));
        match (a, b) {
            (Expr::Operand(a), Expr::Operand(b)) => *a == self.exchanged(*b),
            (Expr::Assigned(a), Expr::Assigned(b)) => self
                .assigned_value(*a)
                .zip(self.assigned_value(*b))
                .is_some_and(|(a, b)| self.are_equal(&a, &b)),
            (Expr::If(a), Expr::If(b)) => self.are_all_equal(*a, *b),
            // The absolute value does not depend on the sign of a difference.
            (
                Expr::Call(Function::Abs, [Expr::Call(Function::Sub, a)]),
                Expr::Call(Function::Abs, [Expr::Call(Function::Sub, b)]),
            ) => self.are_all_equal(a, b) || self.are_all_reversed(a, b),
            (Expr::Call(function, a), Expr::Call(function_b, b)) if function == function_b => {
                self.are_all_equal(a, b)
                    || self.is_symmetric(*function, a) && self.are_all_reversed(a, b)
            }
            _ => a == b,
        }
    }

    fn assigned_value(&self, index: u8) -> Option<Expr> {
        self.assignments
            .get(usize::from(index))
            .map(Assignment::value)
    }

    fn are_all_equal(&self, a: &[Expr], b: &[Expr]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.are_equal(a, b))
    }

    /// Whether the arguments are equal if the last two arguments of `b` are in the other order.
    fn are_all_reversed(&self, a: &[Expr], b: &[Expr]) -> bool {
        let (Some((a_first, [a_left, a_right])), Some((b_first, [b_left, b_right]))) =
            (a.split_last_chunk(), b.split_last_chunk())
        else {
            return false;
        };
        self.are_all_equal(a_first, b_first)
            && self.are_equal(a_left, b_right)
            && self.are_equal(a_right, b_left)
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
            // The result may be the first one of two zeros or two NaNs.
            Function::Add | Function::Mul | Function::Min | Function::Max => !self.has_floats(),
            _ => false,
        }
    }

    fn has_floats(&self) -> bool {
        self.inputs.types().any(|ty| super::element(ty).is_float())
    }

    /// The operand at the place of `operand` after the exchange.
    const fn exchanged(&self, operand: u8) -> u8 {
        let [a, b] = self.sources;
        match operand {
            _ if operand == a => b,
            _ if operand == b => a,
            _ => operand,
        }
    }

    /// The branch of an expression that modifiers and types select, or the expression itself.
    fn chosen_branch<'e>(&self, expr: &'e Expr) -> &'e Expr {
        let Expr::If([condition, then, otherwise]) = expr else {
            return expr;
        };
        match self.inputs.scope().predicate(condition) {
            Some(true) => self.chosen_branch(then),
            Some(false) => self.chosen_branch(otherwise),
            None => expr,
        }
    }
}
