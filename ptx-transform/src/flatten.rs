//! Removes the inner scopes of functions.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_edit::{Entity, EntityMap, NameForm, Names, Renaming, TakenNames};
use ptx_ir::{EntityId, FuncId, Item, Module, NameId, Rewritten, ScopeId, Statement, TextPatches};

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
/// let new = String::from_utf8(ptx_transform::flatten(&module).text).unwrap();
/// assert!(new.ends_with("{\n\t.reg .b32 a;\n\t.reg .b32 a_1;\n}\n"));
/// ```
#[must_use]
pub fn flatten(module: &Module) -> Rewritten {
    rewrite(module, flatten_text)
}

/// [`flatten`] of a module whose source is its text.
fn flatten_text(module: &Module) -> Rewritten {
    let names = Names::of(module);
    let source = module.source();
    let mut renaming = Renaming::new();
    let mut patches = TextPatches::new();
    // Names of the module, and unresolved ones: a label that a debug section refers to keeps its name.
    let (mut global, mut unknown) = (TakenNames::default(), TakenNames::default());
    for m in names.refs() {
        match m.entity {
            Entity::Symbol(_) => global.add(m.whole().of(source), NameForm::Plain),
            Entity::Unknown(_) => unknown.add(m.whole().of(source), NameForm::Plain),
            _ => {}
        }
    }
    let mut seen: EntityMap<bool> = EntityMap::new(module);
    // How often each name got a number in the function.
    let mut counters: Vec<u32> = vec![0; module.name_count()];
    for (id, item) in module.items() {
        let Item::Function(f) = item else {
            continue;
        };
        let Some(body) = module.body(f) else {
            continue;
        };
        if body.inner_scopes().is_empty() {
            continue;
        }
        let mut local = TakenNames::default();
        // Names in the outermost scope stay, so they are taken first.
        let mut inner = Vec::new();
        for m in names.within(module.span(id)) {
            let Some((name, scope, form)) = declared(module, f, m.entity) else {
                continue;
            };
            if seen.replace(m.entity, true) == Some(true) {
                continue;
            }
            match scope.as_u32() {
                0 => local.add(module.name_bytes(name), form),
                _ => inner.push((m.entity, name, form)),
            }
        }
        for &(entity, name, form) in &inner {
            let old = module.name(name);
            let is_taken = |new: &str| {
                let sets = [&local, &global];
                sets.iter().any(|set| set.conflicts(new.as_bytes(), form))
            };
            let mut new = String::from(old);
            while is_taken(&new) || new != old && unknown.conflicts(new.as_bytes(), form) {
                let counter = &mut counters[name.index()];
                *counter += 1;
                let end = if form == NameForm::Range { "_" } else { "" };
                new = format!("{old}_{counter}{end}");
            }
            local.add(new.as_bytes(), form);
            if new != old {
                renaming.set(entity, new);
            }
        }
        for (_, name, _) in inner {
            counters[name.index()] = 0;
        }
        for (id, statement) in body.statements() {
            let whole = match statement {
                Statement::Open(scope) => body.scope(scope).is_some_and(|s| s.close.is_some()),
                Statement::Close(_) => true,
                _ => false,
            };
            if whole {
                let brace = body.source_span(id);
                let piece = whole_lines(source, brace);
                patches.replace(piece, if piece == brace { " " } else { "" });
            }
        }
    }
    renaming.patch(&names, &mut patches);
    patches.apply(source)
}

/// The name of something of a function, the scope that declares it, and the form of the name.
fn declared(module: &Module, f: FuncId, entity: Entity) -> Option<(NameId, ScopeId, NameForm)> {
    let body = module.body(f)?;
    match entity {
        Entity::Register(_, id) => {
            let decl = body.reg_decls().get(id)?;
            Some((decl.name, decl.scope, NameForm::of(decl.count)))
        }
        Entity::Variable(_, id) => {
            let var = body.vars().get(id)?;
            Some((var.name, var.scope, NameForm::of(var.number)))
        }
        Entity::Label(_, id) => {
            let label = body.labels().get(id)?;
            Some((label.name, label.scope, NameForm::Plain))
        }
        _ => None,
    }
}
