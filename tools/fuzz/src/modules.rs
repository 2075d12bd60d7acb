//! The targets that parse a text and use the module. The text may have errors.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use ptx_diff::{Equality, ModuleDiff};
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{Code, Diagnostic, FunctionKind, Module, Severity, compare};
use ptx_lint::{LintOptions, lint};
use ptx_transform::clean::{self, Pass, clean};
use ptx_transform::{LinkOptions, MinifyOptions};
use ptx_vm::{Checker, Launch, Machine};

use test_support::edits;

/// The longest text: it bounds the time of one run.
const MAX_BYTES: usize = 1 << 13;

/// The maximum number of executed instructions of a kernel.
const STEPS: u64 = 5_000;

fn cut(text: &[u8]) -> &[u8] {
    &text[..text.len().min(MAX_BYTES)]
}

/// The module of a text, and whether it is certainly valid. In a text with a version that is newer than the known ones, unknown words
/// are warnings, and their ends depend on the lines.
fn parse(text: &[u8]) -> (Module, bool) {
    let parsed = ptx_parse::parse(cut(text));
    let is_newer = |d: &Diagnostic| d.code == Code::NewerVersion;
    let is_valid = !parsed.has_errors() && !parsed.diagnostics.iter().any(is_newer);
    (parsed.module, is_valid)
}

/// Numbers that depend on a text.
fn random(text: &[u8]) -> fastrand::Rng {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    fastrand::Rng::with_seed(hasher.finish())
}

fn are_inside(module: &Module, found: &[Diagnostic]) {
    let end = module.source().len() as u32;
    for d in found {
        let others = d
            .labels
            .iter()
            .map(|l| l.span)
            .chain(d.repeats.iter().copied());
        for span in others.chain([d.span]) {
            assert!(span.start <= span.end && span.end <= end, "{d:?}");
        }
    }
}

/// Checking ends, and every diagnostic points into the text. So does what a module requires.
pub fn verify(text: &[u8]) {
    let (module, _) = parse(text);
    are_inside(
        &module,
        &ptx_verify::verify(&module, &ptx_verify::Options::default()),
    );
    are_inside(&module, &ptx_verify::likely_mistakes(&module));
    are_inside(&module, &ptx_verify::unused(&module));
    are_inside(&module, &ptx_verify::codegen_limits(&module));
    let _ = ptx_verify::requires(&module).module();
}

/// Linting ends, and every finding points into the text.
pub fn lints(text: &[u8]) {
    let (module, _) = parse(text);
    let found = lint(&ModuleFacts::new(&module), &LintOptions::default());
    let found: Vec<_> = found.into_iter().map(|f| f.diagnostic).collect();
    are_inside(&module, &found);
}

/// An edit is made or refused. The printed text keeps the bytes that its map says. Of a text without errors, the edited module is
/// what its printed text parses to.
pub fn edit(text: &[u8]) {
    let (mut module, is_valid) = parse(text);
    let mut rng = random(text);
    for _ in 0..4 {
        let (_, edit) = edits::EDITS[rng.usize(..edits::EDITS.len())];
        edits::make(&mut module, edit, &mut rng);
    }
    let ptx_ir::Rewritten { text: new, map, .. } = ptx_print::verbatim_with_map(&module);
    for (old, at, len) in map.pieces() {
        let (old, at, len) = (old as usize, at as usize, len as usize);
        assert_eq!(module.source()[old..old + len], new[at..at + len]);
    }
    let again = ptx_parse::parse(&new);
    if is_valid {
        let text = String::from_utf8_lossy(&new);
        assert!(!again.has_errors(), "{:?}\n{text}", again.diagnostics);
        if let Err(difference) = compare::compare(&module, &again.module) {
            panic!("{difference}\n{text}");
        }
    }
}

/// What is linked to each module.
const LIBRARY: &str =
    ".version 6.0\n.target sm_30\n.address_size 64\n.visible .func library() { ret; }\n";

/// A text without errors that is rewritten has no errors; of another one, rewriting ends.
pub fn transform(text: &[u8]) {
    let (module, is_valid) = parse(text);
    let all = MinifyOptions::default().with_symbols(true).with_dead(true);
    let mut texts = vec![
        ptx_transform::strip(&module).text().to_vec(),
        ptx_transform::minify(&module, &all).text().to_vec(),
        ptx_transform::renumber(&module).text().to_vec(),
        ptx_transform::flatten(&module).text().to_vec(),
    ];
    let first = module
        .definitions()
        .next()
        .map(|(_, f, _)| module.name(f.name));
    if let Some(first) = first {
        texts.extend(ptx_transform::extract(&module, &[first]).map(|e| e.text().to_vec()));
        if let Ok(split) = ptx_transform::split(&module, &[first]) {
            texts.extend([split.part, split.rest].map(|part| part.text().to_vec()));
        }
    }
    let library = ptx_parse::parse_str(LIBRARY).module;
    let linked = ptx_transform::link(&[&module, &library], &LinkOptions::default());
    texts.extend(linked.map(|linked| linked.text().to_vec()));
    let cleaned = clean(&module, &clean::Options::default().with_passes(Pass::ALL));
    texts.push(cleaned.text().to_vec());
    for new in texts.iter().filter(|_| is_valid) {
        let again = ptx_parse::parse(new);
        let text = String::from_utf8_lossy(new);
        assert!(!again.has_errors(), "{:?}\n{text}", again.diagnostics);
    }
}

