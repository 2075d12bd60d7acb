//! Products of matrices in tensor memory (PTX ISA manual 9.7.16.10).

use core::ops::Range;

use ptx_isa::ScalarType;

use super::super::asynchronous::{AsyncOperation, Completes, GroupKind, Pass};
use super::super::execution::{Control, Execution, Failed, Outcome};
use super::super::shared_matrix::StoredMatrix;
use super::product::{FirstFactor, TensorProduct};
use super::{invalid, unknown_operands};
use crate::lanes::{half_to_single, lanes, single_to_half};
use crate::matrix::datapath::Part;
use crate::matrix::instruction::Factor;
use crate::matrix::model::Model;
use crate::matrix::multiply::{Matrix, Operands, multiply_by_method};
use crate::matrix::shared::{Major, SharedMatrix};
use crate::matrix::sparse::stored_column;
use crate::matrix::zero_columns::ZeroColumns;
use crate::memory::tensor::{TENSOR_LANES, TensorAddress, TensorMemory, WARP_LANES, lane_mask};
use crate::program::Act;

/// The bits of a cell of tensor memory.
const CELL_BITS: usize = 32;
/// The multiply-add operations that take as long as handling a byte.
const MULTIPLY_ADDS: u64 = 2;

impl Execution<'_> {
    /// Multiplies matrices, and writes the result to tensor memory or adds it there.
    pub(in crate::execute) fn tensor_multiply(&mut self, act: &Act) -> Outcome {
        for lane in lanes(self.active) {
            let product = self.tensor_product(act, lane)?;
            self.check_product(&product)?;
            let operation = AsyncOperation::TensorProduct(Box::new(product));
            self.start(
                operation,
                Completes::Group(GroupKind::TensorMemory),
                None,
                lane,
            )?;
        }
        Ok(Control::Next)
    }

    pub(in crate::execute) fn perform_product(
        &mut self,
        product: &TensorProduct,
    ) -> Result<(), Failed> {
        let lane = product.lane;
        let operation = product.instruction.operation();
        let work = operation.multiply_adds() / MULTIPLY_ADDS;
        let worked = self.warp.work(work, self.grid);
        worked.map_err(|reason| (reason, lane))?;
        let half = operation.d == ScalarType::F16;
        let method = Model::tensor_memory_method(operation.a, half);
        let b = self.second_factor(product)?;
        let mut a_of_block = Vec::new();
        for &rank in &product.ranks {
            a_of_block.push(match &product.a {
                FirstFactor::Shared(matrix) => {
                    let factor = product.instruction.a;
                    let lines = 0..product.rows_of_block();
                    let stored = product.instruction.stored();
                    Some(self.shared_factor(product, rank, matrix, factor, lines, stored)?)
                }
                FirstFactor::Tensor { .. } => None,
            });
        }
        for part in product.parts() {
            let operands =
                self.operands_of_part(product, &part, &b, a_of_block[part.block].as_ref())?;
            if self.pass == Pass::Announce {
                self.write_part(product, &part, &operands.c);
                continue;
            }
            let result = multiply_by_method(&operation, method, &operands);
            let result = result.ok_or_else(|| unknown_operands(lane))?;
            self.write_part(product, &part, &result);
        }
        if self.pass == Pass::Perform {
            return Ok(());
        }
        self.observe(|observer, execution| {
            observer.tensor_product(execution, &product.instruction.product());
        });
        Ok(())
    }

    /// A factor in shared memory, with a row for each row of the first or column of the second factor in a range of lines.
    fn shared_factor(
        &mut self,
        product: &TensorProduct,
        rank: usize,
        matrix: &SharedMatrix,
        factor: Factor,
        lines: Range<usize>,
        depth: usize,
    ) -> Result<Matrix, Failed> {
        let format = product.instruction.unit_format(factor.ty);
        let stored = StoredMatrix {
            rank,
            matrix: *matrix,
            major: if factor.is_transposed {
                Major::Mn
            } else {
                Major::K
            },
            first: lines.start,
            size: [lines.len(), depth],
            bits: product.instruction.element_bits(),
        };
        let units = stored.units();
        let mut values = Vec::with_capacity(units.len());
        for (address, _) in &units {
            values.push(self.read_unit(rank, *address, format, product.lane)?);
        }
        Ok(stored.matrix_of(&units, &values))
    }

    /// The second factor, of which each CTA has half of the columns.
    fn second_factor(&mut self, product: &TensorProduct) -> Result<Matrix, Failed> {
        let [rows, columns, depth] = product.instruction.shape;
        let width = product.columns_of_block();
        let first = product.zero_columns.map_or(0, ZeroColumns::shift);
        let mut blocks = Vec::new();
        for &rank in &product.ranks {
            let factor = product.instruction.b;
            let lines = first..first + width;
            blocks.push(self.shared_factor(product, rank, &product.b, factor, lines, depth)?);
        }
        let is_zero = |column: usize| {
            let zero_columns = product.zero_columns;
            zero_columns.is_some_and(|zeros| zeros.is_zero(rows, columns, column))
        };
        let zeros: Vec<bool> = (0..columns).map(is_zero).collect();
        Ok(Matrix::new([depth, columns], |k, column| {
            if zeros[column] {
                0
            } else {
                blocks[column / width].at(column % width, k)
            }
        }))
    }

    /// The operands of the product that gives a part of the result.
    fn operands_of_part(
        &self,
        product: &TensorProduct,
        part: &Part,
        b: &Matrix,
        shared_a: Option<&Matrix>,
    ) -> Result<Operands, Failed> {
        let rank = product.ranks[part.block];
        let columns = part.columns.clone();
        let stored = product.instruction.stored();
        let sign = if product.instruction.is_negated {
            product.instruction.sign_bit()
        } else {
            0
        };
        let rows = part.rows.start;
        let mut a = match (shared_a, product.a) {
            (Some(a), _) => Matrix::new([part.rows.len(), stored], |row, k| a.at(rows + row, k)),
            (
                None,
                FirstFactor::Tensor {
                    address,
                    is_shifted,
                },
            ) => self.factor_in_tensor_memory(product, part, address, is_shifted)?,
            (None, FirstFactor::Shared(_)) => return Err(unknown_operands(product.lane)),
        };
        for element in &mut a.elements {
            *element ^= sign;
        }
        Ok(Operands {
            a,
            b: Matrix::new([b.size[0], columns.len()], |k, column| {
                b.at(k, columns.start + column)
            }),
            c: self.addend(product, part)?,
            columns: match product.metadata {
                Some(metadata) => Some(self.columns_of_stored(product, part, metadata)?),
                None => None,
            },
            scales: match product.scales {
                Some(addresses) => Some(self.scales_of_part(product, rank, part, addresses)?),
                None => None,
            },
        })
    }

    /// Checks cells of some lanes that are read.
    fn read_cells(
        &self,
        product: &TensorProduct,
        rank: usize,
        lanes: u128,
        columns: Range<usize>,
    ) -> Result<&TensorMemory, Failed> {
        let end = (u128::BITS - lanes.leading_zeros()) as usize;
        self.tensor_cells(rank, &(0..end), &columns, product.lane)?;
        self.show_unwritten(rank, lanes, columns.clone(), product.lane);
        self.tensor_cells(rank, &(0..end), &columns, product.lane)
    }

    /// The rows of the first factor for a part of the result.
    fn factor_in_tensor_memory(
        &self,
        product: &TensorProduct,
        part: &Part,
        address: TensorAddress,
        is_shifted: bool,
    ) -> Result<Matrix, Failed> {
        let bits = product.instruction.element_bits();
        let stored = product.instruction.stored();
        let columns = address.column..address.column + (stored * bits).div_ceil(CELL_BITS);
        let rank = product.ranks[part.block];
        let memory = self.read_cells(product, rank, product.lanes(part), columns)?;
        let elements_of_cell = CELL_BITS / bits;
        let mask = u64::from(u32::MAX >> (CELL_BITS - bits));
        Ok(Matrix::new([part.rows.len(), stored], |row, k| {
            let lane = product.lane(part, part.rows.start + row);
            let lane = if is_shifted {
                (lane + 1).min(TENSOR_LANES - 1)
            } else {
                lane
            };
            let cell = memory.cell(lane, address.column + k / elements_of_cell);
            u64::from(cell) >> (bits * (k % elements_of_cell)) & mask
        }))
    }

    /// The cells that the product is added to.
    fn addend(&self, product: &TensorProduct, part: &Part) -> Result<Matrix, Failed> {
        let size = [part.rows.len(), part.columns.len()];
        let first = product.result.column;
        let columns = first..first + part.columns.len();
        let rank = product.ranks[part.block];
        let lanes = product.lanes(part);
        if !product.accumulates {
            let end = (u128::BITS - lanes.leading_zeros()) as usize;
            self.tensor_cells(rank, &(0..end), &columns, product.lane)?;
            return Ok(Matrix::new(size, |_, _| 0));
        }
        let lanes = lanes & !product.disabled_lanes[part.block];
        let memory = self.read_cells(product, rank, lanes, columns)?;
        let factor = f32::from_bits((127 - product.input_scale) << 23);
        let ty = product.instruction.result;
        Ok(Matrix::new(size, |row, column| {
            let lane = product.lane(part, part.rows.start + row);
            let cell = memory.cell(lane, first + column);
            let bits = match (ty, product.input_scale) {
                (ScalarType::F16, 0) => cell & 0xffff,
                (_, 0) | (ScalarType::S32, _) => cell,
                (ScalarType::F16, _) => single_to_half(
                    (f32::from_bits(half_to_single(cell & 0xffff)) * factor).to_bits(),
                ),
                _ => (f32::from_bits(cell) * factor).to_bits(),
            };
            bits.into()
        }))
    }

    /// The columns of the stored elements of a sparse first factor.
    fn columns_of_stored(
        &self,
        product: &TensorProduct,
        part: &Part,
        metadata: TensorAddress,
    ) -> Result<Matrix, Failed> {
        let bits = product.instruction.element_bits();
        let stored = product.instruction.stored();
        let is_spread = bits >= 16;
        let first = metadata.column + product.instruction.selector;
        let columns = first..first + if is_spread { 1 } else { 2 };
        let rank = product.ranks[part.block];
        // Groups of 16 lanes have the metadata of their rows together.
        let lanes = product.lanes(part);
        let memory = self.read_cells(product, rank, lanes, columns)?;
        let mut elements = Vec::with_capacity(part.rows.len() * stored);
        for row in part.rows.clone() {
            let lane = product.lane(part, row);
            let word = if is_spread {
                let group = lane & !15 | lane & 7;
                let shift = 16 * (lane / 8 % 2);
                let half = |lane: usize| u64::from(memory.cell(lane, first)) >> shift & 0xffff;
                half(group) | half(group | 8) << 16
            } else {
                u64::from(memory.cell(lane, first)) | u64::from(memory.cell(lane, first + 1)) << 32
            };
            let index = |unit: usize| (word >> (2 * unit) & 3) as usize;
            if self.pass == Pass::Whole {
                check_metadata(word, bits, product.lane)?;
            }
            elements.extend((0..stored).map(|element| stored_column(bits, element, index) as u64));
        }
        Ok(Matrix {
            size: [part.rows.len(), stored],
            elements,
        })
    }

    /// The scales of the rows and columns of a part, which is in the lanes of one warp. Each warp has a copy of all scales.
    fn scales_of_part(
        &self,
        product: &TensorProduct,
        rank: usize,
        part: &Part,
        addresses: [TensorAddress; 2],
    ) -> Result<[Matrix; 2], Failed> {
        let Some(scales) = product.instruction.scales else {
            return Err(unknown_operands(product.lane));
        };
        let warp = product.lane(part, part.rows.start) / WARP_LANES * WARP_LANES;
        // Rows are counted in the CTA, and columns in the part.
        let lines = [part.rows.clone(), 0..part.columns.len()];
        let totals = [product.rows_of_block(), part.columns.len()];
        let mut matrices = Vec::with_capacity(2);
        for (factor, lines) in lines.into_iter().enumerate() {
            // Four or eight columns have the words of all lines; further bytes are in the next as many.
            let group = totals[factor].div_ceil(TENSOR_LANES) * 4;
            let address = addresses[factor];
            let first_byte = scales.first_bytes[factor];
            let place = |line: usize, scale: usize| {
                let byte = first_byte + scale;
                let column = address.column + line / WARP_LANES + byte / 4 * group;
                (warp + line % WARP_LANES, column, byte % 4)
            };
            let mut elements = Vec::with_capacity(lines.len() * scales.count);
            for scale in 0..scales.count {
                for first in lines.clone().step_by(WARP_LANES) {
                    let (lane, column, _) = place(first, scale);
                    let mask = lane_mask(lane, WARP_LANES.min(lines.end - first));
                    self.read_cells(product, rank, mask, column..column + 1)?;
                }
            }
            let memory = self
                .block
                .tensor(rank)
                .ok_or_else(|| unknown_operands(product.lane))?;
            for line in lines.clone() {
                elements.extend((0..scales.count).map(|scale| {
                    let (lane, column, byte) = place(line, scale);
                    u64::from(memory.cell(lane, column) >> (8 * byte) & 0xff)
                }));
            }
            matrices.push(Matrix {
                size: [lines.len(), scales.count],
                elements,
            });
        }
        <[Matrix; 2]>::try_from(matrices).map_err(|_| unknown_operands(product.lane))
    }

    /// Writes a part of the result to its lanes that are not disabled. If it is announced, the cells are only marked.
    fn write_part(&mut self, product: &TensorProduct, part: &Part, result: &Matrix) {
        let rank = product.ranks[part.block];
        let disabled = product.disabled_lanes[part.block];
        for row in part.rows.clone() {
            let lane = product.lane(part, row);
            if disabled >> (lane % TENSOR_LANES) & 1 == 1 {
                continue;
            }
            let first = (row - part.rows.start) * part.columns.len();
            let elements = &result.elements[first..first + part.columns.len()];
            let cells: Vec<u32> = elements.iter().map(|&element| element as u32).collect();
            let address = TensorAddress {
                lane,
                column: product.result.column,
            };
            self.write_tensor_row(rank, address, &cells);
        }
    }
}

/// An error if metadata of four bits do not state two different places, or for elements of 32 bits the halves of one.
fn check_metadata(word: u64, bits: usize, lane: usize) -> Result<(), Failed> {
    let count = if bits >= 16 { 8 } else { 16 };
    for chunk in 0..count {
        let code = word >> (4 * chunk) & 0xf;
        let is_valid = match bits {
            32 => matches!(code, 0b0100 | 0b1110),
            _ => code & 3 != code >> 2,
        };
        if !is_valid {
            let reason = format!(
                "the metadata of the sparse factor contains {code:#06b}, which has no meaning"
            );
            return Err(invalid(reason, lane));
        }
    }
    Ok(())
}
