//! Strong accesses with CTA scope to memory that threads of different CTAs use to communicate.

use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;

use super::order::{Access, Code, Level, Step};
use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// The maximum number of compared strong accesses of a function.
const MOST: usize = 64;

pub(super) fn check(cx: &FunctionContext<'_>, code: &Code, found: &mut Vec<Finding>) {
    let strong = |step| {
        Step::access(step)
            .filter(|a| is_explicit(a))
            .map(|a| (step, a))
    };
    let all: Vec<(&Step, &Access)> = code.steps().filter_map(strong).take(MOST).collect();
    for (step, access) in all.iter().filter(|(_, a)| a.level == Level::Cta) {
        let others = all
            .iter()
            .filter(|(_, other)| other.writes || access.writes);
        let mut wider =
            others.filter(|(_, other)| other.level > Level::Cta && other.is_same(access));
        if found.iter().any(|f| f.stmt == step.stmt) {
            continue;
        }
        if is_remote(access) {
            found.push(finding(cx, step, Level::Cluster));
        } else if let Some((other, of)) = wider.next().filter(|_| !access.is_shared) {
            let wide = finding(cx, step, of.level);
            found.push(wide.with_label(cx.span(other.stmt), "the other access"));
        }
    }
}

/// Whether the scope of a strong access is explicit.
fn is_explicit(access: &Access) -> bool {
    access.is_strong() && !access.is_volatile && access.level != Level::None
}

/// Whether an access is to the shared memory of the cluster, at an address that no variable of this CTA has.
fn is_remote(access: &Access) -> bool {
    access.is_cluster && access.provenance.is_none()
}

fn finding(cx: &FunctionContext<'_>, step: &Step, needed: Level) -> Finding {
    let message = format!(
        "the scope of `{}` may be too narrow: threads in scope {} access this memory",
        cx.mnemonic(step.inst),
        needed.name()
    );
    cx.finding(Lint::FenceStrength, Certainty::Possible, step.stmt, message)
        .with_help(format!("use scope {}", needed.name()))
}
