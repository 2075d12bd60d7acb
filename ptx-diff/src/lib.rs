//! Compares two PTX modules: the functions that correspond, the statements that differ, and the differences outside of code.
//!
//! Names of registers, labels and variables of functions do not matter, as long as a one-to-one relation between them makes the
//! code equal; nor do the order of declarations, white space, comments, `.loc`, debug sections, the spelling of integers, and
//! the order of modifiers. Types of registers and names of the module matter.
//!
//! The cost is linear in the modules, times the logarithm of the longest function that differs.
//!
//! `docs/diff.md` describes the output of the program `ptxkit diff`.
#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
extern crate alloc;

mod align;
mod code;
mod declarations;
mod lines;
mod matching;
mod numbers;
mod pairing;
mod text;
mod token;
mod values;

use alloc::vec::Vec;

use hashbrown::{HashMap, HashSet};
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FuncId, LabelId, Module, RegId};

pub use declarations::{Change, Subject};
pub use lines::{Line, hunks};

use code::Code;
use declarations::{FunctionSide, Side};
use matching::{Definition, Match};
use numbers::Numbers;
use pairing::Pairing;
use token::{LABEL, REGISTER};
use values::Terms;

/// The definition of equality.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Equality {
    /// Functions are equal if they have the same statements in the same order, except for the names of registers, labels and variables.
    #[default]
    Statements,
    /// Functions are also equal if they have the same effects in the same order with the same values: with commuted operands, with independent
    /// instructions of a basic block in another order, with copies and unused values.
    Values,
}

/// The differences of two modules.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModuleDiff {
    /// The differences outside of functions that have bodies.
    pub changes: Vec<Change>,
    /// The functions with bodies: the functions of the left module in its order, then the functions that only the right module has.
    pub functions: Vec<FunctionDiff>,
}

/// The differences of two functions, or a function that only one module has.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FunctionDiff {
    /// The function of the left module.
    pub left: Option<FuncId>,
    /// The function of the right module.
    pub right: Option<FuncId>,
    /// For functions of different names, the fraction of the statements that both have, from 0.5 to 1.
    pub similarity: Option<f32>,
    /// The differences in headers and declared variables.
    pub changes: Vec<Change>,
    /// All statements, including labels that are used; empty if the code is equal, or there is one function only.
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
        let (left_numbers, right_numbers) = Numbers::of_modules(left, right);
        let left_side = Side {
            module: left,
            numbers: &left_numbers,
        };
        let right_side = Side {
            module: right,
            numbers: &right_numbers,
        };
        let (left_definitions, right_definitions) = ptx_ir::raw::parallel::join(
            || matching::definitions(left, &left_numbers),
            || matching::definitions(right, &right_numbers),
        );
        let matches = matching::matches(&left_definitions, &right_definitions);
        let partners: HashMap<FuncId, &Match> = matches
            .iter()
            .filter_map(|pair| Some((left_definitions.get(pair.left)?.id, pair)))
            .collect();
        // The functions whose values are compared.
        let (mut left_ids, mut right_ids) = (HashSet::new(), HashSet::new());
        if equality == Equality::Values {
            for pair in &matches {
                if let (Some(a), Some(b)) = (
                    left_definitions.get(pair.left),
                    right_definitions.get(pair.right),
                ) && Pairing::of_equal_code(&a.code, &b.code).is_none()
                {
                    left_ids.insert(a.id);
                    right_ids.insert(b.id);
                }
            }
        }
        let (left_facts, right_facts) = ptx_ir::raw::parallel::join(
            || ModuleFacts::of(left, |id| left_ids.contains(&id)),
            || ModuleFacts::of(right, |id| right_ids.contains(&id)),
        );
        let comparison = Comparison {
            left: ComparedModule {
                side: left_side,
                definitions: &left_definitions,
                facts: &left_facts,
            },
            right: ComparedModule {
                side: right_side,
                definitions: &right_definitions,
                facts: &right_facts,
            },
            equality,
        };
        let mut functions = ptx_ir::raw::parallel::map_functions(left, |ids| {
            ids.iter()
                .map(|id| match partners.get(id) {
                    Some(partners) => comparison.compare(partners),
                    None => FunctionDiff::without_partner(Some(*id), None),
                })
                .collect()
        });
        let mut has_partner = vec![false; right_definitions.len()];
        for pair in &matches {
            if let Some(slot) = has_partner.get_mut(pair.right) {
                *slot = true;
            }
        }
        functions.extend(
            right_definitions
                .iter()
                .zip(has_partner)
                .filter(|(_, has_partner)| !has_partner)
                .map(|(definition, _)| FunctionDiff::without_partner(None, Some(definition.id))),
        );
        Self {
            changes: declarations::module_changes(left_side, right_side),
            functions,
        }
    }

    /// Whether the modules are equal.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.changes.is_empty() && self.functions.iter().all(FunctionDiff::is_equal)
    }
}

