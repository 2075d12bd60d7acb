//! Matrix instructions, which all lanes of a warp execute together, and the products of a warp.

use ptx_analysis::internals::fragments::scale_lane;
use ptx_isa::Action;

use super::execution::{Control, Execution, Failed, Outcome};
use super::groups::State;
use crate::error::StopReason;
use crate::lanes::{Double, LANES, Place};
use crate::matrix::layout::{Layout, Role};
use crate::matrix::multiply::{Matrix, Operands, multiply};
use crate::matrix::operation::Operation;
use crate::matrix::sparse;
use crate::program::{Act, ActOperand};

/// The registers of an operand, in all lanes.
pub(super) type Fragment = Vec<Double>;

/// The work of a product of matrices, as the number of bytes whose handling takes as long.
const MULTIPLY: u64 = 1 << 10;
/// The mask of a whole warp.
const WARP: u32 = u32::MAX;

/// Whether all lanes of a warp execute an action together.
pub(super) const fn is_matrix_action(action: Action) -> bool {
    matches!(
        action,
        Action::MatrixLoad
            | Action::MatrixStore
            | Action::MatrixTranspose
            | Action::MatrixMultiply
            | Action::FragmentLoad
            | Action::FragmentStore
            | Action::WarpgroupMultiply
            | Action::WarpgroupFence
            | Action::WarpgroupCommit
            | Action::WarpgroupWait
    )
}

impl Act {
    /// The registers of an operand of the form.
    pub(super) fn all_places(&self, index: usize) -> &[Place] {
        match self.operands.get(index) {
            Some(Some(ActOperand::Places(places))) => places,
            _ => &[],
        }
    }
}

