//! Litmus tests that cannot be read: the error names the line, and what was expected.

use ptx_memory::litmus::Litmus;

/// The line and the message of the error of a test with an instruction in line 4.
fn error(instruction: &str) -> String {
    let text = format!(
        "PTX wrong\n{{ x = 0; }}\n P0@cta 0,gpu 0 ;\n {instruction} ;\n mov r1, 1 ;\nexists (P0:r1 == 1)\n"
    );
    Litmus::parse(&text).map_or_else(|error| error.to_string(), |_| String::new())
}

#[test]
fn what_would_not_be_considered_is_an_error() {
    for (instruction, message) in [
        ("ld.relaxd.gpu r0, x", "`ld` has no modifier `.relaxd`"),
        ("st.weak.gpuu x, 1", "`st` has no modifier `.gpuu`"),
        (
            "atom.relaxed.gpu.inc r0, x, 1",
            "`atom` has no modifier `.inc`",
        ),
        (
            "fence.proxy.async.global",
            "`fence` has no modifier `.global`",
        ),
        ("bar.cluster.sync 0", "`bar` has no modifier `.cluster`"),
        ("ld.weak r0, x, 1", "`ld` has an operand too many: `1`"),
        (
            "atom.relaxed.gpu.add r0, x, 1, 2",
            "`atom` has an operand too many: `2`",
        ),
        ("goto L9", "there is no label `L9`"),
        ("bne r1, 0, L9", "there is no label `L9`"),
        (
            "mov r0, 1 | mov r0, 2",
            "there are more columns than threads",
        ),
        ("frobnicate r0", "unknown instruction `frobnicate`"),
    ] {
        let text = error(instruction);
        assert!(text.contains(message), "{instruction}: {text}");
        assert!(
            text.contains("line 4") || text.contains("4:"),
            "{instruction}: {text}"
        );
    }
    assert_eq!(error("ld.relaxed.gpu r0, x"), "");
}
