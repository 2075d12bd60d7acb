//! Decides for each item of the modules whether it is kept, removed or replaced by a declaration.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_ir::{
    Code, DeclId, Diagnostic, FuncId, Item, ItemId, Linkage, Module, Span, Statement, TextPatches,
};
use ptx_isa::Directive;

use super::assemble::copy;
use super::header::Header;
use super::order::{self, Declares};
use super::shared_symbols::{self, Global, Name, Role, SymbolKind};
use super::variable::Variable;
use super::{LinkDiagnostic, LinkOptions, Linked, about, files};
use crate::declarators::Declaration;
use crate::extract::directive;
use crate::headers::{HeadLinkage, head, linkage};
use crate::item_text::{self, ItemText};

/// Whether a directive belongs to the header.
pub(super) fn is_header(directive: Directive) -> bool {
    matches!(
        directive,
        Directive::Version | Directive::Target | Directive::AddressSize
    )
}

/// A name that several modules share.
struct Shared {
    /// The module whose definition is kept.
    winner: Option<usize>,
    /// A declaration of that definition.
    forward: Vec<u8>,
    /// The largest alignment of all declarations.
    align: i64,
}

/// Links compatible modules.
pub(super) fn emit(
    modules: &[&Module],
    header: &Header,
    options: &LinkOptions<'_>,
) -> Result<Linked, LinkDiagnostic> {
    let items: Vec<Vec<ItemText>> = modules.iter().map(|m| item_text::items(m)).collect();
    let mut work = LinkEmitter {
        modules,
        shared: BTreeMap::new(),
        hidden: options.hide.iter().copied().collect(),
        patches: modules.iter().map(|_| TextPatches::new()).collect(),
        declared: BTreeSet::new(),
        forwarded: BTreeSet::new(),
        pragmas: BTreeMap::new(),
    };
    let all = shared_symbols::shared(modules);
    let winners: BTreeMap<Name<'_>, Option<usize>> = all
        .iter()
        .map(|(name, of)| (*name, shared_symbols::winner(modules, of)))
        .collect();
    let declares = order::declares(modules, &items, &winners);
    work.resolve(&all, &winners, &items, &declares);
    let order = order::merge(modules, &items, &declares);
    let dropped: BTreeSet<(usize, usize)> = files::unite(modules, &items, &mut work.patches)
        .into_iter()
        .map(|p| (p.input, p.index))
        .collect();
    let with_debug = modules.iter().any(|m| !m.sections().is_empty());
    if let (Some(module), Some(patches)) = (modules.first(), work.patches.first_mut()) {
        header.write(module, header.debug && with_debug, patches);
    }
    for piece in &order {
        let item = items.get(piece.input).and_then(|c| c.get(piece.index));
        if let Some(item) = item {
            if dropped.contains(&(piece.input, piece.index)) {
                work.keep_comments(piece.input, item);
            } else {
                work.item(piece.input, item);
            }
        }
    }
    let notes = work.notes();
    let (text, maps) = copy(modules, &items, &order, work.patches)?;
    Ok(Linked { text, maps, notes })
}

/// The first declaration of each function at module level, which has the linkage.
fn first_functions<'m>(
    modules: &[&'m Module],
    items: &[Vec<ItemText>],
    declares: &Declares<'m>,
) -> BTreeMap<(usize, &'m str), ItemId> {
    let mut found = BTreeMap::new();
    for (input, ((module, items), declares)) in modules.iter().zip(items).zip(declares).enumerate()
    {
        for item in declares.keys().filter_map(|i| items.get(*i)) {
            if let Item::Function(id) = item.item
                && let Some(f) = module.functions().get(id)
            {
                let name = module.name(f.name);
                found.entry((input, name)).or_insert(item.id);
            }
        }
    }
    found
}

struct LinkEmitter<'m, 'o> {
    modules: &'m [&'m Module],
    shared: BTreeMap<Name<'m>, Shared>,
    hidden: BTreeSet<&'o str>,
    patches: Vec<TextPatches>,
    /// The shared names that are declared so far.
    declared: BTreeSet<Name<'m>>,
    /// The names that are declared before their definition.
    forwarded: BTreeSet<Name<'m>>,
    /// The pragmas of the modules, with their position and the number of modules that have them.
    pragmas: BTreeMap<&'m [u8], (usize, Span, BTreeSet<usize>)>,
}

