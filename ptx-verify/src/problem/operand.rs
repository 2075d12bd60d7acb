//! Problems of operands that their instruction does not take.

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::{Code, Signature};
use ptx_isa::internals::{
    Expected, ForeignWord, FormOperand, OperandShape, OperandViolation, Repair,
};
use ptx_isa::{Access, Directive, Marks, Modifier, Role, ScalarType, SpecialReg, StateSpace};

use super::{NamedForm, Side, Text, Wording, repair};
use crate::location::Part;

/// An operand that its instruction does not take.
#[derive(Clone, Debug)]
pub(crate) struct OperandMismatch {
    pub(crate) form: NamedForm,
    /// The operand of the form.
    pub(crate) operand: &'static FormOperand,
    pub(crate) problem: OperandViolation,
    /// The required type.
    pub(crate) expected: Option<Expected>,
    /// The required state space.
    pub(crate) space: Option<Modifier>,
    pub(crate) found: FoundOperand,
    pub(crate) part: Part,
    /// The number of other operands with the same cause.
    pub(crate) others: usize,
    /// No register has the type of a modifier.
    pub(crate) all_of_type: bool,
    /// The certainty that only the brackets of an address are missing; `None` if they are not.
    pub(crate) brackets: Option<Brackets>,
    /// Changes of a modifier after which the instruction takes its operands.
    pub(crate) repairs: Vec<Repair>,
}

/// Brackets that an address lacks.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Brackets {
    /// No other operand can be the address.
    Certain,
    /// The instruction is legal with another operand as the address, too.
    Perhaps,
}

/// The kind of a written operand, as messages describe it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum FoundOperand {
    Scalar(ScalarType),
    /// A special register.
    Special(ScalarType),
    /// A special register of several components.
    SpecialVector,
    /// A vector register.
    Vector(ScalarType, u8),
    /// `{a, b}` with this number of elements; their type, if all are registers of one type.
    Elements(usize, Option<ScalarType>),
    Variable(StateSpace),
    Other,
}

impl FoundOperand {
    pub(crate) fn new(shape: OperandShape<'_>) -> Self {
        match shape {
            OperandShape::Register(ty) => Self::Scalar(ty),
            OperandShape::Special(register) => Self::Special(register.scalar_type()),
            OperandShape::SpecialVector(_) => Self::SpecialVector,
            OperandShape::RegisterVector(ty, len) => Self::Vector(ty, len),
            OperandShape::Vector(parts) => {
                let mut types = parts.iter().map(|part| match part.shape {
                    OperandShape::Register(ty) => Some(ty),
                    _ => None,
                });
                let first = types.next().flatten();
                Self::Elements(parts.len(), first.filter(|_| types.all(|ty| ty == first)))
            }
            OperandShape::Variable(space, _) => Self::Variable(space),
            _ => Self::Other,
        }
    }
}

impl OperandMismatch {
    /// Returns `true` if another operand is wrong for the same reason.
    pub(crate) fn has_cause_of(&self, other: &Self) -> bool {
        if self.is_special() {
            return other.is_special();
        }
        let cause = |mismatch: &Self| {
            (
                mismatch.problem,
                mismatch.operand.ty(),
                mismatch.expected,
                mismatch.found,
            )
        };
        self.problem == OperandViolation::Type && cause(self) == cause(other)
    }

    /// Returns `true` for a special register that the instruction does not take.
    fn is_special(&self) -> bool {
        matches!(
            (self.problem, self.found),
            (
                OperandViolation::Kind | OperandViolation::Shape,
                FoundOperand::Special(_)
            )
        )
    }

