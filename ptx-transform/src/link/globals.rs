//! What each module says of the names that several of them have. Manual 11.6.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{
    Code, DeclId, Declarator, Diagnostic, FuncId, FunctionKind, Interface, Item, ItemId, Linkage,
    Module, Operand, Param, Severity, Span, SymbolId, TypeName,
};
use ptx_isa::{Directive, ScalarType, StateSpace};

use super::{LinkDiagnostic, about};
use crate::debug::integer;
use crate::needs::symbol;

/// What a module has under a name.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Its own, of which others know nothing.
    Private,
    /// Another module's.
    External,
    /// A definition that others see: weak, common or, with `.visible`, strong.
    Defined(Linkage),
}

/// Where and how a module has a name.
#[derive(Copy, Clone, Debug)]
pub(super) struct Global {
    pub(super) symbol: SymbolId,
    pub(super) role: Role,
    /// The definition; where there is none, the first declaration.
    pub(super) item: ItemId,
    pub(super) what: What,
}

/// What a name stands for.
#[derive(Copy, Clone, Debug)]
pub(super) enum What {
    Function(FuncId),
    /// The declaration, and which name of it.
    Variable(DeclId, usize),
}

/// A name, and whether it stands for a range such as `t<4>`, which is another thing than a plain `t`.
pub(super) type Name<'m> = (&'m str, bool);

/// The names of a module.
pub(super) type Globals<'m> = BTreeMap<Name<'m>, Global>;

/// The name that a declarator declares.
pub(super) fn declared<'m>(module: &'m Module, declarator: &Declarator) -> Name<'m> {
    let range = declarator.count != Operand::Absent;
    (module.name(declarator.name), range)
}

/// The names of a module, with what it says of them.
pub(super) fn of(module: &Module) -> Globals<'_> {
    let mut all = Globals::new();
    for (item, kind) in module.items() {
        match kind {
            Item::Function(id) => function(module, &mut all, item, id),
            Item::Decl(id) => {
                let Some(decl) = module.declarations.decls.get(id) else {
                    continue;
                };
                let role = role(decl.linkage, decl.linkage != Some(Linkage::Extern));
                for (i, d) in module.declarations.declarators(id).iter().enumerate() {
                    let Some(symbol) = symbol(d) else { continue };
                    let global = Global {
                        symbol,
                        role,
                        item,
                        what: What::Variable(id, i),
                    };
                    let entry = all.entry(declared(module, d)).or_insert(global);
                    if entry.role == Role::External {
                        *entry = global;
                    }
                }
            }
            Item::Directive(id) => {
                // A declaration with another function behind it is a definition.
                let Some(d) = module.directives.get(id) else {
                    continue;
                };
                let first = module.pool.slice(d.args).first();
                if let (Directive::Alias, Some(Operand::Symbol(alias))) = (d.directive, first)
                    && let Some(name) = module.symbols.get(*alias).map(|s| module.name(s.name))
                    && let Some(global) = all.get_mut(&(name, false))
                    && let What::Function(f) = global.what
                {
                    let linkage = module.functions.get(f).and_then(|f| f.linkage);
                    global.role = role_of(linkage);
                }
            }
            _ => {}
        }
    }
    all
}

fn role(linkage: Option<Linkage>, defined: bool) -> Role {
    match linkage {
        _ if !defined => Role::External,
        other => role_of(other),
    }
}

fn role_of(linkage: Option<Linkage>) -> Role {
    match linkage {
        Some(Linkage::Extern) => Role::External,
        Some(other) => Role::Defined(other),
        None => Role::Private,
    }
}

fn function<'m>(module: &'m Module, all: &mut Globals<'m>, item: ItemId, id: FuncId) {
    // What is declared inside a function is a name of the module after that.
    let inner = module.body(id).into_iter().flat_map(|b| b.statements());
    for (_, statement) in inner {
        if let ptx_ir::Statement::Function(inner) = statement {
            declare(module, all, item, inner);
        }
    }
    declare(module, all, item, id);
}

fn declare<'m>(module: &'m Module, all: &mut Globals<'m>, item: ItemId, id: FuncId) {
    let Some(f) = module.functions.get(id) else {
        return;
    };
    let Some(symbol) = f.symbol else { return };
    // Without linkage, a declaration leaves the definition to the same module.
    let role = match f.linkage {
        None => Role::Private,
        linkage => role(linkage, f.body.is_some()),
    };
    let global = Global {
        symbol,
        role,
        item,
        what: What::Function(id),
    };
    let entry = all.entry((module.name(f.name), false)).or_insert(global);
    if f.body.is_some() {
        // What was visible need not say so again.
        let before = match entry.what {
            What::Function(first) => module.functions.get(first).and_then(|f| f.linkage),
            What::Variable(..) => None,
        };
        *entry = Global {
            role: role_of(f.linkage.or(before)),
            ..global
        };
    }
}

