//! Linting a module computes each analysis of a function at most once.

use std::collections::BTreeMap;

use ptx_analysis::take_builds;
use ptx_ir::facts::{ModuleFacts, Stamp};
use ptx_lint::{LintOptions, lint};

/// A kernel with local memory, asynchronous copies, a loop and a barrier; a function; and a kernel that calls it.
const TEXT: &str = "\
.version 8.0
.target sm_80
.address_size 64
.func (.param .b32 r) get(.param .b64 a)
{ .reg .b64 %a; .reg .b32 %r; ld.param.b64 %a, [a]; ld.b32 %r, [%a]; st.param.b32 [r], %r; ret; }
.visible .entry calling(.param .u64 p)
{
.reg .b64 %a; .reg .b32 %r; .param .b64 x; .param .b32 y;
ld.param.u64 %a, [p];
st.param.b64 [x], %a;
call (y), get, (x);
ld.param.b32 %r, [y];
st.global.b32 [%a], %r;
ret;
}
.visible .entry alone(.param .u64 p, .param .u32 n)
{
.shared .align 16 .b8 tile[4096]; .local .align 8 .b8 stack[16];
.reg .b64 %a; .reg .b32 %r<8>; .reg .pred %p;
ld.param.u64 %a, [p];
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
mov.b32 %r3, 0;
st.local.b32 [stack], %r2;
cp.async.ca.shared.global [tile], [%a], 16;
cp.async.commit_group;
cp.async.wait_group 0;
L: add.s32 %r3, %r3, 1;
bar.sync 0;
shl.b32 %r4, %r2, 2;
st.shared.b32 [%r4], %r3;
ld.local.b32 %r5, [stack];
setp.lt.s32 %p, %r3, %r5;
@%p bra L;
st.global.b32 [%a], %r3;
ret;
}
";

#[test]
fn lint_computes_each_analysis_once() {
    let module = ptx_parse::parse_str(TEXT).module;
    let facts = ModuleFacts::new(&module);
    let _ = take_builds();
    let findings = lint(&facts, &LintOptions::default());
    assert!(!findings.is_empty());
    let mut counts: BTreeMap<&str, Vec<(Stamp, u32)>> = BTreeMap::new();
    for (analysis, stamp) in take_builds() {
        let functions = counts.entry(analysis).or_default();
        match functions.iter_mut().find(|(known, _)| *known == stamp) {
            Some((_, count)) => *count += 1,
            None => functions.push((stamp, 1)),
        }
    }
    for (analysis, functions) in &counts {
        assert!(
            functions.iter().all(|(_, count)| *count == 1),
            "{analysis} is computed again: {functions:?}"
        );
    }
    for needed in [
        "control flow",
        "ssa",
        "ssa with cells",
        "values",
        "accesses",
        "violations",
        "values of threads",
    ] {
        assert!(counts.contains_key(needed), "{needed}");
    }
    // No lint needs them.
    for unneeded in ["pressure", "reaching definitions", "value numbers", "work"] {
        assert!(!counts.contains_key(unneeded), "{unneeded}");
    }
}
