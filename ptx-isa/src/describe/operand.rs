//! Operands as phrases: role, type and properties.

use core::fmt::{self, Display};

use super::{Phrases, condition, operand_name, slot_name, words};
use crate::generated::marks::PHRASES;
use crate::{Access, Cond, Digits, Form, FormOperand, Length, Marks, Role, Size, Spaces, TypeExpr};

/// The role, the type and all other properties of an operand.
#[must_use]
pub fn operand(form: &Form, operand: &FormOperand) -> impl Display {
    super::from_fn(move |f| {
        f.write_str(role(operand))?;
        if operand.ty != TypeExpr::None {
            write!(f, ", {}", type_of(form, operand.ty))?;
        }
        let mut separator = "; ";
        each_detail(form, operand, &mut |phrase| {
            write!(f, "{}{phrase}", core::mem::replace(&mut separator, ", "))
        })
    })
}

/// The role of an operand.
#[must_use]
pub const fn role(operand: &FormOperand) -> &'static str {
    match (operand.role, operand.access) {
        (Role::Def, _) => "written",
        (Role::Use, _) => "read",
        (Role::ReadWrite, _) => "read and written",
        (Role::Addr, Access::None) => "address",
        (Role::Addr, Access::Read) => "address, read",
        (Role::Addr, Access::Write) => "address, written",
        (Role::Addr, Access::ReadWrite) => "address, read and written",
        (Role::Addr, Access::ReadModifyWrite) => "address, atomically updated",
        (Role::Imm, _) => "constant",
        (Role::Label, _) => "label",
        (Role::Func, _) if operand.marks.contains(Marks::REG) => "address of a function",
        (Role::Func, _) => "function",
        (Role::Symbol, _) => "variable",
        (Role::Args, _) => "arguments",
        (Role::Rets, _) => "results",
        (Role::LabelTable, _) => "label of a list or a prototype",
        (Role::Sreg, _) => "special register",
    }
}

/// A type in terms of the slots of the form.
#[must_use]
pub fn type_of(form: &Form, ty: TypeExpr) -> impl Display {
    super::from_fn(move |f| match ty {
        TypeExpr::None => f.write_str("any type"),
        TypeExpr::Scalar(ty) => write!(f, "{ty}"),
        TypeExpr::Slot(slot) => f.write_str(slot_name(form, slot)),
        TypeExpr::Bits(slot) => write!(f, "any type with the width of {}", slot_name(form, slot)),
        TypeExpr::DoubleWidth(slot) => write!(f, "twice the width of {}", slot_name(form, slot)),
        TypeExpr::Container(slot) => write!(f, "register that holds {}", slot_name(form, slot)),
    })
}

/// The properties of an operand besides role and type; may be empty.
#[must_use]
pub fn details(form: &Form, operand: &FormOperand) -> impl Display {
    super::from_fn(move |f| {
        let mut all = Phrases::new(f, ", ");
        each_detail(form, operand, &mut |phrase| all.add(phrase))
    })
}

/// Calls `put` with each property of an operand besides role and type.
fn each_detail(
    form: &Form,
    operand: &FormOperand,
    put: &mut dyn FnMut(fmt::Arguments<'_>) -> fmt::Result,
) -> fmt::Result {
    match operand.role {
        Role::Use if operand.marks.contains(Marks::DISCARD_ONLY) => {}
        Role::Use if operand.marks.contains(Marks::REG) => put(format_args!("register"))?,
        Role::Use => put(format_args!("register or constant"))?,
        _ => {}
    }
    if let Some(range) = operand.range {
        let (low, high, step) = (range.low, range.high, range.step);
        match step {
            _ if low == high => put(format_args!("the constant {low}"))?,
            0 => put(format_args!("powers of two from {low} to {high}"))?,
            1 => put(format_args!("constants {low} to {high}"))?,
            _ => put(format_args!("constants {low} to {high} in steps of {step}"))?,
        }
    }
    if operand.length != Length::Scalar {
        put(format_args!("{}", length(form, operand.length)))?;
    }
    for &(mark, text) in PHRASES {
        if operand.marks.contains(mark) {
            put(format_args!("{text}"))?;
        }
    }
    match operand.spaces {
        Spaces::Any => {}
        Spaces::Slot(slot) => put(format_args!("in {}", slot_name(form, slot)))?,
        Spaces::OneOf(list) => put(format_args!("{}", spaces(list, None)))?,
        Spaces::GenericOr(list) => put(format_args!("{}", spaces(list, Some("generic memory"))))?,
    }
    match operand.size {
        Size::Unknown => {}
        Size::Fixed(bytes) => put(format_args!("{bytes} bytes"))?,
        Size::Like(other) => put(format_args!(
            "as many bytes as {} holds",
            operand_name(form, other)
        ))?,
        Size::Value(other) => put(format_args!("{} bytes", operand_name(form, other)))?,
    }
    if operand.align > 0 {
        put(format_args!("aligned to {} bytes", operand.align))?;
    }
    match operand.condition {
        Some(iff) => put(format_args!("present exactly if {}", condition(form, &iff))),
        None if operand.is_optional => put(format_args!("optional")),
        None => Ok(()),
    }
}

fn spaces(list: &[crate::Modifier], generic: Option<&str>) -> impl Display {
    super::from_fn(move |f| {
        f.write_str("in ")?;
        let mut all = Phrases::new(f, " or ");
        list.iter()
            .try_for_each(|word| all.add(format_args!("{word}")))?;
        generic.map_or(Ok(()), |generic| all.add(format_args!("{generic}")))
    })
}

fn length(form: &Form, length: Length) -> impl Display {
    super::from_fn(move |f| match length {
        Length::Scalar => Ok(()),
        Length::Fixed(n) => write!(f, "vector of {n} elements"),
        Length::Slot(slot) => write!(f, "vector of the length in {}", slot_name(form, slot)),
        Length::Table => f.write_str("vector with the length in the table"),
        Length::Fragment(slot) => {
            write!(
                f,
                "vector with the part of {} that one thread holds",
                slot_name(form, slot)
            )
        }
        Length::Product(factors, divisor) => {
            f.write_str("vector of ")?;
            let mut all = Phrases::new(f, " × ");
            factors.iter().try_for_each(|(slot, digits)| match digits {
                Digits::First => all.add(format_args!("{}", slot_name(form, *slot))),
                Digits::Last => all.add(format_args!("{} (last number)", slot_name(form, *slot))),
            })?;
            match divisor {
                1 => f.write_str(" elements"),
                n => write!(f, " / {n} elements"),
            }
        }
        Length::Cases(cases) => {
            f.write_str("vector of ")?;
            let mut all = Phrases::new(f, ", ");
            cases.iter().try_for_each(|(when, n)| match when {
                Cond::Always => all.add(format_args!("{n}")),
                Cond::Holds(_, set) => all.add(format_args!("{n} for {}", words(set.as_slice()))),
                when => all.add(format_args!("{n} if {}", condition(form, when))),
            })
        }
    })
}
