//! Edits of the header: version, target, address size.

use alloc::string::{String, ToString};

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::raw::{NewText, Patch, RawEdits, RawModule};
use ptx_ir::{DirectiveStmt, Item, ItemId, Operand};
use ptx_isa::{Directive, PtxVersion, Target};

use crate::{EditError, ModuleEditor};

impl ModuleEditor<'_> {
    /// Replaces the version in the header.
    ///
    /// # Errors
    ///
    /// [`EditError::Missing`] if the module has no `.version`.
    pub fn set_version(&mut self, version: PtxVersion) -> Result<(), EditError> {
        let (item, stmt) = self.header_directive(Directive::Version)?;
        let number = |kind, _: &[u8]| matches!(kind, TokenKind::Decimal | TokenKind::Integer);
        self.patch_token(item, number, &version.to_string())?;
        let numbers = [version.major, version.minor];
        for (i, n) in (0..).zip(numbers) {
            let number = Operand::Small(i32::from(n));
            self.module.pool_mut().set(stmt.args.at(i), number);
        }
        self.module.header_mut().version = Some(version);
        Ok(())
    }

    /// Replaces the first target in the header; options of `.target` stay.
    ///
    /// # Errors
    ///
    /// [`EditError::Missing`] if the module has no `.target`, or no known name there.
    pub fn set_target(&mut self, target: Target) -> Result<(), EditError> {
        let (item, stmt) = self.header_directive(Directive::Target)?;
        let named = |o: &Operand| match o {
            Operand::Name(n) => Target::from_name(self.module.name_bytes(*n)).is_some(),
            _ => false,
        };
        let args = self.module.pool().slice(stmt.args);
        let at = args.iter().position(named);
        let at = stmt.args.at(at.ok_or(EditError::Missing("target"))? as u32);
        let name =
            |kind, text: &[u8]| kind == TokenKind::Ident && Target::from_name(text).is_some();
        self.patch_token(item, name, target.text())?;
        let name = self.intern(target.text());
        self.module.pool_mut().set(at, Operand::Name(name));
        self.module.header_mut().target = Some(target);
        Ok(())
    }

    /// Replaces the address size in the header.
    ///
    /// # Errors
    ///
    /// [`EditError::Spelling`] unless `bits` is 32 or 64, [`EditError::Missing`] if the module has no `.address_size`.
    pub fn set_address_size(&mut self, bits: u8) -> Result<(), EditError> {
        if !matches!(bits, 32 | 64) {
            return Err(EditError::spelling("address size", bits.to_string()));
        }
        let (item, stmt) = self.header_directive(Directive::AddressSize)?;
        let number = |kind, _: &[u8]| kind == TokenKind::Integer;
        self.patch_token(item, number, &bits.to_string())?;
        let number = Operand::Small(i32::from(bits));
        self.module.pool_mut().set(stmt.args.at(0), number);
        self.module.header_mut().address_size = Some(bits);
        Ok(())
    }

    fn header_directive(&self, directive: Directive) -> Result<(ItemId, DirectiveStmt), EditError> {
        let mut items = self.module.items().filter_map(|(id, item)| match item {
            Item::Directive(d) => Some((id, *self.module.directives().get(d)?)),
            _ => None,
        });
        let found = items.find(|(_, d)| d.directive == directive);
        found.ok_or(EditError::Missing(directive.text()))
    }

    /// Replaces the first token of an item that is `wanted`.
    fn patch_token(
        &mut self,
        item: ItemId,
        wanted: impl Fn(TokenKind, &[u8]) -> bool,
        new: &str,
    ) -> Result<(), EditError> {
        let span = self.module.span(item);
        let text = span.of(self.module.source());
        let token = Lexer::fragment(text).find(|t| wanted(t.kind, t.span.of(text)));
        let was_parsed = self.module.edits().is_none_or(|e| e.was_read(item));
        let patched = match token {
            Some(token) => Some(token.span.shifted(span.start)),
            None if was_parsed => return Err(EditError::NoPart(String::from(new))),
            None => None,
        };
        let text = NewText::Text(self.intern(new));
        let edits = self.edits();
        if let Some(span) = patched {
            edits.patch(item, Patch { span, text });
        }
        Ok(())
    }
}
