//! Declarations: type, alignment, and the elements of initialisers one by one.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_isa::{Directive, ScalarType};

use super::edit_log::Patch;
use super::operand_walk::{self, Slot};
use super::{EditError, Editor};
use crate::body::Statement;
use crate::decl::{Binding, TypeName};
use crate::lex::{Lexer, TokenKind};
use crate::operand::{Operand, OperandPool};
use crate::{DeclId, Declarations, Item, ItemId, Module, NameId, Span, StmtId};

/// A part of a declaration and what it becomes.
#[derive(Copy, Clone)]
enum Part {
    Type(ScalarType),
    Align(u32),
    /// Of a name, an element, counted through all braces.
    Element(usize, usize, Operand),
}

impl Editor<'_> {
    /// Gives a declaration another type; that of registers, too.
    pub fn set_type(&mut self, stmt: StmtId, ty: ScalarType) -> Result<(), EditError> {
        let id = self.change(stmt, Part::Type(ty), ty.text())?;
        let body = self.body_mut();
        let all = body.declarations.declarators(id).iter();
        let bindings: Vec<Binding> = all.map(|d| d.binding).collect();
        for binding in bindings {
            if let Binding::Register(decl) = binding
                && let Some(decl) = body.reg_decls.get_mut(decl)
            {
                decl.ty = TypeName::Known(ty);
            }
        }
        Ok(())
    }

    /// Gives a declaration another alignment, in bytes.
    pub fn set_alignment(&mut self, stmt: StmtId, align: u32) -> Result<(), EditError> {
        self.change(stmt, Part::Align(align), &align.to_string())?;
        Ok(())
    }

    /// Gives an element of the initialiser of a name another value, a [`constant`](Self::constant). Names count from 0, and so do
    /// elements, through all braces.
    pub fn set_element(
        &mut self,
        stmt: StmtId,
        name: usize,
        element: usize,
        constant: &str,
    ) -> Result<(), EditError> {
        let value = self.constant(constant)?;
        self.change(stmt, Part::Element(name, element, value), constant)?;
        Ok(())
    }

    fn change(&mut self, stmt: StmtId, part: Part, text: &str) -> Result<DeclId, EditError> {
        let Statement::Decl(id) = self.statement(stmt)? else {
            let wanted = "declaration";
            return Err(EditError::Kind { wanted });
        };
        let span = self.body().source_span(stmt);
        let patch =
            find(self.module, span, part).map(|(span, insert)| (span, spelled(insert, text)));
        let body = self.body_mut();
        set(&mut body.declarations, &mut body.pool, id, part)?;
        match patch {
            Some((span, text)) => {
                let text = self.intern(&text);
                self.edits().patch(stmt, Patch { span, text });
            }
            None => self.edits().rewrite(stmt),
        }
        Ok(id)
    }
}

impl Module {
    /// Gives a variable of the module another type.
    pub fn set_type(&mut self, item: ItemId, ty: ScalarType) -> Result<(), EditError> {
        self.change_item(item, Part::Type(ty), ty.text())
    }

    /// Gives a variable of the module another alignment, in bytes.
    pub fn set_alignment(&mut self, item: ItemId, align: u32) -> Result<(), EditError> {
        self.change_item(item, Part::Align(align), &align.to_string())
    }

    /// Gives an element of an initialiser another value: see [`Editor::set_element`].
    pub fn set_element(
        &mut self,
        item: ItemId,
        name: usize,
        element: usize,
        constant: &str,
    ) -> Result<(), EditError> {
        let value = self.constant(constant)?;
        self.change_item(item, Part::Element(name, element, value), constant)
    }

    fn change_item(&mut self, item: ItemId, part: Part, text: &str) -> Result<(), EditError> {
        let Some(&Item::Decl(id)) = self.items.get(item) else {
            let wanted = "declaration";
            return Err(EditError::Kind { wanted });
        };
        let patch = find(self, self.span(item), part);
        set(&mut self.declarations, &mut self.pool, id, part)?;
        match patch {
            Some((span, insert)) => {
                let text = self.names.intern(spelled(insert, text).as_bytes()).0;
                let text = NameId::new(text);
                self.item_edits().patch(item, Patch { span, text });
            }
            None => self.item_edits().rewrite(item),
        }
        let all = self.declarations.declarators(id).iter();
        let symbol = |b: Binding| match b {
            Binding::Symbol(s) => Some(s),
            _ => None,
        };
        let changed: Vec<_> = all.filter_map(|d| symbol(d.binding)).collect();
        for symbol in changed {
            self.symbol_revisions.insert(symbol, self.revision);
        }
        Ok(())
    }
}

/// The text of a part, with the directive that has to be written as well.
fn spelled(insert: bool, text: &str) -> String {
    if insert {
        return alloc::format!("{} {text} ", Directive::Align.text());
    }
    String::from(text)
}

