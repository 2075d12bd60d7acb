//! Mutations: a valid case with one change. Many are valid as well.

use fastrand::Rng;
use ptx_isa::internals::TableKind;
use ptx_isa::{Modifier, ScalarType, SpecialReg, StateSpace, TypeKind, find_instruction};

use super::case::Case;
use super::operand::{Kind, Operand, Sign};
use super::operand_gen::{SPACES, vector};

/// Integers at the limits of immediate operands.
const INTEGERS: &[i64] = &[
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
/// The number of mutations of each case.
const PER_CASE: usize = 5;

/// Some mutations of a case, each of a different kind if there are enough kinds.
pub(crate) fn near(case: &Case, rng: &mut Rng) -> Vec<Case> {
    let mut mutations = modifiers(case, rng);
    mutations.extend(operands(case, rng));
    rng.shuffle(&mut mutations);
    let mut kinds = Vec::new();
    mutations.retain(|mutation| {
        let is_new = !kinds.contains(&mutation.kind);
        kinds.push(mutation.kind);
        is_new
    });
    mutations.truncate(PER_CASE);
    mutations
}

fn modifiers(case: &Case, rng: &mut Rng) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |kind, modifiers: Vec<Modifier>| {
        if modifiers != case.modifiers {
            cases.push(Case {
                kind,
                modifiers,
                ..case.clone()
            });
        }
    };
    let words = &case.modifiers;
    let name_len = find_instruction(case.opcode, words).map_or(0, |i| i.words().len());
    // The modifiers of all forms of the opcode.
    let mut opcode_modifiers: Vec<Modifier> = case
        .opcode
        .instructions()
        .iter()
        .flat_map(|i| i.forms())
        .flat_map(|f| Modifier::ALL.iter().filter(|m| f.accepts(**m)))
        .copied()
        .collect();
    opcode_modifiers.sort();
    opcode_modifiers.dedup();
    for i in 0..words.len() {
        let Some(&word) = words.get(i) else { continue };
        let changed = |change: &dyn Fn(&mut Vec<Modifier>)| {
            let mut words = words.clone();
            change(&mut words);
            words
        };
        add("drop modifier", changed(&|w| w.drain(i..=i).for_each(drop)));
        add("double modifier", changed(&|w| w.insert(i, word)));
        let has_class = |m: &&Modifier| m.class() == word.class() && **m != word;
        let pools = [
            (
                "modifier of its class",
                Modifier::ALL.iter().filter(has_class).collect(),
            ),
            (
                "modifier of the class there",
                opcode_modifiers.iter().filter(has_class).collect(),
            ),
            (
                "other modifier",
                opcode_modifiers.iter().collect::<Vec<_>>(),
            ),
        ];
        for (kind, pool) in pools {
            if let Some(&&other) = rng.choice(&pool) {
                add(kind, changed(&|w| w.splice(i..=i, [other]).for_each(drop)));
            }
        }
        if i > name_len {
            add("move modifier", changed(&|w| w.swap(i - 1, i)));
        }
    }
    let index = rng.usize(name_len.min(words.len())..=words.len());
    for pool in [&opcode_modifiers[..], Modifier::ALL] {
        if let Some(&modifier) = rng.choice(pool) {
            let mut words = words.clone();
            words.insert(index, modifier);
            add("add modifier", words);
        }
    }
    cases
}

/// The position of an operand: its index, and the indices in its brackets or braces.
type Path = Vec<usize>;

fn paths(operands: &[Operand]) -> Vec<Path> {
    let mut paths = Vec::new();
    for (i, operand) in operands.iter().enumerate() {
        paths.push(vec![i]);
        // Only the first and the last part are changed, as parts are similar.
        let parts = operand.parts();
        for j in 0..parts.len() {
            if j == 0 || j + 1 == parts.len() {
                paths.push(vec![i, j]);
                let inner = parts.get(j).map_or(0, |p| p.parts().len());
                paths.extend((0..inner.min(1)).map(|k| vec![i, j, k]));
            }
        }
    }
    paths
}

