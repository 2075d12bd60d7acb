//! Debug information: files, locations, and the data of sections. Manual 11.5.

use hashbrown::{HashMap, HashSet};
use ptx_ir::constant::ConstKind;
use ptx_ir::{
    Body, Item, Module, NameId, Operand, OperandPool, Section, SectionEntry, Span, Statement,
};
use ptx_isa::{Directive, ScalarType};

use crate::context::{Context, constant_kind};
use crate::location::{Location, Part};
use crate::problem::debug::DebugProblem;
use crate::problem::feature::Feature;

/// Checks `.file`, `.section`, and `inlined_at` of all bodies.
pub(crate) fn check(context: &mut Context<'_>) {
    let module = context.module;
    let mut files: HashMap<i64, Span> = HashMap::new();
    let mut labels = HashMap::new();
    let mut items = module.items().peekable();
    while let Some((id, item)) = items.next() {
        let span = module.span(id);
        match item {
            Item::Directive(id) => {
                let Some(stmt) = module.directives().get(id) else {
                    continue;
                };
                if stmt.directive == Directive::NvIntermediateSourceSection {
                    let numbers = module.pool().slice(stmt.args).iter();
                    let numbers = numbers.filter_map(|o| module.pool().integer(*o));
                    for index in numbers.filter(|n| !files.contains_key(n)) {
                        let location = Location::part(span, Part::Number(index));
                        context.report(location, DebugProblem::UndefinedFile(index));
                    }
                }
                if stmt.directive != Directive::File {
                    continue;
                }
                let index = module.pool().slice(stmt.args).first();
                let Some(index) = index.and_then(|o| module.pool().integer(*o)) else {
                    continue;
                };
                if u32::try_from(index).is_err() {
                    let location = Location::part(span, Part::Number(index));
                    context.report(location, DebugProblem::Bits(Directive::File, index));
                } else if let Some(&first) = files.get(&index) {
                    // ptxas reports it where another number could follow.
                    let end = module.source().len() as u32;
                    let next = items
                        .peek()
                        .map_or(end, |(next, _)| module.span(*next).start);
                    let directive_span = match stmt.args.len() < 4 {
                        true => Span::new(next, (next + 1).min(end)),
                        false => span,
                    };
                    context
                        .report(
                            Location::exact(directive_span),
                            DebugProblem::DuplicateFile(index),
                        )
                        .with_label(Location::exact(span), "declared again here")
                        .with_label(Location::exact(first), "first declared here");
                } else {
                    files.insert(index, span);
                }
            }
            Item::Section(id) => {
                if let Some(s) = module.sections().get(id) {
                    section(context, s, span, &mut labels);
                }
            }
            _ => {}
        }
    }
    inlined_places(context);
}

/// Checks a section; the labels of all sections are distinct.
fn section(
    context: &mut Context<'_>,
    section: &Section,
    span: Span,
    labels: &mut HashMap<NameId, Location>,
) {
    let pool = context.module.pool();
    let mut of_section: HashMap<NameId, u32> = HashMap::new();
    let mut reported = false;
    let following = section.entries.iter().skip(1).map(Some).chain([None]);
    for (entry, next) in section.entries.iter().zip(following) {
        let (ty, value, is_negative) = match *entry {
            SectionEntry::Label(name) => {
                if of_section.is_empty() {
                    context.require(Location::exact(span), Feature::SectionLabel);
                }
                let nth = of_section.entry(name).or_default();
                let location = Location::part(span, Part::Label(name, *nth));
                *nth += 1;
                if let Some(first) = labels.get(&name) {
                    context
                        .report(location, DebugProblem::DuplicateLabel(name))
                        .with_label(*first, "first defined here");
                } else {
                    labels.insert(name, location);
                }
                continue;
            }
            SectionEntry::Int { ty, value, .. } => (ty, i64::from(value), value < 0),
            SectionEntry::Other { ty, value, .. } => {
                let operand = pool.get(value);
                let Some(value) = datum(pool, operand, ty) else {
                    address(context, operand, ty, span);
                    continue;
                };
                let signed = constant_kind(pool, operand) == Some(ConstKind::Signed);
                let is_zero = is_negative_zero(context.module, operand);
                let is_allowed = Feature::NegativeNumber.is_in(context.environment);
                if is_zero && is_allowed && !is_list_or_wide(*entry, next) {
                    let at = Location::part(span, Part::Negative(0));
                    context.report(at, DebugProblem::NegativeZero(ty));
                }
                (ty, value, value < 0 && signed || is_zero)
            }
            _ => continue,
        };
        if is_negative && !reported {
            reported = true;
            let location = Location::part(span, Part::Negative(value));
            context.require(location, Feature::NegativeNumber);
        }
        let (low, high) = match ty {
            ScalarType::B8 => (-0x80, 0xFF),
            ScalarType::B16 => (-0x8000, 0xFFFF),
            ScalarType::B32 => (-0x8000_0000, i64::MAX),
            _ => continue,
        };
        if !(low..=high).contains(&value) {
            let location = Location::part(span, Part::Number(value));
            context.report(location, DebugProblem::Number(value, ty));
            return;
        }
    }
}

