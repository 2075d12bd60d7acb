//! The rewrites among the examples.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_edit::EditError;
use ptx_examples::{add_parameter, rename_range};
use ptx_verify::{Options, verify};

fn text(module: &ptx_ir::Module) -> String {
    let text = String::from_utf8(ptx_print::verbatim(module)).unwrap();
    let again = ptx_parse::parse_str(&text);
    assert!(!again.has_errors(), "{:?} in {text}", again.diagnostics);
    ptx_ir::compare::compare(module, &again.module).unwrap();
    let found = verify(&again.module, &Options::default());
    assert!(found.is_empty(), "{found:?} in {text}");
    text
}

#[test]
fn a_parameter_is_added_to_a_function_and_its_calls() {
    let mut module = ptx_parse::parse_str(add_parameter::BEFORE).module;
    add_parameter::add_factor(&mut module, 5).unwrap();
    let now = text(&module);
    for part in [
        "scale(.param .b32 x, .param .b32 factor)\n",
        "\tld.param.b32 %factor, [factor];\n\tmul.lo.s32 %r1, %r0, %factor; // the factor\n",
        "\tst.param.b32 [factor1], 5;\n\tcall.uni (r), scale, (a, factor1);\n",
        "\tst.param.b32 [factor2], 5;\n\tcall (r), scale, (a, factor2);\n",
        "\t{ // scale(4)\n\t.param .b32 a;\n",
    ] {
        assert!(now.contains(part), "{part} in {now}");
    }
}

#[test]
fn a_range_is_not_renamed_into_another() {
    let mut module = ptx_parse::parse_str(rename_range::BEFORE).module;
    for name in ["%r1", "%r", "%b1"] {
        assert!(rename_range::rename(&mut module, &[name]).is_err());
        assert_eq!(text(&module), rename_range::BEFORE);
    }
    assert_eq!(
        rename_range::rename(&mut module, &["%r"]),
        Err(EditError::Taken("%r".into()))
    );
    assert_eq!(rename_range::rename(&mut module, &["%r1", "%b"]), Ok("%b"));
    let now = rename_range::BEFORE.replace("%a", "%b");
    assert_eq!(text(&module), now);
}
