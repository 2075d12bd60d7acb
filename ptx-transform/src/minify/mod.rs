//! Makes the text of a module as short as possible.

mod whitespace;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Body, FuncId, Item, Module, Rewritten, Span, Statement, TextPatches, TypeName};
use ptx_isa::{Directive, StateSpace, TypeKind};

use crate::name_gen::ShortNames;
use crate::reachability;
use crate::register_use::{self, InnerComments, NumberOrder, Usage};
use ptx_edit::{Entity, NameForm, NameRef, Names, OwnSymbols, TakenNames, own_symbols};

/// What [`minify`] changes besides whitespace, comments and the names inside of functions.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug, Hash)]
pub struct Minify {
    /// Also rename functions and module variables that are not visible to other modules.
    pub symbols: bool,
    /// Remove functions and module variables that are not visible to other modules and not used.
    pub dead: bool,
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
/// use ptx_transform::{Minify, minify};
/// let text = ".version 8.0\n.target sm_80\n.entry k(.param .b64 k_param_0)\n{\n  .reg .b64 %rd<9>; // two\n  ld.param.b64 %rd5, [k_param_0];\n}\n";
/// let module = ptx_parse::parse_str(text).module;
/// let new = minify(&module, Minify::default());
/// assert_eq!(new.text, b".version 8.0 .target sm_80 .entry k(.param.b64 a){.reg.b64 b<1>;ld.param.b64 b0,[a];}");
/// ```
#[must_use]
pub fn minify(module: &Module, how: Minify) -> Rewritten {
    let mut names = Names::of(module);
    let mut pieces: Vec<Span> = Vec::new();
    if how.dead {
        pieces = reachability::dead(module, &names)
            .into_iter()
            .map(|(_, s)| s)
            .collect();
        // Names in removed items are not counted.
        names.remove_within(&pieces);
    }
    let mut work = Minifier {
        module,
        renamed: BTreeMap::new(),
        numbers: BTreeMap::new(),
        pieces,
    };
    work.choose(&names, how);
    work.write(&names)
}

struct Minifier<'m> {
    module: &'m Module,
    renamed: BTreeMap<Entity, String>,
    /// The new numbers of the members of ranges.
    numbers: BTreeMap<Entity, BTreeMap<u32, u32>>,
    /// What is removed.
    pieces: Vec<Span>,
}

