//! What the names of a module and of a body stand for: types, spaces, kinds.

use alloc::vec::Vec;
use ptx_isa::{Directive, ScalarType, StateSpace};

use super::code;
use crate::{
    Attribute, Binding, Body, DeclId, Declarations, EntityId, FuncId, FunctionKind, LabelId,
    Module, RegId, Register, Statement, SymbolId, SymbolKind, TypeName, Var, VarDecl, VarId,
};

/// What a name that is no register stands for.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Named {
    /// A variable or parameter.
    Variable {
        /// Where it lives.
        space: StateSpace,
        /// The type of its elements.
        ty: ScalarType,
        /// Whether it has dimensions.
        array: bool,
        /// Whether it has the attribute `.unified`.
        unified: bool,
    },
    /// A function.
    Function,
    /// A kernel.
    Kernel,
    /// Something whose declaration was not understood.
    Unknown,
}

/// What the names of a module stand for.
#[derive(Clone, Default, Debug)]
pub struct SymbolTypes {
    symbols: Vec<Named>,
}

impl SymbolTypes {
    /// Looks through the declarations of a module.
    pub fn new(module: &Module) -> Self {
        let named = |kind: SymbolKind| match kind {
            SymbolKind::Function(id) => match module.functions.get(id).map(|f| f.kind) {
                Some(FunctionKind::Func) => Named::Function,
                Some(FunctionKind::Entry) => Named::Kernel,
                None => Named::Unknown,
            },
            SymbolKind::Variable(_, id) => of_range(&module.declarations, id),
        };
        let symbols = module.symbols.values();
        let mut symbols: Vec<Named> = symbols.map(|s| named(s.kind)).collect();
        each_variable(&module.declarations, |binding, named| {
            if let Binding::Symbol(id) = binding
                && let Some(entry) = symbols.get_mut(id.index())
            {
                *entry = named;
            }
        });
        Self { symbols }
    }

    /// What a name of the module stands for.
    pub fn get(&self, symbol: SymbolId) -> Named {
        let named = self.symbols.get(symbol.index());
        named.copied().unwrap_or(Named::Unknown)
    }
}

fn variable(declarations: &Declarations, decl: &VarDecl, array: bool) -> Named {
    let mut attributes = decl.attributes.of(&declarations.attributes).iter();
    let is_unified = attributes.any(|a| matches!(a, Attribute::Unified(..)));
    match parameter(decl.space, decl.ty, array) {
        Named::Variable {
            space, ty, array, ..
        } => Named::Variable {
            space,
            ty,
            array,
            unified: is_unified,
        },
        named => named,
    }
}

/// What has no attributes.
fn parameter(space: StateSpace, ty: TypeName, array: bool) -> Named {
    match ty.known() {
        Some(ty) => Named::Variable {
            space,
            ty,
            array,
            unified: false,
        },
        None => Named::Unknown,
    }
}

/// What is declared inside of a function: its parameters there are those of functions it calls.
fn local(named: Named) -> Named {
    match named {
        Named::Variable {
            space: StateSpace::Param,
            ty,
            array,
            unified,
        } => Named::Variable {
            space: StateSpace::ParamFunc,
            ty,
            array,
            unified,
        },
        named => named,
    }
}

/// Calls `each` with every name that the declarations declare.
fn each_variable(declarations: &Declarations, mut each: impl FnMut(Binding, Named)) {
    for decl in declarations.decls.values() {
        for declarator in decl.declarators.of(&declarations.declarators) {
            let array = !declarator.dims.is_empty();
            each(declarator.binding, variable(declarations, decl, array));
        }
    }
}

/// What the members of a range are. A declaration names only the first of them.
fn of_range(declarations: &Declarations, decl: DeclId) -> Named {
    let decl = declarations.decls.get(decl);
    decl.map_or(Named::Unknown, |d| variable(declarations, d, false))
}

/// What the names of one body stand for. Made once and filled again for the next body.
#[derive(Clone, Default, Debug)]
pub struct BodyTypes {
    in_entry: bool,
    /// The byte of each register in a key: its type; else `VECTOR` or `UNKNOWN`.
    registers: Vec<u8>,
    vars: Vec<Named>,
    labels: Vec<u8>,
}

/// In the table of registers: a whole vector, to be looked up.
pub(super) const VECTOR: u8 = 254;
/// In the table of registers: the type is no word of PTX.
pub(super) const UNKNOWN: u8 = 255;

