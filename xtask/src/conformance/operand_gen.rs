//! Operands for a form: begins with something and changes what the table finds wrong until it finds nothing.

use std::ptr;

use fastrand::Rng;
use ptx_isa::{
    Form, Instruction, Marks, Modifier, Nesting, Operand as Wanted, OperandViolation, Role, Rule,
    ScalarType, SpecialReg, StateSpace, TableKind, TypeExpr, TypeKind, Violation,
};

use super::case::Case;
use super::operand::{Kind, Operand, Sign, ask};
use super::preamble::REGISTERS;

/// How often what is wrong is changed.
const ROUNDS: usize = 60;
/// How often other operands are tried where a rule is broken.
const REROLLS: usize = 6;

/// What is written for one operand of the form.
struct Place {
    present: bool,
    length: Option<u16>,
    choices: Vec<Operand>,
    chosen: usize,
    tried: usize,
}

/// Operands with which the form takes the modifiers after the instruction's name, or takes them but for a rule.
pub(crate) fn fill(
    instruction: &'static Instruction,
    form: &'static Form,
    words: &[Modifier],
    but_for: Option<&Rule>,
    rng: &mut Rng,
) -> Option<Case> {
    let modifiers = [instruction.words(), words].concat();
    let assignment = form.match_modifiers(words)?;
    let typed = |slot: u8| {
        let slot = usize::from(slot);
        let word = assignment.word(slot).or_else(|| form.slot(slot)?.default());
        word?.scalar_type()
    };
    let mut places: Vec<Place> = form
        .operands()
        .iter()
        .enumerate()
        .map(|(i, wanted)| Place {
            present: !wanted.optional || wanted.iff.is_none() && rng.bool(),
            length: None,
            choices: choices(i as u16, wanted, &typed),
            chosen: 0,
            tried: 0,
        })
        .collect();
    let reroll = |places: &mut Vec<Place>, rng: &mut Rng| {
        for place in places.iter_mut() {
            place.tried = 0;
            place.chosen = match rng.u8(..4) {
                0 => rng.usize(..place.choices.len().max(1)),
                _ => 0,
            };
        }
    };
    reroll(&mut places, rng);
    let mut rerolls = 0;
    for _ in 0..ROUNDS {
        let operands = assemble(form, &places)?;
        let problems = ask(instruction.opcode(), &modifiers, &operands, |request| {
            let mut own = request.candidates().filter(|s| ptr::eq(s.form, form));
            own.next().map(|s| s.problems)
        })?;
        let (done, kind) = match (but_for, problems.as_slice()) {
            (None, found) => (found.is_empty(), "form"),
            (Some(rule), &[Violation::Rule(found)]) => (ptr::eq(rule, found), "rule"),
            (Some(_), _) => (false, "rule"),
        };
        if done {
            return Some(Case {
                kind,
                opcode: instruction.opcode(),
                modifiers,
                operands,
            });
        }
        let mut changed = false;
        for problem in problems.as_slice() {
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
        if !changed {
            rerolls += 1;
            if rerolls > REROLLS || form.operands().is_empty() {
                return None;
            }
            reroll(&mut places, rng);
            for (place, wanted) in places.iter_mut().zip(form.operands()) {
                place.present = !wanted.optional || rng.bool();
            }
        }
    }
    None
}

/// The operands between commas.
fn assemble(form: &Form, places: &[Place]) -> Option<Vec<Operand>> {
    let mut out: Vec<(u8, Nesting, Vec<Operand>)> = Vec::new();
    let has = |role: Role| {
        let mut all = form.operands().iter().zip(places);
        u8::from(all.any(|(w, p)| w.role == role && p.present))
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
            Some((at, _, parts)) if *at == wanted.place => parts.push(operand),
            _ => out.push((wanted.place, wanted.within, vec![operand])),
        }
    }
    let outer = out.into_iter().map(|(_, within, mut parts)| match within {
        Nesting::Bracket(_) => {
            // `.unified` follows the bracket, not what is in it.
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

/// So many operands of the kind of the first in braces.
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

/// All that may be written for an operand, the most ordinary first; much of it will not do.
fn choices(index: u16, wanted: &Wanted, typed: &impl Fn(u8) -> Option<ScalarType>) -> Vec<Operand> {
    let mut out = Vec::new();
    let number = index * 4;
    let has = |mark| wanted.marks.contains(mark);
    let variables = |out: &mut Vec<Operand>| {
        for space in [
            StateSpace::Global,
            StateSpace::Shared,
            StateSpace::Const,
            StateSpace::Local,
            StateSpace::ParamEntry,
            StateSpace::ParamFunc,
        ] {
            out.push(Operand::new(Kind::Variable(space, ScalarType::B8)));
        }
    };
    match wanted.role {
        Role::Def | Role::Use | Role::ReadWrite => {
            let exact = match wanted.ty {
                TypeExpr::Scalar(ty) => Some(ty),
                ty => ty.slot().and_then(typed),
            };
            let mut types: Vec<ScalarType> = exact.into_iter().collect();
            types.extend(bits());
            types.retain(|t| t.is_register_type());
            types.dedup();
            out.extend(types.iter().map(|&ty| Operand::register(ty, number)));
            // Another register so wide.
            let alike = exact.and_then(|ty| {
                let mut all = ScalarType::ALL.iter();
                all.find(|t| t.is_register_type() && **t != ty && t.bits() == ty.bits())
            });
            out.extend(alike.map(|&ty| Operand::register(ty, number)));
            if has(Marks::SINK) || has(Marks::SINK_ONLY) {
                out.push(Operand::new(Kind::Sink));
            }
            if let Some(first) = out.first().cloned() {
                let signs = [(Marks::NEG, Sign::Minus), (Marks::NOT, Sign::Not)];
                for (_, sign) in signs.into_iter().filter(|(mark, _)| has(*mark)) {
                    let sign = Operand {
                        sign,
                        ..first.clone()
                    };
                    out.push(sign);
                }
                let lanes = [
                    (Marks::LANES, ".b1"),
                    (Marks::LANES, ".h1"),
                    (Marks::HALVES, ".h10"),
                    (Marks::HALVES, ".h20"),
                    (Marks::BYTES, ".b3210"),
                    (Marks::BYTES, ".b310"),
                ];
                for (_, lanes) in lanes.into_iter().filter(|(mark, _)| has(*mark)) {
                    let lanes = Some(lanes);
                    out.push(Operand {
                        lanes,
                        ..first.clone()
                    });
                }
            }
            if wanted.role == Role::Use {
                constants(wanted, &mut out);
            }
        }
        Role::Imm => constants(wanted, &mut out),
        Role::Addr => {
            let pointer = if has(Marks::TMEM) {
                ScalarType::B32
            } else {
                ScalarType::B64
            };
            let pointer = Operand::register(pointer, number);
            let offset = 16;
            out.push(pointer.clone());
            out.push(Operand {
                offset,
                ..pointer.clone()
            });
            if has(Marks::UNIFIED) {
                let unified = true;
                out.push(Operand { unified, ..pointer });
            }
            variables(&mut out);
            let handles = ScalarType::ALL.iter();
            for &ty in handles.filter(|t| t.kind() == TypeKind::Opaque) {
                out.push(Operand::new(Kind::Variable(StateSpace::Global, ty)));
            }
            out.push(Operand::new(Kind::Integer(64)));
        }
        Role::Label => out.push(Operand::new(Kind::Label)),
        Role::Func if has(Marks::REG) => out.push(Operand::register(ScalarType::B64, number)),
        Role::Func => out.push(Operand::new(Kind::Function(0, 0))),
        Role::Symbol => variables(&mut out),
        Role::Args | Role::Rets => {
            let parameter = Kind::Variable(StateSpace::ParamFunc, ScalarType::B32);
            out.push(Operand::new(Kind::List(vec![Operand::new(parameter)])));
        }
        Role::LabelTable => {
            // Any kind of list is a table to the form: the name says which is meant.
            for kind in [TableKind::Branches, TableKind::Calls, TableKind::Prototype] {
                out.push(Operand::new(Kind::Table(kind, 0, 0)));
            }
        }
        Role::Sreg => {
            let mut widths = Vec::new();
            for &register in SpecialReg::ALL {
                let kind = (register.scalar_type(), register.lanes());
                if !widths.contains(&kind) {
                    widths.push(kind);
                    out.push(Operand::new(if register.lanes() > 1 {
                        Kind::SpecialVector(register)
                    } else {
                        Kind::Special(register)
                    }));
                    out.push(Operand::new(Kind::Special(register)));
                }
            }
        }
        _ => {}
    }
    out
}

/// The types of bits, and truth values.
fn bits() -> impl Iterator<Item = ScalarType> {
    let simple = |t: &&ScalarType| matches!(t.kind(), TypeKind::Bits | TypeKind::Predicate);
    let mut all: Vec<ScalarType> = ScalarType::ALL.iter().filter(simple).copied().collect();
    // Registers of 32 bits are the most ordinary.
    all.sort_by_key(|t| t.bits().abs_diff(32));
    all.into_iter()
}

fn constants(wanted: &Wanted, out: &mut Vec<Operand>) {
    let integer = |value| Operand::new(Kind::Integer(value));
    match wanted.range {
        Some(range) => {
            let steps = (range.high - range.low) / range.step.max(1);
            let middle = range.low + steps / 2 * range.step;
            out.extend([range.low, range.high, middle].map(integer));
        }
        None => out.extend([1, 0, 16].map(integer)),
    }
    out.push(Operand::new(Kind::Single));
    out.push(Operand::new(Kind::Float));
}
