//! Dead-code elimination: instructions whose results are never read are removed.
//!
//! [`LiveCode`](ptx_analysis::dead_code::LiveCode) finds the dead code. Unreachable code is removed by unreachable-code elimination.

use alloc::string::String;
use alloc::vec::Vec;

use super::definition::Definition;
use super::function_view::View;
use super::rewrite::{Rewrite, Step};

pub(super) const DEFINITION: Definition = Definition {
    name: "dead",
    term: "dead-code elimination",
    summary: "Remove instructions whose results are never read",
    plan,
    finish: None,
};

pub(super) fn plan(view: &View<'_>) -> Vec<Step> {
    let Ok(live) = view.function.live_code() else {
        return Vec::new();
    };
    let mut steps = Vec::new();
    for (stmt, _, facts) in view.reached().filter(|(stmt, ..)| !live.contains(*stmt)) {
        let written = facts.registers().filter(|m| !m.usage.reads());
        let names: Vec<String> = written.map(|m| view.name(m.place.register)).collect();
        let why = match &names[..] {
            [] => String::from("its result is never read"),
            [name] => format!("{name} is never read"),
            names => format!("{} are never read", names.join(", ")),
        };
        let rewrite = Rewrite::Remove;
        steps.push(Step { stmt, rewrite, why });
    }
    steps
}
