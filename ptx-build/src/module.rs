//! The module that is being made.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;
use core::sync::atomic::{AtomicU32, Ordering};

use ptx_ir::{EntityId, FunctionKind, Interner, Linkage, Module, Severity, Signatures};
use ptx_isa::{Directive, PtxVersion, Target};

use crate::declaration::{Declaration, linkage_text};
use crate::error::{Error, Kind};
use crate::function::FunctionBuilder;
use crate::operand::{Func, Var};
use crate::spelling;

/// A variable of the module.
#[derive(Debug)]
pub(crate) struct Global {
    pub(crate) name: String,
    /// Without its initial value.
    pub(crate) text: String,
    pub(crate) class: u32,
}

/// What a caller sees of a function.
#[derive(Clone, Default, Debug)]
pub(crate) struct Interface {
    pub(crate) returns: Vec<Declaration>,
    pub(crate) params: Vec<Declaration>,
}

#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) kind: FunctionKind,
    pub(crate) interface: Interface,
}

/// What was declared so far, and what is known of statements.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) owner: u32,
    pub(crate) header: String,
    pub(crate) globals: Vec<Global>,
    pub(crate) functions: Vec<Function>,
    pub(crate) names: BTreeSet<String>,
    /// Declarations that are alike but for their names.
    pub(crate) classes: Interner,
}

/// What is known of mnemonics and shapes of operands.
#[derive(Default, Debug)]
pub(crate) struct Known {
    pub(crate) signatures: Signatures,
    /// Of each signature, whether the values of constants decide.
    pub(crate) values: Vec<bool>,
    pub(crate) keys: Interner,
    /// Of each key, whether it is legal.
    pub(crate) legal: Vec<bool>,
}

impl Tables {
    /// The name of a variable of this module.
    pub(crate) fn global(&self, var: Var) -> Result<&str, Error> {
        let known = self.globals.get(var.index as usize);
        let known = known.filter(|_| var.owner == self.owner);
        known.map(|g| g.name.as_str()).ok_or_else(|| {
            let message = "a variable of another module, or of a function".into();
            Error::new(Kind::Foreign, message)
        })
    }

    pub(crate) fn func(&self, func: Func) -> Result<&Function, Error> {
        let known = self.functions.get(func.index as usize);
        known
            .filter(|_| func.owner == self.owner)
            .ok_or_else(|| Error::new(Kind::Foreign, "a function of another module".into()))
    }

    pub(crate) fn class(&mut self, text: &str) -> u32 {
        self.classes.intern(text.as_bytes()).0
    }

    /// The interface of a function as a declaration, for statements that mention it.
    pub(crate) fn prototype(&self, func: u32) -> String {
        let Some(f) = self.functions.get(func as usize) else {
            return String::new();
        };
        format!("{};\n", interface(f.kind, None, "", &f.name, &f.interface))
    }
}

impl Known {
    /// Whether the values of constants decide what a mnemonic takes.
    #[inline]
    pub(crate) fn signature(&mut self, text: &[u8]) -> (u32, bool) {
        let id = self.signatures.intern(text);
        let index = id.index();
        if index >= self.values.len() {
            let instruction = self.signatures.get(id).instruction();
            let forms = instruction.map_or(&[][..], |i| i.forms());
            self.values.push(forms.iter().any(|f| f.asks_for_values()));
        }
        let values = self.values.get(index).copied().unwrap_or(true);
        (index as u32, values)
    }
}

