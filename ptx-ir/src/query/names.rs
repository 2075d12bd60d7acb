//! The meanings of the names of a module and of one body: types, state spaces, kinds.

use alloc::vec::Vec;
use ptx_isa::{Directive, ScalarType, StateSpace, TargetOption};

use super::tag;
use crate::{
    Attribute, Binding, Body, DeclId, Declarations, EntityId, FuncId, Function, FunctionKind,
    Label, LabelId, Module, Operand, Param, RegId, Register, Statement, SymbolId, SymbolKind,
    TypeName, VarDecl, VarId,
};

/// The entity that a name denotes, unless it is a register.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum NameKind {
    /// A variable or parameter.
    Variable {
        /// The state space it lives in.
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
    /// Its declaration is unrecognized.
    Unknown,
}

/// Marks a vector register in the table of registers; its declaration has the type.
pub(super) const VECTOR: u8 = 254;
/// Marks a name in the tables of registers and labels whose declaration is unrecognized.
pub(super) const UNKNOWN: u8 = 255;

/// The meanings of the names of a module and of one of its bodies. Built once for a module and filled for one body after
/// another.
#[derive(Clone, Default, Debug)]
pub struct NameTypes {
    symbols: Vec<NameKind>,
    /// The kind of the function: `tag::IN_FUNC`, …
    function_tag: u8,
    /// `tag::INDEPENDENT_TEXTURES` or 0.
    textures: u8,
    /// The tag of each register in a key, or [`VECTOR`], or [`UNKNOWN`].
    registers: Vec<u8>,
    vars: Vec<NameKind>,
    /// The tag of each label in a key, or [`UNKNOWN`].
    labels: Vec<u8>,
    /// The numbers of declarations of the module and of the body that were read.
    declarations: [usize; 2],
}

impl NameTypes {
    /// The names of a module, and no body yet.
    #[must_use]
    pub fn new(module: &Module) -> Self {
        let mut names = Self::default();
        names.update_symbols(module);
        names
    }

    /// Reads the declarations of the module again.
    pub fn update_symbols(&mut self, module: &Module) {
        self.textures = if module.has_target_option(TargetOption::TexmodeIndependent) {
            tag::INDEPENDENT_TEXTURES
        } else {
            0
        };
        self.symbols.clear();
        self.declarations[0] = 0;
        self.extend_symbols(module);
    }

    /// Reads the declarations that were added to the module since the last call, if no others changed.
    pub fn extend_symbols(&mut self, module: &Module) {
        for symbol in module.symbols.values().skip(self.symbols.len()) {
            self.symbols.push(match symbol.kind {
                SymbolKind::Function(id) => match module.functions.get(id).map(|f| f.kind) {
                    Some(FunctionKind::Func) => NameKind::Function,
                    Some(FunctionKind::Entry) => NameKind::Kernel,
                    None => NameKind::Unknown,
                },
                SymbolKind::Variable(_, id) => range_member(&module.declarations, id),
            });
        }
        let first = self.declarations[0];
        each_declared(&module.declarations, first, |binding, kind| {
            if let Binding::Symbol(id) = binding
                && let Some(entry) = self.symbols.get_mut(id.index())
            {
                *entry = kind;
            }
        });
        self.declarations[0] = module.declarations.decls.len();
    }

    /// Replaces the declarations by those of another body.
    pub fn enter(&mut self, module: &Module, function: FuncId, body: &Body) {
        self.registers.clear();
        self.update_body(module, function, body);
    }

    /// Reads the registers that were added to the body since the last call, and its variables and labels again.
    pub fn update_body(&mut self, module: &Module, function: FuncId, body: &Body) {
        let function = module.functions.get(function);
        self.function_tag = match function {
            Some(f) if f.kind != FunctionKind::Entry => tag::IN_FUNC,
            Some(f) if reserves_memory(module, f) => tag::IN_ENTRY,
            Some(_) => tag::IN_ENTRY_WITHOUT,
            None => tag::IN_FUNC,
        };
        self.vars.clear();
        self.declarations[1] = 0;
        self.extend_body(body);
        if let Some(function) = function {
            let params = function.interface.params.of(&module.params);
            let returns = function.interface.returns.of(&module.params);
            for param in params.iter().chain(returns) {
                self.declare_parameter(param);
            }
        }
        self.labels.clear();
        self.labels
            .extend(body.labels.values().map(|label| label_tag(body, label)));
    }

