//! Builds NVIDIA PTX modules from Rust. Each statement is legal for the target of the module, or refused with the diagnostics
//! of `ptx-verify`.
//!
//! ```
//! use ptx_build::{ModuleBuilder, at};
//! use ptx_isa::{PtxVersion, ScalarType as T, Target};
//!
//! # fn main() -> Result<(), ptx_build::BuildError> {
//! let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
//! let mut k = m.kernel("fill")?;
//! let to = k.param(T::U64, "to")?;
//! let (a, b, c, d) = (k.reg(T::F32), k.reg(T::F32), k.reg(T::F32), k.reg(T::F32));
//! let addr = k.reg(T::B64);
//! k.ld().param().u64((addr, at(to)))?;
//! k.ld().global().nc().v4().f32(([a, b, c, d], addr + 16))?;
//! k.add().rn().f32((a, b, c))?;
//! k.st().global().f32((at(addr), a))?;
//! let refused = k.add().s32((a, b, 1)).unwrap_err();
//! assert!(refused.to_string().contains("PTX0506"), "{refused}");
//! k.ret().emit(())?;
//! k.finish()?;
//! let module = m.finish()?;
//! assert_eq!(module.definitions().count(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Statements
//!
//! Every opcode is a method of [`FunctionBuilder`], every modifier one of [`InstBuilder`]. Names follow from the spelling: `::` and
//! inner dots become `_`, capitals become small, a leading digit gets a `d`, a keyword of Rust a trailing `_`: `.shared::cta` is
//! `shared_cta`, `.1d` is `d1d`, `match` is `match_`, `.NaN` (beside `.nan`) is
//! `nan_`. The type ends the statement with its operands; where more
//! modifiers follow a type, `of_` before it goes on. [`InstBuilder::emit`] ends a statement without a type, or with a number of
//! operands that is not the usual one of the opcode. [`FunctionBuilder::inst`] takes a whole mnemonic.
//!
//! # How it works
//!
//! Each statement becomes IR records. Whether an instruction is legal is a question to the instruction table of
//! `ptx-isa`, asked once for each mnemonic and shape of operands ([`ptx_ir::raw::query`]); `ptx-verify` applies the other rules to
//! the records. A refused statement changes nothing. The result of [`ModuleBuilder::finish`] is a [`Module`](ptx_ir::Module) without
//! a source, to be printed, analyzed or edited. [`ModuleBuilder::finish_with_source`] prints and parses it, so that statements
//! have places in a text.
#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
extern crate alloc;

mod call;
mod check;
mod copy;
mod declaration;
mod declaration_text;
mod declared;
mod draft;
mod error;
mod fragment;
mod function;
mod generated;
mod handle;
mod handle_owner;
mod inline;
#[cfg(feature = "edit")]
mod insertion;
mod interface;
mod lexical;
mod mnemonic;
mod module;
mod name_scope;
mod name_table;
mod number;
mod operand;
mod operand_count;
mod section;
mod sequence;
mod statement;
mod template;
mod writer;

pub use call::Argument;
pub use declaration::{Declaration, DeclarationAttribute, Init};
pub use error::{BuildError, BuildErrorKind};
pub use fragment::AsmReport;
pub use function::{BranchTarget, FunctionBuilder, PausedFunction};
pub use handle::{CodeLabel, Func, Reg, RegRange, Variable};
pub use inline::{AsmOperand, check_asm, check_inline_asm};
#[cfg(feature = "edit")]
pub use insertion::{InsertStatements, Insertion};
pub use interface::FunctionHeader;
pub use module::ModuleBuilder;
pub use number::Number;
pub use operand::{
    AddressExpr, Discard, IntoOperand, IntoOperands, OperandExpr, at, bracket, pair, select,
};
pub use section::{Datum, DatumValue};
pub use statement::InstBuilder;
pub use template::AsmStyle;
