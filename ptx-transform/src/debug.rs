//! Selection of the debug information that can stay when functions and variables are removed.

use alloc::vec::Vec;

use ptx_analysis::internals::{DebugName, Loc};
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::raw::EntitySet;
use ptx_ir::{
    Body, DirectiveStmt, Module, NameId, Operand, OperandPool, Section, SectionEntry, SectionId,
    Span,
};
use ptx_isa::{Directive, TargetOption};

/// The names that a section refers to: labels, names of the module, other sections.
pub(crate) fn mentions(pool: &OperandPool, section: &Section) -> Vec<NameId> {
    let base_name = |operand| DebugName::read(pool, operand).map(|name| name.base);
    let mut names = Vec::new();
    for entry in &section.entries {
        let SectionEntry::Other { value, .. } = entry else {
            continue;
        };
        // A value is a name, or the difference of two names; expressions are not nested any deeper.
        match pool.get(*value) {
            Operand::Difference(pair) => {
                let (minuend, subtrahend) = pool.pair(pair);
                names.extend(base_name(minuend).into_iter().chain(base_name(subtrahend)));
            }
            operand => names.extend(base_name(operand)),
        }
    }
    names
}

/// The `.loc` and `.loc_intermediate` directives of a body.
pub(crate) fn locations(body: &Body) -> impl Iterator<Item = &DirectiveStmt> {
    body.directives()
        .values()
        .filter(|directive| directive.directive.is_debug())
}

/// The function that the code of a `.loc` was inlined from.
pub(crate) fn inlined(body: &Body, place: &DirectiveStmt) -> Option<NameId> {
    let (name, _) = Loc::read(body.pool(), place)?.inlined?;
    Some(name.base)
}

/// The files of a `.loc` or `.loc_intermediate` directive: that of its position, and that of the call that was inlined.
pub(crate) fn files(body: &Body, place: &DirectiveStmt) -> impl Iterator<Item = i64> + use<> {
    let loc = Loc::read(body.pool(), place);
    let call = loc.and_then(|loc| loc.inlined);
    loc.map(|loc| loc.position.file)
        .into_iter()
        .chain(call.map(|(_, position)| position.file))
}

/// The files whose sources the module contains.
pub(crate) fn embedded(module: &Module) -> impl Iterator<Item = i64> + '_ {
    module
        .directives()
        .values()
        .filter(|d| d.directive == Directive::NvIntermediateSourceSection)
        .flat_map(|d| module.pool().slice(d.args))
        .filter_map(|number| module.pool().integer(*number))
}

/// The option `debug` of a `.target` directive, with one of the commas around it.
pub(crate) fn target_option(source: &[u8], directive: Span) -> Option<Span> {
    let text = directive.of(source);
    let mut tokens = Lexer::fragment(text)
        .filter(|t| !t.kind.is_trivia())
        .peekable();
    let mut comma = None;
    while let Some(token) = tokens.next() {
        let word = token.span.of(text);
        if token.kind == TokenKind::Ident && word == TargetOption::Debug.text().as_bytes() {
            // Without a comma, nothing else is in the list, and it would be empty.
            let removed = match comma {
                Some(comma) => Span::new(comma, token.span.end),
                None => {
                    let comma = tokens.peek().filter(|t| t.span.of(text) == b",")?;
                    Span::new(token.span.start, comma.span.end)
                }
            };
            return Some(removed.shifted(directive.start));
        }
        comma = (word == b",").then_some(token.span.start);
    }
    None
}

/// The sections that can stay when some names are removed: all of them if none refers to a removed name, else only those that
/// the `.loc` directives of the remaining bodies refer to.
pub(crate) fn sections<'m>(
    module: &'m Module,
    removed: &EntitySet<NameId>,
    bodies: impl Iterator<Item = &'m Body>,
) -> EntitySet<SectionId> {
    let refers_to_removed = |s: &Section| {
        let mentioned = mentions(module.pool(), s);
        mentioned.iter().any(|n| removed.contains(*n))
    };
    if module.sections().values().any(refers_to_removed) {
        needed(module, bodies, |s| !refers_to_removed(s))
    } else {
        module.sections().ids().collect()
    }
}

/// The sections that the `.loc` directives of some bodies refer to, directly or not.
pub(crate) fn needed<'m>(
    module: &'m Module,
    bodies: impl Iterator<Item = &'m Body>,
    may_stay: impl Fn(&Section) -> bool,
) -> EntitySet<SectionId> {
    // Several sections may have one name.
    let mut holders: Vec<(NameId, SectionId)> = Vec::new();
    for (id, section) in module.sections().iter() {
        let names = labels(section).chain([section.name]);
        holders.extend(names.map(|name| (name, id)));
    }
    holders.sort_unstable();
    let mut worklist: Vec<NameId> = Vec::new();
    for body in bodies {
        worklist.extend(locations(body).filter_map(|p| inlined(body, p)));
    }
    let (mut needed, mut visited) = (EntitySet::new(), EntitySet::new());
    while let Some(name) = worklist.pop() {
        let is_new = visited.insert(name);
        let first = holders.partition_point(|(n, _)| *n < name);
        let holders = holders.iter().skip(first).filter(|_| is_new);
        for &(_, id) in holders.take_while(|(n, _)| *n == name) {
            if let Some(section) = module.sections().get(id).filter(|s| may_stay(s))
                && needed.insert(id)
            {
                worklist.extend(mentions(module.pool(), section));
            }
        }
    }
    needed
}

/// The labels of a section.
pub(crate) fn labels(section: &Section) -> impl Iterator<Item = NameId> + '_ {
    section.entries.iter().filter_map(|e| match e {
        SectionEntry::Label(name) => Some(*name),
        _ => None,
    })
}

/// Every name that a body declares.
pub(crate) fn names(body: &Body) -> impl Iterator<Item = NameId> + '_ {
    let labels = body.labels().values().map(|l| l.name);
    let vars = body.vars().values().map(|v| v.name);
    let registers = body.reg_decls().values().map(|r| r.name);
    labels.chain(vars).chain(registers)
}
