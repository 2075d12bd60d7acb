//! Every place of a source where a name stands, and what it stands for there.

mod fixed;
mod fresh;
mod renaming;
mod statement;
mod tables;

use alloc::vec::Vec;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Body, FuncId, Function, Item, LabelId, Module, NameId, RegDeclId, Span, Statement};
use ptx_ir::{SymbolId, TableRange, VarId};
use ptx_isa::Directive;

pub(crate) use fixed::Fixed;
pub(crate) use fresh::{Alphabet, Taken, is_plain};
pub use renaming::Refused;
pub(crate) use renaming::{Spellings, current, rewrite, same_names};
use statement::Words;
use tables::Ranges;

/// What a name stands for. Of a range such as `%r<9>`, all members are one entity.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Entity {
    /// Declared registers.
    Register(FuncId, RegDeclId),
    /// A parameter, or a variable declared inside a function; the first of its range.
    Variable(FuncId, VarId),
    /// A label.
    Label(FuncId, LabelId),
    /// A variable or function of the module; the first of its range.
    Symbol(SymbolId),
    /// A parameter of a function without a body or of a prototype, by its place in [`Module::params`](ptx_ir::Module::params).
    Parameter(u32),
    /// A name that nothing declares, or of debug information.
    Unknown(NameId),
}

/// A name in the source.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Name {
    /// Where it stands.
    pub span: Span,
    /// What it stands for.
    pub entity: Entity,
    /// Which one of a range it is; `None` for a plain name, and for the range as a whole where it is declared.
    pub number: Option<u32>,
    /// Whether it is declared here.
    pub declares: bool,
}

/// Finds every name of a module as it was read, in the order of the source. Linear in the source.
///
/// Special registers, words of the language and target names are no names. Edits are not seen: read the edited text again.
///
/// ```
/// use ptx_transform::{Entity, each_name};
/// let text = b".version 8.0 .target sm_80 .entry k() { .reg .b32 %r<9>; mov.b32 %r7, %tid.x; ret; }";
/// let module = ptx_parse::parse(text).module;
/// let mut found = Vec::new();
/// each_name(&module, |name| found.push((name.span.of(text), name.number)));
/// assert_eq!(found, [(&b"k"[..], None), (b"%r", None), (b"%r7", Some(7))]);
/// ```
pub fn each_name(module: &Module, mut see: impl FnMut(Name)) {
    let mut walk = Walk {
        module,
        symbols: Ranges::of_module(module),
        found: Vec::new(),
    };
    for (id, item) in module.items() {
        let span = module.span(id);
        match item {
            Item::Function(f) => walk.function(f, span, &mut see),
            Item::Directive(d) => {
                let directive = module.directives.get(d).map(|d| d.directive);
                let header = matches!(
                    directive,
                    Some(Directive::Version | Directive::Target | Directive::AddressSize)
                );
                if !header {
                    walk.item(item, span);
                    walk.flush(&mut see);
                }
            }
            Item::Decl(_) | Item::Opaque(_) => {
                walk.item(item, span);
                walk.flush(&mut see);
            }
            Item::Section(_) => {
                walk.section(span);
                walk.flush(&mut see);
            }
            _ => {}
        }
    }
}

struct Walk<'m> {
    module: &'m Module,
    symbols: Ranges<SymbolId>,
    found: Vec<Name>,
}

impl<'m> Walk<'m> {
    fn flush(&mut self, see: &mut impl FnMut(Name)) {
        for name in self.found.drain(..) {
            see(name);
        }
    }

    fn item(&mut self, item: Item, span: Span) {
        let mut words = Words::new(self.module, &self.symbols);
        for operand in self.module.mentions(item) {
            words.mention(None, operand);
        }
        if let Item::Decl(id) = item {
            words.declaration(None, self.module.declarations.declarators(id));
        }
        words.find(span, statement::Skip::Nothing, &mut self.found);
    }

    /// The words of a debug section, whose names are not resolved.
    fn section(&mut self, span: Span) {
        let text = span.of(self.module.source());
        for token in Lexer::fragment(text).filter(|t| t.kind == TokenKind::Ident) {
            if let Some(name) = self.module.names.find(token.span.of(text)) {
                self.found.push(Name {
                    span: token.span.shifted(span.start),
                    entity: Entity::Unknown(NameId::new(name)),
                    number: None,
                    declares: false,
                });
            }
        }
    }

