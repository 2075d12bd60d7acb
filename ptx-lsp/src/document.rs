//! An open document: its text, its module and its diagnostics, kept up to date with the changes of the client.

use std::cell::OnceCell;
use std::collections::HashMap;

use lsp_types::{Position, Range, TextDocumentContentChangeEvent, Uri};
use ptx_ir::{Diagnostic, FuncId, Limits, Module, Span, TextChange};
use ptx_parse::Incremental;
use ptx_report::requirements::Minimal;
use ptx_verify::{Changes, Checked, Options};

use crate::text::{Encoding, Lines};

/// An open document.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) uri: Uri,
    pub(crate) version: i32,
    parsed: Incremental,
    lines: Lines,
    /// `None` where the whole module has to be checked.
    checked: Option<Checked>,
    /// Functions that were parsed again and not checked so far.
    stale: Vec<FuncId>,
    /// What the functions require, by their names; computed when it is asked for.
    requirements: OnceCell<HashMap<String, String>>,
}

impl Document {
    /// A document that [`update`](Self::update) parses, when the message that it came in is freed.
    pub(crate) fn new(uri: Uri, version: i32, text: String, encoding: Encoding) -> Self {
        let text = text.into_bytes();
        Self {
            uri,
            version,
            lines: Lines::new(encoding, &text),
            parsed: Incremental::unparsed(text, Limits::default()),
            checked: None,
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
        match self.parsed.change(span, text) {
            Some(function) => {
                if let Some(checked) = &mut self.checked {
                    checked.move_text(TextChange::new(span, text.len() as u32));
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

    /// Parses and checks what the changes made necessary.
    pub(crate) fn update(&mut self) {
        self.parsed.update();
        let module = self.parsed.module();
        match &mut self.checked {
            Some(_) if self.stale.is_empty() => {}
            Some(checked) => checked.update(module, Changes::new(&self.stale, &[])),
            None => self.checked = Some(Checked::new(module, Options::default())),
        }
        self.stale.clear();
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

    /// All diagnostics of the parser and of the verifier, in the order of the source.
    pub(crate) fn diagnostics(&self) -> Vec<&Diagnostic> {
        let checked = self.checked.iter().flat_map(Checked::diagnostics);
        let mut all: Vec<&Diagnostic> = self.parsed.diagnostics().chain(checked).collect();
        all.sort_by_key(|d| d.span.start);
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
