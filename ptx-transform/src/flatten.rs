//! Removes the inner scopes of functions.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::{FuncId, Item, Module, Rewritten, ScopeId, Statement, TextPatches};

use crate::renumber::whole_lines;
use ptx_edit::{Entity, NameForm, Names, Renaming, TakenNames};

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
        let (mut inner, mut seen) = (Vec::new(), BTreeSet::new());
        for m in names.within(module.span(id)) {
            let Some((scope, form)) = scope_of(module, f, m.entity) else {
                continue;
            };
            if !seen.insert(m.entity) {
                continue;
            }
            match scope.as_u32() {
                0 => local.add(m.name.of(source), form),
                _ => inner.push((m.entity, m.name.of(source), form)),
            }
        }
        // Numbers continue for the same name.
        let mut counters: BTreeMap<&[u8], u32> = BTreeMap::new();
        for (entity, name, form) in inner {
            if !local.conflicts(name, form) && !global.conflicts(name, form) {
                local.add(name, form);
                continue;
            }
            let counter = counters.entry(name).or_insert(0);
            let new = loop {
                *counter += 1;
                let mut new = String::from_utf8_lossy(name).into_owned();
                new.push('_');
                new.push_str(&alloc::format!("{counter}"));
                if form == NameForm::Range {
                    new.push('_');
                }
                let sets = [&local, &global, &unknown];
                if !sets.iter().any(|t| t.conflicts(new.as_bytes(), form)) {
                    break new;
                }
            };
            local.add(new.as_bytes(), form);
            renaming.set(entity, new);
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

/// The scope that declares something of a function, and the form of its name.
fn scope_of(module: &Module, f: FuncId, entity: Entity) -> Option<(ScopeId, NameForm)> {
    let body = module.body(f)?;
    match entity {
        Entity::Register(_, id) => {
            let decl = body.reg_decls().get(id)?;
            Some((decl.scope, NameForm::of(decl.count)))
        }
        Entity::Variable(_, id) => {
            let var = body.vars().get(id)?;
            Some((var.scope, NameForm::of(var.number)))
        }
        Entity::Label(_, id) => Some((body.labels().get(id)?.scope, NameForm::Plain)),
        _ => None,
    }
}
