//! An open document: its text, its module, its diagnostics and the findings of lints, which are updated after changes of the client.

use std::cell::OnceCell;
use std::collections::HashMap;

use lsp_types::{Position, Range, TextDocumentContentChangeEvent, Uri};
use ptx_analysis::incremental::EvaluationLimit;
use ptx_ir::raw::TextChange;
use ptx_ir::{Changed, Diagnostic, FuncId, Limits, Module, Severity, Span};
use ptx_lint::{Finding, LintOptions, LintSession};
use ptx_parse::Incremental;
use ptx_report::requirements::Minimal;
use ptx_report::warnings::Allowed;
use ptx_verify::{Changes, Checked, Options};
use serde_json::Value;

use crate::machine_code::MachineCode;
use crate::text::{Encoding, Lines};

/// The settings of the client for reading and examining documents.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) encoding: Encoding,
    /// Whether documents are linted.
    pub(crate) lints: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            encoding: Encoding::default(),
            lints: true,
        }
    }
}

impl Settings {
    /// Reads `initializationOptions`, or the settings of `workspace/didChangeConfiguration`, which may be in a section `ptxkit`. Settings that are missing
    /// or have a wrong type are not changed.
    pub(crate) fn read(&mut self, options: &Value) {
        let options = options.get("ptxkit").unwrap_or(options);
        if let Some(lints) = options.get("lints").and_then(Value::as_bool) {
            self.lints = lints;
        }
    }
}

/// An open document.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) uri: Uri,
    pub(crate) version: i32,
    parsed: Incremental,
    lines: Lines,
    /// `None` if the whole module has to be checked.
    checked: Option<Checked>,
    /// `None` if the client disabled lints.
    lints: Option<Lints>,
    /// The comments that suppress warnings. They are collected when there are warnings; `None` before that.
    allowed: Option<Allowed>,
    /// The functions that were parsed again and have to be checked again.
    stale: Vec<FuncId>,
    /// The text of the requirements of each function, by its name. Computed on the first query after a change.
    requirements: OnceCell<HashMap<String, String>>,
    pub(crate) machine_code: MachineCode,
}

impl Document {
    /// Creates a document without parsing it. [`update`](Self::update) parses it, when the memory of the message with its text is free again.
    pub(crate) fn new(uri: Uri, version: i32, text: String, settings: Settings) -> Self {
        let text = text.into_bytes();
        Self {
            uri,
            version,
            lines: Lines::new(settings.encoding, &text),
            parsed: Incremental::unparsed(text, Limits::default()),
            checked: None,
            lints: settings.lints.then(Lints::new),
            allowed: None,
            stale: Vec::new(),
            requirements: OnceCell::new(),
            machine_code: MachineCode::default(),
        }
    }

    /// Applies a change of the client to the text. The module is out of date until [`update`](Self::update).
    pub(crate) fn change(&mut self, change: TextDocumentContentChangeEvent) {
        self.requirements.take();
        self.machine_code.forget();
        let text = change.text.as_bytes();
        let span = match change.range {
            Some(range) => self.span(range),
            None => Span::at(0, self.source().len()),
        };
        let function = self.parsed.change(span, text);
        if let Some(lints) = &mut self.lints {
            lints.record_change(function);
        }
        match function {
            Some(function) => {
                let change = TextChange::new(span, text.len() as u32);
                if let Some(checked) = &mut self.checked {
                    checked.move_text(change);
                }
                self.stale.push(function);
            }
            None => {
                self.checked = None;
                self.stale.clear();
            }
        }
        self.lines.replace(span, text.len(), self.parsed.source());
    }

    /// Enables or disables lints from the next [`update`](Self::update) on.
    pub(crate) fn set_linted(&mut self, is_linted: bool) {
        self.lints = is_linted.then(Lints::new);
    }

    /// Parses and checks the functions that changed, or the whole module.
    pub(crate) fn update(&mut self) {
        self.parsed.update();
        let module = self.parsed.module();
        let is_new = self.checked.is_none() || !self.stale.is_empty();
        match &mut self.checked {
            Some(_) if self.stale.is_empty() => {}
            Some(checked) => checked.update(module, Changes::new(&self.stale, &[])),
            None => self.checked = Some(Checked::new(module, Options::default())),
        }
        if is_new {
            self.allowed = None;
        }
        self.stale.clear();
    }

    /// Lints functions until the limit is reached. Returns whether all functions are linted. A document with errors is not linted.
    ///
    /// The document must be up to date.
    pub(crate) fn lint(&mut self, limit: &mut EvaluationLimit) -> bool {
        let has_errors =
            diagnostics(&self.parsed, self.checked.as_ref()).any(|d| d.severity == Severity::Error);
        let module = self.parsed.module();
        let is_complete = match &mut self.lints {
            Some(lints) if !has_errors => {
                lints.update(module);
                lints.advance(module, limit)
            }
            _ => true,
        };
        if self.allowed.is_none()
            && self
                .unfiltered_diagnostics()
                .any(|d| d.severity == Severity::Warning)
        {
            self.allowed = Some(Allowed::new(self.module()));
        }
        is_complete
    }

    pub(crate) fn module(&self) -> &Module {
        self.parsed.module()
    }

    pub(crate) fn source(&self) -> &[u8] {
        self.parsed.source()
    }

    pub(crate) fn lines(&self) -> &Lines {
        &self.lines
    }

    /// The diagnostics of the parser, the verifier and lints, without suppressed warnings, in the order of the source.
    pub(crate) fn diagnostics(&self) -> Vec<&Diagnostic> {
        let mut diagnostics: Vec<&Diagnostic> = self
            .unfiltered_diagnostics()
            .filter(|d| d.severity == Severity::Error || self.is_enabled(d))
            .collect();
        diagnostics.sort_by_key(|d| d.span.start);
        diagnostics
    }

