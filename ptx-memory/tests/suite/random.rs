//! The exploration finds the executions of the slow enumeration, each once, on random programs.

use std::collections::BTreeSet;
use std::fmt::Write;

use ptx_memory::ExploreOptions;
use ptx_memory::litmus::Litmus;

use crate::naive::{State, enumerate};

/// What random programs contain.
struct Shape {
    threads: usize,
    events: usize,
    variables: usize,
    has_proxies: bool,
}

fn pick<'a>(random: &mut fastrand::Rng, words: &[&'a str]) -> &'a str {
    words[random.usize(..words.len())]
}

/// The text of a random litmus test.
fn random_test(random: &mut fastrand::Rng) -> String {
    let threads = random.usize(1..=4);
    let shape = Shape {
        threads,
        events: random.usize(threads.max(4)..=10),
        variables: random.usize(1..=3),
        has_proxies: random.u8(..6) == 0,
    };
    let mut columns: Vec<Vec<String>> = vec![Vec::new(); shape.threads];
    let mut registers = vec![0_usize; shape.threads];
    let mut used = 0;
    let mut labels = 0;
    while used < shape.events {
        let thread = random.usize(..shape.threads);
        used += add_instruction(
            random,
            &shape,
            &mut columns[thread],
            &mut registers[thread],
            &mut labels,
        );
    }
    for column in &mut columns {
        close_branches(column);
    }
    write_test(random, &shape, &columns, &registers)
}

/// Adds the labels of open branches at the end.
fn close_branches(column: &mut Vec<String>) {
    let open: Vec<String> = column
        .iter()
        .filter(|line| line.starts_with("bne"))
        .filter_map(|line| Some(format!("{}:", line.rsplit(' ').next()?)))
        .filter(|label| !column.contains(label))
        .collect();
    column.extend(open);
}

fn value(random: &mut fastrand::Rng, registers: usize) -> String {
    if registers > 0 && random.u8(..3) == 0 {
        format!("r{}", random.usize(..registers))
    } else {
        random.u8(1..3).to_string()
    }
}

/// Adds an instruction. Returns the number of its events.
fn add_instruction(
    random: &mut fastrand::Rng,
    shape: &Shape,
    column: &mut Vec<String>,
    registers: &mut usize,
    labels: &mut usize,
) -> usize {
    let scopes = ["cta", "gpu", "sys"];
    let scope = pick(random, &scopes);
    let variable = ["x", "y", "z"][random.usize(..shape.variables)];
    let (line, count) = match random.u8(..20) {
        0..6 => {
            let order = pick(random, &["weak", "relaxed", "relaxed", "acquire"]);
            *registers += 1;
            let order = with_scope(order, scope);
            (format!("ld.{order} r{}, {variable}", *registers - 1), 1)
        }
        6..12 => {
            let order = pick(random, &["weak", "relaxed", "relaxed", "release"]);
            let order = with_scope(order, scope);
            let value = value(random, *registers);
            (format!("st.{order} {variable}, {value}"), 1)
        }
        12..15 => {
            let order = pick(random, &["relaxed", "acquire", "release", "acq_rel"]);
            let operation = pick(random, &["add", "exch", "cas"]);
            let operand = value(random, *registers);
            let operand = if operation == "cas" {
                format!("{}, {operand}", random.u8(..2))
            } else {
                operand
            };
            *registers += 1;
            let destination = *registers - 1;
            (
                format!("atom.{order}.{scope}.{operation} r{destination}, {variable}, {operand}"),
                2,
            )
        }
        15 => {
            let order = pick(random, &["relaxed", "release"]);
            let value = value(random, *registers);
            (format!("red.{order}.{scope}.add {variable}, {value}"), 2)
        }
        16..18 => {
            let order = pick(random, &["sc", "acq_rel"]);
            (format!("fence.{order}.{scope}"), 1)
        }
        18 if *registers > 0 => {
            *labels += 1;
            let register = random.usize(..*registers);
            (format!("bne r{register}, {}, L{labels}", random.u8(..2)), 0)
        }
        19 if shape.has_proxies => match random.u8(..4) {
            0 => ("fence.proxy.alias".to_owned(), 1),
            1 => ("fence.proxy.surface".to_owned(), 1),
            2 => (format!("sust.weak s, {}", random.u8(1..3)), 1),
            _ => {
                *registers += 1;
                let load = pick(random, &["suld.weak", "ld.weak", "ld.relaxed.sys"]);
                let variable = if load == "suld.weak" { "s" } else { "a" };
                (format!("{load} r{}, {variable}", *registers - 1), 1)
            }
        },
        _ => (format!("bar.cta.sync {}", random.u8(..2)), 1),
    };
    column.push(line);
    count
}

