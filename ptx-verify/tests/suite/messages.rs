//! What messages say: their places, help and fixes, by family of mistakes.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_ir::{Code, Diagnostic, Severity};
use ptx_verify::Options;

/// All diagnostics of a module, those of code generation included.
fn all(text: &str) -> Vec<Diagnostic> {
    let parsed = ptx_parse::parse(text.as_bytes());
    let mut found = parsed.diagnostics;
    found.extend(ptx_verify::verify(&parsed.module, &Options::default()));
    found.extend(ptx_verify::codegen_limits(&parsed.module));
    found
}

fn module(version: &str, target: &str, body: &str) -> String {
    format!(
        ".version {version}\n.target {target}\n.address_size 64\n.global .align 4 .b32 g;\n\
         .const .align 4 .b32 c;\n.shared .align 4 .b32 s;\n.entry k(.param .u64 p)\n{{\n\
         .reg .pred %p<4>;\n.reg .b16 %h<4>;\n.reg .b32 %r<16>;\n.reg .f32 %f<16>;\n.reg .b64 %rd<8>;\n\
         L:\n{body}\nret;\n}}\n"
    )
}

/// The diagnostics of instructions of a kernel.
fn of(version: &str, target: &str, body: &str) -> Vec<Diagnostic> {
    all(&module(version, target, body))
}

/// The only diagnostic of an instruction.
fn only(body: &str) -> Diagnostic {
    let mut found = of("8.6", "sm_90a", body);
    assert_eq!(found.len(), 1, "{body}: {found:?}");
    found.remove(0)
}

/// The instruction with the edits of its only diagnostic.
fn repaired(body: &str) -> String {
    let text = module("8.6", "sm_90a", body);
    let found = only(body);
    let mut edits: Vec<_> = found.fix.iter().collect();
    edits.sort_by_key(|e| std::cmp::Reverse(e.span.start));
    let mut new = text.clone();
    for edit in edits {
        new.replace_range(edit.span.start as usize..edit.span.end as usize, &edit.text);
    }
    assert!(all(&new).is_empty(), "{new}: {:?}", all(&new));
    let line = new.lines().nth(14).unwrap();
    line.to_owned()
}

#[test]
fn addresses_of_32_bits_in_global_and_generic_memory() {
    let small = [
        "ld.global.u32 %r1, [%r2];",
        "ld.u32 %r1, [%r2+4];",
        "st.global.f32 [%r2], %f1;",
        "st.v2.b32 [%r2], {%r3, %r4};",
        "atom.add.u32 %r1, [%r2], 1;",
        "red.global.add.f32 [%r2], %f1;",
        "prefetch.global.L1 [%r2];",
        "cvta.shared.u32 %r1, %r2;",
        "cvta.to.const.u32 %r1, %r2;",
        "cvta.global.u32 %r1, g;",
        "mov.u32 %r1, g;",
        "mbarrier.arrive.b64 %rd1, [%r2];",
        "cp.async.ca.shared.global [%r1], [%r2], 4;",
    ];
    for body in small {
        let found = only(body);
        assert_eq!(
            (found.code, found.severity),
            (Code::SmallAddress, Severity::Warning)
        );
        assert!(
            found.help.unwrap().contains("`\"l\"` instead of `\"r\"`"),
            "{body}"
        );
    }
    let legal = "ld.shared.u32 %r1, [%r2];\nld.const.u32 %r1, [%r2];\nld.local.u32 %r1, [%r2];\n\
        mov.u32 %r1, s;\nmov.u32 %r1, c;\nld.global.u32 %r1, [g];\nld.global.u32 %r1, [%rd1];\n\
        cvta.shared.u64 %rd1, %rd2;\nisspacep.global %p1, %r2;\nmbarrier.arrive.shared.b64 %rd1, [%r2];\n\
        ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%r2];\nmapa.u32 %r1, %r2, 0;";
    assert_eq!(of("8.6", "sm_90a", legal), []);
    assert_eq!(of("8.6", "sm_100a", "st.bulk [%r2], 64, 0;"), []);
    let narrow = ".version 7.0\n.target sm_70\n.address_size 32\n.entry k() { .reg .b32 %r<3>; ld.global.b32 %r1, [%r2]; }\n";
    assert_eq!(all(narrow), []);
}

#[test]
fn errors_about_old_targets_keep_their_messages() {
    let body = "redux.sync.add.u32 %r1, %r2, -1;\ntanh.approx.f32 %f1, %f2;\nfence.proxy.async;";
    let found = of("8.0", "sm_70", body);
    let [found] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert!(
        found
            .message
            .starts_with("`redux.sync.add.u32` requires PTX 7.0 and `sm_80`")
    );
    let others: Vec<&str> = found.repeats_with_messages().map(|(_, m)| m).collect();
    assert_eq!(
        others,
        [
            "`tanh.approx.f32` requires PTX 7.0 and `sm_75`; this is PTX 8.0 and `sm_70`",
            "`fence.proxy.async` requires PTX 8.0 and `sm_90`; this is PTX 8.0 and `sm_70`",
        ]
    );
}

