//! Operands for a form: starts with simple ones and changes those that the tables refuse.

use std::ptr;

use fastrand::Rng;
use ptx_isa::{
    Form, FormOperand as Wanted, Instruction, Marks, Modifier, Nesting, OperandViolation, Role,
    Rule, ScalarType, SpecialReg, StateSpace, TableKind, TypeExpr, TypeKind, Violation,
};

use super::case::Case;
use super::operand::{Kind, Operand, REGISTERS, Sign, ask};

/// How often operands with problems are changed.
const ROUNDS: usize = 60;
/// How often all operands are chosen again after a violated rule.
const REROLLS: usize = 6;
/// The spaces of the variables around the cases.
pub(super) const SPACES: [StateSpace; 6] = [
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
struct Place {
    present: bool,
    length: Option<u16>,
    choices: Vec<Operand>,
    chosen: usize,
    tried: usize,
}

/// A case for a form and its modifiers that is legal, or refused only because of the rule `but_for`.
pub(crate) fn fill(
    instruction: &'static Instruction,
    form: &'static Form,
    words: &[Modifier],
    but_for: Option<&Rule>,
    rng: &mut Rng,
) -> Option<Case> {
    let modifiers = [instruction.words(), words].concat();
    let mut places = places(form, words, rng)?;
    reroll(&mut places, rng);
    let mut rerolls = 0;
    for _ in 0..ROUNDS {
        let operands = assemble(form, &places)?;
        let problems = ask(instruction.opcode(), &modifiers, &operands, |request| {
            let mut own = request.candidates().filter(|s| ptr::eq(s.form(), form));
            own.next().map(|s| *s.violations())
        })?;
        let (done, kind) = match (but_for, problems.as_slice()) {
            (None, found) => (found.is_empty(), "form"),
            (Some(rule), &[Violation::Rule(found)]) => (ptr::eq(rule, found), "rule"),
            (Some(_), _) => (false, "rule"),
        };
        if done {
            let opcode = instruction.opcode();
            return Some(Case {
                kind,
                opcode,
                modifiers,
                operands,
            });
        }
        if !repair(&mut places, problems.as_slice())? {
            rerolls += 1;
            if rerolls > REROLLS || form.operands().is_empty() {
                return None;
            }
            reroll(&mut places, rng);
            for (place, wanted) in places.iter_mut().zip(form.operands()) {
                place.present = !wanted.is_optional() || rng.bool();
            }
        }
    }
    None
}

/// The choices for each operand of a form.
fn places(form: &Form, words: &[Modifier], rng: &mut Rng) -> Option<Vec<Place>> {
    let assignment = form.match_modifiers(words)?;
    let typed = |slot: u8| {
        let slot = usize::from(slot);
        let word = assignment.word(slot).or_else(|| form.slot(slot)?.default());
        word?.scalar_type()
    };
    let operands = form.operands().iter().enumerate();
    let places = operands.map(|(i, wanted)| Place {
        present: !wanted.is_optional() || wanted.condition().is_none() && rng.bool(),
        length: None,
        choices: choices(i as u16, wanted, &typed),
        chosen: 0,
        tried: 0,
    });
    Some(places.collect())
}

/// Chooses operands again, mostly the simplest ones.
fn reroll(places: &mut [Place], rng: &mut Rng) {
    for place in places {
        place.tried = 0;
        place.chosen = match rng.u8(..4) {
            0 => rng.usize(..place.choices.len().max(1)),
            _ => 0,
        };
    }
}

/// Changes the operands with problems; returns whether there were any, or `None` if all choices of one failed.
fn repair(places: &mut [Place], problems: &[Violation]) -> Option<bool> {
    let mut changed = false;
    for problem in problems {
        let &Violation::Operand(i, problem) = problem else {
            continue;
        };
        let place = places.get_mut(i)?;
        changed = true;
        match problem {
            OperandViolation::Missing => place.present = true,
            OperandViolation::Unexpected => place.present = false,
            OperandViolation::Length(n) if place.length != Some(n) => place.length = Some(n),
            _ => {
                place.chosen = (place.chosen + 1) % place.choices.len().max(1);
                place.tried += 1;
                if place.tried > place.choices.len() {
                    return None;
                }
            }
        }
    }
    Some(changed)
}

/// The operands between commas.
fn assemble(form: &Form, places: &[Place]) -> Option<Vec<Operand>> {
    let mut out: Vec<(u8, Nesting, Vec<Operand>)> = Vec::new();
    let has = |role: Role| {
        let mut all = form.operands().iter().zip(places);
        u8::from(all.any(|(w, p)| w.role() == role && p.present))
    };
    let (results, parameters) = (has(Role::Rets), has(Role::Args));
    for (wanted, place) in form.operands().iter().zip(places) {
        if !place.present {
            continue;
        }
        let mut operand = place.choices.get(place.chosen)?.clone();
        match &mut operand.kind {
            Kind::Function(r, p) | Kind::Table(_, r, p) => (*r, *p) = (results, parameters),
            _ => {}
        }
        if let Some(length) = place.length {
            operand = vector(&operand, length);
        }
        match out.last_mut() {
            Some((at, _, parts)) if *at == wanted.position() => parts.push(operand),
            _ => out.push((wanted.position(), wanted.nesting(), vec![operand])),
        }
    }
    let outer = out.into_iter().map(|(_, within, mut parts)| match within {
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
    });
    Some(outer.collect())
}

/// A vector of `length` operands like the first.
pub(crate) fn vector(first: &Operand, length: u16) -> Operand {
    if let Kind::SpecialVector(_) = first.kind {
        return first.clone();
    }
    let element = |i: u16| {
        let mut element = first.clone();
        match &mut element.kind {
            Kind::Register(_, number) => *number = (*number + i) % REGISTERS,
            // One `_` among registers.
            Kind::Sink if i > 0 => element = Operand::register(ScalarType::B32, i),
            _ => {}
        }
        element
    };
    Operand::new(Kind::Vector((0..length).map(element).collect()))
}

/// All candidates for an operand, the simplest first; many of them are refused.
fn choices(index: u16, wanted: &Wanted, typed: &impl Fn(u8) -> Option<ScalarType>) -> Vec<Operand> {
    let mut out = Vec::new();
    let number = index * 4;
    match wanted.role() {
        Role::Def | Role::Use | Role::ReadWrite => {
            registers(number, wanted, typed, &mut out);
            if wanted.role() == Role::Use {
                constants(wanted, &mut out);
            }
        }
        Role::Imm => constants(wanted, &mut out),
        Role::Addr => addresses(number, wanted, &mut out),
        Role::Label => out.push(Operand::new(Kind::Label)),
        Role::Func if wanted.marks().contains(Marks::REG) => {
            out.push(Operand::register(ScalarType::B64, number))
        }
        Role::Func => out.push(Operand::new(Kind::Function(0, 0))),
        Role::Symbol => out.extend(variables()),
        Role::Args | Role::Rets => {
            let parameter = Kind::Variable(StateSpace::ParamFunc, ScalarType::B32);
            out.push(Operand::new(Kind::List(vec![Operand::new(parameter)])));
        }
        Role::LabelTable => {
            // The form accepts any kind of table here; the operand's name tells which is meant.
            for kind in [TableKind::Branches, TableKind::Calls, TableKind::Prototype] {
                out.push(Operand::new(Kind::Table(kind, 0, 0)));
            }
        }
        Role::Sreg => special_registers(&mut out),
        _ => {}
    }
    out
}

/// Registers of the wanted type, of bits types, and with signs and selectors.
fn registers(
    number: u16,
    wanted: &Wanted,
    typed: &impl Fn(u8) -> Option<ScalarType>,
    out: &mut Vec<Operand>,
) {
    let has = |mark| wanted.marks().contains(mark);
    let exact = match wanted.ty() {
        TypeExpr::Scalar(ty) => Some(ty),
        ty => ty.slot().and_then(typed),
    };
    let mut types: Vec<ScalarType> = exact.into_iter().collect();
    types.extend(bits());
    types.retain(|t| t.is_register_type());
    types.dedup();
    out.extend(types.iter().map(|&ty| Operand::register(ty, number)));
    let same_width = exact.and_then(|ty| {
        let mut all = ScalarType::ALL.iter();
        all.find(|t| t.is_register_type() && **t != ty && t.bits() == ty.bits())
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

fn addresses(number: u16, wanted: &Wanted, out: &mut Vec<Operand>) {
    let has = |mark| wanted.marks().contains(mark);
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
        let ty = (register.scalar_type(), register.lanes());
        if types.contains(&ty) {
            continue;
        }
        types.push(ty);
        if register.lanes() > 1 {
            out.push(Operand::new(Kind::SpecialVector(register)));
        } else {
            out.push(Operand::new(Kind::Special(register)));
        }
        out.push(Operand::new(Kind::Special(register)));
    }
}

/// The bits types and `.pred`.
fn bits() -> impl Iterator<Item = ScalarType> {
    let simple = |t: &&ScalarType| matches!(t.kind(), TypeKind::Bits | TypeKind::Predicate);
    let mut all: Vec<ScalarType> = ScalarType::ALL.iter().filter(simple).copied().collect();
    // 32-bit registers first.
    all.sort_by_key(|t| t.bits().abs_diff(32));
    all.into_iter()
}

fn constants(wanted: &Wanted, out: &mut Vec<Operand>) {
    let integer = |value| Operand::new(Kind::Integer(value));
    match wanted.range() {
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
