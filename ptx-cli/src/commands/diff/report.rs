//! The report of the differences of two files, which is written as text or JSON.

use std::collections::HashMap;

use ptx_analysis::source_lines::{FunctionLines, SourceLines};
use ptx_diff::{Change, FunctionDiff, Line, ModuleDiff, Subject, hunks};
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Body, EntityId, FuncId, FunctionKind, LineIndex, Module, Statement, StmtId};
use serde::Serialize;

use super::limits::{ComparedStats, Limit};
use crate::assembler::Assembled;
use crate::metrics::Metric;
use ptx_report::demangle::demangle;
use ptx_report::function_stats::{self, FunctionStats};
use ptx_report::labels::Labeled;
use ptx_report::source_frames::{self, JsonFrame};
use ptx_report::{SCHEMA, clean, counted};

/// One of the two files.
pub(super) struct Side<'m> {
    name: &'m str,
    module: &'m Module,
    lines: LineIndex,
    source_lines: SourceLines<'m>,
    /// With `--ptxas`.
    code: Option<Assembled>,
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
            code: None,
        }
    }

    /// The side with its machine code.
    pub(super) fn with_code(self, code: Option<Assembled>) -> Self {
        Self { code, ..self }
    }

    fn name(&self, id: FuncId) -> &'m str {
        self.module
            .functions()
            .get(id)
            .map_or("", |function| self.module.name(function.name))
    }

    /// The text of a statement on one line and without comments.
    fn text(&self, body: &Body, stmt: StmtId) -> String {
        let text = match body.statement(stmt) {
            // The canonical style does not normalize these.
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

    /// The statistics of functions, by their ids.
    fn stats(&self, mut ids: Vec<FuncId>) -> HashMap<FuncId, FunctionStats> {
        if ids.is_empty() {
            return HashMap::new();
        }
        ids.sort();
        let mut stats = function_stats::collect(self.module, |id| ids.binary_search(&id).is_ok());
        if let Some(code) = &self.code {
            code.apply(self.module, stats.iter_mut());
        }
        ids.into_iter().zip(stats).collect()
    }

    /// The names of the registers of a body.
    fn register_names(&self, body: &Body) -> Vec<String> {
        body.registers()
            .values()
            .map(|register| {
                let decl = body.reg_decls().get(register.decl);
                let name = decl.map_or("", |d| self.module.name(d.name));
                match decl.and_then(|d| d.count) {
                    Some(_) => format!("{name}{}", register.number),
                    None => name.to_owned(),
                }
            })
            .collect()
    }

    fn label_name(&self, body: &Body, id: ptx_ir::LabelId) -> Option<&'m str> {
        let label = body.labels().get(id)?;
        Some(self.module.name(label.name))
    }
}

/// Replaces names in a text.
fn renamed(text: &str, names: &HashMap<String, String>) -> String {
    Lexer::new(text.as_bytes())
        .map(|token| {
            let word = text
                .get(token.span.start as usize..token.span.end as usize)
                .unwrap_or_default();
            match token.kind {
                TokenKind::Ident => names.get(word).map_or(word, String::as_str),
                _ => word,
            }
        })
        .collect()
}

/// The new names of the registers and labels of the right function: the names of their partners in the left function, or the old name with `'`.
fn new_names(
    sides: &[Side<'_>; 2],
    bodies: [&Body; 2],
    diff: &FunctionDiff,
) -> HashMap<String, String> {
    let ([left_side, right_side], [left_body, right_body]) = (sides, bodies);
    let mut names = HashMap::new();
    let left_registers = left_side.register_names(left_body);
    let right_registers = right_side.register_names(right_body);
    for name in &right_registers {
        names.insert(name.clone(), format!("{name}'"));
    }
    for (left, right) in &diff.registers {
        if let (Some(left), Some(right)) = (
            left_registers.get(left.index()),
            right_registers.get(right.index()),
        ) {
            names.insert(right.clone(), left.clone());
        }
    }
    for label in right_body.labels().values() {
        let name = right_side.module.name(label.name);
        names.insert(name.to_owned(), format!("{name}'"));
    }
    for (left, right) in &diff.labels {
        if let (Some(left), Some(right)) = (
            left_side.label_name(left_body, *left),
            right_side.label_name(right_body, *right),
        ) {
            names.insert(right.to_owned(), left.to_owned());
        }
    }
    names
}

/// The parts of the differences that a report contains.
pub(super) struct Contents<'l> {
    /// The number of statements before and after each difference; `None` for a report without statements.
    pub(super) context: Option<usize>,
    /// Whether equal functions are listed.
    pub(super) equal_functions: bool,
    pub(super) limits: &'l [Limit],
}

