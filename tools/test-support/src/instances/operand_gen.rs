//! Chooses operands for a form: starts with simple operands and changes those that the tables refuse.

use std::ptr;

use fastrand::Rng;
use ptx_isa::internals::{
    FormOperand, Nesting, OperandViolation, Rule, TableKind, TypeExpr, Violation,
};
use ptx_isa::{
    Form, Instruction, Marks, Modifier, Role, ScalarType, SpecialReg, StateSpace, TypeKind,
};

use super::case::Case;
use super::operand::{Kind, Operand, REGISTERS, Sign, ask};

/// The greatest number of rounds in which illegal operands are changed.
const ROUNDS: usize = 60;
/// The greatest number of times that all operands are chosen again after a violated rule.
const REROLLS: usize = 6;
/// The spaces of the variables around the cases.
pub const SPACES: [StateSpace; 6] = [
    StateSpace::Global,
    StateSpace::Shared,
    StateSpace::Const,
    StateSpace::Local,
    StateSpace::ParamEntry,
    StateSpace::ParamFunc,
];
/// Selectors of a register, with the marks that allow them.
const SELECTORS: [(Marks, &str); 6] = [
    (Marks::LANES, ".b1"),
    (Marks::LANES, ".h1"),
    (Marks::LANES16, ".h10"),
    (Marks::LANES16, ".h20"),
    (Marks::LANES8, ".b3210"),
    (Marks::LANES8, ".b310"),
];

/// The candidates for one operand of the form.
struct Candidates {
    is_present: bool,
    /// The length of the vector, if the operand is one.
    length: Option<u16>,
    choices: Vec<Operand>,
    /// The index of the current choice.
    chosen: usize,
    /// The number of choices that were refused since all operands were chosen.
    refused: usize,
}

/// A case for a form and its modifiers that is legal, or refused only because of the rule `but_for`.
pub fn fill(
    instruction: &'static Instruction,
    form: &'static Form,
    words: &[Modifier],
    but_for: Option<&Rule>,
    rng: &mut Rng,
) -> Option<Case> {
    let modifiers = [instruction.words(), words].concat();
    let mut candidates = candidates(form, words, rng)?;
    reroll(&mut candidates, rng);
    let mut rerolls = 0;
    for _ in 0..ROUNDS {
        let operands = assemble(form, &candidates)?;
        let violations = ask(instruction.opcode(), &modifiers, &operands, |request| {
            request
                .candidates()
                .find(|s| ptr::eq(s.form(), form))
                .map(|s| *s.violations())
        })?;
        let (is_done, kind) = match (but_for, violations.as_slice()) {
            (None, violations) => (violations.is_empty(), "form"),
            (Some(rule), &[Violation::Rule(violated)]) => (ptr::eq(rule, violated), "rule"),
            (Some(_), _) => (false, "rule"),
        };
        if is_done {
            let opcode = instruction.opcode();
            return Some(Case {
                kind,
                opcode,
                modifiers,
                operands,
            });
        }
        if !repair(&mut candidates, violations.as_slice())? {
            rerolls += 1;
            if rerolls > REROLLS || form.operands().is_empty() {
                return None;
            }
            reroll(&mut candidates, rng);
            for (operand, form_operand) in candidates.iter_mut().zip(form.operands()) {
                operand.is_present = !form_operand.is_optional() || rng.bool();
            }
        }
    }
    None
}

/// The choices for each operand of a form.
fn candidates(form: &Form, words: &[Modifier], rng: &mut Rng) -> Option<Vec<Candidates>> {
    let assignment = form.match_modifiers(words)?;
    let slot_type = |slot: u8| {
        let slot = usize::from(slot);
        let word = assignment.word(slot).or_else(|| form.slot(slot)?.default());
        word?.scalar_type()
    };
    let mut candidates = Vec::new();
    for (i, operand) in form.operands().iter().enumerate() {
        candidates.push(Candidates {
            is_present: !operand.is_optional() || operand.condition().is_none() && rng.bool(),
            length: None,
            choices: choices(i as u16, operand, &slot_type),
            chosen: 0,
            refused: 0,
        });
    }
    Some(candidates)
}

/// Chooses operands again, mostly the simplest ones.
fn reroll(candidates: &mut [Candidates], rng: &mut Rng) {
    for operand in candidates {
        operand.refused = 0;
        operand.chosen = match rng.u8(..4) {
            0 => rng.usize(..operand.choices.len().max(1)),
            _ => 0,
        };
    }
}

