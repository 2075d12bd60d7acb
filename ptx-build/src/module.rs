//! The module that is being made.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;
use core::sync::atomic::{AtomicU32, Ordering};

use ptx_ir::raw::Interner;
use ptx_ir::{Code, EntityId, FunctionKind, Linkage, Module, Severity, Signatures, Symbol};
use ptx_isa::{Directive, PtxVersion, Target};

use crate::declaration::Declaration;
use crate::error::{Error, Kind};
use crate::function::{FunctionBuilder, no_results};
use crate::handle_owner::{Handle, HandleOwners};
use crate::initializer::Scope;
use crate::interface::{Interface, pragma};
use crate::lexical;
use crate::operand::{Func, Var};
use crate::section::{self, Datum};
use crate::writer::Dependency;

/// A variable of the module.
#[derive(Debug)]
pub(crate) struct Global {
    pub(crate) name: String,
    /// Without its initial value.
    pub(crate) text: String,
    pub(crate) class: u32,
}

#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) kind: FunctionKind,
    pub(crate) interface: Interface,
    /// The last declaration of it without a body; empty where there is none.
    pub(crate) declared: String,
    is_defined: bool,
    /// Whether statements were judged by its interface since it was declared or begun.
    is_fixed: bool,
    pub(crate) written: DeclState,
}

/// From where on a name of the module is known, in the order of the text.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum DeclState {
    /// In its own body, until that is finished.
    Open,
    /// In a scope of another function, until that is finished.
    Nested { owner: u32, scope: u32 },
    /// Everywhere.
    Declared,
}

/// What was declared so far, and what is known of statements.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) owner: u32,
    pub(crate) header: String,
    pub(crate) globals: Vec<Global>,
    pub(crate) functions: Vec<Function>,
    pub(crate) names: BTreeSet<String>,
    /// The variables among them.
    variables: BTreeMap<String, u32>,
    /// The functions among them.
    by_name: BTreeMap<String, u32>,
    /// Declarations that are alike but for their names.
    pub(crate) classes: Interner,
    pub(crate) past: HandleOwners,
}

/// What is known of mnemonics and shapes of operands.
#[derive(Default, Debug)]
pub(crate) struct LegalityCache {
    pub(crate) signatures: Signatures,
    /// Of each signature, whether the values of constants decide.
    pub(crate) values: Vec<bool>,
    pub(crate) keys: Interner,
    /// Of each key, whether it is legal.
    pub(crate) legal: Vec<bool>,
}

impl Tables {
    /// The name of a variable of this module, used in a function or, without a name of one, outside.
    pub(crate) fn global(&self, var: Var, place: Option<&str>) -> Result<&str, Error> {
        let known = self.globals.get(var.index as usize);
        let known = known.filter(|_| var.owner == self.owner);
        known
            .map(|g| g.name.as_str())
            .ok_or_else(|| self.past.refuse(Handle::Var(var), place))
    }

    /// A function of this module, used in a function or outside.
    pub(crate) fn func(&self, func: Func, place: Option<&str>) -> Result<&Function, Error> {
        let known = self.functions.get(func.index as usize);
        let known = known.filter(|_| func.owner == self.owner);
        let known = known.ok_or_else(|| self.past.refuse(Handle::Func(func), place))?;
        match (place, known.written) {
            (None, DeclState::Open | DeclState::Nested { .. }) => Err(later(&known.name)),
            _ => Ok(known),
        }
    }

    /// Statements were judged that mention these.
    pub(crate) fn fix(&mut self, mentions: &[Dependency]) {
        for mention in mentions {
            if let Dependency::Func(f) = mention
                && let Some(f) = self.functions.get_mut(*f as usize)
            {
                f.is_fixed = true;
            }
        }
    }

