//! Directives in the header of a function, and their versions. Manual 11.2, 11.4, 11.7.

use ptx_ir::{DirectiveStmt, Interface, Operand, Span};
use ptx_isa::Directive;
use smallvec::SmallVec;

use crate::context::Context;
use crate::finding::Repair;
use crate::header_ends::Ends;
use crate::location::{Location, Part, Word};
use crate::pragma;
use crate::problem::Side;
use crate::problem::feature::Feature;
use crate::problem::interface::{InterfaceProblem, Owner};

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
pub(crate) fn check(context: &mut Context<'_>, interface: &Interface, owner: Owner, ends: &Ends) {
    let module = context.module;
    let all = interface.directives.of(module.interface_directives());
    let of_definition = |d: &&DirectiveStmt| {
        let directive = owner == Owner::Kernel
            || matches!(d.directive, Directive::LocalMaxnreg | Directive::Language);
        directive && !ends.defined
    };
    if let Some(first) = all.first().filter(of_definition) {
        let problem = InterfaceProblem::DirectiveOfDefinition(first.directive, owner);
        let location = Location::keyword(ends.header, first.directive.text());
        context
            .report(Location::exact(ends.open), problem)
            .with_label(location, "only on a definition");
        return;
    }
    let keywords = Keywords::new(all, ends);
    for (index, stmt) in all.iter().enumerate() {
        let location = keywords.after(index);
        available(context, stmt.directive, location);
        let only = keywords.is_only(stmt.directive).then_some(ends.header);
        value(context, stmt, only, location);
        pragma::check(
            context,
            stmt,
            module.pool(),
            pragma::Place::Outside,
            ends.header,
        );
        let once = matches!(
            stmt.directive,
            Directive::AbiPreserve | Directive::AbiPreserveControl | Directive::Noreturn
        );
        if once && keywords.is_repeated(index) {
            let problem = InterfaceProblem::DirectiveTwice(stmt.directive);
            context.report(keywords.at(index), problem);
        }
    }
    conflicts(context, owner, interface.returns.len > 0, &keywords, ends);
}

/// The keywords of the directives of a header.
struct Keywords<'a> {
    all: &'a [DirectiveStmt],
    ends: &'a Ends,
    /// The number of equal directives before each one.
    before: SmallVec<[u32; 8]>,
    /// The number of occurrences of each directive.
    counts: SmallVec<[(Directive, u32); 8]>,
}

impl<'a> Keywords<'a> {
    fn new(all: &'a [DirectiveStmt], ends: &'a Ends) -> Self {
        let mut counts: SmallVec<[(Directive, u32); 8]> = SmallVec::new();
        let mut count = |stmt: &DirectiveStmt| {
            let known = counts.iter_mut().find(|(d, _)| *d == stmt.directive);
            let Some((_, count)) = known else {
                counts.push((stmt.directive, 1));
                return 0;
            };
            *count += 1;
            *count - 1
        };
        Self {
            all,
            ends,
            before: all.iter().map(&mut count).collect(),
            counts,
        }
    }

    fn is_only(&self, directive: Directive) -> bool {
        self.counts.contains(&(directive, 1))
    }

    /// Whether an equal directive is before one.
    fn is_repeated(&self, index: usize) -> bool {
        self.before.get(index).is_some_and(|n| *n > 0)
    }

    /// The keyword of a directive; the `{` where there is none.
    fn at(&self, index: usize) -> Location {
        let (Some(stmt), Some(nth)) = (self.all.get(index), self.before.get(index)) else {
            return Location::exact(self.ends.open);
        };
        let word = Word::Keyword(stmt.directive.text());
        Location::part(self.ends.header, Part::Token(word, *nth))
    }

    /// The location at which ptxas reports a directive: the next word if the directive may have more numbers.
    fn after(&self, index: usize) -> Location {
        let open = |s: &DirectiveStmt| {
            let most = s.directive.integers().map_or(0, |(_, most)| most);
            s.args.len() < most.into()
        };
        self.at(index + usize::from(self.all.get(index).is_some_and(open)))
    }
}