/// The operand is zero with a minus sign, whose spelling is kept.
fn is_negative_zero(module: &Module, operand: Operand) -> bool {
    let Operand::Imm(id) = operand else {
        return false;
    };
    let pool = module.pool();
    let text = pool.immediate(id).map(|i| module.name(i.text));
    pool.integer(operand) == Some(0) && text.is_some_and(|text| text.starts_with('-'))
}

/// ptxas accepts zero with a minus sign among several values of a line, and in 64 bits.
fn is_list_or_wide(entry: SectionEntry, next: Option<&SectionEntry>) -> bool {
    let continues = matches!(
        next,
        Some(SectionEntry::Int { first: false, .. } | SectionEntry::Other { first: false, .. })
    );
    let is_single = matches!(
        entry,
        SectionEntry::Other { ty, first: true, .. } if ty != ScalarType::B64
    );
    !is_single || continues
}

/// The value of a datum as ptxas reads it: without a sign, only the low half of a number.
fn datum(pool: &OperandPool, operand: Operand, ty: ScalarType) -> Option<i64> {
    let value = pool.integer(operand)?;
    let signed = constant_kind(pool, operand) == Some(ConstKind::Signed);
    match ty {
        ScalarType::B64 => Some(value),
        _ if value < 0 && signed => Some(value),
        _ => Some(value & 0xFFFF_FFFF),
    }
}

/// Checks a label or a section as a datum.
fn address(context: &mut Context<'_>, operand: Operand, ty: ScalarType, span: Span) {
    if let Operand::Difference(_) = operand {
        context.require(Location::exact(span), Feature::LabelDifference);
    }
    let pool = context.module.pool();
    let base = match operand {
        Operand::Difference(labels) => pool.get(labels),
        Operand::Address(id) => pool.address(id).map_or(operand, |a| a.base),
        operand => operand,
    };
    if let (Operand::Name(name) | Operand::Section(name), ..32) = (base, ty.bits()) {
        let location = Location::name(span, name);
        context.report(location, DebugProblem::Address(name, ty));
    }
}

/// Checks the numbers of a `.loc` or `.loc_intermediate`.
pub(crate) fn numbers(
    context: &mut Context<'_>,
    pool: &OperandPool,
    directive: Directive,
    args: &[Operand],
    span: Span,
) {
    if args.len() > 3 {
        let location = Location::keyword(span, "inlined_at");
        context.require(location, Feature::InlinedAt);
    }
    // A number of more than 31 bits is never small.
    let long = args.iter().filter(|o| matches!(o, Operand::Imm(_)));
    let mut values = long.filter_map(|o| pool.integer(*o));
    if let Some(value) = values.find(|v| u32::try_from(*v).is_err()) {
        let location = Location::part(span, Part::Number(value));
        context.report(location, DebugProblem::Bits(directive, value));
    }
}

/// File, line and column.
pub(crate) type Place = (i64, i64, i64);

fn place(pool: &OperandPool, args: &[Operand]) -> Option<Place> {
    let [file, line, column] = args else {
        return None;
    };
    Some((
        pool.integer(*file)?,
        pool.integer(*line)?,
        pool.integer(*column)?,
    ))
}

/// Whether a body has a `.loc` with `inlined_at`.
pub(crate) fn has_inlined_code(body: &Body) -> bool {
    let mut all = body.directives().values();
    all.any(|d| d.directive == Directive::Loc && d.args.len() > 3)
}

/// Checks that each `inlined_at` names the place of an earlier `.loc`.
fn inlined_places(context: &mut Context<'_>) {
    let module = context.module;
    if !module.bodies().values().any(has_inlined_code) {
        return;
    }
    let mut seen: HashSet<Place> = HashSet::new();
    for (_, _, body) in module.definitions() {
        inlined_places_in(context, body, &mut seen);
    }
}

/// Checks the directives of one body; `seen` are the places of the `.loc` before it.
pub(crate) fn inlined_places_in(context: &mut Context<'_>, body: &Body, seen: &mut HashSet<Place>) {
    for (stmt, statement) in body.statements() {
        let Statement::Directive(id) = statement else {
            continue;
        };
        let directive = body.directives().get(id);
        let Some(loc) = directive.filter(|d| d.directive == Directive::Loc) else {
            continue;
        };
        let args = body.pool().slice(loc.args);
        let inlined = args.get(4..).and_then(|a| place(body.pool(), a));
        if let Some((file, line, column)) = inlined.filter(|p| !seen.contains(p)) {
            let location = Location::keyword(body.source_span(stmt), "inlined_at");
            context.report(location, DebugProblem::InlinedAt(file, line, column));
        }
        seen.extend(args.get(..3).and_then(|a| place(body.pool(), a)));
    }
}
