//! Extracts functions with everything they depend on.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use ptx_ir::{
    Body, Code, DeclId, Diagnostic, EntityId, EntitySet, Item, Module, NameId, Operand, Rewritten,
    SectionId, Span, SymbolId, TextPatches,
};
use ptx_isa::Directive;

use crate::declarators::Declaration;
use crate::dependencies::Dependencies;
use crate::item_text::{ItemText, items};
use crate::printed::Printed;
use crate::{debug, headers};

/// A part of a module.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Extracted {
    /// The text, and where its bytes were in the module.
    pub rewritten: Rewritten,
    /// Warnings about what could not be kept, with spans in the original module.
    pub notes: Vec<Diagnostic>,
}

/// Why a function cannot be extracted.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ExtractError {
    /// The module has no function or kernel of this name.
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The function with the most similar name.
        nearest: Option<String>,
    },
    /// The module declares the function and does not define it.
    Undefined {
        /// The name that was asked for.
        name: String,
    },
}

impl fmt::Display for ExtractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, nearest } => {
                write!(f, "unknown function or kernel `{name}`")?;
                match nearest {
                    Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
                    None => Ok(()),
                }
            }
            Self::Undefined { name } => {
                write!(
                    f,
                    "the function `{name}` is declared but not defined in this module"
                )
            }
        }
    }
}

impl core::error::Error for ExtractError {}

/// Extracts functions and kernels with everything they depend on: the functions that they call, directly or through addresses,
/// variables, the names in the initializers of these, aliases, and declarations. Module directives stay; of the `.file`
/// directives, only those that a remaining `.loc` refers to. A comment directly above something that is removed, or after it on
/// its line, is removed as well. Debug sections that refer to something that is removed are removed, with a warning. All
/// other bytes stay unchanged. The time is linear in the size of the module.
///
/// ```
/// let text = b".version 8.0
/// .target sm_80
/// .address_size 64
///
/// // mine
/// .global .u32 a;
///
/// // another's
/// .global .u32 b;
///
/// .entry k() { st.global.u32 [a], 1; ret; }
/// .entry other() { st.global.u32 [b], 1; ret; }
/// ";
/// let module = ptx_parse::parse(text).module;
/// let part = ptx_transform::extract(&module, &["k"])?;
/// assert_eq!(part.rewritten.text, b".version 8.0
/// .target sm_80
/// .address_size 64
///
/// // mine
/// .global .u32 a;
///
/// .entry k() { st.global.u32 [a], 1; ret; }
/// ");
/// # Ok::<(), ptx_transform::ExtractError>(())
/// ```
///
/// # Errors
///
/// A name is unknown, or only declared in the module.
pub fn extract(module: &Module, functions: &[&str]) -> Result<Extracted, ExtractError> {
    let printed = Printed::of(module);
    let part = extract_text(printed.module(), functions)?;
    Ok(part.of_original(&printed))
}

impl Extracted {
    /// The part with offsets in the source of the module that was printed.
    pub(crate) fn of_original(mut self, printed: &Printed<'_>) -> Self {
        for note in &mut self.notes {
            printed.diagnostic_to_original(note);
        }
        self.rewritten = printed.rewritten(self.rewritten);
        self
    }
}

/// [`extract`] from a module whose source is its text.
fn extract_text(module: &Module, functions: &[&str]) -> Result<Extracted, ExtractError> {
    let roots = roots(module, functions)?;
    let needs = Dependencies::of(module);
    let reached = needs.reach(&roots);
    let items = items(module);
    let stays = |s: SymbolId| match reached.contains(needs.first(s)) {
        true => Retention::Keep,
        false => Retention::Drop,
    };
    let mut patches = TextPatches::new();
    let notes = keep(module, &items, &stays, &mut patches);
    Ok(Extracted {
        rewritten: patches.apply(module.source()),
        notes,
    })
}

