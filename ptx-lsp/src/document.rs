//! An open document: its text, its module and its diagnostics, kept up to date with the changes of the client.

use std::cell::OnceCell;
use std::collections::HashMap;

use lsp_types::{Position, Range, TextDocumentContentChangeEvent, Uri};
use ptx_analysis::incremental::Budget;
use ptx_ir::{Diagnostic, FuncId, Limits, Module, Severity, Span, TextChange};
use ptx_lint::Finding;
use ptx_parse::Incremental;
use ptx_report::requirements::Minimal;
use ptx_report::warnings::Allowed;
use ptx_verify::{Changes, Checked, Options};

use crate::lints::Lints;
use crate::settings::Settings;
use crate::text::Lines;

/// An open document.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) uri: Uri,
    pub(crate) version: i32,
    parsed: Incremental,
    lines: Lines,
    /// `None` where the whole module has to be checked.
    checked: Option<Checked>,
    /// `None` where the client wants no lints.
    lints: Option<Lints>,
    /// The comments that turn warnings off; `None` while they are not looked for, because there are no warnings.
    allowed: Option<Allowed>,
    /// Functions that were parsed again and not checked so far.
    stale: Vec<FuncId>,
    /// What the functions require, by their names; computed when it is asked for.
    requirements: OnceCell<HashMap<String, String>>,
}

impl Document {
    /// A document that [`update`](Self::update) parses, when the message that it came in is freed.
    pub(crate) fn new(uri: Uri, version: i32, text: String, how: Settings) -> Self {
        let text = text.into_bytes();
        Self {
            uri,
            version,
            lines: Lines::new(how.encoding, &text),
            parsed: Incremental::unparsed(text, Limits::default()),
            checked: None,
            lints: how.lints.then(Lints::new),
            allowed: None,
            stale: Vec::new(),
            requirements: OnceCell::new(),
        }
    }

    /// Makes a change of the client. The module is out of date until [`update`](Self::update).
    pub(crate) fn change(&mut self, change: TextDocumentContentChangeEvent) {
        self.requirements.take();
        let text = change.text.as_bytes();
        let whole = Span::at(0, self.source().len());
        let span = match change.range {
            Some(range) => self.span(range),
            None => whole,
        };
        let function = self.parsed.change(span, text);
        if let Some(lints) = &mut self.lints {
            lints.change(function);
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

    /// Chooses whether lints examine the document, from the next [`update`](Self::update) on.
    pub(crate) fn set_linted(&mut self, is_linted: bool) {
        self.lints = is_linted.then(Lints::new);
    }

    /// Parses and checks what the changes made necessary.
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

    /// Lints functions of the document, unless it has errors, until the budget is spent. Gives whether nothing is left. The document has to be up to date.
    pub(crate) fn lint(&mut self, budget: &mut Budget) -> bool {
        let mut all = all(&self.parsed, self.checked.as_ref());
        let has_errors = all.any(|d| d.severity == Severity::Error);
        let module = self.parsed.module();
        let is_complete = match &mut self.lints {
            Some(lints) if !has_errors => {
                lints.update(module);
                lints.advance(module, budget)
            }
            _ => true,
        };
        if self.allowed.is_none() && self.found().any(|d| d.severity == Severity::Warning) {
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

    /// All diagnostics of the parser, of the verifier and of lints, in the order of the source.
    pub(crate) fn diagnostics(&self) -> Vec<&Diagnostic> {
        let mut all: Vec<&Diagnostic> = self.found().collect();
        all.retain(|d| d.severity == Severity::Error || self.keeps(d));
        all.sort_by_key(|d| d.span.start);
        all
    }

    /// Whether no comment turns a warning off.
    fn keeps(&self, warning: &Diagnostic) -> bool {
        let allowed = self.allowed.as_ref();
        allowed.is_none_or(|allowed| allowed.keeps(&mut warning.clone()))
    }

    fn found(&self) -> impl Iterator<Item = &Diagnostic> {
        let lints = self.findings().map(|f| &f.diagnostic);
        all(&self.parsed, self.checked.as_ref()).chain(lints)
    }

    /// What lints found; nothing where the file has errors.
    fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.lints.iter().flat_map(Lints::findings)
    }

    /// The finding of a lint that a diagnostic is.
    pub(crate) fn finding(&self, d: &Diagnostic) -> Option<&Finding> {
        let is_it = |f: &&Finding| f.diagnostic.span == d.span && f.diagnostic.code == d.code;
        self.findings().find(is_it)
    }

    /// What lints found that comments do not turn off, in the order of the source.
    pub(crate) fn lint_findings(&self) -> Vec<&Finding> {
        let mut all: Vec<&Finding> = self.findings().collect();
        all.retain(|f| self.keeps(&f.diagnostic));
        all.sort_by_key(|f| f.diagnostic.span.start);
        all
    }

    /// On which targets and in which versions a function is legal; `None` if nowhere.
    pub(crate) fn requirements_of(&self, function: &str) -> Option<String> {
        let all = self
            .requirements
            .get_or_init(|| requirements(self.module()));
        all.get(function).cloned()
    }

    /// Those of the parser.
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

    /// A part of the text.
    pub(crate) fn text(&self, span: Span) -> String {
        String::from_utf8_lossy(span.of(self.source())).into_owned()
    }
}

/// What the parser and the verifier report.
fn all<'a>(
    parsed: &'a Incremental,
    checked: Option<&'a Checked>,
) -> impl Iterator<Item = &'a Diagnostic> {
    let checked = checked.into_iter().flat_map(Checked::diagnostics);
    parsed.diagnostics().chain(checked)
}

fn requirements(module: &Module) -> HashMap<String, String> {
    let needs = ptx_verify::requires(module);
    let mut minimal = Minimal::default();
    let functions = needs.functions().iter();
    let texts = functions.filter_map(|(id, availability)| {
        let name = module.name(module.functions().get(*id)?.name);
        let pairs = minimal.of(availability).into_iter().map(|p| p.text());
        let text = pairs.collect::<Vec<_>>().join(", or ");
        (!text.is_empty()).then(|| (name.to_owned(), text))
    });
    texts.collect()
}
