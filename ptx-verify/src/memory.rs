//! Memory that ptxas allocates: constants of a module, shared variables of a kernel.

use alloc::vec::Vec;
use ptx_ir::{
    Binding, Body, DeclId, Declarations, Declarator, EntityId, FuncId, Function, FunctionKind,
    Item, Linkage, Module, OperandPool, Span, Statement, SymbolId, VarDecl,
};
use ptx_isa::{StateSpace, Target};

use crate::context::Context;
use crate::location::Location;
use crate::problem::module::{MOST_CONSTANT_BYTES, ResourceProblem};
use crate::uses::{ModuleNames, Uses};

/// Returns the size in bytes of the variables of a declarator: one variable, or all of a range.
fn declarator_bytes(pool: &OperandPool, decl: &VarDecl, declarator: &Declarator) -> i64 {
    let layout = decl.layout(declarator, pool);
    let bytes = layout.and_then(|l| l.size).unwrap_or(0);
    let count = pool.integer(declarator.count).unwrap_or(1);
    i64::try_from(bytes)
        .unwrap_or(i64::MAX)
        .saturating_mul(count)
}

/// Returns the declarations of variables in a space that allocate memory.
fn declarations_in_space(
    declarations: &Declarations,
    space: StateSpace,
) -> impl Iterator<Item = (DeclId, &VarDecl)> {
    declarations.decls.iter().filter(move |(_, decl)| {
        decl.space.base() == space && decl.linkage != Some(Linkage::Extern)
    })
}

/// Returns the total size in bytes of the variables in a space.
fn total_bytes(declarations: &Declarations, pool: &OperandPool, space: StateSpace) -> i64 {
    declarations_in_space(declarations, space)
        .flat_map(|(id, decl)| {
            let declarators = declarations.declarators(id).iter();
            declarators.map(move |declarator| declarator_bytes(pool, decl, declarator))
        })
        .fold(0, i64::saturating_add)
}

/// Returns the total size in bytes of the shared variables of a body.
pub(crate) fn shared_bytes(body: &Body) -> i64 {
    total_bytes(body.declarations(), body.pool(), StateSpace::Shared)
}

/// Returns `true` if a body declares constants.
pub(crate) fn has_constants(body: &Body) -> bool {
    declarations_in_space(body.declarations(), StateSpace::Const)
        .next()
        .is_some()
}

/// Reports constants that do not fit one bank together with all others of the module and its functions.
pub(crate) fn check_constants(context: &mut Context<'_>) {
    let module = context.module;
    let mut end = 0i64;
    for (id, item) in module.items() {
        if let Item::Decl(decl) = item {
            let (declarations, pool) = (module.declarations(), module.pool());
            let span = module.span(id);
            check_constant(context, &mut end, declarations, pool, decl, span);
        }
    }
    for (_, _, body) in module.definitions() {
        if !has_constants(body) {
            continue;
        }
        for (stmt, statement) in body.statements() {
            if let Statement::Decl(decl) = statement {
                let (declarations, pool) = (body.declarations(), body.pool());
                let span = body.source_span(stmt);
                check_constant(context, &mut end, declarations, pool, decl, span);
            }
        }
    }
}

/// Adds the size of a declaration to `end`, the total size of the constants, and reports the variable that exceeds the limit.
fn check_constant(
    context: &mut Context<'_>,
    end: &mut i64,
    declarations: &Declarations,
    pool: &OperandPool,
    id: DeclId,
    span: Span,
) {
    let Some(decl) = declarations.decls.get(id) else {
        return;
    };
    if decl.space.base() != StateSpace::Const || decl.linkage == Some(Linkage::Extern) {
        return;
    }
    for declarator in declarations.declarators(id) {
        let start = *end;
        *end = start.saturating_add(declarator_bytes(pool, decl, declarator));
        if start <= MOST_CONSTANT_BYTES && *end > MOST_CONSTANT_BYTES {
            let name = declarator.name;
            let location = Location::name(span, name);
            context.report(location, ResourceProblem::ConstantBytes(name, *end));
        }
    }
}

/// The maximum number of visited names when the shared variables of all kernels are added up, and the additional number for each name that a
/// body uses: kernels that share large call graphs need a quadratic number.
const MOST_VISITS: usize = 1 << 20;
const MOST_VISITS_PER_NAME: usize = 16;