impl BodyTypes {
    /// Empty tables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks through the declarations of a function.
    pub fn fill(&mut self, module: &Module, function: FuncId, body: &Body) {
        let kind = module.functions.get(function).map(|f| f.kind);
        self.in_entry = kind == Some(FunctionKind::Entry);
        self.registers.clear();
        let registers = body.registers.values().map(|r| register(body, *r));
        self.registers.extend(registers);
        self.fill_vars(module, function, body);
        self.fill_labels(body);
    }

    fn fill_vars(&mut self, module: &Module, function: FuncId, body: &Body) {
        self.vars.clear();
        let named = |var: &Var| match var.stmt.and_then(|s| body.statements.get(s)) {
            Some(&Statement::Decl(id)) => local(of_range(&body.declarations, id)),
            _ => Named::Unknown,
        };
        self.vars.extend(body.vars.values().map(named));
        // Those of a function are reached either way.
        let parameters = if self.in_entry {
            StateSpace::ParamEntry
        } else {
            StateSpace::Param
        };
        if let Some(f) = module.functions.get(function) {
            let (params, returns) = (f.interface.params, f.interface.returns);
            let all = [params.of(&module.params), returns.of(&module.params)];
            for param in all.into_iter().flatten() {
                if let Binding::Var(id) = param.binding {
                    let array = !param.dims.is_empty();
                    self.set_var(id, parameter(parameters, param.ty, array));
                }
            }
        }
        each_variable(&body.declarations, |binding, named| {
            if let Binding::Var(id) = binding {
                self.set_var(id, local(named));
            }
        });
    }

    fn set_var(&mut self, id: VarId, named: Named) {
        if let Some(entry) = self.vars.get_mut(id.index()) {
            *entry = named;
        }
    }

    fn fill_labels(&mut self, body: &Body) {
        self.labels.clear();
        let kinds = body.labels.values().map(|label| {
            match body.after(label.stmt).and_then(|s| body.statements.get(s)) {
                Some(Statement::Prototype(_)) => code::PROTOTYPE,
                Some(&Statement::Directive(id)) => {
                    match body.directives.get(id).map(|d| d.directive) {
                        Some(Directive::Branchtargets) => code::BRANCHES,
                        Some(Directive::Calltargets) => code::CALLS,
                        _ => code::LABEL,
                    }
                }
                // It may have been a table that was not understood.
                Some(Statement::Opaque(_)) => UNKNOWN,
                _ => code::LABEL,
            }
        });
        self.labels.extend(kinds);
    }

    /// Whether the body is that of a kernel.
    pub fn in_entry(&self) -> bool {
        self.in_entry
    }

    /// The declared type of a scalar register.
    pub fn register(&self, id: RegId) -> Option<ScalarType> {
        ScalarType::from_index(self.register_code(id).into())
    }

    /// Whether a register may be a guard, as far as its declaration was understood.
    #[inline]
    pub fn may_guard(&self, id: RegId) -> bool {
        let code = self.register_code(id);
        code == ScalarType::Pred.index() as u8 || code == UNKNOWN
    }

    /// What a parameter or variable of the body is.
    pub fn var(&self, id: VarId) -> Named {
        let named = self.vars.get(id.index());
        named.copied().unwrap_or(Named::Unknown)
    }

    #[inline]
    pub(super) fn register_code(&self, id: RegId) -> u8 {
        self.registers.get(id.index()).copied().unwrap_or(UNKNOWN)
    }

    pub(super) fn label_code(&self, id: LabelId) -> u8 {
        let code = self.labels.get(id.index());
        code.copied().unwrap_or(code::LABEL)
    }
}

fn register(body: &Body, register: Register) -> u8 {
    match body.reg_decls.get(register.decl) {
        Some(decl) if decl.vector > 1 => VECTOR,
        Some(decl) => decl.ty.known().map_or(UNKNOWN, |ty| ty.index() as u8),
        None => UNKNOWN,
    }
}

/// The type and the length of a vector register.
pub(super) fn vector_register(body: &Body, id: RegId) -> Option<(ScalarType, u8)> {
    let decl = body.reg_decls.get(body.registers.get(id)?.decl)?;
    Some((decl.ty.known()?, decl.vector))
}
