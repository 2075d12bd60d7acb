//! Rows of modifiers for a form: every alternative of every slot, every row of every table, many pairs.

use std::collections::HashSet;

use fastrand::Rng;
use ptx_isa::internals::{Cell, Rule, RuleKind, Slot};
use ptx_isa::{Form, Instruction, Modifier};

use super::case::Case;
use super::operand_gen::fill;

/// The greatest number of rows of a form that only cover a new pair of alternatives.
const MAX_PAIRS: usize = 36;
/// The number of attempts to fill the other slots for one goal.
const TRIES: usize = 60;
const TRIES_FOR_A_PAIR: usize = 8;
/// The greatest number of pairs of alternatives that are tried.
const MAX_PAIRS_TRIED: usize = 160;

/// The number of cases that violate only one rule, and the number of attempts to find them.
const BROKEN: usize = 4;
const TRIES_TO_BREAK: usize = 400;

type Words = &'static [Modifier];

/// The goal of a row: it has these alternatives of slots, this row of a table, or violates this rule.
#[derive(Clone, Default)]
struct Goal {
    slots: Vec<(usize, Words)>,
    row: Option<(usize, usize)>,
    broken: Option<&'static Rule>,
}

/// The cases of a form.
pub fn cover(instruction: &'static Instruction, form: &'static Form, rng: &mut Rng) -> Vec<Case> {
    let alternatives: Vec<Vec<Words>> = form.slots().map(alternatives).collect();
    let singles = alternatives.iter().enumerate().flat_map(|(slot, words)| {
        words.iter().map(move |&words| Goal {
            slots: vec![(slot, words)],
            ..Goal::default()
        })
    });
    let rows = form.tables().iter().enumerate().flat_map(|(index, table)| {
        (0..table.rows().len()).map(move |row| Goal {
            row: Some((index, row)),
            ..Goal::default()
        })
    });
    // Some rows without a goal, for the forms without slots and for more operands.
    let plain = std::iter::repeat_n(Goal::default(), 4);
    let goals: Vec<Goal> = plain.chain(singles).chain(rows).collect();

    let mut cover = Cover::default();
    let mut reach = |goal: &Goal, tries: usize, cover: &mut Cover| {
        let success = (0..tries).find_map(|_| attempt(instruction, form, &alternatives, goal, rng));
        if let Some((case, choice)) = success {
            cover.add(case, &choice);
        }
    };
    for goal in &goals {
        reach(goal, TRIES, &mut cover);
    }
    let max_cases = cover.cases.len() + MAX_PAIRS;
    for pair in some_pairs(&alternatives) {
        if cover.cases.len() < max_cases && !cover.pairs.contains(&pair) {
            let goal = Goal {
                slots: pair.to_vec(),
                ..Goal::default()
            };
            reach(&goal, TRIES_FOR_A_PAIR, &mut cover);
        }
    }
    cover.cases
}

/// Cases that violate only one rule of the form, some for each rule.
pub fn breaking(
    instruction: &'static Instruction,
    form: &'static Form,
    rng: &mut Rng,
) -> Vec<Case> {
    let alternatives: Vec<Vec<Words>> = form.slots().map(alternatives).collect();
    let mut cases = Vec::new();
    for rule in form.rules().iter().filter(|r| forbids(r)) {
        let goal = Goal {
            broken: Some(rule),
            ..Goal::default()
        };
        let violations = (0..TRIES_TO_BREAK)
            .filter_map(|_| attempt(instruction, form, &alternatives, &goal, rng))
            .map(|(case, _)| case);
        cases.extend(violations.take(BROKEN));
    }
    cases
}

/// Whether a rule forbids instructions in every version and on every target.
pub fn forbids(rule: &Rule) -> bool {
    use RuleKind::{Deny, Ordered, Require};
    matches!(rule.kind(), Require(..) | Deny(..) | Ordered(..))
}

/// Two slots with their modifiers.
type Pair = [(usize, Words); 2];

