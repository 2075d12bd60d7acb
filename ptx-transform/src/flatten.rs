//! Removes the inner scopes of functions.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_edit::raw::{EntityMap, NameForm, TakenNames};
use ptx_edit::{Entity, NameRef, Names, Renaming, Rewriting};
use ptx_ir::raw::TextPatches;
use ptx_ir::{Body, EntityId, FuncId, Item, Module, NameId, Rewritten, ScopeId, Statement};

use crate::printed::rewrite;
use crate::renumber::whole_lines;

/// Removes the `{ }` of inner scopes. Their declarations stay at their place; a name that is used for something else in the
/// function or the module gets a number: `param0` becomes `param0_1`.
///
/// The time is O(n log n) in the size of the source.
///
/// ```
/// let text = ".version 8.0\n.target sm_80\n.entry k()\n{\n\t{\n\t.reg .b32 a;\n\t}\n\t{\n\t.reg .b32 a;\n\t}\n}\n";
/// let module = ptx_parse::parse_str(text).module;
/// let new = ptx_transform::flatten(&module);
/// assert!(new.text().ends_with(b"{\n\t.reg .b32 a;\n\t.reg .b32 a_1;\n}\n"));
/// ```
#[must_use]
pub fn flatten(module: &Module) -> Rewriting {
    rewrite(module, flatten_text)
}

/// [`flatten`] of a module whose source is its text.
fn flatten_text(module: &Module) -> Rewritten {
    let names = Names::of(module);
    let source = module.source();
    let mut flattener = Flattener::new(module, &names);
    let mut patches = TextPatches::new();
    for (id, item) in module.items() {
        let Item::Function(function) = item else {
            continue;
        };
        let Some(body) = module.body(function) else {
            continue;
        };
        if body.inner_scopes().is_empty() {
            continue;
        }
        flattener.rename_declarations(function, names.within(module.span(id)));
        remove_braces(body, source, &mut patches);
    }
    flattener.renaming.patch(&names, &mut patches);
    patches.apply(source)
}

/// Removes the braces of the inner scopes of a body.
fn remove_braces(body: &Body, source: &[u8], patches: &mut TextPatches) {
    for (id, statement) in body.statements() {
        let is_brace = match statement {
            Statement::Open(scope) => body.scope(scope).is_some_and(|s| s.close.is_some()),
            Statement::Close(_) => true,
            _ => false,
        };
        if is_brace {
            let brace = body.source_span(id);
            let lines = whole_lines(source, brace);
            patches.replace(lines, if lines == brace { " " } else { "" });
        }
    }
}

/// Finds new names for the declarations of inner scopes, function by function.
struct Flattener<'m> {
    module: &'m Module,
    /// The names of the module.
    module_names: TakenNames,
    /// Unresolved names: a label that a debug section refers to keeps its name.
    unresolved: TakenNames,
    /// The entities whose declaration was seen.
    seen: EntityMap<bool>,
    /// For each name, the last number that was appended to it in the function.
    counters: Vec<u32>,
    renaming: Renaming,
}

impl<'m> Flattener<'m> {
    fn new(module: &'m Module, names: &Names) -> Self {
        let mut module_names = TakenNames::default();
        let mut unresolved = TakenNames::default();
        for name in names.refs() {
            let text = name.whole().of(module.source());
            match name.entity {
                Entity::Symbol(_) => module_names.add(text, NameForm::Plain),
                Entity::Unknown(_) => unresolved.add(text, NameForm::Plain),
                _ => {}
            }
        }
        Self {
            module,
            module_names,
            unresolved,
            seen: EntityMap::new(module),
            counters: vec![0; module.name_count()],
            renaming: Renaming::new(),
        }
    }

    /// Renames the declarations of inner scopes whose name is used for another entity in the function or the module.
    fn rename_declarations(&mut self, function: FuncId, names: &[NameRef]) {
        // Names in the outermost scope stay, so they are taken first.
        let mut local_names = TakenNames::default();
        let mut inner_declarations = Vec::new();
        for name in names {
            let Some(declared) = LocalName::of(self.module, function, name.entity) else {
                continue;
            };
            if self.seen.replace(name.entity, true) == Some(true) {
                continue;
            }
            match declared.scope.as_u32() {
                0 => local_names.add(self.module.name_bytes(declared.name), declared.form),
                _ => inner_declarations.push((name.entity, declared)),
            }
        }
        for &(entity, declared) in &inner_declarations {
            let old = self.module.name(declared.name);
            let new = self.unused_name(declared, &local_names);
            local_names.add(new.as_bytes(), declared.form);
            if new != old {
                self.renaming.set(entity, new);
            }
        }
        for (_, declared) in inner_declarations {
            self.counters[declared.name.index()] = 0;
        }
    }

    /// The name of a declaration, with a number if it conflicts with another name.
    fn unused_name(&mut self, declared: LocalName, local_names: &TakenNames) -> String {
        let old = self.module.name(declared.name);
        let mut new = String::from(old);
        let counter = &mut self.counters[declared.name.index()];
        while local_names.conflicts(new.as_bytes(), declared.form)
            || self.module_names.conflicts(new.as_bytes(), declared.form)
            || new != old && self.unresolved.conflicts(new.as_bytes(), declared.form)
        {
            *counter += 1;
            let end = if declared.form == NameForm::Range {
                "_"
            } else {
                ""
            };
            new = format!("{old}_{counter}{end}");
        }
        new
    }
}

/// The name of a register, a variable or a label of a function.
#[derive(Copy, Clone)]
struct LocalName {
    name: NameId,
    /// The scope of the declaration.
    scope: ScopeId,
    form: NameForm,
}

impl LocalName {
    fn of(module: &Module, function: FuncId, entity: Entity) -> Option<Self> {
        let body = module.body(function)?;
        let (name, scope, form) = match entity {
            Entity::Register(_, id) => {
                let register = body.reg_decls().get(id)?;
                (register.name, register.scope, NameForm::of(register.count))
            }
            Entity::Variable(_, id) => {
                let variable = body.vars().get(id)?;
                (variable.name, variable.scope, NameForm::of(variable.number))
            }
            Entity::Label(_, id) => {
                let label = body.labels().get(id)?;
                (label.name, label.scope, NameForm::Plain)
            }
            _ => return None,
        };
        Some(Self { name, scope, form })
    }
}
