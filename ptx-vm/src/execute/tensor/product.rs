//! The operands of a product of matrices in tensor memory.

use ptx_isa::Modifier;

use super::super::execution::{Execution, Failed};
use super::{invalid, unknown_operands};
use crate::lanes::Place;
use crate::matrix::datapath::Part;
use crate::matrix::instruction::{Factor, Instruction, Kind, Variant};
use crate::matrix::shared::SharedMatrix;
use crate::matrix::zero_columns::ZeroColumns;
use crate::memory::Swizzle;
use crate::memory::tensor::{TENSOR_LANES, TensorAddress, lane_mask};
use crate::program::{Act, ActOperand};

/// The place of the first factor.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum FirstFactor {
    Shared(SharedMatrix),
    Tensor {
        address: TensorAddress,
        /// Each lane uses the row of the next lane, but for the last one.
        is_shifted: bool,
    },
}

/// A product, with the values of its operands.
#[derive(Clone, Debug)]
pub(in crate::execute) struct TensorProduct {
    pub(super) instruction: Instruction,
    /// The CTAs that perform it.
    pub(super) ranks: Vec<usize>,
    pub(super) result: TensorAddress,
    pub(super) a: FirstFactor,
    pub(super) b: SharedMatrix,
    pub(super) metadata: Option<TensorAddress>,
    pub(super) scales: Option<[TensorAddress; 2]>,
    /// The lanes of each CTA that are not written.
    pub(super) disabled_lanes: [u128; 2],
    /// The result is added to the cells.
    pub(super) accumulates: bool,
    /// The binary logarithm of the number by which the cells are divided before.
    pub(super) input_scale: u32,
    pub(super) zero_columns: Option<ZeroColumns>,
    pub(super) lane: usize,
}

/// Reads the operands of an instruction one after the other.
struct OperandReader<'a> {
    act: &'a Act,
    index: usize,
    lane: usize,
}

impl<'a> OperandReader<'a> {
    const fn skip(&mut self) -> usize {
        self.index += 1;
        self.index - 1
    }

    fn address(&mut self, execution: &Execution<'_>) -> Result<TensorAddress, Failed> {
        let index = self.skip();
        let bits = execution.tensor_operand(self.act, index, self.lane)?;
        Ok(TensorAddress::from_bits(bits))
    }

    /// The value of an optional operand.
    fn value(&mut self, execution: &Execution<'_>) -> Option<u64> {
        let index = self.skip();
        execution.lane_value(self.act, index, self.lane)
    }

    fn places(&mut self) -> &'a [Place] {
        let index = self.skip();
        self.act.all_places(index)
    }

    fn is_address(&self) -> bool {
        matches!(
            self.act.operands.get(self.index),
            Some(Some(ActOperand::Address(_)))
        )
    }
}

impl TensorProduct {
    pub(super) const fn rows_of_block(&self) -> usize {
        self.instruction.datapath().rows_of_block()
    }

    /// The columns of the second factor that each CTA has.
    pub(super) const fn columns_of_block(&self) -> usize {
        self.instruction.shape[1]
            / if self.instruction.variant.is_pair {
                2
            } else {
                1
            }
    }

    /// The lane of a row of a part: the address of the result may state the second half of the lanes of each warp.
    pub(super) const fn lane(&self, part: &Part, row: usize) -> usize {
        part.lane(row) + self.result.lane
    }

    /// The mask of the lanes of a part.
    pub(super) fn lanes(&self, part: &Part) -> u128 {
        let rows = part.rows.clone();
        rows.fold(0, |mask, row| mask | lane_mask(self.lane(part, row), 1))
    }

    /// The parts of the result that are computed separately: with scales, each warp of lanes has its own.
    pub(super) fn parts(&self) -> Vec<Part> {
        let parts = self.instruction.datapath().parts();
        match self.scales {
            None => parts,
            Some(_) => parts.iter().flat_map(Part::by_warp).collect(),
        }
    }
}