/// The cases so far, and the pairs that they cover.
#[derive(Default)]
struct Cover {
    cases: Vec<Case>,
    pairs: HashSet<Pair>,
}

impl Cover {
    fn add(&mut self, case: Case, choice: &[Words]) {
        for (first, first_words) in choice.iter().enumerate() {
            for (second, second_words) in choice.iter().enumerate().skip(first + 1) {
                self.pairs
                    .insert([(first, *first_words), (second, *second_words)]);
            }
        }
        self.cases.push(case);
    }
}

fn alternatives(slot: &'static Slot) -> Vec<Words> {
    let mut alternatives: Vec<Words> = Vec::new();
    if slot.is_optional() {
        alternatives.push(&[]);
    }
    alternatives.extend(slot.words().as_slice().chunks(1));
    alternatives.extend(slot.sequences());
    alternatives
}

/// Pairs of alternatives, evenly chosen among all pairs.
fn some_pairs(alternatives: &[Vec<Words>]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (first, first_alternatives) in alternatives.iter().enumerate() {
        for (second, second_alternatives) in alternatives.iter().enumerate().skip(first + 1) {
            for &first_words in first_alternatives {
                for &second_words in second_alternatives {
                    pairs.push([(first, first_words), (second, second_words)]);
                }
            }
        }
    }
    let step = pairs.len().div_ceil(MAX_PAIRS_TRIED).max(1);
    pairs.into_iter().step_by(step).collect()
}

/// Fills the slots that the goal does not determine: the columns of tables by a random row, the others by random alternatives.
fn attempt(
    instruction: &'static Instruction,
    form: &'static Form,
    alternatives: &[Vec<Words>],
    goal: &Goal,
    rng: &mut Rng,
) -> Option<(Case, Vec<Words>)> {
    let mut choice: Vec<Words> = Vec::new();
    for words in alternatives {
        let random_words = rng.choice(words).copied()?;
        choice.push(if rng.bool() {
            random_words
        } else {
            *words.first()?
        });
    }
    let mut is_fixed = vec![false; choice.len()];
    for &(slot, words) in &goal.slots {
        *choice.get_mut(slot)? = words;
        *is_fixed.get_mut(slot)? = true;
    }
    for (index, table) in form.tables().iter().enumerate() {
        let matches_fixed = |row: &ptx_isa::internals::Row| {
            row.cells()
                .iter()
                .zip(table.columns())
                .all(|(cell, &slot)| {
                    let slot = usize::from(slot);
                    let chosen = choice.get(slot).copied().unwrap_or(&[]);
                    let is_free = is_fixed.get(slot) != Some(&true);
                    match *cell {
                        Cell::Absent => is_free || chosen.is_empty(),
                        Cell::OneOf(words) => is_free || chosen.iter().any(|&w| words.contains(w)),
                        _ => true,
                    }
                })
        };
        let row = match goal.row {
            Some((goal_table, row)) if goal_table == index => table.rows().get(row)?,
            _ => {
                let rows: Vec<_> = table.rows().iter().filter(|r| matches_fixed(r)).collect();
                rng.choice(rows)?
            }
        };
        for (cell, &slot) in row.cells().iter().zip(table.columns()) {
            let slot = usize::from(slot);
            if is_fixed.get(slot) == Some(&true) {
                continue;
            }
            let chosen: Words = match *cell {
                Cell::Absent => &[],
                Cell::OneOf(words) => {
                    let candidates: Vec<_> = alternatives
                        .get(slot)?
                        .iter()
                        .filter(|alternative| alternative.iter().any(|&m| words.contains(m)))
                        .collect();
                    rng.choice(candidates).copied()?
                }
                Cell::Same(other) => *choice.get(usize::from(other))?,
                _ => continue,
            };
            *choice.get_mut(slot)? = chosen;
            *is_fixed.get_mut(slot)? = true;
        }
    }
    let case = fill(instruction, form, &choice.concat(), goal.broken, rng)?;
    Some((case, choice))
}
