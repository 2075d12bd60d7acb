//! Compares two PTX modules: which functions correspond, which statements differ, and what differs outside of code.
//!
//! Names of registers, labels and variables of functions do not matter, as long as a one-to-one relation between them makes the
//! code equal; nor do the order of declarations, white space, comments, `.loc`, debug sections, the spelling of integers, and
//! the order of modifiers. Types of registers and names of the module matter.
//!
//! The cost is linear in the modules, times the logarithm of the longest function that differs.
//!
//! `docs/diff.md` describes what the program `ptxkit diff` makes of it.
#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
extern crate alloc;

mod align;
mod change;
mod code;
mod declarations;
mod lines;
mod matching;
mod names;
mod pairing;
mod text;
mod token;
mod values;

use alloc::vec::Vec;

use hashbrown::{HashMap, HashSet};
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{EntityId as _, FuncId, LabelId, Module, RegId};

pub use change::{Change, Subject};
pub use lines::{Line, hunks};

use declarations::Side;
use matching::{Definition, Match};
use names::Numbers;
use pairing::Pairing;
use values::Terms;

/// What counts as equal.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Equality {
    /// The same statements in the same order, but for the names of registers, labels and variables.
    #[default]
    Statements,
    /// Also code that has the same effects in the same order with the same values: with commuted operands, with independent
    /// instructions of a basic block in another order, with copies and unused values.
    Values,
}

/// How two modules differ.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModuleDiff {
    /// What differs outside of functions that have bodies.
    pub changes: Vec<Change>,
    /// The functions with bodies: those of the left module in its order, then those that only the right module has.
    pub functions: Vec<FunctionDiff>,
}

/// How two functions differ, or a function that only one module has.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FunctionDiff {
    /// The function of the left module.
    pub left: Option<FuncId>,
    /// The function of the right module.
    pub right: Option<FuncId>,
    /// For functions of different names the part of the statements that both have, from 0.5 to 1.
    pub similarity: Option<f32>,
    /// What differs in headers and declared variables.
    pub changes: Vec<Change>,
    /// All statements, labels that are used among them; empty if the code is equal, or there is one function only.
    pub lines: Vec<Line>,
    /// The registers that correspond. Empty if the code is equal.
    pub registers: Vec<(RegId, RegId)>,
    /// The labels that correspond. Empty if the code is equal.
    pub labels: Vec<(LabelId, LabelId)>,
}

impl ModuleDiff {
    /// Compares two modules.
    ///
    /// ```
    /// use ptx_diff::{Equality, Line, ModuleDiff};
    /// let old = ptx_parse::parse(b".version 8.0\n.target sm_80\n.entry k() { .reg .b32 a, b; add.s32 a, b, 1; ret; }").module;
    /// let new = ptx_parse::parse(b".version 8.0\n.target sm_80\n.entry k() { .reg .b32 x<2>; add.s32 x1, x0, 2; ret; }").module;
    /// let diff = ModuleDiff::new(&old, &new, Equality::Statements);
    /// let [kernel] = &diff.functions[..] else { unreachable!() };
    /// assert!(matches!(kernel.lines[..], [Line::Removed(_), Line::Added(_), Line::Same(..)]));
    /// assert!(ModuleDiff::new(&old, &old, Equality::Statements).is_equal());
    /// ```
    #[must_use]
    pub fn new(left: &Module, right: &Module, equality: Equality) -> Self {
        let numbers = Numbers::both(left, right);
        let sides = [(left, &numbers.0), (right, &numbers.1)];
        let [a, b] = sides.map(|(module, numbers)| Side { module, numbers });
        let (x, y) = ptx_ir::parallel::join(
            || matching::definitions(left, a.numbers),
            || matching::definitions(right, b.numbers),
        );
        let matches = matching::matches(&x, &y);
        let partners: HashMap<FuncId, &Match> = matches
            .iter()
            .filter_map(|m| Some((x.get(m.left)?.id, m)))
            .collect();
        let differs = |m: &&Match| match (x.get(m.left), y.get(m.right)) {
            (Some(a), Some(b)) => Pairing::whole(&a.code, &b.code).is_none(),
            _ => false,
        };
        let different: Vec<&Match> = match equality {
            Equality::Statements => Vec::new(),
            Equality::Values => matches.iter().filter(differs).collect(),
        };
        let facts = |module, ids: HashSet<Option<FuncId>>| {
            ModuleFacts::of(module, |id| ids.contains(&Some(id)))
        };
        let facts = ptx_ir::parallel::join(
            || {
                facts(
                    left,
                    different.iter().map(|m| Some(x.get(m.left)?.id)).collect(),
                )
            },
            || {
                facts(
                    right,
                    different.iter().map(|m| Some(y.get(m.right)?.id)).collect(),
                )
            },
        );
        let compared = ptx_ir::parallel::map_functions(left, |ids| {
            let all = ids.iter().map(|id| match partners.get(id) {
                Some(found) => pair((a, &x, &facts.0), (b, &y, &facts.1), found, equality),
                None => FunctionDiff::alone(Some(*id), None),
            });
            all.collect()
        });
        let mut has_partner = vec![false; y.len()];
        for found in &matches {
            if let Some(slot) = has_partner.get_mut(found.right) {
                *slot = true;
            }
        }
        let added = y.iter().zip(has_partner).filter(|(_, has)| !has);
        let added = added.map(|(d, _)| FunctionDiff::alone(None, Some(d.id)));
        Self {
            changes: declarations::of_modules(a, b),
            functions: compared.into_iter().chain(added).collect(),
        }
    }