    /// Refuses to change an interface that statements were judged by.
    pub(crate) fn can_change(&self, func: Func) -> Result<(), Error> {
        match self.functions.get(func.index as usize) {
            Some(f) if f.is_fixed => Err(Error::new(
                Kind::Argument,
                format!(
                    "`{}` is mentioned already with the interface that it had",
                    f.name
                ),
                "say what it takes and returns before statements mention it",
            )
            .code_is(Code::Prototype)),
            _ => Ok(()),
        }
    }

    /// A variable as a declaration, for statements that mention it.
    pub(crate) fn global_text(&self, var: u32) -> String {
        let global = self.globals.get(var as usize);
        global.map_or(String::new(), |g| format!("{}\n", g.text))
    }

    pub(crate) fn class(&mut self, text: &str) -> u32 {
        self.classes.intern(text.as_bytes()).0
    }

    /// The interface of a function as a declaration, for statements that mention it.
    pub(crate) fn prototype(&self, func: u32) -> String {
        let Some(f) = self.functions.get(func as usize) else {
            return String::new();
        };
        let header = f.interface.shape().header(f.kind, &f.name);
        format!("{};\n", header.unwrap_or_default())
    }
}

impl LegalityCache {
    /// Whether the values of constants decide what a mnemonic takes.
    #[inline]
    pub(crate) fn signature(&mut self, text: &[u8]) -> (u32, bool) {
        let id = self.signatures.intern(text);
        let index = id.index();
        if index >= self.values.len() {
            let instruction = self.signatures.get(id).instruction();
            let forms = instruction.map_or(&[][..], |i| i.forms());
            self.values
                .push(forms.iter().any(|f| f.depends_on_immediates()));
        }
        let values = self.values.get(index).copied().unwrap_or(true);
        (index as u32, values)
    }
}

fn taken(name: &str) -> Error {
    Error::new(
        Kind::Duplicate,
        format!("the module has a `{name}` already"),
        "give it another name; a function that was declared is begun with `define`",
    )
}

/// A function whose text comes behind what mentions it.
#[cold]
pub(crate) fn later(function: &str) -> Error {
    Error::new(
        Kind::Unplaced,
        format!("`{function}` is begun and not finished, and stands behind what mentions it"),
        "declare it before with `declare_func`, and begin it with `define`",
    )
    .code_is(Code::LateDeclaration)
}

#[cold]
pub(crate) fn no_variables(range: &str) -> Error {
    Error::new(
        Kind::Argument,
        format!("`{range}` is a range without members that can be named"),
        "a range has one member at least, and its name ends with no digit: of `x1<4>` nothing can be named, as `x10` is 10 behind `x`",
    )
    .code_is(Code::BadCount)
}

/// Every function and every module has a number of its own, so that handles of others are told apart.
pub(crate) fn next_owner() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Makes a module: header, variables, kernels and functions.
#[derive(Debug)]
pub struct ModuleBuilder {
    pub(crate) tables: Tables,
    pub(crate) known: LegalityCache,
    version: PtxVersion,
    target: Target,
    options: Vec<String>,
    /// Further lines of `.target`.
    more_targets: Vec<String>,
    is_virtual: bool,
    address_size: Option<u8>,
    text: String,
    /// What `.loc` said so far.
    pub(crate) places: BTreeSet<[u32; 3]>,
    /// The indices of `.file`.
    files: BTreeSet<u32>,
    /// Those that functions mention, each with the first function.
    mentioned_files: BTreeMap<u32, String>,
    /// The first function that was begun and not finished.
    pub(crate) dropped: Option<Error>,
}

impl ModuleBuilder {
    /// An empty module with addresses of 64 bits.
    pub fn new(version: PtxVersion, target: Target) -> Self {
        let mut module = Self {
            tables: Tables {
                owner: next_owner(),
                header: String::new(),
                globals: Vec::new(),
                functions: Vec::new(),
                names: BTreeSet::new(),
                variables: BTreeMap::new(),
                by_name: BTreeMap::new(),
                classes: Interner::default(),
                past: HandleOwners::default(),
            },
            known: LegalityCache::default(),
            version,
            target,
            options: Vec::new(),
            more_targets: Vec::new(),
            address_size: Some(64),
            text: String::new(),
            places: BTreeSet::new(),
            files: BTreeSet::new(),
            is_virtual: false,
            mentioned_files: BTreeMap::new(),
            dropped: None,
        };
        module.write_header();
        module
    }

