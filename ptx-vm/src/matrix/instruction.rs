//! Instruction descriptors of the fifth generation of tensor cores (PTX ISA manual 9.7.16.4.2): the shape, types and options of a product.

use ptx_analysis::internals::MatrixProduct;
use ptx_isa::{Modifier, ScalarType};

use super::datapath::Datapath;
use super::operation::Operation;
use super::units::UnitFormat;

/// The kind of a product: types that a tensor core multiplies at one rate.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    F16,
    Tf32,
    F8f6f4,
    I8,
    Mxf8f6f4,
    Mxf4,
    Mxf4nvf4,
}

impl Kind {
    /// The kind that a modifier names.
    pub(crate) fn of(modifiers: &[Modifier]) -> Option<Self> {
        modifiers.iter().find_map(|modifier| {
            Some(match modifier {
                Modifier::KindF16 => Self::F16,
                Modifier::KindTf32 => Self::Tf32,
                Modifier::KindF8f6f4 => Self::F8f6f4,
                Modifier::KindI8 => Self::I8,
                Modifier::KindMxf8f6f4 => Self::Mxf8f6f4,
                Modifier::KindMxf4 => Self::Mxf4,
                Modifier::KindMxf4nvf4 => Self::Mxf4nvf4,
                _ => return None,
            })
        })
    }

    const fn has_scales(self) -> bool {
        matches!(self, Self::Mxf8f6f4 | Self::Mxf4 | Self::Mxf4nvf4)
    }

    /// Whether elements of 4 bits are packed in bytes. Otherwise, elements of less than 8 bits have a byte each.
    const fn is_packed(self) -> bool {
        matches!(self, Self::Mxf4 | Self::Mxf4nvf4)
    }

    /// The bits of an element in tensor memory, and in shared memory once packed elements are expanded.
    const fn element_bits(self) -> usize {
        match self {
            Self::Tf32 => 32,
            Self::F16 => 16,
            Self::F8f6f4 | Self::I8 | Self::Mxf8f6f4 => 8,
            Self::Mxf4 | Self::Mxf4nvf4 => 4,
        }
    }

    /// The type of factors that a code names.
    const fn factor(self, code: u32) -> Option<ScalarType> {
        Some(match (self, code) {
            (Self::F16, 0) => ScalarType::F16,
            (Self::F16, 1) => ScalarType::Bf16,
            (Self::Tf32, 2) => ScalarType::Tf32,
            (Self::F8f6f4 | Self::Mxf8f6f4, 0) => ScalarType::E4m3,
            (Self::F8f6f4 | Self::Mxf8f6f4, 1) => ScalarType::E5m2,
            (Self::F8f6f4 | Self::Mxf8f6f4, 3) => ScalarType::E2m3,
            (Self::F8f6f4 | Self::Mxf8f6f4, 4) => ScalarType::E3m2,
            (Self::F8f6f4 | Self::Mxf8f6f4, 5) | (Self::Mxf4 | Self::Mxf4nvf4, 1) => {
                ScalarType::E2m1
            }
            (Self::I8, 0) => ScalarType::U8,
            (Self::I8, 1) => ScalarType::S8,
            _ => return None,
        })
    }

    /// The type of the result that a code names.
    const fn result(self, code: u32) -> Option<ScalarType> {
        Some(match (self, code) {
            (Self::Mxf8f6f4 | Self::Mxf4 | Self::Mxf4nvf4, _)
            | (Self::F16 | Self::Tf32 | Self::F8f6f4, 1) => ScalarType::F32,
            (Self::F16 | Self::F8f6f4, 0) => ScalarType::F16,
            (Self::I8, 2) => ScalarType::S32,
            _ => return None,
        })
    }
}

/// The options of a product that the modifiers of its instruction state.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Variant {
    pub(crate) kind: Kind,
    pub(crate) is_sparse: bool,
    pub(crate) is_weight_stationary: bool,
    pub(crate) is_pair: bool,
    /// The number of elements that share a scale.
    scale_block: usize,
}

impl Variant {
    /// The options of modifiers; `None` if they do not name a kind.
    pub(crate) fn of(modifiers: &[Modifier]) -> Option<Self> {
        let has = |modifier: Modifier| modifiers.contains(&modifier);
        Some(Self {
            kind: Kind::of(modifiers)?,
            is_sparse: has(Modifier::Sp),
            is_weight_stationary: has(Modifier::Ws),
            is_pair: has(Modifier::CtaGroup2),
            scale_block: if has(Modifier::ScaleVec4X) || has(Modifier::Block16) {
                16
            } else {
                32
            },
        })
    }
}

/// The block scales of a product.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Scales {
    ty: ScalarType,
    /// The number of scales of a row of the first and a column of the second factor.
    pub(crate) count: usize,
    /// The first byte of the scales of both factors in a word of tensor memory.
    pub(crate) first_bytes: [usize; 2],
}

