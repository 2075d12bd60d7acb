//! Statements that are built with the words of the builder and inserted into a function that exists.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

use hashbrown::HashSet;
use ptx_edit::Editor;
use ptx_ir::{
    Body, DeclId, Declarator, EntityId as _, FuncId, Interface, LabelId, Module, Operand,
    OperandPool, Param, RegDeclId, RegId, Statement, StmtId, SymbolKind, VarDecl,
};
use ptx_isa::{PtxVersion, StateSpace, Target, TargetOption};

use crate::declaration::Declaration;
use crate::error::{BuildError, BuildErrorKind};
use crate::function::FunctionBuilder;
use crate::handle::{CodeLabel, Func, Reg, RegRange, Variable};
use crate::interface::FunctionHeader;
use crate::module::ModuleBuilder;

/// Inserts statements into a function that exists, built with the words of [`FunctionBuilder`]. Implemented for [`Editor`].
pub trait InsertStatements {
    /// Builds statements and inserts them before another one. Returns the new statements.
    ///
    /// Each statement is checked for the version and the target of the module when it is added. Names of new registers and labels
    /// differ from those of the function. The cost is linear in the declarations of the function, and that of copying the tables
    /// of the body.
    ///
    /// ```
    /// use ptx_build::InsertStatements as _;
    /// use ptx_edit::EditModule as _;
    /// use ptx_isa::ScalarType as T;
    /// let text = ".version 8.0\n.target sm_80\n.address_size 64\n.func f(.param .b32 x);\n.entry k()\n{\n\
    ///     .reg .b32 %r<2>;\n\tmov.b32 %r1, %tid.x;\n\tret;\n}\n";
    /// let mut module = ptx_parse::parse_str(text).into_result()?;
    /// let (kernel, callee) = (module.function("k").ok_or("a kernel")?, module.function("f").ok_or("a function")?);
    /// let mut editor = module.edit(kernel)?;
    /// let (register, _) = editor.body().registers().iter().next().ok_or("a register")?;
    /// let (ret, _) = editor.body().statements().last().ok_or("a statement")?;
    /// editor.build_before(ret, |code| {
    ///     let (old, new) = (code.register(register)?, code.reg(T::B32));
    ///     code.add().s32((new, old, 1))?;
    ///     let callee = code.function(callee)?;
    ///     code.call_function(callee, &[], &[new.into()])
    /// })?;
    /// let text = ptx_print::display(&module).to_string();
    /// assert!(text.contains("\tadd.s32 %r_1, %r1, 1;\n"), "{text}");
    /// assert!(text.contains("call f, (param0);\n"), "{text}");
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The closure returns an error, a label is used and not placed, a name of the function denotes something else at the place of insertion, or the
    /// statement does not exist. Nothing has changed then.
    fn build_before(
        &mut self,
        statement: StmtId,
        build: impl FnOnce(&mut Insertion<'_, '_>) -> Result<(), BuildError>,
    ) -> Result<Vec<StmtId>, BuildError>;

    /// Builds statements and inserts them after another one: see [`build_before`](Self::build_before).
    ///
    /// # Errors
    ///
    /// As [`build_before`](Self::build_before).
    fn build_after(
        &mut self,
        statement: StmtId,
        build: impl FnOnce(&mut Insertion<'_, '_>) -> Result<(), BuildError>,
    ) -> Result<Vec<StmtId>, BuildError>;

    /// Builds statements and replaces an instruction, with its guard, by them.
    ///
    /// # Errors
    ///
    /// As [`build_before`](Self::build_before); also for a statement that is not an instruction.
    fn build_instead(
        &mut self,
        statement: StmtId,
        build: impl FnOnce(&mut Insertion<'_, '_>) -> Result<(), BuildError>,
    ) -> Result<Vec<StmtId>, BuildError>;
}

