//! The module: header, items, names, functions.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ptx_isa::{Directive, ScalarType};

use crate::body::{Body, Opaque, StmtSpan};
use crate::comments::Comments;
use crate::decl::{Declarations, Param, Symbol};
use crate::edit_log::Edits;
use crate::entity::{EntityId, PrimaryMap};
use crate::function::{BodyId, DirectiveStmt, Function};
use crate::header::Header;
use crate::intern::Interner;
use crate::operand::OperandPool;
use crate::revisions::Content;
use crate::signature::{Signature, Signatures};
use crate::source_text::SourceText;
use crate::statements::Items;
use crate::{
    DeclId, DirectiveId, FuncId, ItemId, NameId, OpaqueId, OperandRef, SectionId, SigId, Span,
    SymbolId,
};

/// A statement at module level.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Item {
    /// `.version`, `.target`, `.address_size`, `.file`, `.alias`, `.pragma`.
    Directive(DirectiveId),
    /// A variable declaration.
    Decl(DeclId),
    /// A function or kernel, from its linkage to the end of its body or declaration.
    Function(FuncId),
    /// A `.section` with its content.
    Section(SectionId),
    /// An item that could not be parsed.
    Opaque(OpaqueId),
    /// An item that an edit removed. [`Module::items`] skips it.
    Removed,
}

/// A `.section` of debug data.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Section {
    /// The name, including its dot.
    pub name: NameId,
    /// The content.
    pub entries: Vec<SectionEntry>,
}

impl Section {
    /// A section with its content.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub const fn new(name: NameId, entries: Vec<SectionEntry>) -> Self {
        Self { name, entries }
    }
}

/// A label or a datum of a [`Section`].
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum SectionEntry {
    /// `name:`
    Label(NameId),
    /// A small number.
    Int {
        /// The type, which states the width.
        ty: ScalarType,
        /// The type is written before the number; otherwise the number continues the list of the previous entry.
        first: bool,
        /// The number.
        value: i32,
    },
    /// Any other datum, in the pool of the module.
    Other {
        /// The type, which states the width.
        ty: ScalarType,
        /// The type is written before the datum.
        first: bool,
        /// The datum.
        value: OperandRef,
    },
}

const _: () = assert!(size_of::<SectionEntry>() == 8);
const _: () = assert!(size_of::<Item>() == 8);

/// A PTX module: every byte of its source, and the records parsed from it.
///
/// A module that was built and not parsed [has no source](Self::has_source): all of its spans are empty, and it is printed from
/// its records and [comments](Self::comments).
#[derive(Clone, Default, Debug)]
pub struct Module {
    /// The text from which the module was parsed; empty if it was built.
    pub(crate) source: SourceText,
    /// Version, target, address size.
    pub(crate) header: Header,
    /// The statements at module level, in order.
    pub(crate) items: PrimaryMap<ItemId, Item>,
    /// The span of each item; as many as `items`.
    pub(crate) origins: Vec<StmtSpan>,
    /// Spellings of names, immediates and strings.
    pub(crate) names: Interner,
    pub(crate) signatures: Signatures,
    pub(crate) symbols: PrimaryMap<SymbolId, Symbol>,
    pub(crate) functions: PrimaryMap<FuncId, Function>,
    /// The bodies of `functions`.
    pub(crate) bodies: PrimaryMap<BodyId, Body>,
    pub(crate) params: Vec<Param>,
    pub(crate) interface_directives: Vec<DirectiveStmt>,
    pub(crate) declarations: Declarations,
    pub(crate) directives: PrimaryMap<DirectiveId, DirectiveStmt>,
    pub(crate) sections: PrimaryMap<SectionId, Section>,
    /// Statements that could not be parsed.
    pub(crate) opaques: PrimaryMap<OpaqueId, Opaque>,
    pub(crate) pool: OperandPool,
    /// The comments of a module without a source.
    pub(crate) comments: Comments<ItemId>,
    /// The record of edits of the items; `None` if they were not edited.
    pub(crate) edits: Option<Box<Edits<ItemId>>>,
    /// The number of edits.
    pub(crate) revision: u32,
    /// Identifies the contents of the module.
    pub(crate) content: Content,
    /// The revision at which a directive of the module was last added or removed.
    pub(crate) directive_revision: u32,
    /// The revision at which the declaration of a symbol was last edited.
    pub(crate) symbol_revisions: BTreeMap<SymbolId, u32>,
}

