//! The work of all lints is linear in the text: twice the text asks the allocator for about twice as much. Chained phis, on which the work was once
//! exponential, are linted at all.

use ptx_ir::facts::ModuleFacts;
use ptx_lint::{LintOptions, lint};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const HEADER: &str =
    ".version 8.8\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 s[4096];\n";
const REGISTERS: &str =
    ".reg .b64 a; .reg .b32 r, t; .reg .pred p;\nld.param.u64 a, [p0]; mov.u32 t, %tid.x;\n";

fn kernel(statements: &str) -> String {
    format!("{HEADER}.visible .entry k(.param .u64 p0)\n{{\n{REGISTERS}{statements}ret;\n}}\n")
}

fn many(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect()
}

/// Blocks that each end with a branch to any of them.
fn threaded_dispatch(n: usize) -> String {
    let labels: Vec<String> = (0..n).map(|i| format!("L{i}")).collect();
    let table = format!(
        "T: .branchtargets {}, E;\nbrx.idx t, T;\n",
        labels.join(", ")
    );
    let next = |i| {
        format!(
            "L{i}: ld.global.u32 t, [a]; ld.global.u64 a, [a+8]; st.global.u32 [a], t; brx.idx t, T;\n"
        )
    };
    kernel(&(table + &many(n, next) + "E:\n"))
}

/// Texts of `n` parts each.
fn texts(n: usize) -> Vec<(&'static str, String)> {
    let of = |one: fn(usize) -> String| kernel(&many(n, one));
    vec![
        (
            "phis one after the other",
            of(|i| {
                format!(
                    "ld.global.u32 r, [a]; setp.eq.u32 p, r, {i}; @p bra L{i}; add.u64 a, a, 8;\nL{i}: st.global.u32 [a], r;\n"
                )
            }),
        ),
        (
            "strong accesses",
            of(|_| "atom.global.add.u32 r, [a], 1;\n".into()),
        ),
        (
            "compared results",
            of(|i| {
                format!(
                    "atom.global.inc.u32 r, [a], 1; setp.eq.u32 p, r, {i}; @p st.global.u32 [a+8], r;\n"
                )
            }),
        ),
        (
            "wait loops",
            of(|i| {
                format!(
                    "L{i}: ld.relaxed.gpu.global.u32 r, [a+{}]; setp.eq.u32 p, r, 0; @p bra L{i};\n",
                    4 * i
                )
            }),
        ),
        (
            "locks",
            of(|i| {
                format!(
                    "L{i}: atom.global.cas.b32 r, [a], 0, 1; setp.ne.u32 p, r, 0; @p bra L{i}; atom.global.exch.b32 r, [a], 0;\n"
                )
            }),
        ),
        (
            "accesses of a block",
            of(|i| {
                format!(
                    "st.shared.u32 [s+{}], t; ld.shared.u32 r, [s+{}];\n",
                    4 * i % 4096,
                    (4 * i + 4) % 4096
                )
            }),
        ),
        (
            "barriers in divergent code",
            of(|i| format!("setp.eq.u32 p, t, {i}; @p bra L{i}; bar.sync 0;\nL{i}:\n")),
        ),
        (
            "carry flags",
            of(|_| "add.cc.u32 r, t, t; addc.u32 r, r, 0;\n".into()),
        ),
    ]
}

/// Bytes asked for while a text is linted.
fn asked(text: &str) -> usize {
    let module = ptx_parse::parse(text.as_bytes()).module;
    let region = Region::new(ALLOCATOR);
    let found = lint(&ModuleFacts::new(&module), &LintOptions::default());
    drop(found);
    let change = region.change();
    change.bytes_allocated + usize::try_from(change.bytes_reallocated).unwrap_or(0)
}

#[test]
fn memory_is_linear() {
    for ((name, small), (_, large)) in texts(1000).into_iter().zip(texts(2000)) {
        let (once, twice) = (asked(&small), asked(&large));
        println!("{name}: {once}, {twice}");
        assert!(twice < once * 5 / 2, "{name}: {once} bytes, then {twice}");
    }
}

#[test]
fn chained_phis_are_followed_once() {
    let text = threaded_dispatch(40);
    assert!(asked(&text) < 1 << 26);
}
