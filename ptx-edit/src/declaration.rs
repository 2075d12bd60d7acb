//! Edits of declarations: type, alignment, and single elements of initializers.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::raw::{DeclarationSpans, Edits, NewText, OperandSlot, Patch, RawBody, RawModule};
use ptx_ir::{
    Binding, DeclId, Declarations, EntityId, Item, ItemId, Module, NameId, Operand, OperandPool,
    Span, Statement, StmtId, TypeName,
};
use ptx_isa::{Directive, ScalarType};

use crate::{EditError, Editor, ModuleEditor};

/// A part of a declaration and its new value.
#[derive(Copy, Clone)]
enum Part {
    Type(ScalarType),
    Align(u32),
    /// An element of the initializer of a declarator.
    Element {
        declarator: usize,
        /// The index of the element, counted through all braces.
        element: usize,
        value: Operand,
    },
}

impl Editor<'_> {
    /// Changes the type of a declaration of variables or registers.
    ///
    /// # Errors
    ///
    /// [`EditError::Kind`] if the statement is not a declaration.
    pub fn set_type(&mut self, stmt: StmtId, ty: ScalarType) -> Result<(), EditError> {
        let id = self.change_part(stmt, Part::Type(ty), ty.text())?;
        let bindings: Vec<Binding> = self
            .body()
            .declarations()
            .declarators(id)
            .iter()
            .map(|d| d.binding)
            .collect();
        for binding in bindings {
            if let Binding::Register(decl) = binding
                && let Some(decl) = self.body_mut().reg_decls_mut().get_mut(decl)
            {
                decl.ty = TypeName::Known(ty);
            }
        }
        Ok(())
    }

    /// Changes the alignment of a declaration, in bytes.
    ///
    /// # Errors
    ///
    /// [`EditError::Kind`] if the statement is not a declaration, [`EditError::Spelling`] unless `align` is a power of two
    /// below 2³⁰.
    pub fn set_alignment(&mut self, stmt: StmtId, align: u32) -> Result<(), EditError> {
        self.change_part(stmt, Part::Align(align), &align.to_string())?;
        Ok(())
    }

    /// Replaces an element of an initializer by a [`constant`](Self::constant). Declarators and elements count from 0,
    /// elements through all braces.
    ///
    /// # Errors
    ///
    /// [`EditError::NoPart`] if there is no such element, [`EditError::Spelling`] if the text is not a constant.
    pub fn set_element(
        &mut self,
        stmt: StmtId,
        declarator: usize,
        element: usize,
        constant: &str,
    ) -> Result<(), EditError> {
        let value = self.constant(constant)?;
        let part = Part::Element {
            declarator,
            element,
            value,
        };
        self.change_part(stmt, part, constant)?;
        Ok(())
    }

    fn change_part(&mut self, stmt: StmtId, part: Part, text: &str) -> Result<DeclId, EditError> {
        let Statement::Decl(id) = self.statement(stmt)? else {
            return EditError::kind("declaration");
        };
        let body = self.body();
        let patch = patch_part(self.module, body.source_span(stmt), part, text);
        let slot = element_slot(body.declarations(), body.pool(), id, part)?;
        let body = self.body_mut();
        set_part(body.declarations_mut(), id, part, slot)?;
        set_in_pool(RawBody::pool_mut(body), part, slot);
        let patch = patch.map(|(span, text)| (span, self.intern(&text)));
        record(self.edits(), stmt, patch);
        Ok(id)
    }
}

impl ModuleEditor<'_> {
    /// Changes the type of a variable of the module.
    ///
    /// # Errors
    ///
    /// [`EditError::Kind`] if the item is not a declaration.
    pub fn set_type(&mut self, item: ItemId, ty: ScalarType) -> Result<(), EditError> {
        self.change_part(item, Part::Type(ty), ty.text())
    }

    /// Changes the alignment of a variable of the module, in bytes.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Editor::set_alignment`].
    pub fn set_alignment(&mut self, item: ItemId, align: u32) -> Result<(), EditError> {
        self.change_part(item, Part::Align(align), &align.to_string())
    }

    /// Replaces an element of an initializer: see [`Editor::set_element`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Editor::set_element`].
    pub fn set_element(
        &mut self,
        item: ItemId,
        declarator: usize,
        element: usize,
        constant: &str,
    ) -> Result<(), EditError> {
        let value = self.constant(constant)?;
        let part = Part::Element {
            declarator,
            element,
            value,
        };
        self.change_part(item, part, constant)
    }

    fn change_part(&mut self, item: ItemId, part: Part, text: &str) -> Result<(), EditError> {
        let Some(Item::Decl(id)) = self.module.item(item) else {
            return EditError::kind("declaration");
        };
        let patch = patch_part(self.module, self.module.span(item), part, text);
        let slot = element_slot(self.module.declarations(), self.module.pool(), id, part)?;
        set_part(self.module.declarations_mut(), id, part, slot)?;
        set_in_pool(self.module.pool_mut(), part, slot);
        let patch = patch.map(|(span, text)| (span, self.intern(&text)));
        record(self.edits(), item, patch);
        for symbol in self.module.declared_symbols(Item::Decl(id)) {
            self.symbol_changed(symbol);
        }
        Ok(())
    }
}

