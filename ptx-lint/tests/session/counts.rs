//! Which functions are evaluated after a change.

use crate::Document;

/// Functions that are too long, or called in a way, so that kernels are linted with their calls: `chain` calls `middle`, which calls `leaf`.
fn chain() -> String {
    let long = "    add.s32 %r2, %r2, 1;\n".repeat(300);
    let function = |name: &str, rest: &str| {
        format!(
            ".func (.param .b32 r) {name}(.param .b32 a)\n{{\n    .reg .b32 %r<4>;\n    .param .b32 x;\n    .param .b32 y;\n    ld.param.u32 %r1, [a];\n    \
             mov.u32 %r2, %r1;\n{long}{rest}    st.param.b32 [r], %r2;\n    ret;\n}}\n"
        )
    };
    let call = |name: &str| {
        format!(
            "    st.param.b32 [x], %r1;\n    call (y), {name}, (x);\n    ld.param.b32 %r3, [y];\n    mov.u32 %r2, %r3;\n"
        )
    };
    let kernel = |name: &str, rest: &str| {
        format!(
            ".visible .entry {name}()\n{{\n    .reg .pred %p;\n    .reg .b32 %r<4>;\n    .param .b32 x;\n    .param .b32 y;\n    mov.u32 %r1, %ctaid.x;\n    \
             mov.u32 %r2, 0;\n{rest}    setp.eq.s32 %p, %r2, 0;\n    @%p bra DONE;\n    bar.sync 0;\nDONE:\n    ret;\n}}\n"
        )
    };
    let mut text = String::from(
        ".version 8.0\n.target sm_80\n.address_size 64\n.global .align 4 .b32 table[64];\n",
    );
    text += &function("leaf", "    // in leaf\n");
    text += &function("middle", &(call("leaf") + "    // in middle\n"));
    text += &kernel("chain", &(call("middle") + "    // in chain\n"));
    text += &kernel(
        "alone",
        "    // in alone\n    st.global.b32 [table], %r1;\n",
    );
    text += &kernel("other", &(call("leaf") + "    // in other\n"));
    text
}

#[test]
fn one_function_is_evaluated_if_it_gives_the_same_to_others() {
    let mut document = Document::new(&chain());
    assert_eq!(
        document.replace("    // in alone\n", "    mov.u32 %r1, %tid.x;\n"),
        ["alone"]
    );
    assert_eq!(
        document.replace("    // in chain\n", "    mov.u32 %r2, 1;\n"),
        ["chain"]
    );
    assert_eq!(
        document.replace("    // in middle\n", "    add.s32 %r2, %r2, 9;\n"),
        ["middle"]
    );
    assert_eq!(
        document.replace("    // in leaf\n", "    add.s32 %r2, %r2, 9;\n"),
        ["leaf"]
    );
}

#[test]
fn others_are_evaluated_as_far_as_they_get_something_else() {
    let mut document = Document::new(&chain());
    // What `leaf` returns is another kind of value now: so is what `middle` returns.
    let evaluated = document.replace(
        "    // in leaf\n",
        "    mov.u32 %r2, %tid.x;\n    // in leaf\n",
    );
    assert_eq!(evaluated, ["leaf", "middle", "chain", "other"]);
    let evaluated = document.replace(
        "    mov.u32 %r2, %tid.x;\n    // in leaf\n",
        "    // in leaf\n",
    );
    assert_eq!(evaluated, ["leaf", "middle", "chain", "other"]);
    // Only what calls `middle` gets something else, and neither what `middle` calls nor the others.
    let evaluated = document.replace(
        "    // in middle\n",
        "    mov.u32 %r2, %tid.x;\n    // in middle\n",
    );
    assert_eq!(evaluated, ["middle", "chain"]);
}

#[test]
fn arguments_lead_to_the_functions_that_are_called() {
    let mut document = Document::new(&chain());
    let evaluated = document.replace(
        "    // in other\n",
        "    call (y), leaf, (x);\n    // in other\n",
    );
    assert_eq!(evaluated, ["other"]);
    let evaluated = document.replace(
        "    // in other\n",
        "    mov.u32 %r1, %tid.x;\n    st.param.b32 [x], %r1;\n    // in other\n",
    );
    assert!(evaluated.contains(&"leaf".to_owned()), "{evaluated:?}");
    assert!(!evaluated.contains(&"alone".to_owned()), "{evaluated:?}");
}

#[test]
fn declarations_lead_to_the_functions_that_mention_them() {
    let mut document = Document::new(&chain());
    let evaluated = document.replace("table[64]", "table[65]");
    assert_eq!(evaluated, ["alone"]);
    // Functions have other ids after this.
    let evaluated = document.replace(".global .align", ".func new() { ret; }\n.global .align");
    assert_eq!(evaluated, ["new"]);
    let evaluated = document.replace(".func new() { ret; }\n", "");
    assert_eq!(evaluated, Vec::<String>::new());
    let evaluated = document.replace(".address_size 64\n", ".address_size 64\n// a comment\n");
    assert_eq!(evaluated, Vec::<String>::new());
    let evaluated = document.replace("sm_80", "sm_90");
    assert_eq!(evaluated.len(), 5);
}

#[test]
fn kernels_are_evaluated_with_the_functions_that_take_the_place_of_calls() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n\
        .func wait() { bar.sync 0; ret; }\n\
        .func never() { .reg .b32 unused; ret; }\n\
        .entry a() { .reg .b32 r; .reg .pred p; mov.u32 r, %ctaid.x; setp.eq.u32 p, r, 0; @p bra E; call wait; E: ret; }\n\
        .entry b() { call wait; ret; }\n\
        .entry c() { call never; ret; }\n";
    let mut document = Document::new(text);
    assert_eq!(document.session.findings().count(), 0);
    let evaluated = document.replace("r, %ctaid.x", "r, %tid.x");
    // The functions that it calls get something else, but not the other kernels.
    assert!(
        evaluated.contains(&"a".to_owned()) && !evaluated.contains(&"b".to_owned()),
        "{evaluated:?}"
    );
    assert!(document.session.findings().count() > 0);
    assert_eq!(
        document.replace(".reg .b32 unused;", "bar.sync 0;"),
        ["never", "c"]
    );
}

#[test]
fn a_result_makes_a_barrier_divergent() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n\
        .func (.reg .b32 q) index() { mov.u32 q, %ctaid.x; ret; }\n\
        .entry a() { .reg .b32 r; .reg .pred p; call (r), index; setp.eq.u32 p, r, 0; @p bra E; bar.sync 0; E: ret; }\n\
        .entry b() { ret; }\n";
    let mut document = Document::new(text);
    let found = |document: &Document| {
        let all = document.session.findings();
        let all = all.filter(|f| f.lint == ptx_lint::Lint::BarrierDivergence);
        all.count()
    };
    assert_eq!(found(&document), 0);
    let evaluated = document.replace("q, %ctaid.x", "q, %tid.x");
    assert_eq!(
        (evaluated, found(&document)),
        (vec!["index".to_owned(), "a".to_owned()], 1)
    );
    document.replace("q, %tid.x", "q, %ctaid.x");
    assert_eq!(found(&document), 0);
}