#[test]
fn repeated_errors_name_their_own_registers() {
    let wrong = only("add.s32 %r1, %rd1, %rd2;");
    let others: Vec<&str> = wrong.repeats_with_messages().map(|(_, m)| m).collect();
    assert_eq!(others.len(), 1);
    assert!(
        others[0].contains("operand `b`") && others[0].contains("`%rd2`"),
        "{others:?}"
    );
    let undeclared = only("add.f32 %x1, %x2, %x2;");
    let others: Vec<&str> = undeclared.repeats_with_messages().map(|(_, m)| m).collect();
    assert_eq!(others, ["undeclared register `%x2`"; 2]);
}

#[test]
fn removed_instructions_name_their_replacement() {
    let cases = [
        (
            "shfl.up.b32 %r1|%p1, %r2, 1, 0;",
            "shfl.sync.up.b32 %r1|%p1, %r2, 1, 0, 0xffffffff;",
        ),
        (
            "shfl.idx.b32 %r1, %r2, %r3, 31;",
            "shfl.sync.idx.b32 %r1, %r2, %r3, 31, 0xffffffff;",
        ),
        (
            "vote.all.pred %p1, !%p2;",
            "vote.sync.all.pred %p1, !%p2, 0xffffffff;",
        ),
        (
            "vote.ballot.b32 %r1, %p2;",
            "vote.sync.ballot.b32 %r1, %p2, 0xffffffff;",
        ),
    ];
    for (old, new) in cases {
        assert_eq!(repaired(old), new);
        let help = only(old).help.unwrap();
        assert!(help.contains(".sync") && help.contains("mask"), "{help}");
    }
}

#[test]
fn habits_of_other_languages() {
    let cases = [
        ("bra %p1, L;", "@%p1 bra L;"),
        ("bra L, %p2;", "@%p2 bra L;"),
        (
            "atom.global.add.u32 [%rd1], %r2;",
            "red.global.add.u32 [%rd1], %r2;",
        ),
        (
            "atom.shared.max.s32 [s], %r2;",
            "red.shared.max.s32 [s], %r2;",
        ),
        (
            "atom.global.exch.b32 [%rd1], %r2;",
            "atom.global.exch.b32 _, [%rd1], %r2;",
        ),
        ("mov.u32 %r1, %ntid;", "mov.u32 %r1, %ntid.x;"),
        (
            "mad.u32.lo %r1, %r2, %r3, %r4;",
            "mad.lo.u32 %r1, %r2, %r3, %r4;",
        ),
        (
            "mul.s32.wide %rd1, %r2, %r3;",
            "mul.wide.s32 %rd1, %r2, %r3;",
        ),
        ("mov.u32 %r1, (unsigned int)7;", "mov.u32 %r1, 7;"),
        ("add.s32 %r1, %r2, (int32_t)%r3;", "add.s32 %r1, %r2, %r3;"),
        ("mov.u32 %r1, %%laneid;", "mov.u32 %r1, %laneid;"),
        (
            "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, %r1, %r2];",
            "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {%r1, %r2}];",
        ),
    ];
    for (written, meant) in cases {
        assert_eq!(repaired(written), meant);
    }
}

#[test]
fn modifiers_that_exclude_each_other_are_named() {
    let found = only("ld.global.ca.L1::evict_last.b32 %r1, [%rd1];");
    assert_eq!(found.code, Code::WrongModifier);
    assert!(
        found
            .message
            .starts_with("`.L1::evict_last` cannot be combined with `.ca`"),
        "{}",
        found.message
    );
}

#[test]
fn negative_numbers_in_sections_since_7_5() {
    let with = |version: &str, entries: &str| {
        all(&format!(
            ".version {version}\n.target sm_70\n.entry k() {{ ret; }}\n.section .debug_str {{\n{entries}\n}}\n"
        ))
    };
    for ty in [".b8", ".b16", ".b32", ".b64"] {
        let entries = format!("{ty} 9\n{ty} -9\n{ty} -10");
        let found = with("7.4", &entries);
        assert_eq!(found.len(), 1, "{ty}: {found:?}");
        assert_eq!(
            (found[0].code, found[0].span.len()),
            (Code::DirectiveFloor, 2)
        );
        assert_eq!(with("7.5", &entries), []);
        assert_eq!(with("6.0", &format!("{ty} 9")), []);
    }
}

