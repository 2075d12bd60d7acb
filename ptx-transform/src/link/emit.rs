//! Decides for each item of the modules whether it is kept, removed or replaced by a declaration.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::raw::{Interner, TextPatches};
use ptx_ir::{Code, DeclId, Diagnostic, FuncId, Item, ItemId, Linkage, Module, Span, Statement};
use ptx_isa::Directive;

use super::assemble::copy;
use super::diagnostic::{LinkDiagnostic, about};
use super::header::Header;
use super::order::{self, Declares, Piece};
use super::shared_symbols::{self, Name, SharedNames, SymbolKind, Variable, alignment};
use super::{LinkedText, files};
use crate::declarators::Declaration;
use crate::items::{self, HeadLinkage, ItemText, linkage_span};

/// The declarations of a shared name in the result.
#[derive(Clone, Default)]
struct Shared {
    /// A declaration of the definition that is kept.
    forward: Vec<u8>,
    /// The largest alignment of all declarations.
    align: i64,
    /// The items decided so far declare the name.
    declared: bool,
    /// `forward` was inserted before the definition.
    forwarded: bool,
}

/// A pragma of some modules.
struct Pragma<'m> {
    text: &'m [u8],
    /// The first of the modules.
    input: usize,
    /// The span of the pragma in the first of the modules.
    span: Span,
    modules: Vec<usize>,
}

/// Links compatible modules.
pub(super) fn emit(
    modules: &[&Module],
    header: &Header,
    hidden: &[String],
) -> Result<LinkedText, Box<LinkDiagnostic>> {
    let items: Vec<Vec<ItemText>> = modules.iter().map(|m| items::items(m)).collect();
    let names = SharedNames::of(modules);
    let declares = order::declares(modules, &items, &names);
    let order = order::merge(modules, &items, &names, &declares);
    let mut hidden: Vec<&str> = hidden.iter().map(String::as_str).collect();
    hidden.sort_unstable();
    let mut emitter = LinkEmitter {
        modules,
        shared: vec![Shared::default(); names.0.len()],
        names,
        hidden,
        pragma_texts: Interner::default(),
        pragmas: Vec::new(),
    };
    emitter.declare_shared(&items, &declares);
    let mut patches: Vec<TextPatches> = modules.iter().map(|_| TextPatches::new()).collect();
    let dropped = files::unite(modules, &items, &mut patches);
    let with_debug = modules.iter().any(|m| !m.sections().is_empty());
    if let (Some(module), Some(patches)) = (modules.first(), patches.first_mut()) {
        header.write(module, patches);
        header.write_debug(module, with_debug, patches);
    }
    for &Piece { input, index } in &order {
        let item = items.get(input).and_then(|items| items.get(index));
        if let (Some(item), Some(module), Some(patches)) =
            (item, modules.get(input), patches.get_mut(input))
        {
            let place = Place {
                input,
                module,
                item,
            };
            if dropped.binary_search(&(input, index)).is_ok() {
                place.remove(patches);
            } else {
                emitter.item(place, patches);
            }
        }
    }
    let warnings = emitter.pragma_warnings();
    let (text, maps) = copy(modules, &items, &order, patches)?;
    Ok(LinkedText {
        text,
        maps,
        warnings,
    })
}

/// An item of a module.
#[derive(Copy, Clone)]
struct Place<'m, 'i> {
    input: usize,
    module: &'m Module,
    item: &'i ItemText,
}

impl Place<'_, '_> {
    /// Removes the statement; the comments around it stay.
    fn remove(self, patches: &mut TextPatches) {
        let extent = &self.item.extent;
        let is_space = |start, end| {
            let text = Span::new(start, end).of(self.module.source());
            text.iter().all(u8::is_ascii_whitespace)
        };
        let mut span = extent.statement;
        if is_space(extent.attached, span.start) {
            span.start = extent.attached;
        }
        if is_space(span.end, extent.trailing.end) {
            span.end = extent.trailing.end;
        }
        patches.remove(span);
    }

    /// Removes the linkage directive, so that the name is private to the result.
    fn hide(self, patches: &mut TextPatches) {
        if let Some(linkage) = linkage_span(self.module, self.item.extent.statement) {
            patches.remove(linkage);
        }
    }
}

