//! The types, the number and the nesting of initial values. Manual 5.4.4.

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::ConstKind;
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
use crate::problem::variable::InitializerProblem;
use crate::variable::Tables;

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
        let mut checker = Checker {
            context,
            tables,
            decl,
            ty,
            location,
        };
        if let Err(problem) = checker.check(declarator) {
            context.report(location, problem);
        }
        return;
    };
    let initial_value = initial_value_span(span.of(context.module.source()), span);
    context.report(location, problem).repair = initial_value.map(|span| {
        let location = Location::exact(span);
        let note = "for example without it";
        Repair::new(location, Side::Whole, String::new(), note)
    });
}

/// Returns the span of the only initial value of a declaration with its `=`. `text` is the text of the declaration.
fn initial_value_span(text: &[u8], declaration: Span) -> Option<Span> {
    let equals = text.iter().position(|byte| *byte == b'=')?;
    let semicolon = text.iter().rposition(|byte| *byte == b';')?;
    if text.get(equals + 1..)?.contains(&b'=') {
        return None;
    }
    let start = text.get(..equals)?.trim_ascii_end().len();
    Some(Span::new(start as u32, semicolon as u32).shifted(declaration.start))
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

/// The names that are values of fields.
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

/// Checks the initial value of a declaration.
struct Checker<'c, 'm> {
    context: &'c mut Context<'m>,
    tables: Tables<'c>,
    decl: &'c VarDecl,
    ty: ScalarType,
    location: Location,
}

type CheckResult = Result<(), InitializerProblem>;

impl<'c> Checker<'c, '_> {
    fn pool(&self) -> &'c OperandPool {
        self.tables.pool
    }

    /// Checks the braces level by level, without recursion, and then the values in them.
    fn check(&mut self, declarator: &Declarator) -> CheckResult {
        if self.ty.kind() == TypeKind::Opaque {
            return self.check_fields(declarator);
        }
        // The operands of the current level, from all braces of it.
        let mut operands: Vec<Operand> = vec![declarator.init];
        let mut is_outermost = true;
        for braces in self.levels(declarator) {
            let mut inner = Vec::new();
            for operand in operands {
                let Operand::Vector(list) = operand else {
                    return Err(InitializerProblem::MissingBraces(self.ty));
                };
                let parts = self.pool().list(list);
                let len = parts.len() as i64;
                match braces {
                    Braces::Array(Some(most)) if len > most => {
                        return Err(if is_outermost {
                            InitializerProblem::TooMany(declarator.name, len, most)
                        } else {
                            InitializerProblem::TooManyInside(len, most)
                        });
                    }
                    Braces::Array(None) if len == 0 => {
                        return Err(InitializerProblem::NoValues(self.ty));
                    }
                    Braces::Vector(count) if len != count => {
                        return Err(InitializerProblem::VectorCount(len, count));
                    }
                    _ => inner.extend_from_slice(parts),
                }
            }
            operands = inner;
            is_outermost = false;
        }
        if self.ty == ScalarType::F16x2 {
            return Ok(());
        }
        operands
            .into_iter()
            .try_for_each(|operand| self.check_scalar(operand))
    }

    /// Returns the braces around a single value, the outermost first.
    fn levels(&self, declarator: &Declarator) -> Vec<Braces> {
        // An array of size 0 has the size of its values.
        let mut levels: Vec<Braces> = self
            .pool()
            .slice(declarator.dims)
            .iter()
            .map(|dim| Braces::Array(self.pool().integer(*dim).filter(|size| *size != 0)))
            .collect();
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

    /// Checks the fields of an opaque type. The fields of all elements of an array may be in fewer braces than the array has dimensions.
    fn check_fields(&self, declarator: &Declarator) -> CheckResult {
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

    fn check_scalar(&mut self, operand: Operand) -> CheckResult {
        let has_type = match operand {
            Operand::Vector(_) => return Err(InitializerProblem::ExtraBraces(self.ty)),
            Operand::Masked(parts) => return self.check_masked(parts),
            Operand::Name(_) => return Ok(()),
            operand => match constant_kind(self.pool(), operand) {
                Some(ConstKind::Signed | ConstKind::Unsigned) => {
                    self.ty.is_integer() || self.ty.kind() == TypeKind::Bits
                }
                Some(ConstKind::Double | ConstKind::Single) => {
                    matches!(self.ty.kind(), TypeKind::Float | TypeKind::Bits)
                }
                Some(_) => true,
                None => return self.check_address(operand),
            },
        };
        if has_type {
            Ok(())
        } else {
            Err(InitializerProblem::ConstantType(self.ty))
        }
    }

    fn check_address(&mut self, operand: Operand) -> CheckResult {
        self.context.require(self.location, Feature::InitialAddress);
        self.check_constant_address(operand)?;
        match self.ty {
            ScalarType::U32 | ScalarType::U64 => Ok(()),
            ty => Err(InitializerProblem::AddressType(ty)),
        }
    }

    /// Checks that the address of an operand is known before the program runs.
    fn check_constant_address(&mut self, operand: Operand) -> CheckResult {
        let address = match operand {
            Operand::Address(id) => self.pool().address(id),
            _ => None,
        };
        if address.is_some_and(|a| self.pool().integer(a.offset).is_none()) {
            return Err(InitializerProblem::Offset);
        }
        let base = address.map_or(operand, |address| address.base);
        let (base, is_generic) = match base {
            Operand::Generic(parts) => (self.pool().get(parts), true),
            base => (base, false),
        };
        if is_generic {
            self.context.require(self.location, Feature::GenericAddress);
        }
        match base {
            Operand::Symbol(id) => {
                match self.context.module.symbols().get(id).map(|s| s.kind) {
                    // The name itself, or one before it in the same declaration.
                    Some(SymbolKind::Variable(_, decl)) if self.is_this_declaration(decl) => {
                        Err(InitializerProblem::OwnName)
                    }
                    Some(SymbolKind::Function(_)) if address.is_some() => {
                        Err(InitializerProblem::FunctionOffset)
                    }
                    Some(SymbolKind::Variable(StateSpace::Global | StateSpace::Const, _)) => Ok(()),
                    Some(SymbolKind::Function(_)) if !is_generic => Ok(()),
                    Some(SymbolKind::Function(_)) => Err(InitializerProblem::GenericFunction),
                    _ => Err(InitializerProblem::NoAddress),
                }
            }
            Operand::Special(_) | Operand::Component(..) => Err(InitializerProblem::NoAddress),
            Operand::Var(id) if self.declares(id) => Err(InitializerProblem::OwnName),
            Operand::Var(id) => match self.space_of(id) {
                Some(StateSpace::Global | StateSpace::Const) => Ok(()),
                _ => Err(InitializerProblem::NoAddress),
            },
            _ => Ok(()),
        }
    }

    /// Returns `true` if a declaration of the module is the checked one.
    fn is_this_declaration(&self, id: DeclId) -> bool {
        let decl = self.context.module.declarations().decls.get(id);
        decl.is_some_and(|decl| core::ptr::eq(decl, self.decl))
    }

    /// Returns `true` if the checked declaration declares a variable of the body.
    fn declares(&self, id: VarId) -> bool {
        self.decl
            .declarators
            .of(&self.tables.declarations.declarators)
            .iter()
            .any(|declarator| declarator.binding == Binding::Var(id))
    }

    fn space_of(&self, id: VarId) -> Option<StateSpace> {
        Some(self.tables.vars?.get(id)?.space)
    }

    /// Checks one byte of an address: `0xFF00(x)`.
    fn check_masked(&mut self, parts: OperandRef) -> CheckResult {
        self.context.require(self.location, Feature::AddressByte);
        let (mask, address) = self.pool().pair(parts);
        if let Some(mask) = self.pool().integer(mask) {
            let mask = mask as u64;
            let shift = mask.trailing_zeros();
            if mask == 0 || !shift.is_multiple_of(8) || mask >> shift != 0xFF {
                return Err(InitializerProblem::Mask(mask));
            }
        }
        if constant_kind(self.pool(), address).is_none() {
            self.check_constant_address(address)?;
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
