//! The kernel or function that is being made.

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
use crate::operand::{Func, IntoOperands, Label, Operand, Reg, Var};
use crate::spelling;
use crate::statement::Statement;
use crate::writer::{Mention, Writer};

#[derive(Debug)]
pub(crate) struct RegisterInfo {
    /// Where its name stands.
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) ty: ScalarType,
    pub(crate) vector: u8,
    pub(crate) visible: bool,
    pub(crate) is_parameter: bool,
}

#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) class: u32,
    pub(crate) visible: bool,
    pub(crate) is_parameter: bool,
}

/// What stands behind a label that is a table.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) text: String,
    pub(crate) mentions: Vec<Mention>,
}

#[derive(Debug)]
pub(crate) struct LabelInfo {
    pub(crate) name: String,
    pub(crate) placed: bool,
    pub(crate) used: bool,
    pub(crate) table: Option<Table>,
}

/// What a name of a function means.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Meaning {
    Register(u32),
    Local(u32),
    Label,
}

/// The fresh registers of one type.
#[derive(Debug)]
struct Fresh {
    ty: ScalarType,
    prefix: String,
    count: u32,
}

/// The function as far as it is made.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) owner: u32,
    pub(crate) function: u32,
    pub(crate) kind: FunctionKind,
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) registers: Vec<RegisterInfo>,
    pub(crate) register_names: String,
    pub(crate) locals: Vec<Local>,
    pub(crate) labels: Vec<LabelInfo>,
    /// What each name means here, the innermost scope last.
    pub(crate) names: BTreeMap<String, Vec<Meaning>>,
    /// The names of each open scope.
    scopes: Vec<Vec<String>>,
    fresh: Vec<Fresh>,
    /// Where the fresh registers of each type are.
    fresh_of: [Option<u8>; ScalarType::COUNT],
    fresh_labels: u32,
    /// Up to where the text is of finished statements.
    committed: usize,
    mnemonic: usize,
    is_open: bool,
    guard: Option<(Reg, bool)>,
    pub(crate) key: Vec<u8>,
    pub(crate) mentions: Vec<Mention>,
    pub(crate) error: Option<Error>,
    /// A statement that was begun and not ended: said when the function is finished.
    pub(crate) unfinished: Option<Error>,
}

impl Body {
    pub(crate) fn register_name(&self, info: &RegisterInfo) -> &str {
        let range = info.start as usize..info.end as usize;
        self.register_names.get(range).unwrap_or_default()
    }

    fn indent(&mut self) {
        // As deep as the canonical style goes.
        for _ in 0..(self.scopes.len()).min(32) {
            self.text.push('\t');
        }
    }

    fn line(&mut self, text: &str) {
        self.abandon();
        self.indent();
        self.text.push_str(text);
        self.text.push('\n');
        self.committed = self.text.len();
    }

    /// Notes a statement that was begun and not ended.
    fn abandon(&mut self) {
        if self.is_open {
            let text = self.text.get(self.committed..).unwrap_or_default();
            let message = format!("`{}` was begun and not ended", text.trim());
            self.unfinished
                .get_or_insert(Error::new(Kind::Unfinished, message));
            self.text.truncate(self.committed);
            self.is_open = false;
        }
    }
}

