//! The kernel or function that is being made.

mod body;
mod labels;
mod registers;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use ptx_ir::{FunctionKind, Linkage};
use ptx_isa::{Directive, ScalarType, StateSpace};

use crate::declaration::Declaration;
use crate::error::{Error, Kind};
use crate::judge;
use crate::module::{ModuleBuilder, interface, next_owner};
use crate::operand::{Func, IntoOperands, Reg, Var};
use crate::spelling;
use crate::statement::Statement;
use crate::writer::{Mention, Writer};
use body::Fresh;
pub(crate) use body::{Body, Local, Meaning};

/// A comment may not begin another one.
pub(crate) fn comment_line(text: &str) -> String {
    let plain = |c: char| !c.is_control() || c == '\t';
    text.chars()
        .filter(|c| plain(*c))
        .collect::<String>()
        .trim_end()
        .into()
}

/// Makes a kernel or a function: interface, registers, labels, scopes, statements.
///
/// Every opcode has a method that begins a [`Statement`]. A statement that is refused leaves nothing behind.
#[derive(Debug)]
pub struct FunctionBuilder<'m> {
    pub(crate) module: &'m mut ModuleBuilder,
    pub(crate) body: Body,
    linkage: Option<Linkage>,
    attributes: Vec<String>,
    directives: Vec<String>,
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
            scopes: alloc::vec![Vec::new()],
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
        Self {
            module,
            body,
            linkage: None,
            attributes: Vec::new(),
            directives: Vec::new(),
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

    // --- interface ---

    /// `.visible`, `.weak`, …
    pub fn linkage(&mut self, linkage: Linkage) -> &mut Self {
        self.linkage = Some(linkage);
        self
    }

    /// An attribute as it is written: `.unified(1, 2)`.
    pub fn attribute(&mut self, attribute: &str) -> &mut Self {
        self.attributes.push(attribute.to_string());
        self
    }

    /// A directive between parameters and body, such as `.maxntid`, with its numbers.
    pub fn directive(&mut self, directive: Directive, numbers: &[u32]) -> &mut Self {
        let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
        let text = match numbers.is_empty() {
            true => directive.text().to_string(),
            false => format!("{directive} {}", numbers.join(", ")),
        };
        self.directives.push(text);
        self
    }

    /// Adds a scalar parameter.
    pub fn param(&mut self, ty: ScalarType, name: &str) -> Result<Var, Error> {
        self.add_param(Declaration::new(StateSpace::Param, ty, name))
    }

    /// Adds a parameter.
    pub fn add_param(&mut self, declaration: Declaration) -> Result<Var, Error> {
        self.interface_part(declaration, true)
    }

    /// Adds a result of a function.
    pub fn result(&mut self, declaration: Declaration) -> Result<Var, Error> {
        self.interface_part(declaration, false)
    }

    /// Adds a parameter (or a result) that is a register, which functions may have.
    pub fn register_param(
        &mut self,
        ty: ScalarType,
        name: &str,
        result: bool,
    ) -> Result<Reg, Error> {
        let reg = self.add_register(ty, 1, name, true)?;
        self.push_part(Declaration::new(StateSpace::Reg, ty, name), !result);
        Ok(reg)
    }

    fn push_part(&mut self, declaration: Declaration, param: bool) {
        let functions = &mut self.module.tables.functions;
        if let Some(f) = functions.get_mut(self.func.index as usize) {
            match param {
                true => f.interface.params.push(declaration),
                false => f.interface.returns.push(declaration),
            }
        }
    }

    fn interface_part(&mut self, declaration: Declaration, param: bool) -> Result<Var, Error> {
        let kind = if param { "parameter" } else { "result" };
        let class = format!("{kind} {}", declaration.nameless());
        let var = self.add_local(&declaration, &class, true)?;
        self.push_part(declaration, param);
        Ok(var)
    }

    // --- names ---

    fn claim(&mut self, name: &str, meaning: Meaning) -> Result<(), Error> {
        spelling::name(name)?;
        let in_fresh = |f: &Fresh| {
            let number = name.strip_prefix(f.prefix.as_str());
            number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        let scope = self.body.scopes.last_mut();
        let scope = scope.filter(|s| !s.iter().any(|n| n == name));
        let Some(scope) = scope.filter(|_| !self.body.fresh.iter().any(in_fresh)) else {
            let message = format!("`{}` has a `{name}` already", self.body.name);
            return Err(Error::new(Kind::Duplicate, message));
        };
        scope.push(name.to_string());
        let meanings = self.body.names.entry(name.to_string()).or_default();
        let outer = meanings.last().copied();
        meanings.push(meaning);
        if let Some(outer) = outer {
            self.show(outer, false);
        }
        Ok(())
    }

    fn show(&mut self, meaning: Meaning, visible: bool) {
        match meaning {
            Meaning::Register(r) => {
                if let Some(r) = self.body.registers.get_mut(r as usize) {
                    r.visible = visible;
                }
            }
            Meaning::Local(v) => {
                if let Some(v) = self.body.locals.get_mut(v as usize) {
                    v.visible = visible;
                }
            }
            Meaning::Label => {}
        }
    }

    // --- variables ---

    fn add_local(
        &mut self,
        declaration: &Declaration,
        class: &str,
        parameter: bool,
    ) -> Result<Var, Error> {
        let index = self.body.locals.len() as u32;
        self.claim(&declaration.name, Meaning::Local(index))?;
        let class = self.module.tables.class(class);
        self.body.locals.push(Local {
            name: declaration.name.clone(),
            text: declaration.bare(),
            class,
            visible: true,
            is_parameter: parameter,
        });
        Ok(Var {
            owner: self.body.owner,
            index,
        })
    }

    /// Declares a variable here, in the scope that is open.
    pub fn declare(&mut self, declaration: Declaration) -> Result<Var, Error> {
        let text = declaration.statement(&self.module.tables)?;
        self.check(&text, &[])?;
        let class = declaration.nameless();
        let var = self.add_local(&declaration, &class, false)?;
        self.body.line(&text);
        Ok(var)
    }

    /// A name that nothing in the function has.
    pub(crate) fn fresh_name(&self, stem: &str) -> String {
        let mut n = self.body.locals.len();
        loop {
            let name = format!("{stem}{n}");
            if !self.body.names.contains_key(&name) && !self.module.tables.names.contains(&name) {
                return name;
            }
            n += 1;
        }
    }

    // --- comments and directives ---

    /// A comment on lines of its own, before the statement that follows.
    pub fn comment(&mut self, text: &str) {
        for line in text.lines() {
            self.body
                .line(format!("// {}", comment_line(line)).trim_end());
        }
    }

    /// `.loc file line column`: where the statements that follow come from. The file is one of [`ModuleBuilder::file`].
    pub fn loc(&mut self, file: u32, line: u32, column: u32) {
        self.body
            .line(&format!("{} {file} {line} {column}", Directive::Loc));
    }

    /// `.pragma "…";`
    pub fn pragma(&mut self, text: &str) -> Result<(), Error> {
        let text = format!("{} {};", Directive::Pragma, spelling::string(text)?);
        self.check(&text, &[])?;
        self.body.line(&text);
        Ok(())
    }

    // --- statements ---

    fn writer(&mut self, values: bool) -> Writer<'_> {
        Writer {
            body: &mut self.body,
            tables: &self.module.tables,
            values,
            count: 0,
            in_offset: false,
        }
    }

    /// Puts the statement that follows under a guard: `@p`.
    pub fn guard(&mut self, predicate: Reg) -> &mut Self {
        self.body.guard = Some((predicate, false));
        self
    }

    /// Puts the statement that follows under an inverted guard: `@!p`.
    pub fn guard_not(&mut self, predicate: Reg) -> &mut Self {
        self.body.guard = Some((predicate, true));
        self
    }

    /// An instruction by its mnemonic.
    pub fn inst(&mut self, mnemonic: &str, operands: impl IntoOperands) -> Result<(), Error> {
        spelling::mnemonic(mnemonic)?;
        self.begin(mnemonic);
        self.end(operands)
    }

    #[inline]
    pub(crate) fn begin(&mut self, opcode: &str) {
        self.body.abandon();
        self.body.key.clear();
        self.body.mentions.clear();
        // The place of the signature.
        self.body.key.extend_from_slice(&[0; 4]);
        self.body
            .key
            .push(u8::from(self.body.kind == FunctionKind::Entry));
        self.body.indent();
        if let Some((predicate, negated)) = self.body.guard.take() {
            self.body.text.push_str(if negated { "@!" } else { "@" });
            self.writer(true).register(predicate);
            self.body.text.push(' ');
        }
        self.body.mnemonic = self.body.text.len();
        self.body.is_open = true;
        self.body.text.push_str(opcode);
    }

    #[inline]
    pub(crate) fn end(&mut self, operands: impl IntoOperands) -> Result<(), Error> {
        let mnemonic = self.body.text.as_bytes().get(self.body.mnemonic..);
        let (signature, values) = self.module.known.signature(mnemonic.unwrap_or_default());
        operands.write_all(&mut self.writer(values));
        self.body.text.push_str(";\n");
        self.body.is_open = false;
        let result = match self.body.error.take() {
            Some(error) => Err(error),
            None => self.judge(signature),
        };
        match result {
            Ok(()) => self.body.committed = self.body.text.len(),
            Err(_) => self.body.text.truncate(self.body.committed),
        }
        result
    }

    #[inline]
    fn judge(&mut self, signature: u32) -> Result<(), Error> {
        if let Some(place) = self.body.key.get_mut(..4) {
            place.copy_from_slice(&signature.to_le_bytes());
        }
        let known = &mut self.module.known;
        let (key, new) = known.keys.intern(&self.body.key);
        if !new && known.legal.get(key as usize) == Some(&true) {
            return Ok(());
        }
        self.ask(key as usize)
    }

    #[cold]
    fn ask(&mut self, key: usize) -> Result<(), Error> {
        let text = self.body.text.get(self.body.committed..);
        let text = text.unwrap_or_default().trim().to_string();
        let result = self.judge_text(&text);
        let legal = &mut self.module.known.legal;
        if legal.len() <= key {
            legal.resize(key + 1, false);
        }
        if let Some(entry) = legal.get_mut(key) {
            *entry = result.is_ok();
        }
        result
    }

    /// Judges a text that mentions what was noted.
    fn judge_text(&self, text: &str) -> Result<(), Error> {
        let (whole, start) = judge::around(&self.body, &self.module.tables, text);
        match judge::errors(&whole, start, start + text.len()) {
            Ok(_) => Ok(()),
            Err(found) => Err(Error::illegal(text.to_string(), found)),
        }
    }

    /// Judges a text that mentions these.
    pub(crate) fn check(&mut self, text: &str, mentions: &[Mention]) -> Result<(), Error> {
        self.body.mentions.clear();
        self.body.mentions.extend_from_slice(mentions);
        self.judge_text(text)
    }

    pub(crate) fn any_writer(&mut self) -> Writer<'_> {
        self.writer(true)
    }

    pub(crate) fn take_guard(&mut self) -> Option<(Reg, bool)> {
        self.body.guard.take()
    }

    pub(crate) fn set_guard(&mut self, guard: Option<(Reg, bool)>) {
        self.body.guard = guard;
    }

    /// Up to where the text is good.
    pub(crate) fn mark(&mut self) -> usize {
        self.body.abandon();
        self.body.committed
    }

    /// Takes back the text behind a [mark](Self::mark).
    pub(crate) fn reset(&mut self, mark: usize) {
        self.body.text.truncate(mark);
        self.body.committed = mark;
    }

    /// Adds lines that were checked.
    pub(crate) fn add_lines(&mut self, text: &str) {
        for line in text.lines().map(str::trim).filter(|l| !l.is_empty()) {
            self.body.line(line);
        }
    }

    // --- the end ---

    /// Ends the function and adds it to its module.
    pub fn finish(mut self) -> Result<Func, Error> {
        self.is_finished = true;
        self.body.abandon();
        if let Some(error) = self.body.unfinished.take() {
            return Err(self.lost(error));
        }
        if self.body.scopes.len() > 1 {
            let message = format!("a scope of `{}` is not closed", self.body.name);
            return Err(self.lost(Error::new(Kind::Scope, message)));
        }
        if let Some(label) = self.body.labels.iter().find(|l| l.used && !l.placed) {
            let message = format!(
                "the label `{}` is used in `{}` and placed nowhere",
                label.name, self.body.name
            );
            return Err(self.lost(Error::new(Kind::Unplaced, message)));
        }
        let mut attributes = String::new();
        if !self.attributes.is_empty() {
            let all = self.attributes.join(", ");
            attributes = format!("{}({all}) ", Directive::Attribute);
        }
        let known = self.module.tables.functions.get(self.func.index as usize);
        let of = known.map(|f| f.interface.clone()).unwrap_or_default();
        let mut text = interface(
            self.body.kind,
            self.linkage,
            &attributes,
            &self.body.name,
            &of,
        );
        for directive in &self.directives {
            let _ = write!(text, "\n{directive}");
        }
        text.push_str("\n{\n");
        for fresh in &self.body.fresh {
            let (ty, prefix) = (fresh.ty, &fresh.prefix);
            let space = StateSpace::Reg.text();
            let _ = writeln!(text, "\t{space} {ty} {prefix}<{}>;", fresh.count + 1);
        }
        text.push_str(&self.body.text);
        text.push_str("}\n");
        self.module.add_text(&text);
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
            let error = Error::new(Kind::Unfinished, message);
            self.module.dropped.get_or_insert(error);
        }
    }
}

/// An instruction on its way, for the methods of opcodes.
impl<'m> FunctionBuilder<'m> {
    #[inline]
    pub(crate) fn statement<const N: usize>(&mut self, opcode: &str) -> Statement<'_, 'm, N> {
        Statement::new(self, opcode)
    }
}
