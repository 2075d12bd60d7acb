//! Labels of diagnostics at the declarations of what instructions name.

/// The text of the labels of the first diagnostic.
fn labels(module: &str) -> Vec<String> {
    let text = format!(".version 8.0\n.target sm_80\n.address_size 64\n{module}");
    let parsed = ptx_parse::parse(text.as_bytes());
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let found = ptx_verify::verify(&parsed.module, &ptx_verify::Options::default());
    let labels = found.first().map_or(&[][..], |d| &d.labels);
    let text = |l: &ptx_ir::Note| String::from_utf8_lossy(l.span.of(text.as_bytes())).into_owned();
    labels.iter().map(text).collect()
}

fn in_kernel(before: &str, parameters: &str, instruction: &str) -> Vec<String> {
    labels(&format!(
        "{before}\n.entry k({parameters})\n{{\n.reg .b32 r<4>;\n.reg .b64 d;\n{instruction}\nret;\n}}\n"
    ))
}

#[test]
fn registers_are_labeled_at_their_declarations() {
    assert_eq!(in_kernel("", "", "add.s32 r1, d, r2;"), [".reg .b64 d;"]);
}

#[test]
fn variables_are_labeled_at_their_names() {
    let before = ".global .b32 other;\n.global .b32 table[4], more;";
    assert_eq!(in_kernel(before, "", "ld.shared.b32 r1, [more];"), ["more"]);
    let found = in_kernel("", "", "{ .shared .b32 s; ld.global.b32 r1, [s]; }");
    assert_eq!(found, [".shared .b32 s;"]);
}

#[test]
fn parameters_are_labeled_in_the_header_of_their_function() {
    let before = ".func f(.param .b32 n) { ret; }";
    let found = in_kernel(
        before,
        ".param .b64 p, .param .b32 n",
        "st.param.b32 [n], r1;",
    );
    assert_eq!(found, ["n"]);
    let found =
        labels(".func f(.reg .b64 %wide)\n{\n.reg .b32 r<2>;\nadd.s32 r0, r1, %wide;\nret;\n}\n");
    assert_eq!(found, ["%wide"]);
}

#[test]
fn functions_are_labeled_at_their_names() {
    let before = ".entry other() { ret; }";
    assert_eq!(in_kernel(before, "", "call other;"), ["other"]);
}