impl InsertStatements for Editor<'_> {
    fn build_before(
        &mut self,
        statement: StmtId,
        build: impl FnOnce(&mut Insertion<'_, '_>) -> Result<(), BuildError>,
    ) -> Result<Vec<StmtId>, BuildError> {
        let built = Built::new(self, build)?;
        let predecessor = self.body().before(statement);
        built.check_names(self, predecessor)?;
        self.insert_body_before(statement, &built.module, |name| {
            built.existing.contains(name)
        })
        .map_err(refused)
    }

    fn build_after(
        &mut self,
        statement: StmtId,
        build: impl FnOnce(&mut Insertion<'_, '_>) -> Result<(), BuildError>,
    ) -> Result<Vec<StmtId>, BuildError> {
        let built = Built::new(self, build)?;
        built.check_names(self, Some(statement))?;
        self.insert_body_after(statement, &built.module, |name| {
            built.existing.contains(name)
        })
        .map_err(refused)
    }

    fn build_instead(
        &mut self,
        statement: StmtId,
        build: impl FnOnce(&mut Insertion<'_, '_>) -> Result<(), BuildError>,
    ) -> Result<Vec<StmtId>, BuildError> {
        if !matches!(self.statement(statement), Ok(Statement::Inst(_))) {
            let help = "insert before or after other statements, and remove them with the editor";
            let message = "only an instruction can be replaced by statements";
            return Err(BuildError::new(BuildErrorKind::Argument, message, help));
        }
        let new = self.build_after(statement, build)?;
        self.remove(statement).map_err(refused)?;
        Ok(new)
    }
}

fn refused(error: ptx_edit::EditError) -> BuildError {
    let help = "statements can be inserted where their operands are declared";
    BuildError::new(BuildErrorKind::Argument, error.to_string(), help)
}

fn unknown(noun: &str) -> BuildError {
    let help = "ids are those of the module and the body that are edited";
    let message = format!("the function has no such {noun}");
    BuildError::new(BuildErrorKind::Foreign, message, help)
}

/// Entities of a function and its module, with their names.
type UsedEntities = Vec<(String, Operand)>;

/// The statements, as the body of a function of a separate module that declares the same names.
struct Built {
    module: Module,
    /// The names that the edited function, or its module, declares.
    existing: HashSet<String>,
    /// The entities of the edited function and its module that the statements use, by their names.
    used: UsedEntities,
}

impl Built {
    /// Refuses statements whose names denote other entities where they are inserted: names of other scopes, or hidden ones.
    fn check_names(
        &self,
        editor: &mut Editor<'_>,
        predecessor: Option<StmtId>,
    ) -> Result<(), BuildError> {
        for (name, operand) in &self.used {
            if editor.resolve_after(predecessor, name) != Some(*operand) {
                let message =
                    format!("`{name}` denotes something else where the statements are inserted");
                let help = "insert in the scope that declares the name, after its declaration";
                return Err(BuildError::new(BuildErrorKind::Scope, message, help));
            }
        }
        Ok(())
    }

    fn new(
        editor: &Editor<'_>,
        build: impl FnOnce(&mut Insertion<'_, '_>) -> Result<(), BuildError>,
    ) -> Result<Self, BuildError> {
        let (edited, body) = (editor.module(), editor.body());
        let header = edited.header();
        let mut module = ModuleBuilder::new(
            header.version.unwrap_or(PtxVersion::new(1, 0)),
            header.target.unwrap_or(Target::ALL[0]),
        );
        // `debug` is about sections, which the separate module has not.
        for &option in TargetOption::ALL {
            if edited.has_target_option(option) && option != TargetOption::Debug {
                module.target_option(option);
            }
        }
        match header.address_size {
            Some(bits) => module.set_address_size(bits),
            None => module.without_address_size(),
        }
        let function = declare(&mut module, edited, editor.function())?;
        let builder = module.define(function)?;
        let mut insertion = Insertion {
            registers: vec![None; body.reg_decls().len()],
            labels: vec![None; body.labels().len()],
            builder,
            module: edited,
            body,
            function: (editor.function(), function),
            existing: HashSet::new(),
            used: Vec::new(),
        };
        insertion.declare_names();
        build(&mut insertion)?;
        let (existing, used) = insertion.finish()?;
        Ok(Self {
            module: module.finish()?,
            existing,
            used,
        })
    }
}

/// Builds statements that are inserted into a function: a [`FunctionBuilder`] that also returns handles for what the function declares.
///
/// Headers, parameters and directives of the function cannot be changed through it: changes are ignored.
#[derive(Debug)]
pub struct Insertion<'b, 'e> {
    builder: FunctionBuilder<'b>,
    module: &'e Module,
    body: &'e Body,
    /// The edited function, in its module and here.
    function: (FuncId, Func),
    /// The registers of each declaration; `None` for those that are hidden by others of the same name.
    registers: Vec<Option<RegRange>>,
    labels: Vec<Option<CodeLabel>>,
    /// The names that are declared here and in the function or its module.
    existing: HashSet<String>,
    used: UsedEntities,
}

impl<'b> Deref for Insertion<'b, '_> {
    type Target = FunctionBuilder<'b>;

    fn deref(&self) -> &Self::Target {
        &self.builder
    }
}

impl DerefMut for Insertion<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.builder
    }
}

