//! The examples of the builder: what they build is legal, and the same in whatever order blocks are built.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use ptx_examples::{back_end, retry};
use ptx_isa::Target;

fn text(module: &ptx_ir::Module) -> String {
    ptx_print::display(module).to_string()
}

#[test]
fn blocks_in_any_order_make_the_same_statements() {
    let program = back_end::program();
    let forward = back_end::compile(&program, |_| {}).unwrap();
    let backward = back_end::compile(&program, |numbers| numbers.reverse()).unwrap();
    for module in [&forward, &backward] {
        assert!(ptx_verify::verify(module, &Default::default()).is_empty());
        assert_eq!(module.definitions().count(), 2);
        assert_eq!(text(module).matches("call (").count(), 1);
    }
    let opcodes = |text: &str| {
        let mut lines: Vec<String> = text
            .lines()
            .filter_map(|l| Some(l.trim().split_once(' ')?.0.to_string()))
            .collect();
        lines.sort();
        lines
    };
    assert_eq!(opcodes(&text(&forward)), opcodes(&text(&backward)));
}

#[test]
fn refused_function_is_built_again() {
    let (new, old) = (Target::Sm80, Target::Sm70);
    let new = text(&retry::sum_of_warps(new).unwrap());
    assert!(new.contains("redux.sync.add.s32") && !new.contains("shfl"));
    let old = text(&retry::sum_of_warps(old).unwrap());
    assert!(!old.contains("redux"));
    assert_eq!(old.matches("shfl.sync.bfly.b32").count(), 5);
    assert_eq!(old.matches(".entry").count(), 1);
}