fn with_scope(order: &str, scope: &str) -> String {
    if order == "weak" {
        order.to_owned()
    } else {
        format!("{order}.{scope}")
    }
}

fn write_test(
    random: &mut fastrand::Rng,
    shape: &Shape,
    columns: &[Vec<String>],
    registers: &[usize],
) -> String {
    let mut text = String::from("PTX random\n{\nx=0; y=0; z=0;\n");
    if shape.has_proxies {
        text.push_str("a @ generic aliases x; s @ surface aliases x;\n");
    }
    text.push_str("}\n");
    let heads: Vec<String> = (0..shape.threads)
        .map(|thread| {
            let gpu = u8::from(random.u8(..8) == 0);
            format!("P{thread}@cta {},gpu {gpu}", random.u8(..2) + 2 * gpu)
        })
        .collect();
    writeln!(text, "{} ;", heads.join(" | ")).unwrap();
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    for row in 0..rows {
        let cells: Vec<&str> = columns
            .iter()
            .map(|column| column.get(row).map_or("", String::as_str))
            .collect();
        writeln!(text, "{} ;", cells.join(" | ")).unwrap();
    }
    let conditions: Vec<String> = registers
        .iter()
        .enumerate()
        .flat_map(|(thread, count)| (0..*count).map(move |r| format!("P{thread}:r{r} == 0")))
        .chain(["x == 0".to_owned()])
        .collect();
    writeln!(text, "exists ({})", conditions.join(" /\\ ")).unwrap();
    text
}

/// Compares the exploration of one test with the enumeration. Returns whether the enumeration was possible.
fn compare(text: &str, passes_always: bool) -> Option<(u64, u64)> {
    let litmus = Litmus::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let expected = enumerate(&litmus, 400)?;
    let mut options = ExploreOptions::default();
    options.passes_always = passes_always;
    let explored = litmus.final_states(&options);
    let states: BTreeSet<State> = explored
        .states
        .into_keys()
        .map(|state| (state.registers, state.variables))
        .collect();
    let missing: Vec<&State> = expected.states.difference(&states).take(5).collect();
    let wrong: Vec<&State> = states.difference(&expected.states).take(5).collect();
    assert!(
        missing.is_empty() && wrong.is_empty(),
        "missing {missing:?}\nwrong {wrong:?}\n{text}"
    );
    assert_eq!(
        explored.statistics.executions, expected.executions,
        "number of executions\n{text}"
    );
    Some((expected.executions, explored.statistics.steps))
}

fn compare_random(seed: u64, cases: usize, passes_always: bool) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut compared = 0;
    let (mut executions, mut steps) = (0, 0);
    while compared < cases {
        if let Some((more, considered)) = compare(&random_test(&mut random), passes_always) {
            compared += 1;
            executions += more;
            steps += considered;
        }
    }
    println!("{cases} programs, {executions} executions, {steps} steps");
    assert!(executions > 2 * cases as u64, "the programs are too small");
}

#[test]
fn exploration_equals_enumeration() {
    compare_random(
        test_support::sample::seed(),
        test_support::sample::cases(200),
        false,
    );
}

#[test]
fn exploration_without_reasons_equals_enumeration() {
    compare_random(test_support::sample::seed() + 1, 30, true);
}

/// The write of the atomic operation is only known when its read has a source, and contradicts what an earlier read returned then.
#[test]
fn a_late_write_of_an_atomic_operation_is_returned() {
    let text = "PTX late
{ x = 0; y = 0; }
P0@cta 1,gpu 0 | P1@cta 1,gpu 0 ;
ld.acquire.sys r0, y | atom.relaxed.gpu.exch r0, x, 1 ;
ld.relaxed.gpu r1, x | bar.cta.sync 0 ;
 | ld.acquire.gpu r1, y ;
 | st.release.sys y, 1 ;
exists (P0:r0 == 1 /\\ P0:r1 == 1)
";
    let verdict = Litmus::parse(text)
        .unwrap()
        .decide(&ExploreOptions::default());
    assert!(verdict.holds);
    assert!(compare(text, false).is_some());
}

/// The result of a compare-and-swap operation that fails depends on the value that it would have written, though its value does not.
#[test]
fn a_failing_compare_and_swap_operation_passes_on_dependencies() {
    let text = "PTX failing
{ x = 0; y = 0; }
P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;
ld.relaxed.sys r0, x | ld.weak r0, x ;
atom.release.cta.cas r1, y, 1, r0 | st.relaxed.gpu y, 2 ;
st.weak x, r1 | st.release.cta x, r0 ;
exists (P0:r0 == 2)
";
    let verdict = Litmus::parse(text)
        .unwrap()
        .decide(&ExploreOptions::default());
    assert!(!verdict.holds);
    assert!(compare(text, false).is_some());
    assert!(compare(text, true).is_some());
}
