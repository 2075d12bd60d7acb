//! Operands that can be printed and checked against the tables.

use std::fmt;

use ptx_isa::internals::{ActualOperand, InstQuery, OperandShape, TableKind};
use ptx_isa::{Modifier, Opcode, ScalarType, Selector, SpecialReg, StateSpace};

/// Registers of each type: enough for the longest vector.
pub const REGISTERS: u16 = 160;

/// An operand of a case.
#[derive(Clone, PartialEq)]
pub struct Operand {
    pub kind: Kind,
    pub sign: Sign,
    /// The offset of an address: `[b64_0+16]`.
    pub offset: i64,
    /// The selected bytes or half-words: `.b0`.
    pub lanes: Option<&'static str>,
    pub unified: bool,
}

/// The sign before an operand.
#[derive(Copy, Clone, PartialEq)]
pub enum Sign {
    None,
    Minus,
    Not,
}

/// The kind of an operand, with the properties that determine its name in the preamble.
#[derive(Clone, PartialEq)]
pub enum Kind {
    Register(ScalarType, u16),
    RegisterVector(ScalarType, u8),
    Integer(i64),
    Float,
    Single,
    Variable(StateSpace, ScalarType),
    Special(SpecialReg),
    SpecialVector(SpecialReg),
    Label,
    /// A function with these numbers of results and parameters.
    Function(u8, u8),
    Table(TableKind, u8, u8),
    Sink,
    Bracket(Vec<Operand>),
    Vector(Vec<Operand>),
    List(Vec<Operand>),
    Pair(Vec<Operand>),
}

impl Operand {
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            sign: Sign::None,
            offset: 0,
            lanes: None,
            unified: false,
        }
    }

    pub fn register(ty: ScalarType, number: u16) -> Self {
        Self::new(Kind::Register(ty, number))
    }

    /// The operands in its braces, brackets or parentheses.
    pub fn parts(&self) -> &[Self] {
        match &self.kind {
            Kind::Bracket(parts) | Kind::Vector(parts) | Kind::List(parts) | Kind::Pair(parts) => {
                parts
            }
            _ => &[],
        }
    }

    pub fn parts_mut(&mut self) -> Option<&mut Vec<Self>> {
        match &mut self.kind {
            Kind::Bracket(parts) | Kind::Vector(parts) | Kind::List(parts) | Kind::Pair(parts) => {
                Some(parts)
            }
            _ => None,
        }
    }

    /// The operand as the tables describe it. `parts` are the descriptions of its parts.
    fn written<'a>(&self, parts: &'a [ActualOperand<'a>]) -> ActualOperand<'a> {
        let shape = match self.kind {
            Kind::Register(ty, _) => OperandShape::Register(ty),
            Kind::RegisterVector(ty, n) => OperandShape::RegisterVector(ty, n),
            Kind::Integer(value) => OperandShape::Integer(value),
            Kind::Float => OperandShape::F64(1.0),
            Kind::Single => OperandShape::F32Bits(1.0),
            Kind::Variable(space, ty) => OperandShape::Variable(space, ty),
            Kind::Special(register) => OperandShape::Special(register),
            Kind::SpecialVector(register) => OperandShape::SpecialVector(register),
            Kind::Label => OperandShape::Label,
            Kind::Function(..) => OperandShape::Function,
            Kind::Table(kind, ..) => OperandShape::Table(kind),
            Kind::Sink => OperandShape::Discard,
            Kind::Bracket(_) => OperandShape::Bracket(parts),
            Kind::Vector(_) => OperandShape::Vector(parts),
            Kind::List(_) => OperandShape::List(parts),
            Kind::Pair(_) => match parts.try_into() {
                Ok(halves) => OperandShape::Pair(halves),
                Err(_) => OperandShape::List(parts),
            },
        };
        let mut written = ActualOperand::new(shape);
        written.negated = self.sign == Sign::Minus;
        written.inverted = self.sign == Sign::Not;
        written.lanes = self.lanes.and_then(|l| l.parse::<Selector>().ok());
        written.unified = self.unified;
        written
    }
}

