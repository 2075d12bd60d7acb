//! The internals of this crate, for the other crates of this project: the rules of the forms of instructions, and the queries that
//! apply them.
//!
//! **Not part of the public interface**: neither this module nor a hidden item of this crate is covered by semantic versioning.
//! Internals have no other path.
//!
//! An [`InstQuery`] describes an actual instruction. It returns the form that the instruction matches with all violations
//! ([`InstQuery::select`], [`Violation`]), the targets ([`InstQuery::targets`]) and the first version
//! ([`InstQuery::first_version`]) on which the instruction is legal.
//!
//! ```
//! use ptx_isa::internals::{ActualOperand, InstQuery, OperandShape};
//! use ptx_isa::{Modifier, Opcode, PtxVersion, ScalarType, Target};
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

pub use crate::condition::{Cond, Context, OperandTest};
/// The words with which instructions are explained.
pub mod describe {
    pub use crate::describe::*;
}
pub use crate::directive::{DirectivePosition, Ending};
pub use crate::effect::{Control, Effect, EffectKind, ModifierSource};
pub use crate::expression::{
    Assignment, Computation, Destination, ErrorBound, ErrorLimit, Expr, MagnitudeRange,
};
pub use crate::foreign::{ForeignWord, library_function};
pub use crate::form::{Cell, Enforcement, ModifierSet, Row, Rule, RuleKind, Slot, Table};
pub use crate::legality::{Deprecation, FormMatch, NoForm};
pub use crate::matching::{MAX_MODIFIERS, SlotAssignment, canonical_order, find_form};
pub use crate::operand::{Digits, FormOperand, ImmRange, Length, Nesting, Size, Spaces, TypeExpr};
pub use crate::operand_binding::{MAX_OPERANDS, OperandBinding, operand_count};
pub use crate::query::{ActualOperand, ConstantKind, InstQuery, OperandShape, TableKind};
pub use crate::repair::{ModifierEdit, Repair};
pub use crate::target::TargetSet;
pub use crate::type_compat::{Expected, RegisterWidth};
pub use crate::violation::{OperandViolation, Violation, Violations};
