//! Initial values: their sort, their number, their nesting. Manual 5.4.4.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::constant::ConstKind;
use ptx_ir::{
    Address, Code, Declarator, Linkage, Operand, OperandPool, PrimaryMap, Span, SymbolKind, Var,
    VarDecl, VarId,
};
use ptx_isa::{PtxVersion, ScalarType, StateSpace, TypeKind};

use crate::context::{Context, constant_kind, integer};
use crate::stmt_tokens::Statement;
use crate::variable::Tables;

/// Checks the initial value of one name.
pub(crate) fn check(
    context: &mut Context<'_>,
    tables: Tables<'_>,
    decl: &VarDecl,
    ty: ScalarType,
    declarator: &Declarator,
    statement: &Statement<'_>,
) {
    let name = context.module.name(declarator.name);
    let at = statement.after(name, "=");
    if !matches!(decl.space, StateSpace::Global | StateSpace::Const) {
        let message = format!("`{name}` cannot have an initial value in `{}`", decl.space);
        context.error(Code::InitialPlace, at, message).help =
            Some("store the value at the start of the kernel".into());
        return;
    }
    if decl.linkage == Some(Linkage::Extern) {
        let message = format!("`{name}` is external: its definition gives the initial value");
        context.error(Code::InitialPlace, at, message);
        return;
    }
    if ty == ScalarType::F16 {
        context
            .error(
                Code::InitialPlace,
                at,
                "there are no initial values of type `.f16`".into(),
            )
            .help = Some("declare it as `.b16` with the bits of the number".into());
        return;
    }
    let values = Values {
        context,
        pool: tables.pool,
        vars: tables.vars,
        ty,
        at,
    };
    values.check(decl, declarator);
}

/// The fields of handles. Manual 5.3.
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

/// Words that any field takes as its value.
const MODES: &[&str] = &[
    "wrap",
    "mirror",
    "clamp_ogl",
    "clamp_to_edge",
    "clamp_to_border",
    "nearest",
    "linear",
];

/// What an initialiser must hold at some depth of its braces.
#[derive(Copy, Clone)]
enum Wanted {
    /// At most so many parts; any number for `None`.
    Array(Option<i64>),
    /// Exactly so many parts.
    Vector(i64),
}

struct Values<'c, 'm> {
    context: &'c mut Context<'m>,
    pool: &'c OperandPool,
    vars: Option<&'c PrimaryMap<VarId, Var>>,
    ty: ScalarType,
    at: Span,
}

impl Values<'_, '_> {
    /// Goes through the braces level by level, without recursion.
    fn check(mut self, decl: &VarDecl, declarator: &Declarator) {
        if self.ty.kind() == TypeKind::Opaque && !self.fields(declarator.init) {
            return;
        }
        let dims = self.pool.slice(declarator.dims).iter();
        let dims = dims.map(|d| Wanted::Array(integer(self.pool, *d)));
        let mut levels: Vec<Wanted> = dims.collect();
        // Halves and handles are written like vectors of their parts.
        let parts = decl
            .vector
            .max(if self.ty == ScalarType::F16x2 { 2 } else { 1 });
        if self.ty.kind() == TypeKind::Opaque {
            levels.push(Wanted::Array(None));
        } else if decl.vector > 1 {
            levels.push(Wanted::Vector(parts.into()));
        } else if parts > 1 {
            levels.push(Wanted::Array(Some(parts.into())));
        }
        let mut row: Vec<Operand> = alloc::vec![declarator.init];
        for wanted in levels {
            let mut next = Vec::new();
            for operand in row {
                let Operand::Vector(list) = operand else {
                    return self.mismatch("stand in braces, one pair for each dimension");
                };
                let parts = self.pool.list(list);
                let len = parts.len() as i64;
                match wanted {
                    Wanted::Array(Some(most)) if len > most => {
                        return self.count(format!("{len} initial values for {most} elements"));
                    }
                    Wanted::Array(None) if len == 0 && self.ty.kind() != TypeKind::Opaque => {
                        return self.mismatch("are needed where the size is left out");
                    }
                    Wanted::Vector(count) if len != count => {
                        return self.count(format!("{len} initial values for a vector of {count}"));
                    }
                    _ => next.extend_from_slice(parts),
                }
            }
            row = next;
        }
        if self.ty.kind() == TypeKind::Opaque || self.ty == ScalarType::F16x2 {
            return;
        }
        for operand in row {
            if !self.scalar(operand) {
                return;
            }
        }
    }