impl Module {
    /// The source; empty for a module that was not parsed.
    #[must_use]
    pub fn source(&self) -> &[u8] {
        &self.source
    }

    /// Whether the module was parsed, and was not built. A module that was parsed from an empty text has no source either.
    #[must_use]
    pub fn has_source(&self) -> bool {
        !self.source.is_empty()
    }

    /// Returns whether the module was parsed and not edited since, so that its text is its source. Otherwise spans refer to the
    /// source before the edits, the spans of inserted and built statements are empty, and `ptx_print` prints the text.
    #[must_use]
    pub fn has_current_source(&self) -> bool {
        self.has_source() && !self.is_edited()
    }

    /// A spelling.
    #[inline]
    #[must_use]
    pub fn name(&self, id: NameId) -> &str {
        core::str::from_utf8(self.names.get(id.as_u32())).unwrap_or_default()
    }

    /// The name of a function; empty if the module has no such function.
    ///
    /// ```
    /// let module = ptx_parse::parse(b".version 8.0\n.target sm_80\n.func f() { L: ret; }").module;
    /// let function = module.function("f").unwrap();
    /// assert_eq!(module.function_name(function), "f");
    /// let body = module.body(function).unwrap();
    /// assert!(body.labels().ids().map(|l| body.label_name(&module, l)).eq(["L"]));
    /// ```
    #[must_use]
    pub fn function_name(&self, function: FuncId) -> &str {
        self.functions
            .get(function)
            .map_or("", |function| self.name(function.name))
    }

    /// The bytes of a spelling; strings may hold bytes that are not UTF-8.
    #[inline]
    #[must_use]
    pub fn name_bytes(&self, id: NameId) -> &[u8] {
        self.names.get(id.as_u32())
    }

    /// A mnemonic.
    #[inline]
    #[must_use]
    pub fn signature(&self, id: SigId) -> Signature<'_> {
        self.signatures.get(id)
    }

    /// Every item with its id, in order.
    #[inline]
    #[must_use]
    pub fn items(&self) -> impl DoubleEndedIterator<Item = (ItemId, Item)> + Clone {
        let placed = self.edits.as_deref().filter(|e| e.changes_order());
        Items::all(&self.items, placed, Some(Item::Removed))
    }

    /// Every item with its id, in order, removed ones included.
    #[doc(hidden)]
    #[must_use]
    pub fn all_items(&self) -> impl DoubleEndedIterator<Item = (ItemId, Item)> + Clone {
        let placed = self.edits.as_deref().filter(|e| e.changes_order());
        Items::all(&self.items, placed, None)
    }

    /// The span of an item.
    #[must_use]
    pub fn span(&self, item: ItemId) -> Span {
        self.origins
            .get(item.index())
            .map_or(Span::default(), |o| o.span())
    }

    /// The directive of an item; `None` for other items.
    #[must_use]
    pub fn directive(&self, item: Item) -> Option<Directive> {
        match item {
            Item::Directive(id) => Some(self.directives.get(id)?.directive),
            _ => None,
        }
    }

    /// The symbols that an item declares or defines; those that a function declares inside are not included.
    #[must_use]
    pub fn declared_symbols(&self, item: Item) -> Vec<SymbolId> {
        match item {
            Item::Decl(id) => self
                .declarations
                .declarators(id)
                .iter()
                .filter_map(|d| d.binding.symbol())
                .collect(),
            Item::Function(id) => {
                let symbol = self.functions.get(id).and_then(|f| f.symbol);
                symbol.into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// For each symbol, the first symbol with the same name, which represents all members of a range such as `t<4>`. Linear in
    /// the number of names.
    #[doc(hidden)]
    #[must_use]
    pub fn first_symbols(&self) -> Vec<SymbolId> {
        let mut plain_symbols = vec![None; self.names.len()];
        let mut range_members = vec![None; self.names.len()];
        self.symbols
            .iter()
            .map(|(id, symbol)| {
                let first_symbols = match symbol.number {
                    None => &mut plain_symbols,
                    Some(_) => &mut range_members,
                };
                first_symbols
                    .get_mut(symbol.name.index())
                    .map_or(id, |first| *first.get_or_insert(id))
            })
            .collect()
    }

    /// The item that declares or defines a function at module level. Linear in the items.
    #[must_use]
    pub fn item_of(&self, function: FuncId) -> Option<ItemId> {
        let mut items = self.items();
        Some(items.find(|(_, i)| *i == Item::Function(function))?.0)
    }

    /// The body of a function, if it is defined here.
    #[must_use]
    pub fn body(&self, function: FuncId) -> Option<&Body> {
        self.bodies.get(self.functions.get(function)?.body?)
    }

    /// Functions and kernels that have a body, in order.
    ///
    /// ```
    /// let module = ptx_parse::parse(b".func f();\n.func g() { ret; }\n.entry k() { ret; }").module;
    /// let names = module.definitions().map(|(_, function, _)| module.name(function.name));
    /// assert_eq!(names.collect::<Vec<_>>(), ["g", "k"]);
    /// ```
    pub fn definitions(&self) -> impl Iterator<Item = (FuncId, &Function, &Body)> + '_ {
        self.functions
            .iter()
            .filter_map(|(id, f)| Some((id, f, self.bodies.get(f.body?)?)))
    }

    /// The function of this name that has a body, else its first declaration.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<FuncId> {
        let mut functions = self
            .functions
            .iter()
            .filter(|(_, f)| self.name(f.name) == name);
        let first = functions.next()?;
        let definition = core::iter::once(first)
            .chain(functions)
            .find(|(_, f)| f.body.is_some());
        Some(definition.unwrap_or(first).0)
    }

    /// The first symbol of this name: a function or a variable of the module. Linear in the symbols.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<SymbolId> {
        let name = self.find_name(name.as_bytes())?;
        let mut symbols = self.symbols.iter();
        Some(symbols.find(|(_, symbol)| symbol.name == name)?.0)
    }
}