/// A factor.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Factor {
    pub(crate) ty: ScalarType,
    /// The dimension over which products are summed is not the consecutive one in shared memory.
    pub(crate) is_transposed: bool,
}

/// A decoded instruction descriptor.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Instruction {
    pub(crate) variant: Variant,
    pub(crate) a: Factor,
    pub(crate) b: Factor,
    pub(crate) result: ScalarType,
    /// The products of factors change their sign.
    pub(crate) is_negated: bool,
    saturates: bool,
    /// Selects the columns with the metadata of a sparse factor.
    pub(crate) selector: usize,
    /// The numbers of rows and columns of the result, and of the columns of the first factor.
    pub(crate) shape: [usize; 3],
    pub(crate) scales: Option<Scales>,
}

const fn field(bits: u32, lowest: u32, count: u32) -> u32 {
    bits >> lowest & ((1 << count) - 1)
}

impl Instruction {
    /// Decodes a descriptor. The error is the reason why the PTX ISA manual does not allow it.
    pub(crate) fn decode(bits: u32, variant: Variant) -> Result<Self, String> {
        let kind = variant.kind;
        check_reserved(bits, kind)?;
        if field(bits, 2, 1) != u32::from(variant.is_sparse) {
            let expected = u32::from(variant.is_sparse);
            return Err(format!(
                "bit 2 of the instruction descriptor {bits:#x} is not {expected}: it states another sparsity than the instruction"
            ));
        }
        let invalid = |what: &str, first: u32, count: u32| {
            let code = field(bits, first, count);
            format!(
                "{what} of the instruction descriptor {bits:#x}, bits {first} to {}, has the invalid code {code}",
                first + count - 1
            )
        };
        let b_bits = if kind.is_packed() { 2 } else { 3 };
        let factor = |what: &str, first: u32, count: u32, transposed: u32| {
            let ty = kind.factor(field(bits, first, count));
            Ok::<Factor, String>(Factor {
                ty: ty.ok_or_else(|| invalid(what, first, count))?,
                is_transposed: field(bits, transposed, 1) == 1,
            })
        };
        let result = kind.result(field(bits, 4, 2));
        let rows = if kind.has_scales() {
            field(bits, 27, 2) << 7
        } else {
            field(bits, 24, 5) << 4
        };
        let depth = 256 / kind.element_bits();
        let has_longer_rows = kind.is_packed() && field(bits, 31, 1) == 1;
        let depth = match (variant.is_sparse, has_longer_rows) {
            (true, false) => 2 * depth,
            (false, true) => 96,
            (false, false) => depth,
            (true, true) => {
                return Err(invalid("the number of products", 31, 1));
            }
        };
        let instruction = Self {
            variant,
            a: factor("the type of the first factor", 7, 3, 15)?,
            b: factor("the type of the second factor", 10, b_bits, 16)?,
            result: result.ok_or_else(|| invalid("the type of the result", 4, 2))?,
            is_negated: field(bits, 13, 1) != field(bits, 14, 1),
            saturates: kind == Kind::I8 && field(bits, 3, 1) == 1,
            selector: match kind.has_scales() {
                true => 0,
                false => field(bits, 0, 2) as usize,
            },
            shape: [rows as usize, (field(bits, 17, 6) << 3) as usize, depth],
            scales: scales(bits, variant, depth)?,
        };
        instruction.check_shape(bits)?;
        Ok(instruction)
    }

    /// An error if the PTX ISA manual does not have the shape.
    fn check_shape(&self, bits: u32) -> Result<(), String> {
        let Variant {
            kind,
            is_sparse,
            is_weight_stationary,
            is_pair,
            ..
        } = self.variant;
        let [rows, columns, _] = self.shape;
        let allowed_rows: &[usize] = match (is_pair, is_weight_stationary) {
            (_, true) => &[32, 64, 128],
            (true, _) if kind.is_packed() && is_sparse => &[256],
            (true, _) => &[128, 256],
            _ if kind.has_scales() => &[128],
            _ => &[64, 128],
        };
        if !allowed_rows.contains(&rows) {
            return Err(format!(
                "the instruction descriptor {bits:#x} states {rows} rows; expected one of {allowed_rows:?}"
            ));
        }
        let has_bytes_of_columns = self.b.is_transposed && kind.element_bits() == 8;
        let are_allowed = if is_weight_stationary {
            matches!(columns, 64 | 128) || columns == 256 && !is_sparse
        } else {
            let step = if kind == Kind::I8 && (is_pair || columns > 32) || has_bytes_of_columns {
                16
            } else {
                8
            };
            let step = if is_pair { step.max(8) * 2 } else { step };
            (step..=256).contains(&columns) && columns.is_multiple_of(step)
        };
        if are_allowed {
            Ok(())
        } else {
            Err(format!(
                "the instruction descriptor {bits:#x} states {columns} columns, which the instruction does not have"
            ))
        }
    }