/// A module equals itself, and comparing it with a part of itself ends.
pub fn diff(text: &[u8]) {
    let (module, _) = parse(text);
    let (part, _) = parse(&cut(text)[..cut(text).len() / 2]);
    for equality in [Equality::Statements, Equality::Values] {
        assert!(ModuleDiff::new(&module, &module, equality).is_equal());
        let _ = ModuleDiff::new(&module, &part, equality).is_equal();
    }
}

/// Executing a kernel ends with a result or an error, within the limits.
pub fn run(text: &[u8]) {
    let (module, is_valid) = parse(text);
    // Other modules are not executed by the program either.
    let options = ptx_verify::Options::default();
    let found = ptx_verify::verify(&module, &options);
    if !is_valid || found.iter().any(|d| d.severity == Severity::Error) {
        return;
    }
    let kernels = module
        .definitions()
        .filter(|(_, f, _)| f.kind == FunctionKind::Entry);
    for (_, kernel, _) in kernels.take(2) {
        let mut machine = Machine::new(&module);
        let Some(buffer) = machine.allocate(1 << 12) else {
            continue;
        };
        let mut launch = Launch::new(module.name(kernel.name)).shape(2, 40);
        launch = launch.check(Checker::Initcheck).check(Checker::Racecheck);
        launch.limits.steps = STEPS;
        launch.limits.stack_bytes = 1 << 14;
        launch.limits.heap_bytes = 1 << 16;
        launch.limits.resident_clusters = 4;
        for param in kernel.interface.params.of(module.params()) {
            let bits = param.ty.known().map_or(0, ptx_isa::ScalarType::bits);
            let element = usize::from(bits) / 8;
            let sizes = module.pool().slice(param.dims).iter();
            let sizes = sizes.map(|size| module.pool().integer(*size).unwrap_or(0));
            let count: i64 = sizes.fold(1, i64::saturating_mul);
            let bytes = element.saturating_mul(count.clamp(0, 1 << 12) as usize);
            let mut argument = vec![0; bytes];
            for (byte, of) in argument.iter_mut().zip(buffer.to_le_bytes()) {
                *byte = of;
            }
            launch = launch.argument(argument);
        }
        let _ = machine.launch(&launch);
    }
}

/// The language server answers requests about a document while it is edited, and lives.
pub fn server(text: &[u8]) {
    let text = String::from_utf8_lossy(cut(text)).into_owned();
    let mut rng = random(text.as_bytes());
    let mut server = ptx_lsp::Server::new();
    let uri = "file:///a.ptx";
    let mut say = |message: serde_json::Value| server.receive(message.to_string().as_bytes());
    say(
        serde_json::json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"capabilities": {}}}),
    );
    say(serde_json::json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}));
    let document = serde_json::json!({"uri": uri, "languageId": "ptx", "version": 1, "text": text});
    say(
        serde_json::json!({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": document}}),
    );
    let lines = text.lines().count() as u64 + 2;
    let mut position = || serde_json::json!({"line": rng.u64(..lines), "character": rng.u64(..60)});
    for (version, method) in (2..).zip(METHODS) {
        let (start, end) = (position(), position());
        let change =
            serde_json::json!({"range": {"start": start, "end": start}, "text": "x, %r1; {\n"});
        let params = serde_json::json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]});
        say(
            serde_json::json!({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params}),
        );
        let params = serde_json::json!({
            "textDocument": {"uri": uri}, "position": end, "range": {"start": start, "end": end},
            "context": {"includeDeclaration": true, "diagnostics": []}, "newName": "fresh",
            "options": {"tabSize": 4, "insertSpaces": true}, "positions": [end],
        });
        say(
            serde_json::json!({"jsonrpc": "2.0", "id": version, "method": method, "params": params}),
        );
    }
    let answers = server.take_messages();
    let answered = answers.iter().filter(|a| a.contains("\"id\":")).count();
    assert_eq!(answered, METHODS.len() + 1);
}

/// What is asked.
const METHODS: [&str; 16] = [
    "textDocument/hover",
    "textDocument/completion",
    "textDocument/definition",
    "textDocument/references",
    "textDocument/documentHighlight",
    "textDocument/documentSymbol",
    "textDocument/rename",
    "textDocument/prepareRename",
    "textDocument/formatting",
    "textDocument/rangeFormatting",
    "textDocument/codeAction",
    "textDocument/foldingRange",
    "textDocument/selectionRange",
    "textDocument/semanticTokens/full",
    "textDocument/inlayHint",
    "textDocument/signatureHelp",
];
