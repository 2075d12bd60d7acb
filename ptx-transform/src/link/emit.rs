//! Decides for each item of the modules whether it is kept, removed or replaced by a declaration.

use alloc::vec::Vec;

use ptx_ir::raw::Interner;
use ptx_ir::{
    Code, DeclId, Diagnostic, FuncId, Item, ItemId, Linkage, Module, Span, Statement, TextPatches,
};
use ptx_isa::Directive;

use super::assemble::copy;
use super::diagnostic::{LinkDiagnostic, about};
use super::header::Header;
use super::order::{self, Declares};
use super::shared_symbols::{self, Name, SharedNames, SymbolKind};
use super::variable::{Variable, alignment};
use super::{Linked, files};
use crate::declarators::Declaration;
use crate::headers::{HeadLinkage, head, linkage};
use crate::item_text::{self, ItemText};

/// How a shared name is declared in the result.
#[derive(Clone, Default)]
struct Shared {
    /// A declaration of the definition that is kept.
    forward: Vec<u8>,
    /// The largest alignment of all declarations.
    align: i64,
    /// Whether it is declared so far, and whether it is declared before its definition.
    declared: bool,
    forwarded: bool,
}

/// A pragma of some modules.
struct Pragma<'m> {
    text: &'m [u8],
    /// The first of the modules, and where it has the pragma.
    input: usize,
    span: Span,
    modules: Vec<usize>,
}

