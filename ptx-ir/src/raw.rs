//! The internals of this crate, for the other crates of this project: write access to the tables of a [`Module`] and a [`Body`],
//! the record of edits, and the pieces of the lexer, the parser, the checker and the printer that several crates share.
//!
//! **Not part of the public interface**: neither this module nor a hidden item of this crate is covered by semantic versioning.
//! Internals have no other path. No module of this crate imports this one. Tables can be written only through the traits
//! [`RawBody`] and [`RawModule`], so that the imports of a file show whether it writes them.
//!
//! Code that writes tables must keep the invariants that readers rely on: every byte of the source belongs to
//! one statement or to the gap between two, each statement has a span, and ids stay in range. In a body or a module that is in
//! no source, all spans are empty.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::body::{Body, Inst, Label, Opaque, Scope, Statement};
use crate::comments::Comments;
use crate::cow_vec::CowVec;
use crate::decl::{Declarations, Param, RegDecl, Register, Symbol, Var};
use crate::entity::{EntityId, PrimaryMap};
use crate::function::{BodyId, DirectiveStmt, Function, Prototype};
use crate::header::Header;
use crate::module::{Item, Module, Section};
use crate::operand::OperandPool;
use crate::signature::Signatures;
use crate::source_text::SourceText;
use crate::{
    DirectiveId, FuncId, InstId, ItemId, LabelId, OpaqueId, PrototypeId, RegDeclId, RegId, ScopeId,
    SectionId, Span, StmtId, SymbolId, VarId,
};

pub use crate::body::StmtSpan;
pub use crate::constant::{ConstError, Expression, continues_expression, read_expression};
pub use crate::declaration_spans::{DeclarationSpans, DeclaratorSpans};
pub use crate::edit_log::{Change, Edits, NewText, Patch};
pub use crate::entity_set::EntitySet;
pub use crate::interface_spans::{InterfaceSpans, ListSpans};
pub use crate::intern::Interner;
pub use crate::operand_walk::OperandSlot;
pub use crate::patch::{Piece, TextPatches, pieces};
pub use crate::scopes::add_scope;
pub use crate::share::{
    SHARED_TEXT, body_with_capacity, clear, finish, share, split_off, without_tables,
};
pub use crate::span::LineCursor;
pub use crate::statement_order::Position;
pub use crate::text_change::TextChange;

