//! Random changes of texts.

use ptx_ir::Span;

/// Functions that call each other: with barriers, results that differ between threads, pointers, recursion, and memory.
pub(crate) const CALLS: &str = r".version 8.0
.target sm_90
.address_size 64
.global .align 4 .b32 table[64];
.shared .align 4 .b32 tile[256];
.extern .func outside(.param .b32 a);
.func (.param .b32 r) level(.param .b32 a)
{
    .reg .b32 %r<4>;
    ld.param.u32 %r1, [a];
    add.s32 %r2, %r1, 1;
    st.param.b32 [r], %r2;
    ret;
}
.func wait()
{
    bar.sync 0;
    ret;
}
.func (.reg .b64 q) pass(.reg .b64 p)
{
    mov.u64 q, p;
    ret;
}
.func again(.param .b32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    ld.param.u32 %r1, [n];
    setp.eq.s32 %p1, %r1, 0;
    @%p1 bra DONE;
    {
        .param .b32 a0;
        add.s32 %r2, %r1, -1;
        st.param.b32 [a0], %r2;
        call again, (a0);
    }
    call wait;
DONE:
    ret;
}
.visible .func open(.param .b64 p)
{
    .reg .b32 %r<4>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [p];
    ld.b32 %r1, [%d1+4];
    st.b32 [%d1], %r1;
    ret;
}
.visible .entry first(.param .u64 p, .param .u32 n)
{
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    .reg .b64 %d<8>;
    ld.param.u64 %d1, [p];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    {
        .param .b32 a0;
        .param .b32 r0;
        st.param.b32 [a0], %r1;
        call (r0), level, (a0);
        ld.param.b32 %r3, [r0];
    }
    setp.lt.s32 %p1, %r3, 7;
    @%p1 bra SKIP;
    call wait;
SKIP:
    mul.wide.u32 %d2, %r2, 8;
    add.s64 %d3, %d1, %d2;
    ld.global.u32 %r4, [%d3];
    st.global.u32 [%d3], %r4;
    ret;
}
.visible .entry second(.param .u64 p)
{
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    .reg .b64 %d<8>;
    mov.u64 %d1, tile;
    cvta.shared.u64 %d2, %d1;
    call (%d3), pass, (%d2);
    mov.u32 %r1, %tid.x;
    st.b32 [%d3], %r1;
    ld.b32 %r2, [%d3+4];
    {
        .param .b32 a0;
        st.param.b32 [a0], %r2;
        call again, (a0);
    }
    {
        .param .b64 a0;
        st.param.b64 [a0], %d3;
        call open, (a0);
    }
    ret;
}
.visible .entry alone()
{
    .reg .b32 %r<4>;
    .reg .b64 %d<4>;
    mov.u32 %r1, %tid.x;
    mov.u64 %d1, table;
    st.global.b32 [%d1], %r1;
    ret;
}
";

/// Statements that change what functions give to each other, and other lines.
const LINES: [&str; 24] = [
    "    bar.sync 0;\n",
    "    call wait;\n",
    "    mov.u32 %r1, %tid.x;\n",
    "    mov.u32 %r1, %ctaid.x;\n",
    "    mov.u32 %r2, 5;\n",
    "    ld.param.u32 %r1, [a];\n",
    "    ld.param.u32 %r1, [n];\n",
    "    st.shared.b32 [tile], %r1;\n",
    "    ld.shared.b32 %r2, [tile+4];\n",
    "    mov.u64 %d1, table;\n",
    "    cvta.global.u64 %d2, %d1;\n",
    "    setp.lt.s32 %p1, %r2, 7;\n",
    "    @%p1 bar.sync 0;\n",
    "    @%p1 call wait;\n",
    "    @%p1 ret;\n",
    "    add.s64 %d3, %d1, 4;\n",
    "    call (%d3), pass, (%d1);\n",
    "    { .param .b32 z; st.param.b32 [z], %r1; call again, (z); }\n",
    "    { .param .b32 z; st.param.b32 [z], %r1; call outside, (z); }\n",
    "    .local .align 8 .b8 depot[16];\n    mov.u64 %d1, depot;\n    cvta.local.u64 %d2, %d1;\n",
    "    bra NEXT; NEXT:\n",
    "    // a comment\n",
    "    mov.u64 %d1, wait;\n",
    "    atom.global.add.u32 %r1, [table], 1;\n",
];

