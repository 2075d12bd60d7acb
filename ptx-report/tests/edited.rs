//! Reports of an edited module are those of its text.
#![allow(clippy::panic, clippy::unwrap_used, reason = "tests")]

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::source_lines::SourceLines;
use ptx_ir::Module;
use ptx_ir::facts::ModuleFacts;
use ptx_isa::Target;
use ptx_report::control_flow::Graph;
use ptx_report::function_stats;
use ptx_report::report::Report;
use ptx_report::requirements::{Minimal, blocking};
use ptx_report::retarget::{Version, retarget};
use test_support::edits::check_edited_files;

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

/// The statements of the control-flow graphs.
fn graphs(module: &Module) -> String {
    let facts = ModuleFacts::new(module);
    let lines = SourceLines::new(module);
    let mut all = String::new();
    let functions = module.items().filter_map(|(_, item)| match item {
        ptx_ir::Item::Function(id) => Some(id),
        _ => None,
    });
    for id in functions {
        if let Some(of) = facts.function(id) {
            let analysis = FunctionAnalysis::new(of);
            let name = module.functions()[id].name;
            let graph = Graph::new("a.ptx", &lines, &analysis, name);
            let texts = graph.blocks.iter().flat_map(|block| &block.text);
            all.extend(texts.map(|text| format!("{text}\n")));
        }
    }
    all
}

/// Each report by its name.
fn reports(module: &Module) -> Vec<(&'static str, String)> {
    // The same function in both modules, whose ids differ.
    let name = |id| module.name(module.functions()[id].name);
    let first = module
        .definitions()
        .map(|(id, ..)| id)
        .min_by_key(|id| name(*id));
    let needs = ptx_verify::requires(module);
    let mut minimal = Minimal::default();
    let retargeted = retarget("a.ptx", module, Vec::new(), Target::Sm100a, Version::Kept);
    vec![
        ("report", json(&Report::new("a.ptx", module, |_| true))),
        ("stats", json(&function_stats::collect(module, |_| true))),
        (
            "stats of one",
            json(&function_stats::collect(module, |id| Some(id) == first)),
        ),
        ("blocking", json(&blocking("a.ptx", module, Target::Sm52))),
        (
            "requirements",
            format!("{:?}", json(&minimal.of(needs.module()))),
        ),
        (
            "retarget",
            retargeted.map_or_else(|e| e.why, |t| String::from_utf8_lossy(&t).into_owned()),
        ),
        ("graphs", graphs(module)),
    ]
}

#[test]
fn reports_of_edited_modules_are_those_of_their_text() {
    check_edited_files(
        |_, _| true,
        |module, place| {
            let printed = ptx_parse::parse(&ptx_print::verbatim(module)).module;
            for ((name, left), (_, right)) in reports(module).into_iter().zip(reports(&printed)) {
                if left != right {
                    let first = left.lines().zip(right.lines()).find(|(a, b)| a != b);
                    panic!("{place}: {name}: {first:?}");
                }
            }
        },
    );
}