impl Execution<'_> {
    /// The operands of a product in a lane.
    pub(super) fn tensor_product(&self, act: &Act, lane: usize) -> Result<TensorProduct, Failed> {
        let unknown = || unknown_operands(lane);
        let variant = Variant::of(&act.modifiers);
        let variant = variant.ok_or_else(unknown)?;
        let mut operands = OperandReader {
            act,
            index: 0,
            lane,
        };
        let result = operands.address(self)?;
        let a = if operands.is_address() {
            FirstFactor::Tensor {
                address: operands.address(self)?,
                is_shifted: act.has(Modifier::Ashift),
            }
        } else {
            FirstFactor::Shared(shared_matrix(operands.value(self), lane)?)
        };
        let b = shared_matrix(operands.value(self), lane)?;
        let metadata = match variant.is_sparse {
            true => Some(operands.address(self)?),
            false => None,
        };
        let descriptor = operands.value(self).ok_or_else(unknown)?;
        let instruction = Instruction::decode(descriptor as u32, variant);
        let instruction = instruction.map_err(|reason| invalid(reason, lane))?;
        let scales = match instruction.scales {
            Some(_) => Some([operands.address(self)?, operands.address(self)?]),
            None => None,
        };
        let mut disabled_lanes = [0; 2];
        if scales.is_none() && !variant.is_weight_stationary {
            for (word, place) in operands.places().iter().enumerate() {
                let bits = self.get(*place, lane) & u128::from(u32::MAX);
                disabled_lanes[word / 4 % 2] |= bits << (32 * (word % 4));
            }
        }
        let accumulates = operands.value(self).ok_or_else(unknown)? != 0;
        let last = match scales {
            Some(_) => None,
            None => operands.value(self),
        };
        let is_stationary = variant.is_weight_stationary;
        Ok(TensorProduct {
            instruction,
            ranks: self.tensor_ranks(act, lane)?,
            result,
            a,
            b,
            metadata,
            scales,
            disabled_lanes,
            accumulates,
            input_scale: last.filter(|_| !is_stationary).unwrap_or(0) as u32,
            zero_columns: last.filter(|_| is_stationary).map(ZeroColumns::new),
            lane,
        })
    }

    /// An error if operands are not where the PTX ISA manual allows them.
    pub(super) fn check_product(&self, product: &TensorProduct) -> Result<(), Failed> {
        let fail = |reason: String| Err(invalid(reason, product.lane));
        let datapath = product.instruction.datapath();
        let lane = product.result.lane;
        let expected: &[usize] = if datapath.has_half_of_lanes() {
            &[0, 16]
        } else {
            &[0]
        };
        if !expected.contains(&lane) {
            return fail(format!(
                "the result starts at lane {lane} of tensor memory; expected one of {expected:?}"
            ));
        }
        let mut addresses = vec![("the metadata", product.metadata)];
        if let FirstFactor::Tensor {
            address,
            is_shifted,
        } = product.a
        {
            addresses.push(("the first factor", Some(address)));
            if is_shifted && datapath.rows_of_block() != TENSOR_LANES {
                return fail(format!(
                    "`.ashift` needs 128 rows in each CTA; there are {}",
                    datapath.rows_of_block()
                ));
            }
        }
        for (name, address) in addresses {
            if let Some(address) = address
                && address.lane != lane
            {
                return fail(format!(
                    "{name} starts at lane {} of tensor memory; expected lane {lane}, where the result starts",
                    address.lane
                ));
            }
        }
        let transposed = |matrix: &SharedMatrix, factor: Factor| {
            let is_wide = product.instruction.element_bits() == 32;
            let has_wide_atoms = matrix.swizzle == Swizzle::Bytes128Atom32;
            factor.is_transposed && is_wide != has_wide_atoms
        };
        let a_is_wrong = match &product.a {
            FirstFactor::Shared(matrix) => transposed(matrix, product.instruction.a),
            FirstFactor::Tensor { .. } => product.instruction.a.is_transposed,
        };
        if a_is_wrong || transposed(&product.b, product.instruction.b) {
            return fail(
                "a factor is transposed that does not allow it: in tensor memory, or with a swizzling mode for elements of another size".into(),
            );
        }
        let greatest = match product.instruction.variant.kind {
            Kind::F16 | Kind::Tf32 => 15,
            _ => 0,
        };
        if product.input_scale > greatest {
            let scale = product.input_scale;
            return fail(format!(
                "the input is scaled by 2^-{scale}; the greatest exponent is {greatest}"
            ));
        }
        Ok(())
    }
}

fn shared_matrix(descriptor: Option<u64>, lane: usize) -> Result<SharedMatrix, Failed> {
    let descriptor = descriptor.ok_or_else(|| unknown_operands(lane))?;
    SharedMatrix::of_tensor_core(descriptor).map_err(|reason| invalid(reason, lane))
}
