//! Source lines of instructions.

use std::borrow::Cow;

use ptx_dataflow::source_lines::{EmbeddedSource, Frame, SourceLines};
use ptx_ir::{Statement, StmtId};

/// The frames of each instruction, one line each, with `asm` for inline assembly.
fn frames(text: &str) -> Vec<String> {
    let parsed = ptx_parse::parse_str(text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let lines = SourceLines::new(&parsed.module);
    let mut found = Vec::new();
    for (_, _, body) in parsed.module.definitions() {
        let lines = lines.function(body);
        let is_inst = |(_, s): &(StmtId, Statement)| matches!(s, Statement::Inst(_));
        for (stmt, _) in body.statements().filter(is_inst) {
            let frame = |f: Frame<'_>| {
                let file = f.file.unwrap_or(Cow::Borrowed("?"));
                let function = f.function.map(|f| format!(" in {f}")).unwrap_or_default();
                format!("{file}:{}:{}{function}", f.line, f.column)
            };
            let mut text: Vec<String> = lines.frames(stmt).map(frame).collect();
            if lines.is_inline_asm(stmt) {
                text.push("asm".into());
            }
            found.push(text.join(" < "));
        }
    }
    found
}

const HEAD: &str = ".version 8.0\n.target sm_80, debug\n.address_size 64\n";

#[test]
fn inlined_calls_are_followed_to_the_function() {
    let text = format!(
        "{HEAD}.entry k()\n{{\n.loc 1 11 30\nbar.sync 0;\n.loc 2 20 9, function_name $str, inlined_at 1 11 30\n\
         .loc 3 30 1, function_name $str+2, inlined_at 2 20 9\nbar.sync 0;\n.loc 1 12 1\nret;\n}}\n\
         .file 1 \"a.cu\"\n.file 2 \"b.h\"\n.file 3 \"c.h\"\n\
         .section .debug_str\n{{\n$str:\n.b8 102,0\n.b8 103,104,0\n}}\n"
    );
    let wanted = [
        "a.cu:11:30",
        "c.h:30:1 in gh < b.h:20:9 in f < a.cu:11:30",
        "a.cu:12:1",
    ];
    assert_eq!(frames(&text), wanted);
}

#[test]
fn the_last_location_of_a_call_counts() {
    let text = format!(
        "{HEAD}.entry k()\n{{\nbar.sync 0;\n.loc 1 1 1\n.loc 1 2 2, function_name $a, inlined_at 1 1 1\n\
         .loc 1 2 2, function_name $b, inlined_at 1 1 1\n.loc 1 3 3, function_name $a, inlined_at 1 2 2\nret;\n}}\n\
         .file 1 \"a.cu\"\n.section .debug_str\n{{\n$a:\n.b8 97,0\n$b:\n.b8 98,0\n}}\n"
    );
    assert_eq!(
        frames(&text),
        ["", "a.cu:3:3 in a < a.cu:2:2 in b < a.cu:1:1"]
    );
}

#[test]
fn inline_assembly_and_line_markers() {
    let text = format!(
        "{HEAD}.entry k()\n{{\nbar.sync 0;\n# 7 \"x.cu\"\nbar.sync 0;\n\n// begin inline asm\nbar.sync 0; {{ bar.sync 0;\n// end inline asm\n}}\n\
         .loc 4 1 1\nbar.sync 0; /* begin inline asm */ ret;\n}}\n"
    );
    let wanted = [
        "",
        "x.cu:7:0",
        "x.cu:10:0 < asm",
        "x.cu:10:0 < asm",
        "?:1:1",
        "?:1:1",
    ];
    assert_eq!(frames(&text), wanted);
}

#[test]
fn locations_end_with_their_function() {
    let text = format!(
        "{HEAD}.func f()\n{{\n.loc 1 1 1\n// begin inline asm\nret;\n}}\n.entry k()\n{{\nret;\n}}\n.file 1 \"a.cu\"\n"
    );
    assert_eq!(frames(&text), ["a.cu:1:1 < asm", ""]);
}

#[test]
fn intermediate_lines_and_sources() {
    let text = ".version 9.4\n.target sm_90\n.address_size 64\n.file 1 \"a.py\"\n.file 0x2 \"a.tile\"\n\
        .nv_intermediate_source_section {\n.code_block { .ir_name: \"TileIR\" /* x */ .sourceFileName: 0x2 .source_begin \n\
        \n  // \"one\n }\n.source_end\n}\n\
        .code_block { .ir_name: \"b\" .sourceFileName: 1 .source_begin\n .source_end \n}\n}\n\
        .entry k()\n{\n.loc_intermediate 2 9 9\nbar.sync 0;\n.loc 1 3 4\n.loc_intermediate 2 5 6\n.loc_intermediate 7 8 9\n\
        bar.sync 0;\nbar.sync 0;\n.loc_intermediate 2 6 1\nbar.sync 0;\n.loc 1 4 1\nret;\n}\n";
    let parsed = ptx_parse::parse_str(text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let lines = SourceLines::new(&parsed.module);
    let sources: Vec<_> = lines.embedded().collect();
    let parts = |s: &EmbeddedSource<'_>| format!("{} {} {:?}", s.file, s.language, s.text);
    assert_eq!(
        sources.iter().map(parts).collect::<Vec<_>>(),
        [r#"2 TileIR "\n  // \"one\n }""#, r#"1 b """#]
    );
    let (_, _, body) = parsed.module.definitions().next().unwrap();
    let of_function = lines.function(body);
    let of = |frames: Vec<Frame<'_>>| {
        let frames = frames.iter();
        let texts = frames.map(|f| format!("{}:{}", f.file.as_deref().unwrap_or("?"), f.line));
        texts.collect::<Vec<_>>().join(" ")
    };
    let insts = body
        .statements()
        .filter(|(_, s)| matches!(s, Statement::Inst(_)));
    let found = insts.map(|(stmt, _)| {
        let frames = of(of_function.frames(stmt).collect());
        let intermediate = of(of_function.intermediate(stmt).collect());
        format!("{frames} | {intermediate}")
    });
    assert_eq!(
        found.collect::<Vec<_>>(),
        [
            " | a.tile:9",
            "a.py:3 | a.tile:5 ?:8",
            "a.py:3 | a.tile:5 ?:8",
            "a.py:3 | a.tile:6",
            "a.py:4 | ",
        ]
    );
}
