//! The kernel or function that is being made.

mod body;
mod labels;
mod registers;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use ptx_ir::{Code, FunctionKind, Linkage};
use ptx_isa::{Directive, ScalarType, SpecialReg, StateSpace};

use crate::declaration::Declaration;
use crate::error::{Error, Kind};
use crate::initial::Scope as Names;
use crate::interface::{Interface, pragma};
use crate::judge;
use crate::module::{ModuleBuilder, Written, next_owner, no_variables};
use crate::number::Number;
use crate::operand::{Func, IntoOperands, Label, Reg, Var};
use crate::section;
use crate::spelling;
use crate::statement::Statement;
use crate::writer::{Mention, Writer, early};
pub(crate) use body::{Body, LabelInfo, Local, Meaning, RegisterInfo, ends_with_digit};
use body::{Fresh, Scope};
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

    // --- interface ---

    fn interface(&mut self) -> Option<&mut Interface> {
        let functions = &mut self.module.tables.functions;
        let function = functions.get_mut(self.func.index as usize);
        function.map(|f| &mut f.interface)
    }

    /// `.visible`, `.weak`, …
    pub fn linkage(&mut self, linkage: Linkage) -> &mut Self {
        if let Some(interface) = self.interface() {
            interface.linkage = Some(linkage);
        }
        self
    }

    /// An attribute as it is written: `.unified(1, 2)`.
    pub fn attribute(&mut self, attribute: &str) -> &mut Self {
        if let Some(interface) = self.interface() {
            interface.attributes.push(attribute.to_string());
        }
        self
    }

    /// A directive between parameters and body, such as `.maxntid`, with its numbers.
    pub fn directive(&mut self, directive: Directive, numbers: &[u32]) -> &mut Self {
        let numbers: Vec<Number> = numbers.iter().copied().map(Number::from).collect();
        if let Some(interface) = self.interface() {
            interface.add_directive(directive, &numbers);
        }
        self
    }

    /// Says at once what is to stand before the body. Results and parameters that are registers or have no name get no handle;
    /// [`local`](Self::local) and [`local_reg`](Self::local_reg) find the others by their names.
    pub fn set_interface(&mut self, interface: Interface) -> Result<(), Error> {
        self.module.tables.can_change(self.func)?;
        self.check_interface(&interface)?;
        let own = self.module.tables.functions.get(self.func.index as usize);
        if own.is_some_and(|f| !f.interface.returns.is_empty() || !f.interface.params.is_empty()) {
            let message = format!("`{}` has parameters or results already", self.body.name);
            let help =
                "say all of them at once, or one after the other with `add_param` and `result`";
            return Err(Error::new(Kind::Argument, message, help).code_is(Code::Prototype));
        }
        let parts = interface.returns.iter().chain(&interface.params);
        let mut names: Vec<&str> = parts.map(Declaration::name).filter(|n| *n != "_").collect();
        for name in &names {
            self.can_claim(name, 1)?;
        }
        names.sort_unstable();
        if let Some([name, _]) = names.array_windows().find(|[a, b]| a == b) {
            return Err(self.duplicate(name));
        }
        for (declaration, param) in (interface.returns.iter().map(|d| (d, false)))
            .chain(interface.params.iter().map(|d| (d, true)))
        {
            if declaration.name() == "_" {
                continue;
            }
            match declaration.space {
                StateSpace::Reg => {
                    let name = declaration.name();
                    self.add_register(declaration.ty, declaration.vector_len(), name, true)?;
                }
                _ => {
                    self.add_part(declaration, param)?;
                }
            }
        }
        if let Some(own) = self.interface() {
            *own = interface;
        }
        Ok(())
    }

    /// The variable or parameter that has a name here.
    pub fn local(&self, name: &str) -> Option<Var> {
        match self.body.names.get(name)?.last()? {
            (_, Meaning::Local(index)) => Some(Var {
                owner: self.body.owner,
                index: *index,
            }),
            _ => None,
        }
    }

    /// The register that has a name here, unless it belongs to a range and was never asked for.
    pub fn local_reg(&self, name: &str) -> Option<Reg> {
        match self.body.names.get(name)?.last()? {
            (_, Meaning::Register(index)) => Some(Reg {
                owner: self.body.owner,
                index: *index,
            }),
            _ => None,
        }
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
        let declaration = Declaration::new(StateSpace::Reg, ty, name);
        self.check_part(&declaration, !result)?;
        let reg = self.add_register(ty, 1, name, true)?;
        self.push_part(declaration, !result);
        Ok(reg)
    }

    fn push_part(&mut self, declaration: Declaration, param: bool) {
        if let Some(interface) = self.interface() {
            match param {
                true => interface.params.push(declaration),
                false => interface.returns.push(declaration),
            }
        }
    }

    fn interface_part(&mut self, declaration: Declaration, param: bool) -> Result<Var, Error> {
        if declaration.space == StateSpace::Reg {
            let message = format!("`{}` is a register", declaration.name());
            let help = "`register_param` adds parameters and results that are registers";
            return Err(Error::new(Kind::Argument, message, help).code_is(Code::Parameter));
        }
        self.check_part(&declaration, param)?;
        let var = self.add_part(&declaration, param)?;
        self.push_part(declaration, param);
        Ok(var)
    }

    /// Whether a parameter or result is legal with no other beside it.
    fn check_part(&self, declaration: &Declaration, param: bool) -> Result<(), Error> {
        self.module.tables.can_change(self.func)?;
        let (name, kind) = (declaration.name(), self.body.kind);
        if !param && kind == FunctionKind::Entry {
            return Err(no_results(&self.body.name, name));
        }
        let alone = Interface::default();
        let alone = match param {
            true => alone.param(declaration.clone()),
            false => alone.result(declaration.clone()),
        };
        self.check_header(&alone, "").map(drop)
    }

    fn check_interface(&self, interface: &Interface) -> Result<(), Error> {
        if let Some(result) = interface.returns.first()
            && self.body.kind == FunctionKind::Entry
        {
            return Err(no_results(&self.body.name, result.name()));
        }
        self.check_header(interface, "").map(drop)
    }

    /// What stands before the statements, if it is legal: the interface, and declarations inside.
    fn check_header(&self, interface: &Interface, inside: &str) -> Result<String, Error> {
        let header = interface.header(self.body.kind, &self.body.name)?;
        let mut text = format!("{header}\n{{\n{inside}}}\n");
        let tables = &self.module.tables;
        let known = tables.functions.get(self.func.index as usize);
        // It has to agree with what was said of it before.
        let declared = known.map_or("", |f| &f.declared);
        let start = tables.header.len() + declared.len() + 1;
        let whole = format!("{}{declared}\n{text}", tables.header);
        match judge::errors(&whole, start, start + text.len()) {
            Ok(_) => {
                text.truncate(text.len().saturating_sub("}\n".len()));
                Ok(text)
            }
            Err(found) => Err(Error::illegal(text, found)),
        }
    }

    fn add_part(&mut self, declaration: &Declaration, param: bool) -> Result<Var, Error> {
        let kind = if param { "parameter" } else { "result" };
        let class = format!("{kind} {}", declaration.nameless()?);
        let text = format!("{};", declaration.parameter()?);
        self.add_local(declaration.name(), text, &class, true)
    }

    // --- names ---

    fn duplicate(&self, name: &str) -> Error {
        let message = format!("`{}` has a `{name}` already", self.body.name);
        let help = "give it another name, or declare it in a scope of its own (`open`, `close`)";
        Error::new(Kind::Duplicate, message, help)
    }

    /// Gives a name of the scope that is open its meaning.
    fn claim(&mut self, name: &str, meaning: Meaning) -> Result<(), Error> {
        self.claim_at(name, meaning, self.body.depth())
    }

    /// Gives a name of the whole function its meaning.
    fn claim_outside(&mut self, name: &str, meaning: Meaning) -> Result<(), Error> {
        self.claim_at(name, meaning, 1)
    }

    /// Gives a parameter its name: in the whole function, also before what was made so far.
    fn claim_parameter(&mut self, name: &str, meaning: Meaning) -> Result<(), Error> {
        let is_special = SpecialReg::from_text(name.as_bytes()).is_some();
        // The assembler takes a variable inside for the parameter of its name.
        let mut locals = self.body.locals.iter();
        let taken =
            is_special || self.module.tables.names.contains(name) || locals.any(|l| l.name == name);
        if taken && self.body.committed > 0 {
            return Err(self.duplicate(name));
        }
        self.claim_outside(name, meaning)
    }

    fn claim_at(&mut self, name: &str, meaning: Meaning, depth: usize) -> Result<(), Error> {
        self.can_claim(name, depth)?;
        self.enter(name, meaning, depth);
        Ok(())
    }

    /// Refuses what is no name, or has a meaning in the scope at this depth or in one inside of it.
    fn can_claim(&self, name: &str, depth: usize) -> Result<(), Error> {
        spelling::name(name)?;
        let in_fresh = |f: &Fresh| f.holds(name);
        let outer = self.body.names.get(name).and_then(|m| m.last()).copied();
        let scopes = self.body.scopes.get(depth.wrapping_sub(1)..);
        let mut ranges = scopes.unwrap_or_default().iter().flat_map(|s| &s.ranges);
        let in_range = |r: &u32| {
            self.body
                .ranges
                .get(*r as usize)
                .is_some_and(|r| r.holds(name))
        };
        if outer.is_some_and(|(d, _)| d >= depth)
            || self.body.fresh.iter().any(in_fresh)
            || ranges.any(in_range)
        {
            return Err(self.duplicate(name));
        }
        Ok(())
    }

    /// A name means this in an open scope, and nothing else in it.
    fn enter(&mut self, name: &str, meaning: Meaning, depth: usize) {
        if let Some(scope) = self.body.scopes.get_mut(depth.wrapping_sub(1)) {
            scope.names.push(name.to_string());
        }
        let meanings = self.body.names.entry(name.to_string()).or_default();
        let outer = meanings.last().copied();
        meanings.push((depth, meaning));
        if let Some((_, outer)) = outer {
            self.show(outer, false);
        }
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
            Meaning::Label(l) => {
                if let Some(l) = self.body.labels.get_mut(l as usize) {
                    l.visible = visible;
                }
            }
            Meaning::Member | Meaning::Function(_) => {}
        }
    }

    // --- variables ---

    fn add_local(
        &mut self,
        name: &str,
        text: String,
        class: &str,
        is_parameter: bool,
    ) -> Result<Var, Error> {
        let index = self.body.locals.len() as u32;
        match is_parameter {
            true => self.claim_parameter(name, Meaning::Local(index))?,
            false => self.claim(name, Meaning::Local(index))?,
        }
        let class = self.module.tables.class(class);
        self.body.locals.push(Local {
            name: name.to_string(),
            text,
            class,
            visible: true,
            is_parameter,
        });
        Ok(Var {
            owner: self.body.owner,
            index,
        })
    }

    /// Declares a variable here, in the scope that is open; the handle is that of its first name.
    pub fn declare(&mut self, declaration: Declaration) -> Result<Var, Error> {
        declaration.has_members()?;
        let all = self.declare_all(declaration)?;
        let first = all.first().copied();
        first.ok_or_else(|| no_variables(""))
    }

    /// Declares variables here: all names of a declaration, of a [range](Declaration::range) each member.
    pub fn declare_all(&mut self, declaration: Declaration) -> Result<Vec<Var>, Error> {
        if declaration.space == StateSpace::Reg {
            return Err(Error::new(
                Kind::Argument,
                format!("`{}` is a register and no variable", declaration.name()),
                "registers are made by `reg`, or declared by `registers`, `named_reg` and their like",
            ));
        }
        let scope = Names {
            tables: &self.module.tables,
            body: Some(&self.body),
        };
        let (text, mentions) = declaration.statement(&scope)?;
        let mut members: Vec<(String, String, String)> = Vec::new();
        for name in declaration.names() {
            let class = declaration.class(name)?;
            if name.count.is_some() && self.body.has_range(&name.text) {
                return Err(self.duplicate(&name.text));
            }
            for member in name.members()? {
                self.can_claim(&member, self.body.depth())?;
                let bare = declaration.bare(name, &member)?;
                members.push((member, bare, class.clone()));
            }
        }
        self.check(&text, &mentions)?;
        let all: Result<Vec<Var>, Error> = members
            .into_iter()
            .map(|(name, text, class)| self.add_local(&name, text, &class, false))
            .collect();
        let all = all?;
        self.body.line(&text);
        for mention in mentions {
            if let Mention::Label(l) = mention {
                self.body.wait(l);
            }
        }
        Ok(all)
    }

    /// Whether the scope that is open has a name.
    fn is_taken(&self, name: &str) -> bool {
        let meanings = self.body.names.get(name).and_then(|m| m.last());
        meanings.is_some_and(|(depth, _)| *depth >= self.body.depth())
    }

    /// Declares a function inside of this one, for calls further down.
    pub fn declare_function(
        &mut self,
        kind: FunctionKind,
        name: &str,
        interface: Interface,
    ) -> Result<Func, Error> {
        let last = self.body.names.get(name).and_then(|m| m.last()).copied();
        let depth = self.body.depth();
        let here = match last {
            Some((d, Meaning::Function(f))) => (d == depth).then_some(f),
            _ if self.is_taken(name) || self.body.means(name) => return Err(self.duplicate(name)),
            _ => None,
        };
        let (func, text) = self.module.declaration_of(kind, name, interface)?;
        if here.is_none() {
            self.enter(name, Meaning::Function(func.index), depth);
        }
        let (owner, scope) = (self.body.owner, self.body.scope());
        let known = self.module.tables.functions.get_mut(func.index as usize);
        if let Some(f) = known.filter(|f| f.written != Written::Before) {
            f.written = Written::Inside { owner, scope };
            self.body.declared.push(func.index);
        }
        self.body.abandon();
        // Its parameters stand on lines of their own.
        self.body.indent();
        self.body.text.push_str(&text);
        self.body.text.push('\n');
        self.body.committed = self.body.text.len();
        Ok(func)
    }

    /// A name that nothing in the function has.
    pub(crate) fn fresh_name(&self, stem: &str) -> String {
        let mut n = self.body.locals.len();
        loop {
            let name = format!("{stem}{n}");
            if !self.body.means(&name) && !self.module.tables.names.contains(&name) {
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

    /// A comment at the end of the line of the statement made last; before the first one, on a line of its own.
    pub fn trailing_comment(&mut self, text: &str) {
        self.body.abandon();
        let mut lines = text.lines().map(comment_line);
        if self.body.text.ends_with('\n') {
            self.body.text.pop();
            let first = lines.next().unwrap_or_default();
            let _ = writeln!(self.body.text, " // {first}");
            self.body.committed = self.body.text.len();
        }
        for line in lines {
            self.comment(&line);
        }
    }

    /// `.loc file line column`: where the statements that follow come from. The file is one of [`ModuleBuilder::file`], before or
    /// after; if it is none, [`ModuleBuilder::finish`] says so.
    pub fn loc(&mut self, file: u32, line: u32, column: u32) {
        self.place_at([file, line, column], &format!("{file} {line} {column}"));
    }

    /// The same with numbers in their own spelling, `0x10` say.
    pub fn loc_spelled(&mut self, place: [Number; 3]) -> Result<(), Error> {
        let mut numbers = [0; 3];
        let mut text = String::new();
        for (number, to) in place.iter().zip(&mut numbers) {
            let _ = write!(
                text,
                "{}{}",
                if text.is_empty() { "" } else { " " },
                number.text()?
            );
            *to = number.as_u32()?;
        }
        self.place_at(numbers, &text);
        Ok(())
    }

    fn place_at(&mut self, place: [u32; 3], text: &str) {
        self.module.mention_file(place[0], &self.body.name);
        self.body.line(&format!("{} {text}", Directive::Loc));
        self.module.places.insert(place);
    }

    /// `.loc` of what was inlined: its own place, the name of its function as a label of a debug section with an offset, and the
    /// place that it was inlined at.
    pub fn loc_inlined(
        &mut self,
        [file, line, column]: [u32; 3],
        name: (&str, Option<u32>),
        at: [u32; 3],
    ) -> Result<(), Error> {
        let mut text = format!("{} {file} {line} {column}", Directive::Loc);
        let _ = write!(text, ", function_name {}", section::name(name.0)?);
        if let Some(offset) = name.1 {
            let _ = write!(text, "+{offset}");
        }
        let outer = format!("{} {} {}", at[0], at[1], at[2]);
        let _ = write!(text, ", inlined_at {outer}");
        if !self.module.places.contains(&at) {
            let message = format!(
                "nothing before this in `{}` or the functions before it is at `{outer}`, where it is to be inlined",
                self.body.name
            );
            let help = "say `loc` of the place of the call first";
            return Err(Error::new(Kind::Unplaced, message, help).code_is(Code::DebugInfo));
        }
        self.body.mentions.clear();
        let before = format!("{} {outer}\n", Directive::Loc);
        self.judge_behind(&before, &text)?;
        for file in [file, at[0]] {
            self.module.mention_file(file, &self.body.name);
        }
        self.body.line(&text);
        self.module.places.insert([file, line, column]);
        Ok(())
    }

    /// [`ModuleBuilder::alias`], written among the statements, where the assembler takes it as well.
    pub fn alias(&mut self, alias: Func, of: Func) -> Result<(), Error> {
        let text = self.module.alias_text(alias, of)?;
        self.body.line(&text);
        Ok(())
    }

    /// `.pragma "…";`
    pub fn pragma(&mut self, text: &str) -> Result<(), Error> {
        self.pragmas(&[text])
    }

    /// `.pragma "…", "…";`
    pub fn pragmas(&mut self, texts: &[&str]) -> Result<(), Error> {
        let text = pragma(texts)?;
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
        if let Err(error) = spelling::mnemonic(mnemonic) {
            self.body.abandon();
            self.body.guard = None;
            return Err(error);
        }
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
            Err(_) => {
                self.body.unmention();
                self.body.text.truncate(self.body.committed);
            }
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
        if result.is_ok() {
            self.module.tables.fix(&self.body.mentions);
        }
        result
    }

    /// Judges a text that mentions what was noted.
    fn judge_text(&self, text: &str) -> Result<(), Error> {
        self.judge_behind("", text)
    }

    /// The same behind other statements.
    fn judge_behind(&self, before: &str, text: &str) -> Result<(), Error> {
        let both = format!("{before}{text}");
        let (whole, start) = judge::around(&self.body, &self.module.tables, &both);
        let start = start + before.len();
        match judge::errors(&whole, start, start + text.len()) {
            Ok(_) => Ok(()),
            Err(found) => Err(Error::illegal(text.to_string(), found)),
        }
    }

    /// Judges a text that mentions these.
    pub(crate) fn check(&mut self, text: &str, mentions: &[Mention]) -> Result<(), Error> {
        self.body.mentions.clear();
        self.body.mentions.extend_from_slice(mentions);
        self.judge_text(text)?;
        self.module.tables.fix(mentions);
        Ok(())
    }

    pub(crate) fn any_writer(&mut self) -> Writer<'_> {
        self.writer(true)
    }

    /// Makes several statements, or none if one of them is refused. Under a guard, a jump goes over all of them.
    pub(crate) fn all_or_none<R>(
        &mut self,
        make: impl FnOnce(&mut Self) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let guard = self.body.guard.take();
        let mark = self.mark();
        let end = guard.map(|_| self.label());
        let made = self.jump(guard, end).and_then(|()| make(self));
        match made {
            Ok(made) => end.map_or(Ok(()), |end| self.place(end)).map(|()| made),
            Err(error) => {
                self.reset(mark);
                if let Some(label) = end.and_then(|l| self.body.labels.get_mut(l.index as usize)) {
                    label.waiting.clear();
                }
                Err(error)
            }
        }
    }

    /// Goes to a label where the guard does not hold.
    fn jump(&mut self, guard: Option<(Reg, bool)>, end: Option<Label>) -> Result<(), Error> {
        let (Some((predicate, negated)), Some(end)) = (guard, end) else {
            return Ok(());
        };
        self.body.guard = Some((predicate, !negated));
        self.bra().emit(end)
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
        let mut text = match self.check_header(&of, &fresh) {
            Ok(text) => text,
            Err(error) => return Err(self.lost(error)),
        };
        text.push_str(&self.body.text);
        text.push_str("}\n");
        self.body.declared.push(self.func.index);
        self.module.add_function_text(&self.body.declared, &text);
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
