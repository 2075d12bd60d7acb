//! Memory that ptxas allocates: constants of a module, shared variables of a kernel.

use alloc::vec::Vec;
use ptx_ir::{
    Binding, Body, DeclId, Declarations, Declarator, EntityId, FuncId, Function, FunctionKind,
    Item, Linkage, Module, OperandPool, Span, Statement, SymbolId, VarDecl,
};
use ptx_isa::{StateSpace, Target};

use crate::context::Context;
use crate::location::Location;
use crate::problem::resource::{MOST_CONSTANT_BYTES, ResourceProblem};
use crate::uses::{ModuleNames, Uses};

/// The bytes of one declarator, of all members of a range.
fn size(pool: &OperandPool, decl: &VarDecl, declarator: &Declarator) -> i64 {
    let layout = decl.layout(declarator, pool);
    let bytes = layout.and_then(|l| l.size).unwrap_or(0);
    let count = pool.integer(declarator.count).unwrap_or(1);
    i64::try_from(bytes)
        .unwrap_or(i64::MAX)
        .saturating_mul(count)
}

fn of_space(
    declarations: &Declarations,
    space: StateSpace,
) -> impl Iterator<Item = (DeclId, &VarDecl)> {
    let all = declarations.decls.iter();
    all.filter(move |(_, d)| d.space.base() == space && d.linkage != Some(Linkage::Extern))
}

/// The bytes of all variables in a space.
fn total(declarations: &Declarations, pool: &OperandPool, space: StateSpace) -> i64 {
    let of = |(id, decl): (DeclId, &VarDecl)| -> i64 {
        let all = declarations.declarators(id).iter();
        all.fold(0, |sum: i64, d| sum.saturating_add(size(pool, decl, d)))
    };
    of_space(declarations, space)
        .map(of)
        .fold(0, i64::saturating_add)
}

/// The bytes of the shared variables of a body.
pub(crate) fn shared_of(body: &Body) -> i64 {
    total(body.declarations(), body.pool(), StateSpace::Shared)
}

/// Whether a body declares constants.
pub(crate) fn has_constants(body: &Body) -> bool {
    let mut constants = of_space(body.declarations(), StateSpace::Const);
    constants.next().is_some()
}

/// All constants of a module, including those of functions, must fit one bank.
pub(crate) fn constants(context: &mut Context<'_>) {
    let module = context.module;
    let mut end = 0i64;
    for (id, item) in module.items() {
        if let Item::Decl(decl) = item {
            let tables = (module.declarations(), module.pool());
            constant(context, &mut end, tables, decl, module.span(id));
        }
    }
    for (_, _, body) in module.definitions() {
        if !has_constants(body) {
            continue;
        }
        for (stmt, statement) in body.statements() {
            if let Statement::Decl(decl) = statement {
                let tables = (body.declarations(), body.pool());
                constant(context, &mut end, tables, decl, body.source_span(stmt));
            }
        }
    }
}

/// Adds a declaration to the bytes of all constants.
fn constant(
    context: &mut Context<'_>,
    end: &mut i64,
    (declarations, pool): (&Declarations, &OperandPool),
    id: DeclId,
    span: Span,
) {
    let Some(decl) = declarations.decls.get(id) else {
        return;
    };
    let external = decl.linkage == Some(Linkage::Extern);
    if decl.space.base() != StateSpace::Const || external {
        return;
    }
    for declarator in declarations.declarators(id) {
        let before = *end;
        *end = end.saturating_add(size(pool, decl, declarator));
        if before <= MOST_CONSTANT_BYTES && *end > MOST_CONSTANT_BYTES {
            let name = declarator.name;
            let location = Location::name(span, name);
            context.report(location, ResourceProblem::ConstantBytes(name, *end));
        }
    }
}

/// The number of names that may be visited to sum up the shared variables of all kernels, and the additional number for each name that a
/// body uses: kernels that share large call graphs need a quadratic number.
const VISITS: usize = 1 << 20;
const VISITS_PER_NAME: usize = 16;

/// The bytes of shared memory that each kernel of the module declares or uses, with those of the functions that it mentions;
/// without padding between variables, and without dynamic shared memory, which the launch allocates. `None` where kernels
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
    let bytes = kernels(module).map(|(id, function)| (id, graph.bytes(id, function)));
    bytes
        .map(|(id, bytes)| (id, bytes.and_then(|b| u64::try_from(b).ok())))
        .collect()
}

fn kernels(module: &Module) -> impl Iterator<Item = (FuncId, &Function)> {
    let kernels = module.definitions().map(|(id, function, _)| (id, function));
    kernels.filter(|(_, function)| function.kind == FunctionKind::Entry)
}

/// Checks that the shared variables of each kernel fit.
pub(crate) fn shared(context: &mut Context<'_>, uses: &Uses, names: &ModuleNames) {
    let module = context.module;
    let mut graph = SharedUses::new(module, uses);
    let of_module = total(module.declarations(), module.pool(), StateSpace::Shared);
    let target = context.environment.target().unwrap_or(Target::Sm10);
    let most = target.most_shared_bytes();
    if uses.shared().fold(of_module, i64::saturating_add) <= most.into() {
        return;
    }
    for (id, function) in kernels(module) {
        let Some(bytes) = graph.bytes(id, function) else {
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

/// The bytes of each shared variable at module level.
fn shared_sizes(module: &Module) -> Vec<i64> {
    let mut sizes = vec![0i64; module.symbols().len()];
    for (decl, of) in of_space(module.declarations(), StateSpace::Shared) {
        for declarator in module.declarations().declarators(decl) {
            if let Binding::Symbol(symbol) = declarator.binding
                && let Some(bytes) = sizes.get_mut(symbol.index())
            {
                *bytes = bytes.saturating_add(size(module.pool(), of, declarator));
            }
        }
    }
    sizes
}

/// The shared variables of functions, and which functions they use.
struct SharedUses<'a> {
    uses: &'a Uses,
    /// The definition of each name.
    definitions: Vec<Option<FuncId>>,
    /// The bytes of each variable at module level.
    of_symbols: Vec<i64>,
    /// The last kernel that each name was visited for.
    visited_for: Vec<Option<FuncId>>,
    /// The number of names that may still be visited.
    visits: usize,
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
            of_symbols: shared_sizes(module),
            visited_for: vec![None; definitions.len()],
            definitions,
            visits: VISITS + VISITS_PER_NAME * uses.count(),
        }
    }

    /// Whether a name is visited for the first time for a kernel.
    fn is_new(&mut self, symbol: SymbolId, kernel: FuncId) -> bool {
        let last = self.visited_for.get_mut(symbol.index());
        last.is_some_and(|last| last.replace(kernel) != Some(kernel))
    }

    /// The bytes that a kernel and all functions that it reaches declare and use; `None` if that takes too many visits.
    fn bytes(&mut self, kernel: FuncId, function: &Function) -> Option<i64> {
        let mut open = vec![kernel];
        if let Some(own) = function.symbol {
            self.is_new(own, kernel);
        }
        let mut bytes = 0i64;
        while let Some(next) = open.pop() {
            let used = self.uses.of(next);
            self.visits = self.visits.checked_sub(1 + used.len())?;
            bytes = bytes.saturating_add(self.uses.shared_of(next));
            for &symbol in used {
                if self.is_new(symbol, kernel) {
                    let size = self.of_symbols.get(symbol.index()).copied()?;
                    bytes = bytes.saturating_add(size);
                    open.extend(self.definitions.get(symbol.index()).copied().flatten());
                }
            }
        }
        Some(bytes)
    }
}
