//! Near misses: a valid case with one thing changed. Many are valid as well; the assembler says which.

use fastrand::Rng;
use ptx_isa::{
    Modifier, ScalarType, SpecialReg, StateSpace, TableKind, TypeKind, find_instruction,
};

use super::case::Case;
use super::operand::{Kind, Operand, Sign};
use super::operand_gen::vector;

/// How many changes each case gets.
const PER_CASE: usize = 5;

/// Some changes of a case, each of another kind where there are enough kinds.
pub(crate) fn near(case: &Case, rng: &mut Rng) -> Vec<Case> {
    let mut all = modifiers(case, rng);
    all.extend(operands(case, rng));
    rng.shuffle(&mut all);
    let mut kinds = Vec::new();
    all.retain(|near| {
        let new = !kinds.contains(&near.kind);
        kinds.push(near.kind);
        new
    });
    all.truncate(PER_CASE);
    all
}

fn modifiers(case: &Case, rng: &mut Rng) -> Vec<Case> {
    let mut out = Vec::new();
    let mut add = |kind, modifiers: Vec<Modifier>| {
        if modifiers != case.modifiers {
            out.push(Case {
                kind,
                modifiers,
                ..case.clone()
            });
        }
    };
    let words = &case.modifiers;
    let named = find_instruction(case.opcode, words).map_or(0, |i| i.words().len());
    // Words that some form of the opcode takes: neighbours of what is written.
    let forms = case.opcode.instructions().iter().flat_map(|i| i.forms());
    let mut known: Vec<Modifier> = forms
        .flat_map(|f| Modifier::ALL.iter().filter(|m| f.accepted().contains(**m)))
        .copied()
        .collect();
    known.sort();
    known.dedup();
    for i in 0..words.len() {
        let Some(&word) = words.get(i) else { continue };
        let changed = |change: &dyn Fn(&mut Vec<Modifier>)| {
            let mut words = words.clone();
            change(&mut words);
            words
        };
        add("drop modifier", changed(&|w| w.drain(i..=i).for_each(drop)));
        add("double modifier", changed(&|w| w.insert(i, word)));
        let class = |m: &&Modifier| m.class() == word.class() && **m != word;
        let pools = [
            (
                "modifier of its class",
                Modifier::ALL.iter().filter(class).collect(),
            ),
            (
                "modifier of the class there",
                known.iter().filter(class).collect(),
            ),
            ("other modifier", known.iter().collect::<Vec<_>>()),
        ];
        for (kind, pool) in pools {
            if let Some(&&other) = rng.choice(&pool) {
                add(kind, changed(&|w| w.splice(i..=i, [other]).for_each(drop)));
            }
        }
        if i > named {
            add("move modifier", changed(&|w| w.swap(i - 1, i)));
        }
    }
    let at = rng.usize(named.min(words.len())..=words.len());
    for pool in [&known[..], Modifier::ALL] {
        if let Some(&other) = rng.choice(pool) {
            let mut words = words.clone();
            words.insert(at, other);
            add("add modifier", words);
        }
    }
    out
}

/// Where an operand stands: its place, and where in its brackets or braces.
type Path = Vec<usize>;

fn paths(operands: &[Operand]) -> Vec<Path> {
    let mut out = Vec::new();
    for (i, operand) in operands.iter().enumerate() {
        out.push(vec![i]);
        // The first and the last of many alike.
        let parts = operand.parts();
        for j in 0..parts.len() {
            if j == 0 || j + 1 == parts.len() {
                out.push(vec![i, j]);
                let inner = parts.get(j).map_or(0, |p| p.parts().len());
                out.extend((0..inner.min(1)).map(|k| vec![i, j, k]));
            }
        }
    }
    out
}

fn find<'a>(operands: &'a mut [Operand], path: &[usize]) -> Option<&'a mut Operand> {
    let (&first, rest) = path.split_first()?;
    let operand = operands.get_mut(first)?;
    match rest {
        [] => Some(operand),
        _ => find(operand.parts_mut()?, rest),
    }
}

fn operands(case: &Case, rng: &mut Rng) -> Vec<Case> {
    let mut out = Vec::new();
    let mut add = |kind, operands: Vec<Operand>| {
        out.push(Case {
            kind,
            operands,
            ..case.clone()
        });
    };
    let all = &case.operands;
    for path in paths(all) {
        let mut copy = all.clone();
        let Some(old) = find(&mut copy, &path).cloned() else {
            continue;
        };
        for (kind, new) in replacements(&old, rng) {
            if new == old {
                continue;
            }
            if let Some(place) = find(&mut copy, &path) {
                *place = new;
            }
            add(kind, copy.clone());
        }
        let Some((&last, outer)) = path.split_last() else {
            continue;
        };
        let siblings = |change: &dyn Fn(&mut Vec<Operand>)| {
            let mut copy = all.clone();
            match outer {
                [] => change(&mut copy),
                _ => change(find(&mut copy, outer)?.parts_mut()?),
            }
            Some(copy)
        };
        let pair = outer.split_last().is_some()
            && matches!(all.get(*outer.first().unwrap_or(&0)), Some(o) if matches!(o.kind, Kind::Pair(_)));
        if !pair {
            if let Some(fewer) = siblings(&|o| drop(o.remove(last))) {
                add("drop operand", fewer);
            }
            let extra = pick(rng);
            if let Some(more) = siblings(&|o| o.insert(last + 1, extra.clone())) {
                add("add operand", more);
            }
        }
        if last > 0
            && let Some(swapped) = siblings(&|o| o.swap(last - 1, last))
        {
            add("swap operands", swapped);
        }
    }
    out
}

