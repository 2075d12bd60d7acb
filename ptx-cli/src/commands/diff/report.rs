//! The differences of two files as text and numbers, for JSON and for people.

use std::collections::HashMap;
use std::ops::Range;

use ptx_analysis::source_lines::{FunctionLines, SourceLines};
use ptx_diff::{Change, FunctionDiff, Line, ModuleDiff, Subject, hunks};
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Body, EntityId, FuncId, FunctionKind, LineIndex, Module, Statement, StmtId};
use serde::Serialize;

use super::limits::Limit;
use crate::metrics::Metric;
use ptx_report::demangle::demangle;
use ptx_report::function_stats::{self, OfFunction};
use ptx_report::labels::Labeled;
use ptx_report::source_frames::{self, JsonFrame};
use ptx_report::{SCHEMA, clean, counted};

/// One of the two files.
pub(super) struct Side<'m> {
    name: &'m str,
    module: &'m Module,
    lines: LineIndex,
    source_lines: SourceLines<'m>,
}

/// The differences.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Report {
    schema: u32,
    pub(super) left: String,
    pub(super) right: String,
    pub(super) equal: bool,
    pub(super) changes: Vec<JsonChange>,
    pub(super) functions: Vec<Function>,
    /// The limits of --fail-if that are exceeded.
    pub(super) exceeded: Vec<String>,
}

/// A difference outside of code.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonChange {
    pub(super) subject: &'static str,
    pub(super) name: String,
    pub(super) left: Option<String>,
    pub(super) right: Option<String>,
}

#[derive(Serialize, Copy, Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    Equal,
    Changed,
    /// A renamed function, possibly with different code.
    Renamed,
    Removed,
    Added,
}

/// A function of one file or of both.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Function {
    /// The name in the second file, if it is there.
    pub(super) name: String,
    pub(super) demangled: Option<String>,
    pub(super) kind: Labeled<FunctionKind>,
    pub(super) status: Status,
    /// For a renamed function, the name in the first file.
    pub(super) old_name: Option<String>,
    pub(super) old_demangled: Option<String>,
    /// For a renamed function, the proportion of common statements.
    pub(super) similarity: Option<f32>,
    /// The numbers of statements that only the first and only the second file has.
    pub(super) removed: usize,
    pub(super) added: usize,
    pub(super) changes: Vec<JsonChange>,
    /// The metrics that differ.
    pub(super) metrics: Vec<Compared>,
    pub(super) hunks: Vec<Hunk>,
}

/// The values of a metric; `null` if the function is missing or the value is unknown.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Compared {
    pub(super) name: String,
    pub(super) left: Option<u64>,
    pub(super) right: Option<u64>,
}

/// Differing statements, with context.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Hunk {
    pub(super) lines: Vec<JsonLine>,
}

/// A statement of one file or of both.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonLine {
    pub(super) left: Option<Site>,
    pub(super) right: Option<Site>,
    /// The statement of the second file with the names of the first one.
    #[serde(skip)]
    pub(super) shown: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Site {
    pub(super) line: u32,
    pub(super) text: String,
    pub(super) source: Vec<JsonFrame>,
}

impl<'m> Side<'m> {
    pub(super) fn new(name: &'m str, module: &'m Module) -> Self {
        Self {
            name,
            module,
            lines: LineIndex::new(module.source()),
            source_lines: SourceLines::new(module),
        }
    }

    fn name(&self, id: FuncId) -> &'m str {
        let function = self.module.functions().get(id);
        function.map_or("", |f| self.module.name(f.name))
    }

    /// A statement on one line and without comments.
    fn text(&self, body: &Body, stmt: StmtId) -> String {
        let text = match body.statement(stmt) {
            // The canonical style leaves these as they are.
            Some(Statement::Opaque(_)) | None => {
                let text = body.source_span(stmt).of(self.module.source());
                String::from_utf8_lossy(text).into_owned()
            }
            _ => ptx_print::display_statement(self.module, body, stmt).to_string(),
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        clean(&words.join(" ")).into_owned()
    }

    fn site(&self, body: &Body, lines: &FunctionLines<'_, '_>, stmt: StmtId) -> Site {
        Site {
            line: self.lines.position(body.source_span(stmt).start).line,
            text: self.text(body, stmt),
            source: source_frames::frames(lines, stmt),
        }
    }

    /// Facts about functions, by their ids.
    fn stats(&self, mut wanted: Vec<FuncId>) -> HashMap<FuncId, OfFunction> {
        if wanted.is_empty() {
            return HashMap::new();
        }
        wanted.sort();
        let stats = function_stats::of(self.module, |id| wanted.binary_search(&id).is_ok());
        wanted.into_iter().zip(stats).collect()
    }
}

