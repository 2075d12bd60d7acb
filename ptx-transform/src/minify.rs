//! The shortest text of a program.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::convert::Infallible;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{
    Binding, FuncId, Function, Item, Module, Span, Statement, SymbolId, TableRange, TypeName, VarId,
};
use ptx_isa::{StateSpace, TypeKind};

use crate::names::{
    Alphabet, Entity, Fixed, Spellings, Taken, current, each_name, parameters, rewrite,
};
use crate::{Rewritten, Splices, lines};

/// What else to shorten. By default only what leaves the machine code as it is: white space, comments, and the names of
/// registers, labels, parameters and of `.shared`, `.local` and `.param` variables inside functions.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Minify {
    /// Also names of the module that other modules cannot see, and those of other variables inside functions.
    pub symbols: bool,
    /// Also takes away what nothing mentions: declarations and labels, and functions and variables that other modules cannot
    /// see.
    pub dead: bool,
}

/// Writes a module as short as its words allow. Names that debug information or something not understood speaks of stay.
/// Linear in the source; `dead` takes a pass more for each step of a chain of things that only mention one another.
///
/// ```
/// use ptx_transform::{Minify, minify};
/// let text = b".version 8.0\n.target sm_80\n.entry k ()\n{\n\t.reg .b32 \t%r<9>; // all\n\tmov.b32 \t%r7, %tid.x;\n\tret;\n}\n";
/// let small = minify(&ptx_parse::parse(text).module, Minify::default());
/// assert_eq!(small.text, b".version 8.0 .target sm_80 .entry k(){.reg .b32 a<9>;mov.b32 a7,%tid.x;ret;}");
/// ```
pub fn minify(module: &Module, what: Minify) -> Rewritten {
    let mut module = current(module);
    if what.dead {
        while let Some(next) = without_dead(&module.0) {
            let map = match module.1 {
                Some(map) => map.then(&next.map),
                None => next.map,
            };
            module = (
                alloc::borrow::Cow::Owned(ptx_parse::parse(&next.text).module),
                Some(map),
            );
        }
    }
    let done = rewrite(&module.0, |module| {
        let mut splices = Splices::new();
        short_names(module, what.symbols).splice(module, &mut splices);
        trivia(module.source(), &mut splices);
        Ok::<_, Infallible>(splices)
    });
    let mut done = match done {
        Ok(done) => done,
        Err(never) => match never {},
    };
    if let Some(before) = module.1 {
        done.map = before.then(&done.map);
    }
    done
}

// --- names ---

/// The shortest names for what is named most.
fn short_names(module: &Module, symbols: bool) -> Spellings {
    let fixed = Fixed::new(module);
    let mut counts: BTreeMap<Entity, u32> = BTreeMap::new();
    each_name(module, |name| *counts.entry(name.entity).or_default() += 1);
    let private = if symbols {
        private_symbols(module)
    } else {
        BTreeSet::new()
    };
    let handles = handles(module);
    let changes = |entity: Entity| {
        let change = match entity {
            Entity::Symbol(id) => private.contains(&id),
            Entity::Variable(function, id) => {
                let var = module.body(function).and_then(|b| b.vars.get(id));
                symbols
                    || var.is_some_and(|v| match v.stmt {
                        None => !handles.contains(&(function, id)),
                        Some(_) => is_local(v.space),
                    })
            }
            _ => true,
        };
        change && !fixed.has(module, entity)
    };
    let mut spellings = Spellings::default();
    // Names of the module first: they are taken in all functions.
    let mut around = Taken::default();
    for (id, symbol) in module.symbols.iter() {
        if !changes(Entity::Symbol(id)) || !counts.contains_key(&Entity::Symbol(id)) {
            around.add(module.name_bytes(symbol.name));
        }
    }
    for name in fixed.names() {
        around.add(name);
    }
    let mut functions: BTreeMap<_, Vec<(u32, Entity)>> = BTreeMap::new();
    for (&entity, &count) in &counts {
        let owner = match entity {
            Entity::Parameter(_) | Entity::Unknown(_) => continue,
            // The assembler's symbols of these are named after name and line: on one line, names have to differ.
            Entity::Variable(function, id) => {
                let var = module.body(function).and_then(|b| b.vars.get(id));
                let memory =
                    var.is_some_and(|v| v.stmt.is_some() && v.space.base() != StateSpace::Param);
                (!memory).then_some(function)
            }
            other => other.function(),
        };
        functions.entry(owner).or_default().push((count, entity));
    }
    let shorten =
        |taken: &mut Taken<'_>, all: &mut Vec<(u32, Entity)>, spellings: &mut Spellings| {
            for (_, entity) in all.iter().filter(|(_, e)| !changes(*e)) {
                if let Some(name) = entity.name(module) {
                    taken.add(module.name_bytes(name));
                }
            }
            // The most frequent first; of equals, in the order of the source.
            all.sort_by_key(|(count, entity)| (core::cmp::Reverse(*count), *entity));
            let mut letters = Alphabet::default();
            for (_, entity) in all.iter().filter(|(_, e)| changes(*e)) {
                spellings.set(*entity, taken.short(&mut letters));
            }
        };
    if let Some(mut of_module) = functions.remove(&None) {
        shorten(&mut around, &mut of_module, &mut spellings);
    }
    for of_function in functions.values_mut() {
        shorten(&mut around.inside(), of_function, &mut spellings);
    }
    for range in lists(module) {
        let mut taken = around.inside();
        let mut letters = Alphabet::default();
        for (index, param) in parameters(module, range) {
            let entity = Entity::Parameter(index);
            if param.name.is_some() && !fixed.has(module, entity) {
                spellings.set(entity, taken.short(&mut letters));
            }
        }
    }
    spellings
}

