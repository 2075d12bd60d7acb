//! A module that is there, as calls of the builder. Nothing here reaches behind the public interface.

mod body;
mod value;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_ir::{
    Attribute, DeclId, Declarations, DirectiveStmt, FuncId, Function, Item, Module, NameId,
    Operand, OperandPool, Param, Section, SectionEntry, SymbolId, TypeName, VarDecl,
};
use ptx_isa::{Directive, ScalarType};

use crate::{
    BuildError, BuildErrorKind, Datum, DatumValue, Declaration, Func, FunctionHeader,
    ModuleBuilder, Number, Variable,
};

/// Makes a module anew, statement by statement: what [`ModuleBuilder::finish`] makes of it has the same structure. It can be added
/// to before that, so this is also how to go on with a module that was read.
///
/// What is not kept: comments and white space, and the spelling of numbers in `.file` and of an inlined `.loc`. An error of the kind
/// [`BuildErrorKind::Unknown`] is what the reader did not understand, and banks of `.const`; one of the kind [`BuildErrorKind::Duplicate`] is a name
/// that means two things in one scope, which the assembler takes where one of them is a member of a range.
///
/// ```
/// let read = ptx_parse::parse_str(".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n\tret;\n}\n").module;
/// let mut m = ptx_build::rebuild(&read)?;
/// let mut k = m.kernel("another")?;
/// k.ret().emit(())?;
/// k.finish()?;
/// assert_eq!(m.finish()?.definitions().count(), 2);
/// # Ok::<(), ptx_build::BuildError>(())
/// ```
pub fn rebuild(module: &Module) -> Result<ModuleBuilder, BuildError> {
    let header = module.header();
    let (Some(version), Some(target)) = (header.version, header.target) else {
        return Err(unknown("the version or the target"));
    };
    let mut builder = ModuleBuilder::new(version, target);
    match header.address_size {
        Some(bits) => builder.set_address_size(bits),
        None => builder.without_address_size(),
    }
    let mut replay = Replay {
        module,
        variables: BTreeMap::new(),
        functions: BTreeMap::new(),
        has_target: false,
    };
    for (_, item) in module.items() {
        replay.item(&mut builder, item)?;
    }
    Ok(builder)
}

/// What is there and cannot be made.
pub(crate) fn unknown(what: &str) -> BuildError {
    BuildError::new(
        BuildErrorKind::Unknown,
        format!("{what} was not understood"),
        "mend what parsing and checking the module find wrong, and replay it then",
    )
}

/// The names of the module so far.
struct Replay<'r> {
    module: &'r Module,
    variables: BTreeMap<String, Variable>,
    functions: BTreeMap<String, Func>,
    /// Whether a `.target` came already.
    has_target: bool,
}

fn known(ty: TypeName) -> Result<ScalarType, BuildError> {
    ty.known().ok_or_else(|| unknown("a type"))
}