fn find<'a>(operands: &'a mut [Operand], path: &[usize]) -> Option<&'a mut Operand> {
    let (&first, inner_path) = path.split_first()?;
    let operand = operands.get_mut(first)?;
    match inner_path {
        [] => Some(operand),
        _ => find(operand.parts_mut()?, inner_path),
    }
}

fn operands(case: &Case, rng: &mut Rng) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |kind, operands: Vec<Operand>| {
        cases.push(Case {
            kind,
            operands,
            ..case.clone()
        });
    };
    let operands = &case.operands;
    for path in paths(operands) {
        let mut copy = operands.clone();
        let Some(old) = find(&mut copy, &path).cloned() else {
            continue;
        };
        for (kind, new) in replacements(&old, rng) {
            if new == old {
                continue;
            }
            if let Some(operand) = find(&mut copy, &path) {
                *operand = new;
            }
            add(kind, copy.clone());
        }
        let Some((&last, outer)) = path.split_last() else {
            continue;
        };
        let with_siblings = |change: &dyn Fn(&mut Vec<Operand>)| {
            let mut copy = operands.clone();
            match outer {
                [] => change(&mut copy),
                _ => change(find(&mut copy, outer)?.parts_mut()?),
            }
            Some(copy)
        };
        let is_in_pair = outer
            .first()
            .and_then(|&i| operands.get(i))
            .is_some_and(|operand| matches!(operand.kind, Kind::Pair(_)));
        if !is_in_pair {
            if let Some(shorter) = with_siblings(&|o| drop(o.remove(last))) {
                add("drop operand", shorter);
            }
            let extra = pick(rng);
            if let Some(longer) = with_siblings(&|o| o.insert(last + 1, extra.clone())) {
                add("add operand", longer);
            }
        }
        if last > 0
            && let Some(swapped) = with_siblings(&|o| o.swap(last - 1, last))
        {
            add("swap operands", swapped);
        }
    }
    cases
}

/// A simple operand.
fn pick(rng: &mut Rng) -> Operand {
    match rng.u8(..5) {
        0 => Operand::register(ScalarType::B64, 99),
        1 => Operand::new(Kind::Integer(1)),
        2 => Operand::register(ScalarType::Pred, 99),
        3 => Operand::register(ScalarType::F32, 99),
        _ => Operand::register(ScalarType::B32, 99),
    }
}

/// Replacements of an operand, each with the kind of change.
struct Replacements<'a> {
    old: &'a Operand,
    operands: Vec<(&'static str, Operand)>,
}

fn replacements(old: &Operand, rng: &mut Rng) -> Vec<(&'static str, Operand)> {
    let mut replacements = Replacements {
        old,
        operands: Vec::new(),
    };
    if old.parts().is_empty() {
        replacements.registers(rng);
        replacements.constants(rng);
        replacements.names(rng);
        replacements.groups(rng);
        replacements.decorations(rng);
    } else {
        replacements.parts();
        replacements.change("unified", |o| o.unified = !o.unified);
    }
    replacements.operands
}