/// Something ordinary.
fn pick(rng: &mut Rng) -> Operand {
    match rng.u8(..5) {
        0 => Operand::register(ScalarType::B64, 99),
        1 => Operand::new(Kind::Integer(1)),
        2 => Operand::register(ScalarType::Pred, 99),
        3 => Operand::register(ScalarType::F32, 99),
        _ => Operand::register(ScalarType::B32, 99),
    }
}

/// What may stand instead of an operand, by the kind of change.
fn replacements(old: &Operand, rng: &mut Rng) -> Vec<(&'static str, Operand)> {
    let mut out = Vec::new();
    let mut add = |kind, new: Kind| out.push((kind, Operand::new(new)));
    let leaf = old.parts().is_empty();
    if leaf {
        let types: Vec<ScalarType> = ScalarType::ALL
            .iter()
            .copied()
            .filter(|t| t.is_register_type())
            .collect();
        let own = match old.kind {
            Kind::Register(ty, _) => Some(ty),
            _ => None,
        };
        let wide = |t: &ScalarType| own.is_none_or(|o| o.bits() == t.bits() && *t != o);
        let alike: Vec<_> = types.iter().copied().filter(wide).collect();
        for (kind, types) in [("register so wide", alike), ("other register", types)] {
            if let Some(&ty) = rng.choice(&types) {
                add(kind, Kind::Register(ty, 98));
            }
        }
        add("predicate", Kind::Register(ScalarType::Pred, 98));
        add("integer", Kind::Integer(1));
        let numbers = [
            0,
            2,
            3,
            4,
            5,
            7,
            8,
            12,
            15,
            16,
            17,
            31,
            32,
            33,
            64,
            100,
            128,
            255,
            256,
            257,
            65536,
            -1,
            -2,
            i64::MAX,
        ];
        if let Some(&n) = rng.choice(&numbers) {
            add("other integer", Kind::Integer(n));
        }
        add(
            "float",
            if rng.bool() {
                Kind::Single
            } else {
                Kind::Float
            },
        );
        let space = [
            StateSpace::Global,
            StateSpace::Shared,
            StateSpace::Const,
            StateSpace::Local,
            StateSpace::ParamEntry,
            StateSpace::ParamFunc,
        ];
        if let Some(&space) = rng.choice(&space) {
            add("variable", Kind::Variable(space, ScalarType::B8));
        }
        let handles = ScalarType::ALL
            .iter()
            .filter(|t| t.kind() == TypeKind::Opaque);
        if let Some(&ty) = rng.choice(
            handles
                .filter(|t| **t != ScalarType::Samplerref)
                .collect::<Vec<_>>(),
        ) {
            add("handle", Kind::Variable(StateSpace::Global, ty));
        }
        add("sink", Kind::Sink);
        if let Some(&register) = rng.choice(SpecialReg::ALL) {
            add("special register", Kind::Special(register));
        }
        add("label", Kind::Label);
        add("function", Kind::Function(0, 0));
        add("table", Kind::Table(TableKind::Prototype, 0, 0));
        add("brackets", Kind::Bracket(vec![old.clone()]));
        add("braces", Kind::Vector(vec![old.clone()]));
        for n in [2, 4] {
            add("vector", vector(old, n).kind);
        }
        let ty = own.filter(|t| (8..=32).contains(&t.bits()) && t.element().is_none());
        let ty = ty.unwrap_or(ScalarType::B32);
        add(
            "vector register",
            Kind::RegisterVector(ty, if rng.bool() { 2 } else { 4 }),
        );
        let other = Operand::register(ScalarType::Pred, 97);
        add("pair", Kind::Pair(vec![old.clone(), other]));
    } else if let Some(first) = old.parts().first() {
        out.push(("bare", first.clone()));
        let parts = old.parts();
        let mut add = |kind, new: Kind| {
            out.push((
                kind,
                Operand {
                    kind: new,
                    ..old.clone()
                },
            ))
        };
        match old.kind {
            Kind::Vector(_) => {
                let n = parts.len() as u16;
                for n in [1, n / 2, n - 1, n + 1, n * 2]
                    .into_iter()
                    .filter(|n| *n > 0 && *n <= 256)
                {
                    add("vector length", vector(first, n).kind);
                }
                add("empty braces", Kind::Vector(vec![]));
                add("brackets for braces", Kind::Bracket(parts.to_vec()));
            }
            Kind::Bracket(_) => {
                add("braces for brackets", Kind::Vector(parts.to_vec()));
                add(
                    "immediate address",
                    Kind::Bracket(vec![Operand::new(Kind::Integer(64))]),
                );
            }
            _ => {}
        }
    }
    if leaf {
        let mut sign = |kind, sign| {
            out.push((
                kind,
                Operand {
                    sign,
                    ..old.clone()
                },
            ))
        };
        sign("minus", Sign::Minus);
        sign("not", Sign::Not);
        let lanes = [".b0", ".b3", ".h1", ".h10", ".b3210", ".x", ".w"];
        let lanes = rng.choice(lanes);
        out.push((
            "selector",
            Operand {
                lanes,
                ..old.clone()
            },
        ));
    } else {
        out.push((
            "unified",
            Operand {
                unified: !old.unified,
                ..old.clone()
            },
        ));
    }
    out
}
