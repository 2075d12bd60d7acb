//! The header: version, target, address size.

use alloc::string::{String, ToString};

use ptx_isa::{Directive, PtxVersion, Target};

use super::EditError;
use super::edit_log::Patch;
use crate::lex::{Lexer, TokenKind};
use crate::operand::Operand;
use crate::{DirectiveStmt, Item, ItemId, Module, NameId};

impl Module {
    /// Writes another version into the header.
    pub fn set_version(&mut self, version: PtxVersion) -> Result<(), EditError> {
        let (item, stmt) = self.header_directive(Directive::Version)?;
        let number = |kind, _: &[u8]| matches!(kind, TokenKind::Decimal | TokenKind::Integer);
        self.patch_word(item, number, &version.to_string())?;
        let numbers = [version.major, version.minor];
        for (i, n) in (0..).zip(numbers) {
            self.pool.set(stmt.args.at(i), Operand::Small(i32::from(n)));
        }
        self.header.version = Some(version);
        Ok(())
    }

    /// Writes another target into the header, in the place of the first one; options of `.target` stay.
    pub fn set_target(&mut self, target: Target) -> Result<(), EditError> {
        let (item, stmt) = self.header_directive(Directive::Target)?;
        let args = self.pool.slice(stmt.args).iter();
        let named = |o: &Operand| match o {
            Operand::Name(n) => Target::from_name(self.name_bytes(*n)).is_some(),
            _ => false,
        };
        let at = args
            .clone()
            .position(named)
            .ok_or(EditError::Missing("target"))?;
        let name =
            |kind, text: &[u8]| kind == TokenKind::Ident && Target::from_name(text).is_some();
        self.patch_word(item, name, target.text())?;
        let name = self.names.intern(target.text().as_bytes()).0;
        let at = stmt.args.at(at as u32);
        self.pool.set(at, Operand::Name(NameId::new(name)));
        self.header.target = Some(target);
        Ok(())
    }

    /// Writes another address size into the header: 32 or 64.
    pub fn set_address_size(&mut self, bits: u8) -> Result<(), EditError> {
        if !matches!(bits, 32 | 64) {
            return Err(EditError::Spelling {
                wanted: "address size",
                text: bits.to_string(),
            });
        }
        let (item, stmt) = self.header_directive(Directive::AddressSize)?;
        let number = |kind, _: &[u8]| kind == TokenKind::Integer;
        self.patch_word(item, number, &bits.to_string())?;
        self.pool
            .set(stmt.args.at(0), Operand::Small(i32::from(bits)));
        self.header.address_size = Some(bits);
        Ok(())
    }

    fn header_directive(&self, directive: Directive) -> Result<(ItemId, DirectiveStmt), EditError> {
        let mut items = self.items().filter_map(|(id, item)| match item {
            Item::Directive(d) => Some((id, *self.directives.get(d)?)),
            _ => None,
        });
        let found = items.find(|(_, d)| d.directive == directive);
        found.ok_or(EditError::Missing(directive.text()))
    }

    /// Replaces the first token of an item that will do.
    fn patch_word(
        &mut self,
        item: ItemId,
        wanted: impl Fn(TokenKind, &[u8]) -> bool,
        new: &str,
    ) -> Result<(), EditError> {
        let span = self.span(item);
        let text = span.of(self.source());
        let token = Lexer::fragment(text).find(|t| wanted(t.kind, t.span.of(text)));
        let was_read = self.edits().is_none_or(|e| e.was_read(item));
        let patch = match token {
            Some(token) => Some(token.span.shifted(span.start)),
            None if was_read => return Err(EditError::NoPart(String::from(new))),
            None => None,
        };
        let text = NameId::new(self.names.intern(new.as_bytes()).0);
        let edits = self.item_edits();
        if let Some(span) = patch {
            edits.patch(item, Patch { span, text });
        }
        Ok(())
    }
}
