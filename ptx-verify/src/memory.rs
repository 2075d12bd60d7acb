//! Memory that is laid out when code is made: constants of a module, shared variables of a kernel.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;
use ptx_ir::{
    Code, DeclId, Declarations, Declarator, Diagnostic, FuncId, FunctionKind, Item, Module,
    OperandPool, Span, Statement, SymbolId, SymbolKind, TypeName, VarDecl,
};
use ptx_isa::{StateSpace, TypeKind};

use crate::codegen_limits::Uses;
use crate::context::integer;
use crate::stmt_tokens::Statement as Words;

/// Bytes of constants in a module.
const CONSTANTS: i64 = 0x1_0000;
/// Bytes of shared variables in a kernel; more has to be asked for at the launch.
const SHARED: i64 = 0xc000;

/// The bytes of one declarator at least: what its initial values alone give counts as nothing.
fn size(pool: &OperandPool, decl: &VarDecl, declarator: &Declarator) -> i64 {
    let TypeName::Known(ty) = decl.ty else {
        return 0;
    };
    if ty.kind() == TypeKind::Opaque {
        return 0;
    }
    let mut size = i64::from(ty.bits() / 8).saturating_mul(decl.vector.into());
    for &dim in pool.slice(declarator.dims) {
        size = size.saturating_mul(integer(pool, dim).unwrap_or(0));
    }
    match integer(pool, declarator.count) {
        Some(count) => size.saturating_mul(count),
        None => size,
    }
}

fn of_space(
    declarations: &Declarations,
    space: StateSpace,
) -> impl Iterator<Item = (DeclId, &VarDecl)> {
    let all = declarations.decls.iter();
    all.filter(move |(_, d)| d.space.base() == space && d.linkage != Some(ptx_ir::Linkage::Extern))
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

/// All constants of a module, those in functions included, fill at most one bank.
pub(crate) fn constants(module: &Module, found: &mut Vec<Diagnostic>) {
    let mut end = 0i64;
    let mut check = |declarations: &Declarations, pool, id: DeclId, span: Span| {
        let Some(decl) = declarations.decls.get(id) else {
            return;
        };
        let external = decl.linkage == Some(ptx_ir::Linkage::Extern);
        if decl.space.base() != StateSpace::Const || external {
            return;
        }
        for declarator in declarations.declarators(id) {
            let before = end;
            end = end.saturating_add(size(pool, decl, declarator));
            if before <= CONSTANTS && end > CONSTANTS {
                let name = module.name(declarator.name);
                let at = Words::new(module, span, true).find(name);
                let message = format!(
                    "with `{name}` the constants take {end} bytes at least, and {CONSTANTS} is the most"
                );
                found.push(
                    Diagnostic::warning(Code::ConstantMemory, at, message)
                        .with_help("put large tables into `.global`"),
                );
            }
        }
    };
    for (id, item) in module.items() {
        if let Item::Decl(decl) = item {
            check(module.declarations(), module.pool(), decl, module.span(id));
        }
    }
    for (_, _, body) in module.definitions() {
        if of_space(body.declarations(), StateSpace::Const)
            .next()
            .is_none()
        {
            continue;
        }
        for (stmt, statement) in body.statements() {
            if let Statement::Decl(decl) = statement {
                check(
                    body.declarations(),
                    body.pool(),
                    decl,
                    body.source_span(stmt),
                );
            }
        }
    }
}

/// The shared variables that a kernel and the functions it calls mention, and all that are declared there.
pub(crate) fn shared(module: &Module, uses: &Uses, found: &mut Vec<Diagnostic>) {
    let own = |id: FuncId| {
        let body = module.body(id);
        body.map_or(0, |b| total(b.declarations(), b.pool(), StateSpace::Shared))
    };
    let of_module = total(module.declarations(), module.pool(), StateSpace::Shared);
    let of_bodies = uses.keys().map(|id| own(*id));
    if of_bodies.fold(of_module, i64::saturating_add) <= SHARED {
        return;
    }
    let definitions: BTreeMap<SymbolId, FuncId> = module
        .definitions()
        .filter_map(|(id, function, _)| Some((function.symbol?, id)))
        .collect();
    for (id, function, _) in module.definitions() {
        if function.kind != FunctionKind::Entry {
            continue;
        }
        let (symbols, functions) = reached(&definitions, uses, id);
        let variables: BTreeSet<DeclId> = symbols
            .iter()
            .filter_map(|s| match module.symbols().get(*s)?.kind {
                SymbolKind::Variable(_, decl) => Some(decl),
                _ => None,
            })
            .collect();
        let mut bytes = functions
            .iter()
            .map(|id| own(*id))
            .fold(0, i64::saturating_add);
        for (decl, of) in of_space(module.declarations(), StateSpace::Shared) {
            if !variables.contains(&decl) {
                continue;
            }
            for declarator in module.declarations().declarators(decl) {
                if matches!(declarator.binding, ptx_ir::Binding::Symbol(s) if symbols.contains(&s))
                {
                    bytes = bytes.saturating_add(size(module.pool(), of, declarator));
                }
            }
        }
        if bytes > SHARED {
            let name = module.name(function.name);
            let item = module.items().find(|(_, i)| *i == Item::Function(id));
            let at = item.map_or_else(Span::default, |(item, _)| {
                Words::new(module, module.span(item), true).find(name)
            });
            let message = format!(
                "`{name}` uses {bytes} bytes of shared variables at least, and {SHARED} is the most"
            );
            found.push(
                Diagnostic::warning(Code::SharedMemory, at, message).with_help(
                    "declare one array `.extern .shared` without a size, and give its size at the launch",
                ),
            );
        }
    }
}

/// All that a kernel mentions, and the functions among it with what they mention.
fn reached(
    definitions: &BTreeMap<SymbolId, FuncId>,
    uses: &Uses,
    kernel: FuncId,
) -> (BTreeSet<SymbolId>, BTreeSet<FuncId>) {
    let (mut symbols, mut functions) = (BTreeSet::new(), BTreeSet::from([kernel]));
    let mut open = alloc::vec![kernel];
    while let Some(next) = open.pop() {
        for &symbol in uses.get(&next).into_iter().flatten() {
            if !symbols.insert(symbol) {
                continue;
            }
            let called = definitions.get(&symbol).copied();
            open.extend(called.filter(|id| functions.insert(*id)));
        }
    }
    (symbols, functions)
}
