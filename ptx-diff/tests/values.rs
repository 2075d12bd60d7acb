//! Random functions that are changed at random: those that are equal by their values have the same effects.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use ptx_diff::{Equality, ModuleDiff};
use ptx_machine::Random;
use ptx_machine::program::program;

/// Gives all registers values.
const START: &str = "mov.b64 %d, 64;
ld.global.b32 %r0, [%d+0];\nld.global.b32 %r1, [%d+4];\nld.global.b32 %r2, [%d+8];
ld.global.b32 %r3, [%d+12];\nld.global.b32 %r4, [%d+16];
setp.lt.u32 %p0, %r0, %r1;\nsetp.lt.u32 %p1, %r2, %r3;\nsetp.lt.u32 %p2, %r4, %r0;
add.cc.u32 %r5, %r1, %r2;
";

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
    for _ in 0..2500 {
        let text = program(&mut random).text;
        let text = text.replace(".reg .b64 %d;\n", &format!(".reg .b64 %d;\n{START}"));
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let start = lines.iter().position(|l| l.starts_with("add.cc")).unwrap() + 1;
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
        for seed in 0..6 {
            assert!(
                common::agree(&left, &right, "k", seed),
                "seed {seed}: {text}\n{changed}"
            );
        }
    }
    assert!(equal > 200 && different > 200, "{equal} {different}");
}