    /// Reads the registers and variables that were added to the body since the last call, if no others changed.
    #[inline]
    pub fn extend_body(&mut self, body: &Body) {
        // A slice, because each step of `skip` costs a comparison.
        let registers = body.registers.values().as_slice();
        if let Some(new @ [_, ..]) = registers.get(self.registers.len()..) {
            let tags = new.iter().map(|r| register_tag(body, *r));
            self.registers.extend(tags);
        }
        if self.vars.len() < body.vars.len() {
            self.extend_vars(body);
        }
    }

    fn extend_vars(&mut self, body: &Body) {
        for var in body.vars.values().skip(self.vars.len()) {
            self.vars
                .push(match var.stmt.and_then(|s| body.statements.get(s)) {
                    Some(&Statement::Decl(id)) => in_body(range_member(&body.declarations, id)),
                    _ => NameKind::Unknown,
                });
        }
        let first = self.declarations[1];
        each_declared(&body.declarations, first, |binding, kind| {
            if let Binding::Var(id) = binding {
                self.set_var(id, in_body(kind));
            }
        });
        self.declarations[1] = body.declarations.decls.len();
    }

    /// Adds a parameter of the entered function whose variable the body has.
    pub fn declare_parameter(&mut self, param: &Param) {
        // `ld.param` and `ld.param::func` both reach the parameters of a function, only `ld.param` those of a kernel.
        let space = if self.in_entry() {
            StateSpace::ParamEntry
        } else {
            StateSpace::Param
        };
        if let Binding::Var(id) = param.binding {
            let array = !param.dims.is_empty();
            self.set_var(id, variable(space, param.ty, array, false));
        }
    }

    /// Reads again whether a label denotes a position in the code or the table after it.
    pub fn update_label(&mut self, body: &Body, id: LabelId) {
        let Some(label) = body.labels.get(id) else {
            return;
        };
        if self.labels.len() <= id.index() {
            self.labels.resize(id.index() + 1, tag::LABEL);
        }
        if let Some(entry) = self.labels.get_mut(id.index()) {
            *entry = label_tag(body, label);
        }
    }

    fn set_var(&mut self, id: VarId, kind: NameKind) {
        if let Some(entry) = self.vars.get_mut(id.index()) {
            *entry = kind;
        }
    }

    /// Whether the body belongs to a kernel.
    #[inline]
    #[must_use]
    pub fn in_entry(&self) -> bool {
        self.function_tag != tag::IN_FUNC
    }

    #[inline]
    pub(super) fn place(&self) -> u8 {
        self.function_tag | self.textures
    }

    /// The entity that a name of the module denotes.
    #[must_use]
    pub fn symbol(&self, id: SymbolId) -> NameKind {
        self.symbols
            .get(id.index())
            .copied()
            .unwrap_or(NameKind::Unknown)
    }

    /// The entity that a name of a parameter or variable of the body denotes.
    #[must_use]
    pub fn var(&self, id: VarId) -> NameKind {
        self.vars
            .get(id.index())
            .copied()
            .unwrap_or(NameKind::Unknown)
    }

    /// The declared type of a scalar register; `None` for vectors and where the type is unknown.
    #[must_use]
    pub fn register(&self, id: RegId) -> Option<ScalarType> {
        let index = self.register_tag(id).checked_sub(tag::REGISTER)?;
        ScalarType::from_index(index.into())
    }

    /// Whether a register is a predicate, or of an unknown type.
    #[inline]
    #[must_use]
    pub fn may_guard(&self, id: RegId) -> bool {
        let tag = self.register_tag(id);
        tag == tag::REGISTER + ScalarType::Pred.index() as u8 || tag == UNKNOWN
    }

