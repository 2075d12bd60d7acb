//! Initial values: their types, their number, their nesting. Manual 5.4.4.

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::constant::ConstKind;
use ptx_ir::{
    Binding, DeclId, Declarator, Linkage, ListId, Operand, OperandPool, OperandRef, Span,
    SymbolKind, VarDecl, VarId,
};
use ptx_isa::{ScalarType, StateSpace, TypeKind};

use crate::context::{Context, constant_kind};
use crate::finding::Repair;
use crate::location::{Location, Part};
use crate::problem::Side;
use crate::problem::feature::Feature;
use crate::problem::initializer::InitializerProblem;
use crate::variable_tables::Tables;

/// Checks the initial value of one name.
pub(crate) fn check<'c>(
    context: &'c mut Context<'_>,
    tables: Tables<'c>,
    decl: &'c VarDecl,
    ty: ScalarType,
    declarator: &Declarator,
    span: Span,
) {
    let name = declarator.name;
    let location = Location::part(span, Part::Initializer(name));
    let problem = if !matches!(decl.space, StateSpace::Global | StateSpace::Const) {
        InitializerProblem::Space(name, decl.space)
    } else if decl.linkage == Some(Linkage::Extern) {
        InitializerProblem::External(name)
    } else if ty == ScalarType::F16 {
        InitializerProblem::F16
    } else {
        let mut values = Values {
            context,
            tables,
            decl,
            ty,
            location,
        };
        if let Err(problem) = values.check(declarator) {
            context.report(location, problem);
        }
        return;
    };
    let removed = initial_value(span.of(context.module.source()), span);
    let finding = context.report(location, problem);
    finding.repair = removed.map(|span| {
        let location = Location::exact(span);
        Repair::new(
            location,
            Side::Whole,
            String::new(),
            "for example without it",
        )
    });
}

/// The only initial value of a declaration with its `=`.
fn initial_value(text: &[u8], declaration: Span) -> Option<Span> {
    let equals = text.iter().position(|b| *b == b'=')?;
    let last = text.iter().rposition(|b| *b == b';')?;
    let only = !text.get(equals + 1..)?.contains(&b'=');
    let start = text.get(..equals)?.trim_ascii_end().len() as u32;
    let base = declaration.start;
    only.then(|| Span::new(base + start, base + last as u32))
}

/// The fields of opaque types. Manual 5.3.
const TEXTURE: &[&str] = &[
    "width",
    "height",
    "depth",
    "channel_data_type",
    "channel_order",
    "normalized_coords",
    "array_size",
    "num_mipmap_levels",
    "num_samples",
    "filter_mode",
    "addr_mode_0",
    "addr_mode_1",
    "addr_mode_2",
];
const SURFACE: &[&str] = &[
    "width",
    "height",
    "depth",
    "channel_data_type",
    "channel_order",
    "array_size",
    "memory_layout",
];
const SAMPLER: &[&str] = &[
    "filter_mode",
    "addr_mode_0",
    "addr_mode_1",
    "addr_mode_2",
    "force_unnormalized_coords",
];

/// Modes that any field takes as its value.
const MODES: &[&str] = &[
    "wrap",
    "mirror",
    "clamp_ogl",
    "clamp_to_edge",
    "clamp_to_border",
    "nearest",
    "linear",
];

/// The contents of one pair of braces.
#[derive(Copy, Clone)]
enum Braces {
    /// At most this number of parts; any number for `None`.
    Array(Option<i64>),
    /// Exactly this number of parts.
    Vector(i64),
}

struct Values<'c, 'm> {
    context: &'c mut Context<'m>,
    tables: Tables<'c>,
    decl: &'c VarDecl,
    ty: ScalarType,
    location: Location,
}

type Checked = Result<(), InitializerProblem>;

