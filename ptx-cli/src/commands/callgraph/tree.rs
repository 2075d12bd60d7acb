//! The call graph as a tree of text.

use std::collections::HashMap;
use std::io::Write;

use ptx_ir::FunctionKind;

use super::model::{Graph, IndirectCalls, Node};
use ptx_report::demangle::shown;
use ptx_report::{clean, counted};

/// How deep functions are nested; those below are shown separately.
const MAX_DEPTH: usize = 40;

/// A line below a function.
enum Entry<'g> {
    /// A function that is called by name, and how often.
    Call(&'g str, u32),
    Indirect(&'g IndirectCalls<'g>),
    /// A function that an indirect call may call.
    Candidate(&'g str),
    /// That many more.
    More(usize),
}

/// A line that is not yet written.
struct Open<'g> {
    entry: Entry<'g>,
    /// How many functions it is below.
    depth: usize,
    is_last: bool,
    /// The component of the function that it is below.
    component: Option<u32>,
}

struct Writer<'g, 'o> {
    functions: HashMap<&'g str, (usize, &'g Node<'g>)>,
    /// Whether the calls of a function were written.
    written: Vec<bool>,
    out: &'o mut Vec<u8>,
}

/// Writes the tree of a file. Linear in the number of calls.
pub(super) fn write<'g>(graph: &'g Graph<'g>, out: &mut Vec<u8>) {
    let nodes = graph.functions.iter().enumerate();
    let mut writer = Writer {
        functions: nodes.map(|(i, node)| (node.name, (i, node))).collect(),
        written: vec![false; graph.functions.len()],
        out,
    };
    let _ = writeln!(writer.out, "{}:", graph.file);
    let mut called: HashMap<&str, bool> = HashMap::new();
    for node in &graph.functions {
        for callee in &node.calls {
            *called.entry(callee).or_default() |= *callee != node.name;
        }
    }
    let is_kernel = |node: &&Node<'_>| *node.kind == FunctionKind::Entry;
    let defined = || graph.functions.iter().filter(|node| node.defined);
    let kernels = defined().filter(is_kernel);
    let not_called = defined().filter(|node| called.get(node.name) != Some(&true));
    // Functions that call only each other are left.
    for node in kernels.chain(not_called).chain(defined()) {
        writer.root(node);
    }
}

impl<'g> Writer<'g, '_> {
    fn root(&mut self, node: &'g Node<'g>) {
        let Some(&(index, _)) = self.functions.get(node.name) else {
            return;
        };
        if self.written.get(index) != Some(&false) {
            return;
        }
        let kind = if *node.kind == FunctionKind::Entry {
            "kernel"
        } else {
            "function"
        };
        let _ = writeln!(self.out, "{kind} {}{}", shown(node.name), marks(node));
        let mut work = Vec::new();
        self.open(index, node, 0, &mut work);
        // For each depth whether more branches follow.
        let mut more: Vec<bool> = Vec::new();
        while let Some(open) = work.pop() {
            more.truncate(open.depth);
            for &more in &more {
                let _ = write!(self.out, "{}", if more { "│   " } else { "    " });
            }
            more.push(!open.is_last);
            let branch = if open.is_last {
                "└── "
            } else {
                "├── "
            };
            let _ = write!(self.out, "{branch}");
            self.entry(open, &mut work);
        }
    }

    /// Plans the lines below a function.
    fn open(&mut self, index: usize, node: &'g Node<'g>, depth: usize, work: &mut Vec<Open<'g>>) {
        if let Some(written) = self.written.get_mut(index) {
            *written = true;
        }
        let direct = node.direct.iter();
        let direct = direct.map(|(name, count)| Entry::Call(name, *count));
        let indirect = node.indirect_calls.iter().map(Entry::Indirect);
        plan(
            direct.chain(indirect).collect(),
            depth,
            node.component,
            work,
        );
    }

    fn entry(&mut self, open: Open<'g>, work: &mut Vec<Open<'g>>) {
        let (name, count) = match open.entry {
            Entry::Call(name, count) => (name, count),
            Entry::More(count) => {
                let _ = writeln!(self.out, "and {count} more");
                return;
            }
            Entry::Candidate(name) => {
                let _ = writeln!(self.out, "{}", shown(name));
                return;
            }
            Entry::Indirect(calls) => {
                let _ = writeln!(self.out, "{}", explained(calls));
                let candidates = calls.candidates.iter().map(|name| Entry::Candidate(name));
                let hidden = calls.candidate_count - calls.candidates.len();
                let more = (hidden > 0).then_some(Entry::More(hidden));
                plan(candidates.chain(more).collect(), open.depth + 1, None, work);
                return;
            }
        };
        let Some(&(index, node)) = self.functions.get(name) else {
            let _ = writeln!(self.out, "{} (not declared)", shown(name));
            return;
        };
        let written = self.written.get(index) == Some(&true);
        let recursion = written && node.component == open.component;
        let has_calls = !node.calls.is_empty() || node.indirect;
        let open_here = !written && open.depth < MAX_DEPTH;
        let note = match (recursion, !open_here && has_calls) {
            (true, _) => " (recursion)",
            (_, true) => " …",
            _ => "",
        };
        let count = match count {
            1 => String::new(),
            n => format!(" ({n} calls)"),
        };
        let _ = writeln!(self.out, "{}{}{count}{note}", shown(name), marks(node));
        if open_here {
            self.open(index, node, open.depth + 1, work);
        }
    }
}

fn plan<'g>(
    entries: Vec<Entry<'g>>,
    depth: usize,
    component: Option<u32>,
    work: &mut Vec<Open<'g>>,
) {
    let all = entries.into_iter().rev().enumerate();
    work.extend(all.map(|(nth, entry)| Open {
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
fn explained(calls: &IndirectCalls<'_>) -> String {
    let label = calls
        .label
        .map_or(String::new(), |l| format!(" {}", clean(l)));
    let how = match calls.by {
        "list" => format!("through the list{label}"),
        "prototype" => format!("with the prototype{label}"),
        _ => "without a list or a prototype".to_owned(),
    };
    let count = counted(calls.count as usize, "indirect call");
    let first = if calls.count > 1 {
        "first in line"
    } else {
        "line"
    };
    let candidates = counted(calls.candidate_count, "candidate");
    let others = match calls.by {
        "list" => "",
        _ => ", or a function of another module",
    };
    format!(
        "{count} {how}, {first} {}: {candidates}{others}",
        calls.line
    )
}
