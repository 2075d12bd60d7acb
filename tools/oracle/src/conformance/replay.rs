//! The verifier on the cases, in the same modules that ptxas checked.

use std::collections::HashSet;

use ptx_ir::{LineIndex, Severity};
use ptx_isa::{PtxVersion, Target};
use rayon::prelude::*;

use super::agreement::Ours;
use super::case::Setting;
use super::preamble::Module;
use super::verdicts::{Set, Verdict};

/// The targets on which the verifier accepts each case, and the lowest version, if it is that of ptxas or an adjacent one.
pub(crate) fn replay(set: &Set, verdicts: &[Verdict]) -> Vec<Ours> {
    let mut ours = vec![Ours::default(); verdicts.len()];
    let targets: Vec<Target> = set.targets().collect();
    let accepted_cases: Vec<Vec<usize>> = targets
        .par_iter()
        .map(|&target| accepted(verdicts, target, set.newest(), |_| true))
        .collect();
    for (&target, cases) in targets.iter().zip(accepted_cases) {
        for case in cases {
            if let Some(ours) = ours.get_mut(case) {
                ours.targets.push(target);
            }
        }
    }
    // For each version of each target, the cases that it and the next version introduce.
    let mut checks: Vec<(Target, PtxVersion, Option<PtxVersion>)> = Vec::new();
    for &target in &targets {
        if verdicts.iter().any(|v| v.targets.first() == Some(&target)) {
            let mut next = None;
            for version in set.versions(target).rev() {
                checks.push((target, version, next.replace(version)));
            }
        }
    }
    let accepted_cases: Vec<Vec<usize>> = checks
        .par_iter()
        .map(|&(target, version, next)| accepted_since(verdicts, target, version, next))
        .collect();
    // The versions of a target are in descending order, so that the lowest one remains.
    for (&(_, version, _), cases) in checks.iter().zip(accepted_cases) {
        for case in cases {
            if let Some(ours) = ours.get_mut(case) {
                ours.lowest = Some(version);
            }
        }
    }
    ours
}

/// The accepted cases among those that a version or the next one introduces on their first target.
fn accepted_since(
    verdicts: &[Verdict],
    target: Target,
    version: PtxVersion,
    next: Option<PtxVersion>,
) -> Vec<usize> {
    accepted(verdicts, target, version, |v: &Verdict| {
        let introduced = v.lowest == Some(version) || v.lowest.is_some() && v.lowest == next;
        v.targets.first() == Some(&target) && introduced
    })
}

/// The cases without an error among those that pass the test.
fn accepted(
    verdicts: &[Verdict],
    target: Target,
    version: PtxVersion,
    is_included: impl Fn(&Verdict) -> bool,
) -> Vec<usize> {
    let mut accepted = Vec::new();
    for setting in Setting::ALL {
        let included: Vec<usize> = verdicts
            .iter()
            .enumerate()
            .filter(|(_, v)| v.setting == setting && is_included(v))
            .map(|(case, _)| case)
            .collect();
        if included.is_empty() {
            continue;
        }
        let lines = included
            .iter()
            .filter_map(|&case| Some(&*verdicts.get(case)?.line));
        let module = Module::new(version, target, setting, lines);
        let refused = refused(&module);
        for (index, case) in included.into_iter().enumerate() {
            if !refused.contains(&index) {
                accepted.push(case);
            }
        }
    }
    accepted
}

/// The cases of a module with an error.
fn refused(module: &Module) -> HashSet<usize> {
    let source = module.text.as_bytes();
    let parsed = ptx_parse::parse(source);
    let lines = LineIndex::new(source);
    let legality = ptx_verify::verify(&parsed.module, &ptx_verify::Options::default());
    (parsed.diagnostics.iter().chain(&legality))
        .filter(|d| d.severity == Severity::Error)
        // An error with one cause on several lines is one diagnostic.
        .flat_map(|d| d.repeats.iter().chain([&d.span]))
        .filter_map(|span| module.case_on(lines.position(span.start).line as usize))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::agreement::Agreement;
    use super::super::verdicts::{BASE, NEWER, SHARED, Set};
    use super::replay;
    use crate::sample::sample;

    fn agrees(set: &Set, parts: usize) {
        let sample = sample(3 * parts, parts);
        let verdicts: Vec<_> = sample.of(set.read().unwrap()).collect();
        let ours = replay(set, &verdicts);
        let agreement = Agreement::new(&verdicts, &ours);
        agreement.print();
        assert_eq!(agreement.below(set), Vec::<&str>::new(), "agree too little");
    }

    #[test]
    fn verifier_agrees_with_ptxas() {
        agrees(&BASE, 3);
    }

    #[test]
    fn verifier_agrees_with_the_newer_ptxas() {
        agrees(&NEWER, 1);
    }

    #[test]
    #[ignore = "needs ../shared"]
    fn shared_corpus_verifier_agrees_on_newer_forms() {
        agrees(&SHARED, 1);
    }
}