    /// Whether nothing differs.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.changes.is_empty() && self.functions.iter().all(FunctionDiff::is_equal)
    }
}

fn pair(
    (a, left, facts): (Side<'_>, &[Definition], &ModuleFacts<'_>),
    (b, right, other_facts): (Side<'_>, &[Definition], &ModuleFacts<'_>),
    found: &Match,
    equality: Equality,
) -> FunctionDiff {
    let (Some(x), Some(y)) = (left.get(found.left), right.get(found.right)) else {
        return FunctionDiff::alone(None, None);
    };
    let diff = FunctionDiff {
        similarity: found.similarity,
        changes: declarations::of_functions((a, x.id, &x.code), (b, y.id, &y.code)),
        ..FunctionDiff::alone(Some(x.id), Some(y.id))
    };
    if Pairing::whole(&x.code, &y.code).is_some() {
        return diff;
    }
    let mut terms = match equality {
        Equality::Statements => None,
        Equality::Values => {
            Terms::new(facts, x.id, a.numbers).zip(Terms::new(other_facts, y.id, b.numbers))
        }
    };
    if let Some((left, right)) = &mut terms
        && values::equal(left, right)
    {
        return diff;
    }
    let (mut lines, pairing) = lines::compare(&x.code, &y.code);
    if let Some((left, right)) = &mut terms {
        lines = values::without_equal(lines, (left, right), &pairing);
    }
    let ids = |kind| pairing.pairs(kind).map(|(a, b)| (a as usize, b as usize));
    FunctionDiff {
        lines,
        registers: ids(0)
            .map(|(a, b)| (RegId::from_index(a), RegId::from_index(b)))
            .collect(),
        labels: ids(1)
            .map(|(a, b)| (LabelId::from_index(a), LabelId::from_index(b)))
            .collect(),
        ..diff
    }
}

impl FunctionDiff {
    fn alone(left: Option<FuncId>, right: Option<FuncId>) -> Self {
        Self {
            left,
            right,
            similarity: None,
            changes: Vec::new(),
            lines: Vec::new(),
            registers: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// Whether both modules have the function, by the same name, and nothing differs.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.left.is_some()
            && self.right.is_some()
            && self.similarity.is_none()
            && self.changes.is_empty()
            && self.lines.is_empty()
    }

    /// How many statements only the left and only the right function has.
    #[must_use]
    pub fn edits(&self) -> (usize, usize) {
        let removed = self.lines.iter().filter(|l| matches!(l, Line::Removed(_)));
        let added = self.lines.iter().filter(|l| matches!(l, Line::Added(_)));
        (removed.count(), added.count())
    }
}