/// Returns the size in bytes of the shared memory that each kernel of the module declares or uses, including that of the functions that it references;
/// without padding between variables, and without dynamic shared memory, which the launch allocates. The size is `None` if kernels
/// share such large call graphs that the sums would take quadratic time.
///
/// ```
/// let text = b".version 8.0\n.target sm_80\n.address_size 64\n.shared .b8 tile[1024];\n\
///     .func f() { .shared .b32 x; ret; }\n\
///     .entry k() { .reg .b32 a; call f; ld.shared.b32 a, [tile]; ret; }\n";
/// let module = ptx_parse::parse(text).module;
/// let kernel = module.function("k").unwrap();
/// assert_eq!(ptx_verify::shared_memory(&module), [(kernel, Some(1028))]);
/// ```
#[must_use]
pub fn shared_memory(module: &Module) -> Vec<(FuncId, Option<u64>)> {
    let uses = Uses::new(module);
    let mut graph = SharedUses::new(module, &uses);
    kernels(module)
        .map(|(id, function)| {
            let bytes = graph.kernel_bytes(id, function);
            (id, bytes.and_then(|bytes| u64::try_from(bytes).ok()))
        })
        .collect()
}

fn kernels(module: &Module) -> impl Iterator<Item = (FuncId, &Function)> {
    module
        .definitions()
        .map(|(id, function, _)| (id, function))
        .filter(|(_, function)| function.kind == FunctionKind::Entry)
}

/// Reports kernels whose shared variables do not fit.
pub(crate) fn check_shared(context: &mut Context<'_>, uses: &Uses, names: &ModuleNames) {
    let module = context.module;
    let mut graph = SharedUses::new(module, uses);
    let module_bytes = total_bytes(module.declarations(), module.pool(), StateSpace::Shared);
    let target = context.environment.target().unwrap_or(Target::Sm10);
    let most = target.most_shared_bytes();
    if module_bytes.saturating_add(uses.total_shared_bytes()) <= most.into() {
        return;
    }
    for (id, function) in kernels(module) {
        let Some(bytes) = graph.kernel_bytes(id, function) else {
            let problem = ResourceProblem::SharedBytesUnknown(function.name);
            context.report(names.function(id), problem);
            return;
        };
        if bytes > most.into() {
            let problem = ResourceProblem::SharedBytes(function.name, bytes, most);
            context.report(names.function(id), problem);
        }
    }
}

/// Returns the size in bytes of each shared variable at module level, by symbol.
fn shared_variable_bytes(module: &Module) -> Vec<i64> {
    let mut sizes = vec![0i64; module.symbols().len()];
    for (id, decl) in declarations_in_space(module.declarations(), StateSpace::Shared) {
        for declarator in module.declarations().declarators(id) {
            if let Binding::Symbol(symbol) = declarator.binding
                && let Some(size) = sizes.get_mut(symbol.index())
            {
                let bytes = declarator_bytes(module.pool(), decl, declarator);
                *size = size.saturating_add(bytes);
            }
        }
    }
    sizes
}

/// Adds up the shared variables of kernels and of the functions that they reach.
struct SharedUses<'a> {
    uses: &'a Uses,
    /// By symbol: the function that it names, if that is defined.
    definitions: Vec<Option<FuncId>>,
    /// By symbol: the size in bytes of a shared variable of the module.
    variable_bytes: Vec<i64>,
    /// By symbol: the last kernel for which it was visited.
    visited_for: Vec<Option<FuncId>>,
    /// The number of names that may still be visited.
    remaining_visits: usize,
}

impl<'a> SharedUses<'a> {
    fn new(module: &Module, uses: &'a Uses) -> Self {
        let mut definitions = vec![None; module.symbols().len()];
        for (id, function, _) in module.definitions() {
            let definition = function.symbol.and_then(|s| definitions.get_mut(s.index()));
            if let Some(definition) = definition {
                *definition = Some(id);
            }
        }
        Self {
            uses,
            variable_bytes: shared_variable_bytes(module),
            visited_for: vec![None; definitions.len()],
            definitions,
            remaining_visits: MOST_VISITS + MOST_VISITS_PER_NAME * uses.count(),
        }
    }

    /// Marks a name as visited for a kernel; returns `true` at the first visit.
    fn visit(&mut self, symbol: SymbolId, kernel: FuncId) -> bool {
        let last = self.visited_for.get_mut(symbol.index());
        last.is_some_and(|last| last.replace(kernel) != Some(kernel))
    }

    /// Returns the size in bytes of the shared variables that a kernel and all functions that it reaches declare and use; `None` if that takes too
    /// many visits.
    fn kernel_bytes(&mut self, kernel: FuncId, function: &Function) -> Option<i64> {
        let mut worklist = vec![kernel];
        if let Some(symbol) = function.symbol {
            self.visit(symbol, kernel);
        }
        let mut total = 0i64;
        while let Some(function) = worklist.pop() {
            let names = self.uses.names(function);
            self.remaining_visits = self.remaining_visits.checked_sub(1 + names.len())?;
            total = total.saturating_add(self.uses.shared_bytes(function));
            for &symbol in names {
                if self.visit(symbol, kernel) {
                    let bytes = self.variable_bytes.get(symbol.index()).copied()?;
                    total = total.saturating_add(bytes);
                    worklist.extend(self.definitions.get(symbol.index()).copied().flatten());
                }
            }
        }
        Some(total)
    }
}
