//! Splits a module into two parts that can be linked again.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_edit::Rewriting;
use ptx_ir::raw::{EntitySet, TextPatches};
use ptx_ir::{Diagnostic, FunctionKind, Item, Linkage, Module, SymbolId, SymbolKind};
use ptx_isa::{Directive, StateSpace, TypeKind};

use crate::dependencies::{Dependencies, mentioned};
use crate::extract::{self, ExtractError, Retention};
use crate::items::{ItemText, items};
use crate::printed::Printed;

/// Two parts of a module.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Split {
    /// The selected functions, with everything they depend on. The report has warnings about what could not be kept.
    pub part: Rewriting<Vec<Diagnostic>>,
    /// Everything else. The report has warnings about what could not be kept.
    pub rest: Rewriting<Vec<Diagnostic>>,
    /// The names that became `.visible` in the part since the rest uses them, too; [`LinkOptions::with_hidden`](crate::LinkOptions::with_hidden)
    /// undoes that.
    pub exported: Vec<String>,
}

/// Splits a module into some functions with everything they depend on, as [`extract`](crate::extract()) does, and the rest.
/// Names that both use are `.extern` in the rest and `.visible` in the part, so that [`link`](crate::link()) restores the
/// module. If a name cannot be shared between modules (kernels, aliases, shared memory, textures, ranges), all functions that
/// depend on it are in the part. The time is linear in the size of the module.
///
/// ```
/// let text = b".version 8.0\n.target sm_80\n.address_size 64\n.func f() { ret; }
/// .entry k() { call f; ret; }\n.entry other() { call f; ret; }\n";
/// let module = ptx_parse::parse(text).module;
/// let split = ptx_transform::split(&module, &["k"])?;
/// let rest = b".version 8.0\n.target sm_80\n.address_size 64\n.extern .func f();\n.entry other() { call f; ret; }\n";
/// assert_eq!(split.rest.text(), rest);
/// assert_eq!(split.exported, ["f"]);
///
/// let options = ptx_transform::LinkOptions::default().with_hidden(split.exported);
/// let linked = ptx_transform::link(&[&split.part.module, &split.rest.module], &options)?;
/// assert_eq!(linked.text(), text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// An error of [`extract`](crate::extract()).
pub fn split(module: &Module, functions: &[&str]) -> Result<Split, ExtractError> {
    let printed = Printed::of(module);
    let module = printed.module();
    let roots = extract::roots(module, functions)?;
    let mut needs = Dependencies::of(module);
    needs.bind(&bound(module, &needs));
    let part = needs.reach(&roots);
    let in_part = |s: SymbolId| part.contains(needs.first(s));
    // The symbols of the part that the rest uses.
    let mut shared = EntitySet::new();
    let used_by_rest = module
        .symbols()
        .ids()
        .filter(|s| !in_part(*s))
        .flat_map(|s| needs.of_symbol(s).iter());
    for symbol in used_by_rest.chain(&needs.opaque) {
        let symbol = needs.first(*symbol);
        if part.contains(symbol) {
            shared.insert(symbol);
        }
    }
    let items = items(module);
    let mut patches = TextPatches::new();
    let exported = export(module, &items, &in_part, &shared, &mut patches);
    let part_retention = |symbol| {
        if in_part(symbol) {
            Retention::Keep
        } else {
            Retention::Drop
        }
    };
    let rest_retention = |symbol| {
        if !in_part(symbol) {
            Retention::Keep
        } else if shared.contains(needs.first(symbol)) {
            Retention::Declare
        } else {
            Retention::Drop
        }
    };
    Ok(Split {
        part: extract::retain(&printed, &items, &part_retention, patches),
        rest: extract::retain(&printed, &items, &rest_retention, TextPatches::new()),
        exported,
    })
}

/// The names that cannot be external: all functions that use them are in the same part.
fn bound(module: &Module, needs: &Dependencies) -> EntitySet<SymbolId> {
    let mut bound = EntitySet::new();
    for (id, symbol) in module.symbols().iter() {
        let is_bound = match symbol.kind {
            SymbolKind::Function(f) => module
                .functions()
                .get(f)
                .is_none_or(|f| f.kind == FunctionKind::Entry || f.raw_header),
            SymbolKind::Variable(space, decl) => {
                let decl = module.declarations().decls.get(decl);
                let is_external = decl.is_some_and(|d| d.linkage == Some(Linkage::Extern));
                let can_be_external =
                    matches!(space.base(), StateSpace::Global | StateSpace::Const);
                let is_opaque =
                    decl.is_none_or(|d| d.ty.known().is_none_or(|t| t.kind() == TypeKind::Opaque));
                !is_external && (!can_be_external || is_opaque) || symbol.number.is_some()
            }
            _ => true,
        };
        if is_bound {
            bound.insert(needs.first(id));
        }
    }
    // Aliases, and the functions that are declared inside of functions.
    for (_, item) in module.items() {
        if let Item::Directive(id) = item
            && let Some(d) = module.directives().get(id)
            && d.directive == Directive::Alias
        {
            let args = module.pool().slice(d.args);
            bound.extend(mentioned(module.pool(), args));
        }
    }
    for body in module.bodies().values() {
        let symbols = body
            .functions()
            .filter_map(|f| module.functions().get(f)?.symbol);
        bound.extend(symbols);
    }
    bound
}

/// Makes shared names visible; returns the names that were private before.
fn export(
    module: &Module,
    items: &[ItemText],
    in_part: &impl Fn(SymbolId) -> bool,
    shared: &EntitySet<SymbolId>,
    patches: &mut TextPatches,
) -> Vec<String> {
    let mut exported: Vec<&str> = Vec::new();
    // One visible declaration of a function is enough.
    let visible: EntitySet<SymbolId> = module
        .functions()
        .values()
        .filter(|function| function.linkage.is_some())
        .filter_map(|function| function.symbol)
        .collect();
    for item in items {
        let names: Vec<&str> = match item.item {
            Item::Function(id) => module
                .functions()
                .get(id)
                .filter(|function| {
                    function
                        .symbol
                        .is_some_and(|s| shared.contains(s) && !visible.contains(s))
                })
                .map(|function| module.name(function.name))
                .into_iter()
                .collect(),
            Item::Decl(id) => {
                let linkage = module.declarations().decls.get(id).and_then(|d| d.linkage);
                let declarators = module.declarations().declarators(id);
                let is_shared = declarators
                    .iter()
                    .filter_map(|declarator| declarator.binding.symbol())
                    .any(|symbol| shared.contains(symbol));
                if linkage.is_some() || !is_shared {
                    continue;
                }
                // All names of a declaration have the same linkage.
                declarators
                    .iter()
                    .filter(|declarator| declarator.binding.symbol().is_some_and(in_part))
                    .map(|declarator| module.name(declarator.name))
                    .collect()
            }
            _ => continue,
        };
        if names.is_empty() {
            continue;
        }
        patches.insert(item.extent.statement.start, ".visible ");
        exported.extend(names);
    }
    exported.sort_unstable();
    exported.dedup();
    exported.into_iter().map(str::to_owned).collect()
}