/// The symbols of the functions with these names.
pub(crate) fn roots(module: &Module, functions: &[&str]) -> Result<Vec<SymbolId>, ExtractError> {
    // For each name the first function, and whether it is defined: it has a body, or is an alias of one that has.
    let mut all: Vec<Option<(Option<SymbolId>, bool)>> = vec![None; module.name_count()];
    for f in module.functions().values() {
        if let Some(entry) = all.get_mut(f.name.index()) {
            entry.get_or_insert((f.symbol, false)).1 |= f.body.is_some();
        }
    }
    let aliases = module.directives().values();
    for d in aliases.filter(|d| d.directive == Directive::Alias) {
        let alias = module.pool().slice(d.args).first().and_then(|a| a.symbol());
        if let Some(symbol) = alias.and_then(|alias| module.symbols().get(alias))
            && let Some(Some((_, defined))) = all.get_mut(symbol.name.index())
        {
            *defined = true;
        }
    }
    let find = |name: &&str| {
        let found = module.find_name(name.as_bytes());
        match found.and_then(|id| *all.get(id.index())?) {
            Some((Some(symbol), true)) => Ok(symbol),
            Some(_) => Err(ExtractError::Undefined {
                name: (*name).to_owned(),
            }),
            None => {
                let functions = module.functions().values();
                let mut names: Vec<&str> = functions.map(|f| module.name(f.name)).collect();
                names.sort_unstable();
                let nearest = ptx_parse::suggest::name(name, names);
                Err(ExtractError::Unknown {
                    name: (*name).to_owned(),
                    nearest: nearest.map(str::to_owned),
                })
            }
        }
    };
    functions.iter().map(find).collect()
}

/// What happens to a name.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Retention {
    /// It stays.
    Keep,
    /// It becomes an external declaration.
    Declare,
    /// It is removed.
    Drop,
}

/// Removes everything except some names and what belongs to them; returns warnings about what is lost.
pub(crate) fn keep(
    module: &Module,
    items: &[ItemText],
    stays: &impl Fn(SymbolId) -> Retention,
    patches: &mut TextPatches,
) -> Vec<Diagnostic> {
    let kept = Kept::of(module, items, stays);
    let mut lost = None;
    let mut declared = EntitySet::new();
    for item in items {
        match item.item {
            Item::Decl(id) => declaration(module, item, id, stays, patches),
            Item::Function(id) => {
                let Some(function) = module.functions().get(id) else {
                    continue;
                };
                let Some(symbol) = function.symbol else {
                    continue;
                };
                match stays(symbol) {
                    Retention::Keep => {}
                    Retention::Declare if declared.insert(symbol) => {
                        let at = item.extent.with_comments(module.source());
                        patches.replace(at, headers::external(module, item.id));
                    }
                    _ => patches.remove(item.extent.removal()),
                }
            }
            Item::Section(id) if !kept.sections.contains(id) => {
                lost.get_or_insert(item.extent.statement);
                patches.remove(item.extent.removal());
            }
            Item::Directive(_) if !kept.has(module, item, stays) => {
                patches.remove(item.extent.removal());
            }
            _ => {}
        }
    }
    let Some(first) = lost else {
        return Vec::new();
    };
    if kept.sections.is_empty() {
        drop_option(module, items, patches);
    }
    vec![lost_note(
        first,
        "it refers to functions or variables that are not in this part",
    )]
}

fn declaration(
    module: &Module,
    item: &ItemText,
    id: DeclId,
    stays: &impl Fn(SymbolId) -> Retention,
    patches: &mut TextPatches,
) {
    let declarators = module.declarations().declarators(id).iter();
    let stays: Vec<Retention> = declarators
        .map(|d| d.binding.symbol().map_or(Retention::Keep, stays))
        .collect();
    let whole: Vec<bool> = stays.iter().map(|s| *s == Retention::Keep).collect();
    if !whole.contains(&false) {
        return;
    }
    let text = Declaration::read(module, item.extent.statement);
    let mut others = Vec::new();
    for (i, _) in stays
        .iter()
        .enumerate()
        .filter(|(_, s)| **s == Retention::Declare)
    {
        others.extend(text.external(module, i).unwrap_or_default());
        others.push(b'\n');
    }
    let at = match whole.contains(&true) {
        true => item.extent.statement,
        false => item.extent.with_comments(module.source()),
    };
    if !text.replace(patches, at, &whole, &others) {
        patches.remove(item.extent.removal());
    }
}

