//! Comments, places in source code, pragmas and aliases.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use ptx_ir::raw::RawBody;
use ptx_ir::{Code, Operand, Statement};
use ptx_isa::Directive;

use super::FunctionBuilder;
use crate::error::{BuildError, BuildErrorKind};
use crate::handle::Func;
use crate::interface::pragma;
use crate::number::{Number, constant};
use crate::section;
use crate::sequence::comment_lines;

impl<'m> FunctionBuilder<'m> {
    /// Adds a comment on separate lines before the next statement.
    pub fn comment(&mut self, text: &str) {
        self.body.abandon();
        comment_lines(text).for_each(|line| self.body.sequence.comment(&line));
    }

    /// Adds a comment at the end of the line of the last statement; before the first statement, on a separate line.
    pub fn trailing_comment(&mut self, text: &str) {
        self.body.abandon();
        for (i, line) in comment_lines(text).enumerate() {
            match i {
                0 => self.body.sequence.trailing_comment(&line),
                _ => self.body.sequence.comment(&line),
            }
        }
    }

    /// `.loc file line column`: where the statements that follow come from. The file is one of
    /// [`ModuleBuilder::file`](crate::ModuleBuilder::file), before or after; if there is no such file,
    /// [`ModuleBuilder::finish`](crate::ModuleBuilder::finish) says so.
    pub fn loc(&mut self, file: u32, line: u32, column: u32) {
        let place = [file, line, column];
        self.body.abandon();
        let draft = &mut self.module.draft;
        let mut args = Vec::with_capacity(3);
        for number in place {
            let pool = self.body.records.pool_mut();
            let number = constant(&number.to_string(), &mut draft.module, pool);
            args.extend(number);
        }
        let id = self.body.add_directive(Directive::Loc, &args);
        self.body.push_statement(Statement::Directive(id));
        self.note_place(place);
    }

    /// Adds a `.loc` with numbers in their own spelling, `0x10` say.
    ///
    /// # Errors
    ///
    /// A number is not a 32-bit integer literal.
    pub fn loc_spelled(&mut self, place: [Number; 3]) -> Result<(), BuildError> {
        let mut numbers = [0; 3];
        let mut text = String::from(Directive::Loc.text());
        for (number, to) in place.iter().zip(&mut numbers) {
            let _ = write!(text, " {}", number.text()?);
            *to = number.as_u32()?;
        }
        let parsed = self.check(&text, &[])?;
        self.import(&parsed, &|_| true);
        self.note_place(numbers);
        Ok(())
    }

    fn note_place(&mut self, place: [u32; 3]) {
        self.body.places.insert(place);
    }

    /// `.loc` of what was inlined: its own place, the name of its function as a label of a debug section with an offset, and the
    /// place that it was inlined at.
    ///
    /// # Errors
    ///
    /// The name is not a label of a debug section, or a file was not declared.
    pub fn loc_inlined(
        &mut self,
        [file, line, column]: [u32; 3],
        name: (&str, Option<u32>),
        at: [u32; 3],
    ) -> Result<(), BuildError> {
        let mut text = format!("{} {file} {line} {column}", Directive::Loc);
        let _ = write!(text, ", function_name {}", section::name(name.0)?);
        if let Some(offset) = name.1 {
            let _ = write!(text, "+{offset}");
        }
        let outer = format!("{} {} {}", at[0], at[1], at[2]);
        let _ = write!(text, ", inlined_at {outer}");
        if !self.module.places.contains(&at) && !self.body.places.contains(&at) {
            let message = format!(
                "nothing before this in `{}` or the functions before it is at `{outer}`, where it is to be inlined",
                self.body.name
            );
            let help = "say `loc` of the place of the call first";
            return BuildErrorKind::Unplaced.refuse(Code::DebugInfo, message, help);
        }
        self.body.pending.mentions.clear();
        let call = format!("{} {outer}\n", Directive::Loc);
        let parsed = self.check_after(&call, &text)?;
        self.import(&parsed, &|_| true);
        self.body.places.insert([file, line, column]);
        Ok(())
    }

    /// [`ModuleBuilder::alias`](crate::ModuleBuilder::alias), written among the statements, where ptxas accepts it
    /// as well.
    ///
    /// # Errors
    ///
    /// As [`ModuleBuilder::alias`](crate::ModuleBuilder::alias).
    pub fn alias(&mut self, alias: Func, aliasee: Func) -> Result<(), BuildError> {
        self.module.check_alias(alias, aliasee)?;
        self.body.abandon();
        let tables = &self.module.tables;
        let names = [alias, aliasee]
            .map(|f| tables.functions.get(f.index as usize))
            .map(|f| f.map_or(Operand::Absent, |f| Operand::Symbol(f.symbol)));
        let id = self.body.add_directive(Directive::Alias, &names);
        self.body.push_statement(Statement::Directive(id));
        Ok(())
    }

    /// `.pragma "…";`
    ///
    /// # Errors
    ///
    /// The text cannot be written between quotes, or the pragma is not allowed in a function.
    pub fn pragma(&mut self, text: &str) -> Result<(), BuildError> {
        self.pragmas(&[text])
    }

    /// `.pragma "…", "…";`
    ///
    /// # Errors
    ///
    /// As [`pragma`](Self::pragma).
    pub fn pragmas(&mut self, texts: &[&str]) -> Result<(), BuildError> {
        let text = pragma(texts)?;
        let parsed = self.check(&text, &[])?;
        self.import(&parsed, &|_| true);
        Ok(())
    }
}
