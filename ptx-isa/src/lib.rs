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
//! An [`InstQuery`] describes an actual instruction. It returns the form that the instruction matches with all violations
//! ([`InstQuery::select`], [`Violation`]), the targets ([`InstQuery::targets`]) and the first version
//! ([`InstQuery::first_version`]) on which the instruction is legal.
//!
//! ```
//! use ptx_isa::{ActualOperand, InstQuery, Modifier, Opcode, OperandShape, PtxVersion, ScalarType, Target};
//!
//! // `add.rn.f32 %f1, %f2, 0f3F800000;`
//! let register = ActualOperand::new(OperandShape::Register(ScalarType::F32));
//! let one = ActualOperand::new(OperandShape::F32Bits(1.0));
//! let modifiers = [".rn".parse::<Modifier>()?, Modifier::F32];
//! let operands = [register, register, one];
//! let query = InstQuery::new("add".parse::<Opcode>()?, &modifiers, &operands);
//! let selection = query.select(PtxVersion::CURRENT, Target::Sm90)?;
//! assert!(selection.violations().is_empty());
//! assert_eq!(selection.form().section(), "9.7.3.3");
//! assert!(query.targets(PtxVersion::CURRENT).contains(Target::Sm100));
//! assert_eq!(query.first_version(Target::Sm90), Some(PtxVersion::new(7, 8)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The tables are generated from the files in the folder `isa` of this crate and checked in; there is neither a build
//! script nor a procedural macro.
//!
//! What only the parser, the checker and the reports of this toolkit need is hidden from this documentation and may change in any version.
#![no_std]

extern crate alloc;

#[macro_use]
mod keyword_table;
#[macro_use]
mod record;
#[macro_use]
mod expression;

mod check_form;
mod check_operand;
mod check_vector;
mod condition;
#[doc(hidden)]
pub mod describe;
mod directive;
mod effect;
mod foreign;
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

#[doc(hidden)]
pub use condition::Context;
pub use condition::{Cond, OperandTest};
pub use directive::{DirectivePosition, Ending};
pub use effect::{
    AsyncPhase, Completion, Control, ConvergenceScope, Effect, EffectKind, ModifierSource, Proxy,
};
pub use expression::{
    Action, Assignment, Computation, Destination, ErrorBound, ErrorLimit, Expr, ExprFunction,
    MagnitudeRange,
};
#[doc(hidden)]
pub use foreign::{ForeignWord, library_function};
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
pub use keyword_table::UnknownKeyword;
pub use legality::{Deprecation, FormMatch, NoForm};
pub use matching::SlotAssignment;
#[doc(hidden)]
pub use matching::{MAX_MODIFIERS, canonical_order, find_form};
pub use operand::{
    Access, Digits, FormOperand, ImmRange, Length, Nesting, Role, Size, Spaces, TypeExpr,
};
#[doc(hidden)]
pub use operand_binding::{MAX_OPERANDS, OperandBinding, operand_count};
pub use query::{ActualOperand, ConstantKind, InstQuery, OperandShape, TableKind};
#[doc(hidden)]
pub use repair::{ModifierEdit, Repair};
pub use scalar::{RegisterClass, TypeKind};
pub use selector::{Component, SelectedParts, Selector};
pub use target::{Arch, TargetSet};
#[doc(hidden)]
pub use type_compat::{Expected, RegisterWidth};
pub use uniformity::{ResultUniformity, Uniformity};
pub use version::PtxVersion;
pub use violation::{OperandViolation, Violation, Violations};
