//! Matrix instructions, which all lanes of a warp execute together.

use ptx_isa::Modifier;

use super::execution::{Control, Execution, Failed, Outcome};
use super::groups::State;
use crate::error::Reason;
use crate::lanes::{Double, LANES, Place};
use crate::matrix::layout::{Layout, Role};
use crate::matrix::multiply::{Matrix, Operands, multiply};
use crate::matrix::operation::{Operation, shape};
use crate::matrix::sparse;
use crate::program::{Act, ActOperand};

/// The registers of an operand, in all lanes.
pub(super) type Fragment = Vec<Double>;

/// The mask of a whole warp.
const WARP: u32 = u32::MAX;

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
    fn together(&mut self, execute: impl FnOnce(&mut Self) -> Result<(), Failed>) -> Outcome {
        if !self.is_whole_warp()? {
            return Ok(Control::Wait(State::Matrix));
        }
        self.active = WARP;
        execute(self)?;
        for group in &mut self.warp.groups.all {
            if group.state == State::Matrix {
                group.state = State::Ready;
                group.at += 1;
            }
        }
        Ok(Control::Next)
    }

    /// Whether all lanes of the warp are at the instruction.
    fn is_whole_warp(&self) -> Result<bool, Failed> {
        if self.active == WARP {
            return Ok(true);
        }
        let invalid = |what: &str| Err((Reason::Invalid(what.into()), self.first()));
        if self.warp.groups.live() != WARP {
            return invalid("the warp does not have 32 threads");
        }
        let mut present = self.active;
        for group in &self.warp.groups.all {
            if group.state == State::Matrix {
                if (group.call, group.at) != (self.call, self.at) {
                    return invalid("threads of the warp execute different matrix instructions");
                }
                present |= group.mask;
            }
        }
        Ok(present == WARP)
    }

    /// The registers of an operand.
    pub(super) fn fragment(&mut self, places: &[Place]) -> Fragment {
        let registers = self.registers();
        registers.map_or_else(Vec::new, |r| places.iter().map(|p| r.values(*p)).collect())
    }

    pub(super) fn set_fragment(&mut self, places: &[Place], fragment: &[Double]) {
        if let Some(registers) = self.registers() {
            for (place, values) in places.iter().zip(fragment) {
                registers.set_values(*place, WARP, values);
            }
        }
    }

    /// Transposes an 8 × 8 matrix of 16-bit elements.
    pub(super) fn transpose(&mut self, act: &Act) -> Outcome {
        self.together(|this| this.transpose_now(act))
    }

    fn transpose_now(&mut self, act: &Act) -> Result<(), Failed> {
        let from = self.fragment(act.all_places(1));
        let layout = Layout::Warp {
            role: Role::C,
            elements: 2,
        };
        let matrix = gather(&from, layout, [8, 8], 16);
        let transposed = Matrix::new([8, 8], |row, column| matrix.at(column, row));
        let to = scatter(&transposed, layout, 16, 1);
        self.set_fragment(act.all_places(0), &to);
        Ok(())
    }

    /// Multiplies matrices.
    pub(super) fn multiply(&mut self, act: &Act) -> Outcome {
        self.together(|this| this.multiply_now(act))
    }

    fn multiply_now(&mut self, act: &Act) -> Result<(), Failed> {
        let operation = Operation::of(&act.modifiers).ok_or_else(|| self.unknown())?;
        let fragments = [1, 2, 3].map(|index| self.fragment(act.all_places(index)));
        let (columns, scales) = self.additional_operands(act, &operation);
        let [rows, width, depth] = operation.shape;
        let (depth, stored) = (
            depth / operation.word(),
            operation.stored() / operation.word(),
        );
        let parts = if operation.quads() { 4 } else { 1 };
        let to = act.all_places(0);
        let mut result = vec![[0; LANES]; to.len()];
        for part in 0..parts {
            let [a, b, c] = &fragments;
            let bits = operation.factor_bits();
            let of = Operands {
                a: gather(a, operation.layout(Role::A, part), [rows, stored], bits),
                b: gather(b, operation.layout(Role::B, part), [depth, width], bits),
                c: gather(
                    c,
                    operation.addend_layout(operation.c, part),
                    [rows, width],
                    operation.c.bits().into(),
                ),
                columns: columns.clone(),
                scales: scales.clone(),
            };
            let product =
                multiply(&operation, self.grid.model, &of).ok_or_else(|| self.unknown())?;
            let layout = operation.addend_layout(operation.d, part);
            put(&mut result, &product, layout, operation.d.bits().into());
        }
        self.set_fragment(to, &result);
        Ok(())
    }

    /// The columns of the elements of a sparse factor, and the block scales.
    fn additional_operands(
        &mut self,
        act: &Act,
        operation: &Operation,
    ) -> (Option<Matrix>, Option<[Matrix; 2]>) {
        let value = |this: &mut Self, index: usize| {
            let values = this.fragment(act.all_places(index));
            values.first().copied().unwrap_or([0; LANES])
        };
        let mut next = 4;
        let mut columns = None;
        if operation.sparse {
            let (metadata, selector) = (value(self, 4), value(self, 5)[0] as usize);
            columns = Some(sparse::columns(operation, &metadata, selector));
            next = 6;
        }
        let scales = operation.scales.map(|(_, count)| {
            let [a, first, quad_a, b, second, quad_b] =
                core::array::from_fn(|i| value(self, next + i));
            let byte = |word: u64, at: u64| word >> (8 * (at % 4)) & 0xff;
            let [rows, width, _] = operation.shape;
            // Two lanes of four have the scales of two rows, one lane those of a column.
            let of_a = Matrix::new([rows, count], |row, block| {
                let lane = row % 8 * 4 + 2 * (quad_a[0] as usize % 2) + row / 8;
                byte(a[lane % LANES], first[0] + block as u64)
            });
            let of_b = Matrix::new([width, count], |column, block| {
                let lane = column * 4 + quad_b[0] as usize % 4;
                byte(b[lane % LANES], second[0] + block as u64)
            });
            [of_a, of_b]
        });
        (columns, scales)
    }

    /// Loads matrices, the rows of which have their addresses in the lanes.
    pub(super) fn load_matrices(&mut self, act: &Act) -> Outcome {
        self.together(|this| this.load_matrices_now(act))
    }

    fn load_matrices_now(&mut self, act: &Act) -> Result<(), Failed> {
        let moved = Moved::of(act).ok_or_else(|| self.unknown())?;
        let address = *act.addresses().first().ok_or_else(|| self.unknown())?;
        let to = act.all_places(0);
        let mut result = Fragment::new();
        for number in 0..to.len() / moved.registers {
            let mut lines = Vec::with_capacity(moved.lines);
            for line in 0..moved.lines {
                let lane = number * moved.lines + line;
                let from = self.location(&address, lane % LANES);
                lines.push(moved.format.unpack(self.read(from, 16, lane % LANES)?));
            }
            let matrix = Matrix::new(moved.size, |row, column| {
                let (line, at) = if moved.transposed {
                    (column, row)
                } else {
                    (row, column)
                };
                (lines[line] >> (at * moved.bits)) as u64 & ((1 << moved.bits) - 1)
            });
            result.extend(scatter(&matrix, moved.layout, moved.bits, moved.registers));
        }
        self.set_fragment(to, &result);
        Ok(())
    }

    /// Stores matrices, the rows of which have their addresses in the lanes.
    pub(super) fn store_matrices(&mut self, act: &Act) -> Outcome {
        self.together(|this| this.store_matrices_now(act))
    }

    fn store_matrices_now(&mut self, act: &Act) -> Result<(), Failed> {
        let moved = Moved::of(act).ok_or_else(|| self.unknown())?;
        let address = *act.addresses().first().ok_or_else(|| self.unknown())?;
        let from = self.fragment(act.all_places(1));
        for (number, fragment) in from.chunks(moved.registers).enumerate() {
            let matrix = gather(fragment, moved.layout, moved.size, moved.bits);
            for line in 0..moved.lines {
                let mut bytes = 0;
                for at in 0..128 / moved.bits {
                    let (row, column) = if moved.transposed {
                        (at, line)
                    } else {
                        (line, at)
                    };
                    bytes |= u128::from(matrix.at(row, column)) << (at * moved.bits);
                }
                let lane = (number * moved.lines + line) % LANES;
                let to = self.location(&address, lane);
                self.write(to, 16, bytes, lane)?;
            }
        }
        Ok(())
    }

    /// Loads a factor or an addend.
    pub(super) fn load_fragment(&mut self, act: &Act) -> Outcome {
        self.together(|this| this.load_fragment_now(act))
    }

    fn load_fragment_now(&mut self, act: &Act) -> Result<(), Failed> {
        let stored = Stored::of(act).ok_or_else(|| self.unknown())?;
        let address = *act.addresses().first().ok_or_else(|| self.unknown())?;
        let to = act.all_places(0);
        let strides = self.strides(act, &stored);
        let mut result = vec![[0; LANES]; stored.registers()];
        for row in 0..stored.size[0] {
            for column in 0..stored.size[1] {
                let at = stored.layout.position(stored.size, row, column);
                let from = self.location(&address, at.lane);
                let from = from.plus(stored.offset(row, column, strides[at.lane]));
                let bits = self.read(from, (stored.bits / 8) as u8, at.lane)? as u64;
                result[at.register][at.lane] |= bits << (at.index * stored.bits);
            }
        }
        // Fragments with more registers than elements have copies of them.
        let copies = (0..to.len())
            .map(|n| result[n % result.len()])
            .collect::<Fragment>();
        self.set_fragment(to, &copies);
        Ok(())
    }

    /// Stores a result.
    pub(super) fn store_fragment(&mut self, act: &Act) -> Outcome {
        self.together(|this| this.store_fragment_now(act))
    }

    fn store_fragment_now(&mut self, act: &Act) -> Result<(), Failed> {
        let stored = Stored::of(act).ok_or_else(|| self.unknown())?;
        let address = *act.addresses().first().ok_or_else(|| self.unknown())?;
        let strides = self.strides(act, &stored);
        let from = self.fragment(act.all_places(1));
        let matrix = gather(&from, stored.layout, stored.size, stored.bits);
        for row in 0..stored.size[0] {
            for column in 0..stored.size[1] {
                let lane = stored.layout.position(stored.size, row, column).lane;
                let to = self.location(&address, lane);
                let to = to.plus(stored.offset(row, column, strides[lane]));
                let bits = matrix.at(row, column).into();
                self.write(to, (stored.bits / 8) as u8, bits, lane)?;
            }
        }
        Ok(())
    }

    /// The distance of rows or columns, in elements, in each lane.
    fn strides(&mut self, act: &Act, stored: &Stored) -> Double {
        let values = self.fragment(act.all_places(2));
        let default = [(stored.line() * stored.word) as u64; LANES];
        values.first().copied().unwrap_or(default)
    }

    fn unknown(&self) -> Failed {
        let why = "its matrices are unknown".into();
        (Reason::Unsupported(why), self.first())
    }
}

