//! Parsing and checking end when their budget is exhausted or canceled, and otherwise give the same result as without a budget.

use ptx_ir::{Budget, BudgetExhausted, Limits};
use ptx_verify::Options;

/// One kernel with this number of instructions, the last of which is an error.
fn kernel(instructions: usize) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{{\n.reg .b32 r;\n{}\tadd.s32 r, r;\n}}\n",
        "\tadd.s32 r, r, 1;\n".repeat(instructions)
    )
}

/// The work ends inside of a function, not only between two.
#[test]
fn work_within_one_function_is_limited() {
    let text = kernel(20_000);
    let limits = Limits::default();
    for bytes in [1, 1000, 200_000, text.len()] {
        let parsed = ptx_parse::parse_within(text.as_bytes(), &limits, &Budget::new(bytes));
        assert_eq!(parsed.map(drop), Err(BudgetExhausted), "{bytes}");
    }
    let budget = Budget::new(text.len() + 1);
    let parsed = ptx_parse::parse_within(text.as_bytes(), &limits, &budget).unwrap();
    assert_eq!(parsed.module.source(), text.as_bytes());
    let module = parsed.module;
    let options = Options::default();
    let found = ptx_verify::verify_within(&module, &options, &Budget::new(1000));
    assert_eq!(found, Err(BudgetExhausted));
    let found = ptx_verify::verify_within(&module, &options, &Budget::new(1_000_000));
    assert_eq!(found, Ok(ptx_verify::verify(&module, &options)));
}

/// One budget for the work on several modules; a canceled one allows nothing.
#[test]
fn a_budget_is_shared_and_canceled() {
    let text = kernel(10);
    let limits = Limits::default();
    let budget = Budget::new(10 * text.len());
    let parse = || ptx_parse::parse_within(text.as_bytes(), &limits, &budget);
    let parsed: Vec<bool> = (0..12).map(|_| parse().is_ok()).collect();
    assert!(
        parsed[..9].iter().all(|ok| *ok) && !parsed[10],
        "{parsed:?}"
    );
    let unlimited = Budget::unlimited();
    let parsed = ptx_parse::parse_within(text.as_bytes(), &limits, &unlimited).unwrap();
    unlimited.cancel();
    let found = ptx_verify::verify_within(&parsed.module, &Options::default(), &unlimited);
    assert_eq!(found, Err(BudgetExhausted));
}