    pub(crate) const fn datapath(&self) -> Datapath {
        Datapath {
            rows: self.shape[0],
            columns: self.shape[1],
            is_pair: self.variant.is_pair,
            is_sparse: self.variant.is_sparse,
            is_weight_stationary: self.variant.is_weight_stationary,
        }
    }

    /// The product, as profiles show it.
    pub(crate) fn product(&self) -> MatrixProduct {
        let shape = self.shape.map(|size| size as u32);
        MatrixProduct::of_descriptor(shape, [self.a.ty, self.b.ty], self.variant.is_sparse)
    }

    pub(crate) fn operation(&self) -> Operation {
        Operation::of_tensor_core(
            self.product(),
            self.result,
            !self.variant.kind.is_packed(),
            self.scales.map(|scales| (scales.ty, scales.count)),
            self.saturates,
        )
    }

    /// The bits of an element in tensor memory, and in shared memory once packed elements are expanded.
    pub(crate) const fn element_bits(&self) -> usize {
        self.variant.kind.element_bits()
    }

    /// The arrangement of elements of a type in shared memory.
    pub(crate) const fn unit_format(&self, ty: ScalarType) -> UnitFormat {
        match ty {
            ScalarType::E2m1 if !self.variant.kind.is_packed() => UnitFormat::Fours,
            ScalarType::E2m3 | ScalarType::E3m2 => UnitFormat::Sixes,
            _ => UnitFormat::Plain,
        }
    }

    /// The bit of an element that changes its sign.
    pub(crate) const fn sign_bit(&self) -> u64 {
        match self.a.ty {
            ScalarType::Tf32 => 1 << 31,
            ScalarType::F16 | ScalarType::Bf16 => 1 << 15,
            ScalarType::E2m3 | ScalarType::E3m2 => 1 << 5,
            ScalarType::E2m1 if self.variant.kind.is_packed() => 1 << 3,
            ScalarType::E2m1 => 1 << 5,
            ScalarType::E4m3 | ScalarType::E5m2 => 1 << 7,
            _ => 0,
        }
    }

    /// The number of stored elements of a row of the first factor.
    pub(crate) const fn stored(&self) -> usize {
        if self.variant.is_sparse {
            self.shape[2] / 2
        } else {
            self.shape[2]
        }
    }
}

/// An error if a bit is set that has to be 0.
fn check_reserved(bits: u32, kind: Kind) -> Result<(), String> {
    let reserved: u32 = match kind {
        Kind::F16 | Kind::Tf32 | Kind::F8f6f4 => 1 << 3 | 1 << 6 | 1 << 23 | 1 << 29,
        Kind::I8 => 1 << 6 | 3 << 13 | 1 << 23 | 1 << 29,
        Kind::Mxf8f6f4 => 0b1011 | 1 << 6 | 7 << 24 | 1 << 31,
        Kind::Mxf4 | Kind::Mxf4nvf4 => 0b1011 | 1 << 6 | 1 << 12 | 3 << 15 | 7 << 24,
    };
    match bits & reserved {
        0 => Ok(()),
        set => Err(format!(
            "bit {} of the instruction descriptor {bits:#x} is 1; it has to be 0",
            set.trailing_zeros()
        )),
    }
}

/// The scales of a product, if its kind has them.
fn scales(bits: u32, variant: Variant, depth: usize) -> Result<Option<Scales>, String> {
    let kind = variant.kind;
    if !kind.has_scales() {
        return Ok(None);
    }
    let is_exponent = field(bits, 23, 1) == 1;
    if !is_exponent && (kind != Kind::Mxf4nvf4 || variant.scale_block != 16) {
        return Err(format!(
            "bit 23 of the instruction descriptor {bits:#x} is 0; it has to be 1, for scales of type `.ue8m0`"
        ));
    }
    // A scale of a sparse factor belongs to twice as many elements, half of which are stored.
    let products = if variant.is_sparse { depth / 2 } else { depth };
    let count = products / variant.scale_block;
    let first_bytes = [field(bits, 29, 2) as usize, field(bits, 4, 2) as usize];
    let step = match count {
        1 | 3 => 1,
        2 | 6 => 2,
        _ => 4,
    };
    if let Some(id) = first_bytes.iter().find(|id| *id % step != 0) {
        return Err(format!(
            "the instruction descriptor {bits:#x} states the scale data ID {id}, which is not a multiple of {step}"
        ));
    }
    Ok(Some(Scales {
        ty: if is_exponent {
            ScalarType::Ue8m0
        } else {
            ScalarType::Ue4m3
        },
        count,
        first_bytes,
    }))
}