    fn write_header(&mut self) {
        let mut target = self.target.text().to_string();
        if self.is_virtual {
            target = target.replacen("sm_", "compute_", 1);
        }
        for option in &self.options {
            target.push_str(", ");
            target.push_str(option);
        }
        self.tables.header = format!(
            "{} {}\n{} {target}\n",
            Directive::Version,
            self.version,
            Directive::Target,
        );
        for line in &self.more_targets {
            let _ = writeln!(self.tables.header, "{} {line}", Directive::Target);
        }
        if let Some(bits) = self.address_size {
            let _ = writeln!(self.tables.header, "{} {bits}", Directive::AddressSize);
        }
        // What was found legal was so under another header.
        self.known.keys = Interner::default();
        self.known.legal.clear();
    }

    /// The version it is made for.
    pub fn version(&self) -> PtxVersion {
        self.version
    }

    /// The target it is made for.
    pub fn target(&self) -> Target {
        self.target
    }

    /// Addresses of 32 or 64 bits.
    pub fn set_address_size(&mut self, bits: u8) {
        self.address_size = Some(bits);
        self.write_header();
    }

    /// Writes no `.address_size`: addresses have 32 bits then.
    pub fn without_address_size(&mut self) {
        self.address_size = None;
        self.write_header();
    }

    /// Writes the target as `compute_80` in place of `sm_80`, which means the same.
    pub fn write_virtual_target(&mut self) {
        self.is_virtual = true;
        self.write_header();
    }

    /// Adds a word behind the target: `debug`, `texmode_independent`. Manual 11.1.2.
    pub fn target_option(&mut self, option: &str) -> Result<(), Error> {
        lexical::name(option)?;
        self.options.push(option.to_string());
        self.write_header();
        Ok(())
    }

    /// Adds another line of `.target` behind the first, a target or words such as `texmode_independent`. Its target means nothing:
    /// that of the first line counts.
    pub fn another_target(&mut self, words: &[&str]) -> Result<(), Error> {
        words.iter().try_for_each(|w| lexical::name(w))?;
        self.more_targets.push(words.join(", "));
        self.write_header();
        Ok(())
    }

    /// A comment on lines of its own.
    pub fn comment(&mut self, text: &str) {
        for line in text.lines() {
            let _ = writeln!(self.text, "// {}", crate::function::comment_line(line));
        }
    }

    /// `.file index "path"`, for [`FunctionBuilder::loc`].
    pub fn file(&mut self, index: u32, path: &str) -> Result<(), Error> {
        self.file_with(index, path, &[])
    }

    /// The same with what may stand behind the path: the time of the last change, and the size.
    pub fn file_with(&mut self, index: u32, path: &str, more: &[u64]) -> Result<(), Error> {
        let mut text = format!("{} {index} {}", Directive::File, lexical::string(path)?);
        for number in more {
            let _ = write!(text, ", {number}");
        }
        if self.files.contains(&index) {
            let message = format!("the module has a file {index} already");
            let help = "give each file an index of its own";
            return Err(Error::new(Kind::Duplicate, message, help));
        }
        self.item(&text)?;
        self.files.insert(index);
        Ok(())
    }

    /// `.pragma "…";`
    pub fn pragma(&mut self, text: &str) -> Result<(), Error> {
        self.pragmas(&[text])
    }

    /// `.pragma "…", "…";`
    pub fn pragmas(&mut self, texts: &[&str]) -> Result<(), Error> {
        self.item(&pragma(texts)?)
    }

    /// `.alias name, of;`: another name of a function. The name is that of a function that was declared, the other one that of
    /// a function with a body, wherever that stands.
    pub fn alias(&mut self, alias: Func, of: Func) -> Result<(), Error> {
        let text = self.alias_text(alias, of)?;
        self.text.push_str(&text);
        self.text.push('\n');
        Ok(())
    }