/// Stores an element of an initializer with braces, which is part of another operand.
fn set_in_pool(pool: &mut OperandPool, part: Part, slot: Option<OperandSlot>) {
    if let (Some(slot), Part::Element { value, .. }) = (slot, part) {
        pool.set_slot(slot, value);
    }
}

/// Records a patch; without one, the whole declaration is printed from its record.
fn record<K: EntityId>(edits: &mut Edits<K>, id: K, patch: Option<(Span, NameId)>) {
    match patch {
        Some((span, text)) => {
            let text = NewText::Text(text);
            edits.patch(id, Patch { span, text });
        }
        None => edits.rewrite(id),
    }
}

/// The place where an element of an initializer is stored; `None` for the other parts of a declaration.
fn element_slot(
    tables: &Declarations,
    pool: &OperandPool,
    id: DeclId,
    part: Part,
) -> Result<Option<OperandSlot>, EditError> {
    let Part::Element {
        declarator,
        element,
        ..
    } = part
    else {
        return Ok(None);
    };
    let range = tables
        .decls
        .get(id)
        .ok_or(EditError::NoStatement)?
        .declarators;
    let init = range
        .of(&tables.declarators)
        .get(declarator)
        .map(|d| d.init)
        .filter(|i| *i != Operand::Absent);
    if let Some(init) = init {
        let declarator = range.start + declarator as u32;
        let mut walk = pool.walk_stored(OperandSlot::Initializer(declarator), init);
        let mut index = 0;
        while let Some((slot, operand)) = walk.peek() {
            // Braces are vectors, whose parts are counted; an element that is not in braces counts once.
            if let Operand::Vector(_) = operand {
                walk.next();
                continue;
            }
            if index == element {
                return Ok(Some(slot));
            }
            index += 1;
            walk.next_whole();
        }
    }
    Err(EditError::NoPart(format!("element {element}")))
}

/// Changes the record of a declaration. An element that is part of another operand is stored by [`set_in_pool`] instead.
fn set_part(
    tables: &mut Declarations,
    id: DeclId,
    part: Part,
    slot: Option<OperandSlot>,
) -> Result<(), EditError> {
    let decl = tables.decls.get_mut(id).ok_or(EditError::NoStatement)?;
    match part {
        Part::Type(ty) => decl.ty = TypeName::Known(ty),
        Part::Align(n) if n.is_power_of_two() && n < 1 << 30 => {
            decl.align = Operand::Small(n as i32);
        }
        Part::Align(n) => {
            return Err(EditError::spelling("alignment", n.to_string()));
        }
        Part::Element { value, .. } => {
            if let Some(OperandSlot::Initializer(index)) = slot
                && let Some(declarator) = tables.declarators.get_mut(index as usize)
            {
                declarator.init = value;
            }
        }
    }
    Ok(())
}

/// The patch of a part, which becomes `text`; `None` if it is uncertain where the part is in the source.
fn patch_part(module: &Module, span: Span, part: Part, text: &str) -> Option<(Span, String)> {
    let source = module.source();
    let spans = DeclarationSpans::read(span.of(source), span.start)?;
    let align = Directive::Align.text();
    let replaced = match (part, spans.align) {
        // A prefix such as `.v4` remains: only the last word is replaced.
        (Part::Type(_), _) => {
            let start = spans.ty.of(source).iter().rposition(|b| *b == b'.')?;
            Span::new(spans.ty.start + start as u32, spans.ty.end)
        }
        (Part::Align(_), Some(number)) => number,
        (Part::Align(_), None) if contains(source, spans.prefix, align) => return None,
        (Part::Align(_), None) => {
            let type_start = spans.ty.start;
            return Some((
                Span::new(type_start, type_start),
                format!("{align} {text} "),
            ));
        }
        (
            Part::Element {
                declarator,
                element,
                ..
            },
            _,
        ) => {
            let init = spans.declarators.get(declarator)?.init?;
            find_element(init.of(source), element)?.shifted(init.start)
        }
    };
    Some((replaced, String::from(text)))
}

/// Returns whether a part of the source contains the token `word`.
fn contains(source: &[u8], span: Span, word: &str) -> bool {
    let text = span.of(source);
    Lexer::fragment(text).any(|t| t.span.of(text) == word.as_bytes())
}

/// An element of an initializer, unless a comment is inside it.
fn find_element(text: &[u8], element: usize) -> Option<Span> {
    let (mut index, mut parens) = (0, 0usize);
    let mut current: Option<Span> = None;
    let tokens = Lexer::fragment(text).filter(|t| !t.kind.is_trivia());
    // The end of the text ends the last element.
    let end = Token {
        kind: TokenKind::Punct,
        span: Span::at(text.len(), text.len()),
    };
    for token in tokens.chain([end]) {
        match token.span.of(text) {
            b"(" => parens += 1,
            b")" => parens = parens.checked_sub(1)?,
            b"{" if parens == 0 => continue,
            b"," | b"}" | b"" if parens == 0 => {
                if let Some(span) = current.take() {
                    if index == element {
                        let has_comment = Lexer::fragment(span.of(text))
                            .any(|t| t.kind.is_trivia() && t.kind != TokenKind::Whitespace);
                        return (!has_comment).then_some(span);
                    }
                    index += 1;
                }
                continue;
            }
            _ => {}
        }
        current = Some(current.map_or(token.span, |c| c.join(token.span)));
    }
    None
}