/// Checks which directives are written together.
fn conflicts(
    context: &mut Context<'_>,
    owner: Owner,
    results: bool,
    keywords: &Keywords<'_>,
    ends: &Ends,
) {
    let all = keywords.all;
    let has = |d: Directive| all.iter().any(|s| s.directive == d);
    let at = |d: Directive| Location::keyword(ends.header, d.text());
    let close = Location::exact(ends.close);
    // ptxas reports a wrong number of threads at the end of the kernel, and clusters at the later directive.
    let threads = (Directive::Maxntid, Directive::Reqntid);
    let clusters = (Directive::Reqnctapercluster, Directive::Maxclusterrank);
    for (first, second) in [threads, clusters] {
        if !has(first) || !has(second) {
            continue;
        }
        let of_both = |s: &DirectiveStmt| [first, second].contains(&s.directive);
        let later = all.iter().rposition(of_both).unwrap_or(0);
        let place = match first {
            Directive::Maxntid => close,
            _ => keywords.after(later),
        };
        context
            .report(place, InterfaceProblem::DirectiveConflict(first, second))
            .with_label(at(first), "conflicts with the other directive")
            .with_label(at(second), "conflicts with the other directive");
    }
    let blocks = Directive::Blocksareclusters;
    if has(blocks) && !(has(Directive::Reqntid) && has(Directive::Reqnctapercluster)) {
        context
            .report(close, InterfaceProblem::ClusterWithout(blocks))
            .with_label(at(blocks), "required by this directive");
    }
    let limited = has(Directive::Maxntid) || has(Directive::Reqntid);
    if owner == Owner::Kernel && has(Directive::Minnctapersm) && !limited {
        context.report(at(Directive::Minnctapersm), InterfaceProblem::NoThreadCount);
    }
    let first = all.first().map(|s| s.directive);
    if let Some(first) = first.filter(|d| *d != Directive::Noreturn && has(Directive::Noreturn)) {
        context.report(
            at(Directive::Noreturn),
            InterfaceProblem::NoreturnAfter(first),
        );
    }
    if owner == Owner::Function && has(Directive::Noreturn) && results {
        let open = Location::exact(ends.open);
        context.report(open, InterfaceProblem::NoreturnWithResults);
    }
}

/// Checks the values of one directive.
fn value(
    context: &mut Context<'_>,
    stmt: &DirectiveStmt,
    header: Option<Span>,
    location: Location,
) {
    let directive = stmt.directive;
    // The first value, if the header has the directive once.
    let instead = |value: u8| {
        let place = Location::part(header?, Part::After(directive.text()));
        let note = format!("for example {value}");
        Some(Repair::new(place, Side::Whole, format!("{value}"), note))
    };
    let positive = matches!(
        directive,
        Directive::Maxntid
            | Directive::Reqntid
            | Directive::Maxnreg
            | Directive::LocalMaxnreg
            | Directive::Minnctapersm
    );
    let pool = context.module.pool();
    let values = pool.slice(stmt.args).iter();
    let values = values.filter_map(|a| pool.integer(*a));
    if let Some(value) = values.clone().find(|v| u32::try_from(*v).is_err()) {
        context.report(location, InterfaceProblem::DirectiveBits(directive, value));
        return;
    }
    if let Some(most) = directive.greatest()
        && let Some(value) = values.clone().find(|v| *v > most.into())
    {
        let problem = InterfaceProblem::DirectiveGreatest(directive, most, value);
        let finding = context.report(location, problem);
        finding.repair = instead(most).filter(|_| values.clone().next() == Some(value));
    }
    for operand in pool.slice(stmt.args) {
        let Operand::Str(id) = *operand else { continue };
        let text = context.module.name(id).trim_matches('"');
        let is_it = |t: &&str| t.eq_ignore_ascii_case(text);
        let known = directive.texts();
        if !known.is_empty() && !known.iter().any(is_it) {
            let problem = InterfaceProblem::DirectiveText(directive, id, known);
            context.report(location, problem);
        }
    }
    if positive && let Some(value) = values.clone().find(|v| *v <= 0) {
        let finding = context.report(
            location,
            InterfaceProblem::DirectivePositive(directive, value),
        );
        finding.repair = instead(1).filter(|_| values.clone().next() == Some(value));
    }
}
