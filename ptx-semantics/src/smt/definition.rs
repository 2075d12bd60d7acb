//! The definitions of the functions that an instruction computes.

use super::NotExpressible;
use super::term::{Term, Terms};
use super::translate::Translation;
use crate::fold::Video;
use crate::fold::computation::{Inputs, is_source};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use ptx_isa::internals::{Computation, Destination, Expr, FormOperand, Length, SlotAssignment};
use ptx_isa::{Form, Modifier, Opcode, Role, ScalarType, find_instruction};

/// A sort, which terms have.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Sort {
    /// `Bool`.
    Bool,
    /// A bit vector of this width.
    BitVec(u32),
}

impl Sort {
    /// Returns the sort that the values of a type have.
    pub(super) fn of(ty: ScalarType) -> Self {
        match ty {
            ScalarType::Pred => Self::Bool,
            _ => Self::BitVec(ty.bits().into()),
        }
    }
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => f.write_str("Bool"),
            Self::BitVec(width) => write!(f, "(_ BitVec {width})"),
        }
    }
}

/// A parameter of a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Parameter {
    /// The name of a source in the PTX ISA manual, `carry` or `undefined`.
    pub name: String,
    /// Its sort.
    pub sort: Sort,
}

/// A function that an instruction computes. `Display` writes it as `define-fun`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Definition {
    /// The instruction; for results but the first one, with the name of the result, or `.carry` for the carry flag.
    pub name: String,
    /// The parameters: all sources, and further values on which the result depends.
    pub parameters: Vec<Parameter>,
    /// The result's sort.
    pub sort: Sort,
    /// The result as a term.
    pub body: String,
    /// The computation of the form in the notation of the tables.
    pub computes: &'static str,
}

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(define-fun {} (", symbol(&self.name))?;
        for (i, parameter) in self.parameters.iter().enumerate() {
            let space = if i > 0 { " " } else { "" };
            write!(f, "{space}({} {})", parameter.name, parameter.sort)?;
        }
        write!(f, ") {}\n{})", self.sort, self.body)
    }
}

/// A name as a symbol of SMT-LIB.
fn symbol(name: &str) -> String {
    let is_simple = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "~!@$%^&*_-+=<>.?/".contains(c));
    if is_simple {
        name.to_string()
    } else {
        format!("|{name}|")
    }
}

/// The functions that an instruction computes: one for each result, and one for the carry flag if the instruction writes it. If the modifiers do
/// not determine the number of sources, there are functions for each number, and their names end with the number, as `max.f32/3`, except those for
/// the first number. A vector is one source, with the first element lowest. The sources are registers and constants: there are no functions of
/// special registers or addresses of variables.
///
/// # Errors
///
/// The tables do not state what the instruction computes, or it is expressible for no form of its operands.
pub fn definitions(
    opcode: Opcode,
    modifiers: &[Modifier],
) -> Result<Vec<Definition>, NotExpressible> {
    let instruction = find_instruction(opcode, modifiers).ok_or(NotExpressible::Unknown)?;
    let choices = modifiers
        .get(instruction.words().len()..)
        .ok_or(NotExpressible::Unknown)?;
    let mut definitions: Vec<Definition> = Vec::new();
    let mut counts: Vec<usize> = Vec::new();
    let mut reason = NotExpressible::Unknown;
    for form in instruction.forms() {
        let Some(slots) = form.match_modifiers(choices) else {
            continue;
        };
        if let Some(construct) = form.computation().and_then(inexpressible_construct) {
            reason = NotExpressible::Construct(construct);
            continue;
        }
        let operands = vec![None; value_count(form, &slots)];
        let count = sources(form, &slots).count();
        let inputs = Inputs {
            form,
            slots: &slots,
            modifiers,
            operands: &operands,
            carry: None,
            video: Video::default(),
            choose: false,
        };
        if !inputs.fit() || !inputs.are_legal() {
            continue;
        }
        if reason == NotExpressible::Unknown {
            reason = NotExpressible::Unstated;
        }
        if form.computation().is_none() || counts.contains(&count) {
            continue;
        }
        let mut name = opcode.text().to_string();
        modifiers.iter().for_each(|m| name += m.text());
        if !definitions.is_empty() {
            name += &format!("/{count}");
        }
        counts.push(count);
        // Another form may be expressible, such as that of registers beside that of special registers.
        match functions(&inputs, &name) {
            Ok(functions) => definitions.extend(functions),
            Err(error) => reason = error,
        }
    }
    if definitions.is_empty() {
        Err(reason)
    } else {
        Ok(definitions)
    }
}

