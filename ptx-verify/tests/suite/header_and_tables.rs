//! Modules that were once judged in another way than by ptxas.

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
fn kernels_are_allowed_as_call_targets() {
    let text = ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry o() { ret; }\n.func f() { ret; }\n\
        .visible .entry k()\n{\n.reg .b64 d;\nlist: .calltargets o, f;\nmov.b64 d, f;\ncall d, list;\nret;\n}\n";
    assert_eq!(found(text), []);
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
