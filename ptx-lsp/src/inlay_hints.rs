//! Inlay hints: how many registers are live where most are, where loops begin, how often they are repeated, where the lanes of a warp take
//! different branches, and which accesses to memory cost more than others.

use lsp_types::{InlayHint, InlayHintKind, InlayHintLabel, InlayHintTooltip};
use ptx_analysis::calls::CallGraph;
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::graph::LoopId;
use ptx_analysis::incremental::Budget;
use ptx_analysis::uniformity::{FunctionUniformity, IncrementalUniformity, Uniformity};
use ptx_ir::facts::{FunctionFacts, ModuleFacts};
use ptx_ir::{FuncId, Item, Span};
use ptx_report::counted;
use ptx_report::function_values::FunctionValues;
use ptx_report::register_names::RegisterNames;

use crate::accesses;
use crate::document::Document;
use crate::register_value::MOST_BYTES;

/// The hints in a part of a document.
pub(crate) fn hints(document: &Document, wanted: Span) -> Vec<InlayHint> {
    let module = document.module();
    let items = module.items().filter(|(id, _)| {
        let span = module.span(*id);
        span.start < wanted.end && wanted.start < span.end
    });
    let functions: Vec<FuncId> = items
        .filter_map(|(_, item)| match item {
            Item::Function(f) => module.body(f).map(|_| f),
            _ => None,
        })
        .collect();
    if functions.is_empty() {
        return Vec::new();
    }
    let whole = module.source().len() <= MOST_BYTES;
    let facts = ModuleFacts::of(module, |f| whole || functions.contains(&f));
    let calls = CallGraph::new(&facts);
    let uniformity = whole.then(|| what_functions_give(&facts, &calls));
    let mut hints = Hints {
        document,
        found: Vec::new(),
    };
    for function in functions {
        if let Some(of) = facts.function(function) {
            let uniformity = uniformity.as_ref();
            let uniformity = uniformity.and_then(|u| u.function(&facts, &calls, function));
            hints.of_function(of, uniformity.as_ref());
        }
    }
    let mut found = hints.found;
    found.retain(|(offset, _)| wanted.start <= *offset && *offset <= wanted.end);
    found.sort_by_key(|(offset, _)| *offset);
    found.into_iter().map(|(_, hint)| hint).collect()
}

/// The uniformity of the arguments and results of all functions, from which that of a single function follows.
fn what_functions_give(facts: &ModuleFacts<'_>, calls: &CallGraph) -> IncrementalUniformity {
    let mut uniformity = IncrementalUniformity::new();
    uniformity.enter_all(facts);
    uniformity.update(facts, calls, &mut Budget::unlimited());
    uniformity
}

/// Hints with their offsets.
struct Hints<'d> {
    document: &'d Document,
    found: Vec<(u32, InlayHint)>,
}

impl Hints<'_> {
    fn add(&mut self, offset: u32, text: String, tooltip: &str) {
        let hint = InlayHint {
            position: self.document.position(offset),
            label: InlayHintLabel::String(text),
            kind: None::<InlayHintKind>,
            text_edits: None,
            tooltip: Some(InlayHintTooltip::String(tooltip.to_owned())),
            padding_left: Some(true),
            padding_right: None,
            data: None,
        };
        self.found.push((offset, hint));
    }

    fn of_function(&mut self, facts: FunctionFacts<'_>, uniformity: Option<&FunctionUniformity>) {
        let analysis = &FunctionAnalysis::new(facts);
        let values = FunctionValues::new(facts, analysis);
        self.pressure(facts, analysis);
        self.loops(facts, analysis, values.as_ref());
        if let Some(uniformity) = uniformity {
            self.branches(facts, analysis, uniformity);
        }
        if let Some(values) = &values {
            self.accesses(facts, values);
        }
    }

    fn pressure(&mut self, facts: FunctionFacts<'_>, analysis: &FunctionAnalysis) {
        let pressure = analysis.pressure();
        if pressure.units == 0 {
            return;
        }
        let count = counted(pressure.units as usize, "register");
        let tooltip =
            "the number of live 32-bit registers; the number that is allocated may differ";
        let start = facts.body().base() + 1;
        self.add(start, format!("at most {count} live"), tooltip);
        if let Some(peak) = pressure.at {
            let text = format!("most live registers: {}", pressure.units);
            self.add(facts.body().source_span(peak).end, text, tooltip);
        }
    }

    fn loops(
        &mut self,
        facts: FunctionFacts<'_>,
        analysis: &FunctionAnalysis,
        values: Option<&FunctionValues>,
    ) {
        let (module, body) = (self.document.module(), facts.body());
        let loops = analysis.loops();
        if loops.is_empty() {
            return;
        }
        let names = RegisterNames::new(module, body, analysis.variables());
        let count = |id: LoopId| {
            let values = values?;
            let count = values.trip_count(id, &values.text(facts, &names))?;
            let most = if count.exact { "" } else { "at most " };
            Some(format!(", {most}{} iterations", count.form))
        };
        for (id, block) in analysis.cfg().blocks() {
            let innermost = loops.innermost(id);
            let header = innermost.and_then(|l| loops.get(l)).map(|l| l.header());
            if header == Some(id) {
                let span = body.source_span(block.first);
                let count = innermost.and_then(count).unwrap_or_default();
                let text = format!("loop of depth {}{count}", loops.depth(id));
                self.add(span.end, text, "the header of a loop");
            }
        }
    }

    /// Branches where the lanes of a warp may separate.
    fn branches(
        &mut self,
        facts: FunctionFacts<'_>,
        analysis: &FunctionAnalysis,
        uniformity: &FunctionUniformity,
    ) {
        let cfg = analysis.cfg();
        for (id, block) in cfg.blocks() {
            let is_divergent = cfg.successors(id).len() > 1
                && analysis.is_reachable(id)
                && uniformity.branch(id) == Uniformity::Varying;
            let mut statements = facts.body().range(block.first, block.end);
            if is_divergent && let Some((last, _)) = statements.next_back() {
                let end = facts.body().source_span(last).end;
                let tooltip = "the branch may be divergent";
                self.add(end, "may diverge".to_owned(), tooltip);
            }
        }
    }

    fn accesses(&mut self, facts: FunctionFacts<'_>, values: &FunctionValues) {
        for access in values.accesses().all() {
            if let Some(text) = accesses::cost(access) {
                let end = facts.body().source_span(access.stmt).end;
                let tooltip = "the cost of this access for a warp with 32 active threads";
                self.add(end, text, tooltip);
            }
        }
    }
}