/// The construct because of which a result is not a function of the values of the sources; `None` if it is one.
pub(super) fn inexpressible_construct(computation: &Computation) -> Option<&'static str> {
    if computation.is_approximate() {
        return Some("an approximation");
    }
    let reads_memory = |expr: &Expr| matches!(expr, Expr::Memory(_));
    let accesses_memory = computation.assignments().iter().any(|assignment| {
        matches!(assignment.target(), Destination::Memory(_))
            || assignment.value().any(&reads_memory)
    });
    accesses_memory.then_some("a value in memory")
}

/// The sources of an instruction of a form, with their indices among the operands.
pub(super) fn sources(
    form: &'static Form,
    slots: &SlotAssignment,
) -> impl Iterator<Item = (usize, &'static FormOperand)> {
    form.operands()
        .iter()
        .enumerate()
        .filter(|(_, operand)| is_source(operand))
        .filter(move |(_, operand)| {
            operand
                .condition()
                .is_none_or(|condition| condition.decide(slots) != Some(false))
        })
}

/// The number of values that an instruction of a form reads. Each element of a vector is a value.
pub(super) fn value_count(form: &'static Form, slots: &SlotAssignment) -> usize {
    sources(form, slots)
        .map(|(_, operand)| match operand.length() {
            Length::Slot(slot) => slots
                .word(slot.into())
                .and_then(Modifier::vector_len)
                .map_or(1, usize::from),
            _ => 1,
        })
        .sum()
}

/// The functions of a form.
fn functions(inputs: &Inputs<'_>, name: &str) -> Result<Vec<Definition>, NotExpressible> {
    let mut translation = Translation::new(inputs)?;
    let operands = inputs.form.operands();
    let first_result = operands.iter().position(|o| o.role() == Role::Def);
    let mut definitions = Vec::new();
    for (destination, term, sort) in translation.results()? {
        let name = match destination {
            Destination::Operand(index) if Some(usize::from(index)) == first_result => {
                name.to_string()
            }
            Destination::Operand(index) => {
                let operand = operands.get(usize::from(index));
                format!("{name}.{}", operand.map_or("", |o| o.name()))
            }
            _ => format!("{name}.{CARRY}"),
        };
        definitions.push(Definition {
            name,
            parameters: parameters(inputs, &translation.terms, term, sort),
            sort,
            body: translation.terms.print(term),
            computes: inputs.form.computation().map_or("", |c| c.text()),
        });
    }
    Ok(definitions)
}

/// The carry flag as a parameter.
pub(super) const CARRY: &str = "carry";
/// The undefined bits as a parameter.
pub(super) const UNDEFINED: &str = "undefined";

/// The parameters of a function with this term: all sources, and the carry flag and undefined bits if the term depends on them.
fn parameters(inputs: &Inputs<'_>, terms: &Terms, term: Term, sort: Sort) -> Vec<Parameter> {
    let sources = sources(inputs.form, inputs.slots).map(|(index, operand)| Parameter {
        name: operand.name().to_string(),
        sort: inputs.value_type(index).map_or(Sort::BitVec(64), Sort::of),
    });
    let further_parameters = [(CARRY, Sort::Bool), (UNDEFINED, sort)]
        .into_iter()
        .filter(|(name, _)| terms.mentions(term, name))
        .map(|(name, sort)| Parameter {
            name: name.to_string(),
            sort,
        });
    sources.chain(further_parameters).collect()
}
