//! The linkage of functions and variables.

use alloc::string::String;

use ptx_ir::lex::Lexer;
use ptx_ir::raw::{NewText, Patch, RawModule};
use ptx_ir::{Item, ItemId, Linkage, Module, Span};
use ptx_isa::Directive;

use crate::error::symbol_name;
use crate::{EditError, ModuleEditor};

impl ModuleEditor<'_> {
    /// Changes or removes the linkage of a function or a variable of the module. Other declarations of a function keep theirs.
    /// Linear in the items of the module.
    ///
    /// # Errors
    ///
    /// [`EditError::Kind`] if the item is not a function or a variable, or its header could not be parsed;
    /// [`EditError::Taken`] for a variable that is declared more than once.
    pub fn set_linkage(&mut self, id: ItemId, linkage: Option<Linkage>) -> Result<(), EditError> {
        self.check_declared_once(id)?;
        if current(self.module, id)? == linkage {
            return Ok(());
        }
        if self.module.edits().is_none_or(|e| e.was_read(id)) {
            let span = written(self.module, id);
            let new = linkage.map_or(String::new(), |l| format!("{} ", l.directive().text()));
            let text = NewText::Text(self.intern(&new));
            self.edits().patch(id, Patch { span, text });
        } else {
            self.edits();
        }
        let item = self.module.item(id);
        match item {
            Some(Item::Function(f)) => self.module.functions_mut()[f].linkage = linkage,
            Some(Item::Decl(d)) => self.module.declarations_mut().decls[d].linkage = linkage,
            _ => {}
        }
        let declared = item.map(|i| self.module.declared_symbols(i));
        for symbol in declared.unwrap_or_default() {
            self.symbol_changed(symbol);
        }
        Ok(())
    }

    /// Whether a variable may be declared twice depends on both linkages, so that only one declaration is accepted.
    fn check_declared_once(&self, id: ItemId) -> Result<(), EditError> {
        let module = &*self.module;
        let Some(item @ Item::Decl(_)) = module.item(id) else {
            return Ok(());
        };
        let names = module.declared_symbols(item);
        let mut others = module.items().filter(|(other, _)| *other != id);
        let again = |i: Item| {
            module
                .declared_symbols(i)
                .into_iter()
                .find(|s| names.contains(s))
        };
        match others.find_map(|(_, i)| again(i)) {
            None => Ok(()),
            Some(symbol) => Err(EditError::Taken(symbol_name(module, symbol))),
        }
    }
}

fn current(module: &Module, id: ItemId) -> Result<Option<Linkage>, EditError> {
    let wanted = "function or variable";
    match module.item(id) {
        Some(Item::Function(f)) => {
            let function = module.functions().get(f).ok_or(EditError::NoStatement)?;
            match function.raw_header {
                true => Err(EditError::Kind { wanted }),
                false => Ok(function.linkage),
            }
        }
        Some(Item::Decl(d)) => {
            let decl = module.declarations().decls.get(d);
            Ok(decl.ok_or(EditError::NoStatement)?.linkage)
        }
        _ => Err(EditError::Kind { wanted }),
    }
}

/// The span of the linkage in the source, with the space after it; without linkage, the place where it is inserted.
fn written(module: &Module, id: ItemId) -> Span {
    let span = module.span(id);
    let text = span.of(module.source());
    let is_linkage = |word: &[u8]| {
        let directive = Directive::from_text(word);
        directive.and_then(Linkage::from_directive).is_some()
    };
    let token = Lexer::fragment(text).find(|t| is_linkage(t.span.of(text)));
    token.map_or(Span::new(span.start, span.start), |t| {
        let rest = text.get(t.span.end as usize..).unwrap_or_default();
        let space = rest.first().is_some_and(|b| matches!(b, b' ' | b'\t'));
        Span::new(t.span.start, t.span.end + u32::from(space)).shifted(span.start)
    })
}