impl<'r> Replay<'r> {
    fn name(&self, name: NameId) -> &'r str {
        self.module.name(name)
    }

    /// A constant, as it is spelled.
    fn number(&self, pool: &OperandPool, operand: Operand) -> Result<Number, BuildError> {
        match operand {
            Operand::Small(n) => Ok(n.into()),
            Operand::Imm(id) => {
                let text = pool.immediate(id).map_or("", |i| self.name(i.text));
                Ok(text.into())
            }
            _ => Err(unknown("a number")),
        }
    }

    fn integer(&self, pool: &OperandPool, operand: Operand) -> Result<u32, BuildError> {
        let value = self.number(pool, operand)?.value();
        value
            .and_then(|v| u32::try_from(v).ok())
            .ok_or_else(|| unknown("a number"))
    }

    fn string(&self, operand: Operand) -> Result<&'r str, BuildError> {
        let text = match operand {
            Operand::Str(id) => self.name(id),
            _ => "",
        };
        let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
        inner.ok_or_else(|| unknown("a string"))
    }

    fn item(&mut self, m: &mut ModuleBuilder, item: Item) -> Result<(), BuildError> {
        let module = self.module;
        match item {
            Item::Directive(id) => match module.directives().get(id) {
                Some(stmt) => self.directive(m, *stmt),
                None => Ok(()),
            },
            Item::Decl(id) => {
                let none = |_: Operand| Err(unknown("a name"));
                let declaration =
                    self.declaration(module.declarations(), module.pool(), id, &none)?;
                let handles = m.declare_all(declaration)?;
                let declarators = module.declarations().declarators(id);
                for (name, var) in self
                    .members(module.pool(), declarators)?
                    .into_iter()
                    .zip(handles)
                {
                    self.variables.insert(name, var);
                }
                Ok(())
            }
            Item::Function(id) => self.function(m, id),
            Item::Section(id) => match module.sections().get(id) {
                Some(section) => self.section(m, section),
                None => Ok(()),
            },
            _ => Err(unknown("an item of the module")),
        }
    }

    fn directive(&mut self, m: &mut ModuleBuilder, stmt: DirectiveStmt) -> Result<(), BuildError> {
        let pool = self.module.pool();
        let args = pool.slice(stmt.args);
        match (stmt.directive, args) {
            (Directive::Version | Directive::AddressSize, _) => Ok(()),
            (Directive::Target, [first, options @ ..]) => {
                let again = core::mem::replace(&mut self.has_target, true);
                let word = |o: &Operand| match o {
                    Operand::Name(name) => Ok(self.name(*name)),
                    _ => Err(unknown("an option of the target")),
                };
                if again {
                    let words: Vec<&str> =
                        args.iter().map(word).collect::<Result<_, BuildError>>()?;
                    return m.another_target(&words);
                }
                if word(first)?.starts_with("compute_") {
                    m.write_virtual_target();
                }
                options.iter().try_for_each(|o| m.target_option(word(o)?))
            }
            (Directive::File, [index, path, more @ ..]) => {
                let more = more.iter().map(|o| {
                    let value = self.number(pool, *o)?.value();
                    value.ok_or_else(|| unknown("a number"))
                });
                let more: Vec<u64> = more.collect::<Result<_, BuildError>>()?;
                m.file_with(self.integer(pool, *index)?, self.string(*path)?, &more)
            }
            (Directive::Pragma, texts) => {
                let texts = texts.iter().map(|t| self.string(*t));
                m.pragmas(&texts.collect::<Result<Vec<&str>, BuildError>>()?)
            }
            (Directive::Alias, [alias, of]) => m.alias(self.func(*alias)?, self.func(*of)?),
            _ => Err(unknown("a directive of the module")),
        }
    }

    fn symbol(&self, id: SymbolId) -> String {
        let symbol = self.module.symbols().get(id);
        symbol.map_or(String::new(), |s| match s.number {
            Some(n) => format!("{}{n}", self.name(s.name)),
            None => self.name(s.name).to_string(),
        })
    }

    fn func(&self, operand: Operand) -> Result<Func, BuildError> {
        let Operand::Symbol(id) = operand else {
            return Err(unknown("a function"));
        };
        let func = self.functions.get(&self.symbol(id));
        func.copied().ok_or_else(|| unknown("a function"))
    }

    // --- declarations ---

    /// All names that declarators declare.
    fn members(
        &self,
        pool: &OperandPool,
        declarators: &[ptx_ir::Declarator],
    ) -> Result<Vec<String>, BuildError> {
        let mut all = Vec::new();
        for d in declarators {
            let name = self.name(d.name);
            match d.count {
                Operand::Absent => all.push(name.to_string()),
                count => {
                    let count = self.integer(pool, count)?;
                    all.extend((0..count).map(|n| format!("{name}{n}")));
                }
            }
        }
        Ok(all)
    }

    /// A declaration; `local` says what names of a function are.
    fn declaration(
        &self,
        tables: &Declarations,
        pool: &OperandPool,
        id: DeclId,
        local: &value::Local<'_>,
    ) -> Result<Declaration, BuildError> {
        let Some(decl) = tables.decls.get(id) else {
            return Err(unknown("a declaration"));
        };
        let VarDecl { space, vector, .. } = *decl;
        if decl.bank != Operand::Absent {
            return Err(unknown("a bank of `.const`"));
        }
        let declarators = tables.declarators(id);
        let ty = known(decl.ty)?;
        let mut made = match declarators.first() {
            Some(first) => Declaration::new(space, ty, self.name(first.name)),
            None => Declaration::nothing(space, ty),
        };
        made = made.vector(vector);
        if let Some(linkage) = decl.linkage {
            made = made.linkage(linkage);
        }
        for attribute in decl.attributes.of(&tables.attributes) {
            made = made.attribute(&self.attribute(*attribute)?);
        }
        if decl.align != Operand::Absent {
            made = made.align(self.number(pool, decl.align)?);
        }
        for (i, d) in declarators.iter().enumerate() {
            if i > 0 {
                made = made.and(self.name(d.name));
            }
            if d.count != Operand::Absent {
                made = made.range(self.number(pool, d.count)?);
            }
            for dim in pool.slice(d.dims) {
                made = match dim {
                    Operand::Absent => made.unsized_array(),
                    dim => made.dimension(self.number(pool, *dim)?),
                };
            }
            if d.init != Operand::Absent {
                made = made.init(self.init(pool, d.init, local, 0)?);
            }
        }
        Ok(made)
    }

    fn attribute(&self, attribute: Attribute) -> Result<String, BuildError> {
        let pool = self.module.pool();
        match attribute {
            Attribute::Managed => Ok(".managed".into()),
            Attribute::Unified(a, b) => {
                let (a, b) = (self.number(pool, a)?, self.number(pool, b)?);
                Ok(format!(".unified({}, {})", a.text()?, b.text()?))
            }
            Attribute::Unknown(_) => Err(unknown("an attribute")),
        }
    }

    fn param(&self, param: &Param) -> Result<Declaration, BuildError> {
        let pool = self.module.pool();
        let name = param.name.map_or("_", |n| self.name(n));
        let mut made = Declaration::new(param.space, known(param.ty)?, name).vector(param.vector);
        if param.align != Operand::Absent {
            made = made.align(self.number(pool, param.align)?);
        }
        if let Some(pointer) = param.ptr {
            made = match pointer.opaque {
                Some(ty) => made.pointer_to(ty, None),
                None => made.pointer(pointer.space, None),
            };
            if pointer.align != Operand::Absent {
                made = made.pointer_align(self.number(pool, pointer.align)?);
            }
        }
        if param.trailing_align != Operand::Absent {
            made = made.trailing_align(self.number(pool, param.trailing_align)?);
        }
        for dim in pool.slice(param.dims) {
            made = match dim {
                Operand::Absent => made.unsized_array(),
                dim => made.dimension(self.number(pool, *dim)?),
            };
        }
        Ok(made)
    }

    fn interface(&self, of: &ptx_ir::Interface) -> Result<FunctionHeader, BuildError> {
        let mut made = FunctionHeader::new();
        for param in of.returns.of(self.module.params()) {
            made = made.result(self.param(param)?);
        }
        for param in of.params.of(self.module.params()) {
            made = made.param(self.param(param)?);
        }
        if of.has_returns {
            made = made.with_empty_results();
        }
        if !of.has_params {
            made = made.without_parameter_list();
        }
        for stmt in of.directives.of(self.module.interface_directives()) {
            let args = self.module.pool().slice(stmt.args).iter();
            if stmt.directive == Directive::Pragma {
                let texts = args.map(|t| self.string(*t));
                made = made.pragma(&texts.collect::<Result<Vec<&str>, BuildError>>()?);
            } else {
                let numbers = args.map(|n| self.number(self.module.pool(), *n));
                let numbers: Vec<Number> = numbers.collect::<Result<_, BuildError>>()?;
                made = made.directive(stmt.directive, &numbers);
            }
        }
        Ok(made)
    }

    // --- functions ---

    /// What is said of a function before its body.
    fn header(&self, function: &Function) -> Result<FunctionHeader, BuildError> {
        if function.raw_header {
            return Err(unknown("what is said of a function"));
        }
        let mut interface = self.interface(&function.interface)?;
        if let Some(linkage) = function.linkage {
            interface = interface.linkage(linkage);
        }
        for attribute in function
            .attributes
            .of(&self.module.declarations().attributes)
        {
            interface = interface.attribute(&self.attribute(*attribute)?);
        }
        Ok(interface)
    }

    fn function(&mut self, m: &mut ModuleBuilder, id: FuncId) -> Result<(), BuildError> {
        let Some(function) = self.module.functions().get(id) else {
            return Ok(());
        };
        let interface = self.header(function)?;
        let name = self.name(function.name);
        let Some(body) = self.module.body(id) else {
            let func = m.declare_function(function.kind, name, interface)?;
            self.functions.insert(name.to_string(), func);
            return Ok(());
        };
        let mut k = match (self.functions.get(name), function.kind) {
            (Some(func), _) => m.define(*func)?,
            (None, ptx_ir::FunctionKind::Entry) => m.kernel(name)?,
            (None, ptx_ir::FunctionKind::Func) => m.func(name)?,
        };
        self.functions.insert(name.to_string(), k.handle());
        k.set_interface(interface)?;
        body::Replayed::new(self, body).statements(&mut k)?;
        k.finish().map(|_| ())
    }

    // --- debug sections ---

    fn section(&self, m: &mut ModuleBuilder, section: &Section) -> Result<(), BuildError> {
        let mut data: Vec<Datum> = Vec::new();
        for entry in &section.entries {
            let (ty, first, value) = match *entry {
                SectionEntry::Label(label) => {
                    data.push(Datum::Label(self.name(label).to_string()));
                    continue;
                }
                SectionEntry::Int { ty, first, value } => (ty, first, value.into()),
                SectionEntry::Other { ty, first, value } => {
                    (ty, first, self.datum(self.module.pool().get(value))?)
                }
            };
            match data.last_mut() {
                Some(Datum::Data(_, values)) if !first => values.push(value),
                _ => data.push(Datum::Data(ty, alloc::vec![value])),
            }
        }
        m.section(self.name(section.name), &data)
    }

    fn datum(&self, operand: Operand) -> Result<DatumValue, BuildError> {
        let pool = self.module.pool();
        let name = |o| match o {
            Operand::Name(n) | Operand::Section(n) => Ok(self.name(n).to_string()),
            Operand::Symbol(id) => Ok(self.symbol(id)),
            _ => Err(unknown("a datum")),
        };
        Ok(match operand {
            Operand::Small(_) | Operand::Imm(_) => DatumValue::Number(self.number(pool, operand)?),
            Operand::Address(id) => match pool.address(id) {
                Some(a) => DatumValue::Plus(name(a.base)?, self.number(pool, a.offset)?),
                None => return Err(unknown("a datum")),
            },
            Operand::Difference(at) => {
                let (a, b) = pool.pair(at);
                DatumValue::Difference(name(a)?, name(b)?)
            }
            other => DatumValue::Name(name(other)?),
        })
    }
}