/// A text with other names.
fn renamed(text: &str, names: &HashMap<String, String>) -> String {
    let tokens = Lexer::new(text.as_bytes());
    let words = tokens.map(|token| {
        let word = text.get(token.span.start as usize..token.span.end as usize);
        let word = word.unwrap_or_default();
        match token.kind {
            TokenKind::Ident => names.get(word).map_or(word, String::as_str),
            _ => word,
        }
    });
    words.collect()
}

/// What the registers and labels of the second function are called in the first one; `'` after others.
fn names(
    sides: &[Side<'_>; 2],
    bodies: [&Body; 2],
    diff: &FunctionDiff,
) -> HashMap<String, String> {
    let mut names = HashMap::new();
    let spelled = |i: usize| -> Vec<String> {
        let body: &Body = bodies[i];
        let all = body.registers().values().map(|register| {
            let decl = body.reg_decls().get(register.decl);
            let name = decl.map_or("", |d| sides[i].module.name(d.name));
            match decl.and_then(|d| d.count) {
                Some(_) => format!("{name}{}", register.number),
                None => name.to_owned(),
            }
        });
        all.collect()
    };
    let (left, right) = (spelled(0), spelled(1));
    for name in &right {
        names.insert(name.clone(), format!("{name}'"));
    }
    for (a, b) in &diff.registers {
        if let (Some(a), Some(b)) = (left.get(a.index()), right.get(b.index())) {
            names.insert(b.clone(), a.clone());
        }
    }
    let label = |i: usize, id: ptx_ir::LabelId| {
        let label = bodies[i].labels().get(id)?;
        Some(sides[i].module.name(label.name).to_owned())
    };
    for label in bodies[1].labels().values() {
        let name = sides[1].module.name(label.name);
        names.insert(name.to_owned(), format!("{name}'"));
    }
    for (a, b) in &diff.labels {
        if let (Some(a), Some(b)) = (label(0, *a), label(1, *b)) {
            names.insert(b, a);
        }
    }
    names
}

impl Report {
    /// Without `context` no statements.
    pub(super) fn new(
        sides: &[Side<'_>; 2],
        diff: &ModuleDiff,
        context: Option<usize>,
        all: bool,
        limits: &[Limit],
    ) -> Self {
        let all_values = limits.iter().any(Limit::is_about_all);
        let wanted = |f: &&FunctionDiff| all_values || !f.is_equal();
        let ids = |of: fn(&FunctionDiff) -> Option<FuncId>| {
            diff.functions
                .iter()
                .filter(wanted)
                .filter_map(of)
                .collect()
        };
        let (left, right) = (ids(|f| f.left), ids(|f| f.right));
        let (left, right) = rayon::join(|| sides[0].stats(left), || sides[1].stats(right));
        let pair = |f: &FunctionDiff| {
            let a = f.left.and_then(|id| left.get(&id));
            let b = f.right.and_then(|id| right.get(&id));
            (a, b)
        };
        let shown = diff.functions.iter().filter(|f| all || !f.is_equal());
        let functions = shown.map(|f| Function::new(sides, f, pair(f), context));
        let exceeded = limits
            .iter()
            .flat_map(|limit| limit.exceeded(diff.functions.iter().map(pair)));
        Self {
            schema: SCHEMA,
            left: sides[0].name.to_owned(),
            right: sides[1].name.to_owned(),
            equal: diff.is_equal(),
            changes: diff.changes.iter().map(JsonChange::new).collect(),
            functions: functions.collect(),
            exceeded: exceeded.collect(),
        }
    }

    /// How many functions differ.
    pub(super) fn summary(&self) -> String {
        let count = |status| self.functions.iter().filter(|f| f.status == status).count();
        let all = [
            (Status::Changed, "changed"),
            (Status::Renamed, "renamed"),
            (Status::Removed, "removed"),
            (Status::Added, "added"),
        ];
        let found = all.map(|(status, word)| (count(status), word));
        let found = found.iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> = found
            .map(|(count, word)| format!("{} {word}", counted(*count, "function")))
            .collect();
        match words[..] {
            [] if self.equal => "no differences".to_owned(),
            [] => "no function differs".to_owned(),
            _ => words.join(", "),
        }
    }
}

impl JsonChange {
    fn new(change: &Change) -> Self {
        let text = |text: &Option<String>| text.as_ref().map(|t| clean(t).into_owned());
        Self {
            subject: subject(change.subject),
            name: clean(&change.name).into_owned(),
            left: text(&change.left),
            right: text(&change.right),
        }
    }
}

fn subject(subject: Subject) -> &'static str {
    match subject {
        Subject::Version => "version",
        Subject::Target => "target",
        Subject::AddressSize => "address_size",
        Subject::Variable => "variable",
        Subject::Initializer => "initializer",
        Subject::Alias => "alias",
        Subject::Declaration => "declaration",
        Subject::Kind => "kind",
        Subject::Linkage => "linkage",
        Subject::Attributes => "attributes",
        Subject::Result => "result",
        Subject::Parameter => "parameter",
        Subject::Directive => "directive",
        _ => "unrecognized",
    }
}

impl Function {
    fn new(
        sides: &[Side<'_>; 2],
        diff: &FunctionDiff,
        (left, right): (Option<&OfFunction>, Option<&OfFunction>),
        context: Option<usize>,
    ) -> Self {
        let of = |i: usize, id: Option<FuncId>| id.map(|id| sides[i].name(id));
        let (old, new) = (of(0, diff.left), of(1, diff.right));
        let name = new.or(old).unwrap_or_default();
        let renamed = old.filter(|old| *old != name);
        let kind = match (diff.right, diff.left) {
            (Some(id), _) => sides[1].module.functions().get(id),
            (_, Some(id)) => sides[0].module.functions().get(id),
            _ => None,
        };
        let (removed, added) = diff.edits();
        let mut changes: Vec<JsonChange> = diff.changes.iter().map(JsonChange::new).collect();
        changes.extend(requirements(left, right));
        Self {
            name: clean(name).into_owned(),
            demangled: demangle(name),
            kind: Labeled(kind.map_or(FunctionKind::Func, |f| f.kind)),
            status: match (old, new) {
                _ if diff.is_equal() => Status::Equal,
                (None, _) => Status::Added,
                (_, None) => Status::Removed,
                _ if renamed.is_some() => Status::Renamed,
                _ => Status::Changed,
            },
            old_name: renamed.map(|name| clean(name).into_owned()),
            old_demangled: renamed.and_then(demangle),
            similarity: diff.similarity,
            removed,
            added,
            changes,
            metrics: compared(left, right),
            hunks: context.map_or(Vec::new(), |context| all_hunks(sides, diff, context)),
        }
    }

    /// The name for people.
    pub(super) fn title(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.name)
    }
}

/// The requirements of a function, if they differ.
fn requirements(left: Option<&OfFunction>, right: Option<&OfFunction>) -> Option<JsonChange> {
    let text = |of: &OfFunction| {
        let pairs = of.requires.iter();
        let pairs = pairs.map(|pair| format!("{} from PTX {}", pair.target, pair.ptx));
        pairs.collect::<Vec<_>>().join(", ")
    };
    let (left, right) = (text(left?), text(right?));
    (left != right).then(|| JsonChange {
        subject: "requires",
        name: String::new(),
        left: Some(left),
        right: Some(right),
    })
}

/// The metrics that differ; all that are not 0 if there is one function only.
fn compared(left: Option<&OfFunction>, right: Option<&OfFunction>) -> Vec<Compared> {
    let functions: Vec<&OfFunction> = left.into_iter().chain(right).collect();
    let value = |of: Option<&OfFunction>, metric: &Metric| of.and_then(|of| metric.value(of));
    let all = Metric::of(&functions).into_iter().map(|metric| Compared {
        name: metric.to_string(),
        left: value(left, &metric),
        right: value(right, &metric),
    });
    all.filter(|c| c.left != c.right && (c.left.unwrap_or(0), c.right.unwrap_or(0)) != (0, 0))
        .collect()
}

fn all_hunks(sides: &[Side<'_>; 2], diff: &FunctionDiff, context: usize) -> Vec<Hunk> {
    let body = |i: usize, id: Option<FuncId>| id.and_then(|id| sides[i].module.body(id));
    let (Some(a), Some(b)) = (body(0, diff.left), body(1, diff.right)) else {
        return Vec::new();
    };
    if diff.lines.is_empty() {
        return Vec::new();
    }
    let names = names(sides, [a, b], diff);
    let lines = [
        sides[0].source_lines.function(a),
        sides[1].source_lines.function(b),
    ];
    let line = |line: &Line| JsonLine {
        left: line.left().map(|stmt| sides[0].site(a, &lines[0], stmt)),
        right: line.right().map(|stmt| sides[1].site(b, &lines[1], stmt)),
        shown: match line {
            Line::Added(stmt) => renamed(&sides[1].text(b, *stmt), &names),
            _ => String::new(),
        },
    };
    let hunk = |range: Range<usize>| Hunk {
        lines: diff.lines[range].iter().map(line).collect(),
    };
    hunks(&diff.lines, context).map(hunk).collect()
}