impl Execution<'_> {
    /// Executes a matrix instruction when all lanes of the warp are there.
    pub(super) fn matrix_instruction(&mut self, act: &Act) -> Outcome {
        self.collectively(act, |execution, act| {
            match act.action {
                Action::MatrixLoad => execution.load_matrices(act)?,
                Action::MatrixStore => execution.store_matrices(act)?,
                Action::MatrixTranspose => execution.transpose(act)?,
                Action::MatrixMultiply => execution.multiply(act)?,
                Action::FragmentLoad => execution.load_fragment(act)?,
                Action::FragmentStore => execution.store_fragment(act)?,
                Action::WarpgroupMultiply => execution.multiply_in_warpgroup(act)?,
                Action::WarpgroupFence => execution.record_warpgroup_step([0; 4])?,
                Action::WarpgroupCommit => {
                    execution.record_warpgroup_step([0; 4])?;
                    execution.commit_products();
                }
                Action::WarpgroupWait => {
                    let pending = act.place(0).map_or(0, |place| execution.get(place, 0));
                    let control = execution.wait_for_products(pending as u64)?;
                    if let Control::Next = control {
                        execution.record_warpgroup_step([0; 4])?;
                    }
                    return Ok(control);
                }
                action => {
                    return Err((StopReason::unsupported_action(action), execution.first()));
                }
            }
            Ok(Control::Next)
        })
    }

    /// Executes an instruction once for the warp when all lanes are there. If it has to wait, it is executed again later.
    pub(super) fn collectively(
        &mut self,
        act: &Act,
        perform: impl FnOnce(&mut Self, &Act) -> Outcome,
    ) -> Outcome {
        if !self.is_whole_warp()? {
            return Ok(Control::Wait(State::Matrix));
        }
        let last_lanes = core::mem::replace(&mut self.active, WARP);
        let control = perform(self, act)?;
        if let Control::Wait(_) = control {
            self.active = last_lanes;
            return Ok(control);
        }
        self.warp.groups.release(State::Matrix);
        Ok(control)
    }

    /// Whether all lanes of the warp are at the instruction.
    fn is_whole_warp(&self) -> Result<bool, Failed> {
        if self.active == WARP {
            return Ok(true);
        }
        if self.warp.groups.live() != WARP {
            let reason = "the warp does not have 32 threads";
            return Err((StopReason::Invalid(reason.into()), self.first()));
        }
        let mut present = self.active;
        for group in &self.warp.groups.all {
            if group.state == State::Matrix {
                if (group.call, group.step_index) != (self.call, self.step_index) {
                    let reason = "threads of the warp execute different matrix instructions";
                    return Err((StopReason::Invalid(reason.into()), self.first()));
                }
                present |= group.mask;
            }
        }
        Ok(present == WARP)
    }

    /// The registers of an operand.
    pub(super) fn fragment(&mut self, places: &[Place]) -> Fragment {
        self.registers()
            .map_or_else(Vec::new, |r| places.iter().map(|p| r.values(*p)).collect())
    }

    pub(super) fn set_fragment(&mut self, places: &[Place], fragment: &[Double]) {
        if let Some(registers) = self.registers() {
            for (place, values) in places.iter().zip(fragment) {
                registers.set_values(*place, WARP, values);
            }
        }
    }

    /// Transposes an 8 × 8 matrix of 16-bit elements.
    fn transpose(&mut self, act: &Act) -> Result<(), Failed> {
        let source = self.fragment(act.all_places(1));
        let layout = Layout::Warp {
            role: Role::C,
            elements: 2,
        };
        let matrix = gather(&source, layout, [8, 8], 16);
        let transposed = Matrix::new([8, 8], |row, column| matrix.at(column, row));
        let result = scatter(&transposed, layout, 16, 1);
        self.set_fragment(act.all_places(0), &result);
        Ok(())
    }

    /// Multiplies matrices.
    fn multiply(&mut self, act: &Act) -> Result<(), Failed> {
        self.warp
            .work(MULTIPLY, self.grid)
            .map_err(|reason| (reason, self.first()))?;
        let operation = Operation::of(&act.modifiers).ok_or_else(|| self.unknown())?;
        let fragments = [1, 2, 3].map(|index| self.fragment(act.all_places(index)));
        let (columns, scales) = self.additional_operands(act, &operation);
        let [rows, width, depth] = operation.shape;
        let (depth, stored) = (
            depth / operation.word(),
            operation.stored() / operation.word(),
        );
        let products = if operation.quads() { 4 } else { 1 };
        let destinations = act.all_places(0);
        let mut result = vec![[0; LANES]; destinations.len()];
        for product_index in 0..products {
            let [a, b, c] = &fragments;
            let bits = operation.factor_bits();
            let operands = Operands {
                a: gather(
                    a,
                    operation.layout(Role::A, product_index),
                    [rows, stored],
                    bits,
                ),
                b: gather(
                    b,
                    operation.layout(Role::B, product_index),
                    [depth, width],
                    bits,
                ),
                c: gather(
                    c,
                    operation.addend_layout(operation.c, product_index),
                    [rows, width],
                    operation.c.bits().into(),
                ),
                columns: columns.clone(),
                scales: scales.clone(),
            };
            let product =
                multiply(&operation, self.grid.model, &operands).ok_or_else(|| self.unknown())?;
            let layout = operation.addend_layout(operation.d, product_index);
            put(&mut result, &product, layout, operation.d.bits().into());
        }
        self.set_fragment(destinations, &result);
        Ok(())
    }

    /// The columns of the elements of a sparse factor, and the block scales.
    fn additional_operands(
        &mut self,
        act: &Act,
        operation: &Operation,
    ) -> (Option<Matrix>, Option<[Matrix; 2]>) {
        let mut next = 4;
        let mut columns = None;
        if operation.sparse {
            let metadata = self.operand_value(act, 4);
            let selector = self.operand_value(act, 5)[0] as usize;
            columns = Some(sparse::columns(operation, &metadata, selector));
            next = 6;
        }
        let scales = operation.scales.map(|(_, count)| {
            let [a, first, quad_a, b, second, quad_b] =
                core::array::from_fn(|i| self.operand_value(act, next + i));
            let [rows, width, _] = operation.shape;
            let scales_of_a = Matrix::new([rows, count], |row, block| {
                let lane = scale_lane(Role::A, row, quad_a[0] as usize);
                scale_byte(a[lane], first[0] + block as u64)
            });
            let scales_of_b = Matrix::new([width, count], |column, block| {
                let lane = scale_lane(Role::B, column, quad_b[0] as usize);
                scale_byte(b[lane], second[0] + block as u64)
            });
            [scales_of_a, scales_of_b]
        });
        (columns, scales)
    }

    /// The values of the first register of an operand.
    pub(super) fn operand_value(&mut self, act: &Act, index: usize) -> Double {
        let values = self.fragment(act.all_places(index));
        values.first().copied().unwrap_or([0; LANES])
    }

    /// The error of modifiers that are not known.
    pub(super) fn unknown(&self) -> Failed {
        let reason = "unknown matrix shapes or types".into();
        (StopReason::Unsupported(reason), self.first())
    }
}

/// A byte of a register with the block scales of a lane.
const fn scale_byte(word: u64, index: u64) -> u64 {
    word >> (8 * (index % 4)) & 0xff
}

/// The elements of a matrix in a fragment.
pub(super) fn gather(fragment: &[Double], layout: Layout, size: [usize; 2], bits: usize) -> Matrix {
    let mask = u64::MAX >> (64 - bits);
    Matrix::new(size, |row, column| {
        let position = layout.position(size, row, column);
        fragment.get(position.register).map_or(0, |r| {
            r[position.lane % LANES] >> (position.index * bits) & mask
        })
    })
}

/// The registers with the elements of a matrix.
pub(super) fn scatter(matrix: &Matrix, layout: Layout, bits: usize, registers: usize) -> Fragment {
    let mut result = vec![[0; LANES]; registers];
    put(&mut result, matrix, layout, bits);
    result
}

/// Adds the elements of a matrix to registers, whose bits for them are zero.
pub(super) fn put(result: &mut [Double], matrix: &Matrix, layout: Layout, bits: usize) {
    let [rows, columns] = matrix.size;
    for row in 0..rows {
        for column in 0..columns {
            let position = layout.position(matrix.size, row, column);
            if let Some(register) = result.get_mut(position.register) {
                register[position.lane % LANES] |=
                    matrix.at(row, column) << (position.index * bits);
            }
        }
    }
}