/// The elements of a matrix in a fragment.
fn gather(fragment: &[Double], layout: Layout, size: [usize; 2], bits: usize) -> Matrix {
    let mask = u64::MAX >> (64 - bits);
    Matrix::new(size, |row, column| {
        let at = layout.position(size, row, column);
        let register = fragment.get(at.register);
        register.map_or(0, |r| r[at.lane % LANES] >> (at.index * bits) & mask)
    })
}

/// The registers with the elements of a matrix.
fn scatter(matrix: &Matrix, layout: Layout, bits: usize, registers: usize) -> Fragment {
    let mut result = vec![[0; LANES]; registers];
    put(&mut result, matrix, layout, bits);
    result
}

fn put(result: &mut [Double], matrix: &Matrix, layout: Layout, bits: usize) {
    let [rows, columns] = matrix.size;
    for row in 0..rows {
        for column in 0..columns {
            let at = layout.position(matrix.size, row, column);
            if let Some(register) = result.get_mut(at.register) {
                register[at.lane % LANES] |= matrix.at(row, column) << (at.index * bits);
            }
        }
    }
}

/// How 16 bytes of memory are stored in a row.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum RowFormat {
    Plain,
    /// 16 elements of 6 bits, for which registers have a byte each.
    Sixes,
    /// 16 elements of 4 bits, in the middle of a byte.
    Fours,
    /// 16 signed integers of 4 bits.
    SignedFours,
}

