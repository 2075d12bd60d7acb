//! Modules that were once judged in another way than by ptxas.

use ptx_edit::EditModule as _;
use ptx_ir::Code;

/// The codes found in a module, with their lines.
fn found(text: &str) -> Vec<(Code, usize)> {
    let parsed = ptx_parse::parse(text.as_bytes());
    let mut found = parsed.diagnostics;
    found.extend(ptx_verify::verify(&parsed.module, &Default::default()));
    let line = |at: u32| text[..at as usize].matches('\n').count() + 1;
    found.iter().map(|d| (d.code, line(d.span.start))).collect()
}

#[test]
fn a_target_of_options_alone_is_one_mistake() {
    let text = ".version 9.2\n.target debug\n.address_size 64\n.visible .entry k() { ret; }\n";
    assert_eq!(found(text), [(Code::TargetOption, 2)]);
}

#[test]
fn the_last_of_several_targets_counts() {
    let kernel = |targets: &str| {
        let body = ".reg .b32 r;\n.reg .pred p;\nelect.sync r|p, -1;\nret;";
        let text =
            format!(".version 8.0\n{targets}\n.address_size 64\n.entry k()\n{{\n{body}\n}}\n");
        found(&text)
            .into_iter()
            .map(|(code, _)| code)
            .collect::<Vec<_>>()
    };
    for old_last in [
        ".target sm_90, sm_80",
        ".target sm_90\n.target sm_80",
        ".target sm_80, sm_90, sm_75, texmode_unified",
    ] {
        assert_eq!(kernel(old_last), [Code::Unavailable], "{old_last}");
    }
    for new_last in [
        ".target sm_80, sm_90",
        ".target sm_80\n.target sm_90",
        ".target sm_90a, sm_90",
    ] {
        assert_eq!(kernel(new_last), [], "{new_last}");
    }
    // One that is not in the header is a mistake without effect.
    assert_eq!(
        kernel(".target sm_90\n.address_size 64\n.target sm_80"),
        [Code::MisplacedHeader; 2]
    );
}

#[test]
fn the_last_of_several_targets_is_replaced() {
    let old = b".version 8.0\n.target sm_80, sm_86\n.target sm_90, debug\n.target texmode_unified\n.address_size 64\n";
    let new = b".version 9.0\n.target sm_80, sm_86\n.target sm_100a, debug\n.target texmode_unified\n.address_size 64\n";
    let mut module = ptx_parse::parse(old).module;
    let (target, version) = (ptx_isa::Target::Sm100a, ptx_isa::PtxVersion::new(9, 0));
    module.editor().set_target(target).unwrap();
    module.editor().set_version(version).unwrap();
    assert_eq!(module.header().target, Some(target));
    assert_eq!(ptx_print::verbatim(&module), new);
}

#[test]
fn kernels_are_allowed_as_call_targets() {
    let text = ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry o() { ret; }\n.func f() { ret; }\n\
        .visible .entry k()\n{\n.reg .b64 d;\nlist: .calltargets o, f;\nmov.b64 d, f;\ncall d, list;\nret;\n}\n";
    assert_eq!(found(text), []);
}

#[test]
fn kernels_among_call_targets_take_the_arguments() {
    let call = |targets: &str, call: &str| {
        let text = format!(
            ".version 8.5\n.target sm_90\n.address_size 64\n.func f(.param .b32 a) {{ ret; }}\n.entry none() {{ ret; }}\n\
            .entry one(.param .b32 a) {{ ret; }}\n.entry k()\n{{\n.reg .b64 d;\n.param .b32 a;\n.param .b32 r;\n\
            list: .calltargets {targets};\nmov.b64 d, f;\n{call}, list;\nret;\n}}\n"
        );
        found(&text)
            .into_iter()
            .map(|(code, _)| code)
            .collect::<Vec<_>>()
    };
    for (targets, legal) in [
        ("none", "call d"),
        ("one", "call d, (a)"),
        ("f, one", "call d, (a)"),
    ] {
        assert_eq!(call(targets, legal), [], "{targets}: {legal}");
    }
    for (targets, illegal) in [
        ("none", "call d, (a)"),
        ("none", "call (r), d"),
        ("one", "call d"),
        ("f, none", "call d, (a)"),
        ("none, f", "call d, (a)"),
    ] {
        assert_eq!(
            call(targets, illegal),
            [Code::CallCount],
            "{targets}: {illegal}"
        );
    }
}

#[test]
fn labels_of_all_sections_are_distinct() {
    let sections = |first: &str, second: &str, after: &str| {
        let head = ".version 8.5\n.target sm_90\n.address_size 64";
        let text = format!(
            "{head}\n.section .debug_info\n{{\n{first}\n}}\n.section .debug_str\n{{\n{second}\n}}\n{after}\n"
        );
        found(&text)
    };
    assert_eq!(
        sections("L:\n.b64 L", "M:\n.b64 L", ".entry k() { L: ret; }"),
        []
    );
    assert_eq!(
        sections("L:\n.b8 1", ".b64 L\nL:\n.b8 1", ""),
        [(Code::DuplicateName, 12)]
    );
    assert_eq!(
        sections("L:\n.b64 L\nL:", "", ""),
        [(Code::DuplicateName, 8)]
    );
}

#[test]
fn directives_of_newer_versions() {
    let kernel = |version: &str, header: &str, body: &str| {
        let text = format!(
            ".version {version}\n.target sm_90\n.address_size 64\n.entry k()\n{header}\n{{\n{body}\nret;\n}}\n"
        );
        found(&text)
            .into_iter()
            .map(|(code, _)| code)
            .collect::<Vec<_>>()
    };
    let language = |items: &str| kernel("9.4", &format!(".language {items}"), "");
    assert_eq!(language("\"Tile IR\", 0, 10"), []);
    assert_eq!(language("11"), [Code::DirectiveValue]);
    assert_eq!(language("\"basic\""), [Code::DirectiveValue]);
    let throughput = ".pragma \"mma_throughput\";";
    assert_eq!(kernel("9.3", "", throughput), []);
    assert_eq!(kernel("9.2", "", throughput), [Code::DirectiveFloor]);
    assert_eq!(kernel("9.4", throughput, ""), [Code::PragmaPlace]);
    assert_eq!(
        kernel(
            "9.4",
            ".minperctamemory 16",
            ".loc 1 2 3\n.loc_intermediate 1 2 3"
        ),
        []
    );
    // One old version is one mistake.
    let old = kernel("9.3", ".minperctamemory 16", ".loc_intermediate 1 2 3");
    assert_eq!(old, [Code::DirectiveFloor]);
}

#[test]
fn limits_of_threads_contradict_at_the_end_of_the_kernel() {
    let text = ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k() .maxntid 64 .reqntid 32\n{\nret;\n}\n";
    assert_eq!(found(text), [(Code::DirectiveConflict, 7)]);
}

#[test]
fn parameters_of_a_call_take_no_guard() {
    let text = include_bytes!("../../../corpus/broken/call_guarded_result.ptx");
    let module = ptx_parse::parse(text).module;
    let found = ptx_verify::verify(&module, &ptx_verify::Options::default());
    let codes: Vec<String> = found.iter().map(|d| d.code.to_string()).collect();
    assert_eq!(codes, ["PTX0624"], "{found:?}");
}
