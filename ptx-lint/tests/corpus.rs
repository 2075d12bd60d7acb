//! What lints report on the kernels of compilers: nothing definite but what is explained here, and little that is possible.

#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use test_support::corpus as files;
use test_support::sample::sample;

use std::collections::BTreeMap;
use std::path::Path;

use ptx_ir::facts::ModuleFacts;
use ptx_lint::{Certainty, Finding, Lint, LintOptions, lint};
use rayon::prelude::*;

use files::Entry;

/// Possible findings of all lints per 1,000 instructions, at most.
const MOST: f64 = 2.0;

/// Definite findings: the lint, the beginnings of names of files, what names of functions contain, and why.
const EXPLAINED: &[(Lint, &str, &str, &str)] = &[
    (
        Lint::DeadCode,
        "small.llc19",
        "",
        "the source stores to `pool` and never loads from it",
    ),
    (
        Lint::DeadCode,
        "i1",
        "dev",
        "the source only stores to an array of the stack",
    ),
    (
        Lint::FenceStrength,
        "kernels.clang22",
        "",
        "the source ends with a fence",
    ),
    (
        Lint::FenceStrength,
        "k1.clang",
        "",
        "the source ends with a fence",
    ),
    (
        Lint::FenceStrength,
        "opaque.llc",
        "",
        "every fence once, one after the other",
    ),
    (
        Lint::FenceStrength,
        "atomics.",
        "",
        "every fence once, one after the other",
    ),
    (
        Lint::FenceStrength,
        "ptxns.",
        "",
        "every fence once, one after the other",
    ),
    (
        Lint::FenceStrength,
        "sys.",
        "",
        "every fence once, one after the other",
    ),
    (
        Lint::MbarrierInit,
        "blackwell.",
        "steal",
        "the object is never initialized",
    ),
    (
        Lint::AsyncCopyWait,
        "blackwell.",
        "steal",
        "the answer is read at once",
    ),
    (
        Lint::MbarrierInit,
        "hopper.",
        "remote",
        "the object is never initialized",
    ),
    (
        Lint::WgmmaProtocol,
        "matrix.",
        "warpgroup",
        "`nvcc` loads registers of a factor after the fence",
    ),
    (
        Lint::WgmmaProtocol,
        "mma.G.",
        "wgmma",
        "`nvcc` -G uses registers of pending products",
    ),
    (
        Lint::Tcgen05Protocol,
        "flash_",
        "flash",
        "Triton multiplies what `tcgen05.ld` writes before the wait",
    ),
    (
        Lint::Tcgen05Protocol,
        "attention_",
        "attention",
        "Triton multiplies what `tcgen05.ld` writes before the wait",
    ),
    (
        Lint::Tcgen05Protocol,
        "tc5.",
        "",
        "every instruction once, without its protocol",
    ),
    (
        Lint::AsyncCopyWait,
        "ptxns.",
        "",
        "every instruction once, without its protocol",
    ),
    (
        Lint::MbarrierInit,
        "ptxns.",
        "",
        "every instruction once, without its protocol",
    ),
    (
        Lint::AsyncCopyWait,
        "tc5.",
        "",
        "every instruction once, without its protocol",
    ),
    (
        Lint::MbarrierInit,
        "tc5.",
        "",
        "every instruction once, without its protocol",
    ),
    (
        Lint::DeadCode,
        "ptxns.",
        "",
        "the source stores to `s` and never loads from it",
    ),
    (
        Lint::DeadCode,
        "triton_rows_100",
        "",
        "Triton sets the registers of a load to zero also if the load has no guard",
    ),
    (
        Lint::DeadCode,
        "triton_scaled_100",
        "",
        "Triton sets the registers of a load to zero also if the load has no guard",
    ),
    (
        Lint::WarpMask,
        "atomics.",
        "warps",
        "the source gives masks of half of the lanes to all lanes",
    ),
    (
        Lint::WarpMask,
        "sys.",
        "",
        "the source gives masks of some lanes to all lanes",
    ),
];

/// Definite findings of each lint of `SPEED` per 1,000 instructions, at most.
const MOST_SLOW: f64 = 2.0;

