//! Memory that ptxas allocates: constants of a module, shared variables of a kernel.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use ptx_ir::{
    Binding, Body, DeclId, Declarations, Declarator, FuncId, Function, FunctionKind, Item, Linkage,
    Module, OperandPool, Span, Statement, SymbolId, VarDecl,
};
use ptx_isa::StateSpace;

use crate::context::Context;
use crate::location::Location;
use crate::problem::resource::{MOST_CONSTANT_BYTES, MOST_SHARED_BYTES, ResourceProblem};
use crate::uses::{self, FunctionNames, Uses};

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
        let mut constants = of_space(body.declarations(), StateSpace::Const);
        if constants.next().is_none() {
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
            let at = Location::name(span, name);
            context.report(at, ResourceProblem::ConstantBytes(name, *end));
        }
    }
}

/// How many names may be visited to sum up the shared variables of all kernels, and how many more for each name that a
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
    let uses = uses::uses(module);
    let mut graph = SharedUses::new(module, &uses);
    let bytes = kernels(module).map(|(id, _)| (id, graph.bytes(id)));
    bytes
        .map(|(id, bytes)| (id, bytes.and_then(|b| u64::try_from(b).ok())))
        .collect()
}

fn kernels(module: &Module) -> impl Iterator<Item = (FuncId, &Function)> {
    let kernels = module.definitions().map(|(id, function, _)| (id, function));
    kernels.filter(|(_, function)| function.kind == FunctionKind::Entry)
}

/// Checks that the shared variables of each kernel fit.
pub(crate) fn shared(context: &mut Context<'_>, uses: &Uses, names: &FunctionNames) {
    let module = context.module;
    let mut graph = SharedUses::new(module, uses);
    let of_module = total(module.declarations(), module.pool(), StateSpace::Shared);
    let all = graph.of_bodies.values().copied();
    if all.fold(of_module, i64::saturating_add) <= MOST_SHARED_BYTES {
        return;
    }
    for (id, function) in kernels(module) {
        let Some(bytes) = graph.bytes(id) else {
            let problem = ResourceProblem::SharedBytesUnknown(function.name);
            context.report(names.get(id), problem);
            return;
        };
        if bytes > MOST_SHARED_BYTES {
            let problem = ResourceProblem::SharedBytes(function.name, bytes);
            context.report(names.get(id), problem);
        }
    }
}

/// The bytes of each shared variable at module level.
fn shared_sizes(module: &Module) -> BTreeMap<SymbolId, i64> {
    let mut sizes = BTreeMap::new();
    for (decl, of) in of_space(module.declarations(), StateSpace::Shared) {
        for declarator in module.declarations().declarators(decl) {
            if let Binding::Symbol(symbol) = declarator.binding {
                let bytes = sizes.entry(symbol).or_insert(0i64);
                *bytes = bytes.saturating_add(size(module.pool(), of, declarator));
            }
        }
    }
    sizes
}

/// The shared variables of functions, and which functions they use.
struct SharedUses<'a> {
    uses: &'a Uses,
    definitions: BTreeMap<SymbolId, FuncId>,
    /// The bytes that each body declares, and those of each variable at module level.
    of_bodies: BTreeMap<FuncId, i64>,
    of_symbols: BTreeMap<SymbolId, i64>,
    /// How many names may still be visited.
    visits: usize,
}

impl<'a> SharedUses<'a> {
    fn new(module: &Module, uses: &'a Uses) -> Self {
        let own = |body: &Body| total(body.declarations(), body.pool(), StateSpace::Shared);
        let of_bodies = module.definitions().map(|(id, _, body)| (id, own(body)));
        let definitions = module.definitions();
        let definitions = definitions.filter_map(|(id, function, _)| Some((function.symbol?, id)));
        Self {
            uses,
            definitions: definitions.collect(),
            of_bodies: of_bodies.collect(),
            of_symbols: shared_sizes(module),
            visits: VISITS + VISITS_PER_NAME * uses.values().map(BTreeSet::len).sum::<usize>(),
        }
    }

    /// The bytes that a kernel and all functions that it reaches declare and use; `None` if that takes too many visits.
    fn bytes(&mut self, kernel: FuncId) -> Option<i64> {
        let (mut symbols, mut functions) = (BTreeSet::new(), BTreeSet::from([kernel]));
        let mut open = alloc::vec![kernel];
        let mut bytes = 0i64;
        while let Some(next) = open.pop() {
            let used = self.uses.get(&next);
            self.visits = self.visits.checked_sub(1 + used.map_or(0, BTreeSet::len))?;
            let own = self.of_bodies.get(&next).copied().unwrap_or(0);
            bytes = bytes.saturating_add(own);
            for &symbol in used.into_iter().flatten() {
                if !symbols.insert(symbol) {
                    continue;
                }
                let size = self.of_symbols.get(&symbol).copied().unwrap_or(0);
                bytes = bytes.saturating_add(size);
                let called = self.definitions.get(&symbol).copied();
                open.extend(called.filter(|id| functions.insert(*id)));
            }
        }
        Some(bytes)
    }
}
