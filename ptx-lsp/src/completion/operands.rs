//! Operands: names that an instruction takes at a position.

use lsp_types::CompletionItemKind;
use ptx_ir::{Body, RegDecl, Register, SymbolKind};
use ptx_isa::{Expected, Form, InstQuery, Modifier, Opcode, Role, ScalarType};

use super::context::Within;
use super::items::{Items, Rank};

/// What the forms of an instruction take at a position.
#[derive(Default)]
struct Taken {
    roles: Vec<Role>,
    types: Vec<Expected>,
}

impl Taken {
    fn at(opcode: Opcode, modifiers: &[Modifier], position: usize) -> Self {
        let mut taken = Self::default();
        let query = InstQuery::new(opcode, modifiers, &[]);
        for form in query.candidates() {
            let reachable = reachable(form.form(), position);
            let operands = form.form().operands().iter().enumerate();
            for (i, operand) in operands.filter(|(_, o)| reachable.contains(&o.position())) {
                taken.roles.push(operand.role());
                taken.types.extend(form.expected(i));
            }
        }
        taken
    }

    fn has(&self, roles: &[Role]) -> bool {
        self.roles.iter().any(|r| roles.contains(r))
    }

    /// Whether a register of a type may hold a value that is wanted.
    fn fits(&self, ty: Option<ScalarType>) -> bool {
        let width = |t: ScalarType| t.register_class();
        self.types.iter().any(|expected| match (*expected, ty) {
            (Expected::Type(wanted), Some(ty)) => width(wanted) == width(ty),
            (Expected::Width(bits), Some(ty)) => bits == ty.bits(),
            _ => false,
        })
    }
}

/// The positions of a form that come after this many operands, if optional ones are left out.
fn reachable(form: &Form, written: usize) -> Vec<u8> {
    let mut positions: Vec<(u8, bool)> = Vec::new();
    for operand in form.operands() {
        match positions.last_mut() {
            Some((last, optional)) if *last == operand.position() => {
                *optional &= operand.is_optional()
            }
            _ => positions.push((operand.position(), operand.is_optional())),
        }
    }
    let mut left_out = 0;
    let mut found = Vec::new();
    for (i, (position, optional)) in positions.into_iter().enumerate() {
        if i >= written && i - written <= left_out {
            found.push(position);
        }
        left_out += usize::from(optional);
    }
    found
}

/// The operands that an instruction takes at a position.
pub(super) fn operand(
    items: &mut Items<'_>,
    body: Option<&Body>,
    (opcode, modifiers): (Opcode, &[Modifier]),
    position: usize,
    within: Within,
) {
    let taken = Taken::at(opcode, modifiers, position);
    let unknown = taken.roles.is_empty();
    if within == Within::Arguments {
        variables(items, body, Rank::Likely);
        registers(items, body, |_| Rank::Possible);
        return;
    }
    if within == Within::Address {
        variables(items, body, Rank::Likely);
        registers(items, body, |ty| match ty.is_some_and(|t| t.bits() >= 32) {
            true => Rank::Possible,
            false => Rank::Unlikely,
        });
        return;
    }
    if taken.has(&[Role::Label, Role::LabelTable]) {
        labels(items, body);
    }
    if taken.has(&[Role::Func]) {
        functions(items, Rank::Likely);
    }
    if unknown || taken.has(&[Role::Def, Role::Use, Role::ReadWrite]) {
        registers(items, body, |ty| match taken.fits(ty) {
            true => Rank::Likely,
            false => Rank::Unlikely,
        });
    }
    if taken.has(&[Role::Symbol]) {
        variables(items, body, Rank::Likely);
    }
    if taken.has(&[Role::Sreg]) {
        items.special_registers(Rank::Likely);
        functions(items, Rank::Unlikely);
    } else if taken.has(&[Role::Use]) && position > 0 {
        items.special_registers(Rank::Unlikely);
    }
}

/// Registers for a guard.
pub(super) fn predicates(items: &mut Items<'_>, body: Option<&Body>) {
    registers(items, body, |ty| match ty == Some(ScalarType::Pred) {
        true => Rank::Likely,
        false => Rank::Unlikely,
    });
}

/// The registers that the body mentions, and one of each range that has none so far.
fn registers(
    items: &mut Items<'_>,
    body: Option<&Body>,
    rank: impl Fn(Option<ScalarType>) -> Rank,
) {
    let Some(body) = body else { return };
    let document = items.document;
    let module = document.module();
    let mut add = |decl: &RegDecl, number: Option<u32>| {
        let name = module.name(decl.name);
        let text = match number {
            Some(number) => format!("{name}{number}"),
            None => name.to_owned(),
        };
        let ty = decl.ty.known();
        let detail = ty.map_or("", ScalarType::text);
        items.add(&text, CompletionItemKind::VARIABLE, rank(ty), detail);
    };
    let mut mentioned: Vec<&Register> = body.registers().values().collect();
    mentioned.sort_unstable_by_key(|r| (r.decl, r.number));
    mentioned.dedup();
    let mut known = vec![false; body.reg_decls().len()];
    for register in mentioned {
        if let Some(decl) = body.reg_decls().get(register.decl) {
            add(decl, decl.count.map(|_| register.number));
            if let Some(known) = known.get_mut(register.decl.as_u32() as usize) {
                *known = true;
            }
        }
    }
    for (decl, known) in body.reg_decls().values().zip(known) {
        if !known {
            add(decl, decl.count.map(|_| 0));
        }
    }
}

/// Parameters and variables of the body, and variables of the module.
fn variables(items: &mut Items<'_>, body: Option<&Body>, rank: Rank) {
    let module = items.document.module();
    for var in body.iter().flat_map(|b| b.vars().values()) {
        if var.number.is_none() {
            items.name(
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
            items.name(name, CompletionItemKind::FIELD, rank, space.text());
        }
    }
}

fn functions(items: &mut Items<'_>, rank: Rank) {
    let module = items.document.module();
    for symbol in module.symbols().values() {
        if let SymbolKind::Function(_) = symbol.kind {
            items.name(
                module.name(symbol.name),
                CompletionItemKind::FUNCTION,
                rank,
                ".func",
            );
        }
    }
}

fn labels(items: &mut Items<'_>, body: Option<&Body>) {
    let module = items.document.module();
    for label in body.iter().flat_map(|b| b.labels().values()) {
        let name = module.name(label.name);
        items.add(name, CompletionItemKind::REFERENCE, Rank::Likely, "label");
    }
}
