//! `clean`.

use crate::support::with_input;

/// A copy, a constant, an address of known space, dead and unreachable code.
const UNTIDY: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<5>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [p]; // the pointer
    cvta.global.u64 %d2, %d1;
    mov.b64 %d3, %d2;
    mov.u32 %r1, 6;
    mul.lo.u32 %r2, %r1, 7;
    st.u32 [%d3+4], %r2;
    bra out;
    add.u32 %r3, %r2, 1;
unused:
out:
    ret;
}
";

#[test]
fn cleaning() {
    let head = UNTIDY.split("    cvta").next().unwrap();
    let run = with_input(&["clean", "-"], UNTIDY.as_bytes());
    let wanted = format!(
        "{head}    cvta.global.u64 %d2, %d1;\n    st.global.u32 [%d2+4], 42;\n    bra out;\nout:\n    ret;\n}}\n"
    );
    assert_eq!((run.status, run.out.as_str()), (0, wanted.as_str()));
    let again = with_input(&["clean", "-"], wanted.as_bytes());
    assert_eq!((again.status, again.out), (0, wanted));

    let run = with_input(
        &["clean", "--copies", "--unreachable", "-"],
        UNTIDY.as_bytes(),
    );
    let wanted = UNTIDY
        .replace("[%d3+4]", "[%d2+4]")
        .replace("    add.u32 %r3, %r2, 1;\nunused:\n", "");
    assert_eq!((run.status, run.out), (0, wanted));
}

#[test]
fn changes_are_explained() {
    let run = with_input(
        &["clean", "--explain", "--spaces", "--unreachable", "-"],
        UNTIDY.as_bytes(),
    );
    assert_eq!(
        (run.status, run.out.as_str()),
        (
            0,
            "<stdin>:13: st.u32 [%d3+4], %r2;: spaces: %d3 is an address in .global\n\
             <stdin>:15: add.u32 %r3, %r2, 1;: unreachable: it is unreachable\n\
             <stdin>:16: unused:: unreachable: unreferenced\n"
        )
    );
    let run = with_input(
        &["clean", "-"],
        UNTIDY.replace("%r1, 6", "%r1 6").as_bytes(),
    );
    assert_eq!((run.status, run.out.as_str()), (1, ""));
    assert!(run.err.contains("<stdin>:11"), "{}", run.err);
    assert!(run.err.contains("not written"), "{}", run.err);
}