    pub(crate) fn alias_text(&self, alias: Func, of: Func) -> Result<String, Error> {
        let (a, b) = (self.tables.func(alias, None)?, self.tables.func(of, None)?);
        let text = format!("{} {}, {};", Directive::Alias, a.name, b.name);
        if a.is_defined {
            let message = format!(
                "`{}` has a body: it cannot be another name of `{}`",
                a.name, b.name
            );
            let help = "declare a function without a body for the other name: `declare_func`";
            return Err(Error::new(Kind::Duplicate, message, help).code_is(Code::Alias));
        }
        // Held against both as they are known so far; that the other one has a body shows at the end.
        let header = b.interface.header(b.kind, &b.name)?;
        let (p, q) = (&a.declared, format!("{header}\n{{\n}}\n"));
        let p = if p.is_empty() || alias == of { "" } else { p };
        let whole = format!("{}{p}\n{q}{text}\n", self.tables.header);
        self.verify(&whole, whole.len() - text.len() - 1, &text)?;
        Ok(text)
    }

    /// `.section name { … }`: debug information.
    pub fn section(&mut self, name: &str, data: &[Datum]) -> Result<(), Error> {
        let text = section::text(name, data)?;
        self.item(&text)
    }

    /// Adds text as an item of the module, a debug section say, if it is legal alone.
    pub fn item(&mut self, text: &str) -> Result<(), Error> {
        let head = self.tables.header.len();
        let module = self.verify(&format!("{}{text}\n", self.tables.header), head, text)?;
        let name = |s: &Symbol| match s.number {
            Some(n) => format!("{}{n}", module.name(s.name)),
            None => module.name(s.name).to_string(),
        };
        let names: Vec<String> = module.symbols().iter().map(|(_, s)| name(s)).collect();
        for name in &names {
            lexical::module_name(name)?;
        }
        if let Some(name) = names.iter().find(|n| self.tables.names.contains(*n)) {
            return Err(taken(name));
        }
        self.tables.names.extend(names);
        self.text.push_str(text.trim_end());
        self.text.push('\n');
        Ok(())
    }

    /// Refuses an item that is not legal behind the header.
    fn verify(&self, whole: &str, start: usize, text: &str) -> Result<Module, Error> {
        crate::check::errors(whole, start, start + text.len())
            .map_err(|found| Error::illegal(text.to_string(), found))
    }

    fn claim(&mut self, name: &str) -> Result<(), Error> {
        lexical::module_name(name)?;
        if !self.tables.names.insert(name.to_string()) {
            return Err(taken(name));
        }
        Ok(())
    }

    /// Declares a variable of the module; the handle is that of its first name. A name that was declared before can be declared
    /// again where the linkage allows it, `.extern` before the definition say, and keeps its handle.
    pub fn declare(&mut self, declaration: Declaration) -> Result<Var, Error> {
        declaration.has_members()?;
        let all = self.declare_all(declaration)?;
        let first = all.first().copied();
        first.ok_or_else(|| no_variables(""))
    }