impl Replacements<'_> {
    fn add(&mut self, kind: &'static str, new: Kind) {
        self.operands.push((kind, Operand::new(new)));
    }

    /// Adds a changed copy of the operand.
    fn change(&mut self, kind: &'static str, change: impl FnOnce(&mut Operand)) {
        let mut copy = self.old.clone();
        change(&mut copy);
        self.operands.push((kind, copy));
    }

    /// The type of the operand if it is a register.
    fn register_type(&self) -> Option<ScalarType> {
        match self.old.kind {
            Kind::Register(ty, _) => Some(ty),
            _ => None,
        }
    }

    fn registers(&mut self, rng: &mut Rng) {
        let types: Vec<ScalarType> = ScalarType::ALL
            .iter()
            .copied()
            .filter(|t| t.is_register_type())
            .collect();
        let old_type = self.register_type();
        let same_width: Vec<ScalarType> = types
            .iter()
            .copied()
            .filter(|t| old_type.is_none_or(|old| old.bits() == t.bits() && *t != old))
            .collect();
        for (kind, types) in [
            ("register of that width", same_width),
            ("other register", types),
        ] {
            if let Some(&ty) = rng.choice(&types) {
                self.add(kind, Kind::Register(ty, 98));
            }
        }
        self.add("predicate", Kind::Register(ScalarType::Pred, 98));
    }

    fn constants(&mut self, rng: &mut Rng) {
        self.add("integer", Kind::Integer(1));
        if let Some(&n) = rng.choice(INTEGERS) {
            self.add("other integer", Kind::Integer(n));
        }
        let float = if rng.bool() {
            Kind::Single
        } else {
            Kind::Float
        };
        self.add("float", float);
    }

    fn names(&mut self, rng: &mut Rng) {
        if let Some(&space) = rng.choice(&SPACES) {
            self.add("variable", Kind::Variable(space, ScalarType::B8));
        }
        let handles: Vec<_> = ScalarType::ALL
            .iter()
            .filter(|t| t.kind() == TypeKind::Opaque && **t != ScalarType::Samplerref)
            .collect();
        if let Some(&ty) = rng.choice(handles) {
            self.add("handle", Kind::Variable(StateSpace::Global, ty));
        }
        self.add("sink", Kind::Sink);
        if let Some(&register) = rng.choice(SpecialReg::ALL) {
            self.add("special register", Kind::Special(register));
        }
        self.add("label", Kind::Label);
        self.add("function", Kind::Function(0, 0));
        self.add("table", Kind::Table(TableKind::Prototype, 0, 0));
    }

    /// Brackets, braces and pairs around the operand.
    fn groups(&mut self, rng: &mut Rng) {
        let old = self.old;
        self.add("brackets", Kind::Bracket(vec![old.clone()]));
        self.add("braces", Kind::Vector(vec![old.clone()]));
        for n in [2, 4] {
            self.add("vector", vector(old, n).kind);
        }
        let ty = self
            .register_type()
            .filter(|t| (8..=32).contains(&t.bits()) && t.element().is_none());
        let lanes = if rng.bool() { 2 } else { 4 };
        self.add(
            "vector register",
            Kind::RegisterVector(ty.unwrap_or(ScalarType::B32), lanes),
        );
        let other = Operand::register(ScalarType::Pred, 97);
        self.add("pair", Kind::Pair(vec![old.clone(), other]));
    }

    /// Signs and selectors.
    fn decorations(&mut self, rng: &mut Rng) {
        self.change("minus", |o| o.sign = Sign::Minus);
        self.change("not", |o| o.sign = Sign::Not);
        let lanes = rng.choice([".b0", ".b3", ".h1", ".h10", ".b3210", ".x", ".w"]);
        self.change("selector", |o| o.lanes = lanes);
    }

    /// Changes the parts or the brackets, or replaces the operand by its first part.
    fn parts(&mut self) {
        let parts = self.old.parts();
        let Some(first) = parts.first() else { return };
        self.operands.push(("bare", first.clone()));
        match self.old.kind {
            Kind::Vector(_) => {
                let n = parts.len() as u16;
                let lengths = [1, n / 2, n - 1, n + 1, n * 2];
                for n in lengths.into_iter().filter(|n| (1..=256).contains(n)) {
                    self.change("vector length", |o| o.kind = vector(first, n).kind);
                }
                self.change("empty braces", |o| o.kind = Kind::Vector(vec![]));
                self.change("brackets for braces", |o| {
                    o.kind = Kind::Bracket(parts.to_vec())
                });
            }
            Kind::Bracket(_) => {
                self.change("braces for brackets", |o| {
                    o.kind = Kind::Vector(parts.to_vec())
                });
                let address = vec![Operand::new(Kind::Integer(64))];
                self.change("immediate address", |o| o.kind = Kind::Bracket(address));
            }
            _ => {}
        }
    }
}