/// Kernel parameters that are textures, samplers or surfaces: the driver knows them by their names.
fn handles(module: &Module) -> BTreeSet<(FuncId, VarId)> {
    let mut all = BTreeSet::new();
    for (id, function, _) in module.definitions() {
        for (_, param) in parameters(module, function.interface.params) {
            let opaque = matches!(param.ty, TypeName::Known(ty) if ty.kind() == TypeKind::Opaque);
            if let (true, Binding::Var(var)) = (opaque, param.binding) {
                all.insert((id, var));
            }
        }
    }
    all
}

/// Spaces of variables inside functions whose names are not seen in the machine code.
fn is_local(space: StateSpace) -> bool {
    matches!(
        space.base(),
        StateSpace::Shared | StateSpace::Local | StateSpace::Param
    )
}

/// Results and parameters, together, of functions without a body and of prototypes.
fn lists(module: &Module) -> Vec<TableRange> {
    let joined = |i: ptx_ir::Interface| {
        let both = [i.returns, i.params];
        let some = both.iter().filter(|r| r.len > 0);
        let start = some.clone().map(|r| r.start).min()?;
        let end = some.map(|r| r.start + r.len).max()?;
        Some(TableRange {
            start,
            len: end - start,
        })
    };
    let declared = module.functions.values().filter(|f| f.body.is_none());
    let prototypes = module.bodies.values().flat_map(|b| b.prototypes.values());
    declared
        .map(|f| f.interface)
        .chain(prototypes.map(|p| p.interface))
        .filter_map(joined)
        .collect()
}

/// Names of the module that other modules cannot see: no declaration of them has a linkage.
pub(crate) fn private_symbols(module: &Module) -> BTreeSet<SymbolId> {
    let mut private: BTreeSet<SymbolId> = module.symbols.ids().collect();
    for function in module.functions.values() {
        if let Some(symbol) = function.symbol.filter(|_| is_seen(function)) {
            private.remove(&symbol);
        }
    }
    for decl in module
        .declarations
        .decls
        .values()
        .filter(|d| d.linkage.is_some())
    {
        for d in decl.declarators.of(&module.declarations.declarators) {
            if let Binding::Symbol(symbol) = d.binding {
                let name = module.symbols.get(symbol).map(|s| s.name);
                private.retain(|s| module.symbols.get(*s).map(|s| s.name) != name);
            }
        }
    }
    private
}

/// Whether a function can be seen from outside: a kernel always is, by the driver.
fn is_seen(function: &Function) -> bool {
    function.linkage.is_some() || function.kind == ptx_ir::FunctionKind::Entry
}

// --- white space ---

/// Removes trivia, or leaves one blank where words would meet.
fn trivia(source: &[u8], splices: &mut Splices) {
    let mut previous: Option<(TokenKind, &[u8])> = None;
    let mut gap: Option<Span> = None;
    for token in Lexer::new(source) {
        if token.kind.is_trivia() {
            gap = Some(gap.map_or(token.span, |g| g.join(token.span)));
            continue;
        }
        let text = token.span.of(source);
        if let Some(gap) = gap.take() {
            let apart =
                previous.is_some_and(|(kind, before)| stay_apart(kind, before, token.kind, text));
            let new: &[u8] = if apart { b" " } else { b"" };
            if gap.of(source) != new {
                splices.replace(gap, new);
            }
        }
        previous = Some((token.kind, text));
    }
    if let Some(gap) = gap {
        splices.remove(gap);
    }
}