/// Declarations and functions.
const ITEMS: [&str; 6] = [
    ".global .align 8 .b64 other;\n",
    ".local .align 8 .b64 own;\n",
    ".func more()\n{\n    bar.sync 0;\n    ret;\n}\n",
    ".visible .entry third()\n{\n    call wait;\n    ret;\n}\n",
    ".extern .func more();\n",
    "// ptxkit\n",
];

/// Words that take the place of each other.
const WORDS: [(&str, &str); 12] = [
    ("call wait", "call more"),
    (", level,", ", again_not,"),
    ("%tid.x", "%ctaid.x"),
    ("%ctaid.x", "%laneid"),
    (".visible .entry", ".entry"),
    (".visible .func", ".func"),
    (".func wait", ".visible .func wait"),
    (".func pass", ".func passed"),
    ("table[64]", "table[32]"),
    (".shared .align 4", ".shared .align 16"),
    ("sm_90", "sm_80"),
    ("add.s32", "mul.lo.s32"),
];

fn line_starts(text: &str) -> Vec<usize> {
    let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
    std::iter::once(0)
        .chain(breaks)
        .filter(|at| *at < text.len())
        .collect()
}

fn line(text: &str, start: usize) -> &str {
    text[start..]
        .split_inclusive('\n')
        .next()
        .unwrap_or_default()
}

/// Where items begin that are written at the beginning of a line.
fn items(text: &str) -> Vec<usize> {
    let starts = line_starts(text).into_iter();
    starts
        .filter(|at| {
            [".visible", ".func", ".entry", ".global", ".extern"]
                .iter()
                .any(|w| text[*at..].starts_with(w))
        })
        .collect()
}

/// A change of a text; `original` has lines that may come back.
pub(crate) fn random(random: &mut fastrand::Rng, text: &str, original: &str) -> (Span, String) {
    let starts = line_starts(text);
    let at = random.choice(&starts).copied().unwrap_or(0);
    let of = line(text, at);
    match random.u8(..16) {
        0..=5 => {
            let new = random.choice(LINES).unwrap_or_default();
            (Span::at(at, at), new.to_owned())
        }
        6..=8 if of.ends_with(";\n") => (Span::at(at, at + of.len()), String::new()),
        9 | 10 => {
            let from = random.choice(line_starts(original)).unwrap_or(0);
            (Span::at(at, at), line(original, from).to_owned())
        }
        11..=13 => {
            let (old, new) = random.choice(WORDS).unwrap_or_default();
            let (old, new) = if random.bool() {
                (old, new)
            } else {
                (new, old)
            };
            let all: Vec<usize> = text.match_indices(old).map(|(at, _)| at).collect();
            match random.choice(all) {
                Some(at) => (Span::at(at, at + old.len()), new.to_owned()),
                None => (Span::at(at, at), "\n".to_owned()),
            }
        }
        14 => {
            let at = random.choice(items(text)).unwrap_or(0);
            let new = random.choice(ITEMS).unwrap_or_default();
            (Span::at(at, at), new.to_owned())
        }
        _ => {
            // An item is removed.
            let all = items(text);
            let Some(index) = (!all.is_empty()).then(|| random.usize(..all.len())) else {
                return (Span::at(at, at), String::new());
            };
            let end = all.get(index + 1).copied().unwrap_or(text.len());
            (Span::at(all[index], end), String::new())
        }
    }
}
