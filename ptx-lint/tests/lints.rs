//! The findings of lints in the files of the folder `lints`, which has a folder for each lint.
//!
//! A comment `//~ dead-code definite` is on each line with a finding, with `degree=8` after it for bank conflicts, and with `, ` between several
//! of them; no other line has one. All lints examine a file, unless its first line is `//@ only: dead-code, deprecated`.

#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ptx_ir::facts::ModuleFacts;
use ptx_lint::{Certainty, Finding, Lint, LintOptions, lint};

/// How many findings of each lint the files must have at least, and how many functions without.
const LEAST: usize = 10;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lints")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder exists");
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn options(text: &str) -> LintOptions {
    let mut options = LintOptions::default();
    let first = text.lines().next().unwrap_or_default();
    if let Some(names) = first.strip_prefix("//@ only: ") {
        let known = |name: &str| name.trim().parse::<Lint>().expect("the name of a lint");
        options.lints = names.split(',').map(known).collect();
    }
    options
}

/// The lines of a finding: its own and those with the same cause.
fn lines(finding: &Finding, text: &str) -> BTreeSet<usize> {
    let d = &finding.diagnostic;
    let places = [d.span].into_iter().chain(d.repeats.iter().copied());
    let line = |start: u32| text[..start as usize].matches('\n').count() + 1;
    places.map(|span| line(span.start)).collect()
}

/// What the comments of a file say.
fn expected(text: &str) -> BTreeSet<(usize, String)> {
    let mut all = BTreeSet::new();
    for (number, line) in (1..).zip(text.lines()) {
        if let Some((_, findings)) = line.split_once("//~ ") {
            all.extend(findings.split(", ").map(|f| (number, f.trim().to_owned())));
        }
    }
    all
}

fn found(text: &str, path: &Path) -> Vec<Finding> {
    let parsed = ptx_parse::parse(text.as_bytes());
    assert!(
        parsed.diagnostics.is_empty(),
        "{path:?}: {:?}",
        parsed.diagnostics
    );
    lint(&ModuleFacts::new(&parsed.module), &options(text))
}

fn described(findings: &[Finding], text: &str) -> BTreeSet<(usize, String)> {
    let mut all = BTreeSet::new();
    for finding in findings {
        let mut what = format!("{} {}", finding.lint.name(), finding.certainty.name());
        if let Some(degree) = finding.degree {
            what += &format!(" degree={degree}");
        }
        let lines = lines(finding, text).into_iter();
        all.extend(lines.map(|line| (line, what.clone())));
    }
    all
}

#[test]
fn findings_are_where_they_are_expected() {
    for group in entries(&folder()) {
        let name = group.file_name().and_then(|n| n.to_str()).expect("a name");
        let lint: Lint = name.parse().expect("a folder has the name of a lint");
        let (mut faulty, mut correct) = (0, 0);
        for path in entries(&group) {
            let text = fs::read_to_string(&path).expect("a text");
            let findings = found(&text, &path);
            assert_eq!(described(&findings, &text), expected(&text), "{path:?}");
            let of_lint = findings.iter().filter(|f| f.lint == lint);
            let functions: BTreeSet<_> = of_lint.clone().map(|f| f.function).collect();
            let module = ptx_parse::parse(text.as_bytes()).module;
            faulty += of_lint.count();
            correct += module.definitions().count() - functions.len();
        }
        println!("{name}: {faulty} findings, {correct} functions without");
        assert!(
            faulty >= LEAST && correct >= LEAST,
            "{name}: {faulty}, {correct}"
        );
    }
}

#[test]
fn every_lint_has_files() {
    for lint in Lint::ALL {
        assert!(folder().join(lint.name()).is_dir(), "{}", lint.name());
    }
}

#[test]
fn messages_tell_the_certainty() {
    for path in entries(&folder()).iter().flat_map(|group| entries(group)) {
        let text = fs::read_to_string(&path).expect("a text");
        for finding in found(&text, &path) {
            let message = &finding.diagnostic.message;
            let may = message.split([' ', ',']).any(|word| word == "may");
            let possible = finding.certainty == Certainty::Possible;
            assert_eq!(may, possible, "{path:?}: {message}");
        }
    }
}

#[test]
fn places_with_one_cause_are_one_finding() {
    let text = "\
.version 8.0
.target sm_80
.address_size 64
.entry k() {
    .reg .pred p; .reg .b32 r;
    mov.u32 r, %tid.x;
    setp.lt.u32 p, r, 16;
    @p bra done;
    bar.sync 0;
    mov.u32 r, %clock;
    bar.sync 0;
    bar.sync 1;
done:
    ret;
}
";
    let mut findings = found(text, Path::new("one cause"));
    findings.retain(|f| f.lint == Lint::BarrierDivergence);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(lines(&findings[0], text), BTreeSet::from([9, 11, 12]));
}

