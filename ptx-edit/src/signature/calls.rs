//! The calls of a function.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::facts::{Callees, ModuleFacts};
use ptx_ir::{
    EntitySet, FuncId, Item, Module, Operand, Param, PrototypeId, Statement, StmtId, SymbolId,
};

use super::ParamList;
use super::header::Header;
use crate::{EditError, Editor};

/// All calls that can reach a function, and the prototypes of the indirect ones.
#[derive(Default)]
pub(super) struct Calls {
    /// Each with its function.
    pub(super) calls: Vec<(FuncId, StmtId)>,
    pub(super) prototypes: Vec<(FuncId, PrototypeId)>,
}

/// The uses of functions.
#[derive(Default)]
struct Uses {
    /// The symbols that are used other than by direct calls.
    addresses: EntitySet<SymbolId>,
    /// The indirect calls through a prototype.
    indirect: Vec<(FuncId, StmtId, PrototypeId)>,
    /// Whether some calls can reach any function.
    unknown: bool,
}

/// All calls of a function.
///
/// # Errors
///
/// [`EditError::Used`] if they cannot be determined.
pub(super) fn calls_of(
    module: &Module,
    function: FuncId,
    symbol: SymbolId,
) -> Result<Calls, EditError> {
    let used = || EditError::used(module, symbol);
    let mut found = Calls::default();
    let mut uses = module_uses(module, symbol).ok_or_else(used)?;
    let facts = ModuleFacts::new(module);
    for (caller, _, body) in module.definitions() {
        let facts = facts.function(caller);
        for (stmt, statement) in body.statements() {
            let mut symbols = symbols_of(body.walk(statement)).peekable();
            let callees = match (statement, &facts) {
                (Statement::Inst(inst), Some(facts)) => facts.inst(inst).callees(),
                (Statement::Opaque(_), _) if symbols.any(|s| s == symbol) => return Err(used()),
                // The calls through a table have its functions as callees.
                (Statement::Directive(_), _) => continue,
                _ => None,
            };
            match callees {
                Some(Callees::Function(callee)) => {
                    symbols.next_if_eq(&callee);
                    if callee == symbol {
                        found.calls.push((caller, stmt));
                    }
                }
                Some(Callees::List(list)) if list.operands.contains(&Operand::Symbol(symbol)) => {
                    if list.operands.iter().any(|o| *o != Operand::Symbol(symbol)) {
                        return Err(used());
                    }
                    found.calls.push((caller, stmt));
                }
                Some(Callees::Prototype(id)) => uses.indirect.push((caller, stmt, id)),
                Some(Callees::Unknown) => uses.unknown = true,
                _ => {}
            }
            uses.addresses.extend(symbols);
        }
    }
    if !uses.addresses.contains(symbol) {
        return Ok(found);
    }
    let same =
        |id: FuncId| have_same_type(module, Header::Function(function), Header::Function(id));
    let others = module
        .functions()
        .iter()
        .filter(|(_, f)| f.symbol != Some(symbol));
    let is_used = |s: Option<SymbolId>| s.is_some_and(|s| uses.addresses.contains(s));
    let ambiguous = others
        .filter(|(_, f)| is_used(f.symbol))
        .any(|(id, _)| same(id));
    for &(caller, stmt, id) in &uses.indirect {
        let prototype = Header::Prototype(caller, id);
        if have_same_type(module, Header::Function(function), prototype) {
            found.calls.push((caller, stmt));
            found.prototypes.push((caller, id));
        }
    }
    found.prototypes.sort_unstable();
    found.prototypes.dedup();
    if uses.unknown || ambiguous || found.prototypes.is_empty() {
        return Err(used());
    }
    Ok(found)
}

/// The uses of functions outside of functions: in initializers. `None` if something else uses the symbol.
fn module_uses(module: &Module, symbol: SymbolId) -> Option<Uses> {
    let mut uses = Uses::default();
    let pool = module.pool();
    for (_, item) in module.items() {
        let walk = match item {
            Item::Decl(id) => {
                let walk = module.declarations().walk(id, pool);
                uses.addresses.extend(symbols_of(walk));
                continue;
            }
            Item::Directive(id) => pool.walk(module.directives().get(id)?.args),
            Item::Opaque(id) => pool.walk(module.opaques().get(id)?.mentions),
            _ => continue,
        };
        if symbols_of(walk).any(|s| s == symbol) {
            return None;
        }
    }
    Some(uses)
}

fn symbols_of(operands: impl Iterator<Item = Operand>) -> impl Iterator<Item = SymbolId> {
    operands.filter_map(Operand::symbol)
}

/// Whether two headers have the same types of results and parameters.
fn have_same_type(module: &Module, a: Header, b: Header) -> bool {
    let interfaces = a.interface(module).zip(b.interface(module));
    interfaces.is_some_and(|(a, b)| {
        [ParamList::Results, ParamList::Parameters]
            .iter()
            .all(|list| {
                let a = list.range(&a).of(module.params());
                let b = list.range(&b).of(module.params());
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same_type(module, a, b))
            })
    })
}

fn is_same_type(module: &Module, a: &Param, b: &Param) -> bool {
    let pool = module.pool();
    let sizes = |p: &Param| -> Vec<Option<i64>> {
        let dims = pool.slice(p.dims).iter();
        dims.map(|d| pool.integer(*d)).collect()
    };
    (a.space, a.vector, a.ty) == (b.space, b.vector, b.ty) && sizes(a) == sizes(b)
}

/// The index of a list of a call among its operands.
#[derive(Copy, Clone)]
pub(super) enum CallList {
    /// At this index.
    At(usize),
    /// It would be inserted at this index.
    Absent(usize),
}

/// The elements of a list of a call.
pub(super) fn call_list(
    editor: &Editor<'_>,
    stmt: StmtId,
    list: ParamList,
) -> Result<(Vec<Operand>, CallList), EditError> {
    let (id, _) = editor.instruction(stmt)?;
    let body = editor.body();
    let operands = body.operands(id);
    let callee = operands.iter().position(|o| !matches!(o, Operand::List(_)));
    let callee = callee.ok_or(EditError::NoPart(String::from("callee")))?;
    let (index, absent) = match list {
        ParamList::Parameters => (Some(callee + 1), callee + 1),
        ParamList::Results => (callee.checked_sub(1), callee),
    };
    let found = index.and_then(|i| Some((i, operands.get(i)?)));
    Ok(match found {
        Some((i, &Operand::List(id))) => (body.pool().list(id).to_vec(), CallList::At(i)),
        _ => (Vec::new(), CallList::Absent(absent)),
    })
}

pub(super) fn write_call_list(
    editor: &mut Editor<'_>,
    stmt: StmtId,
    elements: &[Operand],
    at: CallList,
) -> Result<(), EditError> {
    let (id, _) = editor.instruction(stmt)?;
    let mut operands = editor.body().operands(id).to_vec();
    match (at, elements.is_empty()) {
        (CallList::At(i), false) => {
            let list = editor.list(elements)?;
            return editor.set_operand(stmt, i, list);
        }
        (CallList::At(i), true) => {
            operands.remove(i);
        }
        (CallList::Absent(i), false) => {
            let list = editor.list(elements)?;
            operands.insert(i.min(operands.len()), list);
        }
        (CallList::Absent(_), true) => return Ok(()),
    }
    editor.set_operands(stmt, &operands)
}
