//! Makes the text of a module as short as possible.

mod dead;
mod short_names;
mod whitespace;

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

use ptx_edit::raw::{EntityMap, NameForm, TakenNames};
use ptx_edit::{Entity, NameRef, Names, OwnSymbols, Rewriting, own_symbols};
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{
    Binding, EntitySet, FuncId, Item, Module, Rewritten, Span, Statement, TextPatches, TypeName,
    VarId,
};
use ptx_isa::{Directive, StateSpace, TypeKind};

use self::dead::dead;
use self::short_names::ShortNames;
use crate::printed::rewrite;
use crate::register_use::{self, InnerComments, NumberOrder, Renumbered, Usage, new_number};

/// The changes that [`minify`] makes besides those of whitespace, comments and the names inside of functions.
///
/// ```
/// use ptx_transform::MinifyOptions;
/// let options = MinifyOptions::default().with_symbols(true).with_dead(true);
/// assert!(options.symbols && options.dead);
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug, Hash)]
#[non_exhaustive]
pub struct MinifyOptions {
    /// Renames functions and module variables that are not visible to other modules; by default not.
    pub symbols: bool,
    /// Removes functions and module variables that are not visible to other modules and not used; by default not.
    pub dead: bool,
}

impl MinifyOptions {
    /// Sets whether functions and module variables that are not visible to other modules are renamed as well.
    #[must_use]
    pub const fn with_symbols(mut self, symbols: bool) -> Self {
        self.symbols = symbols;
        self
    }

    /// Sets whether functions and module variables are removed that are not visible to other modules and not used.
    #[must_use]
    pub const fn with_dead(mut self, dead: bool) -> Self {
        self.dead = dead;
        self
    }
}

/// Makes the text of a module as short as possible without changing its meaning.
///
/// Without options, removes whitespace, comments and unused registers, and shortens the names of registers, labels, parameters
/// and `.shared`, `.local` and `.param` variables of functions; the machine code stays the same. Names that a debug section or
/// a table of targets such as `N<5>` refers to stay. Debug information stays; remove it with [`strip`](crate::strip) before.
/// In a module for debuggers (`.target …, debug`), the debug data refer to registers by their old names.
///
/// Minifying the result changes nothing. The time is O(n log n) in the size of the source.
///
/// ```
/// use ptx_transform::minify;
/// let text = ".version 8.0\n.target sm_80\n.entry k(.param .b64 k_param_0)\n{\n  .reg .b64 %rd<9>; // two\n  ld.param.b64 %rd5, [k_param_0];\n}\n";
/// let module = ptx_parse::parse_str(text).module;
/// let new = minify(&module, &Default::default());
/// assert_eq!(new.text(), b".version 8.0 .target sm_80 .entry k(.param.b64 a){.reg.b64 b<1>;ld.param.b64 b0,[a];}");
/// ```
#[must_use]
pub fn minify(module: &Module, options: &MinifyOptions) -> Rewriting {
    rewrite(module, |module| minify_text(module, options))
}

/// [`minify`] of a module whose source is its text.
fn minify_text(module: &Module, options: &MinifyOptions) -> Rewritten {
    let mut names = Names::of(module);
    let mut removed = Vec::new();
    if options.dead {
        removed = dead(module, &names);
        // Names in removed items are not counted.
        names.remove_within(&removed);
    }
    let mut counts = EntityMap::new(module);
    for m in names.refs() {
        if let Some(count) = counts.get_mut(m.entity) {
            *count += 1;
        }
    }
    let mut work = Minifier {
        module,
        unresolved: names.unresolved(module),
        usage: Usage::of(module, names.refs(), NumberOrder::Frequency),
        renamed: EntityMap::new(module),
        counts,
        removed,
    };
    let taken = work.rename_symbols(&names, options);
    for (id, item) in module.items() {
        if let Item::Function(f) = item {
            work.rename_in_function(f, names.within(module.span(id)), &taken);
        }
    }
    work.removed.sort_by_key(|p| p.start);
    work.write(&names)
}

struct Minifier<'m> {
    module: &'m Module,
    /// What has one of these names keeps it.
    unresolved: TakenNames,
    usage: Usage,
    /// The new names.
    renamed: EntityMap<Option<String>>,
    /// How often each entity that has no new name yet is mentioned.
    counts: EntityMap<u32>,
    removed: Vec<Span>,
}