#[test]
fn copies_that_one_path_does_not_wait_for_are_one_finding() {
    let text = "\
.version 8.0
.target sm_80
.address_size 64
.entry k(.param .u64 p, .param .u32 n) {
    .shared .align 16 .b8 tile[48];
    .reg .pred q; .reg .b32 r; .reg .b64 a;
    ld.param.u64 a, [p];
    ld.param.u32 r, [n];
    cp.async.ca.shared.global [tile], [a], 16;
    cp.async.ca.shared.global [tile+16], [a+16], 16;
    cp.async.ca.shared.global [tile+32], [a+32], 16;
    cp.async.commit_group;
    setp.eq.u32 q, r, 0;
    @q bra skip;
    cp.async.wait_group 0;
skip:
    bar.sync 0;
    ld.shared.u32 r, [tile];
    st.global.u32 [a], r;
    ld.shared.u32 r, [tile+16];
    st.global.u32 [a], r;
    ld.shared.u32 r, [tile+32];
    st.global.u32 [a], r;
    ret;
}
";
    let mut findings = found(text, Path::new("one path"));
    findings.retain(|f| f.lint == Lint::AsyncCopyWait);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(lines(&findings[0], text), BTreeSet::from([18, 20, 22]));
}

/// Checks that the findings of a lint are one, at these lines.
fn assert_one(body: &str, lint: Lint, expected: &[usize]) {
    let text = format!(".version 8.6\n.target sm_100a\n.address_size 64\n{body}");
    let mut findings = found(&text, Path::new(lint.name()));
    findings.retain(|f| f.lint == lint);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(
        lines(&findings[0], &text),
        expected.iter().copied().collect()
    );
}

#[test]
fn a_kernel_without_fences_of_tensor_memory_has_no_finding() {
    let kernel = ".entry k(.param .u64 p, .param .u32 t) .reqntid 128 {
    .shared .align 8 .b64 done; .shared .align 4 .b32 slot;
    .reg .pred q, first; .reg .b32 r, id, d; .reg .b64 a, b, out;
    ld.param.u64 out, [p];
    ld.param.u32 d, [t];
    mov.u32 id, %tid.x;
    setp.eq.u32 first, id, 0;
    @!first bra wait;
    mbarrier.init.shared.b64 [done], 1;
wait:
    bar.sync 0;
    mov.u64 a, 0;
    @!first bra loop;
    tcgen05.mma.cta_group::1.kind::f16 [d], a, a, d, first;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];
loop:
    mbarrier.try_wait.parity.shared.b64 q, [done], 0;
    @!q bra loop;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {r}, [d];
    tcgen05.wait::ld.sync.aligned;
    st.global.u32 [out], r;
    bar.sync 0;
    tcgen05.st.sync.aligned.32x32b.x1.b32 [d], {id};
    tcgen05.wait::st.sync.aligned;
    ret;
}
";
    let text = format!(".version 8.6\n.target sm_100a\n.address_size 64\n{kernel}");
    let findings = found(&text, Path::new("no fences"));
    assert!(findings.iter().all(|f| f.lint != Lint::Tcgen05Protocol));
}

#[test]
fn objects_that_the_same_threads_initialize_are_one_finding() {
    let kernel = ".entry k() .reqntid 64 {
    .shared .align 8 .b64 full; .shared .align 8 .b64 empty;
    mbarrier.init.shared.b64 [full], 1;
    mbarrier.init.shared.b64 [empty], 8;
    ret;
}
";
    assert_one(kernel, Lint::MbarrierInit, &[6, 7]);
}

#[test]
fn accesses_by_one_address_of_the_wrong_kind_are_one_finding() {
    let kernel = ".entry k(.param .u64 p) {
    .shared .align 8 .b8 tile[16];
    .reg .b32 r; .reg .b64 a, out;
    ld.param.u64 out, [p];
    mov.u64 a, tile;
    ld.u32 r, [a];
    st.global.u32 [out], r;
    ld.u32 r, [a+4];
    st.global.u32 [out+4], r;
    ret;
}
";
    assert_one(kernel, Lint::GenericSpace, &[9, 11]);
}

#[test]
fn writes_before_products_of_a_block_are_one_finding() {
    let kernel = ".entry k(.param .u64 p, .param .u64 m) .reqntid 128 {
    .reg .f32 f<8>; .reg .b64 out, a;
    ld.param.u64 out, [p];
    ld.param.u64 a, [m];
    wgmma.fence.sync.aligned;
    mov.f32 f0, 0f00000000;
    mov.f32 f1, f0;
    mov.f32 f2, f0;
    mov.f32 f3, f0;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f0, f1, f2, f3}, a, a, 1, 1, 1, 0, 0;
    mov.f32 f4, 0f00000000;
    mov.f32 f5, f4;
    mov.f32 f6, f4;
    mov.f32 f7, f4;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f4, f5, f6, f7}, a, a, 1, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    st.global.v4.f32 [out], {f0, f1, f4, f7};
    st.global.v4.f32 [out+16], {f2, f3, f5, f6};
    ret;
}
";
    let text = format!(".version 8.0\n.target sm_90a\n.address_size 64\n{kernel}");
    let mut findings = found(&text, Path::new("products"));
    findings.retain(|f| f.lint == Lint::WgmmaProtocol);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0].certainty, Certainty::Possible);
}
