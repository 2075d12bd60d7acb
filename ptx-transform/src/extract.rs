//! Extracts functions with everything they depend on.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use ptx_ir::{
    Body, Code, DeclId, Diagnostic, Item, Module, NameId, Operand, Rewritten, SectionId, Span,
    SymbolId, TextPatches,
};
use ptx_isa::Directive;

use crate::declarators::Declaration;
use crate::dependencies::{Needs, symbol};
use crate::item_text::{ItemText, items};
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
    let roots = roots(module, functions)?;
    let needs = Needs::of(module);
    let reached = needs.reach(roots.into_iter().chain(needs.opaque.iter().copied()));
    let items = items(module);
    let stays = |s: SymbolId| match reached.has(needs.first(s)) {
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
    // Whether each function is defined: it has a body, or is an alias of one that has.
    let mut all: BTreeMap<&str, (Option<SymbolId>, bool)> = BTreeMap::new();
    for f in module.functions().values() {
        let entry = all.entry(module.name(f.name)).or_insert((f.symbol, false));
        entry.1 |= f.body.is_some();
    }
    for d in module
        .directives()
        .values()
        .filter(|d| d.directive == Directive::Alias)
    {
        if let Some(Operand::Symbol(alias)) = module.pool().slice(d.args).first()
            && let Some(symbol) = module.symbols().get(*alias)
            && let Some(entry) = all.get_mut(module.name(symbol.name))
        {
            entry.1 = true;
        }
    }
    let find = |&name: &&str| match all.get(name) {
        Some((Some(symbol), true)) => Ok(*symbol),
        Some(_) => Err(ExtractError::Undefined {
            name: name.to_owned(),
        }),
        None => {
            let nearest = ptx_parse::suggest::name(name, all.keys().copied());
            Err(ExtractError::Unknown {
                name: name.to_owned(),
                nearest: nearest.map(str::to_owned),
            })
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
    let mut declared = BTreeSet::new();
    for item in items {
        match item.item {
            Item::Decl(id) => declaration(module, item, id, stays, patches),
            Item::Function(id) => {
                let Some(function) = module.functions().get(id) else {
                    continue;
                };
                match function.symbol.map_or(Retention::Keep, stays) {
                    Retention::Keep => {}
                    Retention::Declare if declared.insert(function.symbol) => {
                        let at = item.extent.with_comments(module.source());
                        patches.replace(at, headers::external(module, item.id));
                    }
                    _ => patches.remove(item.extent.removal()),
                }
            }
            Item::Section(id) if !kept.sections.contains(&id) => {
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
    alloc::vec![lost_note(
        first,
        "it refers to functions or variables that are not in this part"
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
        .map(|d| symbol(d).map_or(Retention::Keep, stays))
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
        if directive(module, item.item) == Some(Directive::Target)
            && let Some(at) = debug::target_option(module.source(), item.extent.statement)
        {
            patches.remove(at);
        }
    }
}

/// Which directive an item is.
pub(crate) fn directive(module: &Module, item: Item) -> Option<Directive> {
    match item {
        Item::Directive(id) => module.directives().get(id).map(|d| d.directive),
        _ => None,
    }
}

/// What stays besides names.
struct Kept {
    sections: BTreeSet<SectionId>,
    /// The numbers of the files; `None` if all stay.
    files: Option<BTreeSet<i64>>,
}

impl Kept {
    fn of(module: &Module, items: &[ItemText], stays: &impl Fn(SymbolId) -> Retention) -> Self {
        let bodies = || bodies(module, items, stays).filter(|(_, kept)| *kept);
        let sections = if module.sections().is_empty() {
            BTreeSet::new()
        } else {
            let gone = gone(module, items, stays);
            debug::sections(module, &gone, bodies().map(|(b, _)| b))
        };
        // The data of sections refer to files by number.
        let all = !sections.is_empty() && sections.len() == module.sections().len();
        let of_body = |(b, _)| debug::locations(b).flat_map(move |p| debug::files(b, p));
        let files = (!all).then(|| bodies().flat_map(of_body).collect());
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
            (Directive::File, _) => match (&self.files, debug::file(module, d)) {
                (Some(used), Some(number)) => used.contains(&number),
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
fn gone(
    module: &Module,
    items: &[ItemText],
    stays: &impl Fn(SymbolId) -> Retention,
) -> BTreeSet<NameId> {
    let mut gone = BTreeSet::new();
    let mut here = BTreeSet::new();
    for (id, symbol) in module.symbols().iter() {
        let of = if stays(id) != Retention::Drop {
            &mut here
        } else {
            &mut gone
        };
        of.insert(symbol.name);
    }
    for (body, kept) in bodies(module, items, stays) {
        let of = if kept { &mut here } else { &mut gone };
        of.extend(debug::names(body));
    }
    gone.retain(|n| !here.contains(n));
    gone
}