impl Minifier<'_> {
    /// Renames the symbols and the variables in memory; returns all names that are visible in functions.
    fn rename_symbols(&mut self, names: &Names, options: &MinifyOptions) -> TakenNames {
        let module = self.module;
        let private = if options.symbols {
            own_symbols(module, OwnSymbols::Private)
        } else {
            EntitySet::new()
        };
        let mut taken = self.unresolved.clone();
        let mut renamable = Vec::new();
        for m in names.refs() {
            let old = m.name.of(module.source());
            let global = match m.entity {
                Entity::Symbol(symbol) => private.contains(symbol),
                entity => is_memory(module, entity),
            };
            if !global && !is_local(module, m.entity) || self.unresolved.contains(old) {
                // Members of a range are taken with it.
                taken.add(old, NameForm::Plain);
            } else if global {
                renamable.push(m.entity);
            }
        }
        let mut short = ShortNames::of_two(&taken);
        for entity in self.by_frequency(renamable) {
            self.renamed.replace(entity, Some(short.take()));
        }
        for name in self.renamed.values().flatten() {
            taken.add(name.as_bytes(), NameForm::Plain);
        }
        taken
    }

    /// Removes the unused registers of a function and renames what only the function sees.
    fn rename_in_function(&mut self, f: FuncId, mentions: &[NameRef], taken: &TakenNames) {
        let (module, source) = (self.module, self.module.source());
        if let Some(body) = module.body(f) {
            let is_used = |e| self.usage.is_used(e);
            let unused = register_use::unused(f, body, source, InnerComments::Remove, is_used);
            self.removed.extend(unused);
        }
        let handles = handles(module, f);
        let mut renamable = Vec::new();
        let mut own = TakenNames::default();
        for m in mentions {
            let old = m.name.of(source);
            let is_handle = matches!(m.entity, Entity::Variable(_, v) if handles.contains(v));
            let local = is_local(module, m.entity) && !is_handle;
            if local && !self.unresolved.contains(old) {
                let is_used = match m.entity {
                    Entity::Register(..) => {
                        self.usage.is_used(m.entity) || is_parameter(module, m.entity)
                    }
                    _ => true,
                };
                renamable.extend(is_used.then_some(m.entity));
            } else if self.new_name(m.entity).is_none() {
                own.add(old, NameForm::Plain);
            }
        }
        let mut short = ShortNames::with(taken, &own);
        for entity in self.by_frequency(renamable) {
            self.renamed.replace(entity, Some(short.take()));
        }
    }

    /// These entities by the number of their mentions in the module, then by their first mention.
    fn by_frequency(&mut self, entities: Vec<Entity>) -> Vec<Entity> {
        let mut all: Vec<(Reverse<u32>, usize, Entity)> = Vec::new();
        for (i, entity) in entities.into_iter().enumerate() {
            match self.counts.replace(entity, 0) {
                None | Some(0) => {}
                Some(count) => all.push((Reverse(count), i, entity)),
            }
        }
        all.sort_unstable();
        all.into_iter().map(|(.., entity)| entity).collect()
    }

    fn new_name(&self, entity: Entity) -> Option<&str> {
        self.renamed.get(entity)?.as_deref()
    }

    /// The old and the new numbers of the members of a range that is renamed.
    fn new_numbers(&self, entity: Entity) -> &[Renumbered] {
        match self.new_name(entity) {
            Some(_) => self.usage.numbers(entity),
            None => &[],
        }
    }

    /// Writes the tokens with as little whitespace as possible.
    fn write(&self, names: &Names) -> Rewritten {
        let source = self.module.source();
        let mut patches = TextPatches::new();
        let mut removed = self.removed.iter().peekable();
        let mut mentions = names.refs().iter().peekable();
        let mut count: Option<(Span, u32)> = None;
        let mut last: (TokenKind, Vec<u8>) = (TokenKind::Whitespace, Vec::new());
        // Where the text after the last token begins.
        let mut end = 0;
        let mut new: Vec<u8> = Vec::new();
        for token in Lexer::new(source) {
            let at = token.span;
            while removed.next_if(|p| p.end <= at.start).is_some() {}
            if token.kind.is_trivia() || removed.peek().is_some_and(|p| p.start <= at.start) {
                continue;
            }
            let text = at.of(source);
            while mentions.next_if(|m| m.name.start < at.start).is_some() {}
            let mention = mentions.peek().filter(|m| m.name.start == at.start);
            let changed = mention.is_some_and(|m| self.rename(m, text, &mut new));
            if let Some(m) = mention
                && m.member.is_none()
                && m.declares
                && !m.number.is_empty()
                && let numbers @ [_, ..] = self.new_numbers(m.entity)
            {
                count = Some((m.number, numbers.len() as u32));
            }
            let counted = count.take_if(|(span, _)| span.start == at.start);
            if let Some((_, n)) = counted {
                new.clear();
                new.extend_from_slice(format!("{n}").as_bytes());
            }
            let changed = changed || counted.is_some();
            let written = if changed { &*new } else { text };
            self.gap(&mut patches, (&last, end), (token.kind, written, at.start));
            if changed && written != text {
                patches.replace(at, written);
            }
            last.0 = token.kind;
            last.1.clear();
            last.1.extend_from_slice(written);
            end = at.end;
        }
        patches.remove(Span::new(end, source.len() as u32));
        patches.apply(source)
    }

    /// Writes what is needed between two tokens.
    fn gap(
        &self,
        patches: &mut TextPatches,
        (last, end): (&(TokenKind, Vec<u8>), u32),
        (kind, text, start): (TokenKind, &[u8], u32),
    ) {
        let gap = Span::new(end, start);
        let old = gap.of(self.module.source());
        if last.1.is_empty() {
            return patches.remove(gap);
        }
        if whitespace::is_malformed(last.0) || whitespace::is_malformed(kind) {
            return;
        }
        let space = whitespace::needs_space((last.0, &last.1), (kind, text), !gap.is_empty());
        // ptxas overruns a buffer if debug information is on one very long line.
        let debug = Directive::from_text(text).is_some_and(Directive::is_debug);
        let new: &[u8] = match (debug && old.contains(&b'\n'), space) {
            (true, _) => b"\n",
            (false, true) => b" ",
            (false, false) => b"",
        };
        if old != new {
            patches.replace(gap, new);
        }
    }

    /// The new text of a token that is a name.
    fn rename(&self, mention: &NameRef, word: &[u8], new: &mut Vec<u8>) -> bool {
        let Some(name) = self.new_name(mention.entity) else {
            return false;
        };
        new.clear();
        new.extend_from_slice(name.as_bytes());
        if let Some(member) = mention.member {
            match new_number(self.new_numbers(mention.entity), member) {
                Some(n) => new.extend_from_slice(format!("{n}").as_bytes()),
                None => new.extend_from_slice(word.get(mention.name.len()..).unwrap_or_default()),
            }
        }
        true
    }
}

