//! From a key to the operands that the table is asked about.

use alloc::vec::Vec;
use ptx_isa::{
    ActualOperand, OperandShape, ScalarType, Selector, SpecialReg, StateSpace, TableKind,
};

use super::{ShapeKey, code};

/// An operand without its parts, which stand one level deeper.
#[derive(Copy, Clone)]
struct Flat {
    written: ActualOperand<'static>,
    group: Group,
    first: usize,
    count: usize,
}

#[derive(Copy, Clone, PartialEq)]
enum Group {
    None,
    Bracket,
    Vector,
    Pair,
}

/// Reads a key; keys are written by [`super::Shapes`] alone, so what cannot be read is an operand that fits nowhere.
struct Reader<I> {
    bytes: I,
    levels: [Vec<Flat>; 3],
}

/// An operand that fits nowhere.
const MALFORMED: OperandShape<'static> = OperandShape::List(&[]);

impl<I: Iterator<Item = u8>> Reader<I> {
    fn index<T>(&mut self, of: impl Fn(usize) -> Option<T>) -> Option<T> {
        of(self.bytes.next()?.into())
    }

    fn operand(&mut self, first: u8, level: usize) {
        let mut flat = Flat {
            written: ActualOperand::new(MALFORMED),
            group: Group::None,
            first: 0,
            count: 0,
        };
        let mut byte = first;
        loop {
            match byte {
                code::NEGATED => flat.written.negated = true,
                code::INVERTED => flat.written.inverted = true,
                code::UNIFIED => flat.written.unified = true,
                code::INDEXED => flat.written.indexed = true,
                code::OFFSET => flat.written.offset = true,
                code::LANES => {
                    let low = self.bytes.next().unwrap_or(0);
                    let high = self.bytes.next().unwrap_or(0);
                    flat.written.lanes = Some(Selector::from_bits(u16::from_le_bytes([low, high])));
                }
                _ => break,
            }
            byte = self.bytes.next().unwrap_or(code::LIST);
        }
        match byte {
            code::BRACKET => self.group(Group::Bracket, level, &mut flat),
            code::VECTOR => self.group(Group::Vector, level, &mut flat),
            code::PAIR => self.pair(level, &mut flat),
            _ => flat.written.shape = self.leaf(byte).unwrap_or(MALFORMED),
        }
        if let Some(list) = self.levels.get_mut(level) {
            list.push(flat);
        }
    }

    fn start(&self, level: usize) -> usize {
        self.levels.get(level).map_or(0, Vec::len)
    }

    fn group(&mut self, group: Group, level: usize, flat: &mut Flat) {
        (flat.group, flat.first) = (group, self.start(level + 1));
        while let Some(byte) = self.bytes.next().filter(|b| *b != code::END) {
            self.operand(byte, level + 1);
        }
        flat.count = self.start(level + 1) - flat.first;
    }

    fn pair(&mut self, level: usize, flat: &mut Flat) {
        (flat.group, flat.first) = (Group::Pair, self.start(level + 1));
        for _ in 0..2 {
            if let Some(byte) = self.bytes.next() {
                self.operand(byte, level + 1);
            }
        }
        flat.count = self.start(level + 1) - flat.first;
    }

    fn float(&mut self) -> Option<f32> {
        let mut value = [0; 4];
        for byte in &mut value {
            *byte = self.bytes.next()?;
        }
        Some(f32::from_le_bytes(value))
    }

    fn leaf(&mut self, byte: u8) -> Option<OperandShape<'static>> {
        Some(match byte {
            0..code::REGISTER_END => OperandShape::Register(ScalarType::from_index(byte.into())?),
            code::REGISTER_VECTOR => {
                let ty = self.index(ScalarType::from_index)?;
                OperandShape::RegisterVector(ty, self.bytes.next()?)
            }
            code::INTEGER => OperandShape::Integer(0),
            code::VALUE => {
                let mut value = [0; 8];
                for byte in &mut value {
                    *byte = self.bytes.next()?;
                }
                OperandShape::Integer(i64::from_le_bytes(value))
            }
            code::FLOAT => OperandShape::F64(self.float()?),
            code::SINGLE => OperandShape::F32Bits(self.float()?),
            code::VARIABLE => {
                let space = self.index(StateSpace::from_index)?;
                OperandShape::Variable(space, self.index(ScalarType::from_index)?)
            }
            code::SPECIAL => OperandShape::Special(self.index(SpecialReg::from_index)?),
            code::SPECIAL_VECTOR => {
                OperandShape::SpecialVector(self.index(SpecialReg::from_index)?)
            }
            code::LABEL => OperandShape::Label,
            code::BRANCHES => OperandShape::Table(TableKind::Branches),
            code::CALLS => OperandShape::Table(TableKind::Calls),
            code::PROTOTYPE => OperandShape::Table(TableKind::Prototype),
            code::FUNCTION => OperandShape::Function,
            code::KERNEL => OperandShape::Kernel,
            code::SINK => OperandShape::Discard,
            _ => MALFORMED,
        })
    }
}

/// A level with the parts of its operands, which are the level below.
fn join<'a>(level: &[Flat], below: &'a [ActualOperand<'a>]) -> Vec<ActualOperand<'a>> {
    let whole = |flat: &Flat| {
        let parts = below.get(flat.first..flat.first + flat.count);
        let parts = parts.unwrap_or_default();
        let shape = match flat.group {
            Group::None => flat.written.shape,
            Group::Bracket => OperandShape::Bracket(parts),
            Group::Vector => OperandShape::Vector(parts),
            Group::Pair => parts.try_into().map_or(MALFORMED, OperandShape::Pair),
        };
        ActualOperand {
            shape,
            ..flat.written
        }
    };
    level.iter().map(whole).collect()
}

impl ShapeKey {
    /// Calls `with` with the operands, and whether the instruction stands in a kernel.
    pub fn read<R>(&self, with: impl FnOnce(&[ActualOperand<'_>], bool) -> R) -> R {
        let mut reader = Reader {
            bytes: self.bytes(),
            levels: [Vec::new(), Vec::new(), Vec::new()],
        };
        let in_entry = reader.bytes.next() == Some(1);
        while let Some(byte) = reader.bytes.next() {
            reader.operand(byte, 0);
        }
        let [outer, middle, inner] = reader.levels;
        let inner = join(&inner, &[]);
        let middle = join(&middle, &inner);
        with(&join(&outer, &middle), in_entry)
    }
}