impl Minifier<'_> {
    /// Chooses the new names and what is removed.
    fn choose(&mut self, names: &Names, how: Minify) {
        let (module, source) = (self.module, self.module.source());
        let unresolved = names.unresolved(module);
        let private = match how.symbols {
            true => own_symbols(module, OwnSymbols::Private),
            false => BTreeSet::new(),
        };
        let mut taken = unresolved.clone();
        let linked: BTreeSet<Entity> = module
            .definitions()
            .flat_map(|(f, _, body)| {
                linked(body)
                    .into_iter()
                    .map(move |v| Entity::Variable(f, v))
            })
            .collect();
        let mut seen = BTreeSet::new();
        let mut known = BTreeSet::new();
        for m in names.refs() {
            let own = is_memory(module, m.entity) && !linked.contains(&m.entity);
            let changes = match m.entity {
                Entity::Symbol(_) => private.contains(&m.entity),
                entity => own || is_local(module, entity),
            };
            let old = m.name.of(source);
            if !changes || unresolved.contains(old) {
                // Members of a range are taken with it.
                if known.insert(old) {
                    taken.add(old, NameForm::Plain);
                }
            } else if own || matches!(m.entity, Entity::Symbol(_)) {
                seen.insert(m.entity);
            }
        }
        let stays = |m: &&NameRef| !unresolved.contains(m.name.of(source));
        let renamable = names.refs().iter().filter(stays);
        let renamable = renamable.filter(|m| seen.contains(&m.entity));
        let mut short = ShortNames::of_two(&taken);
        for entity in by_frequency(renamable) {
            self.renamed.insert(entity, short.take());
        }
        for name in self.renamed.values() {
            // Names of the module are visible in functions.
            taken.add(name.as_bytes(), NameForm::Plain);
        }
        for (id, item) in module.items() {
            let Item::Function(f) = item else {
                continue;
            };
            let mentions = names.within(module.span(id));
            self.function(f, mentions, &taken, &unresolved);
        }
        self.pieces.sort_by_key(|p| p.start);
    }

    fn function(
        &mut self,
        f: FuncId,
        mentions: &[NameRef],
        taken: &TakenNames,
        unresolved: &TakenNames,
    ) {
        let (module, source) = (self.module, self.module.source());
        let usage = Usage::of(mentions);
        if let Some(body) = module.body(f) {
            let gone =
                register_use::unused(f, body, source, InnerComments::Remove, |e| usage.is_used(e));
            self.pieces.extend(gone);
        }
        let handles = handles(module, f);
        let local = |m: &&NameRef| {
            let old = m.name.of(source);
            let stays = match m.entity {
                Entity::Variable(_, v) => handles.contains(&v),
                _ => false,
            };
            is_local(module, m.entity) && !stays && !unresolved.contains(old)
        };
        let used = |m: &&NameRef| match m.entity {
            Entity::Register(..) => usage.is_used(m.entity) || is_parameter(module, m.entity),
            _ => true,
        };
        let mut own = TakenNames::default();
        for m in mentions.iter().filter(|m| !local(m)) {
            // A renamed name is no longer in use.
            if !self.renamed.contains_key(&m.entity) {
                own.add(m.name.of(source), NameForm::Plain);
            }
        }
        let mut short = ShortNames::with(taken, &own);
        for entity in by_frequency(mentions.iter().filter(local).filter(used)) {
            self.renamed.insert(entity, short.take());
            if usage.count(entity).is_some() {
                self.numbers
                    .insert(entity, usage.numbers(entity, NumberOrder::Frequency));
            }
        }
    }

    /// Writes the tokens with as little whitespace as possible.
    fn write(&self, names: &Names) -> Rewritten {
        let source = self.module.source();
        let mut patches = TextPatches::new();
        let mut pieces = self.pieces.iter().peekable();
        let mut mentions = names.refs().iter().peekable();
        let mut count: Option<(Span, u32)> = None;
        let mut last: (TokenKind, Vec<u8>) = (TokenKind::Whitespace, Vec::new());
        // Where the text after the last token begins.
        let mut end = 0;
        let mut new: Vec<u8> = Vec::new();
        for token in Lexer::new(source) {
            let at = token.span;
            while pieces.next_if(|p| p.end <= at.start).is_some() {}
            if token.kind.is_trivia() || pieces.peek().is_some_and(|p| p.start <= at.start) {
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
                && let Some(numbers) = self.numbers.get(&m.entity)
            {
                count = Some((m.number, numbers.len() as u32));
            }
            let counted = count.take_if(|(span, _)| span.start == at.start);
            if let Some((_, n)) = counted {
                new.clear();
                new.extend_from_slice(alloc::format!("{n}").as_bytes());
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
        let debug = Directive::from_text(text).is_some_and(|d| d.section().starts_with("11.5."));
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
        let Some(name) = self.renamed.get(&mention.entity) else {
            return false;
        };
        new.clear();
        new.extend_from_slice(name.as_bytes());
        if let Some(member) = mention.member {
            let numbers = self.numbers.get(&mention.entity);
            match numbers.and_then(|n| n.get(&member)) {
                Some(n) => new.extend_from_slice(alloc::format!("{n}").as_bytes()),
                None => new.extend_from_slice(word.get(mention.name.len()..).unwrap_or_default()),
            }
        }
        true
    }
}

/// Entities by the number of their uses, then by their first use.
fn by_frequency<'n>(mentions: impl Iterator<Item = &'n NameRef>) -> Vec<Entity> {
    let mut counts: BTreeMap<Entity, (u32, usize)> = BTreeMap::new();
    for (i, m) in mentions.enumerate() {
        counts.entry(m.entity).or_insert((0, i)).0 += 1;
    }
    let mut all: Vec<(Reverse<u32>, usize, Entity)> = Vec::new();
    all.extend(counts.iter().map(|(e, (n, i))| (Reverse(*n), *i, *e)));
    all.sort_unstable();
    all.into_iter().map(|(.., e)| e).collect()
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

/// Whether a variable of a function has memory. ptxas names its symbol after the variable and its line: on one line, two
/// variables of the same name would be the same symbol.
fn is_memory(module: &Module, entity: Entity) -> bool {
    let Entity::Variable(f, id) = entity else {
        return false;
    };
    let var = module.body(f).and_then(|b| b.vars().get(id));
    var.is_some_and(|v| {
        v.stmt.is_some() && matches!(v.space.base(), StateSpace::Shared | StateSpace::Local)
    })
}

/// Parameters of a kernel that are textures, samplers or surfaces: the driver finds them by name.
fn handles(module: &Module, f: FuncId) -> BTreeSet<ptx_ir::VarId> {
    let Some(function) = module.functions().get(f) else {
        return BTreeSet::new();
    };
    let params = function.interface.params.of(module.params()).iter();
    params
        .filter_map(|p| match (p.ty, p.binding) {
            (TypeName::Known(ty), ptx_ir::Binding::Var(v)) if ty.kind() == TypeKind::Opaque => {
                Some(v)
            }
            _ => None,
        })
        .collect()
}

/// Whether a register is a parameter of its function.
fn is_parameter(module: &Module, entity: Entity) -> bool {
    let Entity::Register(f, id) = entity else {
        return false;
    };
    let decl = module.body(f).and_then(|b| b.reg_decls().get(id));
    decl.is_some_and(|d| d.stmt.is_none())
}

/// Variables of a body that are visible to other modules.
fn linked(body: &Body) -> BTreeSet<ptx_ir::VarId> {
    let mut found = BTreeSet::new();
    for (_, statement) in body.statements() {
        let Statement::Decl(d) = statement else {
            continue;
        };
        if body
            .declarations()
            .decls
            .get(d)
            .is_some_and(|d| reachability::is_seen(d.linkage))
        {
            let all = body.declarations().declarators(d).iter();
            found.extend(all.filter_map(|d| match d.binding {
                ptx_ir::Binding::Var(v) => Some(v),
                _ => None,
            }));
        }
    }
    found
}