    #[inline]
    pub(super) fn register_tag(&self, id: RegId) -> u8 {
        self.registers.get(id.index()).copied().unwrap_or(UNKNOWN)
    }

    pub(super) fn label_tag(&self, id: LabelId) -> u8 {
        self.labels.get(id.index()).copied().unwrap_or(tag::LABEL)
    }
}

/// Calls `visit` with every name that the declarations from the one numbered `first` on declare.
fn each_declared(
    declarations: &Declarations,
    first: usize,
    mut visit: impl FnMut(Binding, NameKind),
) {
    for decl in declarations.decls.values().skip(first) {
        for declarator in decl.declarators.of(&declarations.declarators) {
            let array = !declarator.dims.is_empty();
            visit(declarator.binding, declared(declarations, decl, array));
        }
    }
}

/// Whether a kernel has `.minperctamemory` with a number other than zero.
fn reserves_memory(module: &Module, kernel: &Function) -> bool {
    kernel
        .interface
        .directives
        .of(&module.interface_directives)
        .iter()
        .any(|d| {
            d.directive == Directive::Minperctamemory
                && !matches!(module.pool.slice(d.args), [Operand::Small(0)])
        })
}

/// The entities that the members of a range denote; the declaration names only the first one.
fn range_member(declarations: &Declarations, decl: DeclId) -> NameKind {
    let decl = declarations.decls.get(decl);
    decl.map_or(NameKind::Unknown, |d| declared(declarations, d, false))
}

fn declared(declarations: &Declarations, decl: &VarDecl, array: bool) -> NameKind {
    let mut attributes = decl.attributes.of(&declarations.attributes).iter();
    let unified = attributes.any(|a| matches!(a, Attribute::Unified(..)));
    variable(decl.space, decl.ty, array, unified)
}

fn variable(space: StateSpace, ty: TypeName, array: bool, unified: bool) -> NameKind {
    match ty.known() {
        // In PTX 1.0 to 1.4, a variable in this space is a texture; its type is any integer type.
        Some(_) if space == StateSpace::Tex => NameKind::Variable {
            space: StateSpace::Global,
            ty: ScalarType::Texref,
            array,
            unified,
        },
        Some(ty) => NameKind::Variable {
            space,
            ty,
            array,
            unified,
        },
        None => NameKind::Unknown,
    }
}

/// The kind of a variable that is declared inside a body: `.param` there holds arguments of calls.
fn in_body(mut kind: NameKind) -> NameKind {
    if let NameKind::Variable { space, .. } = &mut kind
        && *space == StateSpace::Param
    {
        *space = StateSpace::ParamFunc;
    }
    kind
}

#[inline]
fn register_tag(body: &Body, register: Register) -> u8 {
    match body.reg_decls.get(register.decl) {
        Some(decl) if decl.vector > 1 => VECTOR,
        Some(decl) => match decl.ty.known() {
            Some(ty) => tag::REGISTER + ty.index() as u8,
            None => UNKNOWN,
        },
        None => UNKNOWN,
    }
}

fn label_tag(body: &Body, label: &Label) -> u8 {
    // `after` is not called for a removed label: it would visit all statements that were removed with it.
    let is_placed = matches!(body.statements.get(label.stmt), Some(Statement::Label(_)));
    let next = is_placed.then(|| body.after(label.stmt)).flatten();
    match next.and_then(|s| body.statements.get(s)) {
        Some(Statement::Prototype(_)) => tag::PROTOTYPE,
        Some(&Statement::Directive(id)) => match body.directives.get(id).map(|d| d.directive) {
            Some(Directive::Branchtargets) => tag::BRANCHES,
            Some(Directive::Calltargets) => tag::CALLS,
            _ => tag::LABEL,
        },
        // This may be an unrecognized table.
        Some(Statement::Opaque(_)) => UNKNOWN,
        _ => tag::LABEL,
    }
}

/// The type and the number of elements of a vector register.
pub(super) fn vector_register(body: &Body, id: RegId) -> Option<(ScalarType, u8)> {
    let decl = body.reg_decls.get(body.registers.get(id)?.decl)?;
    Some((decl.ty.known()?, decl.vector))
}
