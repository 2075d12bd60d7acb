//! The calls of a function.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::facts::{Callees, ModuleFacts};
use ptx_ir::raw::EntitySet;
use ptx_ir::{
    FuncId, Item, ItemId, Module, Operand, Param, PrototypeId, Statement, StmtId, SymbolId,
};

use super::ParamList;
use super::header::Header;
use crate::error::symbol_name;
use crate::{EditError, Editor, UsePlace, UsedBy};

/// All calls that can reach a function, and the prototypes of the indirect ones.
#[derive(Default)]
pub(super) struct Calls {
    /// The direct and indirect calls, each with the function that contains it.
    pub(super) calls: Vec<(FuncId, StmtId)>,
    /// The prototypes of the indirect calls, each with the function that contains it.
    pub(super) prototypes: Vec<(FuncId, PrototypeId)>,
}

/// A place that takes the address of a function.
#[derive(Copy, Clone)]
enum AddressUse {
    Item(ItemId),
    Statement(FuncId, StmtId),
}

/// The uses of functions.
#[derive(Default)]
struct Uses {
    /// The symbols that are used other than by direct calls.
    addresses: EntitySet<SymbolId>,
    /// The first place that takes the address of the function whose calls are searched.
    address: Option<AddressUse>,
    /// The indirect calls through a prototype.
    indirect: Vec<(FuncId, StmtId, PrototypeId)>,
    /// The first call that can reach any function.
    unknown: Option<(FuncId, StmtId)>,
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
    let used = |by| EditError::used(module, symbol, by);
    let mut result = Calls::default();
    let mut uses = module_uses(module, symbol)
        .map_err(|item| used(UsedBy::Use(UsePlace::item(module, item))))?;
    let facts = ModuleFacts::new(module);
    for (caller, _, body) in module.definitions() {
        let facts = facts.function(caller);
        for (stmt, statement) in body.statements() {
            let mut symbols = symbols_of(body.walk(statement)).peekable();
            let place = || UsePlace::statement(module, caller, stmt);
            let callees = match (statement, &facts) {
                (Statement::Inst(inst), Some(facts)) => facts.inst(inst).callees(),
                (Statement::Opaque(_), _) if symbols.any(|s| s == symbol) => {
                    return Err(used(UsedBy::Use(place())));
                }
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
                        return Err(used(UsedBy::Call(place())));
                    }
                    result.calls.push((caller, stmt));
                }
                Some(Callees::Prototype(id)) => uses.indirect.push((caller, stmt, id)),
                Some(Callees::Unknown) => {
                    uses.unknown.get_or_insert((caller, stmt));
                }
                _ => {}
            }
            for address in symbols {
                if address == symbol {
                    uses.address
                        .get_or_insert(AddressUse::Statement(caller, stmt));
                }
                uses.addresses.insert(address);
            }
        }
    }
    if uses.addresses.contains(symbol) {
        add_indirect_calls(module, function, symbol, &uses, result)
    } else {
        Ok(result)
    }
}

/// Adds the indirect calls of a function whose address is used.
///
/// # Errors
///
/// [`EditError::Used`] if they cannot be determined.
fn add_indirect_calls(
    module: &Module,
    function: FuncId,
    symbol: SymbolId,
    uses: &Uses,
    mut result: Calls,
) -> Result<Calls, EditError> {
    let used = |by| EditError::used(module, symbol, by);
    // An indirect call may call another function.
    let other = module.functions().iter().find_map(|(id, f)| {
        let other = f
            .symbol
            .filter(|s| *s != symbol && uses.addresses.contains(*s))?;
        have_same_type(module, Header::Function(function), Header::Function(id)).then_some(other)
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
    if let Some((caller, stmt)) = uses.unknown {
        let place = UsePlace::statement(module, caller, stmt);
        return Err(used(UsedBy::Call(place)));
    }
    if other.is_none() && !result.prototypes.is_empty() {
        return Ok(result);
    }
    let place = match uses.address {
        Some(AddressUse::Item(item)) => UsePlace::item(module, item),
        Some(AddressUse::Statement(caller, stmt)) => UsePlace::statement(module, caller, stmt),
        None => return Err(used(UsedBy::Unresolved)),
    };
    Err(used(match other {
        Some(other) => UsedBy::SharedAddress {
            place,
            other: symbol_name(module, other),
        },
        None => UsedBy::Address(place),
    }))
}

/// The uses of functions in the initializers of variables of the module.
///
/// # Errors
///
/// An item that is neither a variable nor a function and uses the symbol.
fn module_uses(module: &Module, symbol: SymbolId) -> Result<Uses, ItemId> {
    let mut uses = Uses::default();
    let pool = module.pool();
    for (id, item) in module.items() {
        let operands = match item {
            Item::Decl(decl) => {
                for address in symbols_of(module.declarations().walk(decl, pool)) {
                    if address == symbol {
                        uses.address.get_or_insert(AddressUse::Item(id));
                    }
                    uses.addresses.insert(address);
                }
                continue;
            }
            Item::Directive(directive) => module.directives().get(directive).map(|d| d.args),
            Item::Opaque(opaque) => module.opaques().get(opaque).map(|o| o.mentions),
            _ => None,
        };
        let is_use =
            operands.is_some_and(|range| symbols_of(pool.walk(range)).any(|s| s == symbol));
        if is_use {
            return Err(id);
        }
    }
    Ok(uses)
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