/// Declares modules with the public items of other modules of this crate.
macro_rules! internal_modules {
    ($($(#[$doc:meta])* $name:ident = $path:path;)*) => {
        $(
            $(#[$doc])*
            pub mod $name {
                pub use $path::*;
            }
        )*
    };
}

internal_modules! {
    /// The words of a statement that can be names.
    ident_tokens = crate::lex::ident_tokens;
    /// Names with numbers, and the declaration that a name means.
    name = crate::name;
    /// Number literals: their spellings and values.
    number = crate::lex::number;
    /// Work on groups of functions by several threads.
    parallel = crate::parallel;
    /// Queries to the instruction table about instructions of a module, with one answer for each mnemonic and shape of operands.
    query = crate::query;
    /// The scanning functions of the lexer and the parser.
    scan = crate::lex::scan;
    /// The check that each byte of the source belongs to one statement or to one gap.
    tiling = crate::tiling;
    /// The whitespace and comments that belong to each statement or item.
    ///
    /// The text up to and including the first newline after a statement belongs to it (*trailing*); the rest of the gap up to the next
    /// statement belongs to that one (*leading*). Comments above an empty line are not *attached* to the statement.
    trivia_map = crate::trivia_map;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::Body {}
    impl Sealed for crate::Module {}
}

macro_rules! writable {
    ($(#[$doc:meta])* $name:ident for $owner:ty { $($field:ident, $get:ident: $ty:ty;)* }) => {
        $(#[$doc])*
        pub trait $name: sealed::Sealed {
            $(
                #[doc = concat!("The field `", stringify!($field), "`, to change.")]
                fn $get(&mut self) -> &mut $ty;
            )*
        }

        impl $name for $owner {
            $(
                #[inline(always)]
                fn $get(&mut self) -> &mut $ty {
                    &mut self.$field
                }
            )*
        }
    };
}

writable! {
    /// Write access to the tables of a [`Body`].
    RawBody for Body {
        base, base_mut: u32;
        end, end_mut: u32;
        closed, closed_mut: bool;
        statements, statements_mut: PrimaryMap<StmtId, Statement>;
        origins, origins_mut: CowVec<StmtSpan>;
        insts, insts_mut: PrimaryMap<InstId, Inst>;
        pool, pool_mut: OperandPool;
        registers, registers_mut: PrimaryMap<RegId, Register>;
        reg_decls, reg_decls_mut: PrimaryMap<RegDeclId, RegDecl>;
        vars, vars_mut: PrimaryMap<VarId, Var>;
        labels, labels_mut: PrimaryMap<LabelId, Label>;
        inner_scopes, inner_scopes_mut: CowVec<Scope>;
        declarations, declarations_mut: Declarations;
        directives, directives_mut: PrimaryMap<DirectiveId, DirectiveStmt>;
        prototypes, prototypes_mut: PrimaryMap<PrototypeId, Prototype>;
        opaques, opaques_mut: PrimaryMap<OpaqueId, Opaque>;
        comments, comments_mut: Comments<StmtId>;
        edits, edits_mut: Option<Box<Edits<StmtId>>>;
    }
}

writable! {
    /// Write access to the tables of a [`Module`].
    RawModule for Module {
        header, header_mut: Header;
        items, items_mut: PrimaryMap<ItemId, Item>;
        origins, origins_mut: Vec<StmtSpan>;
        names, names_mut: Interner;
        signatures, signatures_mut: Signatures;
        symbols, symbols_mut: PrimaryMap<SymbolId, Symbol>;
        functions, functions_mut: PrimaryMap<FuncId, Function>;
        bodies, bodies_mut: PrimaryMap<BodyId, Body>;
        params, params_mut: Vec<Param>;
        interface_directives, interface_directives_mut: Vec<DirectiveStmt>;
        declarations, declarations_mut: Declarations;
        directives, directives_mut: PrimaryMap<DirectiveId, DirectiveStmt>;
        sections, sections_mut: PrimaryMap<SectionId, Section>;
        opaques, opaques_mut: PrimaryMap<OpaqueId, Opaque>;
        pool, pool_mut: OperandPool;
        comments, comments_mut: Comments<ItemId>;
        edits, edits_mut: Option<Box<Edits<ItemId>>>;
        directive_revision, directive_revision_mut: u32;
        symbol_revisions, symbol_revisions_mut: BTreeMap<SymbolId, u32>;
    }
}

/// An empty module with a source, and with capacity for the records of a short source, or of the first bytes of a long one.
#[must_use]
pub fn module_with_source(source: SourceText) -> Module {
    let bytes = source.len().min(SHARED_TEXT);
    let mut module = Module {
        origins: Vec::with_capacity(bytes / 400),
        names: Interner::new(source.clone(), bytes / 100),
        signatures: Signatures::new(source.clone(), bytes / 100),
        params: Vec::with_capacity((bytes / 200).next_power_of_two()),
        source,
        ..Module::default()
    };
    module.items.rows.reserve(bytes / 400);
    module.symbols.rows.reserve(bytes / 512);
    module.functions.rows.reserve(bytes / 800);
    module.bodies.rows.reserve(bytes / 800);
    module
}

/// Sets the source of a module.
pub fn set_source(module: &mut Module, source: Option<Vec<u8>>) {
    module.source = source.map_or_else(SourceText::default, SourceText::from);
}

/// Records that the module is edited, so that its facts are stale. Returns the new revision.
pub fn next_revision(module: &mut Module) -> u32 {
    module.change()
}

/// The source of a module, to share.
#[must_use]
pub fn source_of(module: &Module) -> SourceText {
    module.source.clone()
}

/// Replaces a part of the source inside of the body of a function, the item `item`, and moves everything else to its new place.
/// The function has to be parsed again.
pub fn replace_in_body(module: &mut Module, item: ItemId, replaced: Span, text: &[u8]) {
    let change = TextChange::new(replaced, text.len() as u32);
    module.content = crate::revisions::Content::new();
    let mut source = core::mem::take(&mut module.source);
    module.names.source_changes(change);
    module.signatures.source_changes(change);
    source.replace(replaced, text);
    module.names.set_source(source.clone());
    module.signatures.set_source(source.clone());
    module.source = source;
    for origin in module.origins.iter_mut().skip(EntityId::index(item)) {
        *origin = StmtSpan::new(change.place(origin.span()), origin.has_comments());
    }
    for body in module.bodies.values_mut() {
        body.base = change.offset(body.base);
    }
}

/// Adds an item at its place in the source.
#[inline]
pub fn push_item(module: &mut Module, item: Item, span: StmtSpan) -> ItemId {
    debug_assert_eq!(
        module.origins.len(),
        module.items.len(),
        "each item has a span"
    );
    crate::cow_vec::push(&mut module.origins, span);
    module.items.push(item)
}

/// Adds a statement at its place in the source, counted from the base of the body.
#[inline(always)]
pub fn push_statement(body: &mut Body, statement: Statement, span: StmtSpan) -> StmtId {
    debug_assert_eq!(
        body.origins.len(),
        body.statements.len(),
        "each statement has a span"
    );
    body.origins.push(span);
    body.statements.push(statement)
}

/// Adds a statement to a body that is in no source.
#[inline(always)]
pub fn push_built_statement(body: &mut Body, statement: Statement) -> StmtId {
    push_statement(body, statement, StmtSpan::new(Span::default(), false))
}

/// Removes the last statement of a body, with its instruction if that is the last one.
pub fn pop_statement(body: &mut Body) {
    debug_assert!(
        body.edits.is_none(),
        "the order of the statements is that of their ids"
    );
    let statement = body.statements.rows.pop();
    body.origins.pop();
    if let Some(Statement::Inst(id)) = statement
        && id.index() + 1 == body.insts.len()
    {
        body.insts.rows.pop();
    }
}

/// The key of a statement: statements are in the order of their keys. The place right after a statement is its key + 1.
#[must_use]
pub fn stmt_key(body: &Body, stmt: StmtId) -> u64 {
    body.key(stmt)
}

/// The innermost scope around a place.
#[must_use]
pub fn scope_of_key(body: &Body, key: u64) -> ScopeId {
    body.scope_of_key(key)
}