/// Changes the illegal operands. Returns whether there were any, or `None` if all choices of one are illegal.
fn repair(candidates: &mut [Candidates], violations: &[Violation]) -> Option<bool> {
    let mut has_changed = false;
    for violation in violations {
        let &Violation::Operand(index, violation) = violation else {
            continue;
        };
        let operand = candidates.get_mut(index)?;
        has_changed = true;
        match violation {
            OperandViolation::Missing => operand.is_present = true,
            OperandViolation::Unexpected => operand.is_present = false,
            OperandViolation::Length(n) if operand.length != Some(n) => operand.length = Some(n),
            _ => {
                operand.chosen = (operand.chosen + 1) % operand.choices.len().max(1);
                operand.refused += 1;
                if operand.refused > operand.choices.len() {
                    return None;
                }
            }
        }
    }
    Some(has_changed)
}

/// The comma-separated operands of the current choices.
fn assemble(form: &Form, candidates: &[Candidates]) -> Option<Vec<Operand>> {
    let mut positions: Vec<(u8, Nesting, Vec<Operand>)> = Vec::new();
    let has_role = |role: Role| {
        form.operands()
            .iter()
            .zip(candidates)
            .any(|(form_operand, operand)| form_operand.role() == role && operand.is_present)
    };
    let (results, parameters) = (has_role(Role::Rets).into(), has_role(Role::Args).into());
    for (form_operand, candidates) in form.operands().iter().zip(candidates) {
        if !candidates.is_present {
            continue;
        }
        let mut operand = candidates.choices.get(candidates.chosen)?.clone();
        match &mut operand.kind {
            Kind::Function(r, p) | Kind::Table(_, r, p) => (*r, *p) = (results, parameters),
            _ => {}
        }
        if let Some(length) = candidates.length {
            operand = vector(&operand, length);
        }
        let position = form_operand.position();
        match positions.last_mut() {
            Some((last, _, parts)) if *last == position => parts.push(operand),
            _ => positions.push((position, form_operand.nesting(), vec![operand])),
        }
    }
    let mut operands = Vec::new();
    for (_, nesting, parts) in positions {
        operands.push(nest(nesting, parts));
    }
    Some(operands)
}

/// The operand of one position with its parts.
fn nest(nesting: Nesting, mut parts: Vec<Operand>) -> Operand {
    match nesting {
        Nesting::Bracket(_) => {
            // `.unified` follows the bracket, not the operand in it.
            let unified = parts.iter().any(|p| p.unified);
            parts.iter_mut().for_each(|p| p.unified = false);
            let mut bracket = Operand::new(Kind::Bracket(parts));
            bracket.unified = unified;
            bracket
        }
        Nesting::Vector(_) => Operand::new(Kind::Vector(parts)),
        Nesting::Parentheses if !matches!(parts.first(), Some(p) if matches!(p.kind, Kind::List(_))) => {
            Operand::new(Kind::List(parts))
        }
        _ if parts.len() == 2 => Operand::new(Kind::Pair(parts)),
        _ => parts.remove(0),
    }
}

/// A vector of `length` operands like the first.
pub fn vector(first: &Operand, length: u16) -> Operand {
    if let Kind::SpecialVector(_) = first.kind {
        return first.clone();
    }
    let mut elements = Vec::new();
    for i in 0..length {
        let mut element = first.clone();
        match &mut element.kind {
            Kind::Register(_, number) => *number = (*number + i) % REGISTERS,
            // A vector contains `_` once; its other elements are registers.
            Kind::Sink if i > 0 => element = Operand::register(ScalarType::B32, i),
            _ => {}
        }
        elements.push(element);
    }
    Operand::new(Kind::Vector(elements))
}

/// All candidates for an operand, the simplest first; many of them are refused.
fn choices(
    index: u16,
    form_operand: &FormOperand,
    slot_type: &impl Fn(u8) -> Option<ScalarType>,
) -> Vec<Operand> {
    let mut out = Vec::new();
    let number = index * 4;
    match form_operand.role() {
        Role::Def | Role::Use | Role::ReadWrite => {
            registers(number, form_operand, slot_type, &mut out);
            if form_operand.role() == Role::Use {
                constants(form_operand, &mut out);
            }
        }
        Role::Imm => constants(form_operand, &mut out),
        Role::Addr => addresses(number, form_operand, &mut out),
        Role::Label => out.push(Operand::new(Kind::Label)),
        Role::Func if form_operand.marks().contains(Marks::REG) => {
            out.push(Operand::register(ScalarType::B64, number))
        }
        Role::Func => out.push(Operand::new(Kind::Function(0, 0))),
        Role::Symbol => out.extend(variables()),
        Role::Args | Role::Rets => {
            let parameter = Kind::Variable(StateSpace::ParamFunc, ScalarType::B32);
            out.push(Operand::new(Kind::List(vec![Operand::new(parameter)])));
        }
        Role::LabelTable => {
            // The form accepts every kind of table.
            for kind in [TableKind::Branches, TableKind::Calls, TableKind::Prototype] {
                out.push(Operand::new(Kind::Table(kind, 0, 0)));
            }
        }
        Role::Sreg => special_registers(&mut out),
        _ => {}
    }
    out
}