impl Insertion<'_, '_> {
    /// Declares the registers and labels of the function, so that new ones get other names.
    fn declare_names(&mut self) {
        for (id, declared) in self.body.reg_decls().iter() {
            let name = self.module.name(declared.name);
            let Some(ty) = declared.ty.known() else {
                continue;
            };
            let mut declaration =
                Declaration::new(StateSpace::Reg, ty, name).vector(declared.vector);
            if let Some(count) = declared.count {
                declaration = declaration.range(count);
            }
            // A name that is declared in several scopes denotes the first declaration here; `register` checks which one is meant.
            if let Ok(ranges) = self.builder.registers(&declaration)
                && let Some(place) = self.registers.get_mut(id.index())
            {
                *place = ranges.first().copied();
                self.existing.insert(name.into());
            }
        }
        for (id, label) in self.body.labels().iter() {
            let name = self.module.name(label.name);
            if let Ok(label) = self.builder.named_label(name)
                && let Some(place) = self.labels.get_mut(id.index())
            {
                *place = Some(label);
            }
        }
    }

    /// Returns the handle of a register of the function.
    ///
    /// # Errors
    ///
    /// The function has no such register, or an earlier declaration has the same name in another scope.
    pub fn register(&mut self, id: RegId) -> Result<Reg, BuildError> {
        let register = self
            .body
            .registers()
            .get(id)
            .ok_or_else(|| unknown("register"))?;
        let declaration: RegDeclId = register.decl;
        let name = self.body.register_name(self.module, id);
        let is_parameter = self
            .body
            .reg_decls()
            .get(declaration)
            .is_some_and(|d| d.stmt.is_none());
        let handle = match self.registers.get(declaration.index()) {
            Some(Some(range)) => self.builder.member(*range, register.number.into())?,
            _ if is_parameter => self
                .builder
                .local_reg(&name)
                .ok_or_else(|| unknown("register"))?,
            _ => return Err(unknown("register")),
        };
        self.used.push((name, Operand::Reg(id)));
        Ok(handle)
    }

    /// Returns the handle of the variable or parameter that an operand of the function names.
    ///
    /// # Errors
    ///
    /// The operand names no variable.
    pub fn variable(&mut self, operand: Operand) -> Result<Variable, BuildError> {
        match operand {
            Operand::Var(id) => {
                let variable = self
                    .body
                    .vars()
                    .get(id)
                    .ok_or_else(|| unknown("variable"))?;
                let name = member_name(self.module, variable.name, variable.number);
                self.used.push((name.clone(), operand));
                if let Some(variable) = self.builder.local(&name) {
                    return Ok(variable);
                }
                let statement = variable.stmt.and_then(|stmt| self.body.statement(stmt));
                let Some(Statement::Decl(declaration)) = statement else {
                    return Err(unknown("variable"));
                };
                if self.builder.body.scope() > 0 {
                    let help = "ask for the variable before `open`";
                    let message = format!("`{name}` is declared outside of the scope that is open");
                    return Err(BuildError::new(BuildErrorKind::Scope, message, help));
                }
                let tables = self.body.declarations();
                let declaration = variable_declaration(
                    &Declared {
                        module: self.module,
                        pool: self.body.pool(),
                    },
                    tables.decls.get(declaration),
                    tables
                        .declarators(declaration)
                        .iter()
                        .find(|d| d.name == variable.name),
                    &name,
                )?;
                self.existing.insert(name);
                self.builder.declare(declaration)
            }
            Operand::Symbol(id) => {
                let symbol = self
                    .module
                    .symbols()
                    .get(id)
                    .ok_or_else(|| unknown("variable"))?;
                let SymbolKind::Variable(_, declaration) = symbol.kind else {
                    return Err(unknown("variable"));
                };
                let name = member_name(self.module, symbol.name, symbol.number);
                self.used.push((name.clone(), operand));
                self.module_variable(&name, declaration)
            }
            _ => Err(unknown("variable")),
        }
    }

    fn module_variable(&mut self, name: &str, declaration: DeclId) -> Result<Variable, BuildError> {
        let module = self.builder.module();
        if let Some(index) = module.variable(name) {
            let owner = module.tables.owner;
            return Ok(Variable { owner, index });
        }
        let tables = self.module.declarations();
        let declaration = variable_declaration(
            &Declared {
                module: self.module,
                pool: self.module.pool(),
            },
            tables.decls.get(declaration),
            tables.declarators(declaration).first(),
            name,
        )?;
        self.builder.module().declare(declaration)
    }