    /// Whether no comment suppresses a warning.
    fn is_enabled(&self, warning: &Diagnostic) -> bool {
        let allowed = self.allowed.as_ref();
        allowed.is_none_or(|allowed| allowed.keeps(&mut warning.clone()))
    }

    /// The diagnostics including suppressed warnings.
    fn unfiltered_diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        let lints = self.unfiltered_findings().map(|f| &f.diagnostic);
        diagnostics(&self.parsed, self.checked.as_ref()).chain(lints)
    }

    /// The findings of lints including suppressed ones; none if the document has errors.
    fn unfiltered_findings(&self) -> impl Iterator<Item = &Finding> {
        self.lints.iter().flat_map(Lints::findings)
    }

    /// The finding that a diagnostic belongs to; `None` if it is not a diagnostic of a lint.
    pub(crate) fn finding(&self, diagnostic: &Diagnostic) -> Option<&Finding> {
        self.unfiltered_findings()
            .find(|f| f.diagnostic.span == diagnostic.span && f.diagnostic.code == diagnostic.code)
    }

    /// The findings of lints without suppressed ones, in the order of the source.
    pub(crate) fn lint_findings(&self) -> Vec<&Finding> {
        let mut findings: Vec<&Finding> = self
            .unfiltered_findings()
            .filter(|f| self.is_enabled(&f.diagnostic))
            .collect();
        findings.sort_by_key(|f| f.diagnostic.span.start);
        findings
    }

    /// The targets and versions on which a function is legal, as text; `None` if it is legal nowhere.
    pub(crate) fn requirements_of(&self, function: &str) -> Option<String> {
        let requirements = self
            .requirements
            .get_or_init(|| requirements(self.module()));
        requirements.get(function).cloned()
    }

    /// The diagnostics of the parser.
    pub(crate) fn syntax_errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.parsed.diagnostics()
    }

    pub(crate) fn offset(&self, position: Position) -> u32 {
        self.lines.offset(self.source(), position)
    }

    pub(crate) fn span(&self, range: Range) -> Span {
        self.lines.span(self.source(), range)
    }

    pub(crate) fn position(&self, offset: u32) -> Position {
        self.lines.position(self.source(), offset)
    }

    pub(crate) fn range(&self, span: Span) -> Range {
        self.lines.range(self.source(), span)
    }

    /// Returns a part of the text.
    pub(crate) fn text(&self, span: Span) -> String {
        String::from_utf8_lossy(span.of(self.source())).into_owned()
    }
}

/// The diagnostics of the parser and the verifier.
fn diagnostics<'a>(
    parsed: &'a Incremental,
    checked: Option<&'a Checked>,
) -> impl Iterator<Item = &'a Diagnostic> {
    let checked = checked.into_iter().flat_map(Checked::diagnostics);
    parsed.diagnostics().chain(checked)
}

/// The text of the requirements of each function that is legal somewhere.
fn requirements(module: &Module) -> HashMap<String, String> {
    let requirements = ptx_verify::requires(module);
    let mut minimal = Minimal::default();
    let mut texts = HashMap::new();
    for (id, availability) in requirements.functions() {
        let Some(function) = module.functions().get(*id) else {
            continue;
        };
        let alternatives: Vec<String> = minimal
            .of(availability)
            .into_iter()
            .map(|alternative| alternative.text())
            .collect();
        if !alternatives.is_empty() {
            let name = module.name(function.name).to_owned();
            texts.insert(name, alternatives.join(", or "));
        }
    }
    texts
}

/// The lints of a document.
#[derive(Debug)]
struct Lints {
    session: LintSession,
    /// The changes that the session has not been told of.
    pending: PendingChanges,
}

/// Changes of a module since the last update of its lints.
#[derive(Debug)]
enum PendingChanges {
    /// The bodies of these functions were parsed again; an empty list means no change.
    Functions(Vec<FuncId>),
    /// The whole module was parsed again.
    Module,
}

impl Lints {
    /// Creates lints that have examined no function.
    fn new() -> Self {
        Self {
            session: LintSession::new(LintOptions::default()),
            pending: PendingChanges::Module,
        }
    }

    /// Records that the body of a function, or for `None` the whole module, was parsed again.
    fn record_change(&mut self, function: Option<FuncId>) {
        match (&mut self.pending, function) {
            (PendingChanges::Functions(functions), Some(function)) => functions.push(function),
            (pending, None) => *pending = PendingChanges::Module,
            (PendingChanges::Module, Some(_)) => {}
        }
    }

    /// Marks the functions that have to be linted again because of the recorded changes.
    fn update(&mut self, module: &Module) {
        let pending = std::mem::replace(&mut self.pending, PendingChanges::Functions(Vec::new()));
        match pending {
            PendingChanges::Functions(functions) if functions.is_empty() => {}
            PendingChanges::Functions(functions) => {
                let mut changed = Changed::default();
                changed.functions = functions;
                self.session.update(module, &changed);
            }
            PendingChanges::Module => self.session.parsed(module),
        }
    }

    /// Lints functions until the limit is reached. Returns whether all functions are linted.
    ///
    /// `module` must be the module of the last [`update`](Self::update).
    fn advance(&mut self, module: &Module, limit: &mut EvaluationLimit) -> bool {
        self.session.advance(module, limit)
    }

    /// The findings in the functions that are linted; none while there are pending changes.
    fn findings(&self) -> impl Iterator<Item = &Finding> {
        let is_current =
            matches!(&self.pending, PendingChanges::Functions(functions) if functions.is_empty());
        let session = is_current.then_some(&self.session);
        session.into_iter().flat_map(LintSession::findings)
    }
}