impl RowFormat {
    /// The bytes of a row in registers.
    fn unpack(self, row: u128) -> u128 {
        let each = |f: &dyn Fn(usize) -> u128| {
            (0..16).fold(0, |bytes, n| bytes | ((f(n) & 0xff) << (8 * n)))
        };
        match self {
            Self::Plain => row,
            Self::Sixes => each(&|n| row >> (6 * n) & 0x3f),
            Self::Fours => each(&|n| (row >> (4 * n) & 0xf) << 2),
            Self::SignedFours => each(&|n| {
                let code = row >> (4 * n) & 0xf;
                code | ((code >> 3) * 0xf0)
            }),
        }
    }
}

/// Matrices that are loaded from or stored to rows with their own addresses.
struct Moved {
    size: [usize; 2],
    bits: usize,
    /// Rows in memory.
    lines: usize,
    registers: usize,
    transposed: bool,
    layout: Layout,
    format: RowFormat,
}

impl Moved {
    fn of(act: &Act) -> Option<Self> {
        let [rows, columns, _] = shape(&act.modifiers)?;
        let bits = if act.has(Modifier::B16) { 16 } else { 8 };
        let transposed = act.has(Modifier::Trans);
        let role = match (rows, bits) {
            // Elements of a factor.
            (_, 8) if columns == 16 => Role::A,
            _ => Role::C,
        };
        let format = if act.has(Modifier::B6x16P32) {
            RowFormat::Sixes
        } else if act.has(Modifier::B4x16P64) {
            RowFormat::Fours
        } else if act.has(Modifier::S4) {
            RowFormat::SignedFours
        } else {
            RowFormat::Plain
        };
        Some(Self {
            size: [rows, columns],
            bits,
            lines: if transposed { columns } else { rows },
            registers: (rows * columns * bits / (32 * LANES)).max(1),
            transposed,
            layout: Layout::Warp {
                role,
                elements: 32 / bits,
            },
            format,
        })
    }
}

