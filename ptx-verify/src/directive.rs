//! Directives in the header of a function, their versions, and pragmas. Manual 11.2, 11.4, 11.7, 12.

use ptx_ir::{DirectiveStmt, Interface, Operand, OperandPool, Span};
use ptx_isa::Directive;
use smallvec::SmallVec;

use crate::context::Context;
use crate::finding::Repair;
use crate::location::{FunctionSpans, Location, Part, Word};
use crate::problem::Side;
use crate::problem::feature::{Feature, Pragma};
use crate::problem::interface::{InterfaceProblem, Owner};
use crate::problem::module::HeaderProblem;

/// Reports a directive that the version or the target does not have.
pub(crate) fn available(context: &mut Context<'_>, directive: Directive, location: Location) {
    match directive.until() {
        Some(until) if until <= context.version() => {
            let problem = InterfaceProblem::DirectiveRemoved(directive, until);
            context.report(location, problem);
        }
        _ => context.require(location, Feature::Directive(directive)),
    }
}

/// Checks the directives in the header of a function.
pub(crate) fn check(
    context: &mut Context<'_>,
    interface: &Interface,
    owner: Owner,
    spans: &FunctionSpans,
) {
    let module = context.module;
    let directives = interface.directives.of(module.interface_directives());
    if let Some(first) = directives.first()
        && !spans.is_defined
        && (owner == Owner::Kernel
            || matches!(
                first.directive,
                Directive::LocalMaxnreg | Directive::Language
            ))
    {
        let problem = InterfaceProblem::DirectiveOfDefinition(first.directive, owner);
        let location = Location::keyword(spans.header, first.directive.text());
        context
            .report(Location::exact(spans.open), problem)
            .with_label(location, "only on a definition");
        return;
    }
    let keywords = Keywords::new(directives, spans);
    for (index, stmt) in directives.iter().enumerate() {
        let location = keywords.report_location(index);
        available(context, stmt.directive, location);
        let only_in_header = keywords.is_only(stmt.directive).then_some(spans.header);
        check_values(context, stmt, only_in_header, location);
        check_pragma(
            context,
            stmt,
            module.pool(),
            PragmaPlace::Outside,
            spans.header,
        );
        let is_allowed_once = matches!(
            stmt.directive,
            Directive::AbiPreserve | Directive::AbiPreserveControl | Directive::Noreturn
        );
        if is_allowed_once && keywords.is_repeated(index) {
            let problem = InterfaceProblem::DirectiveTwice(stmt.directive);
            context.report(keywords.location(index), problem);
        }
    }
    check_conflicts(context, owner, &keywords);
    let has_results = interface.returns.len > 0;
    if owner == Owner::Function && keywords.contains(Directive::Noreturn) && has_results {
        let open = Location::exact(spans.open);
        context.report(open, InterfaceProblem::NoreturnWithResults);
    }
}

/// The keywords of the directives of a header.
struct Keywords<'a> {
    directives: &'a [DirectiveStmt],
    spans: &'a FunctionSpans,
    /// For each directive, the number of equal directives before it.
    equal_before: SmallVec<[u32; 8]>,
    /// The number of occurrences of each directive.
    counts: SmallVec<[(Directive, u32); 8]>,
}

impl<'a> Keywords<'a> {
    fn new(directives: &'a [DirectiveStmt], spans: &'a FunctionSpans) -> Self {
        let mut counts: SmallVec<[(Directive, u32); 8]> = SmallVec::new();
        let mut equal_before = SmallVec::new();
        for stmt in directives {
            match counts
                .iter_mut()
                .find(|(directive, _)| *directive == stmt.directive)
            {
                Some((_, count)) => {
                    equal_before.push(*count);
                    *count += 1;
                }
                None => {
                    equal_before.push(0);
                    counts.push((stmt.directive, 1));
                }
            }
        }
        Self {
            directives,
            spans,
            equal_before,
            counts,
        }
    }

    fn contains(&self, directive: Directive) -> bool {
        self.counts.iter().any(|(other, _)| *other == directive)
    }

    /// Returns `true` if the header has the directive once.
    fn is_only(&self, directive: Directive) -> bool {
        self.counts.contains(&(directive, 1))
    }

    /// Returns `true` if there is an equal directive before the directive with this index.
    fn is_repeated(&self, index: usize) -> bool {
        self.equal_before.get(index).is_some_and(|count| *count > 0)
    }

    /// Returns the location of the keyword of a directive, or of the `{` after the last one.
    fn location(&self, index: usize) -> Location {
        let (Some(stmt), Some(equal_before)) =
            (self.directives.get(index), self.equal_before.get(index))
        else {
            return Location::exact(self.spans.open);
        };
        let word = Word::Keyword(stmt.directive.text());
        Location::part(self.spans.header, Part::Token(word, *equal_before))
    }

    /// Returns the location of the first keyword of a directive.
    fn first_location(&self, directive: Directive) -> Location {
        Location::keyword(self.spans.header, directive.text())
    }

    /// Returns the location at which ptxas reports a directive: the next word if the directive may have more numbers.
    fn report_location(&self, index: usize) -> Location {
        let may_continue = self.directives.get(index).is_some_and(|stmt| {
            let most_numbers = stmt.directive.integers().map_or(0, |(_, most)| most);
            stmt.args.len() < most_numbers.into()
        });
        self.location(index + usize::from(may_continue))
    }
}