    pub(super) fn text(self, signature: &Signature<'_>, wording: Wording<'_>, found: &str) -> Text {
        let (code, message) = self.message(signature.text(), wording, found);
        let advice = repair::advice(signature, &self.repairs);
        let is_type = code == Code::OperandType;
        // The opcodes for operators of other languages.
        let opcode = |word| ForeignWord::from_text(word).and_then(ForeignWord::instead);
        let (copy, negation) = (opcode("="), opcode("-x"));
        let is_vector = self.found == FoundOperand::SpecialVector;
        let is_copy = Some(signature.opcode_text()) == copy;
        let help = match advice {
            _ if is_vector && !is_copy => format!(
                "`{found}` has the components `.x`, `.y` and `.z`: copy one to a register with `{}` first",
                copy.unwrap_or_default()
            ),
            _ if is_vector => {
                format!("`{found}` has the components `.x`, `.y` and `.z`: for example `{found}.x`")
            }
            _ if self.brackets.is_some() => format!("write `[{found}]`"),
            _ if self.is_special() && self.operand.role() == Role::Def => {
                "special registers are only read".into()
            }
            _ if self.is_special() && is_copy => {
                let bits = match self.found {
                    FoundOperand::Special(ty) => ty.bits(),
                    _ => 0,
                };
                format!("the special register has {bits} bits: use a type of {bits} bits")
            }
            _ if self.is_special() => format!(
                "copy the special register to a register with `{}` first",
                copy.unwrap_or_default()
            ),
            None if self.problem == OperandViolation::Negated && negation.is_some() => format!(
                "negate the value first with `{}`",
                negation.unwrap_or_default()
            ),
            Some(advice) if is_type => format!("{advice}, or convert the value"),
            Some(advice) => advice,
            None if is_type && self.is_address() => {
                "addresses are integers: use a register of their width".into()
            }
            None if self.writes_parameter() => "a kernel returns results through memory".into(),
            None if is_type => "convert the value, or change the type in the instruction".into(),
            None => match self.problem {
                OperandViolation::Directive(register) => {
                    let directive = required_directive(register);
                    format!("write `{directive}` and a number of bytes before the body")
                }
                OperandViolation::Component => "copy the component to a register first".into(),
                _ => self.form.syntax(),
            },
        };
        if let Some(constant) = self.nearest_constant(found) {
            return Text::error(code, message)
                .help(format!("{help}; for example `{constant}`"))
                .fix(self.part, Side::Whole, constant);
        }
        let text = Text::error(code, message).help(help);
        if is_vector && is_copy {
            return text.fix(self.part, Side::After, ".x");
        }
        if let Some(brackets) = self.brackets {
            let text = text
                .fix(self.part, Side::Before, "[")
                .fix(self.part, Side::After, "]");
            return match brackets {
                Brackets::Certain => text.machine_applicable(),
                Brackets::Perhaps => text,
            };
        }
        // A single register of another type may be the mistake.
        let best = repair::best(signature, &self.repairs);
        let first = self.repairs.first().map(Repair::edit);
        match best.or(first.filter(|_| self.all_of_type)) {
            Some(edit) if !is_type || self.all_of_type => repair::fix(text, edit),
            _ => text,
        }
    }

    /// Returns `true` for an address without a type.
    fn is_address(&self) -> bool {
        self.operand.role() == Role::Addr && self.expected.is_none()
    }

    fn message(&self, op: &str, wording: Wording<'_>, found: &str) -> (Code, String) {
        let operand = format!("operand `{}` of `{op}`", self.operand.name());
        let without = |excluded: &str| {
            let message = format!("{operand} must be without {excluded}, found `{found}`");
            (Code::OperandKind, message)
        };
        let kind = |expected: &str| {
            let message = format!("{operand} must be {expected}, found `{found}`");
            (Code::OperandKind, message)
        };
        match self.problem {
            OperandViolation::Missing => (Code::MissingOperand, format!("missing {operand}")),
            OperandViolation::Unexpected => (
                Code::UnexpectedOperand,
                format!("unexpected {operand}: these modifiers do not allow it"),
            ),
            OperandViolation::Length(length) => (
                Code::VectorLength,
                format!(
                    "{operand} must be {}, found {}",
                    self.length(length),
                    self.found_length()
                ),
            ),
            OperandViolation::NeedsRegister => kind("a register"),
            OperandViolation::NeedsConstant => kind("a constant"),
            OperandViolation::Discard => kind(self.kind()),
            OperandViolation::Type => (Code::OperandType, self.types(&operand, wording, found)),
            OperandViolation::Constant => (
                Code::ConstantRange,
                format!("{operand} must be {}, found `{found}`", self.constants()),
            ),
            OperandViolation::Space => (Code::WrongSpace, self.spaces(&operand, found)),
            OperandViolation::Negated => without("`-`"),
            OperandViolation::Inverted => without("`!`"),
            OperandViolation::Lanes => without("a part selector"),
            OperandViolation::Component => without("a constant beside a component"),
            OperandViolation::Unified => without("`.unified`"),
            OperandViolation::Directive(register) => {
                let directive = required_directive(register);
                let message = format!(
                    "`{register}` requires `{directive}` with a number other than 0 in the header of the kernel"
                );
                (Code::OperandKind, message)
            }
            _ => kind(self.kind()),
        }
    }

