//! Rows of modifiers for a form: every alternative of every slot, every row of every table, many pairs.

use std::collections::HashSet;

use fastrand::Rng;
use ptx_isa::{Cell, Form, Instruction, Modifier, Rule, RuleKind, Slot};

use super::case::Case;
use super::operand_gen::fill;

/// How many rows a form gets beyond those that show something new alone.
const MOST_PAIRS: usize = 36;
/// How often the other slots are filled again for one goal.
const TRIES: usize = 60;
const TRIES_FOR_A_PAIR: usize = 8;
/// How many pairs of alternatives are tried.
const MOST_PAIRS_TRIED: usize = 160;

/// How many cases are refused by one rule alone, and how often one is tried.
const BROKEN: usize = 4;
const TRIES_TO_BREAK: usize = 400;

type Words = &'static [Modifier];

/// What a row has to show: alternatives of slots, perhaps a row of a table, perhaps that a rule is broken.
#[derive(Clone, Default)]
struct Goal {
    slots: Vec<(usize, Words)>,
    row: Option<(usize, usize)>,
    broken: Option<&'static Rule>,
}

/// The cases of a form.
pub(crate) fn cover(
    instruction: &'static Instruction,
    form: &'static Form,
    rng: &mut Rng,
) -> Vec<Case> {
    let alternatives: Vec<Vec<Words>> = form.slots().map(alternatives).collect();
    let singles = alternatives.iter().enumerate().flat_map(|(slot, words)| {
        let goal = move |&w: &Words| Goal {
            slots: vec![(slot, w)],
            ..Goal::default()
        };
        words.iter().map(goal)
    });
    let rows = form.tables().iter().enumerate().flat_map(|(t, table)| {
        (0..table.rows().len()).map(move |r| Goal {
            row: Some((t, r)),
            ..Goal::default()
        })
    });
    // Once with nothing to show, for the forms without slots and for more operands.
    let plain = std::iter::repeat_n(Goal::default(), 4);
    let first: Vec<Goal> = plain.chain(singles).chain(rows).collect();

    let mut cover = Cover::default();
    let mut show = |goal: &Goal, tries: usize, cover: &mut Cover| {
        let mut found =
            (0..tries).filter_map(|_| attempt(instruction, form, &alternatives, goal, rng));
        if let Some((case, choice)) = found.next() {
            cover.add(case, &choice);
        }
    };
    for goal in &first {
        show(goal, TRIES, &mut cover);
    }
    let enough = cover.cases.len() + MOST_PAIRS;
    for (i, a, j, b) in some_pairs(&alternatives) {
        if cover.cases.len() < enough && !cover.shown.contains(&(i, a, j, b)) {
            let goal = Goal {
                slots: vec![(i, a), (j, b)],
                ..Goal::default()
            };
            show(&goal, TRIES_FOR_A_PAIR, &mut cover);
        }
    }
    cover.cases
}

/// Cases that would be legal but for one rule of the form, some for each rule.
pub(crate) fn breaking(
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
        let tries = 0..TRIES_TO_BREAK;
        let found = tries.filter_map(|_| attempt(instruction, form, &alternatives, &goal, rng));
        cases.extend(found.map(|(case, _)| case).take(BROKEN));
    }
    cases
}

/// Whether a rule forbids something on every version and target.
pub(crate) fn forbids(rule: &Rule) -> bool {
    use RuleKind::{Deny, Ordered, Require};
    matches!(rule.kind(), Require(..) | Deny(..) | Ordered(..))
}

/// Two slots and what they hold.
type Two = (usize, Words, usize, Words);

#[derive(Default)]
struct Cover {
    cases: Vec<Case>,
    shown: HashSet<Two>,
}

impl Cover {
    fn add(&mut self, case: Case, choice: &[Words]) {
        for (i, a) in choice.iter().enumerate() {
            let later = choice.iter().enumerate().skip(i + 1);
            self.shown.extend(later.map(|(j, b)| (i, *a, j, *b)));
        }
        self.cases.push(case);
    }
}

fn alternatives(slot: &'static Slot) -> Vec<Words> {
    let nothing: &[Words] = if slot.is_optional() { &[&[]] } else { &[] };
    let single = slot.words().as_slice().chunks(1);
    let all = nothing.iter().copied().chain(single);
    all.chain(slot.sequences().iter().copied()).collect()
}

/// Pairs of alternatives, evenly spread over all.
fn some_pairs(alternatives: &[Vec<Words>]) -> Vec<Two> {
    let mut all = Vec::new();
    for (i, first) in alternatives.iter().enumerate() {
        for (j, second) in alternatives.iter().enumerate().skip(i + 1) {
            for &a in first {
                all.extend(second.iter().map(|&b| (i, a, j, b)));
            }
        }
    }
    let every = all.len().div_ceil(MOST_PAIRS_TRIED).max(1);
    all.into_iter().step_by(every).collect()
}

/// Fills what the goal leaves open by chance, and tables by one of their rows.
fn attempt(
    instruction: &'static Instruction,
    form: &'static Form,
    alternatives: &[Vec<Words>],
    goal: &Goal,
    rng: &mut Rng,
) -> Option<(Case, Vec<Words>)> {
    let mut choice: Vec<Words> = Vec::new();
    for words in alternatives {
        let any = rng.choice(words).copied()?;
        choice.push(if rng.bool() { any } else { *words.first()? });
    }
    let mut fixed = vec![false; choice.len()];
    for &(slot, words) in &goal.slots {
        *choice.get_mut(slot)? = words;
        *fixed.get_mut(slot)? = true;
    }
    for (t, table) in form.tables().iter().enumerate() {
        let fits = |row: &&ptx_isa::Row| {
            let mut cells = row.cells().iter().zip(table.columns());
            cells.all(|(cell, &column)| {
                let column = usize::from(column);
                let word = choice.get(column).copied().unwrap_or(&[]);
                let free = fixed.get(column) != Some(&true);
                match *cell {
                    Cell::Absent => free || word.is_empty(),
                    Cell::OneOf(words) => free || word.iter().any(|&w| words.contains(w)),
                    _ => true,
                }
            })
        };
        let row = match goal.row {
            Some((table, r)) if table == t => form.tables().get(t)?.rows().get(r)?,
            _ => {
                let fitting: Vec<_> = table.rows().iter().filter(fits).collect();
                rng.choice(fitting)?
            }
        };
        for (cell, &column) in row.cells().iter().zip(table.columns()) {
            let column = usize::from(column);
            if fixed.get(column) == Some(&true) {
                continue;
            }
            let chosen: Words = match *cell {
                Cell::Absent => &[],
                Cell::OneOf(words) => {
                    let holds = |w: &&Words| w.iter().any(|&m| words.contains(m));
                    let fitting: Vec<_> = alternatives.get(column)?.iter().filter(holds).collect();
                    rng.choice(fitting).copied()?
                }
                Cell::Same(other) => *choice.get(usize::from(other))?,
                _ => continue,
            };
            *choice.get_mut(column)? = chosen;
            *fixed.get_mut(column)? = true;
        }
    }
    let case = fill(instruction, form, &choice.concat(), goal.broken, rng)?;
    Some((case, choice))
}
