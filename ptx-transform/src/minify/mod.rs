//! Makes the text of a module as short as possible.

mod dead;
mod short_names;
mod tokens;

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

use ptx_edit::raw::{EntityMap, NameForm, TakenNames, own_symbols};
use ptx_edit::{Entity, NameRef, Names, OwnSymbols, Rewriting};
use ptx_ir::raw::EntitySet;
use ptx_ir::{Binding, FuncId, Item, Module, Rewritten, Span, Statement, TypeName, VarId};
use ptx_isa::{StateSpace, TypeKind};

use self::dead::dead;
use self::short_names::ShortNames;
use crate::printed::rewrite;
use crate::register_use::{self, InnerComments, NumberOrder, Renumbered, Usage, new_number};

/// The changes that [`minify`] makes besides those of whitespace, comments and the names inside of functions.
///
/// ```
/// use ptx_transform::MinifyOptions;
/// let options = MinifyOptions::default().with_symbols(true).with_dead(true);
/// assert!(options.symbols && options.dead);
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug, Hash)]
#[non_exhaustive]
pub struct MinifyOptions {
    /// Renames functions and module variables that are not visible to other modules; by default not.
    pub symbols: bool,
    /// Removes functions and module variables that are not visible to other modules and not used; by default not.
    pub dead: bool,
}

impl MinifyOptions {
    /// Sets whether functions and module variables that are not visible to other modules are renamed as well.
    #[must_use]
    pub const fn with_symbols(mut self, symbols: bool) -> Self {
        self.symbols = symbols;
        self
    }

    /// Sets whether functions and module variables are removed that are not visible to other modules and not used.
    #[must_use]
    pub const fn with_dead(mut self, dead: bool) -> Self {
        self.dead = dead;
        self
    }
}

/// Makes the text of a module as short as possible without changing its meaning.
///
/// By default, removes whitespace, comments and unused registers, and shortens the names of registers, labels, parameters
/// and `.shared`, `.local` and `.param` variables of functions; the machine code stays the same. Names that a debug section or
/// a table of targets such as `N<5>` refers to stay. Debug information stays; remove it with [`strip`](crate::strip) before.
/// In a module for debuggers (`.target …, debug`), the debug data refer to registers by their old names.
///
/// Minifying the result changes nothing. The time is O(n log n) in the size of the source.
///
/// ```
/// use ptx_transform::minify;
/// let text = ".version 8.0\n.target sm_80\n.entry k(.param .b64 k_param_0)\n{\n  .reg .b64 %rd<9>; // two\n  ld.param.b64 %rd5, [k_param_0];\n}\n";
/// let module = ptx_parse::parse_str(text).module;
/// let new = minify(&module, &Default::default());
/// assert_eq!(new.text(), b".version 8.0 .target sm_80 .entry k(.param.b64 a){.reg.b64 b<1>;ld.param.b64 b0,[a];}");
/// ```
#[must_use]
pub fn minify(module: &Module, options: &MinifyOptions) -> Rewriting {
    rewrite(module, |module| minify_text(module, options))
}

/// [`minify`] of a module whose source is its text.
fn minify_text(module: &Module, options: &MinifyOptions) -> Rewritten {
    let mut names = Names::of(module);
    let mut removed = Vec::new();
    if options.dead {
        removed = dead(module, &names);
        // Names in removed items are not counted.
        names.remove_within(&removed);
    }
    let mut counts = EntityMap::new(module);
    for name in names.refs() {
        if let Some(count) = counts.get_mut(name.entity) {
            *count += 1;
        }
    }
    let mut minifier = Minifier {
        module,
        unresolved: names.unresolved(module),
        usage: Usage::of(module, names.refs(), NumberOrder::Frequency),
        new_names: EntityMap::new(module),
        counts,
        removed,
    };
    let visible_names = minifier.rename_symbols(&names, options);
    for (id, item) in module.items() {
        if let Item::Function(function) = item {
            let function_names = names.within(module.span(id));
            minifier.rename_in_function(function, function_names, &visible_names);
        }
    }
    minifier.removed.sort_by_key(|span| span.start);
    tokens::write(&minifier, &names)
}

/// Finds the new names and the parts of the source that are removed.
struct Minifier<'m> {
    module: &'m Module,
    /// An entity with one of these names keeps it.
    unresolved: TakenNames,
    usage: Usage,
    new_names: EntityMap<Option<String>>,
    /// The number of times that each entity is mentioned; 0 as soon as it has a new name.
    counts: EntityMap<u32>,
    /// Sorted when all of them are known.
    removed: Vec<Span>,
}

