//! Inlay hints: register pressure, loops with their iterations, divergent branches, and costly memory accesses.

use lsp_types::{InlayHint, InlayHintKind, InlayHintLabel, InlayHintTooltip};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::graph::LoopId;
use ptx_analysis::incremental::EvaluationLimit;
use ptx_analysis::internals::IncrementalUniformity;
use ptx_analysis::module_analysis::ModuleAnalysis;
use ptx_analysis::uniformity::{FunctionUniformity, Uniformity};
use ptx_ir::facts::{FunctionFacts, ModuleFacts};
use ptx_ir::{FuncId, Item, Span};
use ptx_report::counted;
use ptx_report::function_values::FunctionValues;
use ptx_report::register_names::RegisterNames;

use crate::analysis_text::{self, MAX_WHOLE_MODULE};
use crate::document::Document;

/// The hints in a range.
pub(crate) fn hints(document: &Document, range: Span) -> Vec<InlayHint> {
    let module = document.module();
    let mut functions: Vec<FuncId> = Vec::new();
    for (id, item) in module.items() {
        let span = module.span(id);
        if let Item::Function(function) = item
            && module.body(function).is_some()
            && span.start < range.end
            && range.start < span.end
        {
            functions.push(function);
        }
    }
    if functions.is_empty() {
        return Vec::new();
    }
    let is_whole_module = module.source().len() <= MAX_WHOLE_MODULE;
    let facts = ModuleFacts::of(module, |f| is_whole_module || functions.contains(&f));
    let analyses = ModuleAnalysis::new(&facts);
    let uniformity = is_whole_module.then(|| interprocedural_uniformity(&analyses));
    let mut hints = Hints {
        document,
        hints: Vec::new(),
    };
    for function in functions {
        if let Some(analysis) = analyses.function(function) {
            let function_uniformity = uniformity
                .as_ref()
                .map(|uniformity| uniformity.evaluate(&analysis, analyses.calls()));
            hints.add_function(&analysis, function_uniformity.as_ref());
        }
    }
    let mut hints = hints.hints;
    hints.retain(|(offset, _)| range.start <= *offset && *offset <= range.end);
    hints.sort_by_key(|(offset, _)| *offset);
    hints.into_iter().map(|(_, hint)| hint).collect()
}

/// The uniformity of the arguments and results of all functions, from which the uniformity in a function is computed.
fn interprocedural_uniformity(module: &ModuleAnalysis<'_>) -> IncrementalUniformity {
    let mut uniformity = IncrementalUniformity::new();
    uniformity.enter_all(module);
    uniformity.update(module, &mut EvaluationLimit::unlimited());
    uniformity
}

/// The hints of some functions.
struct Hints<'d> {
    document: &'d Document,
    /// Each hint with its offset.
    hints: Vec<(u32, InlayHint)>,
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
        self.hints.push((offset, hint));
    }

    fn add_function(
        &mut self,
        analysis: &FunctionAnalysis<'_>,
        uniformity: Option<&FunctionUniformity>,
    ) {
        let values = FunctionValues::new(analysis);
        let facts = analysis.facts();
        self.add_pressure(facts, analysis);
        self.add_loops(facts, analysis, values);
        if let Some(uniformity) = uniformity {
            self.add_divergent_branches(facts, analysis, uniformity);
        }
        if let Some(values) = values {
            self.add_costly_accesses(facts, values);
        }
    }

    /// Adds the register pressure at the beginning of the body, and marks the statement with the highest pressure.
    fn add_pressure(&mut self, facts: FunctionFacts<'_>, analysis: &FunctionAnalysis<'_>) {
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

    /// Adds the depth and the number of iterations to the headers of loops.
    fn add_loops(
        &mut self,
        facts: FunctionFacts<'_>,
        analysis: &FunctionAnalysis<'_>,
        values: Option<FunctionValues<'_>>,
    ) {
        let (module, body) = (self.document.module(), facts.body());
        let loops = analysis.loops();
        if loops.is_empty() {
            return;
        }
        let names = RegisterNames::new(module, body, analysis.variables());
        for (id, block) in analysis.cfg().blocks() {
            let Some(innermost) = loops.innermost(id) else {
                continue;
            };
            if loops.get(innermost).is_some_and(|l| l.header() == id) {
                let iterations = values
                    .and_then(|values| iterations(innermost, values, &names))
                    .unwrap_or_default();
                let text = format!("loop of depth {}{iterations}", loops.depth(id));
                let end = body.source_span(block.first).end;
                self.add(end, text, "the header of a loop");
            }
        }
    }

    /// Marks branches at which the threads of a warp may diverge.
    fn add_divergent_branches(
        &mut self,
        facts: FunctionFacts<'_>,
        analysis: &FunctionAnalysis<'_>,
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

    /// Adds the cost of accesses that cost more than consecutive ones.
    fn add_costly_accesses(&mut self, facts: FunctionFacts<'_>, values: FunctionValues<'_>) {
        for access in values.accesses().all() {
            if let Some(text) = analysis_text::extra_cost(access) {
                let end = facts.body().source_span(access.stmt).end;
                let tooltip = "the cost of this access for a warp with 32 active threads";
                self.add(end, text, tooltip);
            }
        }
    }
}

/// Describes the number of iterations of a loop; `None` if it is unknown.
fn iterations(id: LoopId, values: FunctionValues<'_>, names: &RegisterNames) -> Option<String> {
    let count = values.trip_count(id, &values.text(names))?;
    let bound = if count.exact { "" } else { "at most " };
    Some(format!(", {bound}{} iterations", count.form))
}
