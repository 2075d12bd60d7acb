//! Changing a module: an [`Editor`] for the statements of a function, a [`Cursor`] that walks them, [`Batch`]es, names,
//! declarations and the header.
//!
//! # What an edit does
//!
//! It changes the tables of the [`Module`](crate::Module) at once, so that facts, checks and analyses see the program as it is now, and
//! notes beside them which statements no longer are what their source says. The source itself stays. Printing copies what
//! lies between and writes the rest:
//!
//! * A statement that was *rewritten* (another operand, guard or mnemonic) is printed in canonical spelling where it stood.
//!   Comments inside it move in front of it.
//! * A statement that was *patched* (a name, a type, a number of a declaration, the header) keeps every other byte, also its
//!   own white space and comments.
//! * A *new* statement stands on a line of its own with the indentation and the line ending of its neighbours; where they
//!   share a line, it joins them.
//! * A *removed* statement leaves its comments. The line goes if nothing else is on it.
//! * A statement that *moved* takes its lines along: the text up to the first newline behind it, and the comments on lines
//!   of their own before it.
//!
//! Every other byte stays as it was.
//!
//! # Limitations
//!
//! * A rewritten statement loses its own white space and the order of its modifiers, as in canonical printing.
//! * The comments in the body of a function that is removed go with it. What comments say is not edited: a label's name in one stays.
//! * Names that debug sections mention cannot be renamed, nor can one of which a range like `N<5>` in a table of targets may speak.
//! * Braces cannot be placed, moved or removed; tables behind a label stay behind it.
//! * Diagnostics point into the source: at the place of what was edited, or behind the neighbour of what is new, whose words they cannot quote.
//!   Reading the printed text again gives exact ones.
//! * The editor cannot tell ids of another function from its own where both have them; drafts it can, of one module.
//!
//! # What it costs
//!
//! Ids are never reused and nothing is renumbered; the order of statements is that of their ids but for what was placed
//! elsewhere. An edit costs the logarithm of the number of edits so far. The first edit of a body copies those of its tables that it shares with its
//! neighbours in the source, 16 KB of which share them. Questions to a whole body are linear in it: renaming, and removing or moving a declaration or a label,
//! which looks for uses.
//!
//! # Misuse
//!
//! An edit that would make a name mean something else when the text is read again is refused with an [`EditError`], and
//! nothing has changed: a use where the declaration cannot be seen, a name that is taken, a label that is in use. Whether an instruction is
//! legal is a question to `ptx-verify`: [`Module::changed_since`](crate::Module::changed_since) says what it has to look at again.
//!
//! ```
//! use ptx_ir::Operand;
//! let text = b".version 8.0\n.target sm_80\n.entry k()\n{\n    .reg .b32 %r<3>;\n    add.s32 %r0, %r1, %r2; // sum\n    ret;\n}\n";
//! let mut module = ptx_parse::parse(text).module;
//! let k = module.function("k").expect("it is there");
//! let mut editor = module.edit(k)?;
//! let add = editor.body().statements().nth(1).expect("an addition").0;
//! editor.set_operand(add, 2, Operand::Small(7))?;
//! let r0 = editor.operand(add, 0).expect("it has one");
//! let sub = editor.inst("sub.s32", &[r0, r0, Operand::Small(1)])?;
//! editor.insert_after(add, sub)?;
//! let text = String::from_utf8(ptx_print::verbatim(&module))?;
//! assert!(text.contains("    add.s32 %r0, %r1, 7; // sum\n    sub.s32 %r0, %r0, 1;\n    ret;\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
mod construct;
mod cursor;
mod declaration;
mod edit_log;
mod editor;
mod error;
mod header;
mod interface;
mod item_order;
mod items;
mod offset_map;
mod operand_grammar;
mod operand_walk;
mod rename;
mod statement_order;
mod unused_labels;
mod visibility;

pub use batch::{Batch, Edit};
pub use construct::NewStmt;
pub use cursor::Cursor;
pub use edit_log::{Change, Changed, Edits, Patch};
pub use editor::Editor;
pub use error::EditError;
pub use offset_map::OffsetMap;

/// `docs/editing.md`, whose examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/editing.md")]
struct Tour;