/// The place of a name in an item.
pub(super) fn place(module: &Module, item: ItemId, name: &str) -> Span {
    let span = module.span(item);
    let text = span.of(module.source());
    let mut tokens = Lexer::fragment(text);
    let same = |t: &ptx_ir::lex::Token| {
        let word = t.span.of(text);
        let range = |rest: &[u8]| rest.iter().all(u8::is_ascii_digit);
        t.kind == TokenKind::Ident
            && (word == name.as_bytes() || word.strip_prefix(name.as_bytes()).is_some_and(range))
    };
    tokens
        .find(same)
        .map_or(span, |t| t.span.shifted(span.start))
}

/// Which of several modules has the definition that stays: the first strong one, else the first weak one, else the largest
/// common one.
pub(super) fn winner(modules: &[&Module], all: &[(usize, Global)]) -> Option<usize> {
    let of = |linkage: Linkage| {
        let mut found = all.iter();
        found.find(|(_, g)| g.role == Role::Defined(linkage))
    };
    let strong = of(Linkage::Visible).or_else(|| of(Linkage::Weak));
    if let Some((input, _)) = strong {
        return Some(*input);
    }
    let common = all
        .iter()
        .filter(|(_, g)| matches!(g.role, Role::Defined(_)));
    let size = |(input, g): &&(usize, Global)| {
        let module = modules.get(*input)?;
        Variable::of(module, g)?.size()
    };
    // The first of the largest.
    common.rev().max_by_key(size).map(|(input, _)| *input)
}

/// The names that several modules share, each with what those modules say.
pub(super) fn shared<'m>(modules: &[&'m Module]) -> BTreeMap<Name<'m>, Vec<(usize, Global)>> {
    let mut all: BTreeMap<Name<'_>, Vec<(usize, Global)>> = BTreeMap::new();
    for (input, module) in modules.iter().enumerate() {
        for (name, global) in of(module) {
            if global.role != Role::Private {
                all.entry(name).or_default().push((input, global));
            }
        }
    }
    all.retain(|_, globals| globals.len() > 1);
    all
}

/// Checks that modules agree in what they share.
pub(super) fn check(modules: &[&Module], found: &mut Vec<LinkDiagnostic>) {
    for ((name, _), all) in shared(modules) {
        let input = winner(modules, &all);
        // Without a definition, what the first one says counts.
        let chosen = all.iter().find(|(i, _)| input.is_none_or(|w| w == *i));
        let Some(&(first, model)) = chosen else {
            continue;
        };
        let Some(a) = modules.get(first) else {
            continue;
        };
        let at = || place(a, model.item, name);
        for &(other, global) in all.iter().filter(|(i, _)| *i != first) {
            let Some(b) = modules.get(other) else {
                continue;
            };
            let here = || place(b, global.item, name);
            let strong = Role::Defined(Linkage::Visible);
            if model.role == strong && global.role == strong {
                let message = format!("`{name}` is defined in two modules");
                let d = Diagnostic::error(Code::DuplicateDefinition, here(), message).with_help(
                    format!("make one of them `.weak`, or take `.visible` away if `{name}` is not meant to be shared"),
                );
                found.push(about(other, d).with(first, at(), "defined first here"));
                continue;
            }
            let Some((severity, how)) = difference((a, &model), (b, &global)) else {
                continue;
            };
            let message = format!("`{name}` {how}");
            let mut d = Diagnostic::error(Code::DifferentDeclaration, here(), message);
            d.severity = severity;
            found.push(about(other, d).with(first, at(), "the other module has it here"));
        }
    }
}

type Said<'g> = (&'g Module, &'g Global);

/// In what the second differs from the first.
fn difference(a: Said<'_>, b: Said<'_>) -> Option<(Severity, String)> {
    match (a.1.what, b.1.what) {
        (What::Function(f), What::Function(g)) => {
            functions((a.0, f), (b.0, g)).map(|how| (Severity::Error, how))
        }
        (What::Variable(..), What::Variable(..)) => variables(a, b),
        (What::Function(_), _) => {
            let how = "is a variable here, and a function in another module";
            Some((Severity::Error, how.into()))
        }
        _ => {
            let how = "is a function here, and a variable in another module";
            Some((Severity::Error, how.into()))
        }
    }
}

fn functions((m, f): (&Module, FuncId), (n, g): (&Module, FuncId)) -> Option<String> {
    let (f, g) = (m.functions.get(f)?, n.functions.get(g)?);
    if f.raw_header || g.raw_header {
        return None;
    }
    if f.kind != g.kind {
        let sort = |kind| match kind {
            FunctionKind::Entry => "a kernel",
            FunctionKind::Func => "a function",
        };
        let (a, b) = (sort(f.kind), sort(g.kind));
        return Some(format!("is {b} here, and {a} in another module"));
    }
    let returns = |m: &Module, i: &Interface| {
        let mut all = i.directives.of(&m.interface_directives).iter();
        !all.any(|d| d.directive == Directive::Noreturn)
    };
    match (returns(m, &f.interface), returns(n, &g.interface)) {
        (true, false) => return Some("does not return here, and does in another module".into()),
        (false, true) => return Some("returns here, and does not in another module".into()),
        _ => {}
    }
    let pairs = [
        (f.interface.returns, g.interface.returns, "results"),
        (f.interface.params, g.interface.params, "parameters"),
    ];
    for (a, b, what) in pairs {
        if a.len != b.len {
            let (a, b) = (a.len, b.len);
            return Some(format!("has {b} {what} here, and {a} in another module"));
        }
        let all = a.of(&m.params).iter().zip(b.of(&n.params));
        for (nth, (a, b)) in (1..).zip(all) {
            if let Some(how) = params((m, a), (n, b)) {
                return Some(format!(
                    "differs from that of another module in {what}, number {nth}: {how}"
                ));
            }
        }
    }
    None
}

