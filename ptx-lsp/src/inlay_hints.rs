//! Inlay hints: how many registers are live where most are, where loops begin, and how often they are repeated.

use std::collections::HashMap;

use lsp_types::{InlayHint, InlayHintKind, InlayHintLabel, InlayHintTooltip};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::graph::LoopId;
use ptx_analysis::ssa::Ssa;
use ptx_analysis::values::Values;
use ptx_ir::facts::{FunctionFacts, ModuleFacts};
use ptx_ir::{FuncId, Item, Span};
use ptx_report::affine_text::AffineText;
use ptx_report::counted;
use ptx_report::register_names::RegisterNames;

use crate::document::Document;

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
    let facts = ModuleFacts::of(module, |f| functions.contains(&f));
    let mut found = Vec::new();
    for function in functions {
        if let Some(facts) = facts.function(function) {
            of_function(document, facts, &mut found);
        }
    }
    found.retain(|(offset, _)| wanted.start <= *offset && *offset <= wanted.end);
    found.into_iter().map(|(_, hint)| hint).collect()
}

fn of_function(document: &Document, facts: FunctionFacts<'_>, found: &mut Vec<(u32, InlayHint)>) {
    let body = facts.body();
    let analysis = &FunctionAnalysis::new(facts);
    let mut add = |offset: u32, text: String, tooltip: &str| {
        let hint = InlayHint {
            position: document.position(offset),
            label: InlayHintLabel::String(text),
            kind: None::<InlayHintKind>,
            text_edits: None,
            tooltip: Some(InlayHintTooltip::String(tooltip.to_owned())),
            padding_left: Some(true),
            padding_right: None,
            data: None,
        };
        found.push((offset, hint));
    };
    let pressure = analysis.pressure();
    if pressure.units > 0 {
        let text = format!(
            "at most {} live",
            counted(pressure.units as usize, "register")
        );
        let tooltip = "registers of 32 bits that hold a value at the same time; the allocated ones may differ";
        add(body.base() + 1, text, tooltip);
        if let Some(peak) = pressure.at {
            let text = format!("most live registers: {}", pressure.units);
            add(body.source_span(peak).end, text, tooltip);
        }
    }
    let loops = analysis.loops();
    let counts = trip_counts(document, facts, analysis);
    for (id, block) in analysis.cfg().blocks() {
        let innermost = loops.innermost(id).and_then(|l| loops.get(l));
        if innermost.is_some_and(|l| l.header() == id) {
            let span = body.source_span(block.first);
            let count = loops.innermost(id).and_then(|l| counts.get(&l));
            let count = count.map_or(String::new(), |c| format!(", {c}"));
            let text = format!("loop of depth {}{count}", loops.depth(id));
            add(span.end, text, "control comes back to this statement");
        }
    }
    found.sort_by_key(|(offset, _)| *offset);
}

/// How often loops are repeated, as text.
fn trip_counts(
    document: &Document,
    facts: FunctionFacts<'_>,
    analysis: &FunctionAnalysis,
) -> HashMap<LoopId, String> {
    let (cfg, variables) = (analysis.cfg(), analysis.variables());
    if analysis.loops().is_empty() {
        return HashMap::new();
    }
    let Ok(ssa) = Ssa::new(facts, cfg, analysis.dominators(), variables) else {
        return HashMap::new();
    };
    let values = Values::new(facts, analysis, &ssa);
    let module = document.module();
    let names = RegisterNames::new(module, facts.body(), variables);
    let text = AffineText::new(module, facts.body(), &values, &ssa, &names);
    let count = |id| {
        let count = values.trip_count(id)?;
        let most = if count.is_exact { "" } else { "at most " };
        Some((id, format!("{most}{} iterations", text.trip_count(count))))
    };
    let loops = analysis.loops().iter();
    loops.filter_map(|(id, _)| count(id)).collect()
}