/// Whether a name is local to a function and not in the machine code.
fn is_local(module: &Module, entity: Entity) -> bool {
    match entity {
        Entity::Register(..) | Entity::Label(..) | Entity::Parameter(_) => true,
        Entity::Variable(f, id) => {
            let var = module.body(f).and_then(|b| b.vars().get(id));
            var.is_some_and(|v| v.stmt.is_none() || v.space.base() == StateSpace::Param)
        }
        _ => false,
    }
}

/// Whether an entity is a variable of a function with memory that other modules do not see. ptxas names its symbol after the
/// variable and its line: on one line, two variables of the same name would be the same symbol.
fn is_memory(module: &Module, entity: Entity) -> bool {
    let Entity::Variable(f, id) = entity else {
        return false;
    };
    module.body(f).is_some_and(|body| {
        let var = body.vars().get(id);
        let decl = match var.and_then(|v| body.statement(v.stmt?)) {
            Some(Statement::Decl(decl)) => body.declarations().decls.get(decl),
            _ => None,
        };
        decl.is_some_and(|d| {
            let space = d.space.base();
            d.linkage.is_none() && matches!(space, StateSpace::Shared | StateSpace::Local)
        })
    })
}

/// Parameters of a kernel that are textures, samplers or surfaces: the driver finds them by name.
fn handles(module: &Module, f: FuncId) -> EntitySet<VarId> {
    let params = module.functions().get(f).map(|f| f.interface.params);
    let params = params.unwrap_or_default().of(module.params()).iter();
    let handles = params.filter_map(|p| match (p.ty, p.binding) {
        (TypeName::Known(ty), Binding::Var(v)) if ty.kind() == TypeKind::Opaque => Some(v),
        _ => None,
    });
    handles.collect()
}

/// Whether a register is a parameter of its function.
fn is_parameter(module: &Module, entity: Entity) -> bool {
    let Entity::Register(f, id) = entity else {
        return false;
    };
    let decl = module.body(f).and_then(|b| b.reg_decls().get(id));
    decl.is_some_and(|d| d.stmt.is_none())
}