fn params((m, a): (&Module, &Param), (n, b): (&Module, &Param)) -> Option<&'static str> {
    let dims = |m: &Module, p: &Param| sizes(m, m.pool.slice(p.dims));
    if !compatible(a.ty, b.ty) || a.vector != b.vector || dims(m, a) != dims(n, b) {
        return Some("another type");
    }
    if a.space != b.space {
        return Some("another state space");
    }
    let align = |m: &Module, p: &Param| alignment(m, p.align, p.ty, p.vector);
    (align(m, a) != align(n, b)).then_some("another alignment")
}

fn sizes(module: &Module, dims: &[Operand]) -> Vec<i64> {
    let size = |d: &Operand| integer(&module.pool, *d).unwrap_or(0);
    dims.iter().map(size).collect()
}

fn alignment(module: &Module, align: Operand, ty: TypeName, vector: u8) -> i64 {
    let natural = || i64::from(ty.known().map_or(8, ScalarType::bits) / 8) * i64::from(vector);
    integer(&module.pool, align).unwrap_or_else(natural)
}

/// Whether what is passed as one type may be taken as another one.
fn compatible(a: TypeName, b: TypeName) -> bool {
    match (a.known(), b.known()) {
        (Some(a), Some(b)) => {
            let untyped = |t: ScalarType| !t.is_integer() && !t.is_float();
            let alike = untyped(a) || untyped(b) || a.is_integer() && b.is_integer();
            a == b
                || a.bits() == b.bits() && alike && a != ScalarType::Pred && b != ScalarType::Pred
        }
        _ => a == b,
    }
}

/// What is known of a variable.
pub(super) struct Variable<'m> {
    module: &'m Module,
    space: StateSpace,
    ty: TypeName,
    vector: u8,
    align: Operand,
    declarator: &'m Declarator,
}

impl<'m> Variable<'m> {
    pub(super) fn of(module: &'m Module, global: &Global) -> Option<Self> {
        let What::Variable(id, i) = global.what else {
            return None;
        };
        let decl = module.declarations.decls.get(id)?;
        Some(Self {
            module,
            space: decl.space,
            ty: decl.ty,
            vector: decl.vector,
            align: decl.align,
            declarator: module.declarations.declarators(id).get(i)?,
        })
    }

    fn dims(&self) -> Vec<i64> {
        let dims = self.module.pool.slice(self.declarator.dims);
        let mut sizes = sizes(self.module, dims);
        // The initialiser says how many there are.
        if let Some(first @ 0) = sizes.first_mut()
            && let Operand::Vector(list) = self.declarator.init
        {
            *first = self.module.pool.list(list).len() as i64;
        }
        sizes
    }

    /// Its size in bytes; `None` where it is open.
    fn size(&self) -> Option<i64> {
        let element = i64::from(self.ty.known()?.bits() / 8) * i64::from(self.vector);
        let bytes = self.dims().into_iter().fold(element, i64::saturating_mul);
        (bytes > 0).then_some(bytes)
    }

    pub(super) fn alignment(&self) -> i64 {
        alignment(self.module, self.align, self.ty, self.vector)
    }

    /// Whether two have one type.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let (a, b) = (self.dims(), other.dims());
        let open = |n: &i64| *n == 0;
        let first =
            a.first() == b.first() || a.first().is_some_and(open) || b.first().is_some_and(open);
        let type_of = |v: &Self| (v.ty, v.vector);
        type_of(self) == type_of(other) && first && a.len() == b.len() && a.get(1..) == b.get(1..)
    }
}

fn variables(a: Said<'_>, b: Said<'_>) -> Option<(Severity, String)> {
    let (x, y) = (Variable::of(a.0, a.1)?, Variable::of(b.0, b.1)?);
    if x.space.base() != y.space.base() {
        let (x, y) = (x.space.text(), y.space.text());
        let how = format!("stands in `{y}` here, and in `{x}` in another module");
        return Some((Severity::Error, how));
    }
    let common = Role::Defined(Linkage::Common);
    let both = a.1.role == common && b.1.role == common;
    if let (Some(m), Some(n)) = (x.size(), y.size())
        && m != n
        && !both
    {
        let how = format!("has {n} bytes here, and {m} in another module");
        return Some((Severity::Error, how));
    }
    // What comes with the launch has no type but its alignment.
    let dynamic = x.size().is_none() && y.size().is_none();
    if dynamic || both || x.is_like(&y) {
        return None;
    }
    let how = "has another type here than in another module";
    Some((Severity::Warning, how.into()))
}