/// The tables.
impl Module {
    ptx_isa::getters! {
        /// Version, target and address size.
        header: Header = header;
        /// Every item by id, removed ones included. [`items`](Self::items) gives them in the order of
        /// the text.
        #[doc(hidden)]
        item_table: &PrimaryMap<ItemId, Item> = &items;
        /// The span of each item of [`item_table`](Self::item_table).
        #[doc(hidden)]
        item_spans: &[StmtSpan] = &origins;
        /// Mnemonics.
        signatures: &Signatures = &signatures;
        /// Names of the module.
        symbols: &PrimaryMap<SymbolId, Symbol> = &symbols;
        /// Functions and kernels.
        functions: &PrimaryMap<FuncId, Function> = &functions;
        /// Bodies of functions.
        bodies: &PrimaryMap<BodyId, Body> = &bodies;
        /// Results and parameters of functions and prototypes.
        params: &[Param] = &params;
        /// Directives between parameters and body; their arguments are in [`pool`](Self::pool).
        interface_directives: &[DirectiveStmt] = &interface_directives;
        /// Variable declarations at module level, and attributes of functions.
        declarations: &Declarations = &declarations;
        /// Directives at module level.
        directives: &PrimaryMap<DirectiveId, DirectiveStmt> = &directives;
        /// Debug sections.
        sections: &PrimaryMap<SectionId, Section> = &sections;
        /// Items that could not be parsed.
        opaques: &PrimaryMap<OpaqueId, Opaque> = &opaques;
        /// Operands of everything outside bodies, and of parameters.
        pool: &OperandPool = &pool;
        /// The comments of a module without a source; empty for a parsed one.
        comments: &Comments<ItemId> = &comments;
    }

    /// One item; `None` for an id of another module.
    #[inline]
    #[must_use]
    pub fn item(&self, id: ItemId) -> Option<Item> {
        self.items.get(id).copied()
    }

    /// The id of a spelling, if the module has it.
    #[doc(hidden)]
    #[must_use]
    pub fn find_name(&self, text: &[u8]) -> Option<NameId> {
        self.names.find(text).map(NameId::new)
    }

    /// The number of spellings; ids of names are below it.
    #[doc(hidden)]
    #[must_use]
    pub fn name_count(&self) -> usize {
        self.names.len()
    }
}
