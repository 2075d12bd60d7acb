//! Debug information: files, locations, and the data of sections. Manual 11.5.

use hashbrown::{HashMap, HashSet};
use ptx_ir::ConstKind;
use ptx_ir::{
    Body, Item, Module, NameId, Operand, OperandPool, Section, SectionEntry, Span, Statement,
};
use ptx_isa::{Directive, ScalarType};

use crate::context::{Context, constant_kind};
use crate::location::{Location, Part};
use crate::problem::feature::Feature;
use crate::problem::module::DebugProblem;

/// Checks `.file`, `.section`, and `inlined_at` of all bodies.
pub(crate) fn check(context: &mut Context<'_>) {
    let module = context.module;
    // The indices of files, with their first declarations.
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
                let numbers = module
                    .pool()
                    .slice(stmt.args)
                    .iter()
                    .filter_map(|operand| module.pool().integer(*operand));
                match stmt.directive {
                    Directive::NvIntermediateSourceSection => {
                        for index in numbers.filter(|number| !files.contains_key(number)) {
                            let location = Location::part(span, Part::Number(index));
                            context.report(location, DebugProblem::UndefinedFile(index));
                        }
                    }
                    Directive::File => {
                        let first_operand = module.pool().slice(stmt.args).first();
                        let index =
                            first_operand.and_then(|operand| module.pool().integer(*operand));
                        let end = module.source().len() as u32;
                        let next_item = items
                            .peek()
                            .map_or(end, |(next, _)| module.span(*next).start);
                        if let Some(index) = index {
                            let file = FileDirective {
                                index,
                                span,
                                has_all_numbers: stmt.args.len() >= 4,
                                next_token: Span::new(next_item, (next_item + 1).min(end)),
                            };
                            check_file(context, &mut files, &file);
                        }
                    }
                    _ => {}
                }
            }
            Item::Section(id) => {
                if let Some(section) = module.sections().get(id) {
                    check_section(context, section, span, &mut labels);
                }
            }
            _ => {}
        }
    }
    check_inlined_places(context);
}

/// A `.file` directive.
struct FileDirective {
    index: i64,
    span: Span,
    /// No further number can follow.
    has_all_numbers: bool,
    /// The first character of the next item.
    next_token: Span,
}

/// Checks the index of a file. `files` are the indices before it.
fn check_file(context: &mut Context<'_>, files: &mut HashMap<i64, Span>, file: &FileDirective) {
    let FileDirective { index, span, .. } = *file;
    if u32::try_from(index).is_err() {
        let location = Location::part(span, Part::Number(index));
        context.report(location, DebugProblem::Bits(Directive::File, index));
    } else if let Some(&first) = files.get(&index) {
        // ptxas reports the duplicate where another number could follow.
        let reported_span = if file.has_all_numbers {
            span
        } else {
            file.next_token
        };
        context
            .report(
                Location::exact(reported_span),
                DebugProblem::DuplicateFile(index),
            )
            .with_label(Location::exact(span), "declared again here")
            .with_label(Location::exact(first), "first declared here");
    } else {
        files.insert(index, span);
    }
}

