//! Extracts functions with everything they depend on.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use ptx_edit::Rewriting;
use ptx_ir::raw::{EntitySet, TextPatches};
use ptx_ir::{
    Body, Code, DeclId, Diagnostic, DirectiveId, EntityId, Item, Module, NameId, Operand,
    SectionId, Span, SymbolId,
};
use ptx_isa::Directive;

use crate::debug;
use crate::declarators::Declaration;
use crate::dependencies::Dependencies;
use crate::items::{ItemText, external_declaration, items};
use crate::printed::Printed;

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
/// its line, is removed as well. Debug sections that refer to something that is removed are removed, with a warning in the
/// report. All other bytes stay unchanged. The time is linear in the size of the module.
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
/// assert_eq!(part.text(), b".version 8.0
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
pub fn extract(
    module: &Module,
    functions: &[&str],
) -> Result<Rewriting<Vec<Diagnostic>>, ExtractError> {
    let printed = Printed::of(module);
    let module = printed.module();
    let roots = roots(module, functions)?;
    let needs = Dependencies::of(module);
    let reached = needs.reach(&roots);
    let retention = |symbol| {
        if reached.contains(needs.first(symbol)) {
            Retention::Keep
        } else {
            Retention::Drop
        }
    };
    let items = items(module);
    Ok(retain(&printed, &items, &retention, TextPatches::new()))
}

/// Makes a module of the symbols that are kept, with other patches of its text. The report has warnings about debug information
/// that could not be kept.
pub(crate) fn retain(
    printed: &Printed<'_>,
    items: &[ItemText],
    retention: &impl Fn(SymbolId) -> Retention,
    mut patches: TextPatches,
) -> Rewriting<Vec<Diagnostic>> {
    let module = printed.module();
    let mut warnings = apply_retention(module, items, retention, &mut patches);
    for warning in &mut warnings {
        printed.diagnostic_to_original(warning);
    }
    printed
        .rewriting(patches.apply(module.source()))
        .with_report(warnings)
}

/// A function that can be extracted.
#[derive(Copy, Clone)]
struct Root {
    /// The symbol of the first declaration.
    symbol: Option<SymbolId>,
    /// A declaration has a body, or the function is an alias of one that has.
    is_defined: bool,
}

/// The symbols of the functions with these names.
pub(crate) fn roots(module: &Module, functions: &[&str]) -> Result<Vec<SymbolId>, ExtractError> {
    let mut roots_by_name: Vec<Option<Root>> = vec![None; module.name_count()];
    for function in module.functions().values() {
        if let Some(entry) = roots_by_name.get_mut(function.name.index()) {
            let root = entry.get_or_insert(Root {
                symbol: function.symbol,
                is_defined: false,
            });
            root.is_defined |= function.body.is_some();
        }
    }
    let directives = module.directives().values();
    for alias in directives.filter(|d| d.directive == Directive::Alias) {
        let first = module.pool().slice(alias.args).first();
        let symbol = first.and_then(|operand| operand.symbol());
        if let Some(symbol) = symbol.and_then(|symbol| module.symbols().get(symbol))
            && let Some(Some(root)) = roots_by_name.get_mut(symbol.name.index())
        {
            root.is_defined = true;
        }
    }
    functions
        .iter()
        .map(|name| {
            let id = module.find_name(name.as_bytes());
            match id.and_then(|id| *roots_by_name.get(id.index())?) {
                Some(Root {
                    symbol: Some(symbol),
                    is_defined: true,
                }) => Ok(symbol),
                Some(_) => Err(ExtractError::Undefined {
                    name: (*name).to_owned(),
                }),
                None => Err(unknown_function(module, name)),
            }
        })
        .collect()
}

/// The error for a name that no function has.
fn unknown_function(module: &Module, name: &str) -> ExtractError {
    let functions = module.functions().values();
    let mut names: Vec<&str> = functions.map(|f| module.name(f.name)).collect();
    names.sort_unstable();
    let nearest = ptx_parse::suggest::name(name, names);
    ExtractError::Unknown {
        name: name.to_owned(),
        nearest: nearest.map(str::to_owned),
    }
}

/// The treatment of a symbol in a part of a module.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Retention {
    /// The symbol stays.
    Keep,
    /// The symbol becomes an external declaration.
    Declare,
    /// The symbol is removed.
    Drop,
}

/// Removes or declares the symbols that are not kept; returns warnings about debug information that is lost.
fn apply_retention(
    module: &Module,
    items: &[ItemText],
    retention: &impl Fn(SymbolId) -> Retention,
    patches: &mut TextPatches,
) -> Vec<Diagnostic> {
    let debug_info = KeptDebugInfo::of(module, items, retention);
    let mut first_lost_section = None;
    let mut declared = EntitySet::new();
    for item in items {
        match item.item {
            Item::Decl(id) => keep_names(module, item, id, retention, patches),
            Item::Function(id) => {
                let Some(symbol) = module.functions().get(id).and_then(|f| f.symbol) else {
                    continue;
                };
                match retention(symbol) {
                    Retention::Keep => {}
                    Retention::Declare if declared.insert(symbol) => {
                        let span = item.extent.with_comments(module.source());
                        patches.replace(span, external_declaration(module, item.id));
                    }
                    _ => patches.remove(item.extent.removal()),
                }
            }
            Item::Section(id) if !debug_info.sections.contains(id) => {
                first_lost_section.get_or_insert(item.extent.statement);
                patches.remove(item.extent.removal());
            }
            Item::Directive(id) if !debug_info.keeps_directive(module, id, retention) => {
                patches.remove(item.extent.removal());
            }
            _ => {}
        }
    }
    let Some(section) = first_lost_section else {
        return Vec::new();
    };
    if debug_info.sections.is_empty() {
        remove_debug_option(module, items, patches);
    }
    vec![lost_debug_info(
        section,
        "it refers to functions or variables that are not in this part",
    )]
}