    fn types(&self, operand: &str, wording: Wording<'_>, found: &str) -> String {
        let expected = match self.expected {
            Some(Expected::Width(bits)) => format!(" of {bits} bits"),
            Some(expected) => format!(" of type {expected}"),
            None if self.operand.marks().contains(Marks::TMEM) => {
                " an address in a `.b32` register".into()
            }
            None if self.is_address() => {
                let bits = wording.module.header().address_size.unwrap_or(64);
                format!(" an address in a register of {bits} bits such as `.b{bits}`")
            }
            None => " of another type".into(),
        };
        let ty = match self.found {
            FoundOperand::Scalar(ty)
            | FoundOperand::Special(ty)
            | FoundOperand::Elements(_, Some(ty)) => {
                format!(" of type `{ty}`")
            }
            FoundOperand::Vector(ty, length) => format!(" of type `.v{length} {ty}`"),
            _ => String::new(),
        };
        let further = match self.others {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        format!("{operand} must be{expected}, found `{found}`{ty}{further}")
    }

    /// Returns `true` if a parameter of a kernel is written.
    pub(crate) fn writes_parameter(&self) -> bool {
        let access = self.operand.access();
        let writes = !matches!(access, Access::None | Access::Read);
        writes && self.found == FoundOperand::Variable(StateSpace::ParamEntry)
    }

    fn spaces(&self, operand: &str, found: &str) -> String {
        if self.writes_parameter() {
            return format!(
                "{operand} is written, found the kernel parameter `{found}`, which is read-only"
            );
        }
        let space = match self.found {
            FoundOperand::Variable(space) => format!(" in `{space}`"),
            _ => String::new(),
        };
        let expected = match self.space {
            Some(space) => format!("`{space}`"),
            None => "the state space that the instruction accesses".into(),
        };
        format!("{operand} must be in {expected}, found `{found}`{space}")
    }

    fn length(&self, length: u16) -> String {
        match length {
            1 if self.operand.marks().contains(Marks::BRACED) => "one value in braces".into(),
            1 => "a scalar".into(),
            length => format!("a vector of {length} elements"),
        }
    }

    fn found_length(&self) -> String {
        match self.found {
            FoundOperand::Elements(1, _) => "1 element".into(),
            FoundOperand::Elements(length, _) => format!("{length} elements"),
            FoundOperand::Vector(_, length) => format!("{length} elements"),
            _ => "a scalar".into(),
        }
    }

    /// Returns the legal constant that is nearest to one out of range, or of another kind.
    fn nearest_constant(&self, found: &str) -> Option<String> {
        if self.problem != OperandViolation::Constant {
            return None;
        }
        if let Some(Expected::Type(ty)) = self.expected
            && let Ok(value) = found.parse::<f64>()
        {
            let digits = found.split('.').next()?;
            match (ty.is_float(), found.contains('.')) {
                (true, false) => return Some(format!("{found}.0")),
                (false, true) if value >= 0.0 && !digits.is_empty() => return Some(digits.into()),
                _ => {}
            }
        }
        let hex = found.strip_prefix("0x").or(found.strip_prefix("0X"));
        match (hex, self.expected) {
            (Some(bits), Some(Expected::Type(ScalarType::F32))) if bits.len() <= 8 => {
                return Some(format!("0f{bits:0>8}"));
            }
            (Some(bits), Some(Expected::Type(ScalarType::F64))) if bits.len() <= 16 => {
                return Some(format!("0d{bits:0>16}"));
            }
            _ => {}
        }
        self.nearest_in_range(found)
            .map(|constant| format!("{constant}"))
    }

    fn nearest_in_range(&self, found: &str) -> Option<i64> {
        let range = self.operand.range()?;
        let value: i64 = found.parse().ok()?;
        let inside = value.clamp(range.low(), range.high());
        let constant = match range.step() {
            0 => i64::try_from(u64::try_from(inside).ok()?.next_power_of_two()).ok()?,
            step => inside - (inside - range.low()).checked_rem(step)?,
        };
        let is_legal = constant != value && (range.low()..=range.high()).contains(&constant);
        is_legal.then_some(constant)
    }

    fn constants(&self) -> String {
        match self.operand.range().map(|r| (r.low(), r.high(), r.step())) {
            Some((low, high, 0)) => format!("a power of two from {low} to {high}"),
            Some((low, high, _)) if low == high => format!("the constant {low}"),
            Some((low, high, step)) if high - low == step => format!("{low} or {high}"),
            Some((low, high, 1)) => format!("a constant from {low} to {high}"),
            Some((low, high, step)) => format!("a multiple of {step} from {low} to {high}"),
            None if self.operand.marks().contains(Marks::UNIT_INTERVAL) => {
                "a number above 0 and at most 1".into()
            }
            None => match self.expected {
                Some(Expected::Width(bits)) => format!("a constant of {bits} bits"),
                Some(expected) => format!("a constant of type {expected}"),
                None => "another constant".into(),
            },
        }
    }

    fn kind(&self) -> &'static str {
        match self.operand.role() {
            Role::Def | Role::ReadWrite => "a register",
            Role::Use => "a register or a constant of its type",
            Role::Addr => "an address",
            Role::Imm => "a constant",
            Role::Label => "a label",
            Role::Func => "a device function or a register",
            Role::Symbol => "the name of a variable",
            Role::Args | Role::Rets => "a list in parentheses",
            Role::LabelTable => "the label of a target list or a prototype",
            Role::Sreg => "a special register",
            _ => "another operand",
        }
    }
}

/// Returns the directive that a special register requires.
fn required_directive(register: SpecialReg) -> &'static str {
    register.needs().map_or("", Directive::text)
}
