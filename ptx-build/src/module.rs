//! The module that is being made.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;
use core::ops::Bound;
use core::sync::atomic::{AtomicU32, Ordering};

use ptx_ir::raw::Interner;
use ptx_ir::{Code, EntityId, FunctionKind, Linkage, Module, Severity, Signatures, Symbol};
use ptx_isa::{Directive, PtxVersion, Target};

use crate::declaration::Declaration;
use crate::error::{BuildError, BuildErrorKind};
use crate::function::{Body, FunctionBuilder, no_results};
use crate::handle_owner::{Handle, HandleOwners};
use crate::initializer::Scope;
use crate::interface::{FunctionHeader, pragma};
use crate::lexical;
use crate::operand::{Func, Variable};
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

#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) kind: FunctionKind,
    pub(crate) interface: FunctionHeader,
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
    /// Nowhere: the function was discarded before it was finished.
    Discarded,
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
    pub(crate) fn global(&self, var: Variable, place: Option<&str>) -> Result<&str, BuildError> {
        let known = self.globals.get(var.index as usize);
        let known = known.filter(|_| var.owner == self.owner);
        known
            .map(|g| g.name.as_str())
            .ok_or_else(|| self.past.refuse(Handle::Var(var), place))
    }

    /// A function of this module, used in a function or outside.
    pub(crate) fn func(&self, func: Func, place: Option<&str>) -> Result<&Function, BuildError> {
        let known = self.functions.get(func.index as usize);
        let known = known.filter(|_| func.owner == self.owner);
        let known = known.ok_or_else(|| self.past.refuse(Handle::Func(func), place))?;
        match (place, known.written) {
            (_, DeclState::Discarded) => Err(discarded(&known.name)),
            (None, DeclState::Open | DeclState::Nested { .. }) => Err(later(&known.name)),
            _ => Ok(known),
        }
    }

    /// Forgets a function; its handles are refused from now on.
    fn remove_function(&mut self, index: u32) {
        if let Some(f) = self.functions.get_mut(index as usize) {
            f.written = DeclState::Discarded;
            self.names.remove(&f.name);
            self.by_name.remove(&f.name);
        }
    }

    /// Whether a name of the module begins like this.
    pub(crate) fn has_prefix(&self, prefix: &str) -> bool {
        let mut from = self
            .names
            .range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
        from.next().is_some_and(|name| name.starts_with(prefix))
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
    pub(crate) fn can_change(&self, func: Func) -> Result<(), BuildError> {
        match self.functions.get(func.index as usize) {
            Some(f) if f.is_fixed => Err(BuildError::new(
                BuildErrorKind::Argument,
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

fn taken(name: &str) -> BuildError {
    BuildError::new(
        BuildErrorKind::Duplicate,
        format!("the module has a `{name}` already"),
        "give it another name; a function that was declared is begun with `define`",
    )
}

/// A function whose text comes behind what mentions it.
#[cold]
pub(crate) fn later(function: &str) -> BuildError {
    BuildError::new(
        BuildErrorKind::Unplaced,
        format!("`{function}` is begun and not finished, and stands behind what mentions it"),
        "declare it before with `declare_func`, and begin it with `define`",
    )
    .code_is(Code::LateDeclaration)
}

/// A function that was discarded before it was finished.
#[cold]
pub(crate) fn discarded(function: &str) -> BuildError {
    BuildError::new(
        BuildErrorKind::Foreign,
        format!("the function `{function}` was discarded"),
        "use the handle of the function that was built in its place, or declare one with `declare_func`",
    )
}

#[cold]
pub(crate) fn no_variables(range: &str) -> BuildError {
    BuildError::new(
        BuildErrorKind::Argument,
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
}

impl ModuleBuilder {
    /// An empty module with addresses of 64 bits.
    #[must_use]
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
    #[must_use]
    pub fn version(&self) -> PtxVersion {
        self.version
    }

    /// The target it is made for.
    #[must_use]
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
    pub fn target_option(&mut self, option: &str) -> Result<(), BuildError> {
        lexical::name(option)?;
        self.options.push(option.to_string());
        self.write_header();
        Ok(())
    }

    /// Adds another line of `.target` behind the first, a target or words such as `texmode_independent`. Its target means nothing:
    /// that of the first line counts.
    pub fn another_target(&mut self, words: &[&str]) -> Result<(), BuildError> {
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
    pub fn file(&mut self, index: u32, path: &str) -> Result<(), BuildError> {
        self.file_with(index, path, &[])
    }

    /// The same with what may stand behind the path: the time of the last change, and the size.
    pub fn file_with(&mut self, index: u32, path: &str, more: &[u64]) -> Result<(), BuildError> {
        let mut text = format!("{} {index} {}", Directive::File, lexical::string(path)?);
        for number in more {
            let _ = write!(text, ", {number}");
        }
        if self.files.contains(&index) {
            let message = format!("the module has a file {index} already");
            let help = "give each file an index of its own";
            return Err(BuildError::new(BuildErrorKind::Duplicate, message, help));
        }
        self.item(&text)?;
        self.files.insert(index);
        Ok(())
    }

    /// `.pragma "…";`
    pub fn pragma(&mut self, text: &str) -> Result<(), BuildError> {
        self.pragmas(&[text])
    }

    /// `.pragma "…", "…";`
    pub fn pragmas(&mut self, texts: &[&str]) -> Result<(), BuildError> {
        self.item(&pragma(texts)?)
    }

    /// `.alias name, of;`: another name of a function. The name is that of a function that was declared, the other one that of
    /// a function with a body, wherever that stands.
    pub fn alias(&mut self, alias: Func, of: Func) -> Result<(), BuildError> {
        let text = self.alias_text(alias, of)?;
        self.text.push_str(&text);
        self.text.push('\n');
        Ok(())
    }

    pub(crate) fn alias_text(&self, alias: Func, of: Func) -> Result<String, BuildError> {
        let (a, b) = (self.tables.func(alias, None)?, self.tables.func(of, None)?);
        let text = format!("{} {}, {};", Directive::Alias, a.name, b.name);
        if a.is_defined {
            let message = format!(
                "`{}` has a body: it cannot be another name of `{}`",
                a.name, b.name
            );
            let help = "declare a function without a body for the other name: `declare_func`";
            return Err(
                BuildError::new(BuildErrorKind::Duplicate, message, help).code_is(Code::Alias)
            );
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
    pub fn section(&mut self, name: &str, data: &[Datum]) -> Result<(), BuildError> {
        let text = section::text(name, data)?;
        self.item(&text)
    }

    /// Adds text as an item of the module, a debug section say, if it is legal alone.
    pub fn item(&mut self, text: &str) -> Result<(), BuildError> {
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
    fn verify(&self, whole: &str, start: usize, text: &str) -> Result<Module, BuildError> {
        crate::check::errors(whole, start, start + text.len())
            .map_err(|found| BuildError::illegal(text.to_string(), found))
    }

    fn claim(&mut self, name: &str) -> Result<(), BuildError> {
        lexical::module_name(name)?;
        if !self.tables.names.insert(name.to_string()) {
            return Err(taken(name));
        }
        Ok(())
    }

    /// Declares a variable of the module; the handle is that of its first name. A name that was declared before can be declared
    /// again where the linkage allows it, `.extern` before the definition say, and keeps its handle.
    pub fn declare(&mut self, declaration: Declaration) -> Result<Variable, BuildError> {
        declaration.has_members()?;
        let all = self.declare_all(declaration)?;
        let first = all.first().copied();
        first.ok_or_else(|| no_variables(""))
    }

    /// Declares variables of the module: all names of a declaration, of a [range](Declaration::range) each member.
    pub fn declare_all(&mut self, declaration: Declaration) -> Result<Vec<Variable>, BuildError> {
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
            Variable {
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
    pub fn kernel(&mut self, name: &str) -> Result<FunctionBuilder<'_>, BuildError> {
        self.begin(name, FunctionKind::Entry)
    }

    /// Begins a function. One that was [declared](Self::declare_func) before is begun with [`define`](Self::define).
    pub fn func(&mut self, name: &str) -> Result<FunctionBuilder<'_>, BuildError> {
        self.begin(name, FunctionKind::Func)
    }

    fn begin(&mut self, name: &str, kind: FunctionKind) -> Result<FunctionBuilder<'_>, BuildError> {
        let func = self.add_function(name, kind, FunctionHeader::default())?;
        if let Some(f) = self.tables.functions.get_mut(func.index as usize) {
            f.is_defined = true;
        }
        Ok(FunctionBuilder::new(self, func, kind, name, None))
    }

    fn add_function(
        &mut self,
        name: &str,
        kind: FunctionKind,
        interface: FunctionHeader,
    ) -> Result<Func, BuildError> {
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
    ) -> Result<Func, BuildError> {
        let of = FunctionHeader {
            linkage,
            returns: returns.to_vec(),
            params: params.to_vec(),
            ..FunctionHeader::default()
        };
        self.declare_function(FunctionKind::Func, name, of)
    }

    /// Declares a function or a kernel with all that may be said of it. One that is known can be declared again.
    pub fn declare_function(
        &mut self,
        kind: FunctionKind,
        name: &str,
        interface: FunctionHeader,
    ) -> Result<Func, BuildError> {
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
        interface: FunctionHeader,
    ) -> Result<(Func, String), BuildError> {
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

    /// Begins the body of a function that was declared. The definition has the results, parameters, attributes and directives of
    /// the declaration, and its linkage unless that is `.extern`; [`FunctionBuilder::param_variable`] and its siblings give the
    /// handles of parameters and results, and [`FunctionBuilder::set_interface`] replaces all of it.
    ///
    /// ```
    /// # use ptx_build::{Declaration, ModuleBuilder, at};
    /// # use ptx_isa::{PtxVersion, ScalarType as T, StateSpace, Target};
    /// # let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
    /// let param = |name| Declaration::new(StateSpace::Param, T::B32, name);
    /// let f = m.declare_func("f", None, &[param("r")], &[param("x")])?;
    /// let mut b = m.define(f)?;
    /// if let (Some(r), Some(x)) = (b.result_variable(0), b.param_variable(0)) {
    ///     let value = b.reg(T::B32);
    ///     b.ld().param().b32((value, at(x)))?;
    ///     b.st().param().b32((at(r), value))?;
    /// }
    /// b.ret().emit(())?;
    /// b.finish()?;
    /// # m.finish()?;
    /// # Ok::<(), ptx_build::BuildError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The function has a body already ([`Duplicate`](BuildErrorKind::Duplicate)), or belongs to another module or was discarded
    /// ([`Foreign`](BuildErrorKind::Foreign)).
    pub fn define(&mut self, func: Func) -> Result<FunctionBuilder<'_>, BuildError> {
        let known = self.tables.functions.get(func.index as usize);
        let known = known.filter(|_| func.owner == self.tables.owner);
        let known = known.ok_or_else(|| self.tables.past.refuse(Handle::Func(func), None))?;
        let before = known.clone();
        if known.written == DeclState::Discarded {
            return Err(discarded(&known.name));
        }
        if known.is_defined {
            let message = format!("`{}` has a body already", known.name);
            let help = "a function has one body: give the other one another name";
            return Err(BuildError::new(BuildErrorKind::Duplicate, message, help));
        }
        if let Some(f) = self.tables.functions.get_mut(func.index as usize) {
            f.interface.linkage = f.interface.linkage.filter(|l| *l != Linkage::Extern);
            f.is_defined = true;
            f.is_fixed = false;
        }
        let (kind, name) = (before.kind, before.name.clone());
        let mut builder = FunctionBuilder::new(self, func, kind, &name, Some(before));
        builder.bind_interface()?;
        Ok(builder)
    }

    /// A function was discarded: it is as it was before, and what was declared inside it does not exist any more.
    pub(crate) fn restore(&mut self, func: u32, before: Option<Function>, nested: &[u32]) {
        match before {
            Some(before) => {
                if let Some(f) = self.tables.functions.get_mut(func as usize) {
                    *f = before;
                }
            }
            None => self.tables.remove_function(func),
        }
        for function in nested.iter().filter(|f| **f != func) {
            self.tables.remove_function(*function);
        }
    }

    /// Adds the text of a finished function. What it declared inside is known from now on, as it is itself.
    pub(crate) fn add_function_text(&mut self, body: &Body, header: &str) {
        let text = body.layout();
        self.text.reserve(header.len() + text.len() + 2);
        self.text.push_str(header);
        self.text.push_str(&text);
        self.text.push_str("}\n");
        for function in &body.declared {
            if let Some(f) = self.tables.functions.get_mut(*function as usize) {
                f.written = DeclState::Declared;
            }
        }
        self.places.extend(&body.places);
        for file in &body.files {
            let entry = self.mentioned_files.entry(*file);
            entry.or_insert_with(|| body.name.clone());
        }
    }

    /// The text of the module so far.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}{}", self.tables.header, self.text)
    }

    /// The module, if it is legal as a whole.
    pub fn finish(self) -> Result<Module, BuildError> {
        let mut mentioned = self.mentioned_files.iter();
        if let Some((file, function)) = mentioned.find(|(f, _)| !self.files.contains(f)) {
            let message =
                format!("`{function}` comes from a file {file}, which the module does not have");
            let help = "`ModuleBuilder::file` adds it";
            return Err(
                BuildError::new(BuildErrorKind::Unplaced, message, help).code_is(Code::DebugInfo)
            );
        }
        let mut text = self.text;
        text.insert_str(0, &self.tables.header);
        crate::check::errors(&text, 0, text.len()).map_err(|found| {
            let found = found
                .into_iter()
                .filter(|d| d.severity == Severity::Error)
                .collect();
            BuildError::illegal(text.clone(), found)
        })
    }
}