/// Removes the names of a declaration that are not kept, and inserts external declarations before it.
fn keep_names(
    module: &Module,
    item: &ItemText,
    id: DeclId,
    retention: &impl Fn(SymbolId) -> Retention,
    patches: &mut TextPatches,
) {
    let retentions: Vec<Retention> = module
        .declarations()
        .declarators(id)
        .iter()
        .map(|d| d.binding.symbol().map_or(Retention::Keep, retention))
        .collect();
    let kept: Vec<bool> = retentions.iter().map(|r| *r == Retention::Keep).collect();
    if !kept.contains(&false) {
        return;
    }
    let declaration = Declaration::read(module, item.extent.statement);
    let mut external_declarations = Vec::new();
    for (index, retention) in retentions.iter().enumerate() {
        if *retention == Retention::Declare {
            external_declarations.extend(declaration.external(module, index).unwrap_or_default());
            external_declarations.push(b'\n');
        }
    }
    let span = if kept.contains(&true) {
        item.extent.statement
    } else {
        item.extent.with_comments(module.source())
    };
    if !declaration.replace(patches, span, &kept, &external_declarations) {
        patches.remove(item.extent.removal());
    }
}

/// A warning about debug information that is removed, at the start of `span`.
pub(crate) fn lost_debug_info(span: Span, why: &str) -> Diagnostic {
    let message = format!("debug information removed: {why}");
    let head = Span::new(span.start, span.end.min(span.start + 8));
    Diagnostic::warning(Code::LostDebugInfo, head, message)
}

/// Removes the option `debug` of `.target`, which requires debug information.
pub(crate) fn remove_debug_option(module: &Module, items: &[ItemText], patches: &mut TextPatches) {
    for item in items {
        if module.directive(item.item) == Some(Directive::Target)
            && let Some(option) = debug::target_option(module.source(), item.extent.statement)
        {
            patches.remove(option);
        }
    }
}

/// The debug information that is kept.
struct KeptDebugInfo {
    sections: EntitySet<SectionId>,
    /// The numbers of the files, sorted; `None` if all are kept.
    files: Option<Vec<i64>>,
}

impl KeptDebugInfo {
    fn of(module: &Module, items: &[ItemText], retention: &impl Fn(SymbolId) -> Retention) -> Self {
        let kept_bodies = || {
            bodies(module, items, retention)
                .filter(|body| body.is_kept)
                .map(|body| body.body)
        };
        let sections = if module.sections().is_empty() {
            EntitySet::new()
        } else {
            let removed = removed_names(module, items, retention);
            debug::sections(module, &removed, kept_bodies())
        };
        // The data of sections refer to files by number.
        let mut ids = module.sections().ids();
        let keeps_all_sections = ids.len() > 0 && ids.all(|id| sections.contains(id));
        let files = (!keeps_all_sections).then(|| {
            let mut files: Vec<i64> = kept_bodies()
                .flat_map(|body| {
                    debug::locations(body).flat_map(move |loc| debug::files(body, loc))
                })
                .collect();
            files.extend(debug::embedded(module));
            files.sort_unstable();
            files
        });
        Self { sections, files }
    }

    /// Whether a directive is kept: it is neither an alias of a removed name nor a `.file` to which no kept `.loc` refers.
    fn keeps_directive(
        &self,
        module: &Module,
        id: DirectiveId,
        retention: &impl Fn(SymbolId) -> Retention,
    ) -> bool {
        let Some(statement) = module.directives().get(id) else {
            return true;
        };
        let first = module.pool().slice(statement.args).first();
        match (statement.directive, first) {
            (Directive::Alias, Some(Operand::Symbol(alias))) => {
                retention(*alias) == Retention::Keep
            }
            (Directive::File, _) => {
                let number = ptx_analysis::source_lines::file_number(module, statement);
                match (&self.files, number) {
                    (Some(used), Some(number)) => used.binary_search(&number).is_ok(),
                    _ => true,
                }
            }
            _ => true,
        }
    }
}

/// The body of a function that may be kept.
#[derive(Copy, Clone)]
struct RetainedBody<'m> {
    body: &'m Body,
    is_kept: bool,
}

/// Every body of a module.
fn bodies<'m>(
    module: &'m Module,
    items: &'m [ItemText],
    retention: &'m impl Fn(SymbolId) -> Retention,
) -> impl Iterator<Item = RetainedBody<'m>> {
    items.iter().filter_map(move |item| match item.item {
        Item::Function(id) => {
            let symbol = module.functions().get(id)?.symbol;
            Some(RetainedBody {
                body: module.body(id)?,
                is_kept: symbol.map_or(Retention::Keep, retention) == Retention::Keep,
            })
        }
        _ => None,
    })
}

/// The names of removed entities, except names that a kept entity has as well.
fn removed_names(
    module: &Module,
    items: &[ItemText],
    retention: &impl Fn(SymbolId) -> Retention,
) -> EntitySet<NameId> {
    let (mut removed, mut kept) = (EntitySet::new(), EntitySet::new());
    for (id, symbol) in module.symbols().iter() {
        let names = if retention(id) == Retention::Drop {
            &mut removed
        } else {
            &mut kept
        };
        names.insert(symbol.name);
    }
    for body in bodies(module, items, retention) {
        let names = if body.is_kept {
            &mut kept
        } else {
            &mut removed
        };
        names.extend(debug::names(body.body));
    }
    removed
        .iter()
        .filter(|name| !kept.contains(*name))
        .collect()
}
