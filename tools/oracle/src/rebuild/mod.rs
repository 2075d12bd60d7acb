//! Rebuilds a module by calls of `ptx-build`, with nothing but its public interface.

mod body;
mod value;

use std::collections::BTreeMap;
use std::str::FromStr;

use ptx_ir::{
    Attribute, DeclId, Declarations, DirectiveStmt, FuncId, Function, Item, Module, NameId,
    Operand, OperandPool, OperandRange, Param, Section, SectionEntry, SymbolId, TypeName, VarDecl,
};
use ptx_isa::{Directive, ScalarType, Target, TargetOption};

pub(crate) use value::operand_expr;

use ptx_build::{
    BuildError, Datum, DatumValue, Declaration, Func, FunctionHeader, ModuleBuilder, Number,
    Variable,
};

/// The reason why a module cannot be rebuilt.
#[derive(Debug)]
pub(crate) enum RebuildError {
    /// The parser did not recognize a part of it.
    Unknown(String),
    /// The builder refuses a part of it.
    Refused(BuildError),
}

impl From<BuildError> for RebuildError {
    fn from(error: BuildError) -> Self {
        Self::Refused(error)
    }
}

impl std::fmt::Display for RebuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown(part) => write!(f, "{part} was not recognized"),
            Self::Refused(error) => error.fmt(f),
        }
    }
}

/// Rebuilds a module statement by statement. The result has the same structure: comments, white space, and the spelling of
/// numbers in `.file` and of an inlined `.loc` are not kept.
pub(crate) fn rebuild(module: &Module) -> Result<Module, RebuildError> {
    let header = module.header();
    let (Some(version), Some(target)) = (header.version, first_target(module)) else {
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
    Ok(builder.finish()?)
}

/// The first target of the header, which the builder begins with.
fn first_target(module: &Module) -> Option<Target> {
    module
        .directives()
        .values()
        .filter(|d| d.directive == Directive::Target)
        .flat_map(|d| module.pool().slice(d.args))
        .find_map(|o| match o {
            Operand::Name(name) => Target::from_text(module.name_bytes(*name)),
            _ => None,
        })
}

/// The error for a part of the module that the parser did not recognize.
pub(crate) fn unknown(part: &str) -> RebuildError {
    RebuildError::Unknown(part.to_owned())
}

/// A module that is being rebuilt: the variables and functions that are declared so far.
struct Replay<'r> {
    module: &'r Module,
    variables: BTreeMap<String, Variable>,
    functions: BTreeMap<String, Func>,
    /// Whether a `.target` directive was rebuilt.
    has_target: bool,
}

fn keyword<T: FromStr>(text: &str) -> Result<T, RebuildError> {
    text.parse()
        .map_err(|_| unknown("a word of the `.target` directive"))
}

fn scalar_type(ty: TypeName) -> Result<ScalarType, RebuildError> {
    ty.known().ok_or_else(|| unknown("a type"))
}

