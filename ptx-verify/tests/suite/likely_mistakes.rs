//! Registers that nothing writes, and accesses that are never aligned.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

/// The texts that are reported in a body, with their codes.
fn found(body: &str) -> Vec<(u16, String)> {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.shared .align 4 .b8 buf[64];\n.shared .b8 bytes[64];\n\
         .global .align 16 .f32 table[64];\n.extern .func (.reg .b32 r) g(.reg .b32 x);\n\
         .func (.reg .b32 result) f(.reg .b32 x, .param .align 8 .b8 s[16])\n{{\n\
         .reg .b32 %r<9>, a; .reg .f32 %f<9>; .reg .pred p, q; .reg .v4 .f32 v;\n\
         .local .align 8 .b8 frame[32];\n{body}\nret;\n}}\n"
    );
    let parsed = ptx_parse::parse(text.as_bytes());
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let all = ptx_verify::likely_mistakes(&parsed.module);
    let place = |span: ptx_ir::Span| text[span.start as usize..span.end as usize].to_owned();
    all.iter()
        .map(|d| (d.code.number(), place(d.span)))
        .collect()
}

#[test]
fn registers_that_nothing_writes() {
    let one = |text: &str| vec![(705, text.to_owned())];
    assert_eq!(
        found("add.u32 %r1, %r2, 1;\nadd.u32 %r1, %r2, 2;"),
        one("%r2")
    );
    assert_eq!(found("@q add.u32 %r1, x, 1;"), one("q"));
    assert_eq!(found("@!q bra L;\nL:"), one("!q"));
    let vector = "st.shared.v4.f32 [buf], {%f1, %f2, %f1, %f1};\nmov.f32 %f1, 0f00000000;";
    assert_eq!(found(vector), one("%f2"));
    assert_eq!(found("call (%r1), g, (a);"), one("a"));
    // Written somewhere, under a guard, in part, or by the caller; not recognized.
    for fine in [
        "add.u32 %r1, %r2, 1;\nmov.b32 %r2, 1;",
        "setp.eq.u32 p, x, 1;\n@p mov.b32 %r2, 1;\nadd.u32 result, %r2, x;",
        "mov.f32 v.x, 0f00000000;\nst.shared.f32 [buf], v.y;",
        "call (%r1), g, (x);\nadd.u32 result, %r1, 1;",
        "atom.shared.add.u32 %r1, [buf], x;\nmov.b32 result, %r1;",
    ] {
        assert_eq!(found(fine), [], "{fine}");
    }
}

#[test]
fn addresses_that_are_never_aligned() {
    for (access, place) in [
        ("ld.shared.u32 %r1, [buf+2];", "[buf+2]"),
        ("st.shared.u32 [buf+-1], x;", "[buf+-1]"),
        ("ld.local.v2.u32 {%r1, %r2}, [frame+4];", "[frame+4]"),
        (
            "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [table+8];",
            "[table+8]",
        ),
        ("ld.param.u32 %r1, [s+6];", "[s+6]"),
    ] {
        assert_eq!(found(access), [(706, place.to_owned())], "{access}");
    }
    // Aligned, or perhaps: the variable may be at an address with a greater alignment.
    for fine in [
        "ld.shared.u32 %r1, [buf+4];",
        "ld.shared.u32 %r1, [bytes+2];",
        "ld.shared.v2.u32 {%r1, %r2}, [buf+4];",
        "ld.local.v2.u32 {%r1, %r2}, [frame+8];",
        "ld.param.u32 %r1, [s+4];",
        "mov.u32 %r1, buf;\nld.shared.u32 %r2, [%r1+2];",
    ] {
        assert_eq!(found(fine), [], "{fine}");
    }
}
