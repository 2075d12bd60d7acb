//! Symbols: the unknowns of affine forms.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::{Operand, VarId};
use ptx_isa::{SpecialReg, StateSpace};

use super::alignment::Alignment;
use super::interval::Interval;
use super::launch_bounds::LaunchBounds;
use crate::graph::LoopId;
use crate::ssa::ValueId;

crate::ids::ids! {
    /// The id of a symbol in the affine forms of a function.
    AffineSymbolId;
}

/// An unknown of an affine form: an integer with a fixed value in one thread at the time a value is computed.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum AffineSymbol {
    /// A component of a special register, as an unsigned integer.
    Special(SpecialReg, u8),
    /// Bytes of a parameter of the function, as an unsigned integer.
    Parameter {
        /// The parameter.
        variable: VarId,
        /// The offset of the first byte.
        offset: u32,
        /// The number of bytes.
        bytes: u8,
    },
    /// The address of a variable in its state space.
    Variable(VariableRef),
    /// The start of the window of a state space in the generic address space.
    Window(StateSpace),
    /// The iteration of a loop: 0 when the header is executed for the first time after entering the loop.
    Counter(LoopId),
    /// A value that is not a sum of other symbols, as an integer.
    Value {
        /// The value.
        value: ValueId,
        /// Whether it is a signed integer.
        signed: bool,
    },
    /// The product of two symbols, of which the first one may be a product of two symbols. The factors are in the order of their ids.
    Product(AffineSymbolId, AffineSymbolId),
}

/// A variable whose address is taken.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum VariableRef {
    /// A variable of the module.
    Module(ptx_ir::SymbolId),
    /// A variable of the function.
    Local(VarId),
}

impl VariableRef {
    /// The variable that an operand names.
    #[doc(hidden)]
    #[must_use]
    pub const fn of(operand: Operand) -> Option<Self> {
        match operand {
            Operand::Symbol(id) => Some(Self::Module(id)),
            Operand::Var(id) => Some(Self::Local(id)),
            _ => None,
        }
    }
}

/// The symbols of a function. Symbols for values are not stored: their ids contain the value.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbols {
    symbols: Vec<AffineSymbol>,
    ids: BTreeMap<AffineSymbol, AffineSymbolId>,
}

/// The maximum number of factors of a product: an index in the grid, which is a sum with a product, times a number.
const MAX_FACTORS: usize = 3;

/// The bit that the ids of symbols for values have.
const VALUE: u32 = 1 << 31;

impl Symbols {
    pub(super) fn get(&self, id: AffineSymbolId) -> Option<AffineSymbol> {
        let number = id.as_u32();
        if number & VALUE != 0 {
            return Some(AffineSymbol::Value {
                value: ValueId::new((number & !VALUE) / 2),
                signed: number % 2 == 1,
            });
        }
        self.symbols.get(number as usize).copied()
    }

    /// The symbol for a value.
    pub(super) const fn value(value: ValueId, signed: bool) -> AffineSymbolId {
        AffineSymbolId::new(VALUE | value.as_u32() << 1 | signed as u32)
    }

    pub(super) fn id(&mut self, symbol: AffineSymbol) -> AffineSymbolId {
        if let AffineSymbol::Value { value, signed } = symbol {
            return Self::value(value, signed);
        }
        let next = AffineSymbolId::new(self.symbols.len() as u32);
        let id = *self.ids.entry(symbol).or_insert(next);
        if id == next {
            self.symbols.push(symbol);
        }
        id
    }

    /// The id of a symbol that has one.
    pub(super) fn find(&self, symbol: AffineSymbol) -> Option<AffineSymbolId> {
        self.ids.get(&symbol).copied()
    }

    /// The ids of the symbols that are not values.
    pub(super) fn ids(&self) -> impl Iterator<Item = AffineSymbolId> + use<> {
        (0..self.symbols.len() as u32).map(AffineSymbolId::new)
    }

    /// The symbol for the product of two; `None` if it has more than [`MAX_FACTORS`] factors.
    pub(super) fn product(
        &mut self,
        a: AffineSymbolId,
        b: AffineSymbolId,
    ) -> Option<AffineSymbolId> {
        let mut factors = self.factors(a)?;
        factors.extend(self.factors(b)?);
        if factors.len() > MAX_FACTORS {
            return None;
        }
        factors.sort_unstable();
        factors
            .into_iter()
            .reduce(|product, factor| self.id(AffineSymbol::Product(product, factor)))
    }

    /// The factors of a product, in the order of their ids; the symbol itself if it is not a product. `None` for an unknown symbol.
    pub(super) fn factors(&self, symbol: AffineSymbolId) -> Option<Vec<AffineSymbolId>> {
        let mut factors = Vec::with_capacity(MAX_FACTORS);
        let mut product = symbol;
        while let AffineSymbol::Product(first, last) = self.get(product)? {
            factors.push(last);
            product = first;
        }
        factors.push(product);
        factors.reverse();
        Some(factors)
    }
}

/// The values of a special register.
pub(super) fn special_range(
    register: SpecialReg,
    component: u8,
    bounds: &LaunchBounds,
) -> Interval {
    let dimension = usize::from(component);
    let up_to = |greatest: u64| Interval::new(0, i128::from(greatest));
    let blocks = if component == 0 {
        (1 << 31) - 1
    } else {
        65_535
    };
    match register {
        SpecialReg::Tid | SpecialReg::Ntid if dimension > 2 => {
            up_to(u64::from(register == SpecialReg::Ntid))
        }
        SpecialReg::Tid => up_to(u64::from(bounds.most_threads(dimension)) - 1),
        SpecialReg::Ntid => Interval::new(1, bounds.most_threads(dimension).into()),
        SpecialReg::Ctaid | SpecialReg::Clusterid if dimension < 3 => up_to(blocks - 1),
        SpecialReg::Nctaid | SpecialReg::Nclusterid if dimension < 3 => {
            Interval::new(1, blocks.into())
        }
        SpecialReg::Laneid => up_to(31),
        SpecialReg::Nwarpid => up_to(64),
        _ => Interval::of_bits(register.scalar_type().bits(), false),
    }
}

/// The lowest bits of a special register.
pub(super) fn special_alignment(register: SpecialReg, component: u8) -> Alignment {
    match (register, component) {
        (SpecialReg::Tid | SpecialReg::Ctaid | SpecialReg::Clusterid, 3..) => Alignment::new(64, 0),
        _ => Alignment::UNKNOWN,
    }
}