impl Minifier<'_> {
    /// Renames the symbols and the variables in memory; returns all names that are visible in functions.
    fn rename_symbols(&mut self, names: &Names, options: &MinifyOptions) -> TakenNames {
        let module = self.module;
        let private = if options.symbols {
            own_symbols(module, OwnSymbols::Private)
        } else {
            EntitySet::new()
        };
        let mut visible_names = self.unresolved.clone();
        let mut renamable = Vec::new();
        for name in names.refs() {
            let text = name.name.of(module.source());
            let is_renamed_symbol = match name.entity {
                Entity::Symbol(symbol) => private.contains(symbol),
                entity => is_memory(module, entity),
            };
            if !is_renamed_symbol && !is_local(module, name.entity)
                || self.unresolved.contains(text)
            {
                // The members of a range are taken with it.
                visible_names.add(text, NameForm::Plain);
            } else if is_renamed_symbol {
                renamable.push(name.entity);
            }
        }
        let mut short_names = ShortNames::with_two_letters(&visible_names);
        for entity in self.by_frequency(renamable) {
            self.new_names.replace(entity, Some(short_names.take()));
        }
        for name in self.new_names.values().flatten() {
            visible_names.add(name.as_bytes(), NameForm::Plain);
        }
        visible_names
    }

    /// Removes the unused registers of a function and renames the entities that only the function sees.
    fn rename_in_function(
        &mut self,
        function: FuncId,
        names: &[NameRef],
        visible_names: &TakenNames,
    ) {
        let (module, source) = (self.module, self.module.source());
        if let Some(body) = module.body(function) {
            self.removed.extend(register_use::unused(
                function,
                body,
                source,
                InnerComments::Remove,
                |entity| self.usage.is_used(entity),
            ));
        }
        let handles = handles(module, function);
        let mut renamable = Vec::new();
        let mut kept_names = TakenNames::default();
        for name in names {
            let text = name.name.of(source);
            let is_handle = matches!(name.entity, Entity::Variable(_, v) if handles.contains(v));
            let is_local = is_local(module, name.entity) && !is_handle;
            if is_local && !self.unresolved.contains(text) {
                if !self.is_removed_register(name.entity) {
                    renamable.push(name.entity);
                }
            } else if self.new_name(name.entity).is_none() {
                kept_names.add(text, NameForm::Plain);
            }
        }
        let mut short_names = ShortNames::new(visible_names, &kept_names);
        for entity in self.by_frequency(renamable) {
            self.new_names.replace(entity, Some(short_names.take()));
        }
    }

    /// The entity is a register whose declaration is removed.
    fn is_removed_register(&self, entity: Entity) -> bool {
        matches!(entity, Entity::Register(..))
            && !self.usage.is_used(entity)
            && !is_parameter(self.module, entity)
    }

    /// The entities without a new name, by the number of their mentions in the module, then by their first mention.
    fn by_frequency(&mut self, entities: Vec<Entity>) -> Vec<Entity> {
        let mut ranked: Vec<(Reverse<u32>, usize, Entity)> = Vec::new();
        for (index, entity) in entities.into_iter().enumerate() {
            match self.counts.replace(entity, 0) {
                None | Some(0) => {}
                Some(count) => ranked.push((Reverse(count), index, entity)),
            }
        }
        ranked.sort_unstable();
        ranked.into_iter().map(|(.., entity)| entity).collect()
    }

    fn new_name(&self, entity: Entity) -> Option<&str> {
        self.new_names.get(entity)?.as_deref()
    }

    /// The members of a range that is renamed, with their new numbers; empty for any other entity.
    fn new_numbers(&self, entity: Entity) -> &[Renumbered] {
        match self.new_name(entity) {
            Some(_) => self.usage.numbers(entity),
            None => &[],
        }
    }

    /// The number in a declaration of a renamed range that becomes its new count.
    fn new_count(&self, name: &NameRef) -> Option<NewCount> {
        let numbers = self.new_numbers(name.entity);
        let is_declared_range = name.member.is_none() && name.declares && !name.number.is_empty();
        (is_declared_range && !numbers.is_empty()).then_some(NewCount {
            span: name.number,
            count: numbers.len() as u32,
        })
    }

    /// The new text of a token that is the name of a renamed entity.
    fn new_text(&self, name: &NameRef, token: &[u8]) -> Option<Vec<u8>> {
        let mut text = self.new_name(name.entity)?.as_bytes().to_vec();
        if let Some(member) = name.member {
            match new_number(self.new_numbers(name.entity), member) {
                Some(number) => text.extend_from_slice(format!("{number}").as_bytes()),
                None => text.extend_from_slice(token.get(name.name.len()..).unwrap_or_default()),
            }
        }
        Some(text)
    }
}

/// The count of a range that is declared at a place of the source.
#[derive(Copy, Clone)]
struct NewCount {
    span: Span,
    count: u32,
}

/// Whether the entity is local to a function and does not appear in the machine code.
fn is_local(module: &Module, entity: Entity) -> bool {
    match entity {
        Entity::Register(..) | Entity::Label(..) | Entity::Parameter(_) => true,
        Entity::Variable(function, id) => module
            .body(function)
            .and_then(|body| body.vars().get(id))
            .is_some_and(|v| v.stmt.is_none() || v.space.base() == StateSpace::Param),
        _ => false,
    }
}

/// Whether the entity is a variable of a function in memory that other modules do not see. ptxas names its symbol after the
/// variable and its line: on one line, two variables of the same name would be the same symbol.
fn is_memory(module: &Module, entity: Entity) -> bool {
    let Entity::Variable(function, id) = entity else {
        return false;
    };
    module.body(function).is_some_and(|body| {
        let variable = body.vars().get(id);
        let declaration = match variable.and_then(|v| body.statement(v.stmt?)) {
            Some(Statement::Decl(declaration)) => body.declarations().decls.get(declaration),
            _ => None,
        };
        declaration.is_some_and(|d| {
            let space = d.space.base();
            d.linkage.is_none() && matches!(space, StateSpace::Shared | StateSpace::Local)
        })
    })
}

/// The parameters of a kernel that are textures, samplers or surfaces: the driver finds them by name.
fn handles(module: &Module, function: FuncId) -> EntitySet<VarId> {
    let record = module.functions().get(function);
    let params = record.map(|f| f.interface.params).unwrap_or_default();
    params
        .of(module.params())
        .iter()
        .filter_map(|param| match (param.ty, param.binding) {
            (TypeName::Known(ty), Binding::Var(v)) if ty.kind() == TypeKind::Opaque => Some(v),
            _ => None,
        })
        .collect()
}

/// The entity is a register that is a parameter of its function.
fn is_parameter(module: &Module, entity: Entity) -> bool {
    let Entity::Register(function, id) = entity else {
        return false;
    };
    let register = module.body(function).and_then(|b| b.reg_decls().get(id));
    register.is_some_and(|r| r.stmt.is_none())
}
