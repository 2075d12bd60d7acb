//! Loops in which threads are in different iterations when they meet: those that are entered at several blocks, and those whose next iteration begins before
//! all ways meet.

use super::{UNVARIED, check};

/// A kernel whose threads begin with different values: `%p0` differs between the CTAs of a cluster, `%p1` between clusters, `%p2` between warps and `%p3`
/// between lanes. `%q` does not hold.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{{\n\
         .reg .pred %p<5>, %q;\n.reg .b32 %r<6>;\n\
         mov.u32 %r0, %cluster_ctarank;\nsetp.gt.u32 %p0, %r0, 0;\n\
         mov.u32 %r0, %clusterid.x;\nsetp.gt.u32 %p1, %r0, 0;\n\
         mov.u32 %r0, %warpid;\nsetp.gt.u32 %p2, %r0, 0;\n\
         mov.u32 %r0, %laneid;\nsetp.gt.u32 %p3, %r0, 3;\n\
         mov.u32 %r0, %nctaid.x;\nsetp.gt.u32 %q, %r0, 9;\nmov.u32 %r1, 0;\n{body}\nret;\n}}\n"
    )
}

/// Bodies with the number of the predicate that differs instead of `#`.
const BODIES: [(&str, &str); 7] = [
    (
        "two entries, the second by a branch",
        "@%p# bra L2;\nmov.u32 %r3, 1;\nL1:\nadd.u32 %r1, %r1, 1;\nL2:\nadd.u32 %r2, %r1, 3;\n@%q bra L1;",
    ),
    (
        "two entries, the first by a branch",
        "@!%p# bra L1;\nmov.u32 %r3, 1;\nbra L2;\nL1:\nadd.u32 %r1, %r1, 1;\nL2:\nadd.u32 %r2, %r1, 3;\n@%q bra L1;",
    ),
    (
        "two entries, the second comes first",
        "@%p# bra L2;\nbra L1;\nL2:\nadd.u32 %r2, %r1, 3;\n@!%q bra L3;\nL1:\nadd.u32 %r1, %r1, 1;\nbra L2;\nL3:\nmov.u32 %r4, 2;",
    ),
    (
        "three entries",
        "@%p# bra L3;\n@%p3 bra L2;\nmov.u32 %r3, 1;\nL1:\nadd.u32 %r1, %r1, 1;\nL2:\nadd.u32 %r1, %r1, 1;\nL3:\n\
         add.u32 %r2, %r1, 3;\n@%q bra L1;\nmov.u32 %r4, 2;",
    ),
    (
        "an inner loop with two entries",
        "mov.u32 %r5, 0;\nL0:\n@%p# bra L2;\nmov.u32 %r3, 1;\nL1:\nadd.u32 %r1, %r1, 1;\nL2:\n\
         add.u32 %r2, %r2, 3;\n@%q bra L1;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p0, %r5, 3;\n@%p0 bra L0;\nmov.u32 %r4, 2;",
    ),
    (
        "different ways in a loop with two entries",
        "@%q bra L2;\nL1:\nadd.u32 %r1, %r1, 1;\nsetp.lt.and.u32 %p4, %r1, 3, %p#;\n@%p4 bra L1;\nL2:\nadd.u32 %r2, %r1, 3;\n@%q bra L1;",
    ),
    (
        "the next iteration begins before the ways meet",
        "L1:\nadd.u32 %r1, %r1, 1;\nsetp.lt.and.u32 %p4, %r1, 3, %p#;\n@%p4 bra L1;\nadd.u32 %r2, %r1, 3;\n@%q bra L1;",
    ),
];

#[test]
fn loops_in_which_threads_are_in_different_iterations() {
    for (name, body) in BODIES {
        for predicate in ["0", "1", "2", "3"] {
            let text = kernel(&body.replace('#', predicate));
            let parsed = ptx_parse::parse_str(&text);
            let errors: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
            assert!(errors.is_empty(), "{errors:?}\n{text}");
            let name = format!("{name}, %p{predicate}");
            check(&parsed.module, &name, &UNVARIED).assert_sound(50);
        }
    }
}
