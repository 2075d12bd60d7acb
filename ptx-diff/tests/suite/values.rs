//! Random functions that are changed at random: those that are equal by their values have the same effects.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use test_support::random;
use test_support::random::run;

use crate::sample::sample;
use ptx_diff::{Equality, ModuleDiff};
use random::Random;
use random::program::{State, program};

/// Changes some lines after the first `start` ones.
fn change(lines: &mut Vec<String>, start: usize, random: &mut Random) {
    let mut pick = |from: usize, to: usize| from + random.below((to - from).max(1) as u64) as usize;
    let movable = |line: &String| !line.starts_with(['L', 'T', '}']);
    for _ in 0..pick(1, 3) {
        let at = pick(start, lines.len() - 1);
        let (i, j) = (pick(0, 6), pick(0, 6));
        let (one, other) = (format!("%r{i}"), format!("%r{j}"));
        let line = lines[at].clone();
        match pick(0, 7) {
            0 | 1 if movable(&line) && movable(&lines[at + 1]) => lines.swap(at, at + 1),
            // Another order of the last two operands.
            2 | 3 => {
                let parts: Vec<&str> = line.trim_end_matches(';').split(", ").collect();
                if let [head, a, b] = parts[..] {
                    lines[at] = format!("{head}, {b}, {a};");
                }
            }
            4 => lines[at] = line.replace(&one, &other),
            // Two registers with each other's names from here on.
            5 => {
                for line in &mut lines[at..] {
                    let new = line.replace(&one, "%x").replace(&other, &one);
                    *line = new.replace("%x", &other);
                }
            }
            _ => lines.insert(at, format!("mov.u32 {one}, {other};")),
        }
    }
}

#[test]
fn equal_values_have_equal_effects() {
    let mut random = Random::new(14);
    let (mut equal, mut different) = (0, 0);
    let parts = sample(3, 1).parts;
    for _ in 0..2500 / parts {
        let text = program(&mut random).text;
        let text = run::with_values(&text);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let start = lines.iter().position(|l| l.contains("%r5, [%d+")).unwrap() + 1;
        change(&mut lines, start, &mut random);
        let changed = lines.join("\n");
        let parse = |text: &str| ptx_parse::parse(text.as_bytes()).module;
        let (left, right) = (parse(&text), parse(&changed));
        let is_equal = |equality| ModuleDiff::new(&left, &right, equality).is_equal();
        if is_equal(Equality::Statements) {
            continue;
        }
        if !is_equal(Equality::Values) {
            different += 1;
            continue;
        }
        equal += 1;
        let states: [State; 6] = core::array::from_fn(|_| State::random(&mut random));
        let (left, right) = (run::runs(&text, &states), run::runs(&changed, &states));
        for ((state, left), right) in states.iter().zip(&left).zip(&right) {
            assert!(
                left.same_as_far_as_known(right),
                "{state:?}: {left:?} {right:?}\n{text}\n{changed}"
            );
        }
    }
    let least = 200 / parts;
    assert!(equal > least && different > least, "{equal} {different}");
}
