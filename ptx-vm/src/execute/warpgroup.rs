//! Products of matrices of warpgroups.
//!
//! Each of the four warps multiplies 16 rows of the first factor with the whole second factor, and has the fragments of these rows in its registers. So the
//! warps do not exchange anything, and start their parts at different times; [`super::warpgroup_order`] lets them wait for each other.

use ptx_isa::Action;

use super::asynchronous::{AsyncOperation, Completes, GroupKind, Pass};
use super::execution::{Execution, Failed};
use super::matrix::{gather, scatter};
use super::shared_matrix::StoredMatrix;
use super::warpgroup_order::WARPS;
use crate::error::StopReason;
use crate::lanes::{LANES, Place};
use crate::matrix::layout::Role;
use crate::matrix::multiply::{Matrix, Operands, multiply};
use crate::matrix::operation::Operation;
use crate::matrix::shared::{Major, SharedMatrix};
use crate::matrix::sparse;
use crate::program::Act;

/// A factor: the rows of a warp of the first factor, or the columns of the second one as rows.
#[derive(Clone, Debug)]
enum Factor {
    /// It was in registers, or was read.
    Known(Matrix),
    Shared(StoredMatrix),
}

impl Factor {
    /// The memory of the elements.
    fn memory(&self) -> u64 {
        match self {
            Self::Known(matrix) => size_of_val(&matrix.elements[..]) as u64,
            Self::Shared(_) => 0,
        }
    }
}

/// The part of a product that a warp computes, with its operands. Shared memory and the addend are read when it is performed.
#[derive(Clone, Debug)]
pub(super) struct WarpgroupProduct {
    operation: Operation,
    factors: [Factor; 2],
    /// The column of each stored element of the first factor, if it is sparse.
    columns: Option<Matrix>,
    /// The product is added to the registers of the result. Otherwise it replaces them.
    accumulates: bool,
    /// The factors whose elements change their sign.
    negated: [bool; 2],
    /// The call whose registers contain the result.
    pub(super) call: usize,
    result: Vec<Place>,
}

impl WarpgroupProduct {
    /// Whether both factors are known, so that performing it does not read shared memory.
    pub(super) fn is_read(&self) -> bool {
        self.factors
            .iter()
            .all(|factor| matches!(factor, Factor::Known(_)))
    }

    /// The memory of its parts that are not in it.
    pub(super) fn memory(&self) -> u64 {
        self.factors.iter().map(Factor::memory).sum()
    }
}

/// The predicate of a product of a warpgroup that says whether the result is added, and the registers of the result.
pub(crate) fn addend_predicate(act: &Act) -> Option<(Place, &[Place])> {
    if act.action != Action::WarpgroupMultiply {
        return None;
    }
    let operation = Operation::of(&act.modifiers)?;
    Some((act.place(predicate_index(&operation))?, act.all_places(0)))
}

/// The index of the operand that says whether the result is added.
const fn predicate_index(operation: &Operation) -> usize {
    if operation.sparse { 5 } else { 3 }
}

/// The operands after the second factor.
#[derive(Copy, Clone, Debug)]
struct Modes {
    accumulates: bool,
    negated: [bool; 2],
    majors: [Major; 2],
}

