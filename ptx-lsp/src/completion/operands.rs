//! Completion of operands: the names that an instruction accepts at a position.

use lsp_types::CompletionItemKind;
use ptx_ir::{Body, RegDecl, Register, SymbolKind};
use ptx_isa::internals::{Expected, InstQuery};
use ptx_isa::{Form, Role, ScalarType};

use super::context::{Enclosing, OperandPosition};
use super::items::{Items, Rank};

/// The operands that the forms of an instruction accept at a position.
#[derive(Default)]
struct Accepted {
    roles: Vec<Role>,
    types: Vec<Expected>,
}

impl Accepted {
    fn at(position: &OperandPosition) -> Self {
        let mut accepted = Self::default();
        let query = InstQuery::new(position.opcode, &position.modifiers, &[]);
        for form in query.candidates() {
            let positions = possible_positions(form.form(), position.index);
            for (i, operand) in form.form().operands().iter().enumerate() {
                if positions.contains(&operand.position()) {
                    accepted.roles.push(operand.role());
                    accepted.types.extend(form.expected(i));
                }
            }
        }
        accepted
    }

    fn has_role(&self, roles: &[Role]) -> bool {
        self.roles.iter().any(|role| roles.contains(role))
    }

    /// Whether a register of a type has the width of an accepted type.
    fn accepts_register(&self, ty: Option<ScalarType>) -> bool {
        ty.is_some_and(|ty| {
            self.types.iter().any(|expected| match *expected {
                Expected::Type(accepted) => accepted.register_class() == ty.register_class(),
                Expected::Width(bits) => bits == ty.bits(),
                _ => false,
            })
        })
    }
}

/// The positions of a form that the operand with this index in the text may have. There are several if optional operands are omitted.
fn possible_positions(form: &Form, index: usize) -> Vec<u8> {
    let mut operands: Vec<(u8, bool)> = Vec::new();
    for operand in form.operands() {
        match operands.last_mut() {
            Some((position, is_optional)) if *position == operand.position() => {
                *is_optional &= operand.is_optional();
            }
            _ => operands.push((operand.position(), operand.is_optional())),
        }
    }
    let mut omittable = 0;
    let mut positions = Vec::new();
    for (i, (position, is_optional)) in operands.into_iter().enumerate() {
        if i >= index && i - index <= omittable {
            positions.push(position);
        }
        omittable += usize::from(is_optional);
    }
    positions
}

/// Adds the names that an instruction accepts at a position.
pub(super) fn add_operands(items: &mut Items<'_>, body: Option<&Body>, position: &OperandPosition) {
    match position.enclosing {
        Enclosing::Arguments => {
            add_variables(items, body, Rank::Likely);
            add_registers(items, body, |_| Rank::Possible);
            return;
        }
        Enclosing::Address => {
            add_variables(items, body, Rank::Likely);
            add_registers(items, body, |ty| match ty {
                Some(ty) if ty.bits() >= 32 => Rank::Possible,
                _ => Rank::Unlikely,
            });
            return;
        }
        Enclosing::Nothing => {}
    }
    let accepted = Accepted::at(position);
    let is_unknown = accepted.roles.is_empty();
    if accepted.has_role(&[Role::Label, Role::LabelTable]) {
        add_labels(items, body);
    }
    if accepted.has_role(&[Role::Func]) {
        add_functions(items, Rank::Likely);
    }
    if is_unknown || accepted.has_role(&[Role::Def, Role::Use, Role::ReadWrite]) {
        add_registers(items, body, |ty| likely_if(accepted.accepts_register(ty)));
    }
    if accepted.has_role(&[Role::Symbol]) {
        add_variables(items, body, Rank::Likely);
    }
    if accepted.has_role(&[Role::Sreg]) {
        items.add_special_registers(Rank::Likely);
        add_functions(items, Rank::Unlikely);
    } else if accepted.has_role(&[Role::Use]) && position.index > 0 {
        items.add_special_registers(Rank::Unlikely);
    }
}

const fn likely_if(is_likely: bool) -> Rank {
    if is_likely {
        Rank::Likely
    } else {
        Rank::Unlikely
    }
}

/// Adds registers for a guard.
pub(super) fn add_predicates(items: &mut Items<'_>, body: Option<&Body>) {
    add_registers(items, body, |ty| likely_if(ty == Some(ScalarType::Pred)));
}

/// Adds the registers that the body mentions, and the first register of each range of which it mentions none.
fn add_registers(
    items: &mut Items<'_>,
    body: Option<&Body>,
    rank: impl Fn(Option<ScalarType>) -> Rank,
) {
    let Some(body) = body else { return };
    let mut mentioned: Vec<&Register> = body.registers().values().collect();
    mentioned.sort_unstable_by_key(|r| (r.decl, r.number));
    mentioned.dedup();
    let mut is_mentioned = vec![false; body.reg_decls().len()];
    for register in mentioned {
        if let Some(decl) = body.reg_decls().get(register.decl) {
            add_register(items, decl, register.number, &rank);
            if let Some(is_mentioned) = is_mentioned.get_mut(register.decl.as_u32() as usize) {
                *is_mentioned = true;
            }
        }
    }
    for (decl, is_mentioned) in body.reg_decls().values().zip(is_mentioned) {
        if !is_mentioned {
            add_register(items, decl, 0, &rank);
        }
    }
}

/// Adds a register. `number` is its number in a range.
fn add_register(
    items: &mut Items<'_>,
    decl: &RegDecl,
    number: u32,
    rank: impl Fn(Option<ScalarType>) -> Rank,
) {
    let name = items.document.module().name(decl.name);
    let text = match decl.count {
        Some(_) => format!("{name}{number}"),
        None => name.to_owned(),
    };
    let ty = decl.ty.known();
    let detail = ty.map_or("", ScalarType::text);
    items.add(&text, CompletionItemKind::VARIABLE, rank(ty), detail);
}

/// Adds the parameters and variables of the body, and the variables of the module.
fn add_variables(items: &mut Items<'_>, body: Option<&Body>, rank: Rank) {
    let module = items.document.module();
    for var in body.iter().flat_map(|b| b.vars().values()) {
        if var.number.is_none() {
            items.add_name(
                module.name(var.name),
                CompletionItemKind::FIELD,
                rank,
                var.space.text(),
            );
        }
    }
    for symbol in module.symbols().values() {
        if let SymbolKind::Variable(space, _) = symbol.kind
            && symbol.number.is_none()
        {
            let name = module.name(symbol.name);
            items.add_name(name, CompletionItemKind::FIELD, rank, space.text());
        }
    }
}

fn add_functions(items: &mut Items<'_>, rank: Rank) {
    let module = items.document.module();
    for symbol in module.symbols().values() {
        if let SymbolKind::Function(_) = symbol.kind {
            items.add_name(
                module.name(symbol.name),
                CompletionItemKind::FUNCTION,
                rank,
                ".func",
            );
        }
    }
}

fn add_labels(items: &mut Items<'_>, body: Option<&Body>) {
    let module = items.document.module();
    for label in body.iter().flat_map(|b| b.labels().values()) {
        let name = module.name(label.name);
        items.add(name, CompletionItemKind::REFERENCE, Rank::Likely, "label");
    }
}
