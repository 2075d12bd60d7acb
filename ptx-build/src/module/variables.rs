//! Variables of the module.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::SymbolId;

use super::ModuleBuilder;
use super::tables::Global;
use crate::copy::NamedOperands;
use crate::declaration::Declaration;
use crate::error::{BuildError, no_variables, taken_name};
use crate::handle::{Dependency, Variable};
use crate::lexical;
use crate::name_scope::NameScope;
use crate::name_table::Meaning;

impl ModuleBuilder {
    /// Declares a variable of the module; the handle is that of its first name. A name that was declared before can be declared
    /// again where the linkage allows it, `.extern` before the definition say, and keeps its handle.
    ///
    /// # Errors
    ///
    /// The declaration is illegal at module level, or a name is invalid or taken.
    pub fn declare(&mut self, declaration: Declaration) -> Result<Variable, BuildError> {
        declaration.check_members()?;
        let variables = self.declare_all(declaration)?;
        variables.first().copied().ok_or_else(|| no_variables(""))
    }

    /// Declares variables of the module: all names of a declaration, of a [range](Declaration::range) each member.
    ///
    /// # Errors
    ///
    /// As [`declare`](Self::declare).
    pub fn declare_all(&mut self, declaration: Declaration) -> Result<Vec<Variable>, BuildError> {
        let mut names = NameScope::new(&self.tables, None);
        let text = declaration.statement(&mut names)?;
        let mut mentions = names.mentions;
        let mut context = self.tables.header.clone();
        mentions.sort_unstable();
        mentions.dedup();
        for mention in mentions {
            match mention {
                Dependency::Global(v) => context.push_str(&self.tables.global_text(v)),
                Dependency::Func(f) => context.push_str(&self.tables.prototype(f)),
                _ => {}
            }
        }
        let mut members: Vec<(String, String, Option<u32>)> = Vec::new();
        let mut again = false;
        for name in declaration.names() {
            for member in name.members()? {
                lexical::module_name(&member)?;
                let bare = declaration.bare(name, &member)?;
                let declared = self.variable(&member);
                if self.tables.names.contains(&member) {
                    match declared {
                        Some(_) => again = true,
                        None => return Err(taken_name(&member)),
                    }
                }
                if let Some(declared) = declared {
                    context.push_str(&self.tables.global_text(declared));
                }
                members.push((member, bare, declared));
            }
        }
        let start = context.len();
        context.push_str(&text);
        let parsed = match self.verify(&context, start, &text) {
            Ok(parsed) => parsed,
            Err(_) if again => return Err(taken_name(declaration.name())),
            Err(error) => return Err(error),
        };
        let tables = &self.tables;
        let imported = (self.draft).import(&parsed, start, &|name| tables.symbol(name));
        let handles = members.into_iter().map(|(name, text, declared)| {
            let plain = declared.and_then(|index| self.plain_symbol(index));
            let symbol = plain.unwrap_or_else(|| match imported.symbol(&name) {
                Some(symbol) if declaration.is_plain(&name) => symbol,
                _ => self.member_symbol(&name, &imported),
            });
            let index = declared.unwrap_or(self.tables.globals.len() as u32);
            let meaning = (0, Meaning::Global(index));
            self.tables.names.set(&name, Some(meaning));
            let global = Global { name, text, symbol };
            match self.tables.globals.get_mut(index as usize) {
                Some(before) => *before = global,
                None => self.tables.globals.push(global),
            }
            Variable {
                owner: self.tables.owner,
                index,
            }
        });
        Ok(handles.collect())
    }

    /// The name of a variable that was declared by a plain name, which it keeps.
    fn plain_symbol(&self, variable: u32) -> Option<SymbolId> {
        let id = self.tables.globals.get(variable as usize)?.symbol;
        let symbol = self.draft.module.symbols().get(id)?;
        symbol.number.is_none().then_some(id)
    }

    /// Adds the name of a member of a range, whose first member was imported.
    fn member_symbol(&mut self, name: &str, imported: &NamedOperands) -> SymbolId {
        let digits = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (prefix, number) = name.split_at(digits);
        let first = imported.symbol(&format!("{prefix}0"));
        let symbols = self.draft.module.symbols();
        match first.and_then(|id| symbols.get(id)).copied() {
            Some(first) => {
                let number = number.parse().ok();
                self.draft.add_symbol(first.name, number, first.kind)
            }
            None => SymbolId::new(u32::MAX),
        }
    }

    pub(crate) fn variable(&self, name: &str) -> Option<u32> {
        match self.tables.names.get(name)? {
            (_, Meaning::Global(index)) => Some(index),
            _ => None,
        }
    }
}