impl<'m> LinkEmitter<'m, '_> {
    fn resolve(
        &mut self,
        all: &BTreeMap<Name<'m>, Vec<(usize, Global)>>,
        winners: &BTreeMap<Name<'m>, Option<usize>>,
        items: &[Vec<ItemText>],
        declares: &Declares<'m>,
    ) {
        let first = first_functions(self.modules, items, declares);
        // A declaration with many names is parsed once.
        let mut read: BTreeMap<(usize, ItemId), Declaration> = BTreeMap::new();
        for (name, of) in all {
            let winner = winners.get(name).copied().flatten();
            let variables = of.iter().filter_map(|(input, g)| {
                let module = self.modules.get(*input)?;
                Some(Variable::of(module, g)?.alignment())
            });
            let align = variables.max().unwrap_or(0);
            let forward = of.iter().find(|(i, _)| Some(*i) == winner);
            let forward = forward.and_then(|&(input, global)| {
                let module = *self.modules.get(input)?;
                match global.what {
                    SymbolKind::Variable(_, i) => read
                        .entry((input, global.item))
                        .or_insert_with(|| Declaration::read(module, module.span(global.item)))
                        .external(module, i),
                    SymbolKind::Function(_) => {
                        let first = first.get(&(input, name.0));
                        let item = first.copied().unwrap_or(global.item);
                        let linkage = match self.hidden.contains(name.0) {
                            true => HeadLinkage::Omit,
                            false => HeadLinkage::Keep,
                        };
                        Some(head(module, item, linkage))
                    }
                }
            });
            let shared = Shared {
                winner,
                forward: forward.unwrap_or_default(),
                align,
            };
            self.shared.insert(*name, shared);
        }
    }

    fn patches(&mut self, input: usize) -> Option<&mut TextPatches> {
        self.patches.get_mut(input)
    }

    /// Decides about a item.
    fn item(&mut self, input: usize, item: &ItemText) {
        let Some(&module) = self.modules.get(input) else {
            return;
        };
        match item.item {
            Item::Function(id) => self.function(input, module, item, id),
            Item::Decl(id) => self.declaration(input, module, item, id),
            other => match directive(module, other) {
                Some(d) if is_header(d) && input > 0 => self.keep_comments(input, item),
                Some(Directive::Pragma) => {
                    let text = item.extent.statement.of(module.source());
                    let entry = self.pragmas.entry(text);
                    let (.., inputs) =
                        entry.or_insert_with(|| (input, item.extent.statement, BTreeSet::new()));
                    let again = !inputs.is_empty();
                    inputs.insert(input);
                    if again {
                        self.keep_comments(input, item);
                    }
                }
                _ => {}
            },
        }
    }

    /// Removes a statement and keeps the comments around it.
    fn keep_comments(&mut self, input: usize, item: &ItemText) {
        let Some(&module) = self.modules.get(input) else {
            return;
        };
        let is_space = |span: Span| {
            let text = span.of(module.source());
            text.iter().all(u8::is_ascii_whitespace)
        };
        let before = Span::new(item.extent.attached, item.extent.statement.start);
        let after = Span::new(item.extent.statement.end, item.extent.trailing.end);
        let start = if is_space(before) {
            item.extent.attached
        } else {
            item.extent.statement.start
        };
        let end = if is_space(after) {
            item.extent.trailing.end
        } else {
            item.extent.statement.end
        };
        if let Some(patches) = self.patches(input) {
            patches.remove(Span::new(start, end));
        }
    }

    /// Whether a declaration is kept: of a name that its own module defines, and the first one of an undefined name.
    fn stays(&mut self, input: usize, name: Name<'m>) -> bool {
        let Some(shared) = self.shared.get(&name) else {
            return true;
        };
        let first = !self.declared.contains(&name);
        let stays = match shared.winner {
            Some(winner) => winner == input,
            None => first,
        };
        if stays {
            self.declared.insert(name);
        }
        stays
    }

    /// A declaration for a definition further down, if there is none yet.
    fn forward(&mut self, name: Name<'m>) -> Option<Vec<u8>> {
        if !self.declared.insert(name) {
            return None;
        }
        self.forwarded.insert(name);
        self.shared.get(&name).map(|s| s.forward.clone())
    }

    fn function(&mut self, input: usize, module: &'m Module, item: &ItemText, id: FuncId) {
        let Some(function) = module.functions().get(id) else {
            return;
        };
        let name = (module.name(function.name), false);
        if !self.stays(input, name) {
            let forward = self.forward(name);
            match (forward, self.patches.get_mut(input)) {
                (Some(text), Some(patches)) => patches.replace(item.extent.statement, text),
                (None, Some(patches)) if function.body.is_some() => {
                    patches.remove(item.extent.removal())
                }
                _ => self.keep_comments(input, item),
            }
            return;
        }
        if self.hidden.contains(name.0) && function.linkage == Some(Linkage::Visible) {
            self.hide(input, module, item);
        }
        let Some(body) = module.body(id) else { return };
        for (stmt, statement) in body.statements() {
            let Statement::Function(inner) = statement else {
                continue;
            };
            let inner = module.functions().get(inner);
            let inner = inner.map(|f| (module.name(f.name), false));
            let Some(inner) = inner.filter(|n| !self.stays(input, *n)) else {
                continue;
            };
            let text = self.forward(inner).unwrap_or_default();
            if let Some(patches) = self.patches(input) {
                patches.replace(body.source_span(stmt), text);
            }
        }
    }

    fn declaration(&mut self, input: usize, module: &'m Module, item: &ItemText, id: DeclId) {
        let declarators = module.declarations().declarators(id);
        let names: Vec<Name<'m>> = declarators
            .iter()
            .map(|d| shared_symbols::declared(module, d))
            .collect();
        let stays: Vec<bool> = names.iter().map(|n| self.stays(input, *n)).collect();
        let gone = names.iter().zip(&stays).filter(|(_, stays)| !**stays);
        let mut forwards: Vec<u8> = Vec::new();
        for (name, _) in gone {
            if let Some(text) = self.forward(*name) {
                forwards.extend(text);
                forwards.push(b'\n');
            }
        }
        if stays.contains(&true) {
            self.visible_declaration(input, module, item, id, &names, &stays);
        }
        if !stays.contains(&false) {
            return;
        }
        let linkage = module.declarations().decls.get(id).and_then(|d| d.linkage);
        let Some(patches) = self.patches.get_mut(input) else {
            return;
        };
        let declaration = Declaration::read(module, item.extent.statement);
        if !declaration.replace(patches, item.extent.statement, &stays, &forwards) {
            if linkage == Some(Linkage::Extern) {
                self.keep_comments(input, item);
            } else {
                patches.remove(item.extent.removal());
            }
        }
    }

    /// Updates a declaration that is kept: its linkage and its alignment.
    fn visible_declaration(
        &mut self,
        input: usize,
        module: &'m Module,
        item: &ItemText,
        id: DeclId,
        names: &[Name<'m>],
        stays: &[bool],
    ) {
        let Some(decl) = module.declarations().decls.get(id) else {
            return;
        };
        let hidden = |n: &Name<'_>| self.hidden.contains(n.0) && !self.forwarded.contains(n);
        if decl.linkage == Some(Linkage::Visible) && names.iter().all(hidden) {
            self.hide(input, module, item);
        }
        let kept = names.iter().enumerate().zip(stays).filter(|(_, s)| **s);
        let wanted = kept.filter_map(|((i, name), _)| {
            let of = Global {
                symbol: ptx_ir::SymbolId::new(0),
                role: Role::Private,
                item: item.id,
                what: SymbolKind::Variable(id, i),
            };
            let own = Variable::of(module, &of)?.alignment();
            let wanted = self.shared.get(name)?.align;
            (wanted > own).then_some(wanted)
        });
        if let Some(wanted) = wanted.max()
            && let Some(patches) = self.patches.get_mut(input)
        {
            let declaration = Declaration::read(module, item.extent.statement);
            declaration.align(wanted, patches);
        }
    }

    /// Removes the linkage of an item.
    fn hide(&mut self, input: usize, module: &Module, item: &ItemText) {
        if let (Some(at), Some(patches)) =
            (linkage(module, item.extent.statement), self.patches(input))
        {
            patches.remove(at);
        }
    }

    /// Warns about pragmas that not all modules have.
    fn notes(&self) -> Vec<LinkDiagnostic> {
        let of = self.pragmas.values();
        let of = of.filter(|(.., inputs)| inputs.len() < self.modules.len());
        of.map(|(input, span, _)| {
            let message = "this pragma also applies to the other modules after linking";
            about(
                *input,
                Diagnostic::warning(Code::SpreadingPragma, *span, message),
            )
        })
        .collect()
    }
}