/// Checks a section. `labels` are the labels of the sections before it: labels of all sections are distinct.
fn check_section(
    context: &mut Context<'_>,
    section: &Section,
    span: Span,
    labels: &mut HashMap<NameId, Location>,
) {
    let pool = context.module.pool();
    // The number of definitions of each label in this section.
    let mut definition_counts: HashMap<NameId, u32> = HashMap::new();
    let mut has_required_negative = false;
    let following = section.entries.iter().skip(1).map(Some).chain([None]);
    for (entry, next) in section.entries.iter().zip(following) {
        let (ty, value, is_negative) = match *entry {
            SectionEntry::Label(name) => {
                if definition_counts.is_empty() {
                    context.require(Location::exact(span), Feature::SectionLabel);
                }
                let count = definition_counts.entry(name).or_default();
                let location = Location::part(span, Part::Label(name, *count));
                *count += 1;
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
                    check_address(context, operand, ty, span);
                    continue;
                };
                let is_signed = constant_kind(pool, operand) == Some(ConstKind::Signed);
                let is_negative_zero = is_negative_zero(context.module, operand);
                let is_available = Feature::NegativeNumber.is_in(context.environment);
                if is_negative_zero && is_available && !is_list_or_wide(*entry, next) {
                    let location = Location::part(span, Part::Negative(0));
                    context.report(location, DebugProblem::NegativeZero(ty));
                }
                (ty, value, value < 0 && is_signed || is_negative_zero)
            }
            _ => continue,
        };
        if is_negative && !has_required_negative {
            has_required_negative = true;
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

/// Returns `true` if the operand is zero with a minus sign. The text of such an immediate is kept.
fn is_negative_zero(module: &Module, operand: Operand) -> bool {
    let Operand::Imm(id) = operand else {
        return false;
    };
    let pool = module.pool();
    let text = pool
        .immediate(id)
        .map(|immediate| module.name(immediate.text));
    pool.integer(operand) == Some(0) && text.is_some_and(|text| text.starts_with('-'))
}

/// Returns `true` if an entry is one of several values of a line, or has 64 bits: ptxas then accepts zero with a minus sign.
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

/// Returns the value of a datum as ptxas reads it: of a number without a sign, only the low half.
fn datum(pool: &OperandPool, operand: Operand, ty: ScalarType) -> Option<i64> {
    let value = pool.integer(operand)?;
    let is_signed = constant_kind(pool, operand) == Some(ConstKind::Signed);
    match ty {
        ScalarType::B64 => Some(value),
        _ if value < 0 && is_signed => Some(value),
        _ => Some(value & 0xFFFF_FFFF),
    }
}

/// Checks a label or a section as a datum.
fn check_address(context: &mut Context<'_>, operand: Operand, ty: ScalarType, span: Span) {
    if let Operand::Difference(_) = operand {
        context.require(Location::exact(span), Feature::LabelDifference);
    }
    let pool = context.module.pool();
    let base = match operand {
        Operand::Difference(labels) => pool.get(labels),
        Operand::Address(id) => pool.address(id).map_or(operand, |address| address.base),
        operand => operand,
    };
    if let (Operand::Name(name) | Operand::Section(name), ..32) = (base, ty.bits()) {
        let location = Location::name(span, name);
        context.report(location, DebugProblem::Address(name, ty));
    }
}

/// Checks the numbers of a `.loc` or `.loc_intermediate`.
pub(crate) fn check_loc(
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
    // A number of more than 31 bits is stored as an immediate.
    let mut immediates = args
        .iter()
        .filter(|operand| matches!(operand, Operand::Imm(_)))
        .filter_map(|operand| pool.integer(*operand));
    if let Some(value) = immediates.find(|value| u32::try_from(*value).is_err()) {
        let location = Location::part(span, Part::Number(value));
        context.report(location, DebugProblem::Bits(directive, value));
    }
}

/// A place in the source from which PTX was compiled.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SourcePlace {
    file: i64,
    line: i64,
    column: i64,
}

impl SourcePlace {
    /// Reads three operands.
    fn new(pool: &OperandPool, args: &[Operand]) -> Option<Self> {
        let [file, line, column] = args else {
            return None;
        };
        Some(Self {
            file: pool.integer(*file)?,
            line: pool.integer(*line)?,
            column: pool.integer(*column)?,
        })
    }
}

/// Returns `true` if a body has a `.loc` with `inlined_at`.
pub(crate) fn has_inlined_code(body: &Body) -> bool {
    body.directives()
        .values()
        .any(|stmt| stmt.directive == Directive::Loc && stmt.args.len() > 3)
}

/// Checks that each `inlined_at` names the place of an earlier `.loc`.
fn check_inlined_places(context: &mut Context<'_>) {
    let module = context.module;
    if !module.bodies().values().any(has_inlined_code) {
        return;
    }
    let mut earlier: HashSet<SourcePlace> = HashSet::new();
    for (_, _, body) in module.definitions() {
        check_inlined_places_in(context, body, &mut earlier);
    }
}

/// Checks the directives of one body. `earlier` are the places of each `.loc` before it.
pub(crate) fn check_inlined_places_in(
    context: &mut Context<'_>,
    body: &Body,
    earlier: &mut HashSet<SourcePlace>,
) {
    for (stmt, statement) in body.statements() {
        let Statement::Directive(id) = statement else {
            continue;
        };
        let Some(directive) = body.directives().get(id) else {
            continue;
        };
        if directive.directive != Directive::Loc {
            continue;
        }
        let args = body.pool().slice(directive.args);
        let place = |args: &[Operand]| SourcePlace::new(body.pool(), args);
        if let Some(inlined_at) = args.get(4..).and_then(place)
            && !earlier.contains(&inlined_at)
        {
            let SourcePlace { file, line, column } = inlined_at;
            let location = Location::keyword(body.source_span(stmt), "inlined_at");
            context.report(location, DebugProblem::InlinedAt(file, line, column));
        }
        earlier.extend(args.get(..3).and_then(place));
    }
}
