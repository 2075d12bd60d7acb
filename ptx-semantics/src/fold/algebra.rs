//! What is known of an instruction's function whatever its operands are.

use ptx_isa::{
    Action, Assignment, Destination, Expr, Form, Length, Modifier, Opcode, StateSpace,
    find_instruction,
};

/// The instruction that writes its only source to its only result; a type follows it.
pub const COPY: Opcode = Opcode::Mov;

/// The instruction that makes a generic address one in a state space, with its modifier before that of the space.
pub const TO_SPACE: (Opcode, Modifier) = (Opcode::Cvta, Modifier::To);

/// Whether the first result is the first source, bit for bit (both being scalars of one width).
#[must_use]
pub fn is_copy(opcode: Opcode) -> bool {
    let forms = opcode.instructions().iter().flat_map(|i| i.forms());
    let is_scalar = |form: &&Form| (form.operands().iter()).all(|o| o.length() == Length::Scalar);
    let forms = forms.filter(|form| is_scalar(form));
    let mut computed = forms.filter_map(|f| f.computation()).peekable();
    computed.peek().is_some() && computed.all(|c| matches!(c.assignments(), [only] if copies(only)))
}

/// The indices of the operands of a form that selects one of two: of the condition, of what is selected if it holds, and of what is if not.
#[must_use]
pub fn selection(form: &Form) -> Option<[usize; 3]> {
    let [only] = form.computation()?.assignments() else {
        return None;
    };
    match only.value() {
        Expr::If(
            &[
                Expr::Operand(condition),
                Expr::Operand(then),
                Expr::Operand(other),
            ],
        ) => Some([condition, then, other].map(usize::from)),
        _ => None,
    }
}

fn copies(assignment: &Assignment) -> bool {
    let (from, to) = (assignment.value(), assignment.target());
    matches!((from, to), (Expr::Operand(_), Destination::Operand(_)))
}

/// An address of a state space and a generic one: what turns one into the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Conversion {
    /// The state space.
    pub space: StateSpace,
    /// Whether the result is the generic address; else it is the source.
    pub to_generic: bool,
}

/// Whether the first result is the first source as an address of another kind.
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