/// A module whose functions are compared.
struct ComparedModule<'m> {
    side: Side<'m>,
    definitions: &'m [Definition],
    facts: &'m ModuleFacts<'m>,
}

impl<'m> ComparedModule<'m> {
    fn function(&self, id: FuncId, code: &'m Code) -> FunctionSide<'m> {
        FunctionSide {
            side: self.side,
            id,
            code,
        }
    }
}

/// The comparison of two modules.
struct Comparison<'m> {
    left: ComparedModule<'m>,
    right: ComparedModule<'m>,
    equality: Equality,
}

impl Comparison<'_> {
    /// Compares two functions that correspond.
    fn compare(&self, partners: &Match) -> FunctionDiff {
        let (Some(a), Some(b)) = (
            self.left.definitions.get(partners.left),
            self.right.definitions.get(partners.right),
        ) else {
            return FunctionDiff::without_partner(None, None);
        };
        let diff = FunctionDiff {
            left: Some(a.id),
            right: Some(b.id),
            similarity: partners.similarity,
            changes: declarations::function_changes(
                self.left.function(a.id, &a.code),
                self.right.function(b.id, &b.code),
            ),
            ..FunctionDiff::without_partner(None, None)
        };
        if Pairing::of_equal_code(&a.code, &b.code).is_some() {
            return diff;
        }
        let mut terms = match self.equality {
            Equality::Statements => None,
            Equality::Values => Terms::new(self.left.facts, a.id, self.left.side.numbers)
                .zip(Terms::new(self.right.facts, b.id, self.right.side.numbers)),
        };
        if let Some((left, right)) = &mut terms
            && values::are_equal(left, right)
        {
            return diff;
        }
        let (mut lines, pairing) = lines::compare(&a.code, &b.code);
        if let Some((left, right)) = &mut terms {
            lines = values::without_equal_changes(lines, left, right, &pairing);
        }
        FunctionDiff {
            lines,
            registers: pairing
                .pairs(REGISTER)
                .map(|(a, b)| (RegId::new(a), RegId::new(b)))
                .collect(),
            labels: pairing
                .pairs(LABEL)
                .map(|(a, b)| (LabelId::new(a), LabelId::new(b)))
                .collect(),
            ..diff
        }
    }
}

impl FunctionDiff {
    /// A function that only one module has.
    fn without_partner(left: Option<FuncId>, right: Option<FuncId>) -> Self {
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

    /// Whether both modules have the function, by the same name, and it is equal in both.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.left.is_some()
            && self.right.is_some()
            && self.similarity.is_none()
            && self.changes.is_empty()
            && self.lines.is_empty()
    }

    /// The number of statements that only the left function has, and the number that only the right function has.
    #[must_use]
    pub fn edits(&self) -> (usize, usize) {
        let (mut removed, mut added) = (0, 0);
        for line in &self.lines {
            match line {
                Line::Removed(_) => removed += 1,
                Line::Added(_) => added += 1,
                Line::Same(..) => {}
            }
        }
        (removed, added)
    }
}
