//! Variables and labels that ranges such as `t<4>` declare.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use crate::common::{kernel, run};

#[test]
fn members_of_ranges_are_variables() {
    let before = ".global .b32 g<4>;\n.shared .b32 m<3>;\n.shared .b32 last;";
    let body = ".shared .b64 t<3>;\n.shared .b32 end;\n.local .b32 l<4>;\n.local .b32 own;\n\
                st.shared.b32 [t0], 1;\nst.shared.b64 [t2], 2;\nst.shared.b32 [t1+4], 3;\nst.shared.b32 [end], 4;\n\
                st.shared.b32 [m2], 5;\nst.shared.b32 [last], 6;\nst.global.b32 [g3], 7;\nst.global.b32 [g0], 8;\n\
                st.local.b32 [l3], 9;\nst.local.b32 [own], 10;\nst.local.b32 [l0], 11;\n\
                ld.shared.b32 %r1, [t0];\nld.shared.b32 %r2, [t2];\nld.shared.b32 %r3, [t1+4];\nld.shared.b32 %r4, [end];\n\
                ld.shared.b32 %r5, [m2];\nld.shared.b32 %r6, [last];\nld.global.b32 %r7, [g3];\nld.global.b32 %r8, [g0];\n\
                ld.local.b32 %r9, [l3];\nld.local.b32 %r10, [own];\nld.local.b32 %r11, [l0];\n\
                st.global.v4.b32 [%out], {%r1, %r2, %r3, %r4};\nst.global.v4.b32 [%out+16], {%r5, %r6, %r7, %r8};\n\
                st.global.v2.b32 [%out+32], {%r9, %r10};\nst.global.b32 [%out+40], %r11;";
    let found = run(&kernel(before, body), 1, 1, &[0; 11]).unwrap();
    assert_eq!(found, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
}

#[test]
fn tables_have_ranges_of_labels() {
    let body = "table: .branchtargets L<2>, last, L<3>;\nbrx.idx %r0, table;\n\
                L0: mov.u32 %r1, 10;\nbra DONE;\nL1: mov.u32 %r1, 11;\nbra DONE;\nL2: mov.u32 %r1, 12;\nbra DONE;\n\
                last: mov.u32 %r1, 99;\nDONE: st.global.u32 [%mine], %r1;";
    let found = run(&kernel("", body), 1, 6, &[0; 6]).unwrap();
    assert_eq!(found, [10, 11, 99, 10, 11, 12]);
}
