//! A lossless, dense representation of NVIDIA PTX, and the lexer beneath it.
//!
//! A [`Module`] keeps the bytes it was read from; every byte belongs to exactly one statement or to
//! the gap between two. Statements are records addressed by typed ids ([`InstId`], [`RegId`], …);
//! operands are eight bytes each; a mnemonic such as `ld.global.nc.v4.f32` is stored once per module
//! as a [`Signature`].
//!
//! This crate has neither a parser nor a printer: see `ptx-parse` and `ptx-print`.
#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
extern crate alloc;

mod body;
mod budget;
mod comments;
pub mod compare;
mod constant;
mod constructors;
mod cow_vec;
mod decl;
mod declaration_spans;
mod diagnostic;
mod edit_log;
mod entity;
mod entity_set;
pub mod facts;
mod fix;
mod function;
mod header;
mod interface_spans;
mod intern;
pub mod lex;
mod limits;
mod memory_layout;
mod module;
mod name;
mod offset_map;
mod operand;
mod operand_walk;
mod parallel;
mod patch;
mod query;
#[doc(hidden)]
pub mod raw;
#[cfg(feature = "render")]
pub mod render;
mod revisions;
mod scopes;
mod share;
mod signature;
mod source_text;
mod span;
mod statement_order;
mod statements;
mod text_change;
mod tiling;
mod trivia_map;

pub use body::{Body, Guard, GuardSense, Inst, Label, Opaque, Scope, Statement};
pub use budget::{Budget, BudgetExhausted};
pub use comments::{CommentPlace, Comments};
pub use constant::{ConstKind, ConstValue};
pub use decl::{
    Attribute, Binding, Declarations, Declarator, Linkage, Param, PointerAttribute, RegDecl,
    Register, Symbol, SymbolKind, TableRange, TypeName, Var, VarDecl,
};
pub use diagnostic::{Applicability, Code, Diagnostic, Note, Severity, sort_by_position};
pub use edit_log::RemovedComments;
pub use entity::{
    AddrId, DeclId, DirectiveId, EntityId, FuncId, ImmId, InstId, ItemId, LabelId, ListId, NameId,
    OpaqueId, OperandRef, PrimaryMap, PrototypeId, RegDeclId, RegId, ScopeId, SectionId, SigId,
    StmtId, SymbolId, VarId,
};
pub use fix::{Fixed, apply_fix, apply_fixes, fix_all};
pub use function::{BodyId, DirectiveStmt, Function, FunctionKind, Interface, Prototype};
pub use header::Header;
pub use limits::Limits;
pub use memory_layout::MemoryLayout;
pub use module::{Item, Module, Section, SectionEntry};
pub use offset_map::OffsetMap;
pub use operand::{Address, AddressForm, Immediate, Operand, OperandPool, OperandRange};
pub use operand_walk::{OperandParts, OperandWalk};
pub use patch::{Patch, Rewritten};
pub use ptx_isa::{Component, Selector};
pub use revisions::Changed;
pub use signature::{Signature, Signatures, Word};
pub use source_text::SourceText;
pub use span::{LineColumn, LineIndex, Span};
