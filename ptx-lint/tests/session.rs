//! `LintSession` finds what a new run finds, and evaluates only functions to which a change makes a difference.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

#[path = "session/counts.rs"]
mod counts;
#[path = "session/edits.rs"]
mod edits;

use test_support::corpus as files;
use test_support::sample;

use std::path::Path;

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::incremental::EvaluationLimit;
use ptx_edit::EditModule as _;
use ptx_ir::facts::{ModuleFacts, StaleFacts};
use ptx_ir::{Changed, Limits, Span};
use ptx_lint::{Finding, LintOptions, LintSession, Linter, lint};
use ptx_parse::{Incremental, Reparsed};
use rayon::prelude::*;
use sample::sample;

/// A text, its module and its session.
struct Document {
    source: Incremental,
    session: LintSession,
}

fn sorted(mut all: Vec<Finding>) -> Vec<Finding> {
    all.sort_by_key(|f| {
        let d = &f.diagnostic;
        (f.function, f.stmt, f.lint, d.span.start, d.message.clone())
    });
    all
}

impl Document {
    fn new(text: &str) -> Self {
        let source = Incremental::new(text.as_bytes().to_vec(), Limits::default());
        let mut session = LintSession::new(LintOptions::default());
        session.parsed(source.module());
        let mut new = Self { source, session };
        new.advance();
        new
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(self.source.source()).into_owned()
    }

    /// Replaces a part of the text without linting it.
    fn change(&mut self, span: Span, text: &str) {
        match self.source.replace(span, text.as_bytes()) {
            Reparsed::Function(function) => {
                let mut changed = Changed::default();
                changed.functions.push(function);
                self.session.update(self.source.module(), &changed);
            }
            Reparsed::Module => self.session.parsed(self.source.module()),
        }
    }

    /// Lints, and gives the names of the functions that were evaluated.
    fn advance(&mut self) -> Vec<String> {
        let mut limit = EvaluationLimit::unlimited();
        assert!(self.session.advance(self.source.module(), &mut limit));
        let module = self.source.module();
        let name = |id| module.name(module.functions().get(id).unwrap().name);
        limit.evaluated().map(|id| name(id).to_owned()).collect()
    }

    /// Replaces a text that is there once.
    fn replace(&mut self, old: &str, new: &str) -> Vec<String> {
        let text = self.text();
        assert_eq!(text.matches(old).count(), 1, "{old}");
        let start = text.find(old).unwrap();
        self.change(Span::at(start, start + old.len()), new);
        let evaluated = self.advance();
        self.is_as_new(&format!("{old} -> {new}"));
        evaluated
    }

    /// The findings are those of a new run.
    fn is_as_new(&self, what: &str) {
        let text = self.text();
        let module = ptx_parse::parse(text.as_bytes()).module;
        let new = lint(&ModuleFacts::new(&module), &LintOptions::default());
        let kept: Vec<Finding> = self.session.findings().cloned().collect();
        let (new, kept) = (sorted(new), sorted(kept));
        if let Some(at) = (0..new.len().max(kept.len())).find(|at| new.get(*at) != kept.get(*at)) {
            let (new, kept) = (new.get(at), kept.get(at));
            panic!("{what}: new {new:#?}, kept {kept:#?} in\n{text}");
        }
    }
}

/// Makes random changes, and compares after each.
fn random_changes(text: &str, seed: u64, steps: usize) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut document = Document::new(text);
    document.is_as_new("at first");
    let mut undo = Vec::new();
    for step in 0..steps {
        let before = document.text();
        let (span, new) = match undo.len() {
            // Now and then everything is as it was.
            3.. if random.u8(..4) == 0 => (Span::at(0, before.len()), undo.remove(0)),
            _ => edits::random(&mut random, &before, text),
        };
        undo.truncate(8);
        undo.push(before);
        document.change(span, &new);
        // Several changes may come before the session is complete.
        let mut limit = EvaluationLimit::new(random.u64(..400));
        let is_complete = document
            .session
            .advance(document.source.module(), &mut limit);
        if is_complete || random.bool() {
            document.advance();
            document.is_as_new(&format!("step {step} of seed {seed}"));
        }
    }
}

#[test]
fn random_changes_of_calls_give_the_findings_of_the_new_text() {
    for seed in sample(24, 4).of(0..24) {
        random_changes(edits::CALLS, seed, 60);
    }
}

#[test]
fn random_changes_of_the_corpus_give_the_findings_of_the_new_text() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    let sample = sample(24, 4);
    let entries = sample.of(files::entries(&folder));
    let texts: Vec<String> = entries
        .filter(|entry| !entry.name.starts_with("broken/"))
        .map(|entry| String::from_utf8_lossy(&entry.read()).into_owned())
        .filter(|text| text.contains("call") && text.contains(".func") && text.len() < 30_000)
        .collect();
    let seeds = texts.par_iter().enumerate();
    seeds.for_each(|(seed, text)| random_changes(text, seed as u64, 12));
    let count = texts.len();
    assert!(count >= 20 / sample.parts, "{count} files");
}

/// Analyses of an earlier revision of a module, or of another function, are refused.
#[test]
fn a_linter_refuses_stale_analyses() {
    let text = b".version 8.0\n.target sm_80\n.entry k() { .reg .b32 a; mov.b32 a, 1; ret; }\n.entry l() { ret; }\n";
    let mut module = ptx_parse::parse(text).module;
    let id = module.function("k").expect("a kernel");
    let facts = ModuleFacts::new(&module);
    let analysis = FunctionAnalysis::new(facts.function(id).expect("a body"));
    let options = LintOptions::default();
    let linter = Linter::new(&facts, &options);
    assert_eq!(linter.function_with(&analysis), Ok(linter.function(id)));
    let saved = analysis.save();
    let other = module.function("l").expect("a kernel");
    let other = facts.function(other).expect("a body");
    assert!(FunctionAnalysis::resume(other, &saved).is_err());

    module
        .editor()
        .set_target(ptx_isa::Target::Sm90)
        .expect("an edit");
    let facts = ModuleFacts::new(&module);
    let linter = Linter::new(&facts, &options);
    let refused = FunctionAnalysis::resume(facts.function(id).expect("a body"), &saved);
    assert!(matches!(refused, Err(StaleFacts::Revision { .. })));
    let fresh = FunctionAnalysis::new(facts.function(id).expect("a body"));
    assert!(linter.function_with(&fresh).is_ok());
}