    /// Returns the handle of a function of the module.
    ///
    /// # Errors
    ///
    /// The module has no such function, or its header cannot be read.
    pub fn function(&mut self, id: FuncId) -> Result<Func, BuildError> {
        if id == self.function.0 {
            return Ok(self.function.1);
        }
        let function = self.module.functions().get(id);
        if let Some(symbol) = function.and_then(|function| function.symbol) {
            let name = self.module.function_name(id).into();
            self.used.push((name, Operand::Symbol(symbol)));
        }
        declare(self.builder.module(), self.module, id)
    }

    /// Returns the handle of a label of the function.
    ///
    /// # Errors
    ///
    /// The function has no such label, or an earlier one has the same name in another scope.
    pub fn label_of(&mut self, id: LabelId) -> Result<CodeLabel, BuildError> {
        let label = self.labels.get(id.index()).copied().flatten();
        let label = label.ok_or_else(|| unknown("label"))?;
        let name = self.body.label_name(self.module, id);
        self.existing.insert(name.into());
        self.used.push((name.into(), Operand::Label(id)));
        Ok(label)
    }

    /// Completes the function; returns the names that exist already, and the entities that are used.
    fn finish(mut self) -> Result<(HashSet<String>, UsedEntities), BuildError> {
        // A label of the function that is used must have a place here.
        for label in self.labels.iter().flatten() {
            if self.existing.contains(self.builder.name_of_label(*label)) {
                self.builder.place(*label)?;
            }
        }
        self.builder.finish()?;
        Ok((self.existing, self.used))
    }
}

fn member_name(module: &Module, name: ptx_ir::NameId, number: Option<u32>) -> String {
    let mut text = String::from(module.name(name));
    if let Some(number) = number {
        text.push_str(&number.to_string());
    }
    text
}

/// The tables that a declaration refers to.
struct Declared<'d> {
    module: &'d Module,
    pool: &'d OperandPool,
}

impl Declared<'_> {
    /// Adds the dimensions of an array.
    fn with_dimensions(
        &self,
        mut declaration: Declaration,
        dimensions: &[Operand],
    ) -> Result<Declaration, BuildError> {
        for (index, dimension) in dimensions.iter().enumerate() {
            declaration = match self.pool.integer(*dimension).map(u64::try_from) {
                Some(Ok(size)) => declaration.dimension(size),
                _ if index == 0 => declaration.unsized_array(),
                _ => return Err(unknown("array")),
            };
        }
        Ok(declaration)
    }

    fn with_alignment(&self, declaration: Declaration, alignment: Operand) -> Declaration {
        match self.pool.integer(alignment).map(u64::try_from) {
            Some(Ok(bytes)) => declaration.align(bytes),
            _ => declaration,
        }
    }

    fn parameter(&self, parameter: &Param) -> Result<Declaration, BuildError> {
        let ty = parameter.ty.known().ok_or_else(|| unknown("type"))?;
        let name = parameter.name.map_or("_", |name| self.module.name(name));
        let declaration = Declaration::new(parameter.space, ty, name).vector(parameter.vector);
        let declaration = self.with_alignment(declaration, parameter.align);
        self.with_dimensions(declaration, parameter.dims.of(self.pool.operands()))
    }
}

/// The declaration of one variable, without its initial value.
fn variable_declaration(
    tables: &Declared<'_>,
    declaration: Option<&VarDecl>,
    declarator: Option<&Declarator>,
    name: &str,
) -> Result<Declaration, BuildError> {
    let (declaration, declarator) = declaration
        .zip(declarator)
        .ok_or_else(|| unknown("variable"))?;
    let ty = declaration.ty.known().ok_or_else(|| unknown("type"))?;
    let variable = Declaration::new(declaration.space, ty, name).vector(declaration.vector);
    let variable = tables.with_alignment(variable, declaration.align);
    tables.with_dimensions(variable, declarator.dims.of(tables.pool.operands()))
}

/// Declares a function of one module in another one, with its parameters and results, and without its directives.
fn declare(module: &mut ModuleBuilder, from: &Module, id: FuncId) -> Result<Func, BuildError> {
    let function = from
        .functions()
        .get(id)
        .ok_or_else(|| unknown("function"))?;
    let interface: Interface = function.interface;
    let tables = Declared {
        module: from,
        pool: from.pool(),
    };
    let mut header = FunctionHeader::new();
    for result in interface.returns.of(from.params()) {
        header = header.result(tables.parameter(result)?);
    }
    for parameter in interface.params.of(from.params()) {
        header = header.param(tables.parameter(parameter)?);
    }
    module.declare_function(function.kind, from.name(function.name), header)
}
