//! Finds the names that modules share, with their declarations and the types of variables. Manual 11.6.

use alloc::vec::Vec;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::raw::name::split_numeric_suffix;
use ptx_ir::{
    Body, DeclId, Declarator, FuncId, Item, ItemId, Linkage, Module, Operand, Span, SymbolId,
    TypeName, VarDecl,
};
use ptx_isa::{Directive, ScalarType};

/// The role of a name in a module.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Private to the module.
    Private,
    /// Defined in another module.
    External,
    /// A definition that is visible to others: weak, common or, with `.visible`, strong.
    Defined(Linkage),
}

/// The declaration of a name in a module.
#[derive(Copy, Clone, Debug)]
pub(super) struct Global {
    pub(super) symbol: SymbolId,
    pub(super) role: Role,
    /// The definition, or else the first declaration.
    pub(super) item: ItemId,
    pub(super) kind: SymbolKind,
}

/// The kind of entity that a name denotes.
#[derive(Copy, Clone, Debug)]
pub(super) enum SymbolKind {
    Function(FuncId),
    /// The declaration, and the index of the name in it.
    Variable(DeclId, usize),
}

/// A name, and whether it is a range such as `t<4>`, which differs from a plain `t`.
pub(super) type Name<'m> = (&'m str, bool);

/// The names of a module with their declarations, sorted by name.
pub(super) struct Globals<'m>(pub(super) Vec<(Name<'m>, Global)>);

impl Globals<'_> {
    pub(super) fn get(&self, name: Name<'_>) -> Option<&Global> {
        let index = self.0.binary_search_by(|(n, _)| n.cmp(&name)).ok()?;
        Some(&self.0.get(index)?.1)
    }
}

/// A declaration of a name.
#[derive(Copy, Clone)]
enum Declared {
    Function(Global, FuncId),
    Variable(Global),
    /// An alias defines a function that is declared before.
    Alias,
}

/// The name that a declarator declares.
pub(super) fn declared<'m>(module: &'m Module, declarator: &Declarator) -> Name<'m> {
    let range = declarator.count != Operand::Absent;
    (module.name(declarator.name), range)
}

/// The names of a module with their declarations.
pub(super) fn globals(module: &Module) -> Globals<'_> {
    let mut declarations: Vec<(Name<'_>, Declared)> = Vec::new();
    for (item, kind) in module.items() {
        match kind {
            Item::Function(id) => {
                // A function that is declared inside of a function is a name of the module afterwards.
                let inner = module.body(id).into_iter().flat_map(Body::functions);
                declarations.extend(
                    inner
                        .chain([id])
                        .filter_map(|id| function(module, item, id)),
                );
            }
            Item::Decl(id) => {
                let decl = module.declarations().decls.get(id);
                let role = role(decl.and_then(|d| d.linkage));
                for (i, d) in module.declarations().declarators(id).iter().enumerate() {
                    if let Some(symbol) = d.binding.symbol() {
                        let kind = SymbolKind::Variable(id, i);
                        let global = Global {
                            symbol,
                            role,
                            item,
                            kind,
                        };
                        declarations.push((declared(module, d), Declared::Variable(global)));
                    }
                }
            }
            Item::Directive(id) => {
                let alias = module
                    .directives()
                    .get(id)
                    .filter(|d| d.directive == Directive::Alias)
                    .and_then(|d| module.pool().slice(d.args).first()?.symbol());
                if let Some(symbol) = alias.and_then(|alias| module.symbols().get(alias)) {
                    declarations.push(((module.name(symbol.name), false), Declared::Alias));
                }
            }
            _ => {}
        }
    }
    // The declarations of one name stay in their order.
    declarations.sort_by_key(|(name, _)| *name);
    Globals(
        declarations
            .chunk_by(|a, b| a.0 == b.0)
            .filter_map(|group| Some((group.first()?.0, merged(module, group)?)))
            .collect(),
    )
}

/// The role of a variable or of the definition of a function.
fn role(linkage: Option<Linkage>) -> Role {
    match linkage {
        Some(Linkage::Extern) => Role::External,
        Some(other) => Role::Defined(other),
        None => Role::Private,
    }
}

fn function<'m>(module: &'m Module, item: ItemId, id: FuncId) -> Option<(Name<'m>, Declared)> {
    let f = module.functions().get(id)?;
    let role = match f.linkage {
        // A declaration without linkage is defined in the same module.
        None => Role::Private,
        Some(_) if f.body.is_none() => Role::External,
        linkage => role(linkage),
    };
    let kind = SymbolKind::Function(id);
    let global = Global {
        symbol: f.symbol?,
        role,
        item,
        kind,
    };
    Some(((module.name(f.name), false), Declared::Function(global, id)))
}