    /// Declares variables of the module: all names of a declaration, of a [range](Declaration::range) each member.
    pub fn declare_all(&mut self, declaration: Declaration) -> Result<Vec<Var>, Error> {
        let scope = Scope {
            tables: &self.tables,
            body: None,
        };
        let (text, mut mentions) = declaration.statement(&scope)?;
        let mut whole = self.tables.header.clone();
        mentions.sort_unstable();
        mentions.dedup();
        for mention in mentions {
            match mention {
                Dependency::Global(v) => whole.push_str(&self.tables.global_text(v)),
                Dependency::Func(f) => whole.push_str(&self.tables.prototype(f)),
                _ => {}
            }
        }
        let mut members: Vec<(String, String, String, Option<u32>)> = Vec::new();
        let mut again = false;
        for name in declaration.names() {
            let class = declaration.class(name)?;
            for member in name.members()? {
                lexical::module_name(&member)?;
                let bare = declaration.bare(name, &member)?;
                let known = self.variable(&member);
                if self.tables.names.contains(&member) {
                    match known {
                        Some(_) => again = true,
                        None => return Err(taken(&member)),
                    }
                }
                if let Some(known) = known {
                    whole.push_str(&self.tables.global_text(known));
                }
                members.push((member, class.clone(), bare, known));
            }
        }
        let start = whole.len();
        whole.push_str(&text);
        if let Err(error) = self.verify(&whole, start, &text) {
            return Err(match again {
                true => taken(declaration.name()),
                false => error,
            });
        }
        self.text.push_str(&text);
        self.text.push('\n');
        let handles = members.into_iter().map(|(name, class, text, known)| {
            let class = self.tables.class(&class);
            let index = known.unwrap_or(self.tables.globals.len() as u32);
            self.tables.names.insert(name.clone());
            let global = Global { name, text, class };
            match self.tables.globals.get_mut(index as usize) {
                Some(before) => *before = global,
                None => {
                    self.tables.variables.insert(global.name.clone(), index);
                    self.tables.globals.push(global);
                }
            }
            Var {
                owner: self.tables.owner,
                index,
            }
        });
        Ok(handles.collect())
    }

    fn variable(&self, name: &str) -> Option<u32> {
        self.tables.variables.get(name).copied()
    }

