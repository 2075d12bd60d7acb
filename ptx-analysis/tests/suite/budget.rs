//! Analyses of values end when their budget is exhausted or canceled, and otherwise give the same result as without a budget.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write as _;
use std::thread;

use ptx_analysis::AnalysisError;
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::threads::ThreadValues;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{Budget, Module};

/// A kernel with this number of loops, one after the other.
fn kernel(loops: usize) -> Module {
    let mut text = String::from(
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p)\n{\n\
         .reg .pred q; .reg .b32 i, s, t; .reg .b64 a;\n\
         ld.param.u64 a, [p];\nmov.u32 t, %tid.x;\nmov.b32 s, 0;\n",
    );
    for index in 0..loops {
        write!(
            text,
            "mov.b32 i, 0;\nL{index}:\nadd.s32 i, i, 1;\nmad.lo.s32 s, i, t, s;\nsetp.lt.s32 q, i, 9;\n@q bra L{index};\nst.global.b32 [a], s;\n"
        )
        .unwrap();
    }
    text.push_str("ret;\n}\n");
    ptx_parse::parse(text.as_bytes()).module
}

fn analysis<'m>(facts: &'m ModuleFacts<'m>) -> FunctionAnalysis<'m> {
    let kernel = facts.module().function("k").unwrap();
    FunctionAnalysis::new(facts.function(kernel).unwrap())
}

/// A result of each analysis that has a budget.
fn results(function: &FunctionAnalysis<'_>) -> [Result<String, AnalysisError>; 8] {
    [
        function.ssa().map(|ssa| format!("{ssa:?}")),
        function.values().map(|values| format!("{values:?}")),
        function.constants().map(|values| format!("{values:?}")),
        function.value_numbers().map(|values| format!("{values:?}")),
        function.live_code().map(|code| format!("{code:?}")),
        function.provenance().map(|values| format!("{values:?}")),
        function.accesses().map(|accesses| format!("{accesses:?}")),
        ThreadValues::new(function).map(|values| format!("{values:?}")),
    ]
}

#[test]
fn an_exhausted_budget_stops_every_analysis_of_values() {
    let module = kernel(10);
    let facts = ModuleFacts::new(&module);
    let budget = Budget::new(0);
    let function = analysis(&facts).with_budget(&budget);
    let stopped = Err(AnalysisError::BudgetExhausted);
    assert!(results(&function).iter().all(|result| *result == stopped));

    // The form is complete, but not what depends on it.
    analysis_after_ssa(&facts);
}

/// The analyses charge the budget themselves, not only the SSA form that they need.
fn analysis_after_ssa(facts: &ModuleFacts<'_>) {
    let budget = Budget::new(0);
    let function = analysis(facts);
    function.ssa().unwrap();
    let function = function.with_budget(&budget);
    let results = results(&function);
    assert!(results[0].is_ok());
    let stopped = Err(AnalysisError::BudgetExhausted);
    let others = results[1..].iter().map(|result| *result == stopped);
    assert_eq!(others.collect::<Vec<_>>(), [true; 7]);
}

#[test]
fn an_ample_budget_changes_nothing_and_a_stopped_analysis_can_be_repeated() {
    let module = kernel(10);
    let facts = ModuleFacts::new(&module);
    let (exhausted, ample) = (Budget::new(0), Budget::new(10_000_000));
    let expected = results(&analysis(&facts));
    assert!(expected.iter().all(Result::is_ok));
    let function = analysis(&facts);
    assert!(function.clone().with_budget(&exhausted).values().is_err());
    // Both owners share their results.
    assert_eq!(results(&function.clone().with_budget(&ample)), expected);
    // Results that are available cost nothing.
    assert_eq!(results(&function.with_budget(&exhausted)), expected);
}

/// An analysis without an error is complete, whatever the budget is.
#[test]
fn analyses_without_errors_do_not_depend_on_the_budget() {
    let module = kernel(10);
    let facts = ModuleFacts::new(&module);
    let expected = analysis(&facts);
    let budget = Budget::new(0);
    let function = analysis(&facts).with_budget(&budget);
    assert_eq!(function.uniformity(), expected.uniformity());
    assert_eq!(
        format!("{:?}", function.work()),
        format!("{:?}", expected.work())
    );
    assert_eq!(
        format!("{:?}", function.violations()),
        format!("{:?}", expected.violations())
    );
}

/// The work ends within a function: each part of the SSA form, the values and the values of threads charges the budget.
#[test]
fn work_within_one_function_is_limited() {
    let module = kernel(5_000);
    let facts = ModuleFacts::new(&module);
    let statements = analysis(&facts).body().statement_table().len();
    let is_stopped = |bytes: usize, compute: fn(&FunctionAnalysis<'_>) -> bool| {
        let budget = Budget::new(bytes);
        let function = analysis(&facts);
        function.ssa().unwrap();
        !compute(&function.with_budget(&budget))
    };
    for bytes in [1, 100_000, 32 * statements] {
        assert!(is_stopped(bytes, |f| f.values().is_ok()), "{bytes}");
    }
    assert!(is_stopped(100_000, |f| ThreadValues::new(f).is_ok()));
    assert!(!is_stopped(1_000_000_000, |f| f.values().is_ok()));
    assert!(!is_stopped(1_000_000_000, |f| ThreadValues::new(f).is_ok()));
    for bytes in [1, 100_000, 32 * statements] {
        let budget = Budget::new(bytes);
        let result = analysis(&facts).with_budget(&budget).ssa().err();
        assert_eq!(result, Some(AnalysisError::BudgetExhausted), "{bytes}");
    }
}

#[test]
fn another_thread_cancels_the_work() {
    let module = kernel(1_000);
    let facts = ModuleFacts::new(&module);
    let budget = Budget::unlimited();
    let rounds = thread::scope(|scope| {
        let worker = scope.spawn(|| {
            // Without the cancellation, this does not end before the test is killed.
            (0..1_000_000)
                .take_while(|_| analysis(&facts).with_budget(&budget).values().is_ok())
                .count()
        });
        budget.cancel();
        worker.join().unwrap()
    });
    assert!(rounds < 1_000_000);
    let function = analysis(&facts).with_budget(&budget);
    assert_eq!(function.ssa().err(), Some(AnalysisError::BudgetExhausted));
}