/// A warning about debug information that is removed.
pub(crate) fn lost_note(span: Span, why: &str) -> Diagnostic {
    let message = format!("debug information removed: {why}");
    let head = Span::new(span.start, span.end.min(span.start + 8));
    Diagnostic::warning(Code::LostDebugInfo, head, message)
}

/// Removes the option `debug` of `.target`, which requires debug information.
pub(crate) fn drop_option(module: &Module, items: &[ItemText], patches: &mut TextPatches) {
    for item in items {
        if module.directive(item.item) == Some(Directive::Target)
            && let Some(at) = debug::target_option(module.source(), item.extent.statement)
        {
            patches.remove(at);
        }
    }
}

/// What stays besides names.
struct Kept {
    sections: EntitySet<SectionId>,
    /// The numbers of the files, sorted; `None` if all stay.
    files: Option<Vec<i64>>,
}

impl Kept {
    fn of(module: &Module, items: &[ItemText], stays: &impl Fn(SymbolId) -> Retention) -> Self {
        let bodies = || bodies(module, items, stays).filter(|(_, kept)| *kept);
        let sections = if module.sections().is_empty() {
            EntitySet::new()
        } else {
            let removed = removed_names(module, items, stays);
            debug::sections(module, &removed, bodies().map(|(b, _)| b))
        };
        // The data of sections refer to files by number.
        let mut all = module.sections().ids();
        let all = all.len() > 0 && all.all(|id| sections.contains(id));
        let files = (!all).then(|| {
            let of_body = |(b, _)| debug::locations(b).flat_map(move |p| debug::files(b, p));
            let mut files: Vec<i64> = bodies().flat_map(of_body).collect();
            files.extend(debug::embedded(module));
            files.sort_unstable();
            files
        });
        Self { sections, files }
    }

    /// Whether a directive stays.
    fn has(
        &self,
        module: &Module,
        item: &ItemText,
        stays: &impl Fn(SymbolId) -> Retention,
    ) -> bool {
        let Item::Directive(id) = item.item else {
            return true;
        };
        let Some(d) = module.directives().get(id) else {
            return true;
        };
        let first = module.pool().slice(d.args).first();
        match (d.directive, first) {
            (Directive::Alias, Some(Operand::Symbol(alias))) => stays(*alias) == Retention::Keep,
            (Directive::File, _) => match (
                &self.files,
                ptx_analysis::source_lines::file_number(module, d),
            ) {
                (Some(used), Some(number)) => used.binary_search(&number).is_ok(),
                _ => true,
            },
            _ => true,
        }
    }
}

/// Every body, and whether it stays.
fn bodies<'m>(
    module: &'m Module,
    items: &'m [ItemText],
    stays: &'m impl Fn(SymbolId) -> Retention,
) -> impl Iterator<Item = (&'m Body, bool)> {
    items.iter().filter_map(move |c| match c.item {
        Item::Function(id) => {
            let symbol = module.functions().get(id)?.symbol;
            let stay = symbol.map_or(Retention::Keep, stays);
            Some((module.body(id)?, stay == Retention::Keep))
        }
        _ => None,
    })
}

/// The names of everything that is removed, unless something that stays has the same name.
fn removed_names(
    module: &Module,
    items: &[ItemText],
    stays: &impl Fn(SymbolId) -> Retention,
) -> EntitySet<NameId> {
    let (mut removed, mut kept) = (EntitySet::new(), EntitySet::new());
    for (id, symbol) in module.symbols().iter() {
        let of = if stays(id) != Retention::Drop {
            &mut kept
        } else {
            &mut removed
        };
        of.insert(symbol.name);
    }
    for (body, stays) in bodies(module, items, stays) {
        let of = if stays { &mut kept } else { &mut removed };
        of.extend(debug::names(body));
    }
    removed.iter().filter(|n| !kept.contains(*n)).collect()
}
