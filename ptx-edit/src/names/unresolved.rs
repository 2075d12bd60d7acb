//! Names that are used where they are not resolved, and all names of a body.

use ptx_ir::{Body, Module, NameId, Operand, OperandPool, SectionEntry};

use super::{NameForm, TakenNames};

/// The ranges in tables of branch targets, such as `N<5>`.
pub(super) fn target_ranges(body: &Body) -> impl Iterator<Item = NameId> + '_ {
    body.pool().operands().iter().filter_map(|o| match *o {
        Operand::Range(name) => match body.pool().get(name) {
            Operand::Name(name) => Some(name),
            Operand::Label(id) => Some(body.labels().get(id)?.name),
            _ => None,
        },
        _ => None,
    })
}

/// The undeclared names in a pool.
pub(crate) fn undeclared(pool: &OperandPool) -> impl Iterator<Item = NameId> + '_ {
    let addresses = pool.addresses().iter().flat_map(|a| [a.base, a.offset]);
    let operands = pool.operands().iter().copied().chain(addresses);
    operands.filter_map(|o| match o {
        Operand::Name(name) => Some(name),
        _ => None,
    })
}

/// The names in debug sections, which are not resolved.
pub(crate) fn debug_names(module: &Module) -> impl Iterator<Item = NameId> + '_ {
    let entries = module.sections().values().flat_map(|s| &s.entries);
    entries.flat_map(|entry| {
        let (label, value) = match entry {
            SectionEntry::Label(name) => (Some(*name), None),
            SectionEntry::Other { value, .. } => (None, Some(module.pool().get(*value))),
            _ => (None, None),
        };
        let names = value
            .into_iter()
            .flat_map(|value| module.pool().walk_operand(value))
            .filter_map(|part| match part {
                Operand::Name(name) => Some(name),
                _ => None,
            });
        label.into_iter().chain(names)
    })
}

/// Returns whether a debug section contains a name.
pub(crate) fn is_debug_name(module: &Module, name: NameId) -> bool {
    debug_names(module).any(|n| n == name)
}

/// Returns whether a body or a debug section uses a name without resolving it.
pub(crate) fn is_unresolved(module: &Module, body: &Body, name: NameId) -> bool {
    let mut ranges = TakenNames::default();
    for range in target_ranges(body) {
        ranges.add(module.name_bytes(range), NameForm::Range);
    }
    is_debug_name(module, name)
        || undeclared(body.pool()).any(|n| n == name)
        || ranges.contains(module.name_bytes(name))
}

/// The names of the module outside functions, with undeclared names.
pub(crate) fn module_names(module: &Module) -> impl Iterator<Item = (NameId, NameForm)> + '_ {
    let symbols = module
        .symbols()
        .values()
        .map(|s| (s.name, NameForm::of(s.number)));
    let unresolved = undeclared(module.pool()).chain(debug_names(module));
    symbols.chain(unresolved.map(|n| (n, NameForm::Plain)))
}

/// The names of a body, with undeclared names.
pub(crate) fn body_names(body: &Body) -> impl Iterator<Item = (NameId, NameForm)> + '_ {
    let registers = body
        .reg_decls()
        .values()
        .map(|d| (d.name, NameForm::of(d.count)));
    let vars = body
        .vars()
        .values()
        .map(|v| (v.name, NameForm::of(v.number)));
    let labels = body.labels().values().map(|l| l.name);
    let plain_names = labels.chain(undeclared(body.pool()));
    let ranges = target_ranges(body).map(|n| (n, NameForm::Range));
    registers
        .chain(vars)
        .chain(plain_names.map(|n| (n, NameForm::Plain)))
        .chain(ranges)
}