    /// The fields of a handle; false where one is not of its type.
    fn fields(&mut self, init: Operand) -> bool {
        let allowed = match self.ty {
            ScalarType::Texref => TEXTURE,
            ScalarType::Surfref => SURFACE,
            _ => SAMPLER,
        };
        let parts = match init {
            Operand::Vector(list) => self.pool.list(list),
            _ => &[],
        };
        for &part in parts {
            let Operand::Field(at) = part else { continue };
            let (Operand::Name(id), value) = self.pool.pair(at) else {
                continue;
            };
            let field = self.context.module.name(id);
            if !allowed.contains(&field) {
                let message = format!("`{}` has no field `{field}`", self.ty);
                let error = self.context.error(Code::InitialValue, self.at, message);
                error.help = Some(format!("its fields are {}", allowed.join(", ")));
                return false;
            }
            if let Operand::Name(id) = value
                && !MODES.contains(&self.context.module.name(id))
            {
                let value = self.context.module.name(id);
                let message = format!("the field `{field}` has no value `{value}`");
                let error = self.context.error(Code::InitialValue, self.at, message);
                error.help = Some(format!("values are numbers and {}", MODES.join(", ")));
                return false;
            }
        }
        true
    }

    fn mismatch(&mut self, what: &str) {
        let message = format!("initial values of type `{}` {what}", self.ty);
        self.context.error(Code::InitialValue, self.at, message);
    }

    fn count(&mut self, message: String) {
        self.context.error(Code::InitialCount, self.at, message);
    }

    /// One value; false where it was reported.
    fn scalar(&mut self, operand: Operand) -> bool {
        let fits = match operand {
            Operand::Vector(_) => {
                self.mismatch("have no more braces than the variable has dimensions");
                return false;
            }
            Operand::Masked(at) => return self.masked(at),
            Operand::Name(_) => return true,
            operand => match constant_kind(self.pool, operand) {
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
        if !fits {
            self.mismatch("are constants of that type");
        }
        fits
    }

    /// The address of a variable or function: unsigned, and of something that has an address before the program runs.
    fn address(&mut self, operand: Operand) -> bool {
        if !self.nameable(operand) {
            return false;
        }
        let fits = matches!(self.ty, ScalarType::U32 | ScalarType::U64);
        if !fits {
            self.mismatch("cannot be addresses, which are `.u32` or `.u64`");
        }
        fits
    }

    /// Whether a name has an address that is known before the program runs.
    fn nameable(&mut self, operand: Operand) -> bool {
        let (base, generic) = match operand {
            Operand::Address(id) => {
                let address = self.pool.address(id);
                let base = address.map_or(Operand::Absent, |a: &Address| a.base);
                (base, false)
            }
            operand => (operand, false),
        };
        let (base, generic) = match base {
            Operand::Generic(at) => (self.pool.get(at), true),
            base => (base, generic),
        };
        let module = self.context.module;
        let kind = match base {
            Operand::Symbol(id) => module.symbols().get(id).map(|s| s.kind),
            Operand::Var(id) => {
                let space = self.vars.and_then(|v| v.get(id)).map(|v| v.space);
                if matches!(space, Some(StateSpace::Global | StateSpace::Const)) {
                    return true;
                }
                None
            }
            _ => return true,
        };
        let message: String = match kind {
            Some(SymbolKind::Variable(StateSpace::Global | StateSpace::Const, _)) => return true,
            Some(SymbolKind::Function(_)) if !generic => return true,
            Some(SymbolKind::Function(_)) => "`generic` is for variables, not for functions".into(),
            _ => "only variables in `.global` and `.const` and functions have an address that is known beforehand".into(),
        };
        self.context.error(Code::InitialValue, self.at, message);
        false
    }

    /// One byte of an address: `0xFF00(x)`.
    fn masked(&mut self, at: ptx_ir::OperandRef) -> bool {
        let (what, version) = ("one byte of an address", PtxVersion::new(7, 1));
        let place = self.at;
        self.context
            .need(Code::InitialValue, |_| place, &what, version, None);
        let (mask, inner) = self.pool.pair(at);
        let mask = integer(self.pool, mask).map(|m| m as u64);
        let byte = |m: u64| m.trailing_zeros().is_multiple_of(8) && m >> m.trailing_zeros() == 0xFF;
        if mask.is_some_and(|m| m == 0 || !byte(m)) {
            let message = format!(
                "a mask chooses one byte, such as `0xFF00`; {:#x} does not",
                mask.unwrap_or(0)
            );
            self.context.error(Code::InitialValue, self.at, message);
            return false;
        }
        if constant_kind(self.pool, inner).is_none() && !self.nameable(inner) {
            return false;
        }
        let fits = matches!(self.ty, ScalarType::U8 | ScalarType::U32 | ScalarType::U64);
        if !fits {
            self.mismatch("cannot be bytes of addresses, which are `.u8`");
        }
        fits
    }
}