/// Parameters and results, on one line each if there are any parameters.
pub(crate) fn interface(
    kind: FunctionKind,
    linkage: Option<Linkage>,
    attributes: &str,
    name: &str,
    interface: &Interface,
) -> String {
    let mut out = String::new();
    if let Some(linkage) = linkage {
        let _ = write!(out, "{} ", linkage_text(linkage));
    }
    let _ = match kind {
        FunctionKind::Entry => write!(out, "{} ", Directive::Entry),
        FunctionKind::Func => write!(out, "{} ", Directive::Func),
    };
    out.push_str(attributes);
    if !interface.returns.is_empty() {
        let all: Vec<String> = interface.returns.iter().map(|p| p.parameter()).collect();
        let _ = write!(out, "({}) ", all.join(", "));
    }
    out.push_str(name);
    if interface.params.is_empty() {
        out.push_str("()");
    } else {
        let all: Vec<String> = interface.params.iter().map(|p| p.parameter()).collect();
        let _ = write!(out, "(\n\t{}\n)", all.join(",\n\t"));
    }
    out
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
    pub(crate) known: Known,
    version: PtxVersion,
    target: Target,
    options: Vec<String>,
    address_size: u8,
    text: String,
    /// The sizes of functions begun and not finished.
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
                classes: Interner::default(),
            },
            known: Known::default(),
            version,
            target,
            options: Vec::new(),
            address_size: 64,
            text: String::new(),
            dropped: None,
        };
        module.write_header();
        module
    }

    fn write_header(&mut self) {
        let mut target = self.target.text().to_string();
        for option in &self.options {
            target.push_str(", ");
            target.push_str(option);
        }
        self.tables.header = format!(
            "{} {}\n{} {target}\n{} {}\n",
            Directive::Version,
            self.version,
            Directive::Target,
            Directive::AddressSize,
            self.address_size
        );
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
        self.address_size = bits;
        self.write_header();
    }

    /// Adds a word behind the target: `debug`, `texmode_independent`. Manual 11.1.2.
    pub fn target_option(&mut self, option: &str) -> Result<(), Error> {
        spelling::name(option)?;
        self.options.push(option.to_string());
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
        let path = spelling::string(path)?;
        self.item(&format!("{} {index} {path}", Directive::File))
    }

    /// `.pragma "…";`
    pub fn pragma(&mut self, text: &str) -> Result<(), Error> {
        let text = spelling::string(text)?;
        self.item(&format!("{} {text};", Directive::Pragma))
    }

    /// `.alias name, of;`: another name of a function that was declared before under both names.
    pub fn alias(&mut self, alias: Func, of: Func) -> Result<(), Error> {
        let (alias, of) = (&self.tables.func(alias)?.name, &self.tables.func(of)?.name);
        let text = format!("{} {alias}, {of};\n", Directive::Alias);
        // It is held against the functions when the module is whole.
        self.text.push_str(&text);
        Ok(())
    }

    /// Adds text as an item of the module, a debug section say, if it is legal alone.
    pub fn item(&mut self, text: &str) -> Result<(), Error> {
        let head = self.tables.header.len();
        self.verify(&format!("{}{text}\n", self.tables.header), head, text)?;
        self.text.push_str(text.trim_end());
        self.text.push('\n');
        Ok(())
    }

    /// Refuses an item that is not legal behind the header.
    fn verify(&self, whole: &str, start: usize, text: &str) -> Result<(), Error> {
        crate::judge::errors(whole, start, start + text.len())
            .map(|_| ())
            .map_err(|found| Error::illegal(text.to_string(), found))
    }

    fn claim(&mut self, name: &str) -> Result<(), Error> {
        spelling::name(name)?;
        if !self.tables.names.insert(name.to_string()) {
            let message = format!("the module has a `{name}` already");
            return Err(Error::new(Kind::Duplicate, message));
        }
        Ok(())
    }

    /// Declares a variable of the module.
    pub fn declare(&mut self, declaration: Declaration) -> Result<Var, Error> {
        let text = declaration.statement(&self.tables)?;
        self.claim(&declaration.name)?;
        let mut whole = self.tables.header.clone();
        // What its initial value mentions.
        if text.contains('=') {
            for global in &self.tables.globals {
                if text.contains(global.name.as_str()) {
                    whole.push_str(&global.text);
                    whole.push('\n');
                }
            }
            for (id, function) in (0u32..).zip(&self.tables.functions) {
                if text.contains(function.name.as_str()) {
                    whole.push_str(&self.tables.prototype(id));
                }
            }
        }
        let start = whole.len();
        whole.push_str(&text);
        if let Err(error) = self.verify(&whole, start, &text) {
            self.tables.names.remove(&declaration.name);
            return Err(error);
        }
        self.text.push_str(&text);
        self.text.push('\n');
        let class = self.tables.class(&declaration.nameless());
        let index = self.tables.globals.len() as u32;
        let text = declaration.bare();
        self.tables.globals.push(Global {
            name: declaration.name,
            text,
            class,
        });
        Ok(Var {
            owner: self.tables.owner,
            index,
        })
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
        });
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
            returns: returns.to_vec(),
            params: params.to_vec(),
        };
        let text = format!("{};", interface(FunctionKind::Func, linkage, "", name, &of));
        let whole = format!("{}{text}\n", self.tables.header);
        spelling::name(name)?;
        self.verify(&whole, self.tables.header.len(), &text)?;
        let func = self.add_function(name, FunctionKind::Func, of)?;
        self.text.push_str(&text);
        self.text.push('\n');
        Ok(func)
    }

    /// Begins the body of a function that was declared; its parameters and results have to be added again.
    pub fn define(&mut self, func: Func) -> Result<FunctionBuilder<'_>, Error> {
        let known = self.tables.func(func)?;
        let (kind, name) = (known.kind, known.name.clone());
        if let Some(f) = self.tables.functions.get_mut(func.index as usize) {
            f.interface = Interface::default();
        }
        Ok(FunctionBuilder::new(self, func, kind, &name))
    }

    pub(crate) fn add_text(&mut self, text: &str) {
        self.text.push_str(text);
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
        let mut text = self.tables.header;
        text.push_str(&self.text);
        crate::judge::errors(&text, 0, text.len()).map_err(|found| {
            let found = found
                .into_iter()
                .filter(|d| d.severity == Severity::Error)
                .collect();
            Error::illegal(text.clone(), found)
        })
    }
}
