//! The calls of a function.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::facts::{Callees, ModuleFacts};
use ptx_ir::raw::EntitySet;
use ptx_ir::{FuncId, Item, Module, Operand, Param, PrototypeId, Statement, StmtId, SymbolId};

use super::ParamList;
use super::header::Header;
use crate::{EditError, Editor};

/// All calls that can reach a function, and the prototypes of the indirect ones.
#[derive(Default)]
pub(super) struct Calls {
    /// The direct and indirect calls, each with the function that contains it.
    pub(super) calls: Vec<(FuncId, StmtId)>,
    /// The prototypes of the indirect calls, each with the function that contains it.
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
    let mut result = Calls::default();
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
                        result.calls.push((caller, stmt));
                    }
                }
                Some(Callees::List(list)) if list.operands.contains(&Operand::Symbol(symbol)) => {
                    if list.operands.iter().any(|o| *o != Operand::Symbol(symbol)) {
                        return Err(used());
                    }
                    result.calls.push((caller, stmt));
                }
                Some(Callees::Prototype(id)) => uses.indirect.push((caller, stmt, id)),
                Some(Callees::Unknown) => uses.unknown = true,
                _ => {}
            }
            uses.addresses.extend(symbols);
        }
    }
    if !uses.addresses.contains(symbol) {
        return Ok(result);
    }
    // An indirect call may then call another function.
    let is_ambiguous = module.functions().iter().any(|(id, f)| {
        f.symbol != Some(symbol)
            && f.symbol.is_some_and(|s| uses.addresses.contains(s))
            && have_same_type(module, Header::Function(function), Header::Function(id))
    });
    for &(caller, stmt, id) in &uses.indirect {
        let prototype = Header::Prototype(caller, id);
        if have_same_type(module, Header::Function(function), prototype) {
            result.calls.push((caller, stmt));
            result.prototypes.push((caller, id));
        }
    }
    result.prototypes.sort_unstable();
    result.prototypes.dedup();
    if uses.unknown || is_ambiguous || result.prototypes.is_empty() {
        return Err(used());
    }
    Ok(result)
}

/// The uses of functions in the initializers of variables of the module. `None` if another item than a variable or a function
/// uses the symbol.
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

/// Returns whether two headers have the same types of results and parameters.
fn have_same_type(module: &Module, a: Header, b: Header) -> bool {
    let (Some(a), Some(b)) = (a.interface(module), b.interface(module)) else {
        return false;
    };
    [ParamList::Results, ParamList::Parameters]
        .iter()
        .all(|list| {
            let a = list.range(&a).of(module.params());
            let b = list.range(&b).of(module.params());
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same_type(module, a, b))
        })
}

fn is_same_type(module: &Module, a: &Param, b: &Param) -> bool {
    let pool = module.pool();
    let sizes = |p: &Param| pool.slice(p.dims).iter().map(|d| pool.integer(*d));
    (a.space, a.vector, a.ty) == (b.space, b.vector, b.ty) && sizes(a).eq(sizes(b))
}

/// The index of a list of a call among its operands.
#[derive(Copy, Clone)]
pub(super) enum CallList {
    /// The list is the operand of this index.
    At(usize),
    /// The call has no such list; it would be inserted at this index.
    Absent(usize),
}

/// The elements of the results or the arguments of a call, and the index of the list.
pub(super) fn call_list(
    editor: &Editor<'_>,
    stmt: StmtId,
    list: ParamList,
) -> Result<(Vec<Operand>, CallList), EditError> {
    let (id, _) = editor.instruction(stmt)?;
    let body = editor.body();
    let operands = body.operands(id);
    let callee = operands
        .iter()
        .position(|o| !matches!(o, Operand::List(_)))
        .ok_or(EditError::NoPart(String::from("callee")))?;
    let (index, insertion_index) = match list {
        ParamList::Parameters => (Some(callee + 1), callee + 1),
        ParamList::Results => (callee.checked_sub(1), callee),
    };
    let list_operand = index.and_then(|i| Some((i, operands.get(i)?)));
    Ok(match list_operand {
        Some((i, &Operand::List(id))) => (body.pool().list(id).to_vec(), CallList::At(i)),
        _ => (Vec::new(), CallList::Absent(insertion_index)),
    })
}

/// Replaces, inserts or removes a list of a call, so that it has these elements.
pub(super) fn write_call_list(
    editor: &mut Editor<'_>,
    stmt: StmtId,
    elements: &[Operand],
    list: CallList,
) -> Result<(), EditError> {
    let (id, _) = editor.instruction(stmt)?;
    let mut operands = editor.body().operands(id).to_vec();
    match (list, elements.is_empty()) {
        (CallList::At(i), false) => {
            let operand = editor.list(elements)?;
            return editor.set_operand(stmt, i, operand);
        }
        (CallList::At(i), true) => {
            operands.remove(i);
        }
        (CallList::Absent(i), false) => {
            let operand = editor.list(elements)?;
            operands.insert(i.min(operands.len()), operand);
        }
        (CallList::Absent(_), true) => return Ok(()),
    }
    editor.set_operands(stmt, &operands)
}
