//! Inner scopes dissolved into the body of their function.

use alloc::vec::Vec;
use core::convert::Infallible;

use ptx_ir::{Body, FuncId, Module, NameId, ScopeId, Statement};

use crate::names::{Entity, Fixed, Spellings, Taken, rewrite};
use crate::{Rewritten, Splices, lines};

/// Takes the braces of inner scopes away. What is declared in them and has a name that something else has, there or in the
/// module, gets another one, with letters behind it. Linear in the source; the machine code is the same.
///
/// A function keeps its scopes where debug information or a table of targets speaks of a name that would have to change.
///
/// ```
/// let text = b".version 8.0 .target sm_80 .entry k()\n{\n\t.reg .b32 r;\n\t{\n\t.reg .b32 r;\n\tmov.b32 r, 1;\n\t}\n\tret;\n}\n";
/// let flat = ptx_transform::flatten(&ptx_parse::parse(text).module);
/// assert!(flat.text.ends_with(b"{\n\t.reg .b32 r;\n\t.reg .b32 r_a;\n\tmov.b32 r_a, 1;\n\tret;\n}\n"));
/// ```
pub fn flatten(module: &Module) -> Rewritten {
    let done = rewrite(module, |module| {
        let fixed = Fixed::new(module);
        let taken = Taken::of_module(module, &fixed);
        let mut spellings = Spellings::default();
        let mut braces = Vec::new();
        for (function, _, body) in module.definitions() {
            if body.inner_scopes.is_empty() {
                continue;
            }
            let Some(new) = new_names(module, function, body, &fixed, taken.inside()) else {
                continue;
            };
            for (entity, name) in new {
                spellings.set(entity, name);
            }
            let all = body.statements();
            let brace = |s| matches!(s, Statement::Open(_) | Statement::Close(_));
            braces.extend(
                all.filter(|(_, s)| brace(*s))
                    .map(|(id, _)| body.source_span(id)),
            );
        }
        let mut splices = Splices::new();
        spellings.splice(module, &mut splices);
        lines::remove(module.source(), braces, &mut splices);
        Ok::<_, Infallible>(splices)
    });
    match done {
        Ok(done) => done,
        Err(never) => match never {},
    }
}

/// The names of what inner scopes declare, if they can have them.
fn new_names(
    module: &Module,
    function: FuncId,
    body: &Body,
    fixed: &Fixed,
    mut taken: Taken<'_>,
) -> Option<Vec<(Entity, alloc::string::String)>> {
    let (outer, inner): (Vec<_>, Vec<_>) = declared(function, body)
        .into_iter()
        .partition(|(_, _, scope)| *scope == ScopeId::new(0));
    for (_, name, _) in outer {
        taken.add(module.name_bytes(name));
    }
    let mut new = Vec::new();
    for (entity, name, _) in inner {
        let old = module.name(name);
        let name = taken.like(old);
        if name != old {
            if fixed.has(module, entity) {
                return None;
            }
            new.push((entity, name));
        }
    }
    Some(new)
}

/// What a body declares: the name, and the scope.
fn declared(function: FuncId, body: &Body) -> Vec<(Entity, NameId, ScopeId)> {
    let mut all = Vec::new();
    for (id, d) in body.reg_decls.iter() {
        all.push((Entity::Register(function, id), d.name, d.scope));
    }
    let mut last = None;
    for (id, v) in body.vars.iter() {
        // Of a range, the first stands for all.
        let range = v.number.map(|_| (v.name, v.scope, v.stmt));
        if range.is_none() || range != last {
            all.push((Entity::Variable(function, id), v.name, v.scope));
        }
        last = range;
    }
    for (id, l) in body.labels.iter() {
        all.push((Entity::Label(function, id), l.name, l.scope));
    }
    all
}