/// Calls `answer` with a query of the instruction. The greatest depth of nested operands is three: `[map, {x, y}]`.
pub fn ask<R>(
    opcode: Opcode,
    modifiers: &[Modifier],
    operands: &[Operand],
    answer: impl FnOnce(&InstQuery<'_>) -> R,
) -> R {
    let elements: Vec<Vec<Vec<ActualOperand<'_>>>> = operands
        .iter()
        .map(|operand| {
            operand
                .parts()
                .iter()
                .map(|part| part.parts().iter().map(|e| e.written(&[])).collect())
                .collect()
        })
        .collect();
    let parts: Vec<Vec<ActualOperand<'_>>> = operands
        .iter()
        .zip(&elements)
        .map(|(operand, elements)| {
            operand
                .parts()
                .iter()
                .zip(elements)
                .map(|(part, elements)| part.written(elements))
                .collect()
        })
        .collect();
    let written: Vec<ActualOperand<'_>> = operands
        .iter()
        .zip(&parts)
        .map(|(operand, parts)| operand.written(parts))
        .collect();
    answer(&InstQuery::new(opcode, modifiers, &written))
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.sign {
            Sign::None => "",
            Sign::Minus => "-",
            Sign::Not => "!",
        })?;
        match &self.kind {
            Kind::Register(ty, number) => write!(f, "{}_{number}", bare(ty.text()))?,
            Kind::RegisterVector(ty, n) => write!(f, "v{n}_{}", bare(ty.text()))?,
            Kind::Integer(value) => write!(f, "{value}")?,
            Kind::Float => f.write_str("1.0")?,
            Kind::Single => f.write_str("0f3F800000")?,
            Kind::Variable(space, ty) => f.write_str(&variable(*space, *ty))?,
            Kind::Special(register) => {
                let component = if register.components() > 1 { ".x" } else { "" };
                write!(f, "{register}{component}")?;
            }
            Kind::SpecialVector(register) => write!(f, "{register}")?,
            Kind::Label => f.write_str("L0")?,
            Kind::Function(results, parameters) => write!(f, "fn_{results}{parameters}")?,
            Kind::Table(TableKind::Calls, results, parameters) => {
                write!(f, "calls_{results}{parameters}")?;
            }
            Kind::Table(TableKind::Prototype, results, parameters) => {
                write!(f, "proto_{results}{parameters}")?;
            }
            Kind::Table(..) => f.write_str("branches")?,
            Kind::Sink => f.write_str("_")?,
            Kind::Bracket(parts) => write_list(f, "[", parts, ", ", "]")?,
            Kind::Vector(parts) => write_list(f, "{", parts, ", ", "}")?,
            Kind::List(parts) => write_list(f, "(", parts, ", ", ")")?,
            Kind::Pair(parts) => write_list(f, "", parts, "|", "")?,
        }
        if self.offset != 0 {
            write!(f, "+{}", self.offset)?;
        }
        f.write_str(self.lanes.unwrap_or(""))?;
        f.write_str(if self.unified { ".unified" } else { "" })
    }
}

fn write_list(
    f: &mut fmt::Formatter<'_>,
    open: &str,
    parts: &[Operand],
    separator: &str,
    close: &str,
) -> fmt::Result {
    f.write_str(open)?;
    for (index, part) in parts.iter().enumerate() {
        write!(f, "{}{part}", if index == 0 { "" } else { separator })?;
    }
    f.write_str(close)
}

/// The name of the variable of a space and a type.
pub fn variable(space: StateSpace, ty: ScalarType) -> String {
    let space = bare(space.text()).replace("::", "_");
    format!("v_{space}_{}", bare(ty.text()))
}

/// A word without its dot.
pub fn bare(word: &str) -> &str {
    word.strip_prefix('.').unwrap_or(word)
}