/// Links compatible modules.
pub(super) fn emit(
    modules: &[&Module],
    header: &Header,
    hidden: &[&str],
) -> Result<Linked, LinkDiagnostic> {
    let items: Vec<Vec<ItemText>> = modules.iter().map(|m| item_text::items(m)).collect();
    let names = SharedNames::of(modules);
    let declares = order::declares(modules, &items, &names);
    let order = order::merge(modules, &items, &names, &declares);
    let mut hidden = hidden.to_vec();
    hidden.sort_unstable();
    let mut work = LinkEmitter {
        modules,
        shared: alloc::vec![Shared::default(); names.0.len()],
        names,
        hidden,
        patches: modules.iter().map(|_| TextPatches::new()).collect(),
        pragma_texts: Interner::default(),
        pragmas: Vec::new(),
    };
    work.declare_shared(&items, &declares);
    let dropped = files::unite(modules, &items, &mut work.patches);
    let with_debug = modules.iter().any(|m| !m.sections().is_empty());
    if let (Some(module), Some(patches)) = (modules.first(), work.patches.first_mut()) {
        header.write(module, patches);
        header.write_debug(module, with_debug, patches);
    }
    for piece in &order {
        let item = items.get(piece.input).and_then(|c| c.get(piece.index));
        if let Some(item) = item {
            if dropped.binary_search(&(piece.input, piece.index)).is_ok() {
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

struct LinkEmitter<'m> {
    modules: &'m [&'m Module],
    names: SharedNames<'m>,
    /// By the indices of the names.
    shared: Vec<Shared>,
    /// Sorted.
    hidden: Vec<&'m str>,
    patches: Vec<TextPatches>,
    pragma_texts: Interner,
    /// By the numbers of their texts.
    pragmas: Vec<Pragma<'m>>,
}

impl<'m> LinkEmitter<'m> {
    /// Prepares the declarations of the shared names.
    fn declare_shared(&mut self, items: &[Vec<ItemText>], declares: &[Declares]) {
        let first = self.first_functions(items, declares);
        let mut variables: Vec<(usize, ItemId, usize, usize)> = Vec::new();
        for (index, (name, shared)) in self.names.0.iter().zip(&mut self.shared).enumerate() {
            let alignments = name.all.iter().filter_map(|(input, g)| {
                Some(Variable::of(self.modules.get(*input)?, g)?.alignment())
            });
            shared.align = alignments.max().unwrap_or(0);
            let mut all = name.all.iter();
            let Some(&(input, global)) = all.find(|(i, _)| Some(*i) == name.winner) else {
                continue;
            };
            match global.what {
                SymbolKind::Variable(_, i) => variables.push((input, global.item, i, index)),
                SymbolKind::Function(_) => {
                    let item = first.get(index).copied().flatten().unwrap_or(global.item);
                    let linkage = match self.hidden.binary_search(&name.name.0) {
                        Ok(_) => HeadLinkage::Omit,
                        Err(_) => HeadLinkage::Keep,
                    };
                    if let Some(module) = self.modules.get(input) {
                        shared.forward = head(module, item, linkage);
                    }
                }
            }
        }
        // A declaration with many names is parsed once.
        variables.sort_unstable();
        for same in variables.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let Some((module, &(_, item, ..))) = same
                .first()
                .and_then(|v| Some((*self.modules.get(v.0)?, v)))
            else {
                continue;
            };
            let declaration = Declaration::read(module, module.span(item));
            for &(_, _, i, index) in same {
                if let Some(shared) = self.shared.get_mut(index) {
                    shared.forward = declaration.external(module, i).unwrap_or_default();
                }
            }
        }
    }

    /// The first declaration of each function in the module whose definition is kept, which has the linkage.
    fn first_functions(
        &self,
        items: &[Vec<ItemText>],
        declares: &[Declares],
    ) -> Vec<Option<ItemId>> {
        let mut found = alloc::vec![None; self.names.0.len()];
        let modules = self.modules.iter().zip(items).zip(declares);
        for (input, ((module, items), declares)) in modules.enumerate() {
            for (item, _) in items.iter().zip(declares).filter(|(_, d)| !d.is_empty()) {
                if let Item::Function(id) = item.item
                    && let Some(f) = module.functions().get(id)
                    && let Some(index) = self.names.find((module.name(f.name), false))
                    && let Some(name) = self.names.0.get(index)
                    && name.winner == Some(input)
                    && let Some(first) = found.get_mut(index)
                {
                    first.get_or_insert(item.id);
                }
            }
        }
        found
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
            other if module.is_header(other) && input > 0 => self.keep_comments(input, item),
            other if module.directive(other) == Some(Directive::Pragma) => {
                let span = item.extent.statement;
                let text = span.of(module.source());
                let (index, is_new) = self.pragma_texts.intern(text);
                if is_new {
                    let modules = alloc::vec![input];
                    self.pragmas.push(Pragma {
                        text,
                        input,
                        span,
                        modules,
                    });
                } else if let Some(pragma) = self.pragmas.get_mut(index as usize) {
                    if !pragma.modules.contains(&input) {
                        pragma.modules.push(input);
                    }
                    self.keep_comments(input, item);
                }
            }
            _ => {}
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
    fn stays(&mut self, input: usize, name: Option<usize>) -> bool {
        let Some(index) = name else { return true };
        let (Some(name), Some(shared)) = (self.names.0.get(index), self.shared.get_mut(index))
        else {
            return true;
        };
        let stays = match name.winner {
            Some(winner) => winner == input,
            None => !shared.declared,
        };
        shared.declared |= stays;
        stays
    }

    /// A declaration for a definition further down, if there is none yet.
    fn forward(&mut self, name: Option<usize>) -> Option<Vec<u8>> {
        let shared = self.shared.get_mut(name?).filter(|s| !s.declared)?;
        (shared.declared, shared.forwarded) = (true, true);
        Some(shared.forward.clone())
    }

    fn is_hidden(&self, name: &str) -> bool {
        self.hidden.binary_search(&name).is_ok()
    }

    fn function(&mut self, input: usize, module: &'m Module, item: &ItemText, id: FuncId) {
        let Some(function) = module.functions().get(id) else {
            return;
        };
        let name = module.name(function.name);
        let shared = self.names.find((name, false));
        if !self.stays(input, shared) {
            let forward = self.forward(shared);
            match (forward, self.patches.get_mut(input)) {
                (Some(text), Some(patches)) => patches.replace(item.extent.statement, text),
                (None, Some(patches)) if function.body.is_some() => {
                    patches.remove(item.extent.removal())
                }
                _ => self.keep_comments(input, item),
            }
            return;
        }
        if self.is_hidden(name) && function.linkage == Some(Linkage::Visible) {
            self.hide(input, module, item);
        }
        let Some(body) = module.body(id) else { return };
        for (stmt, statement) in body.statements() {
            let Statement::Function(inner) = statement else {
                continue;
            };
            let inner = module.functions().get(inner);
            let inner = inner.and_then(|f| self.names.find((module.name(f.name), false)));
            if self.stays(input, inner) {
                continue;
            }
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
        let shared: Vec<Option<usize>> = names.iter().map(|n| self.names.find(*n)).collect();
        let stays: Vec<bool> = shared.iter().map(|n| self.stays(input, *n)).collect();
        let gone = shared.iter().zip(&stays).filter(|(_, stays)| !**stays);
        let mut forwards: Vec<u8> = Vec::new();
        for (name, _) in gone {
            if let Some(text) = self.forward(*name) {
                forwards.extend(text);
                forwards.push(b'\n');
            }
        }
        if stays.contains(&true) {
            let kept = shared.iter().zip(&stays).filter(|(_, stays)| **stays);
            let kept: Vec<Option<usize>> = kept.map(|(shared, _)| *shared).collect();
            self.update(input, item, (module, id), &names, &kept);
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
    fn update(
        &mut self,
        input: usize,
        item: &ItemText,
        (module, id): (&'m Module, DeclId),
        names: &[Name<'m>],
        kept: &[Option<usize>],
    ) {
        let Some(decl) = module.declarations().decls.get(id) else {
            return;
        };
        let is_hidden = |name: &Name<'_>| {
            let shared = self.names.find(*name).and_then(|i| self.shared.get(i));
            self.is_hidden(name.0) && !shared.is_some_and(|s| s.forwarded)
        };
        if decl.linkage == Some(Linkage::Visible) && names.iter().all(is_hidden) {
            self.hide(input, module, item);
        }
        let own = alignment(module, decl.align, decl.ty, decl.vector);
        let wanted = kept
            .iter()
            .filter_map(|name| Some(self.shared.get((*name)?)?.align));
        if let Some(wanted) = wanted.max().filter(|wanted| *wanted > own)
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
    fn notes(&mut self) -> Vec<LinkDiagnostic> {
        self.pragmas.sort_unstable_by_key(|p| p.text);
        let of = self.pragmas.iter();
        let of = of.filter(|p| p.modules.len() < self.modules.len());
        of.map(|pragma| {
            let message = "this pragma also applies to the other modules after linking";
            let warning = Diagnostic::warning(Code::SpreadingPragma, pragma.span, message);
            about(pragma.input, warning)
        })
        .collect()
    }
}