/// The beginning of the names of fresh registers.
fn prefix(ty: ScalarType) -> String {
    match ty {
        ScalarType::Pred => "%p".into(),
        ScalarType::B16 => "%rs".into(),
        ScalarType::B32 => "%r".into(),
        ScalarType::B64 => "%rd".into(),
        ScalarType::B128 => "%rq".into(),
        ScalarType::F32 => "%f".into(),
        ScalarType::F64 => "%fd".into(),
        ScalarType::F16 => "%h".into(),
        _ => format!("%{}_", ty.text().trim_start_matches('.')),
    }
}

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

    // --- registers ---

    /// A fresh register: `%r1`, `%rd2`, `%f3`, `%p1`, …
    #[inline]
    pub fn reg(&mut self, ty: ScalarType) -> Reg {
        let place = self.body.fresh_of.get(ty.index()).copied().flatten();
        let at = match place {
            Some(at) => usize::from(at),
            None => self.add_fresh(ty),
        };
        let start = self.body.register_names.len() as u32;
        if let Some(fresh) = self.body.fresh.get_mut(at) {
            fresh.count += 1;
            self.body.register_names.push_str(&fresh.prefix);
            let _ = write!(self.body.register_names, "{}", fresh.count);
        }
        self.push_register(start, ty, 1, false)
    }

    fn add_fresh(&mut self, ty: ScalarType) -> usize {
        let mut prefix = prefix(ty);
        let taken = |prefix: &str| {
            let names = &self.body.names;
            let mut alike = names
                .range(prefix.to_string()..)
                .take_while(|(n, _)| n.starts_with(prefix));
            let number = |n: &str| n.bytes().all(|b| b.is_ascii_digit());
            alike.any(|(n, _)| number(n.strip_prefix(prefix).unwrap_or_default()))
                || self
                    .module
                    .tables
                    .names
                    .iter()
                    .any(|n| n.starts_with(prefix))
        };
        while taken(&prefix) {
            prefix.push('_');
        }
        let at = self.body.fresh.len();
        self.body.fresh.push(Fresh {
            ty,
            prefix,
            count: 0,
        });
        if let Some(place) = self.body.fresh_of.get_mut(ty.index()) {
            *place = Some(at as u8);
        }
        at
    }

    fn push_register(&mut self, start: u32, ty: ScalarType, vector: u8, parameter: bool) -> Reg {
        let index = self.body.registers.len() as u32;
        self.body.registers.push(RegisterInfo {
            start,
            end: self.body.register_names.len() as u32,
            ty,
            vector,
            visible: true,
            is_parameter: parameter,
        });
        Reg {
            owner: self.body.owner,
            index,
        }
    }

    fn add_register(
        &mut self,
        ty: ScalarType,
        vector: u8,
        name: &str,
        parameter: bool,
    ) -> Result<Reg, Error> {
        let index = self.body.registers.len() as u32;
        self.claim(name, Meaning::Register(index))?;
        let start = self.body.register_names.len() as u32;
        self.body.register_names.push_str(name);
        Ok(self.push_register(start, ty, vector, parameter))
    }

    /// A register with a name, declared here, in the scope that is open.
    pub fn named_reg(&mut self, ty: ScalarType, name: &str) -> Result<Reg, Error> {
        self.named_vector(ty, 1, name)
    }

    /// A vector register of 2 or 4 elements (1 is a scalar), declared here.
    pub fn named_vector(&mut self, ty: ScalarType, vector: u8, name: &str) -> Result<Reg, Error> {
        let declaration = Declaration::new(StateSpace::Reg, ty, name).vector(vector);
        let text = declaration.statement(&self.module.tables)?;
        self.check(&text, &[])?;
        let reg = self.add_register(ty, vector, name, false)?;
        self.body.line(&text);
        Ok(reg)
    }

    /// Registers `name0`, `name1`, …, declared here in one range.
    pub fn reg_range(&mut self, ty: ScalarType, name: &str, count: u32) -> Result<Vec<Reg>, Error> {
        let declaration = Declaration::new(StateSpace::Reg, ty, name).range(count);
        let text = declaration.statement(&self.module.tables)?;
        self.check(&text, &[])?;
        let mut all = Vec::new();
        for number in 0..count {
            all.push(self.add_register(ty, 1, &format!("{name}{number}"), false)?);
        }
        self.body.line(&text);
        Ok(all)
    }

    /// The name of a register.
    pub fn name_of(&self, reg: Reg) -> &str {
        let known = self.body.registers.get(reg.index as usize);
        let known = known.filter(|_| reg.owner == self.body.owner);
        known.map_or("", |info| self.body.register_name(info))
    }

    /// The type of a register of this function.
    pub fn type_of(&self, reg: Reg) -> Option<ScalarType> {
        let known = self.body.registers.get(reg.index as usize);
        known.filter(|_| reg.owner == self.body.owner).map(|r| r.ty)
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

    // --- labels and scopes ---

    /// A fresh label, to be [placed](Self::place) somewhere.
    pub fn label(&mut self) -> Label {
        loop {
            self.body.fresh_labels += 1;
            let name = format!("$L_{}", self.body.fresh_labels);
            let free = !self.module.tables.names.contains(&name);
            if free && self.claim(&name, Meaning::Label).is_ok() {
                return self.push_label(name, None);
            }
        }
    }

    /// A label with a name.
    pub fn named_label(&mut self, name: &str) -> Result<Label, Error> {
        self.claim(name, Meaning::Label)?;
        Ok(self.push_label(name.to_string(), None))
    }

    fn push_label(&mut self, name: String, table: Option<Table>) -> Label {
        let index = self.body.labels.len() as u32;
        self.body.labels.push(LabelInfo {
            name,
            placed: table.is_some(),
            used: false,
            table,
        });
        Label {
            owner: self.body.owner,
            index,
        }
    }

    /// Places a label: jumps to it come here.
    pub fn place(&mut self, label: Label) -> Result<(), Error> {
        let known = self.body.labels.get_mut(label.index as usize);
        let Some(info) = known.filter(|_| label.owner == self.body.owner) else {
            let message = format!("a label that does not belong to `{}`", self.body.name);
            return Err(Error::new(Kind::Foreign, message));
        };
        if info.placed {
            let message = format!("the label `{}` is placed already", info.name);
            return Err(Error::new(Kind::Duplicate, message));
        }
        info.placed = true;
        let text = format!("{}:", info.name);
        self.label_line(&text);
        Ok(())
    }

    fn label_line(&mut self, text: &str) {
        let body = &mut self.body;
        body.abandon();
        for _ in 1..body.scopes.len().min(33) {
            body.text.push('\t');
        }
        body.text.push_str(text);
        body.text.push('\n');
        body.committed = body.text.len();
    }

    /// A fresh label, placed here: the beginning of a block.
    pub fn block(&mut self) -> Result<Label, Error> {
        let label = self.label();
        self.place(label)?;
        Ok(label)
    }

    /// `.branchtargets`: a table of labels for an indexed jump.
    pub fn branch_targets(&mut self, labels: &[Label]) -> Result<Label, Error> {
        let labels: Vec<Operand> = labels.iter().copied().map(Operand::Label).collect();
        self.table(Directive::Branchtargets, &labels)
    }

    /// `.calltargets`: a table of functions for an indirect call.
    pub fn call_targets(&mut self, functions: &[Func]) -> Result<Label, Error> {
        let functions: Vec<Operand> = functions.iter().copied().map(Operand::Func).collect();
        self.table(Directive::Calltargets, &functions)
    }

    /// `.callprototype`: what an indirect call calls.
    pub fn call_prototype(
        &mut self,
        returns: &[Declaration],
        params: &[Declaration],
    ) -> Result<Label, Error> {
        let list = |all: &[Declaration]| {
            let all: Vec<String> = all.iter().map(Declaration::nameless).collect();
            format!("({})", all.join(", "))
        };
        let mut text = format!("{} ", Directive::Callprototype);
        if !returns.is_empty() {
            let _ = write!(text, "{} ", list(returns));
        }
        let _ = write!(text, "_ {};", list(params));
        self.body.mentions.clear();
        self.add_table(text)
    }

    fn table(&mut self, directive: Directive, of: &[Operand]) -> Result<Label, Error> {
        let at = self.body.text.len();
        self.body.abandon();
        self.body.mentions.clear();
        let mut writer = self.writer(true);
        writer.push(directive.text());
        of.write_all(&mut writer);
        writer.push(";");
        let text = self.body.text.get(at..).unwrap_or_default().to_string();
        self.body.text.truncate(at);
        if let Some(error) = self.body.error.take() {
            return Err(error);
        }
        self.add_table(text)
    }

    fn add_table(&mut self, text: String) -> Result<Label, Error> {
        let mentions = core::mem::take(&mut self.body.mentions);
        let label = self.label();
        let name = self
            .body
            .labels
            .last()
            .map_or(String::new(), |l| l.name.clone());
        let line = format!("{name}: {text}");
        if let Err(error) = self.check(&line, &mentions) {
            self.body.labels.pop();
            return Err(error);
        }
        self.label_line(&format!("{name}:"));
        self.body.line(&text);
        if let Some(info) = self.body.labels.get_mut(label.index as usize) {
            info.placed = true;
            info.table = Some(Table { text, mentions });
        }
        Ok(label)
    }

    /// Opens a scope: `{`. What is declared in it is not visible outside.
    pub fn open(&mut self) {
        self.body.line("{");
        self.body.scopes.push(Vec::new());
    }

    /// Closes the scope that was opened last: `}`.
    pub fn close(&mut self) -> Result<(), Error> {
        if self.body.scopes.len() < 2 {
            let message = format!("no scope of `{}` is open", self.body.name);
            return Err(Error::new(Kind::Scope, message));
        }
        self.body.abandon();
        for name in self.body.scopes.pop().unwrap_or_default() {
            let meanings = self.body.names.get_mut(&name);
            let inner = meanings.and_then(|m| m.pop());
            let outer = self.body.names.get(&name).and_then(|m| m.last()).copied();
            if outer.is_none() {
                self.body.names.remove(&name);
            }
            if let Some(inner) = inner {
                self.show(inner, false);
            }
            if let Some(outer) = outer {
                self.show(outer, true);
            }
        }
        self.body.line("}");
        Ok(())
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
