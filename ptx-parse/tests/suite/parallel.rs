//! Which functions are parsed in parallel. That the result is the same is tested where there are many sources.

use ptx_parse::testing::{adopted_bodies, statements_ahead};

/// Functions that use a variable, the function before them, labels and registers.
fn functions(count: usize) -> String {
    let mut text = String::from(".version 8.0\n.target sm_80\n.address_size 64\n.global .b32 v;\n");
    for i in 0..count {
        let call = match i {
            0 => String::new(),
            i => format!("call f{};", i - 1),
        };
        text += &format!(
            ".func f{i}() {{ .reg .pred %p<2>; .reg .b32 %r<9>; ld.global.u32 %r{}, [v];\n @%p1 bra L{i}; {call} L{i}: ret; }}\n",
            i % 9
        );
    }
    text
}

#[test]
fn functions_without_errors_are_adopted() {
    for part in [1, 1000, 100_000] {
        assert_eq!(adopted_bodies(&functions(100), part), 100, "{part}");
    }
}

#[test]
fn functions_after_one_with_errors_are_adopted() {
    let text = functions(100);
    let wrong = text.replace("%r7, [v]", "%r9, [v]");
    let count = text.matches("%r7, [v]").count();
    assert_eq!(adopted_bodies(&wrong, 100_000), 100 - count);
}

#[test]
fn functions_after_one_with_a_prototype_are_adopted() {
    let prototype = "ret; p: .callprototype _ (.param .b32 _);";
    let with = functions(100).replacen("ret;", prototype, 3);
    assert_eq!(adopted_bodies(&with, 100_000), 97);
}

#[test]
fn a_function_with_prototypes_is_passed_over() {
    let prototypes = "p: .callprototype _ (.param .b32 _);".repeat(1000);
    let text = functions(1).replacen("ret;", &(prototypes + "ret;"), 1);
    let start = text.find(".func").unwrap_or(0);
    let parsed = statements_ahead(&text, start).unwrap();
    assert!((1..10).contains(&parsed), "{parsed}");
}

#[test]
fn short_functions_are_parsed_once() {
    let text = functions(2000);
    let count = adopted_bodies(&text, text.len() / 2);
    assert!((1..500).contains(&count), "{count}");
}
