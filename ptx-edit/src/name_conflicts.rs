//! Whether a new name is free: no text that spells it, or a member of it, means something else already.

use alloc::string::String;

use ptx_ir::{Body, Module, NameId, Operand, OperandPool, SectionEntry};
use ptx_isa::SpecialReg;

use crate::EditError;
use crate::names::is_identifier;

/// What a name declares.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum NameForm {
    /// One thing, `x`.
    Plain,
    /// The members of a range, `x<9>`: `x0` to `x8`.
    Range,
}

impl NameForm {
    /// The form of a name with a count or a number of its own.
    pub(crate) fn of<T>(number: Option<T>) -> Self {
        number.map_or(Self::Plain, |_| Self::Range)
    }
}

/// Whether a text can spell both: the names are the same, or one is that of a range and the other continues it with digits.
fn overlap((a, a_form): (&str, NameForm), (b, b_form): (&str, NameForm)) -> bool {
    let continues = |range: &str, name: &str| {
        let rest = name.strip_prefix(range);
        rest.is_some_and(|r| r.bytes().all(|b| b.is_ascii_digit()))
    };
    a == b
        || a_form == NameForm::Range && continues(a, b)
        || b_form == NameForm::Range && continues(b, a)
}

/// Where a new name is visible.
#[derive(Copy, Clone)]
pub(crate) enum Visible<'m> {
    /// In one function.
    In(&'m Body),
    /// In the whole module.
    Everywhere,
}

/// Checks that a name can be declared and that nothing which is visible with it has a name that overlaps it. Linear in the
/// names, unless no name of the module can overlap it.
pub(crate) fn check_new_name(
    module: &Module,
    name: &str,
    form: NameForm,
    visible: Visible<'_>,
) -> Result<(), EditError> {
    check_spelling(name, form)?;
    if form == NameForm::Plain && is_new(module, name) {
        return Ok(());
    }
    let mut found: Option<NameId> = None;
    let mut see = |other: NameId, other_form: NameForm| {
        if found.is_none() && overlap((name, form), (module.name(other), other_form)) {
            found = Some(other);
        }
    };
    names_of_module(module, &mut see);
    match visible {
        Visible::In(body) => names_of_body(body, &mut see),
        Visible::Everywhere => module
            .bodies()
            .values()
            .for_each(|b| names_of_body(b, &mut see)),
    }
    match found.map(|other| String::from(module.name(other))) {
        None => Ok(()),
        Some(other) if other == name => Err(EditError::Taken(other)),
        Some(other) => Err(EditError::Overlap {
            name: String::from(name),
            other,
        }),
    }
}

/// Whether the module has no spelling that a plain name could overlap: neither the name nor one that it continues by digits.
fn is_new(module: &Module, name: &str) -> bool {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let mut splits = (stem..=name.len()).filter_map(|at| name.get(..at));
    !splits.any(|prefix| module.find_name(prefix.as_bytes()).is_some())
}

/// Checks that a name can be declared at all.
fn check_spelling(name: &str, form: NameForm) -> Result<(), EditError> {
    let wrong = |wanted| EditError::Spelling {
        wanted,
        text: String::from(name),
    };
    if !is_identifier(name) {
        return Err(wrong("name"));
    }
    // ptxas takes all digits at the end of a name as the number of a member.
    if form == NameForm::Range && name.ends_with(|c: char| c.is_ascii_digit()) {
        return Err(wrong("name of a range, which must not end with a digit"));
    }
    if SpecialReg::from_text(name.as_bytes()).is_some() || name == "WARP_SZ" {
        return Err(EditError::Taken(String::from(name)));
    }
    Ok(())
}

/// The names of the module: its symbols, and what is used outside functions and not declared.
fn names_of_module(module: &Module, see: &mut impl FnMut(NameId, NameForm)) {
    for symbol in module.symbols().values() {
        see(symbol.name, NameForm::of(symbol.number));
    }
    unresolved_names(module.pool(), see);
    for section in module.sections().values() {
        for entry in &section.entries {
            if let SectionEntry::Label(name) = *entry {
                see(name, NameForm::Plain);
            }
        }
    }
}

/// The names of a body: what it declares, and what it uses and nothing declares.
fn names_of_body(body: &Body, see: &mut impl FnMut(NameId, NameForm)) {
    for decl in body.reg_decls().values() {
        see(decl.name, NameForm::of(decl.count));
    }
    for var in body.vars().values() {
        see(var.name, NameForm::of(var.number));
    }
    for label in body.labels().values() {
        see(label.name, NameForm::Plain);
    }
    unresolved_names(body.pool(), see);
}

/// The undeclared names that operands use, and those of ranges in tables of labels.
fn unresolved_names(pool: &OperandPool, see: &mut impl FnMut(NameId, NameForm)) {
    for &operand in pool.operands() {
        match operand {
            Operand::Name(name) => see(name, NameForm::Plain),
            Operand::Range(at) => {
                if let Operand::Name(name) = pool.get(at) {
                    see(name, NameForm::Range);
                }
            }
            _ => {}
        }
    }
    for address in pool.addresses() {
        for operand in [address.base, address.offset] {
            if let Operand::Name(name) = operand {
                see(name, NameForm::Plain);
            }
        }
    }
}
