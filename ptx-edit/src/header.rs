//! Edits of the header: version, target, address size.

use alloc::string::{String, ToString};

use ptx_ir::raw::{NewText, Patch, RawModule};
use ptx_ir::{DirectiveStmt, Item, Operand};
use ptx_isa::{Directive, PtxVersion, Target};

use crate::{EditError, ModuleEditor};

impl ModuleEditor<'_> {
    /// Replaces the version in the header.
    ///
    /// # Errors
    ///
    /// [`EditError::Missing`] if the module has no `.version`.
    pub fn set_version(&mut self, version: PtxVersion) -> Result<(), EditError> {
        let stmt = self.patch_value(Directive::Version, &version.to_string())?;
        let numbers = [version.major, version.minor];
        for (i, n) in (0..).zip(numbers) {
            let number = Operand::Small(i32::from(n));
            self.module.pool_mut().set(stmt.args.at(i), number);
        }
        self.module.header_mut().version = Some(version);
        Ok(())
    }

    /// Replaces the target in the header, the last one if there are several; options of `.target` stay.
    ///
    /// # Errors
    ///
    /// [`EditError::Missing`] if the module has no `.target`, or no known name there.
    pub fn set_target(&mut self, target: Target) -> Result<(), EditError> {
        let stmt = self.patch_value(Directive::Target, target.text())?;
        let args = self.module.pool().slice(stmt.args);
        let target_index = args
            .iter()
            .rposition(|o| match o {
                Operand::Name(n) => Target::from_text(self.module.name_bytes(*n)).is_some(),
                _ => false,
            })
            .ok_or(EditError::Missing("target"))?;
        let target_arg = stmt.args.at(target_index as u32);
        let name = self.intern(target.text());
        self.module.pool_mut().set(target_arg, Operand::Name(name));
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
        let stmt = self.patch_value(Directive::AddressSize, &bits.to_string())?;
        let number = Operand::Small(i32::from(bits));
        self.module.pool_mut().set(stmt.args.at(0), number);
        self.module.header_mut().address_size = Some(bits);
        Ok(())
    }

    /// Writes a value into the text of a header directive, if it was parsed.
    fn patch_value(&mut self, directive: Directive, new: &str) -> Result<DirectiveStmt, EditError> {
        let missing = EditError::Missing(directive.text());
        let (item, place) = self.module.header_value(directive).ok_or(missing)?;
        let was_parsed =
            self.module.has_source() && self.module.edits().is_none_or(|e| e.was_read(item));
        if place.is_none() && was_parsed {
            return Err(EditError::NoPart(String::from(new)));
        }
        let text = NewText::Text(self.intern(new));
        if let Some(span) = place {
            self.edits().patch(item, Patch { span, text });
        }
        let stmt = match self.module.item(item) {
            Some(Item::Directive(id)) => self.module.directives().get(id).copied(),
            _ => None,
        };
        stmt.ok_or(EditError::Missing(directive.text()))
    }
}
