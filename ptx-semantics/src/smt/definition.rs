//! The functions of an instruction.

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
use ptx_isa::{
    Assignment, Computation, Destination, Expr, Form, FormOperand, Length, Modifier, Opcode, Role,
    ScalarType, SlotAssignment, find_instruction,
};

/// What kind of term it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Sort {
    /// `Bool`.
    Bool,
    /// A bit vector of this width.
    BitVec(u32),
}

impl Sort {
    /// That of the values of a type.
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
    /// What it depends on.
    pub parameters: Vec<Parameter>,
    /// What the result is.
    pub sort: Sort,
    /// The result as a term.
    pub body: String,
    /// What the form computes, in the notation of the tables.
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
    let is_simple = |c: char| c.is_ascii_alphanumeric() || "~!@$%^&*_-+=<>.?/".contains(c);
    match name.chars().all(is_simple) {
        true => name.to_string(),
        false => format!("|{name}|"),
    }
}

/// The functions that an instruction computes: one for each result, and one for the carry flag if it writes that. If the number of sources
/// is not determined by the modifiers, there are functions for each number, and the name of all but the first ends with the number: `max.f32/3`.
/// A vector is one source, with the first element lowest. The functions are those of registers and constants: a special register or the
/// address of a variable as a source has none.
///
/// # Errors
///
/// The tables do not state what it computes, or that is expressible for no form of its operands.
pub fn definitions(
    opcode: Opcode,
    modifiers: &[Modifier],
) -> Result<Vec<Definition>, NotExpressible> {
    let instruction = find_instruction(opcode, modifiers).ok_or(NotExpressible::Unknown)?;
    let free = modifiers.get(instruction.words().len()..);
    let free = free.ok_or(NotExpressible::Unknown)?;
    let mut found: Vec<Definition> = Vec::new();
    let mut counts: Vec<usize> = Vec::new();
    let mut reason = NotExpressible::Unknown;
    for form in instruction.forms() {
        let Some(slots) = form.match_modifiers(free) else {
            continue;
        };
        let refused = form.computation().and_then(refusal);
        if let Some(refused) = refused {
            reason = NotExpressible::Construct(refused);
            continue;
        }
        let operands = vec![None; given(form, &slots)];
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
        if !found.is_empty() {
            name += &format!("/{count}");
        }
        counts.push(count);
        // Another form may be expressible, such as that of registers beside that of special registers.
        match functions(&inputs, &name) {
            Ok(functions) => found.extend(functions),
            Err(refused) => reason = refused,
        }
    }
    match found.is_empty() {
        false => Ok(found),
        true => Err(reason),
    }
}

/// Why what is computed is not a function of the values of the sources.
pub(super) fn refusal(computation: &Computation) -> Option<&'static str> {
    if computation.is_approximate() {
        return Some("an approximation");
    }
    let reads = |e: &Expr| matches!(e, Expr::Memory(_));
    let mut assignments = computation.assignments().iter();
    let in_memory =
        |a: &Assignment| matches!(a.target(), Destination::Memory(_)) || a.value().any(&reads);
    assignments.any(in_memory).then_some("a value in memory")
}

/// The sources that an instruction of a form has, with their indices.
pub(super) fn sources(
    form: &'static Form,
    slots: &SlotAssignment,
) -> impl Iterator<Item = (usize, &'static FormOperand)> {
    let is_present = |o: &FormOperand| o.condition().is_none_or(|c| c.decide(slots) != Some(false));
    let operands = form.operands().iter().enumerate();
    operands.filter(move |(_, o)| is_source(o) && is_present(o))
}

/// How many values a form reads.
pub(super) fn given(form: &'static Form, slots: &SlotAssignment) -> usize {
    let counts = sources(form, slots).map(|(_, operand)| match operand.length() {
        Length::Slot(slot) => {
            let modifier = slots.word(slot.into());
            modifier
                .and_then(Modifier::vector_len)
                .map_or(1, usize::from)
        }
        _ => 1,
    });
    counts.sum()
}

/// The functions of a form.
fn functions(inputs: &Inputs<'_>, name: &str) -> Result<Vec<Definition>, NotExpressible> {
    let mut translation = Translation::new(inputs)?;
    let operands = inputs.form.operands();
    let first = operands.iter().position(|o| o.role() == Role::Def);
    let mut found = Vec::new();
    for (destination, term, sort) in translation.results()? {
        let name = match destination {
            Destination::Operand(at) if Some(usize::from(at)) == first => name.to_string(),
            Destination::Operand(at) => {
                let operand = operands.get(usize::from(at));
                format!("{name}.{}", operand.map_or("", |o| o.name()))
            }
            _ => format!("{name}.{CARRY}"),
        };
        found.push(Definition {
            name,
            parameters: parameters(inputs, &translation.terms, term, sort),
            sort,
            body: translation.terms.print(term),
            computes: inputs.form.computation().map_or("", |c| c.text()),
        });
    }
    Ok(found)
}

/// The carry flag as a parameter.
pub(super) const CARRY: &str = "carry";
/// What is left open, as a parameter.
pub(super) const UNDEFINED: &str = "undefined";

/// All sources, and what else a term depends on.
fn parameters(inputs: &Inputs<'_>, terms: &Terms, term: Term, sort: Sort) -> Vec<Parameter> {
    let sources = sources(inputs.form, inputs.slots).map(|(at, operand)| Parameter {
        name: operand.name().to_string(),
        sort: inputs.value_type(at).map_or(Sort::BitVec(64), Sort::of),
    });
    let others = [(CARRY, Sort::Bool), (UNDEFINED, sort)];
    let others = others
        .into_iter()
        .filter(|(name, _)| terms.mentions(term, name));
    let others = others.map(|(name, sort)| Parameter {
        name: name.to_string(),
        sort,
    });
    sources.chain(others).collect()
}
