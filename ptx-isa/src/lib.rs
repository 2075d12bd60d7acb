//! The PTX instruction set as data.
//!
//! The words of PTX are enums ([`Opcode`], [`Modifier`], [`ScalarType`], [`StateSpace`], [`SpecialReg`],
//! [`Directive`], [`Target`]), each with its text and a look-up by text that allocates nothing. Facts about a word are
//! methods of its enum.
//!
//! Everything is generated from the tables in the folder `isa` of this crate and checked in; there is neither a build
//! script nor a procedural macro.
#![no_std]

#[cfg(test)]
extern crate std;

#[macro_use]
mod words;

mod condition;
mod directive;
mod effect;
mod form;
mod generated;
mod hash;
mod instruction;
mod lanes;
mod matching;
mod modifier;
mod operand;
mod register;
mod scalar;
mod space;
mod target;
mod version;

pub use condition::{Cond, Context, OperandTest};
pub use directive::{Ending, Place};
pub use effect::{Completion, Control, Effect, EffectKind, Group, Proxy, Step, Word};
pub use form::{Cell, Floor, Form, Row, Rule, RuleKind, Slot, Table, TokenSet};
pub use generated::class::ModifierClass;
pub use generated::directive::Directive;
pub use generated::modifier::Modifier;
pub use generated::opcode::Opcode;
pub use generated::register::SpecialReg;
pub use generated::scalar::ScalarType;
pub use generated::space::StateSpace;
pub use generated::target::Target;
pub use generated::target_option::TargetOption;
pub use instruction::{Instruction, find_instruction};
pub use lanes::LaneSelector;
pub use matching::{MAX_MODIFIERS, SlotAssignment, canonical_order, find_form};
pub use operand::{Access, ImmRange, Length, Marks, Operand, Role, Spaces, TypeExpr, Within};
pub use scalar::{RegisterClass, TypeKind};
pub use target::{Arch, TargetSet};
pub use version::PtxVersion;
