//! Comments, directives and text at module level.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use ptx_ir::{Code, Module};
use ptx_isa::Directive;

use super::ModuleBuilder;
use crate::copy::numbered;
use crate::error::{BuildError, BuildErrorKind, taken_name};
use crate::handle::Func;
use crate::interface::pragma;
use crate::lexical;
use crate::name_table::Meaning;
use crate::section::{self, Datum};
use crate::sequence::comment_lines;

impl ModuleBuilder {
    /// Adds a comment on separate lines.
    pub fn comment(&mut self, text: &str) {
        comment_lines(text).for_each(|line| self.draft.comment(&line));
    }

    /// `.file index "path"`, for [`FunctionBuilder::loc`](crate::FunctionBuilder::loc).
    ///
    /// # Errors
    ///
    /// The index is taken, or the path cannot be written between quotes.
    pub fn file(&mut self, index: u32, path: &str) -> Result<(), BuildError> {
        self.file_with(index, path, &[])
    }

    /// Adds a `.file` with the numbers that may follow the path: the time of the last change, and the size.
    ///
    /// # Errors
    ///
    /// As [`file`](Self::file).
    pub fn file_with(
        &mut self,
        index: u32,
        path: &str,
        time_and_size: &[u64],
    ) -> Result<(), BuildError> {
        let mut text = format!("{} {index} {}", Directive::File, lexical::string(path)?);
        for number in time_and_size {
            let _ = write!(text, ", {number}");
        }
        let Err(place) = self.files.binary_search(&index) else {
            let message = format!("the module has a file {index} already");
            let help = "give each file a different index";
            return Err(BuildError::new(BuildErrorKind::Duplicate, message, help));
        };
        self.item(&text)?;
        self.files.insert(place, index);
        Ok(())
    }

    /// `.pragma "…";`
    ///
    /// # Errors
    ///
    /// The text cannot be written between quotes, or the pragma is not allowed at module level.
    pub fn pragma(&mut self, text: &str) -> Result<(), BuildError> {
        self.pragmas(&[text])
    }

    /// `.pragma "…", "…";`
    ///
    /// # Errors
    ///
    /// As [`pragma`](Self::pragma).
    pub fn pragmas(&mut self, texts: &[&str]) -> Result<(), BuildError> {
        self.item(&pragma(texts)?)
    }

    /// `.alias name, function;`: another name of a function. The name is that of a function that was declared, the other one that of
    /// a function with a body anywhere in the module.
    ///
    /// # Errors
    ///
    /// The alias has a body, or the two functions have different headers.
    pub fn alias(&mut self, alias: Func, aliasee: Func) -> Result<(), BuildError> {
        self.check_alias(alias, aliasee)?;
        let functions = &self.tables.functions;
        let names = [alias, aliasee].map(|f| functions.get(f.index as usize).map(|f| f.symbol));
        if let [Some(alias), Some(aliasee)] = names {
            self.draft.push_alias(alias, aliasee);
        }
        Ok(())
    }

    pub(crate) fn check_alias(&self, alias: Func, aliasee: Func) -> Result<(), BuildError> {
        let (a, b) = (
            self.tables.func(alias, None)?,
            self.tables.func(aliasee, None)?,
        );
        let text = format!("{} {}, {};", Directive::Alias, a.name, b.name);
        if a.is_defined {
            let message = format!(
                "`{}` has a body: it cannot be another name of `{}`",
                a.name, b.name
            );
            let help = "declare a function without a body for the other name: `declare_func`";
            return BuildErrorKind::Duplicate.refuse(Code::Alias, message, help);
        }
        // The check uses the declarations so far; `finish` checks that the aliasee has a body.
        let header = b.interface.header(b.kind, &b.name)?;
        let declaration = if alias == aliasee { "" } else { &a.declared };
        let context = format!(
            "{}{declaration}\n{header}\n{{\n}}\n{text}\n",
            self.tables.header
        );
        self.verify(&context, context.len() - text.len() - 1, &text)?;
        Ok(())
    }

    /// `.section name { … }`: debug information.
    ///
    /// # Errors
    ///
    /// A name or number is invalid, or the data are illegal.
    pub fn section(&mut self, name: &str, data: &[Datum]) -> Result<(), BuildError> {
        let text = section::text(name, data)?;
        self.item(&text)
    }

    /// Adds text as an item of the module, a debug section say, if it is legal alone.
    ///
    /// # Errors
    ///
    /// The text is illegal alone, or declares a name that is taken.
    pub fn item(&mut self, text: &str) -> Result<(), BuildError> {
        let head = self.tables.header.len();
        let module = self.verify(&format!("{}{text}\n", self.tables.header), head, text)?;
        let symbols = module.symbols().values();
        let names: Vec<String> = symbols
            .map(|s| numbered(&module, s.name, s.number))
            .collect();
        for name in &names {
            lexical::module_name(name)?;
        }
        if let Some(name) = names.iter().find(|n| self.tables.names.contains(n)) {
            return Err(taken_name(name));
        }
        for name in &names {
            self.tables.names.set(name, Some((0, Meaning::Item)));
        }
        self.draft.import(&module, head, &|_| None);
        Ok(())
    }

    /// Refuses an item that is illegal after the header.
    pub(super) fn verify(
        &self,
        context: &str,
        start: usize,
        text: &str,
    ) -> Result<Module, BuildError> {
        crate::check::errors(context, start, start + text.len())
            .map_err(|errors| BuildError::illegal(text.to_string(), errors))
    }

    pub(super) fn claim(&mut self, name: &str) -> Result<(), BuildError> {
        lexical::module_name(name)?;
        match self.tables.names.set(name, Some((0, Meaning::Item))) {
            None => Ok(()),
            meaning => {
                self.tables.names.set(name, meaning);
                Err(taken_name(name))
            }
        }
    }
}
