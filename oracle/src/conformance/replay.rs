//! The verifier on the cases, in the same modules that ptxas checked.

use std::collections::HashSet;

use ptx_ir::{LineIndex, Severity};
use ptx_isa::{PtxVersion, Target};
use rayon::prelude::*;

use super::agreement::Ours;
use super::case::Setting;
use super::preamble::Module;
use super::verdicts::{Set, Verdict};

/// The targets on which the verifier accepts each case, and the lowest version, as far as that of ptxas is right.
pub(crate) fn replay(set: &Set, verdicts: &[Verdict]) -> Vec<Ours> {
    let mut ours = vec![Ours::default(); verdicts.len()];
    let all: Vec<Target> = set.targets().collect();
    let every = |_: &Verdict| true;
    let accepted: Vec<_> = all
        .par_iter()
        .map(|&t| accepted(verdicts, t, set.newest(), every))
        .collect();
    for (&target, accepted) in all.iter().zip(accepted) {
        for at in accepted {
            if let Some(ours) = ours.get_mut(at) {
                ours.targets.push(target);
            }
        }
    }
    // At each version of each target: the cases introduced there and those introduced with the next version.
    let at = |v: &Verdict, target| v.targets.first() == Some(&target);
    let places: Vec<(Target, PtxVersion, Option<PtxVersion>)> = all
        .iter()
        .filter(|&&t| verdicts.iter().any(|v| at(v, t)))
        .flat_map(|&t| {
            set.versions(t)
                .rev()
                .scan(None, move |next, v| Some((t, v, next.replace(v))))
        })
        .collect();
    let at = |&(target, version, next): &_| accepted_at(verdicts, target, version, next);
    let found: Vec<_> = places.par_iter().map(at).collect();
    // From high to low, so that the lowest stays.
    for (&(_, version, _), accepted) in places.iter().zip(found) {
        for at in accepted {
            if let Some(ours) = ours.get_mut(at) {
                ours.lowest = Some(version);
            }
        }
    }
    ours
}

fn accepted_at(
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

/// The cases without an error among some of them.
fn accepted(
    verdicts: &[Verdict],
    target: Target,
    version: PtxVersion,
    which: impl Fn(&Verdict) -> bool,
) -> Vec<usize> {
    let mut out = Vec::new();
    for setting in Setting::ALL {
        let chosen = verdicts.iter().enumerate();
        let chosen: Vec<usize> = chosen
            .filter(|(_, v)| v.setting == setting && which(v))
            .map(|(i, _)| i)
            .collect();
        if chosen.is_empty() {
            continue;
        }
        let lines = chosen.iter().filter_map(|&i| Some(&*verdicts.get(i)?.line));
        let module = Module::new(version, target, setting, lines);
        let bad = refused(&module);
        let good = chosen
            .iter()
            .enumerate()
            .filter(|(at, _)| !bad.contains(at));
        out.extend(good.map(|(_, &i)| i));
    }
    out
}

/// The cases of a module with an error.
fn refused(module: &Module) -> HashSet<usize> {
    let source = module.text.as_bytes();
    let parsed = ptx_parse::parse(source);
    let lines = LineIndex::new(source);
    let legality = ptx_verify::verify(&parsed.module, &ptx_verify::Options::default());
    let errors = parsed.diagnostics.iter().chain(&legality);
    let errors = errors.filter(|d| d.severity == Severity::Error);
    // An error with the same cause on several lines is one diagnostic.
    let places = errors.flat_map(|d| d.repeats.iter().chain([&d.span]));
    places
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