struct LinkEmitter<'m> {
    modules: &'m [&'m Module],
    names: SharedNames<'m>,
    /// By the indices of the names.
    shared: Vec<Shared>,
    /// Sorted.
    hidden: Vec<&'m str>,
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
            shared.align = name
                .declarations
                .iter()
                .filter_map(|(input, global)| {
                    Some(Variable::of(self.modules.get(*input)?, global)?.alignment())
                })
                .max()
                .unwrap_or(0);
            let Some(&(input, global)) = name
                .declarations
                .iter()
                .find(|(input, _)| Some(*input) == name.winner)
            else {
                continue;
            };
            match global.kind {
                SymbolKind::Variable(_, i) => variables.push((input, global.item, i, index)),
                SymbolKind::Function(_) => {
                    let item = first.get(index).copied().flatten().unwrap_or(global.item);
                    let linkage = match self.hidden.binary_search(&name.name.0) {
                        Ok(_) => HeadLinkage::Omit,
                        Err(_) => HeadLinkage::Keep,
                    };
                    if let Some(module) = self.modules.get(input) {
                        shared.forward = items::declaration(module, item, linkage);
                    }
                }
            }
        }
        // A declaration with many names is parsed once.
        variables.sort_unstable();
        for group in variables.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let Some((module, &(_, item, ..))) = group
                .first()
                .and_then(|v| Some((*self.modules.get(v.0)?, v)))
            else {
                continue;
            };
            let declaration = Declaration::read(module, module.span(item));
            for &(_, _, i, index) in group {
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
        let mut first_functions = vec![None; self.names.0.len()];
        let modules = self.modules.iter().zip(items).zip(declares);
        for (input, ((module, items), declares)) in modules.enumerate() {
            for (item, _) in items.iter().zip(declares).filter(|(_, d)| !d.is_empty()) {
                if let Item::Function(id) = item.item
                    && let Some(f) = module.functions().get(id)
                    && let Some(index) = self.names.find((module.name(f.name), false))
                    && let Some(name) = self.names.0.get(index)
                    && name.winner == Some(input)
                    && let Some(first) = first_functions.get_mut(index)
                {
                    first.get_or_insert(item.id);
                }
            }
        }
        first_functions
    }

    /// Keeps, removes or replaces an item.
    fn item(&mut self, place: Place<'m, '_>, patches: &mut TextPatches) {
        let module = place.module;
        match place.item.item {
            Item::Function(id) => self.function(place, id, patches),
            Item::Decl(id) => self.declaration(place, id, patches),
            other if module.is_header(other) && place.input > 0 => place.remove(patches),
            other if module.directive(other) == Some(Directive::Pragma) => {
                let span = place.item.extent.statement;
                let text = span.of(module.source());
                let (index, is_new) = self.pragma_texts.intern(text);
                if is_new {
                    let modules = vec![place.input];
                    self.pragmas.push(Pragma {
                        text,
                        input: place.input,
                        span,
                        modules,
                    });
                } else if let Some(pragma) = self.pragmas.get_mut(index as usize) {
                    if !pragma.modules.contains(&place.input) {
                        pragma.modules.push(place.input);
                    }
                    place.remove(patches);
                }
            }
            _ => {}
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

    fn function(&mut self, place: Place<'m, '_>, id: FuncId, patches: &mut TextPatches) {
        let module = place.module;
        let Some(function) = module.functions().get(id) else {
            return;
        };
        let name = module.name(function.name);
        let shared = self.names.find((name, false));
        if !self.stays(place.input, shared) {
            return match self.forward(shared) {
                Some(text) => patches.replace(place.item.extent.statement, text),
                None if function.body.is_some() => patches.remove(place.item.extent.removal()),
                None => place.remove(patches),
            };
        }
        if self.is_hidden(name) && function.linkage == Some(Linkage::Visible) {
            place.hide(patches);
        }
        let Some(body) = module.body(id) else { return };
        for (stmt, statement) in body.statements() {
            let Statement::Function(inner) = statement else {
                continue;
            };
            let inner = module.functions().get(inner);
            let inner = inner.and_then(|f| self.names.find((module.name(f.name), false)));
            if !self.stays(place.input, inner) {
                let text = self.forward(inner).unwrap_or_default();
                patches.replace(body.source_span(stmt), text);
            }
        }
    }

    fn declaration(&mut self, place: Place<'m, '_>, id: DeclId, patches: &mut TextPatches) {
        let module = place.module;
        let Some(decl) = module.declarations().decls.get(id) else {
            return;
        };
        let declarators = module.declarations().declarators(id).iter();
        let names: Vec<(Name<'m>, Option<usize>)> = declarators
            .map(|d| shared_symbols::declared(module, d))
            .map(|name| (name, self.names.find(name)))
            .collect();
        let (mut stays, mut forwards, mut align) = (Vec::new(), Vec::new(), 0);
        for (_, shared) in &names {
            let stay = self.stays(place.input, *shared);
            stays.push(stay);
            if stay {
                let shared = shared.and_then(|i| self.shared.get(i));
                align = shared.map_or(0, |s| s.align).max(align);
            }
        }
        for ((_, shared), _) in names.iter().zip(&stays).filter(|(_, stays)| !**stays) {
            if let Some(text) = self.forward(*shared) {
                forwards.extend(text);
                forwards.push(b'\n');
            }
        }
        let span = place.item.extent.statement;
        let read_declaration = || Declaration::read(module, span);
        if stays.contains(&true) {
            let are_hidden = names.iter().all(|(name, shared)| {
                let shared = shared.and_then(|i| self.shared.get(i));
                self.is_hidden(name.0) && !shared.is_some_and(|s| s.forwarded)
            });
            if decl.linkage == Some(Linkage::Visible) && are_hidden {
                place.hide(patches);
            }
            if align > alignment(module, decl.align, decl.ty, decl.vector) {
                read_declaration().align(align, patches);
            }
        }
        if stays.contains(&false) && !read_declaration().replace(patches, span, &stays, &forwards) {
            match decl.linkage {
                Some(Linkage::Extern) => place.remove(patches),
                _ => patches.remove(place.item.extent.removal()),
            }
        }
    }

    /// Warns about pragmas that not all modules have.
    fn pragma_warnings(&mut self) -> Vec<LinkDiagnostic> {
        self.pragmas.sort_unstable_by_key(|p| p.text);
        self.pragmas
            .iter()
            .filter(|pragma| pragma.modules.len() < self.modules.len())
            .map(|pragma| {
                let message = "this pragma also applies to the other modules after linking";
                let warning = Diagnostic::warning(Code::SpreadingPragma, pragma.span, message);
                about(pragma.input, warning)
            })
            .collect()
    }
}