    fn function(&mut self, id: FuncId, span: Span, see: &mut impl FnMut(Name)) {
        let Some(function) = self.module.functions.get(id) else {
            return;
        };
        let body = self.module.body(id);
        let end = body.map_or(span.end, |b| b.base);
        let vars = body.map_or_else(Ranges::none, Ranges::of_body);
        let owner = body.map(|b| (id, b, &vars));
        self.header(function, Span::new(span.start, end), owner);
        self.flush(see);
        let Some(body) = body else { return };
        for (stmt, statement) in body.statements() {
            let at = body.source_span(stmt);
            self.statement((id, body, &vars), statement, at);
            self.flush(see);
        }
    }

    /// Name, results and parameters; `owner` where the function has a body.
    fn header(
        &mut self,
        function: &Function,
        span: Span,
        owner: Option<(FuncId, &Body, &Ranges<VarId>)>,
    ) {
        let mut words = Words::new(self.module, &self.symbols);
        let all = function.interface;
        for range in [all.returns, all.params] {
            words.parameters(owner, range);
        }
        words.find(span, statement::Skip::Outside, &mut self.found);
        let mut words = Words::new(self.module, &self.symbols);
        if let Some(symbol) = function.symbol {
            words.symbol(symbol, true);
        }
        let before = self.found.len();
        words.find(span, statement::Skip::Inside, &mut self.found);
        // The name is the first of these words; the others are those of directives.
        self.found.truncate(before + 1);
        self.found.sort_by_key(|n| n.span.start);
    }

    fn statement(
        &mut self,
        owner: (FuncId, &Body, &Ranges<VarId>),
        statement: Statement,
        span: Span,
    ) {
        let (function, body, _) = owner;
        let mut words = Words::new(self.module, &self.symbols);
        let mut skip = statement::Skip::Nothing;
        match statement {
            Statement::Function(f) => {
                if let Some(inner) = self.module.functions.get(f) {
                    self.header(inner, span, None);
                }
                return;
            }
            Statement::Inst(_) => skip = statement::Skip::Opcode,
            Statement::Label(id) => words.label(function, body, id, true),
            Statement::Decl(id) => {
                words.declaration(Some(owner), body.declarations.declarators(id));
            }
            Statement::Prototype(id) => {
                if let Some(p) = body.prototypes.get(id) {
                    words.parameters(None, p.interface.returns);
                    words.parameters(None, p.interface.params);
                }
            }
            Statement::Directive(id) => {
                let directive = body.directives.get(id).map(|d| d.directive);
                if directive == Some(Directive::Loc) {
                    skip = statement::Skip::Keywords;
                }
            }
            Statement::Open(_) | Statement::Close(_) => return,
            _ => {}
        }
        for operand in body.mentions(statement) {
            words.mention(Some(owner), operand);
        }
        words.find(span, skip, &mut self.found);
    }
}

impl Entity {
    /// How it is spelled where it is declared, without a number.
    pub fn name(self, module: &Module) -> Option<NameId> {
        let body = |f| module.body(f);
        match self {
            Self::Register(f, id) => Some(body(f)?.reg_decls.get(id)?.name),
            Self::Variable(f, id) => Some(body(f)?.vars.get(id)?.name),
            Self::Label(f, id) => Some(body(f)?.labels.get(id)?.name),
            Self::Symbol(id) => Some(module.symbols.get(id)?.name),
            Self::Parameter(index) => module.params.get(index as usize)?.name,
            Self::Unknown(name) => Some(name),
        }
    }

    /// The function whose own it is.
    pub fn function(self) -> Option<FuncId> {
        match self {
            Self::Register(f, _) | Self::Variable(f, _) | Self::Label(f, _) => Some(f),
            _ => None,
        }
    }
}

/// The parameters of a range of the module's.
pub(crate) fn parameters(
    module: &Module,
    range: TableRange,
) -> impl Iterator<Item = (u32, &ptx_ir::Param)> {
    (range.start..).zip(range.of(&module.params))
}