impl Execution<'_> {
    /// Starts the part of a product that the warp computes.
    pub(super) fn multiply_in_warpgroup(&mut self, act: &Act) -> Result<(), Failed> {
        let product = self.warpgroup_product(act)?;
        let completes = Completes::Group(GroupKind::Products);
        self.start(
            AsyncOperation::WarpgroupProduct(Box::new(product)),
            completes,
            None,
            0,
        )
    }

    /// The part of a product that the warp computes, with its operands.
    fn warpgroup_product(&mut self, act: &Act) -> Result<WarpgroupProduct, Failed> {
        let operation = Operation::of(&act.modifiers).ok_or_else(|| self.unknown())?;
        let warp = self.warp_of_warpgroup()?;
        let word = operation.word();
        let [rows, width, depth] = operation.shape;
        let bits = operation.factor_bits();
        let first_register = self.fragment(act.all_places(1));
        let in_registers = first_register.len() > 1;
        let shared_operands = self.shared_operands(act, &operation, in_registers)?;
        self.record_warpgroup_step(shared_operands)?;
        let modes = self.modes(act, &operation, in_registers)?;
        let rank = self.block.rank;
        let factor = |matrix, major, first, lines, elements| StoredMatrix {
            rank,
            matrix,
            major,
            first,
            size: [lines, elements / word],
            bits,
        };
        let stored = operation.stored();
        let a = if in_registers {
            let layout = operation.layout(Role::A, 0);
            Factor::Known(gather(&first_register, layout, [rows, stored / word], bits))
        } else {
            let matrix = SharedMatrix::of_warpgroup(self.uniform(act, 1, "matrix descriptor")?);
            Factor::Shared(factor(matrix, modes.majors[0], rows * warp, rows, stored))
        };
        let matrix = SharedMatrix::of_warpgroup(self.uniform(act, 2, "matrix descriptor")?);
        let b = Factor::Shared(factor(matrix, modes.majors[1], 0, width, depth));
        let columns = if operation.sparse {
            let metadata = self.operand_value(act, 3);
            let selector = self.uniform(act, 4, "sparsity selector")? as usize;
            Some(sparse::columns(&operation, &metadata, selector))
        } else {
            None
        };
        Ok(WarpgroupProduct {
            operation,
            factors: [a, b],
            columns,
            accumulates: modes.accumulates,
            negated: modes.negated,
            call: self.call,
            result: act.all_places(0).to_vec(),
        })
    }

    /// The operands that are the same in all threads of the warpgroup: the matrix descriptors, the predicate of the addend and the sparsity selector.
    fn shared_operands(
        &mut self,
        act: &Act,
        operation: &Operation,
        in_registers: bool,
    ) -> Result<[u64; 4], Failed> {
        let first = if in_registers {
            0
        } else {
            self.uniform(act, 1, "matrix descriptor")?
        };
        let second = self.uniform(act, 2, "matrix descriptor")?;
        let selector = if operation.sparse {
            self.uniform(act, 4, "sparsity selector")?
        } else {
            0
        };
        let predicate = self.uniform(act, predicate_index(operation), "predicate")?;
        Ok([first, second, selector, predicate])
    }

    /// The operands after the second factor: the metadata, the predicate of the addend, the signs and, for some types, the order of elements in
    /// shared memory.
    fn modes(
        &mut self,
        act: &Act,
        operation: &Operation,
        in_registers: bool,
    ) -> Result<Modes, Failed> {
        let next = predicate_index(operation);
        let accumulates = self.uniform(act, next, "predicate")? != 0;
        let negated =
            [next + 1, next + 2].map(|index| (self.operand_value(act, index)[0] as i32) < 0);
        let major = |transposed: u64| if transposed == 0 { Major::K } else { Major::Mn };
        let orders = [next + 3, next + 4].map(|index| self.operand_value(act, index)[0]);
        let majors = if in_registers {
            [Major::K, major(orders[0])]
        } else {
            orders.map(major)
        };
        Ok(Modes {
            accumulates,
            negated,
            majors,
        })
    }

    /// The index of the warp in its warpgroup, which must be complete.
    fn warp_of_warpgroup(&self) -> Result<usize, Failed> {
        let warp = self.warp.first as usize / LANES;
        let first_thread = warp / WARPS * WARPS * LANES;
        let threads = self.grid.threads_per_block() as usize - first_thread;
        if threads < WARPS * LANES {
            let reason = format!(
                "the warpgroup has {threads} threads, since the CTA ends; it must have {}",
                WARPS * LANES
            );
            return Err((StopReason::Invalid(reason), self.first()));
        }
        Ok(warp % WARPS)
    }

    /// The value of an operand that must be the same in all lanes.
    fn uniform(&mut self, act: &Act, index: usize, meaning: &str) -> Result<u64, Failed> {
        let values = self.operand_value(act, index);
        let different = (0..LANES).find(|&lane| values[lane] != values[0]);
        let Some(lane) = different else {
            return Ok(values[0]);
        };
        let reason = format!(
            "the {meaning} must be the same in all lanes: it is {:#x} in lane 0 and {:#x} in lane {lane}",
            values[0], values[lane]
        );
        Err((StopReason::Invalid(reason), lane))
    }

    fn read_factor(&mut self, factor: &Factor) -> Result<Matrix, Failed> {
        match factor {
            Factor::Known(matrix) => Ok(matrix.clone()),
            Factor::Shared(stored) => self.read_stored_matrix(stored),
        }
    }

    /// Reads the factors in shared memory of a product that is performed later.
    pub(super) fn read_factors(&mut self, product: &mut WarpgroupProduct) -> Result<(), Failed> {
        for factor in &mut product.factors {
            *factor = Factor::Known(self.read_factor(factor)?);
        }
        Ok(())
    }

    /// Reads the factors in shared memory and the addend, multiplies, and writes the result to registers.
    pub(super) fn perform_warpgroup_product(
        &mut self,
        product: &WarpgroupProduct,
    ) -> Result<(), Failed> {
        let operation = &product.operation;
        // As long as a product of a warp takes for the same number of operations.
        let work = operation.multiply_adds() / 2;
        self.warp
            .work(work, self.grid)
            .map_err(|reason| (reason, self.first()))?;
        let [first, second] = &product.factors;
        let mut a = self.read_factor(first)?;
        let mut b = self.read_factor(second)?.transposed();
        if self.pass == Pass::Announce {
            return Ok(());
        }
        let sign = 1 << (operation.factor_bits() - 1);
        for (matrix, negated) in [&mut a, &mut b].into_iter().zip(product.negated) {
            if negated {
                matrix.elements.iter_mut().for_each(|bits| *bits ^= sign);
            }
        }
        let [rows, width, _] = operation.shape;
        let bits = operation.d.bits().into();
        let layout = operation.addend_layout(operation.d, 0);
        let c = if product.accumulates {
            let registers: Vec<_> = product
                .result
                .iter()
                .map(|place| self.warp.values(product.call, *place))
                .collect();
            gather(&registers, layout, [rows, width], bits)
        } else {
            Matrix::new([rows, width], |_, _| 0)
        };
        let operands = Operands {
            a,
            b,
            c,
            columns: product.columns.clone(),
            scales: None,
        };
        let result =
            multiply(operation, self.grid.model, &operands).ok_or_else(|| self.unknown())?;
        let registers = scatter(&result, layout, bits, product.result.len());
        if let Some(call) = self.warp.call(product.call) {
            for (place, values) in product.result.iter().zip(&registers) {
                call.registers.set_values(*place, u32::MAX, values);
            }
        }
        Ok(())
    }
}
