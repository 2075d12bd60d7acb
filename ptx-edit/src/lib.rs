//! Edits of PTX modules that leave every other byte of the text unchanged.
//!
//! An [`Editor`] changes the statements of one function, a [`Cursor`] walks them while editing, and a [`Batch`] applies
//! several edits or none. A [`ModuleEditor`] changes the parts outside of functions: the header, declarations, names, linkage,
//! the order of items. Both are created by methods that [`EditModule`] adds to [`Module`].
//!
//! ```
//! use ptx_edit::EditModule as _;
//! use ptx_ir::Operand;
//! let text = b".version 8.0\n.target sm_80\n.entry k()\n{\n    .reg .b32 %r<3>;\n    add.s32 %r0, %r1, %r2; // sum\n    ret;\n}\n";
//! let mut module = ptx_parse::parse(text).module;
//! let k = module.function("k").ok_or("no kernel")?;
//! let mut editor = module.edit(k)?;
//! let add = editor.body().statements().nth(1).ok_or("no statement")?.0;
//! editor.set_operand(add, 2, Operand::Small(7))?;
//! let r0 = editor.operand(add, 0).ok_or("no operand")?;
//! let sub = editor.inst("sub.s32", &[r0, r0, Operand::Small(1)])?;
//! editor.insert_after(add, sub)?;
//! let text = String::from_utf8(ptx_print::verbatim(&module))?;
//! assert!(text.contains("    add.s32 %r0, %r1, 7; // sum\n    sub.s32 %r0, %r0, 1;\n    ret;\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How the text changes
//!
//! An edit changes the tables of the module at once, so that facts, checks and analyses see the program as it is now. It
//! also records how each statement differs from the source. The source stays; printing copies it and
//! applies the record:
//!
//! * An edit *inside* a statement (an operand, the guard, a modifier, a name, a type) replaces tokens. All other bytes are
//!   unchanged, comments and line endings included.
//! * A *new* statement is on a separate line with the indentation and the line ending of its neighbors; if they share a
//!   line, it is on that line.
//! * A *removed* statement leaves its comments. Its line is removed if nothing else is on it.
//! * A *moved* statement is moved with its lines: the text up to the first newline after it, and the comments on
//!   separate lines above it.
//! * A *replaced* statement is printed in the canonical style. Comments between its tokens are moved before it.
//!
//! # Errors
//!
//! An edit after which a name would denote another entity when the text is parsed again returns an [`EditError`] and changes
//! nothing: a name used where its declaration is not visible, a name that is taken, a label that is still in use.
//! Whether an instruction is valid is a question for `ptx-verify`;
//! [`Module::changed_since`] returns the functions that it has to check again.
//!
//! # Limitations
//!
//! * Comments are not edited: the name of a label in a comment stays.
//! * Names that a debug section mentions cannot be renamed, nor can names that a range such as `N<5>` in a table of branch
//!   targets may denote.
//! * Braces can be inserted, but not moved or removed. A table stays with its label.
//! * Diagnostics refer to the source and quote it: the place of an edited statement, or the neighbor of a new one. Parse the
//!   printed text again for exact ones.
//! * An editor cannot distinguish ids of another function from its own if both have such ids; it can for new statements.
//!
//! # Cost
//!
//! Ids are never reused and nothing is renumbered. The cost of an edit is logarithmic in the number of edits so far. The first
//! edit of a body copies the tables that it shares with its neighbors in the source, which hold 16 KB of source. Operations
//! that search a whole body are linear in it: renaming, and removing or moving a declaration or a label.
#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
extern crate alloc;

mod batch;
mod construct;
mod cursor;
mod declaration;
mod editor;
mod error;
mod fragment;
mod function_directives;
mod header;
mod inst_patch;
mod instruction;
mod item_order;
mod items;
mod linkage;
mod name_conflicts;
mod names;
mod operand_grammar;
mod placement;
mod rename;
mod resolve;
mod rewriting;
mod signature;
mod symbol_visibility;
mod unused_labels;
mod used_by;
mod uses;
mod visibility;

pub use batch::{Batch, Edit};
pub use construct::NewStmt;
pub use cursor::Cursor;
pub use editor::{EditModule, Editor, ModuleEditor};
pub use error::EditError;
pub use names::{Entity, NameRef, Names, OwnSymbols, RenameError, Renaming};
pub use ptx_ir::RemovedComments;
pub use rewriting::Rewriting;
pub use signature::{NewParam, ParamList};
pub use used_by::{UsePlace, UsedBy};

/// Tables of names for the other crates of this project. Not part of the public interface: nothing here is covered by semantic
/// versioning.
#[doc(hidden)]
pub mod raw {
    pub use crate::names::{EntityMap, NameForm, TakenNames, own_symbols};
}

#[cfg(doc)]
use ptx_ir::Module;