/// Reports directives that cannot be combined.
fn check_conflicts(context: &mut Context<'_>, owner: Owner, keywords: &Keywords<'_>) {
    let directives = keywords.directives;
    let close = Location::exact(keywords.spans.close);
    // ptxas reports a wrong number of threads at the end of the kernel, and clusters at the later directive.
    let threads = (Directive::Maxntid, Directive::Reqntid);
    let clusters = (Directive::Reqnctapercluster, Directive::Maxclusterrank);
    for (first, second) in [threads, clusters] {
        if !keywords.contains(first) || !keywords.contains(second) {
            continue;
        }
        let location = if first == Directive::Maxntid {
            close
        } else {
            let last = directives
                .iter()
                .rposition(|stmt| stmt.directive == first || stmt.directive == second);
            keywords.report_location(last.unwrap_or(0))
        };
        let label = "conflicts with the other directive";
        context
            .report(location, InterfaceProblem::DirectiveConflict(first, second))
            .with_label(keywords.first_location(first), label)
            .with_label(keywords.first_location(second), label);
    }
    let blocks = Directive::Blocksareclusters;
    let has_cluster_shape =
        keywords.contains(Directive::Reqntid) && keywords.contains(Directive::Reqnctapercluster);
    if keywords.contains(blocks) && !has_cluster_shape {
        context
            .report(close, InterfaceProblem::ClusterWithout(blocks))
            .with_label(
                keywords.first_location(blocks),
                "required by this directive",
            );
    }
    let has_thread_count =
        keywords.contains(Directive::Maxntid) || keywords.contains(Directive::Reqntid);
    let residency = Directive::Minnctapersm;
    if owner == Owner::Kernel && keywords.contains(residency) && !has_thread_count {
        let location = keywords.first_location(residency);
        context.report(location, InterfaceProblem::NoThreadCount);
    }
    if let Some(first) = directives.first()
        && first.directive != Directive::Noreturn
        && keywords.contains(Directive::Noreturn)
    {
        let location = keywords.first_location(Directive::Noreturn);
        context.report(location, InterfaceProblem::NoreturnAfter(first.directive));
    }
}

/// Checks the values of one directive. `header` is the span of the header if the directive occurs once in it: only then, a repair is offered.
fn check_values(
    context: &mut Context<'_>,
    stmt: &DirectiveStmt,
    header: Option<Span>,
    location: Location,
) {
    let directive = stmt.directive;
    let first_value_repair = |value: u8| {
        let location = Location::part(header?, Part::After(directive.text()));
        let note = format!("for example {value}");
        Some(Repair::new(location, Side::Whole, format!("{value}"), note))
    };
    let is_positive = matches!(
        directive,
        Directive::Maxntid
            | Directive::Reqntid
            | Directive::Maxnreg
            | Directive::LocalMaxnreg
            | Directive::Minnctapersm
    );
    let pool = context.module.pool();
    let values = pool
        .slice(stmt.args)
        .iter()
        .filter_map(|operand| pool.integer(*operand));
    if let Some(value) = values.clone().find(|v| u32::try_from(*v).is_err()) {
        context.report(location, InterfaceProblem::DirectiveBits(directive, value));
        return;
    }
    if let Some(most) = directive.greatest()
        && let Some(value) = values.clone().find(|v| *v > most.into())
    {
        let problem = InterfaceProblem::DirectiveGreatest(directive, most, value);
        context.report(location, problem).repair =
            first_value_repair(most).filter(|_| values.clone().next() == Some(value));
    }
    for operand in pool.slice(stmt.args) {
        let Operand::Str(id) = *operand else { continue };
        let text = context.module.name(id).trim_matches('"');
        let allowed = directive.texts();
        let is_allowed = allowed.iter().any(|name| name.eq_ignore_ascii_case(text));
        if !allowed.is_empty() && !is_allowed {
            let problem = InterfaceProblem::DirectiveText(directive, id, allowed);
            context.report(location, problem);
        }
    }
    if is_positive && let Some(value) = values.clone().find(|v| *v <= 0) {
        let finding = context.report(
            location,
            InterfaceProblem::DirectivePositive(directive, value),
        );
        finding.repair = first_value_repair(1).filter(|_| values.clone().next() == Some(value));
    }
}

/// The place of a pragma.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum PragmaPlace {
    /// The module, or the header of a function.
    Outside,
    /// The body of a function.
    Body,
}

/// Checks a directive if it is a `.pragma`.
pub(crate) fn check_pragma(
    context: &mut Context<'_>,
    stmt: &DirectiveStmt,
    pool: &OperandPool,
    place: PragmaPlace,
    span: Span,
) {
    if stmt.directive != Directive::Pragma {
        return;
    }
    for operand in pool.slice(stmt.args) {
        let Operand::Str(id) = *operand else { continue };
        let text = context.module.name(id).trim_matches('"');
        let location = Location::name(span, id);
        match Pragma::parse(text) {
            Some((pragma, _)) if pragma.is_for_bodies() && place == PragmaPlace::Outside => {
                context.report(location, HeaderProblem::PragmaPlace(pragma));
            }
            Some((Pragma::Frequency, value)) if !is_frequency(value) => {
                context.report(location, HeaderProblem::PragmaFrequency);
            }
            Some((pragma, _)) => context.require(location, Feature::Pragma(pragma)),
            None => {
                context.report(location, HeaderProblem::UnknownPragma(id));
            }
        }
    }
}

/// Returns `true` if a text is a positive integer, decimal or hexadecimal.
fn is_frequency(text: &str) -> bool {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.is_ok_and(|n| n > 0)
}