impl Report {
    pub(super) fn new(sides: &[Side<'_>; 2], diff: &ModuleDiff, contents: &Contents<'_>) -> Self {
        let needs_all = contents.limits.iter().any(Limit::needs_equal_functions);
        let needed = diff
            .functions
            .iter()
            .filter(|function| needs_all || !function.is_equal());
        let left_ids = needed.clone().filter_map(|f| f.left).collect();
        let right_ids = needed.filter_map(|f| f.right).collect();
        let (left, right) = rayon::join(|| sides[0].stats(left_ids), || sides[1].stats(right_ids));
        let stats = |function: &FunctionDiff| ComparedStats {
            left: function.left.and_then(|id| left.get(&id)),
            right: function.right.and_then(|id| right.get(&id)),
        };
        Self {
            schema: SCHEMA,
            left: sides[0].name.to_owned(),
            right: sides[1].name.to_owned(),
            equal: diff.is_equal(),
            changes: diff.changes.iter().map(JsonChange::new).collect(),
            functions: diff
                .functions
                .iter()
                .filter(|function| contents.equal_functions || !function.is_equal())
                .map(|function| Function::new(sides, function, stats(function), contents.context))
                .collect(),
            exceeded: contents
                .limits
                .iter()
                .flat_map(|limit| limit.exceeded(diff.functions.iter().map(stats)))
                .collect(),
        }
    }

    /// The numbers of functions that differ.
    pub(super) fn summary(&self) -> String {
        let mut counts = Vec::new();
        for (status, word) in [
            (Status::Changed, "changed"),
            (Status::Renamed, "renamed"),
            (Status::Removed, "removed"),
            (Status::Added, "added"),
        ] {
            let count = self.functions.iter().filter(|f| f.status == status).count();
            if count > 0 {
                counts.push(format!("{} {word}", counted(count, "function")));
            }
        }
        match counts[..] {
            [] if self.equal => "no differences".to_owned(),
            [] => "no function differs".to_owned(),
            _ => counts.join(", "),
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
        stats: ComparedStats<'_>,
        context: Option<usize>,
    ) -> Self {
        let old = diff.left.map(|id| sides[0].name(id));
        let new = diff.right.map(|id| sides[1].name(id));
        let name = new.or(old).unwrap_or_default();
        let old_name = old.filter(|old| *old != name);
        let function = match (diff.right, diff.left) {
            (Some(id), _) => sides[1].module.functions().get(id),
            (_, Some(id)) => sides[0].module.functions().get(id),
            _ => None,
        };
        let (removed, added) = diff.edits();
        let mut changes: Vec<JsonChange> = diff.changes.iter().map(JsonChange::new).collect();
        changes.extend(changed_requirements(stats));
        Self {
            name: clean(name).into_owned(),
            demangled: demangle(name),
            kind: Labeled(function.map_or(FunctionKind::Func, |f| f.kind)),
            status: match (old, new) {
                _ if diff.is_equal() => Status::Equal,
                (None, _) => Status::Added,
                (_, None) => Status::Removed,
                _ if old_name.is_some() => Status::Renamed,
                _ => Status::Changed,
            },
            old_name: old_name.map(|name| clean(name).into_owned()),
            old_demangled: old_name.and_then(demangle),
            similarity: diff.similarity,
            removed,
            added,
            changes,
            metrics: compared_metrics(stats),
            hunks: context.map_or(Vec::new(), |context| all_hunks(sides, diff, context)),
        }
    }

    /// The name for display.
    pub(super) fn title(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.name)
    }
}

/// The requirements of a function, if they differ.
fn changed_requirements(stats: ComparedStats<'_>) -> Option<JsonChange> {
    let text = |stats: &FunctionStats| {
        let targets: Vec<String> = stats
            .requires
            .iter()
            .map(|pair| format!("{} from PTX {}", pair.target, pair.ptx))
            .collect();
        targets.join(", ")
    };
    let (left, right) = (text(stats.left?), text(stats.right?));
    (left != right).then(|| JsonChange {
        subject: "requires",
        name: String::new(),
        left: Some(left),
        right: Some(right),
    })
}

/// The metrics that differ. Of a function that only one module has, all metrics that are not 0.
fn compared_metrics(stats: ComparedStats<'_>) -> Vec<Compared> {
    let functions: Vec<&FunctionStats> = stats.left.into_iter().chain(stats.right).collect();
    Metric::of(&functions)
        .into_iter()
        .map(|metric| Compared {
            name: metric.to_string(),
            left: stats.left.and_then(|stats| metric.value(stats)),
            right: stats.right.and_then(|stats| metric.value(stats)),
        })
        .filter(|c| c.left != c.right && (c.left.unwrap_or(0), c.right.unwrap_or(0)) != (0, 0))
        .collect()
}

fn all_hunks(sides: &[Side<'_>; 2], diff: &FunctionDiff, context: usize) -> Vec<Hunk> {
    let [left_side, right_side] = sides;
    let left_body = diff.left.and_then(|id| left_side.module.body(id));
    let right_body = diff.right.and_then(|id| right_side.module.body(id));
    let (Some(left_body), Some(right_body)) = (left_body, right_body) else {
        return Vec::new();
    };
    if diff.lines.is_empty() {
        return Vec::new();
    }
    let names = new_names(sides, [left_body, right_body], diff);
    let left_lines = left_side.source_lines.function(left_body);
    let right_lines = right_side.source_lines.function(right_body);
    let json_line = |line: &Line| JsonLine {
        left: line
            .left()
            .map(|stmt| left_side.site(left_body, &left_lines, stmt)),
        right: line
            .right()
            .map(|stmt| right_side.site(right_body, &right_lines, stmt)),
        shown: match line {
            Line::Added(stmt) => renamed(&right_side.text(right_body, *stmt), &names),
            _ => String::new(),
        },
    };
    hunks(&diff.lines, context)
        .map(|range| Hunk {
            lines: diff.lines[range].iter().map(json_line).collect(),
        })
        .collect()
}