/// Registers of the type of the operand, of bits types, and with signs and selectors.
fn registers(
    number: u16,
    form_operand: &FormOperand,
    slot_type: &impl Fn(u8) -> Option<ScalarType>,
    out: &mut Vec<Operand>,
) {
    let has = |mark| form_operand.marks().contains(mark);
    let exact = match form_operand.ty() {
        TypeExpr::Scalar(ty) => Some(ty),
        ty => ty.slot().and_then(slot_type),
    };
    let mut types: Vec<ScalarType> = exact.into_iter().collect();
    types.extend(bits());
    types.retain(|t| t.is_register_type());
    types.dedup();
    out.extend(types.iter().map(|&ty| Operand::register(ty, number)));
    let same_width = exact.and_then(|ty| {
        ScalarType::ALL
            .iter()
            .find(|t| t.is_register_type() && **t != ty && t.bits() == ty.bits())
    });
    out.extend(same_width.map(|&ty| Operand::register(ty, number)));
    if has(Marks::DISCARD) || has(Marks::DISCARD_ONLY) {
        out.push(Operand::new(Kind::Sink));
    }
    let Some(first) = out.first().cloned() else {
        return;
    };
    for (mark, sign) in [(Marks::NEG, Sign::Minus), (Marks::NOT, Sign::Not)] {
        if has(mark) {
            out.push(Operand {
                sign,
                ..first.clone()
            });
        }
    }
    for (mark, lanes) in SELECTORS {
        if has(mark) {
            let lanes = Some(lanes);
            out.push(Operand {
                lanes,
                ..first.clone()
            });
        }
    }
}

fn addresses(number: u16, form_operand: &FormOperand, out: &mut Vec<Operand>) {
    let has = |mark| form_operand.marks().contains(mark);
    let pointer = if has(Marks::TMEM) {
        ScalarType::B32
    } else {
        ScalarType::B64
    };
    let pointer = Operand::register(pointer, number);
    out.push(pointer.clone());
    out.push(Operand {
        offset: 16,
        ..pointer.clone()
    });
    if has(Marks::UNIFIED) {
        out.push(Operand {
            unified: true,
            ..pointer
        });
    }
    out.extend(variables());
    let handles = ScalarType::ALL
        .iter()
        .filter(|t| t.kind() == TypeKind::Opaque);
    out.extend(handles.map(|&ty| Operand::new(Kind::Variable(StateSpace::Global, ty))));
    out.push(Operand::new(Kind::Integer(64)));
}

/// A variable of each space.
fn variables() -> impl Iterator<Item = Operand> {
    SPACES
        .into_iter()
        .map(|space| Operand::new(Kind::Variable(space, ScalarType::B8)))
}

/// One special register of each type.
fn special_registers(out: &mut Vec<Operand>) {
    let mut types = Vec::new();
    for &register in SpecialReg::ALL {
        let ty = (register.scalar_type(), register.components());
        if types.contains(&ty) {
            continue;
        }
        types.push(ty);
        if register.components() > 1 {
            out.push(Operand::new(Kind::SpecialVector(register)));
        } else {
            out.push(Operand::new(Kind::Special(register)));
        }
        out.push(Operand::new(Kind::Special(register)));
    }
}

/// The bits types and `.pred`.
fn bits() -> impl Iterator<Item = ScalarType> {
    let mut types: Vec<ScalarType> = ScalarType::ALL
        .iter()
        .filter(|t| matches!(t.kind(), TypeKind::Bits | TypeKind::Predicate))
        .copied()
        .collect();
    // 32-bit registers come first.
    types.sort_by_key(|t| t.bits().abs_diff(32));
    types.into_iter()
}

fn constants(form_operand: &FormOperand, out: &mut Vec<Operand>) {
    let integer = |value| Operand::new(Kind::Integer(value));
    match form_operand.range() {
        Some(range) => {
            let steps = (range.high() - range.low()) / range.step().max(1);
            let middle = range.low() + steps / 2 * range.step();
            out.extend([range.low(), range.high(), middle].map(integer));
        }
        None => out.extend([1, 0, 16].map(integer)),
    }
    out.push(Operand::new(Kind::Single));
    out.push(Operand::new(Kind::Float));
}
