//! `deprecated`: features that are deprecated in the PTX version of the module.

use alloc::format;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_ir::lex::Lexer;
use ptx_ir::raw::query::{Environment, Queries};
use ptx_ir::{Span, Statement};
use ptx_isa::internals::{Deprecation, RuleKind};
use ptx_isa::{Directive, PtxVersion};

use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// Deprecated function directives, with the version that deprecated each and its replacement.
const DIRECTIVES: &[(Directive, &str, &str)] =
    &[(Directive::Maxnctapersm, "2.0", "`.minnctapersm`")];

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    check_instructions(cx, findings);
    check_directives(cx, findings);
}

fn check_instructions(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    let (module, body) = (cx.module(), cx.body());
    let environment = Environment::of(module);
    // Few forms have such rules.
    let mut queries: Option<Queries<Option<Deprecation>>> = None;
    for (stmt, statement) in body.statements() {
        let Statement::Inst(id) = statement else {
            continue;
        };
        let may_be_deprecated = cx.facts().inst(id).form().is_some_and(|(form, _)| {
            let mut rules = form.rules().iter();
            rules.any(|rule| matches!(rule.kind(), RuleKind::Deprecated(..)))
        });
        let Some(inst) = body.inst(id).filter(|_| may_be_deprecated) else {
            continue;
        };
        let queries = queries.get_or_insert_with(|| {
            let mut queries = Queries::new(module);
            queries.enter(module, cx.id(), body);
            queries
        });
        let answer = queries.answer(module, body, inst.sig, body.operands(id), |query| {
            let form = environment.select(query).ok()?;
            environment.deprecations(&form).next()
        });
        let Some(deprecation) = answer.flatten() else {
            continue;
        };
        let mnemonic = cx.mnemonic(id);
        let message = format!(
            "`{mnemonic}` is deprecated since PTX {}",
            deprecation.since()
        );
        let finding = cx.finding(Lint::Deprecated, Certainty::Definite, stmt, message);
        findings.push(finding.with_help(format!("use {}", deprecation.instead())));
    }
}

fn check_directives(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    let module = cx.module();
    let Some(function) = module.functions().get(cx.id()) else {
        return;
    };
    let Some((first, _)) = cx.body().statements().next() else {
        return;
    };
    let directives = function
        .interface
        .directives
        .of(module.interface_directives());
    for stmt in directives {
        let deprecated = DIRECTIVES
            .iter()
            .find(|(directive, ..)| *directive == stmt.directive);
        let Some((directive, since, replacement)) = deprecated else {
            continue;
        };
        if module.header().version < PtxVersion::from_text(since.as_bytes()) {
            continue;
        }
        let message = format!("`{}` is deprecated since PTX {since}", directive.text());
        let mut finding = cx.finding(Lint::Deprecated, Certainty::Definite, first, message);
        // A directive that an edit inserted is not in the source.
        if let Some(span) = keyword_span(cx, *directive) {
            finding.diagnostic.span = span;
        }
        findings.push(finding.with_help(format!("use {replacement}")));
    }
}

/// Returns the span of a directive in the header of the function.
fn keyword_span(cx: &FunctionContext<'_>, directive: Directive) -> Option<Span> {
    let spans = cx.module().interface_spans(cx.id())?;
    let start = spans
        .params
        .map_or(spans.name.end, |params| params.list.end);
    let text = Span::new(start, cx.body().base()).of(cx.module().source());
    let token =
        Lexer::fragment(text).find(|token| token.span.of(text) == directive.text().as_bytes())?;
    Some(token.span.shifted(start))
}
