//! The kernel or function that is being made.

mod body;
mod debug_info;
mod header;
mod labels;
mod names;
mod registers;
mod statements;
mod variables;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use ptx_ir::{Code, FunctionKind};
use ptx_isa::{ScalarType, StateSpace};

use crate::error::{Error, Kind};
use crate::module::{ModuleBuilder, next_owner};
use crate::operand::Func;
use crate::statement::Statement;
use crate::writer::early;
use body::Scope;
pub(crate) use body::{Body, LabelInfo, Local, Meaning, RegisterInfo, ends_with_digit};
pub use labels::BranchTarget;

/// A comment may not begin another one.
pub(crate) fn comment_line(text: &str) -> String {
    let plain = |c: char| !c.is_control() || c == '\t';
    text.chars()
        .filter(|c| plain(*c))
        .collect::<String>()
        .trim_end()
        .into()
}

#[cold]
pub(crate) fn no_results(kernel: &str, result: &str) -> Error {
    Error::new(
        Kind::Argument,
        format!("`{kernel}` is a kernel and cannot return `{result}`"),
        "store what it computes to memory that a parameter points to",
    )
    .code_is(Code::Parameter)
}

/// Makes a kernel or a function: interface, registers, labels, scopes, statements.
///
/// Every opcode has a method that begins a [`Statement`]. A statement that is refused leaves nothing behind.
#[derive(Debug)]
pub struct FunctionBuilder<'m> {
    pub(crate) module: &'m mut ModuleBuilder,
    pub(crate) body: Body,
    func: Func,
    is_finished: bool,
}

impl<'m> FunctionBuilder<'m> {
    pub(crate) fn new(
        module: &'m mut ModuleBuilder,
        func: Func,
        kind: FunctionKind,
        name: &str,
    ) -> Self {
        let body = Body {
            owner: next_owner(),
            function: func.index,
            kind,
            name: name.to_string(),
            text: String::new(),
            registers: Vec::new(),
            register_names: String::new(),
            locals: Vec::new(),
            labels: Vec::new(),
            names: BTreeMap::new(),
            scopes: alloc::vec![Scope::default()],
            outer: alloc::vec![0],
            declared: Vec::new(),
            ranges: Vec::new(),
            fresh: Vec::new(),
            fresh_of: [None; ScalarType::COUNT],
            fresh_labels: 0,
            committed: 0,
            mnemonic: 0,
            is_open: false,
            guard: None,
            key: Vec::new(),
            mentions: Vec::new(),
            error: None,
            unfinished: None,
        };
        module.tables.past.begin(body.owner, name);
        Self {
            module,
            body,
            func,
            is_finished: false,
        }
    }

    /// The module it belongs to, to declare variables in.
    pub fn module(&mut self) -> &mut ModuleBuilder {
        self.module
    }

    /// The function itself, to be called.
    pub fn handle(&self) -> Func {
        self.func
    }

    /// Ends the function and adds it to its module.
    pub fn finish(mut self) -> Result<Func, Error> {
        self.is_finished = true;
        self.body.abandon();
        if let Some(error) = self.body.unfinished.take() {
            return Err(self.lost(error));
        }
        if let Some((predicate, _)) = self.body.guard.take() {
            let message = format!(
                "the guard `{}` stands before nothing in `{}`",
                self.name_of(predicate),
                self.body.name
            );
            let help = "a guard is for the statement that follows it";
            return Err(self.lost(Error::new(Kind::Unfinished, message, help)));
        }
        if self.body.scopes.len() > 1 {
            let message = format!("a scope of `{}` is not closed", self.body.name);
            let help = "`close` closes it";
            return Err(self.lost(Error::new(Kind::Scope, message, help)));
        }
        if let Some(label) = self
            .body
            .labels
            .iter()
            .find(|l| !l.waiting.is_empty() && l.place.is_none())
        {
            let message = format!(
                "the label `{}` is used in `{}` and placed nowhere",
                label.name, self.body.name
            );
            let help = "`place` puts it before the statement that it is to lead to";
            return Err(self.lost(Error::new(Kind::Unplaced, message, help)));
        }
        // A name of the module that was given after a jump to the label.
        let names = &self.module.tables.names;
        let early_one = |l: &&LabelInfo| !l.waiting.is_empty() && names.contains(&l.name);
        if let Some(label) = self.body.labels.iter().find(early_one) {
            let error = early(&label.name);
            return Err(self.lost(error));
        }
        let known = self.module.tables.functions.get(self.func.index as usize);
        let of = known.map(|f| f.interface.clone()).unwrap_or_default();
        let mut fresh = String::new();
        for of in &self.body.fresh {
            let (ty, prefix, space) = (of.ty, &of.prefix, StateSpace::Reg.text());
            let _ = writeln!(fresh, "\t{space} {ty} {prefix}<{}>;", of.count + 1);
        }
        let header = match self.check_header(&of, &fresh) {
            Ok(header) => header,
            Err(error) => return Err(self.lost(error)),
        };
        self.body.declared.push(self.func.index);
        let parts = [&*header, &self.body.text, "}\n"];
        self.module.add_function_text(&self.body.declared, parts);
        Ok(self.func)
    }

    /// The module misses a function that it promised.
    fn lost(&mut self, error: Error) -> Error {
        self.module.dropped.get_or_insert(error.clone());
        error
    }
}

impl Drop for FunctionBuilder<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            let message = format!("`{}` was begun and not finished", self.body.name);
            let help = "`FunctionBuilder::finish` ends it";
            let error = Error::new(Kind::Unfinished, message, help);
            let error = error.code_is(Code::UnclosedBrace);
            self.module.dropped.get_or_insert(error);
        }
        self.module.tables.past.end(&mut self.body);
    }
}

/// An instruction on its way, for the methods of opcodes.
impl<'m> FunctionBuilder<'m> {
    #[inline]
    pub(crate) fn statement<const N: usize>(&mut self, opcode: &str) -> Statement<'_, 'm, N> {
        Statement::new(self, opcode)
    }
}