impl<'r> Replay<'r> {
    fn name(&self, name: NameId) -> &'r str {
        self.module.name(name)
    }

    /// A constant, as it is spelled.
    fn number(&self, pool: &OperandPool, operand: Operand) -> Result<Number, RebuildError> {
        match operand {
            Operand::Small(n) => Ok(n.into()),
            Operand::Imm(id) => Ok(pool.immediate(id).map_or("", |i| self.name(i.text)).into()),
            _ => Err(unknown("a number")),
        }
    }

    fn integer(&self, pool: &OperandPool, operand: Operand) -> Result<u32, RebuildError> {
        self.number(pool, operand)?
            .value()
            .and_then(|v| u32::try_from(v).ok())
            .ok_or_else(|| unknown("a number"))
    }

    fn string(&self, operand: Operand) -> Result<&'r str, RebuildError> {
        let text = match operand {
            Operand::Str(id) => self.name(id),
            _ => "",
        };
        text.strip_prefix('"')
            .and_then(|t| t.strip_suffix('"'))
            .ok_or_else(|| unknown("a string"))
    }

    fn strings(&self, operands: &[Operand]) -> Result<Vec<&'r str>, RebuildError> {
        operands.iter().map(|o| self.string(*o)).collect()
    }

    fn item(&mut self, m: &mut ModuleBuilder, item: Item) -> Result<(), RebuildError> {
        let module = self.module;
        match item {
            Item::Directive(id) => match module.directives().get(id) {
                Some(stmt) => self.directive(m, *stmt),
                None => Ok(()),
            },
            Item::Decl(id) => {
                let declaration =
                    self.declaration(module.declarations(), module.pool(), id, &|_| {
                        Err(unknown("a name"))
                    })?;
                let variables = m.declare_all(declaration)?;
                let declarators = module.declarations().declarators(id);
                let names = self.members(module.pool(), declarators)?;
                self.variables.extend(names.into_iter().zip(variables));
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

    fn directive(
        &mut self,
        m: &mut ModuleBuilder,
        stmt: DirectiveStmt,
    ) -> Result<(), RebuildError> {
        let pool = self.module.pool();
        let args = pool.slice(stmt.args);
        match (stmt.directive, args) {
            (Directive::Version | Directive::AddressSize, _) => Ok(()),
            (Directive::Target, [first, options @ ..]) => {
                let had_target = core::mem::replace(&mut self.has_target, true);
                let word = |o: &Operand| match o {
                    Operand::Name(name) => Ok(self.name(*name)),
                    _ => Err(unknown("an option of the target")),
                };
                if had_target {
                    let target: Target = keyword(word(first)?)?;
                    let options: Vec<TargetOption> = options
                        .iter()
                        .map(|o| keyword(word(o)?))
                        .collect::<Result<_, RebuildError>>()?;
                    m.another_target(target, &options);
                    return Ok(());
                }
                if word(first)?.starts_with("compute_") {
                    m.write_virtual_target();
                }
                for option in options {
                    m.target_option(keyword(word(option)?)?);
                }
                Ok(())
            }
            (Directive::File, [index, path, attributes @ ..]) => {
                let attributes: Vec<u64> = attributes
                    .iter()
                    .map(|o| {
                        let value = self.number(pool, *o)?.value();
                        value.ok_or_else(|| unknown("a number"))
                    })
                    .collect::<Result<_, RebuildError>>()?;
                let (index, path) = (self.integer(pool, *index)?, self.string(*path)?);
                Ok(m.file_with(index, path, &attributes)?)
            }
            (Directive::Pragma, texts) => Ok(m.pragmas(&self.strings(texts)?)?),
            (Directive::Alias, [alias, aliasee]) => {
                Ok(m.alias(self.func(*alias)?, self.func(*aliasee)?)?)
            }
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

    fn func(&self, operand: Operand) -> Result<Func, RebuildError> {
        let Operand::Symbol(id) = operand else {
            return Err(unknown("a function"));
        };
        let func = self.functions.get(&self.symbol(id));
        func.copied().ok_or_else(|| unknown("a function"))
    }

    // --- declarations ---

    /// The names that declarators declare.
    fn members(
        &self,
        pool: &OperandPool,
        declarators: &[ptx_ir::Declarator],
    ) -> Result<Vec<String>, RebuildError> {
        let mut names = Vec::new();
        for d in declarators {
            let name = self.name(d.name);
            match d.count {
                Operand::Absent => names.push(name.to_string()),
                count => {
                    let count = self.integer(pool, count)?;
                    names.extend((0..count).map(|n| format!("{name}{n}")));
                }
            }
        }
        Ok(names)
    }

    /// Converts a declaration; `local` converts the names of the function.
    fn declaration(
        &self,
        tables: &Declarations,
        pool: &OperandPool,
        id: DeclId,
        local: &value::Local<'_>,
    ) -> Result<Declaration, RebuildError> {
        let Some(decl) = tables.decls.get(id) else {
            return Err(unknown("a declaration"));
        };
        let VarDecl { space, vector, .. } = *decl;
        if decl.bank != Operand::Absent {
            return Err(unknown("a bank of `.const`"));
        }
        let declarators = tables.declarators(id);
        let ty = scalar_type(decl.ty)?;
        let mut declaration = match declarators.first() {
            Some(first) => Declaration::new(space, ty, self.name(first.name)),
            None => Declaration::nothing(space, ty),
        };
        declaration = declaration.vector(vector);
        if let Some(linkage) = decl.linkage {
            declaration = declaration.linkage(linkage);
        }
        for attribute in decl.attributes.of(&tables.attributes) {
            declaration = declaration.attribute(self.attribute(*attribute)?);
        }
        if decl.align != Operand::Absent {
            declaration = declaration.align(self.number(pool, decl.align)?);
        }
        for (i, d) in declarators.iter().enumerate() {
            if i > 0 {
                declaration = declaration.and(self.name(d.name));
            }
            if d.count != Operand::Absent {
                declaration = declaration.range(self.number(pool, d.count)?);
            }
            declaration = self.with_dimensions(declaration, pool, d.dims)?;
            if d.init != Operand::Absent {
                declaration = declaration.init(self.init(pool, d.init, local, 0)?);
            }
        }
        Ok(declaration)
    }

    fn attribute(
        &self,
        attribute: Attribute,
    ) -> Result<ptx_build::DeclarationAttribute, RebuildError> {
        let pool = self.module.pool();
        match attribute {
            Attribute::Managed => Ok(ptx_build::DeclarationAttribute::Managed),
            Attribute::Unified(first, second) => {
                let (first, second) = (self.number(pool, first)?, self.number(pool, second)?);
                Ok(ptx_build::DeclarationAttribute::Unified(first, second))
            }
            _ => Err(unknown("an attribute")),
        }
    }

    fn param(&self, param: &Param) -> Result<Declaration, RebuildError> {
        let pool = self.module.pool();
        let name = param.name.map_or("_", |n| self.name(n));
        let mut declaration =
            Declaration::new(param.space, scalar_type(param.ty)?, name).vector(param.vector);
        if param.align != Operand::Absent {
            declaration = declaration.align(self.number(pool, param.align)?);
        }
        if let Some(pointer) = param.ptr {
            declaration = match pointer.opaque {
                Some(ty) => declaration.pointer_to(ty, None),
                None => declaration.pointer(pointer.space, None),
            };
            if pointer.align != Operand::Absent {
                declaration = declaration.pointer_align(self.number(pool, pointer.align)?);
            }
        }
        if param.hidden {
            declaration = declaration.hidden();
        }
        if param.trailing_align != Operand::Absent {
            declaration = declaration.trailing_align(self.number(pool, param.trailing_align)?);
        }
        self.with_dimensions(declaration, pool, param.dims)
    }

    fn with_dimensions(
        &self,
        mut declaration: Declaration,
        pool: &OperandPool,
        dims: OperandRange,
    ) -> Result<Declaration, RebuildError> {
        for dim in pool.slice(dims) {
            declaration = match dim {
                Operand::Absent => declaration.unsized_array(),
                dim => declaration.dimension(self.number(pool, *dim)?),
            };
        }
        Ok(declaration)
    }

    fn interface(&self, interface: &ptx_ir::Interface) -> Result<FunctionHeader, RebuildError> {
        let pool = self.module.pool();
        let mut header = FunctionHeader::new();
        for param in interface.returns.of(self.module.params()) {
            header = header.result(self.param(param)?);
        }
        for param in interface.params.of(self.module.params()) {
            header = header.param(self.param(param)?);
        }
        if interface.has_returns {
            header = header.with_empty_results();
        }
        if !interface.has_params {
            header = header.without_parameter_list();
        }
        for stmt in interface.directives.of(self.module.interface_directives()) {
            let args = pool.slice(stmt.args);
            if stmt.directive == Directive::Pragma {
                header = header.pragma(&self.strings(args)?);
            } else {
                let numbers: Vec<Number> = args
                    .iter()
                    .map(|n| self.number(pool, *n))
                    .collect::<Result<_, RebuildError>>()?;
                header = header.directive(stmt.directive, &numbers);
            }
        }
        Ok(header)
    }

    // --- functions ---

    /// The header of a function.
    fn header(&self, function: &Function) -> Result<FunctionHeader, RebuildError> {
        if function.raw_header {
            return Err(unknown("the header of a function"));
        }
        let mut interface = self.interface(&function.interface)?;
        if let Some(linkage) = function.linkage {
            interface = interface.linkage(linkage);
        }
        for attribute in function
            .attributes
            .of(self.module.declarations().attributes())
        {
            interface = interface.attribute(self.attribute(*attribute)?);
        }
        Ok(interface)
    }

    fn function(&mut self, m: &mut ModuleBuilder, id: FuncId) -> Result<(), RebuildError> {
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
        body::FunctionReplay::new(self, body).statements(&mut k)?;
        k.finish()?;
        Ok(())
    }

    // --- debug sections ---

    fn section(&self, m: &mut ModuleBuilder, section: &Section) -> Result<(), RebuildError> {
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
                _ => return Err(unknown("a datum")),
            };
            match data.last_mut() {
                Some(Datum::Data(_, values)) if !first => values.push(value),
                _ => data.push(Datum::Data(ty, vec![value])),
            }
        }
        Ok(m.section(self.name(section.name), &data)?)
    }

    fn datum(&self, operand: Operand) -> Result<DatumValue, RebuildError> {
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
            Operand::Difference(id) => {
                let (a, b) = pool.pair(id);
                DatumValue::Difference(name(a)?, name(b)?)
            }
            _ => DatumValue::Name(name(operand)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use ptx_build::BuildErrorKind;
    use ptx_ir::compare::compare;

    use super::{RebuildError, rebuild};

    #[track_caller]
    fn same(text: &str) {
        let parsed = ptx_parse::parse_str(text);
        assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
        let rebuilt = rebuild(&parsed.module).unwrap();
        if let Err(difference) = compare(&parsed.module, &rebuilt) {
            let text = difference.right.of(rebuilt.source());
            panic!("{difference}: {}", String::from_utf8_lossy(text));
        }
    }

    const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

    #[test]
    fn rare_declarations() {
        same(
            ".version 4.0\n.target sm_35, texmode_unified\n.target sm_30, texmode_unified\n.entry k() { ret; }\n",
        );
        same(&format!(
            "{HEAD}.global .b32 ;\n.shared .align 8 .v2 .f32 ;\n.entry k() {{ .reg .pred ; .local .b8 ; ret; }}\n"
        ));
        same(&format!(
            "{HEAD}.entry k(.param .b8 .align 16 a[16], .param .align 8 .b8 .align 16 b[4]) {{ ret; }}\n"
        ));
    }

    #[test]
    fn rare_statements() {
        same(&format!(
            "{HEAD}.file 1 \"a.cu\"\n.entry k() {{ .loc 1 007 0x3\n .loc 1 7 3\n ret; }}\n"
        ));
        same(&format!(
            "{HEAD}.func other();\n.func f() {{ ret; }}\n.entry k() {{ .alias other, f; call other; ret; }}\n"
        ));
        same(&format!(
            "{HEAD}.entry k() {{ .reg .b32 i; t: .branchtargets c<2>, end, c1; brx.idx i, t;\nc0: c1: trap; end: ret; }}\n"
        ));
    }

    #[test]
    fn a_name_with_two_meanings_is_a_mistake() {
        let text = format!("{HEAD}.entry k() {{ .local .b32 l0; .local .b64 l<2>; ret; }}\n");
        let read = ptx_parse::parse_str(&text);
        assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
        let error = rebuild(&read.module).unwrap_err();
        assert!(matches!(error, RebuildError::Refused(e) if e.kind() == BuildErrorKind::Duplicate));
    }
}