/// ptxas reads a number after a minus sign as negative, although it is zero, and takes no `U` after it.
#[test]
fn zero_with_a_minus_sign_in_sections() {
    let with = |version: &str, entries: &str| {
        let found = all(&format!(
            ".version {version}\n.target sm_70\n.entry k() {{ ret; }}\n.section .debug_str {{\n{entries}\n}}\n"
        ));
        found.iter().map(|d| d.code).collect::<Vec<Code>>()
    };
    for zero in ["-0", "- 0", "-0x0", "-00", "-0b0"] {
        let list = format!(".b8 255, {zero}, 1");
        let wide = format!(".b64 {zero}");
        for entries in [&list, &wide, &format!(".b16 {zero}")] {
            assert_eq!(with("7.4", entries), [Code::DirectiveFloor], "{entries}");
        }
        assert_eq!(with("7.5", &list), []);
        assert_eq!(with("7.5", &wide), []);
        for ty in [".b8", ".b16", ".b32"] {
            let single = format!("{ty} {zero}");
            assert_eq!(with("7.5", &single), [Code::DebugInfo], "{single}");
        }
    }
    for suffixed in ["-0U", "-1U"] {
        let entries = format!(".b32 {suffixed}");
        assert_eq!(with("7.5", &entries), [Code::UnexpectedToken], "{entries}");
    }
    assert_eq!(with("6.0", ".b32 0U\n.b8 1U\n.b16 0"), []);
}

#[test]
fn coordinates_of_the_first_versions_are_four() {
    let with = |version: &str, target: &str, coordinates: &str| {
        all(&format!(
            ".version {version}\n.target {target}\n.tex .u32 t;\n.entry k()\n{{\n.reg .f32 %f<9>;\n.reg .v4 .f32 %v;\n\
             tex.2d.v4.f32.f32 {{%f5, %f6, %f7, %f8}}, [t, {coordinates}];\nexit;\n}}\n"
        ))
        .len()
    };
    for version in ["1.0", "1.1"] {
        assert_eq!(with(version, "sm_11", "{%f1, %f2}"), 1, "{version}");
        assert_eq!(
            with(version, "sm_11", "{%f1, %f2, %f3, %f4}"),
            0,
            "{version}"
        );
        assert_eq!(with(version, "sm_11", "%v"), 0, "{version}");
    }
    assert_eq!(with("1.2", "sm_13", "{%f1, %f2}"), 0);
}

#[test]
fn differences_of_labels_of_functions() {
    let with = |option: &str, datum: &str| {
        all(&format!(
            ".version 8.0\n.target sm_80{option}\n.entry k() {{\na:\nret;\nb:\n}}\n\
             .section .debug_abbrev {{\nx:\n.b8 1\ny:\n}}\n.section .debug_loc {{\n.b64 {datum}\n}}\n"
        ))
    };
    let found = with(", debug", "b-a");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].code, Code::CodeLabelDifference);
    assert_eq!(with(", debug", "y-x"), []);
    assert_eq!(with(", debug", "b"), []);
    assert_eq!(with("", "b-a"), []);
}

#[test]
fn constants_of_the_96_byte_swizzle() {
    let with = |target: &str, value: u32| {
        let body = format!("tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%rd1], {value};");
        of("9.0", target, &body).len()
    };
    assert_eq!((with("sm_103a", 4), with("sm_103a", 5)), (0, 1));
    assert_eq!(
        (with("sm_103f", 4), with("sm_100a", 4), with("sm_120a", 4)),
        (1, 1, 1)
    );
    assert_eq!((with("sm_90a", 3), with("sm_120a", 0)), (0, 0));
}

#[test]
fn hidden_parameters_of_kernels() {
    let with = |version: &str, function: &str| {
        all(&format!(
            ".version {version}\n.target sm_80\n.address_size 64\n{function}\n"
        ))
    };
    let legal =
        ".entry k(.param .u64 a, .hidden .param .align 64 .b8 b[128], .param .u32 c) { ret; }";
    assert_eq!(with("8.8", legal), []);
    assert_eq!(with("8.7", legal).len(), 1);
    assert_eq!(
        with("8.8", ".func f(.hidden .param .u64 a) { ret; }").len(),
        1
    );
    assert_eq!(
        with("8.8", ".entry k(.param .hidden .u64 a) { ret; }").len(),
        1
    );
}

#[test]
fn textures_before_ptx_1_5() {
    let with = |declaration: &str| {
        all(&format!(
            ".version 1.4\n.target sm_10, map_f64_to_f32\n{declaration}\n.entry k() {{ .reg .f32 f<9>; \
             tex.3d.v4.f32.f32 {{f1, f2, f3, f4}}, [t, {{f5, f6, f7, f8}}]; exit; }}\n"
        ))
    };
    assert_eq!(with(".tex .u64 t;"), []);
    assert_eq!(with(".tex .u32 t;"), []);
    assert!(!with(".global .u64 t;").is_empty());
}