impl<'c> Values<'c, '_> {
    fn pool(&self) -> &'c OperandPool {
        self.tables.pool
    }

    /// Descends into the braces level by level, without recursion.
    fn check(&mut self, declarator: &Declarator) -> Checked {
        if self.ty.kind() == TypeKind::Opaque {
            return self.fields(declarator);
        }
        let mut row: Vec<Operand> = vec![declarator.init];
        let mut outermost = true;
        for braces in self.levels(declarator) {
            let mut next = Vec::new();
            for operand in row {
                let Operand::Vector(list) = operand else {
                    return Err(InitializerProblem::MissingBraces(self.ty));
                };
                let parts = self.pool().list(list);
                let len = parts.len() as i64;
                match braces {
                    Braces::Array(Some(most)) if len > most => {
                        return Err(match outermost {
                            true => InitializerProblem::TooMany(declarator.name, len, most),
                            false => InitializerProblem::TooManyInside(len, most),
                        });
                    }
                    Braces::Array(None) if len == 0 => {
                        return Err(InitializerProblem::NoValues(self.ty));
                    }
                    Braces::Vector(count) if len != count => {
                        return Err(InitializerProblem::VectorCount(len, count));
                    }
                    _ => next.extend_from_slice(parts),
                }
            }
            row = next;
            outermost = false;
        }
        if self.ty == ScalarType::F16x2 {
            return Ok(());
        }
        row.into_iter().try_for_each(|operand| self.scalar(operand))
    }

    /// The braces around single values, from the outside.
    fn levels(&self, declarator: &Declarator) -> Vec<Braces> {
        let dims = self.pool().slice(declarator.dims).iter();
        // An array of size 0 has the size of its values.
        let dims = dims.map(|d| Braces::Array(self.pool().integer(*d).filter(|n| *n != 0)));
        let mut levels: Vec<Braces> = dims.collect();
        // Packed halves are written like vectors of their parts.
        let halves = if self.ty == ScalarType::F16x2 { 2 } else { 1 };
        let parts = self.decl.vector.max(halves);
        if self.decl.vector > 1 {
            levels.push(Braces::Vector(parts.into()));
        } else if parts > 1 {
            levels.push(Braces::Array(Some(parts.into())));
        }
        levels
    }

    /// The fields of an opaque type. Those of all elements of an array may be in fewer braces than the array has dimensions.
    fn fields(&self, declarator: &Declarator) -> Checked {
        let allowed = match self.ty {
            ScalarType::Texref => TEXTURE,
            ScalarType::Surfref => SURFACE,
            _ => SAMPLER,
        };
        let module = self.context.module;
        let Operand::Vector(list) = declarator.init else {
            return Err(InitializerProblem::MissingBraces(self.ty));
        };
        let mut parts = self.pool().list(list).to_vec();
        for dim in self.pool().slice(declarator.dims) {
            let vectors: Vec<ListId> = parts.iter().filter_map(vector).collect();
            let most = self.pool().integer(*dim).filter(|n| *n != 0);
            if let Some(most) = most.filter(|most| vectors.len() as i64 > *most) {
                let len = vectors.len() as i64;
                return Err(InitializerProblem::TooMany(declarator.name, len, most));
            }
            parts.retain(|p| vector(p).is_none());
            parts.extend(vectors.iter().flat_map(|v| self.pool().list(*v)));
        }
        for part in parts {
            let Operand::Field(parts) = part else {
                return Err(InitializerProblem::UnnamedField(self.ty));
            };
            let (Operand::Name(field), value) = self.pool().pair(parts) else {
                continue;
            };
            if !allowed.contains(&module.name(field)) {
                return Err(InitializerProblem::Field(self.ty, field, allowed));
            }
            if let Operand::Name(mode) = value
                && !MODES.contains(&module.name(mode))
            {
                return Err(InitializerProblem::FieldValue(field, mode, MODES));
            }
        }
        Ok(())
    }

    fn scalar(&mut self, operand: Operand) -> Checked {
        let fits = match operand {
            Operand::Vector(_) => return Err(InitializerProblem::ExtraBraces(self.ty)),
            Operand::Masked(parts) => return self.masked(parts),
            Operand::Name(_) => return Ok(()),
            operand => match constant_kind(self.pool(), operand) {
                Some(ConstKind::Signed | ConstKind::Unsigned) => {
                    self.ty.is_integer() || self.ty.kind() == TypeKind::Bits
                }
                Some(ConstKind::Double | ConstKind::Single) => {
                    matches!(self.ty.kind(), TypeKind::Float | TypeKind::Bits)
                }
                Some(_) => true,
                None => return self.address(operand),
            },
        };
        match fits {
            true => Ok(()),
            false => Err(InitializerProblem::ConstantType(self.ty)),
        }
    }

    fn address(&mut self, operand: Operand) -> Checked {
        self.context.require(self.location, Feature::InitialAddress);
        self.has_constant_address(operand)?;
        match self.ty {
            ScalarType::U32 | ScalarType::U64 => Ok(()),
            ty => Err(InitializerProblem::AddressType(ty)),
        }
    }

    /// Whether a name has an address that is known before the program runs.
    fn has_constant_address(&mut self, operand: Operand) -> Checked {
        let address = match operand {
            Operand::Address(id) => self.pool().address(id),
            _ => None,
        };
        if address.is_some_and(|a| self.pool().integer(a.offset).is_none()) {
            return Err(InitializerProblem::Offset);
        }
        let base = address.map_or(operand, |a| a.base);
        let (base, generic) = match base {
            Operand::Generic(parts) => (self.pool().get(parts), true),
            base => (base, false),
        };
        if generic {
            self.context.require(self.location, Feature::GenericAddress);
        }
        match base {
            Operand::Symbol(id) => {
                let symbol = self.context.module.symbols().get(id);
                match symbol.map(|s| s.kind) {
                    // Its own name, or one before it in the same declaration.
                    Some(SymbolKind::Variable(_, of)) if self.is_here(of) => {
                        Err(InitializerProblem::OwnName)
                    }
                    Some(SymbolKind::Function(_)) if address.is_some() => {
                        Err(InitializerProblem::FunctionOffset)
                    }
                    Some(SymbolKind::Variable(StateSpace::Global | StateSpace::Const, _)) => Ok(()),
                    Some(SymbolKind::Function(_)) if !generic => Ok(()),
                    Some(SymbolKind::Function(_)) => Err(InitializerProblem::GenericFunction),
                    _ => Err(InitializerProblem::NoAddress),
                }
            }
            Operand::Special(_) | Operand::Lane(..) => Err(InitializerProblem::NoAddress),
            Operand::Var(id) if self.own_names().any(|d| d.binding == Binding::Var(id)) => {
                Err(InitializerProblem::OwnName)
            }
            Operand::Var(id) => match self.space_of(id) {
                Some(StateSpace::Global | StateSpace::Const) => Ok(()),
                _ => Err(InitializerProblem::NoAddress),
            },
            _ => Ok(()),
        }
    }

    /// Whether a declaration is the one that is checked.
    fn is_here(&self, id: DeclId) -> bool {
        let decl = self.context.module.declarations().decls.get(id);
        decl.is_some_and(|d| core::ptr::eq(d, self.decl))
    }

    fn own_names(&self) -> impl Iterator<Item = &Declarator> {
        let names = self.decl.declarators;
        names.of(&self.tables.declarations.declarators).iter()
    }

    fn space_of(&self, id: VarId) -> Option<StateSpace> {
        Some(self.tables.vars?.get(id)?.space)
    }

    /// One byte of an address: `0xFF00(x)`.
    fn masked(&mut self, parts: OperandRef) -> Checked {
        self.context.require(self.location, Feature::AddressByte);
        let (mask, inner) = self.pool().pair(parts);
        let byte = |m: u64| m.trailing_zeros().is_multiple_of(8) && m >> m.trailing_zeros() == 0xFF;
        let mask = self.pool().integer(mask).map(|m| m as u64);
        if let Some(mask) = mask.filter(|&m| m == 0 || !byte(m)) {
            return Err(InitializerProblem::Mask(mask));
        }
        if constant_kind(self.pool(), inner).is_none() {
            self.has_constant_address(inner)?;
        }
        match self.ty {
            ScalarType::U8 | ScalarType::U32 | ScalarType::U64 => Ok(()),
            ty => Err(InitializerProblem::AddressByteType(ty)),
        }
    }
}

fn vector(operand: &Operand) -> Option<ListId> {
    match *operand {
        Operand::Vector(list) => Some(list),
        _ => None,
    }
}
