//! The linkage of functions and variables.

use alloc::string::String;

use ptx_ir::lex::Lexer;
use ptx_ir::raw::{NewText, Patch, RawModule};
use ptx_ir::{Item, ItemId, Linkage, Module, Span};
use ptx_isa::Directive;

use crate::error::symbol_name;
use crate::{EditError, ModuleEditor};

impl ModuleEditor<'_> {
    /// Changes or removes the linkage of a function or a variable of the module. The linkage of other declarations of a
    /// function does not change.
    /// Linear in the items of the module.
    ///
    /// # Errors
    ///
    /// [`EditError::Kind`] if the item is not a function or a variable, or its header could not be parsed;
    /// [`EditError::Taken`] for a variable that is declared more than once.
    pub fn set_linkage(&mut self, id: ItemId, linkage: Option<Linkage>) -> Result<(), EditError> {
        self.check_declared_once(id)?;
        if current_linkage(self.module, id)? == linkage {
            return Ok(());
        }
        if self.module.edits().is_none_or(|e| e.was_read(id)) {
            let span = linkage_span(self.module, id);
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

    /// Checks that no other item declares a variable of this item. Two declarations of a variable are valid only with certain
    /// pairs of linkages.
    fn check_declared_once(&self, id: ItemId) -> Result<(), EditError> {
        let module = &*self.module;
        let Some(item @ Item::Decl(_)) = module.item(id) else {
            return Ok(());
        };
        let symbols = module.declared_symbols(item);
        let redeclared = module
            .items()
            .filter(|(other_id, _)| *other_id != id)
            .flat_map(|(_, other_item)| module.declared_symbols(other_item))
            .find(|symbol| symbols.contains(symbol));
        match redeclared {
            None => Ok(()),
            Some(symbol) => Err(EditError::Taken(symbol_name(module, symbol))),
        }
    }
}

/// The linkage of a function or a variable.
fn current_linkage(module: &Module, id: ItemId) -> Result<Option<Linkage>, EditError> {
    const NO_LINKAGE: EditError = EditError::Kind {
        wanted: "function or variable",
    };
    match module.item(id) {
        Some(Item::Function(f)) => {
            let function = module.functions().get(f).ok_or(EditError::NoStatement)?;
            if function.raw_header {
                Err(NO_LINKAGE)
            } else {
                Ok(function.linkage)
            }
        }
        Some(Item::Decl(d)) => {
            let decl = module.declarations().decls.get(d);
            Ok(decl.ok_or(EditError::NoStatement)?.linkage)
        }
        _ => Err(NO_LINKAGE),
    }
}

/// The span of the linkage in the source, with the space after it; without linkage, the place where it is inserted.
fn linkage_span(module: &Module, id: ItemId) -> Span {
    let span = module.span(id);
    let text = span.of(module.source());
    let linkage_token = Lexer::fragment(text).find(|t| {
        Directive::from_text(t.span.of(text))
            .and_then(Linkage::from_directive)
            .is_some()
    });
    linkage_token.map_or(Span::new(span.start, span.start), |t| {
        let has_space = text
            .get(t.span.end as usize)
            .is_some_and(|b| matches!(b, b' ' | b'\t'));
        Span::new(t.span.start, t.span.end + u32::from(has_space)).shifted(span.start)
    })
}