    /// Begins a kernel.
    pub fn kernel(&mut self, name: &str) -> Result<FunctionBuilder<'_>, Error> {
        self.begin(name, FunctionKind::Entry)
    }

    /// Begins a function. One that was [declared](Self::declare_func) before is begun with [`define`](Self::define).
    pub fn func(&mut self, name: &str) -> Result<FunctionBuilder<'_>, Error> {
        self.begin(name, FunctionKind::Func)
    }

    fn begin(&mut self, name: &str, kind: FunctionKind) -> Result<FunctionBuilder<'_>, Error> {
        let func = self.add_function(name, kind, Interface::default())?;
        if let Some(f) = self.tables.functions.get_mut(func.index as usize) {
            f.is_defined = true;
        }
        Ok(FunctionBuilder::new(self, func, kind, name))
    }

    fn add_function(
        &mut self,
        name: &str,
        kind: FunctionKind,
        interface: Interface,
    ) -> Result<Func, Error> {
        self.claim(name)?;
        let index = self.tables.functions.len() as u32;
        self.tables.functions.push(Function {
            name: name.to_string(),
            kind,
            interface,
            declared: String::new(),
            is_defined: false,
            is_fixed: false,
            written: DeclState::Open,
        });
        self.tables.by_name.insert(name.to_string(), index);
        Ok(Func {
            owner: self.tables.owner,
            index,
        })
    }

    /// Declares a function that is defined further down or, with `.extern`, in another module.
    pub fn declare_func(
        &mut self,
        name: &str,
        linkage: Option<Linkage>,
        returns: &[Declaration],
        params: &[Declaration],
    ) -> Result<Func, Error> {
        let of = Interface {
            linkage,
            returns: returns.to_vec(),
            params: params.to_vec(),
            ..Interface::default()
        };
        self.declare_function(FunctionKind::Func, name, of)
    }

    /// Declares a function or a kernel with all that may be said of it. One that is known can be declared again.
    pub fn declare_function(
        &mut self,
        kind: FunctionKind,
        name: &str,
        interface: Interface,
    ) -> Result<Func, Error> {
        let (func, text) = self.declaration_of(kind, name, interface)?;
        if let Some(f) = self.tables.functions.get_mut(func.index as usize) {
            f.written = DeclState::Declared;
        }
        self.text.push_str(&text);
        self.text.push('\n');
        Ok(func)
    }

    /// Notes a function that is declared with this text, here or inside another one.
    pub(crate) fn declaration_of(
        &mut self,
        kind: FunctionKind,
        name: &str,
        interface: Interface,
    ) -> Result<(Func, String), Error> {
        lexical::module_name(name)?;
        if let Some(result) = interface.returns.first()
            && kind == FunctionKind::Entry
        {
            return Err(no_results(name, result.name()));
        }
        let text = format!("{};", interface.header(kind, name)?);
        let known = self.tables.by_name.get(name).copied();
        let before = known.and_then(|f| self.tables.functions.get(f as usize));
        let before = match before {
            Some(f) if f.kind != kind => return Err(taken(name)),
            Some(f) if f.is_defined && f.written == DeclState::Declared => {
                format!("{}\n{{\n}}", f.interface.header(f.kind, name)?)
            }
            Some(f) if f.declared.is_empty() => format!("{};", f.interface.header(f.kind, name)?),
            Some(f) => f.declared.clone(),
            None => String::new(),
        };
        let whole = format!("{}{before}\n{text}\n", self.tables.header);
        self.verify(&whole, whole.len() - text.len() - 1, &text)?;
        let func = match known {
            Some(index) => Func {
                owner: self.tables.owner,
                index,
            },
            None => self.add_function(name, kind, interface)?,
        };
        if let Some(f) = self.tables.functions.get_mut(func.index as usize) {
            f.declared.clone_from(&text);
        }
        Ok((func, text))
    }

    /// Begins the body of a function that was declared; its parameters and results have to be added again.
    pub fn define(&mut self, func: Func) -> Result<FunctionBuilder<'_>, Error> {
        let known = self.tables.functions.get(func.index as usize);
        let known = known.filter(|_| func.owner == self.tables.owner);
        let known = known.ok_or_else(|| self.tables.past.refuse(Handle::Func(func), None))?;
        let (kind, name) = (known.kind, known.name.clone());
        if known.is_defined {
            let message = format!("`{name}` has a body already");
            let help = "a function has one body: give the other one another name";
            return Err(Error::new(Kind::Duplicate, message, help));
        }
        if let Some(f) = self.tables.functions.get_mut(func.index as usize) {
            f.interface = Interface::default();
            f.is_defined = true;
            f.is_fixed = false;
        }
        Ok(FunctionBuilder::new(self, func, kind, &name))
    }

    /// Notes that a function says that it comes from a file.
    pub(crate) fn mention_file(&mut self, file: u32, function: &str) {
        let entry = self.mentioned_files.entry(file);
        entry.or_insert_with(|| function.to_string());
    }

    /// A function is finished: what it declared inside is known from now on, as it is itself.
    pub(crate) fn add_function_text(&mut self, functions: &[u32], parts: [&str; 3]) {
        // Once, and not by doubling: these texts are long.
        self.text.reserve(parts.iter().map(|p| p.len()).sum());
        for part in parts {
            self.text.push_str(part);
        }
        for function in functions {
            if let Some(f) = self.tables.functions.get_mut(*function as usize) {
                f.written = DeclState::Declared;
            }
        }
    }

    /// The text of the module so far.
    pub fn text(&self) -> String {
        format!("{}{}", self.tables.header, self.text)
    }

    /// The module, if it is legal as a whole.
    pub fn finish(self) -> Result<Module, Error> {
        if let Some(error) = self.dropped {
            return Err(error);
        }
        let mut mentioned = self.mentioned_files.iter();
        if let Some((file, function)) = mentioned.find(|(f, _)| !self.files.contains(f)) {
            let message =
                format!("`{function}` comes from a file {file}, which the module does not have");
            let help = "`ModuleBuilder::file` adds it";
            return Err(Error::new(Kind::Unplaced, message, help).code_is(Code::DebugInfo));
        }
        let mut text = self.text;
        text.insert_str(0, &self.tables.header);
        crate::check::errors(&text, 0, text.len()).map_err(|found| {
            let found = found
                .into_iter()
                .filter(|d| d.severity == Severity::Error)
                .collect();
            Error::illegal(text.clone(), found)
        })
    }
}
