//! The PTX instruction set as data.
//!
//! The words of PTX are enums ([`Opcode`], [`Modifier`], [`ScalarType`], [`StateSpace`], [`SpecialReg`],
//! [`Directive`], [`Target`]), each with its text and a look-up by text that allocates nothing. Facts about a word are
//! methods of its enum.
//!
//! A [`Request`] describes an instruction as it is written. It answers which form it is ([`Request::select`]) or why
//! it is none ([`Problem`]), and the other way round on which targets ([`Request::targets`]) and from which version on
//! ([`Request::first_version`]) it is legal.
//!
//! Everything is generated from the tables in the folder `isa` of this crate and checked in; there is neither a build
//! script nor a procedural macro.
#![no_std]

#[cfg(test)]
extern crate std;

#[macro_use]
mod words;

mod bind;
mod condition;
pub mod describe;
mod directive;
mod effect;
mod element;
mod fit;
mod form;
mod generated;
mod hash;
mod instruction;
mod judge;
mod legality;
mod matching;
mod modifier;
mod operand;
mod problem;
mod register;
mod scalar;
mod selector;
mod space;
mod target;
mod version;
mod written;

pub use bind::{Binding, MAX_OPERANDS, operand_count};
pub use condition::{Cond, Context, OperandTest};
pub use directive::{Ending, Place};
pub use effect::{Completion, Control, Effect, EffectKind, Group, Proxy, Step, Word};
pub use fit::Expected;
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
pub use legality::{Deprecation, Mismatch, Selection};
pub use matching::{MAX_MODIFIERS, SlotAssignment, canonical_order, find_form};
pub use operand::{Access, ImmRange, Length, Marks, Operand, Role, Size, Spaces, TypeExpr, Within};
pub use problem::{OperandProblem, Problem, Problems};
pub use scalar::{RegisterClass, TypeKind};
pub use selector::Selector;
pub use target::{Arch, TargetSet};
pub use version::PtxVersion;
pub use written::{Request, Shape, TableKind, Written};