/// What these report is what warps do when the kernels run (`ptx-vm/tests/lints/measured`), and only costs time. They are rare, too.
const SPEED: [Lint; 4] = [
    Lint::Uncoalesced,
    Lint::BankConflict,
    Lint::MissedVector,
    Lint::GenericSpace,
];

/// The programs of tensor cores, in which a thread copies whole rows of tiles. They are written without regard to speed.
const SLOW_PROGRAMS: &str = "compiled/tensors/";

fn is_explained(finding: &Finding, file: &str, function: &str) -> bool {
    if SPEED.contains(&finding.lint) {
        return true;
    }
    let mut explained = EXPLAINED.iter();
    explained.any(|(lint, start, part, _)| {
        *lint == finding.lint && file.starts_with(start) && function.contains(part)
    })
}

/// What was found in files.
#[derive(Default)]
struct Found {
    instructions: usize,
    counts: BTreeMap<(Lint, Certainty), usize>,
    /// Definite findings without an explanation.
    definite: Vec<String>,
}

impl Found {
    fn in_file(entry: &Entry) -> Self {
        let file = entry.name.rsplit('/').next().unwrap_or_default();
        let text = entry.read();
        let module = ptx_parse::parse(&text).module;
        let bodies = module.definitions();
        let mut found = Self {
            instructions: bodies.map(|(_, _, body)| body.insts().count()).sum(),
            ..Self::default()
        };
        for finding in lint(&ModuleFacts::new(&module), &LintOptions::default()) {
            let kind = (finding.lint, finding.certainty);
            if SPEED.contains(&finding.lint) && entry.name.starts_with(SLOW_PROGRAMS) {
                continue;
            }
            *found.counts.entry(kind).or_default() += 1;
            let function = module.functions().get(finding.function);
            let function = function.map_or("", |f| module.name(f.name));
            if finding.certainty == Certainty::Definite && !is_explained(&finding, file, function) {
                let before = &text[..finding.diagnostic.span.start as usize];
                let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
                let (name, what) = (finding.lint.name(), &finding.diagnostic.message);
                found
                    .definite
                    .push(format!("{file}:{line}: {name}: {what}"));
            }
        }
        found
    }

    fn and(mut self, other: Self) -> Self {
        self.instructions += other.instructions;
        for (kind, count) in other.counts {
            *self.counts.entry(kind).or_default() += count;
        }
        self.definite.extend(other.definite);
        self
    }
}

fn check_corpus(folder: &Path) {
    // Files by hand have mistakes on purpose.
    let mut files = files::entries(folder);
    files.retain(|e| !e.name.starts_with("broken/") && !e.name.starts_with("hand/"));
    let sample = sample(4, 1);
    let files: Vec<Entry> = sample.of(files).collect();
    let found = files.into_par_iter().map(|entry| Found::in_file(&entry));
    let Found {
        instructions,
        counts,
        definite,
    } = found.reduce(Found::default, Found::and);
    let thousands = instructions as f64 / 1000.0;
    println!("{instructions} instructions");
    for ((lint, certainty), count) in &counts {
        let rate = *count as f64 / thousands;
        let (name, certainty) = (lint.name(), certainty.name());
        println!("{name:24} {certainty:8} {count:6} {rate:8.3} per 1,000 instructions");
        assert!(
            !SPEED.contains(lint) || rate <= MOST_SLOW,
            "{name}: {rate} {certainty} findings per 1,000 instructions"
        );
    }
    let possible = counts
        .iter()
        .filter(|((_, c), _)| *c == Certainty::Possible);
    let rate = possible.map(|(_, count)| *count).sum::<usize>() as f64 / thousands;
    assert!(
        instructions > 10_000 / sample.parts,
        "{instructions} instructions"
    );
    assert!(
        rate <= MOST,
        "{rate} possible findings per 1,000 instructions"
    );
    let (count, shown) = (definite.len(), definite.iter().take(40));
    let shown: Vec<&str> = shown.map(String::as_str).collect();
    assert!(
        count == 0,
        "{count} definite findings:\n{}",
        shown.join("\n")
    );
}

#[test]
fn kernels_of_compilers_have_few_findings() {
    check_corpus(&files::own());
}

#[test]
#[ignore = "needs ../shared/corpus"]
fn kernels_of_the_shared_corpus_have_few_findings() {
    check_corpus(&files::shared());
}