/// Whether two tokens that were apart would be read otherwise, or may be by the assembler, if they were not.
fn stay_apart(left: TokenKind, before: &[u8], right: TokenKind, after: &[u8]) -> bool {
    // Brackets and separators end every word.
    let ends = |text: &[u8]| {
        matches!(
            text,
            [b',' | b';' | b':' | b'{' | b'}' | b'[' | b']' | b'(' | b')' | b'"']
        )
    };
    // `10 % 5`: `%5` is a name.
    if before == b":" && after == b":" || before == b"%" {
        return true;
    }
    // `}` is no end of what has none of its own: `.target sm_80 {`.
    let word = |kind: TokenKind, text: &[u8]| {
        kind != TokenKind::Punct && kind != TokenKind::String || text == b"_"
    };
    let (left_word, right_word) = (word(left, before), word(right, after));
    if ends(before) || ends(after) {
        return false;
    }
    // Two operators could be one, or begin a comment.
    let operators = left == TokenKind::Punct && right == TokenKind::Punct;
    left_word && right_word || operators
}

// --- what nothing mentions ---

/// The text without what nothing mentions; `None` if there is no such thing.
fn without_dead(module: &Module) -> Option<Rewritten> {
    let mut counts: BTreeMap<Entity, u32> = BTreeMap::new();
    let fixed = Fixed::new(module);
    // Where a function mentions itself it does not need itself.
    let mut own: BTreeMap<Entity, u32> = BTreeMap::new();
    let mut within = None;
    let mut ends: Vec<(Span, Entity)> = Vec::new();
    for (id, item) in module.items() {
        if let Item::Function(f) = item
            && let Some(symbol) = module.functions.get(f).and_then(|f| f.symbol)
        {
            ends.push((module.span(id), Entity::Symbol(symbol)));
        }
    }
    let mut ends = ends.into_iter().peekable();
    each_name(module, |name| {
        while ends
            .peek()
            .is_some_and(|(span, _)| span.start <= name.span.start)
        {
            within = ends.next();
        }
        if name.declares {
            return;
        }
        *counts.entry(name.entity).or_default() += 1;
        if within.is_some_and(|(span, e)| e == name.entity && name.span.start < span.end) {
            *own.entry(name.entity).or_default() += 1;
        }
    });
    let private = private_symbols(module);
    let mentioned = |entity: Entity| counts.get(&entity) != own.get(&entity);
    let dead = |entity: Entity| !mentioned(entity) && !fixed.has(module, entity);
    let dead_symbol = |id: SymbolId| private.contains(&id) && dead(Entity::Symbol(id));
    let mut pieces = Vec::new();
    for (id, item) in module.items() {
        let gone = match item {
            Item::Function(f) => {
                let symbol = module.functions.get(f).and_then(|f| f.symbol);
                symbol.is_some_and(dead_symbol)
            }
            Item::Decl(d) => {
                let mut all = module.declarations.declarators(d).iter().peekable();
                all.peek().is_some()
                    && all.all(|d| matches!(d.binding, Binding::Symbol(s) if dead_symbol(s)))
            }
            _ => false,
        };
        if gone {
            pieces.push(module.span(id));
        }
    }
    for (function, _, body) in module.definitions() {
        for (id, statement) in body.statements() {
            let gone = match statement {
                Statement::Label(l) => {
                    let labelled = body.after(id).and_then(|s| body.statements.get(s));
                    let holds = matches!(
                        labelled,
                        Some(Statement::Prototype(_) | Statement::Directive(_))
                    );
                    !holds && dead(Entity::Label(function, l))
                }
                Statement::Decl(d) => {
                    let all = body.declarations.declarators(d);
                    !all.is_empty()
                        && all.iter().all(|d| match d.binding {
                            Binding::Register(r) => dead(Entity::Register(function, r)),
                            Binding::Var(v) => dead(Entity::Variable(function, v)),
                            _ => false,
                        })
                }
                _ => false,
            };
            if gone {
                pieces.push(body.source_span(id));
            }
        }
    }
    if pieces.is_empty() {
        return None;
    }
    let mut splices = Splices::new();
    lines::remove(module.source(), pieces, &mut splices);
    Some(splices.apply(module.source()))
}
