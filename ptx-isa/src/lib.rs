//! The PTX instruction set as data.
//!
//! The words of PTX are enums ([`Opcode`], [`Modifier`], [`ScalarType`], [`StateSpace`], [`SpecialReg`],
//! [`Directive`], [`Target`]), each with its text and a look-up by text that allocates nothing. Facts about a word are
//! methods of its enum.
//!
//! A [`InstQuery`] describes an instruction as it is written. It answers which form it is ([`InstQuery::select`]) or why
//! it is none ([`Violation`]), and the other way round on which targets ([`InstQuery::targets`]) and from which version on
//! ([`InstQuery::first_version`]) it is legal.
//!
//! Everything is generated from the tables in the folder `isa` of this crate and checked in; there is neither a build
//! script nor a procedural macro.
#![no_std]

#[cfg(test)]
extern crate std;

#[macro_use]
mod keyword_table;

mod check_form;
mod check_operand;
mod condition;
pub mod describe;
mod directive;
mod effect;
mod form;
#[rustfmt::skip]
mod generated;
mod hash;
mod instruction;
mod legality;
mod matching;
mod modifier;
mod operand;
mod operand_binding;
mod query;
mod register;
mod row;
mod scalar;
mod selector;
mod space;
mod target;
mod type_compat;
mod version;
mod violation;

pub use condition::{Cond, Context, OperandTest};
pub use directive::{DirectivePosition, Ending};
pub use effect::{
    AsyncPhase, Completion, Control, ConvergenceScope, Effect, EffectKind, ModifierSource, Proxy,
};
pub use form::{Cell, Enforcement, Form, ModifierSet, Row, Rule, RuleKind, Since, Slot, Table};
pub use generated::class::ModifierClass;
pub use generated::directive::Directive;
pub use generated::marks::Marks;
pub use generated::modifier::Modifier;
pub use generated::opcode::Opcode;
pub use generated::register::SpecialReg;
pub use generated::scalar::ScalarType;
pub use generated::space::StateSpace;
pub use generated::target::Target;
pub use generated::target_option::TargetOption;
pub use instruction::{Instruction, find_instruction};
pub use legality::{Deprecation, FormMatch, NoForm};
pub use matching::{MAX_MODIFIERS, SlotAssignment, canonical_order, find_form};
pub use operand::{Access, ImmRange, Length, Nesting, Operand, Role, Size, Spaces, TypeExpr};
pub use operand_binding::{Binding, MAX_OPERANDS, operand_count};
pub use query::{ActualOperand, InstQuery, OperandShape, TableKind};
pub use scalar::{RegisterClass, TypeKind};
pub use selector::Selector;
pub use target::{Arch, TargetSet};
pub use type_compat::Expected;
pub use version::PtxVersion;
pub use violation::{OperandViolation, Violation, Violations};
