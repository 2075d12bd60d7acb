//! Memory is linear in the text: twice the text asks the allocator for about twice as much.

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const HEADER: &str = ".version 8.5\n.target sm_90\n.address_size 64\n";

/// Bytes asked for while `run` works, those of growing vectors included.
fn asked(run: impl FnOnce()) -> usize {
    let region = Region::new(ALLOCATOR);
    run();
    let change = region.change();
    change.bytes_allocated + usize::try_from(change.bytes_reallocated).unwrap_or(0)
}

fn many(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect()
}

fn kernel(statements: &str) -> String {
    format!("{HEADER}.entry f()\n{{\n.reg .b32 %r<100>;\n{statements}ret;\n}}\n")
}

/// Texts of `n` parts each.
fn texts(n: usize) -> Vec<(&'static str, String)> {
    vec![
        (
            "instructions",
            kernel(&many(n, |i| format!("add.s32 %r{}, %r1, {i};\n", i % 100))),
        ),
        ("labels", kernel(&many(n, |i| format!("L{i}: bra L{i};\n")))),
        (
            "forward labels",
            kernel(&many(n, |i| format!("bra L{i};\nL{i}:\n"))),
        ),
        (
            "registers",
            kernel(&many(n, |i| format!(".reg .b32 x{i};\n"))),
        ),
        ("blocks", kernel(&"{ }\n".repeat(n))),
        (
            "shadowing ranges",
            kernel(&"{ .reg .b32 %r<5>; mov.u32 %r50, %r4; }\n".repeat(n)),
        ),
        (
            "comments",
            kernel(&"// c\n/* d */ add.s32 /* e */ %r1, %r2, 3; // f\n".repeat(n)),
        ),
        ("errors", kernel(&"nonsense %r1;\n".repeat(n))),
        (
            "undefined names",
            kernel(&many(n, |i| format!("mov.u32 a{i}, 1;\n"))),
        ),
        (
            "undefined names of nested scopes",
            kernel(&(many(n, |i| format!("{{ mov.u32 a{i}, 1;\n")) + &"}".repeat(n))),
        ),
        (
            "forward labels of nested scopes",
            kernel(&(many(n, |i| format!("{{ bra L{i};\n")) + &many(n, |i| format!("L{i}: }}\n")))),
        ),
        (
            "functions",
            HEADER.to_string() + &many(n, |i| format!(".func f{i}() {{ ret; }}\n")),
        ),
        (
            "variables",
            HEADER.to_string() + &many(n, |i| format!(".global .b32 g{i}[4] = {{1, {i}}};\n")),
        ),
        (
            "initializer",
            format!("{HEADER}.global .b32 g[] = {{{}1}};\n", "1, ".repeat(n)),
        ),
        (
            "expression",
            format!("{HEADER}.global .b32 g = {}1;\n", "1+(2)*".repeat(n)),
        ),
        (
            "section",
            format!("{HEADER}.section .debug_x {{\n{}}}\n", ".b8 1\n".repeat(n)),
        ),
    ]
}

// One test only: the allocator counts for the whole process.
#[test]
fn twice_the_text_takes_twice_the_memory() {
    const N: usize = 20_000;
    for ((name, one), (_, two)) in texts(N).into_iter().zip(texts(2 * N)) {
        let parse = |text: &str| asked(|| drop(ptx_parse::parse_str(text)));
        let (a, b) = (parse(&one), parse(&two));
        assert!(b < a * 3, "{name}: parsing asks for {a}, then {b} bytes");
        let style = ptx_print::Style::default();
        let print = |text: &str| {
            let module = ptx_parse::parse_str(text).module;
            asked(|| drop(ptx_print::canonical(&module, &style)))
        };
        let (a, b) = (print(&one), print(&two));
        assert!(b < a * 3, "{name}: printing asks for {a}, then {b} bytes");
    }
}
