//! The PTX instruction set as data.
//!
//! The keywords of PTX are enums ([`Opcode`], [`Modifier`], [`ScalarType`], [`StateSpace`], [`SpecialReg`],
//! [`Directive`], [`Target`]), each with its text and a look-up by text without allocation. Facts about a keyword are
//! methods of its enum.
//!
//! The method `summary` of instructions and keywords gives one sentence about them, which an editor can show;
//! [`Instruction::examples`] and [`Instruction::pitfalls`] give more.
//!
//! ```
//! use ptx_isa::{Modifier, Opcode, SpecialReg, find_instruction};
//!
//! let opcode: Opcode = "shl".parse()?;
//! let instruction = find_instruction(opcode, &[Modifier::B32]).unwrap();
//! assert_eq!(instruction.summary(), "Shifts a value left and fills it with zeros.");
//! assert_eq!(instruction.examples(), ["shl.b32 %r2, %r1, 4;"]);
//! assert!(SpecialReg::Tid.summary().starts_with("Index of the thread"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The tables are generated from the files in the folder `isa` of this crate and checked in; there is neither a build
//! script nor a procedural macro.
//!
//! The forms of instructions are described by their [syntax](Form::syntax) and notes. The rules by which the parser, the checker and
//! the reports of this toolkit read them are hidden from this documentation, in a module `internals`, and may change in any version;
//! `ptx-verify` says whether an instruction of a module is legal, and on which targets.
#![no_std]

extern crate alloc;

#[macro_use]
mod keyword_table;
#[macro_use]
mod marks;
#[macro_use]
mod record;
#[macro_use]
mod expression;

mod check_form;
mod check_operand;
mod check_vector;
mod condition;
mod describe;
mod directive;
mod effect;
mod foreign;
mod form;
#[rustfmt::skip]
mod generated;
mod hash;
mod instruction;
#[doc(hidden)]
pub mod internals;
mod legality;
mod matching;
mod modifier;
mod operand;
mod operand_binding;
mod query;
mod register;
mod repair;
mod row;
mod scalar;
mod selector;
mod space;
mod target;
mod type_compat;
mod uniformity;
mod version;
mod violation;

pub use effect::{AsyncPhase, Completion, ConvergenceScope, Proxy};
pub use expression::{Action, ExprFunction};
pub use form::{Form, Since};
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
pub use keyword_table::UnknownKeyword;
pub use operand::{Access, Role};
pub use scalar::{RegisterClass, TypeKind};
pub use selector::{Component, SelectedParts, Selector};
pub use target::Arch;
pub use uniformity::{ResultUniformity, Uniformity};
pub use version::PtxVersion;

use internals::*;