/// Merges the declarations of one name.
fn merged(module: &Module, declarations: &[(Name<'_>, Declared)]) -> Option<Global> {
    let linkage_of = |global: &Global| match global.kind {
        SymbolKind::Function(f) => module.functions().get(f).and_then(|f| f.linkage),
        SymbolKind::Variable(..) => None,
    };
    let mut merged: Option<Global> = None;
    for (_, declared) in declarations {
        match *declared {
            Declared::Function(global, id) => {
                let entry = merged.get_or_insert(global);
                let f = module.functions().get(id).filter(|f| f.body.is_some());
                if let Some(f) = f {
                    // Visibility need not be repeated.
                    let linkage = f.linkage.or(linkage_of(entry));
                    *entry = Global {
                        role: role(linkage),
                        ..global
                    };
                }
            }
            Declared::Variable(global) => {
                if merged.is_none_or(|merged| merged.role == Role::External) {
                    merged = Some(global);
                }
            }
            Declared::Alias => {
                if let Some(global) = &mut merged
                    && let SymbolKind::Function(_) = global.kind
                {
                    global.role = role(linkage_of(global));
                }
            }
        }
    }
    merged
}

/// The span of a name in an item.
pub(super) fn name_span(module: &Module, item: ItemId, name: &str) -> Span {
    let span = module.span(item);
    let text = span.of(module.source());
    Lexer::fragment(text)
        .find(|token| {
            let word = token.span.of(text);
            let names = [word, split_numeric_suffix(word).0];
            token.kind == TokenKind::Ident && names.contains(&name.as_bytes())
        })
        .map_or(span, |t| t.span.shifted(span.start))
}

/// The module whose definition is kept: the first strong one, else the first weak one, else the largest common one.
fn winner(modules: &[&Module], declarations: &[(usize, Global)]) -> Option<usize> {
    let first_definition = |linkage: Linkage| {
        declarations
            .iter()
            .find(|(_, global)| global.role == Role::Defined(linkage))
    };
    let strong_or_weak =
        first_definition(Linkage::Visible).or_else(|| first_definition(Linkage::Weak));
    if let Some((input, _)) = strong_or_weak {
        return Some(*input);
    }
    // `max_by_key` returns the last of the largest, so that the definitions are reversed.
    declarations
        .iter()
        .filter(|(_, global)| matches!(global.role, Role::Defined(_)))
        .rev()
        .max_by_key(|(input, global)| {
            let module = modules.get(*input)?;
            Variable::of(module, global)?.size()
        })
        .map(|(input, _)| *input)
}

/// A name that several modules share.
pub(super) struct SharedName<'m> {
    pub(super) name: Name<'m>,
    /// The declarations, each with the index of its module.
    pub(super) declarations: Vec<(usize, Global)>,
    /// The module whose definition is kept.
    pub(super) winner: Option<usize>,
}

/// The names that several modules share, sorted by name.
pub(super) struct SharedNames<'m>(pub(super) Vec<SharedName<'m>>);

impl<'m> SharedNames<'m> {
    pub(super) fn of(modules: &[&'m Module]) -> Self {
        let mut visible: Vec<(Name<'m>, (usize, Global))> = Vec::new();
        for (input, module) in modules.iter().enumerate() {
            visible.extend(
                globals(module)
                    .0
                    .into_iter()
                    .filter(|(_, global)| global.role != Role::Private)
                    .map(|(name, global)| (name, (input, global))),
            );
        }
        visible.sort_by_key(|(name, _)| *name);
        let mut shared = Vec::new();
        for group in visible.chunk_by(|a, b| a.0 == b.0) {
            let [(name, _), _, ..] = group else { continue };
            let declarations: Vec<(usize, Global)> =
                group.iter().map(|(_, declaration)| *declaration).collect();
            let winner = winner(modules, &declarations);
            shared.push(SharedName {
                name: *name,
                declarations,
                winner,
            });
        }
        Self(shared)
    }

    /// The index of a name, if several modules share it.
    pub(super) fn find(&self, name: Name<'_>) -> Option<usize> {
        self.0
            .binary_search_by(|shared| shared.name.cmp(&name))
            .ok()
    }
}

/// The type of a variable.
pub(super) struct Variable<'m> {
    module: &'m Module,
    pub(super) decl: &'m VarDecl,
    declarator: &'m Declarator,
}

impl<'m> Variable<'m> {
    pub(super) fn of(module: &'m Module, global: &Global) -> Option<Self> {
        let SymbolKind::Variable(id, i) = global.kind else {
            return None;
        };
        let decl = module.declarations().decls.get(id)?;
        let declarator = module.declarations().declarators(id).get(i)?;
        Some(Self {
            module,
            decl,
            declarator,
        })
    }

    fn dims(&self) -> Vec<i64> {
        let dims = self.module.pool().slice(self.declarator.dims);
        let mut sizes = sizes(self.module, dims);
        // The initializer determines the number of elements.
        if let Some(first @ 0) = sizes.first_mut()
            && let Operand::Vector(list) = self.declarator.init
        {
            *first = self.module.pool().list(list).len() as i64;
        }
        sizes
    }

    /// The size of the variable in bytes; `None` if the array has no size.
    pub(super) fn size(&self) -> Option<i64> {
        let element = i64::from(self.decl.ty.known()?.bits() / 8) * i64::from(self.decl.vector);
        let bytes = self.dims().into_iter().fold(element, i64::saturating_mul);
        (bytes > 0).then_some(bytes)
    }

    pub(super) fn alignment(&self) -> i64 {
        alignment(self.module, self.decl.align, self.decl.ty, self.decl.vector)
    }

    /// Whether two variables have the same type. The first length may be missing in one of the declarations.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let (a, b) = (self.dims(), other.dims());
        let have_compatible_lengths =
            a.first() == b.first() || a.first() == Some(&0) || b.first() == Some(&0);
        self.decl.ty == other.decl.ty
            && self.decl.vector == other.decl.vector
            && have_compatible_lengths
            && a.len() == b.len()
            && a.get(1..) == b.get(1..)
    }
}

/// The lengths of the dimensions of an array; 0 for a missing length.
pub(super) fn sizes(module: &Module, dims: &[Operand]) -> Vec<i64> {
    dims.iter()
        .map(|dim| module.pool().integer(*dim).unwrap_or(0))
        .collect()
}

/// The declared alignment in bytes, or else that of the type.
pub(super) fn alignment(module: &Module, align: Operand, ty: TypeName, vector: u8) -> i64 {
    let natural = i64::from(ty.known().map_or(8, ScalarType::bits) / 8) * i64::from(vector);
    module.pool().integer(align).unwrap_or(natural)
}
