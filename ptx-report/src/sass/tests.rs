#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use super::*;
use crate::function_stats;

/// A kernel with a loop that is unrolled twice, a spill, a copy of a device function, and padding.
const OUTPUT: &str = r#"
	.target	sm_80

//--------------------- .text.k                   --------------------------
	.section	.text.k,"ax",@progbits
	.sectioninfo	@"SHI_REGISTERS=8"
        .type           k,@function
k:
.text.k:
	//## File "/src/k.cu", line 3
	//## File ".nv_debug_ptx_txt", line 5
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_0:
	//## File ".nv_debug_ptx_txt.29561", line 7
        /*0010*/                   LDG.E.128 R4, [R2.64] ;
	//## File ".nv_debug_ptx_txt", line 8
        /*0020*/                   FADD R4, R4, R4 ;
	//## File ".nv_debug_ptx_txt", line 7
        /*0030*/                   LDG.E.128 R8, [R2.64+0x10] ;
	//## File ".nv_debug_ptx_txt", line 8
        /*0040*/                   FADD R8, R4, R8 ;
        /*0050*/                   STL.64 [R1], R8 ;
	//## File ".nv_debug_ptx_txt", line 10
        /*0060*/               @P0 BRA `(.L_x_0) ;
	//## File ".nv_debug_ptx_txt", line 11
        /*0070*/                   CALL.REL.NOINC `($k$f) ;
        /*0080*/                   EXIT ;
        .type           $k$f,@function
$k$f:
	//## File ".nv_debug_ptx_txt", line 2
        /*0090*/                   RET.REL.NODEC R2 `(k) ;
.L_x_1:
        /*00a0*/                   BRA `(.L_x_1);
        /*00b0*/                   NOP;
        /*00c0*/                   NOP;
.L_x_2:
"#;

#[test]
fn functions_and_lines_are_read() {
    let disassembly = Disassembly::parse(OUTPUT);
    let [kernel, function] = &disassembly.functions[..] else {
        panic!("{disassembly:?}");
    };
    assert_eq!(
        (kernel.name.as_str(), kernel.kernel.as_deref()),
        ("k", None)
    );
    assert_eq!(
        (function.name.as_str(), function.kernel.as_deref()),
        ("f", Some("k"))
    );
    let lines: Vec<_> = kernel
        .instructions
        .iter()
        .map(|i| i.line.unwrap())
        .collect();
    assert_eq!(lines, [5, 7, 8, 7, 8, 8, 10, 11, 11]);
    let branch = &kernel.instructions[6];
    assert_eq!(branch.text(), "@P0 BRA `(.L_x_0)");
    assert_eq!((branch.base(), branch.target()), ("BRA", Some(".L_x_0")));
    assert_eq!(kernel.instructions[1].label.as_deref(), Some(".L_x_0"));
    assert_eq!(function.instructions.len(), 4);
    assert_eq!(function.executable().count(), 1);
    assert_eq!(disassembly.parts("k").count(), 2);
    assert_eq!(disassembly.parts("f").count(), 0);
}

#[test]
fn facts_of_a_kernel() {
    let module = ptx_parse::parse_str(
        ".version 8.0\n.target sm_80\n\n.entry k(.param .u64 p) {\n\
        .reg .b64 a; .reg .f32 f; .reg .pred q;\nL:\nld.global.f32 f, [a];\nadd.f32 f, f, f;\n\
        setp.lt.f32 q, f, f;\n@q bra L;\nret; }\n",
    )
    .module;
    let mut functions = function_stats::collect(&module, |_| true);
    apply(&module, &Disassembly::parse(OUTPUT), &mut functions);
    let stats = functions[0].sass.as_ref().unwrap();
    assert_eq!(stats.instructions, 10);
    for (pattern, count) in [
        ("LDG", 2),
        ("LDG.128", 2),
        ("LDG.E.128", 2),
        ("LDG.64", 0),
        ("FADD", 2),
        ("LD", 0),
        ("NOP", 0),
    ] {
        assert_eq!(stats.count(pattern), count, "{pattern}");
    }
    let local = LocalAccesses {
        line: Some(8),
        stores: 1,
        store_bytes: 8,
        spills: true,
        ..LocalAccesses::default()
    };
    assert_eq!(stats.local, [local]);
    let unrolled = UnrolledLoop {
        line: Some(6),
        first_address: 0x10,
        last_address: 0x60,
        instructions: 6,
        copies: 2,
    };
    assert_eq!(stats.loops, [unrolled]);
    assert_eq!(stats.max_copies(), Some(2));
}

#[test]
fn damaged_output_is_read() {
    for text in [
        "",
        "/*",
        "/*zz*/ X ;",
        "/*0010*/ ;",
        ".section .text.k\n/*0000*/ @P0 ;\n/*0*/ A",
        "//## File \".nv_debug_ptx_txt\", line 99999999999\n",
    ] {
        let _ = Disassembly::parse(text);
    }
    for end in 0..OUTPUT.len() {
        let _ = Disassembly::parse(&OUTPUT[..end]);
    }
}

#[test]
fn messages_of_ptxas() {
    let output = "\
ptxas info    : 0 bytes gmem
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources for the wgmma pipeline in the function 'gemm' in line 120
ptxas kernel.ptx, line 7; warning : Value of %r1 is not used
ptxas info    : Used 28 registers
ptxas warning : Stack size for entry function 'k' cannot be statically determined
";
    let messages = messages(output);
    let summary: Vec<_> = messages
        .iter()
        .map(|m| {
            (
                m.severity.as_str(),
                m.code.as_deref(),
                m.function.as_deref(),
                m.line,
            )
        })
        .collect();
    assert_eq!(
        summary,
        [
            ("info", Some("C7510"), Some("gemm"), Some(120)),
            ("warning", None, None, Some(7)),
            ("warning", None, Some("k"), None),
        ]
    );
    assert!(
        messages[0]
            .message
            .starts_with("Potential Performance Loss")
    );
    assert_eq!(messages[1].message, "Value of %r1 is not used");
}