/// A matrix in memory whose rows or columns are at equal distances.
struct Stored {
    size: [usize; 2],
    bits: usize,
    layout: Layout,
    row_major: bool,
    /// How many elements of the type an element here consists of: those of less than 8 bits are moved in words.
    word: usize,
}

impl Stored {
    fn of(act: &Act) -> Option<Self> {
        let [rows, columns, depth] = shape(&act.modifiers)?;
        let ty = act.modifiers.iter().find_map(|m| m.scalar_type())?;
        let role = if act.has(Modifier::A) {
            Role::A
        } else if act.has(Modifier::B) {
            Role::B
        } else {
            Role::C
        };
        let bits = usize::from(ty.bits());
        let word = if bits < 8 { 32 / bits } else { 1 };
        let elements = bits * word;
        let size = match role {
            Role::A => [rows, depth / word],
            Role::B => [depth / word, columns],
            Role::C => [rows, columns],
        };
        Some(Self {
            size,
            bits: elements,
            layout: Layout::Warp {
                role,
                elements: (32 / elements).max(1),
            },
            row_major: act.has(Modifier::Row),
            word,
        })
    }

    /// The number of elements that are contiguous.
    const fn line(&self) -> usize {
        self.size[if self.row_major { 1 } else { 0 }]
    }

    /// Where an element is, in bytes from the first one. The distance of rows or columns is in elements of the type.
    const fn offset(&self, row: usize, column: usize, stride: u64) -> u64 {
        let (line, at) = if self.row_major {
            (row, column)
        } else {
            (column, row)
        };
        let line = (line as u64).wrapping_mul(stride) / self.word as u64;
        line.wrapping_add(at as u64)
            .wrapping_mul(self.bits as u64 / 8)
    }

    fn registers(&self) -> usize {
        (self.size[0] * self.size[1] * self.bits / (self.bits.max(32) * LANES)).max(1)
    }
}