/// Changes the record of a declaration.
fn set(
    tables: &mut Declarations,
    pool: &mut OperandPool,
    id: DeclId,
    part: Part,
) -> Result<(), EditError> {
    let range = tables
        .decls
        .get(id)
        .ok_or(EditError::NoStatement)?
        .declarators;
    match part {
        Part::Type(ty) => tables.decls[id].ty = TypeName::Known(ty),
        Part::Align(n) if n.is_power_of_two() && n < 1 << 30 => {
            tables.decls[id].align = Operand::Small(n as i32);
        }
        Part::Align(n) => {
            let text = n.to_string();
            let wanted = "alignment";
            return Err(EditError::Spelling { wanted, text });
        }
        Part::Element(name, element, value) => {
            let none = || EditError::NoPart(alloc::format!("element {element}"));
            let at = (name < range.len as usize).then_some(range.start + name as u32);
            let at = at.ok_or_else(none)?;
            let init = tables.declarators.get(at as usize).map(|d| d.init);
            let init = init.filter(|i| *i != Operand::Absent).ok_or_else(none)?;
            // Leaves in order; a list holds nothing but elements.
            let mut todo = alloc::vec![(Slot::Initial(at), init)];
            let mut nth = 0;
            let slot = loop {
                let (slot, operand) = todo.pop().ok_or_else(none)?;
                if let Operand::Vector(_) = operand {
                    todo.push((slot, operand));
                    operand_walk::next(pool, &mut todo);
                    continue;
                }
                if nth == element {
                    break slot;
                }
                nth += 1;
            };
            operand_walk::set(pool, Some(tables), slot, value);
        }
    }
    Ok(())
}

/// Where a part stands in the source, and whether it has to be inserted there; `None` where it cannot be told.
fn find(module: &Module, span: Span, part: Part) -> Option<(Span, bool)> {
    let text = span.of(module.source());
    let tokens: Vec<_> = Lexer::fragment(text)
        .filter(|t| !t.kind.is_trivia())
        .collect();
    let word = |i: usize| tokens.get(i).map(|t| t.span.of(text)).unwrap_or_default();
    let first_name = tokens.iter().position(|t| t.kind == TokenKind::Ident)?;
    let ty = first_name.checked_sub(1)?;
    if tokens.get(ty)?.kind != TokenKind::DotWord {
        return None;
    }
    let at = |s: Span| s.shifted(span.start);
    match part {
        Part::Type(_) => Some((at(tokens.get(ty)?.span), false)),
        Part::Align(_) => {
            let align = Directive::Align.text().as_bytes();
            match (0..ty).find(|&i| word(i) == align) {
                Some(i) if tokens.get(i + 1)?.kind == TokenKind::Integer => {
                    Some((at(tokens.get(i + 1)?.span), false))
                }
                Some(_) => None,
                None => {
                    // Before the type, with its vector length.
                    let before = ty.checked_sub(1).filter(|&i| word(i).starts_with(b".v"));
                    let vector = before.filter(|&i| matches!(word(i), b".v2" | b".v4" | b".v8"));
                    let start = tokens.get(vector.unwrap_or(ty))?.span.start;
                    Some((at(Span::new(start, start)), true))
                }
            }
        }
        Part::Element(name, element, _) => {
            let mut i = first_name;
            let (mut names, mut depth) = (0, 0usize);
            // To the `=` of the name.
            while names < name || word(i) != b"=" {
                match tokens.get(i)?.span.of(text) {
                    b"(" | b"{" | b"[" | b"<" => depth += 1,
                    b")" | b"}" | b"]" | b">" => depth = depth.checked_sub(1)?,
                    b"," if depth == 0 => names += 1,
                    _ => {}
                }
                if names > name {
                    return None;
                }
                i += 1;
            }
            let (mut nth, mut parens) = (0, 0usize);
            let mut from: Option<Span> = None;
            loop {
                i += 1;
                let token = tokens.get(i)?;
                match token.span.of(text) {
                    b"(" => parens += 1,
                    b")" => parens = parens.checked_sub(1)?,
                    b"{" if parens == 0 => continue,
                    b"," | b"}" | b";" if parens == 0 => {
                        if let Some(found) = from.take() {
                            if nth == element {
                                let mut inside = Lexer::fragment(found.of(text));
                                let blank =
                                    |k: TokenKind| !k.is_trivia() || k == TokenKind::Whitespace;
                                // A comment in it would be lost.
                                return inside.all(|t| blank(t.kind)).then(|| (at(found), false));
                            }
                            nth += 1;
                        }
                        continue;
                    }
                    _ => {}
                }
                from = Some(from.map_or(token.span, |f| f.join(token.span)));
            }
        }
    }
}