#[test]
fn half_precision_wmma_without_aligned_before_6_3() {
    let r8 = "{%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}";
    let r4 = "{%r1, %r2, %r3, %r4}";
    let lines = [
        format!("wmma.load.b.sync!.col.m16n16k16.f16 {r8}, [%rd1], 16;"),
        format!("wmma.load.c.sync!.row.m16n16k16.f16 {r4}, [%rd1];"),
        format!("wmma.store.d.sync!.row.m16n16k16.f16 [%rd1], {r4}, %r1;"),
        format!("wmma.mma.sync!.row.col.m16n16k16.f16.f16 {r4}, {r8}, {r8}, {r4};"),
    ];
    for line in lines {
        let without = line.replace('!', "");
        let with = line.replace('!', ".aligned");
        for version in ["6.0", "6.2"] {
            assert_eq!(of(version, "sm_70", &without), [], "{without}");
            assert_eq!(of(version, "sm_70", &with).len(), 1, "{with}");
        }
        assert_eq!(of("6.3", "sm_70", &with), [], "{with}");
        let found = of("6.3", "sm_70", &without);
        assert_eq!(found.len(), 1, "{without}");
        assert!(
            found[0].message.contains("`.aligned`"),
            "{}",
            found[0].message
        );
    }
    let early = format!("wmma.load.a.sync.row.m8n32k16.f16 {r8}, [%rd1];");
    assert_eq!(of("6.0", "sm_70", &early).len(), 1);
    assert_eq!(of("6.1", "sm_70", &early), []);
}

#[test]
fn shared_variables_up_to_the_limit_of_the_target() {
    let with = |target: &str, bytes: u32| {
        let text = format!(
            ".version 9.0\n.target {target}\n.address_size 64\n.shared .b8 s[{bytes}];\n\
             .entry k() {{ .reg .b32 r; mov.u32 r, s; ret; }}\n"
        );
        all(&text).len()
    };
    for (target, most) in [
        ("sm_80", 0xc000),
        ("sm_90", 0xc000),
        ("sm_90a", 0x38c00),
        ("sm_100f", 0xc000),
        ("sm_103a", 0x38c00),
        ("sm_110a", 0x38c00),
        ("sm_120a", 0x18c00),
        ("sm_121f", 0xc000),
    ] {
        assert_eq!(
            (with(target, most), with(target, most + 1)),
            (0, 1),
            "{target}"
        );
    }
}

#[test]
fn functions_of_libdevice() {
    let with = |linkage: &str, name: &str| {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n{linkage}.func (.param .f32 r) {name}(.param .f32 a);\n\
             .entry k() {{ .param .f32 a, r; call (r), {name}, (a); ret; }}\n"
        );
        let mut found = all(&text);
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0).help.unwrap_or_default()
    };
    assert!(with(".extern ", "cosf").contains("`__nv_cosf`"));
    assert!(with(".extern ", "_Z3powfi").contains("`__nv_powif`"));
    assert!(with("", "_Z4fmodff").contains("`__nv_fmodf`"));
    assert!(!with(".extern ", "reduce").contains("libdevice"));
    let undeclared = only("call (%f1), tanhf, (%f2);");
    assert!(undeclared.help.unwrap().contains("`__nv_tanhf`"));
}

#[test]
fn fields_of_tensor_maps_depend_on_the_target() {
    let field = |field: &str, value: u32| {
        format!("tensormap.replace.tile.{field}.global.b1024.b32 [%rd1], {value};")
    };
    let cases = [
        ("8.8", "sm_90a", "elemtype", 12, 0),
        ("8.8", "sm_90a", "elemtype", 13, 1),
        ("8.6", "sm_100a", "elemtype", 15, 1),
        ("8.7", "sm_100a", "elemtype", 15, 0),
        ("8.8", "sm_100f", "elemtype", 14, 0),
        ("8.8", "sm_120a", "elemtype", 16, 1),
        ("8.8", "sm_100a", "swizzle_mode", 4, 1),
        ("8.8", "sm_103a", "swizzle_mode", 4, 0),
        ("9.0", "sm_90a", "interleave_layout", 2, 0),
        ("9.0", "sm_90a", "fill_mode", 2, 1),
    ];
    for (version, target, name, value, errors) in cases {
        let found = of(version, target, &field(name, value));
        assert_eq!(found.len(), errors, "{target} {name} {value}: {found:?}");
    }
}

#[test]
fn textures_of_old_versions_are_not_arrays() {
    let of = |declaration: &str| {
        all(&format!(
            ".version 1.4\n.target sm_13\n{declaration}\n.entry k() {{ exit; }}\n"
        ))
    };
    assert_eq!(of(".tex .u32 t;"), []);
    let found = of(".tex .u32 t[2];");
    assert!(found[0].message.contains("cannot be an array"), "{found:?}");
}
