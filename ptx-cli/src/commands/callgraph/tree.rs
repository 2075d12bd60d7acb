//! The call graph as a tree of text.

use std::collections::HashMap;
use std::io::Write;

use ptx_ir::FunctionKind;

use super::model::{Graph, IndirectCalls, Node};
use ptx_report::demangle::display_name;
use ptx_report::{clean, counted};

/// The largest depth at which the calls of a function are shown. Deeper functions are shown separately.
const MAX_DEPTH: usize = 40;

/// A line below a function.
enum Entry<'g> {
    /// A function that is called by name, and the number of calls.
    Call(&'g str, u32),
    Indirect(&'g IndirectCalls<'g>),
    /// A function that an indirect call may call.
    Candidate(&'g str),
    /// The number of candidates that are not listed.
    More(usize),
}

/// A line that is not written yet.
struct PendingLine<'g> {
    entry: Entry<'g>,
    /// The number of functions above the line, without the root.
    depth: usize,
    is_last: bool,
    /// The component of the function above the line.
    component: Option<u32>,
}

struct Writer<'g, 'o> {
    functions: HashMap<&'g str, (usize, &'g Node<'g>)>,
    /// For each function, whether its calls are written.
    is_written: Vec<bool>,
    out: &'o mut Vec<u8>,
}

/// Writes the tree of a file. Linear in the number of calls.
pub(super) fn write<'g>(graph: &'g Graph<'g>, out: &mut Vec<u8>) {
    let nodes = graph.functions.iter().enumerate();
    let mut writer = Writer {
        functions: nodes.map(|(i, node)| (node.name, (i, node))).collect(),
        is_written: vec![false; graph.functions.len()],
        out,
    };
    let _ = writeln!(writer.out, "{}:", graph.file);
    // The functions that are called, with whether a function other than themselves calls them.
    let mut called: HashMap<&str, bool> = HashMap::new();
    for node in &graph.functions {
        for callee in &node.calls {
            *called.entry(callee).or_default() |= *callee != node.name;
        }
    }
    let defined = || graph.functions.iter().filter(|node| node.defined);
    let kernels = defined().filter(|node| *node.kind == FunctionKind::Entry);
    let uncalled = defined().filter(|node| called.get(node.name) != Some(&true));
    // The last part contains functions that call only each other.
    for node in kernels.chain(uncalled).chain(defined()) {
        writer.root(node);
    }
}

impl<'g> Writer<'g, '_> {
    fn root(&mut self, node: &'g Node<'g>) {
        let Some(&(index, _)) = self.functions.get(node.name) else {
            return;
        };
        if self.is_written.get(index) != Some(&false) {
            return;
        }
        let kind = if *node.kind == FunctionKind::Entry {
            "kernel"
        } else {
            "function"
        };
        let _ = writeln!(
            self.out,
            "{kind} {}{}",
            display_name(node.name),
            marks(node)
        );
        let mut pending = Vec::new();
        self.push_calls(index, node, 0, &mut pending);
        // For each depth, whether more branches follow.
        let mut has_more: Vec<bool> = Vec::new();
        while let Some(line) = pending.pop() {
            has_more.truncate(line.depth);
            for &has_more in &has_more {
                let _ = write!(self.out, "{}", if has_more { "│   " } else { "    " });
            }
            has_more.push(!line.is_last);
            let branch = if line.is_last {
                "└── "
            } else {
                "├── "
            };
            let _ = write!(self.out, "{branch}");
            self.entry(line, &mut pending);
        }
    }

    /// Adds the lines below a function.
    fn push_calls(
        &mut self,
        index: usize,
        node: &'g Node<'g>,
        depth: usize,
        pending: &mut Vec<PendingLine<'g>>,
    ) {
        if let Some(is_written) = self.is_written.get_mut(index) {
            *is_written = true;
        }
        let direct = node
            .direct
            .iter()
            .map(|(name, count)| Entry::Call(name, *count));
        let indirect = node.indirect_calls.iter().map(Entry::Indirect);
        let entries = direct.chain(indirect).collect();
        push_lines(entries, depth, node.component, pending);
    }

    /// Writes a line, and adds the lines below it.
    fn entry(&mut self, line: PendingLine<'g>, pending: &mut Vec<PendingLine<'g>>) {
        let (name, count) = match line.entry {
            Entry::Call(name, count) => (name, count),
            Entry::More(count) => {
                let _ = writeln!(self.out, "and {count} more");
                return;
            }
            Entry::Candidate(name) => {
                let _ = writeln!(self.out, "{}", display_name(name));
                return;
            }
            Entry::Indirect(calls) => {
                let _ = writeln!(self.out, "{}", description(calls));
                let mut entries: Vec<Entry<'_>> = calls
                    .candidates
                    .iter()
                    .map(|name| Entry::Candidate(name))
                    .collect();
                let hidden = calls.candidate_count - calls.candidates.len();
                if hidden > 0 {
                    entries.push(Entry::More(hidden));
                }
                push_lines(entries, line.depth + 1, None, pending);
                return;
            }
        };
        let Some(&(index, node)) = self.functions.get(name) else {
            let _ = writeln!(self.out, "{} (not declared)", display_name(name));
            return;
        };
        let is_written = self.is_written.get(index) == Some(&true);
        let is_recursive = is_written && node.component == line.component;
        let has_calls = !node.calls.is_empty() || node.indirect;
        let is_expanded = !is_written && line.depth < MAX_DEPTH;
        let note = match (is_recursive, !is_expanded && has_calls) {
            (true, _) => " (recursion)",
            (_, true) => " …",
            _ => "",
        };
        let count = match count {
            1 => String::new(),
            n => format!(" ({n} calls)"),
        };
        let _ = writeln!(
            self.out,
            "{}{}{count}{note}",
            display_name(name),
            marks(node)
        );
        if is_expanded {
            self.push_calls(index, node, line.depth + 1, pending);
        }
    }
}

/// Adds lines in reverse order, so that the first one is taken first.
fn push_lines<'g>(
    entries: Vec<Entry<'g>>,
    depth: usize,
    component: Option<u32>,
    pending: &mut Vec<PendingLine<'g>>,
) {
    let reversed = entries.into_iter().rev().enumerate();
    pending.extend(reversed.map(|(nth, entry)| PendingLine {
        entry,
        depth,
        is_last: nth == 0,
        component,
    }));
}

fn marks(node: &Node<'_>) -> String {
    let mut text = String::new();
    if !node.defined {
        text.push_str(" (external)");
    }
    if node.address_taken {
        text.push_str(" (address taken)");
    }
    text
}

/// `2 indirect calls with the prototype P, first in line 12: 1 candidate, or a function of another module`
fn description(calls: &IndirectCalls<'_>) -> String {
    let label = match calls.label {
        Some(label) => format!(" {}", clean(label)),
        None => String::new(),
    };
    let mechanism = match calls.by {
        "list" => format!("through the list{label}"),
        "prototype" => format!("with the prototype{label}"),
        _ => "without a list or a prototype".to_owned(),
    };
    let count = counted(calls.count as usize, "indirect call");
    let line = if calls.count > 1 {
        "first in line"
    } else {
        "line"
    };
    let candidates = counted(calls.candidate_count, "candidate");
    let other_modules = match calls.by {
        "list" => "",
        _ => ", or a function of another module",
    };
    format!(
        "{count} {mechanism}, {line} {}: {candidates}{other_modules}",
        calls.line
    )
}
