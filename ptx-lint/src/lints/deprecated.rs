//! `deprecated`: features that are deprecated in the PTX version of the module.

use alloc::format;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_ir::lex::Lexer;
use ptx_ir::query::{Environment, Queries};
use ptx_ir::{Span, Statement};
use ptx_isa::{Deprecation, Directive, PtxVersion, RuleKind};

use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// Deprecated function directives, with the version that deprecated each and its replacement.
const DIRECTIVES: &[(Directive, &str, &str)] =
    &[(Directive::Maxnctapersm, "2.0", "`.minnctapersm`")];

pub(crate) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    instructions(cx, found);
    directives(cx, found);
}

fn instructions(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    let (module, body) = (cx.module(), cx.body());
    let environment = Environment::of(module);
    // Few forms have such rules.
    let mut queries: Option<Queries<Option<Deprecation>>> = None;
    for (stmt, statement) in body.statements() {
        let Statement::Inst(id) = statement else {
            continue;
        };
        let form = cx.facts().inst(id).form();
        let rules = form.map_or(&[][..], |(form, _)| form.rules());
        let concerns = rules
            .iter()
            .any(|r| matches!(r.kind(), RuleKind::Deprecated(..)));
        let Some(inst) = body.inst(id).filter(|_| concerns) else {
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
        found.push(finding.with_help(format!("use {}", deprecation.instead())));
    }
}

fn directives(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    let module = cx.module();
    let Some(function) = module.functions().get(cx.id()) else {
        return;
    };
    let all = function
        .interface
        .directives
        .of(module.interface_directives());
    let deprecated = |directive| DIRECTIVES.iter().find(|(d, ..)| *d == directive);
    for stmt in all {
        let Some((directive, since, instead)) = deprecated(stmt.directive) else {
            continue;
        };
        let first = PtxVersion::from_text(since.as_bytes());
        if module.header().version < first {
            continue;
        }
        let message = format!("`{}` is deprecated since PTX {since}", directive.text());
        let first = cx.body().statements().next();
        let Some((first, _)) = first else { continue };
        let mut finding = cx.finding(Lint::Deprecated, Certainty::Definite, first, message);
        // A directive that an edit inserted is not in the source.
        if let Some(span) = keyword(cx, *directive) {
            finding.diagnostic.span = span;
        }
        found.push(finding.with_help(format!("use {instead}")));
    }
}

/// The span of a directive in the header of the function.
fn keyword(cx: &FunctionContext<'_>, directive: Directive) -> Option<Span> {
    let spans = cx.module().interface_spans(cx.id())?;
    let start = spans
        .params
        .map_or(spans.name.end, |params| params.list.end);
    let text = Span::new(start, cx.body().base()).of(cx.module().source());
    let mut tokens = Lexer::fragment(text);
    let found = tokens.find(|token| token.span.of(text) == directive.text().as_bytes())?;
    Some(found.span.shifted(start))
}
