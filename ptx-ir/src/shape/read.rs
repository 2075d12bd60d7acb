//! From a key to the operands that the table is asked about.

use alloc::vec::Vec;
use ptx_isa::{ScalarType, Selector, Shape, SpecialReg, StateSpace, TableKind, Written};

use super::{ShapeKey, code};

/// An operand without its parts, which stand one level deeper.
#[derive(Copy, Clone)]
struct Flat {
    written: Written<'static>,
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
const ODD: Shape<'static> = Shape::List(&[]);

impl<I: Iterator<Item = u8>> Reader<I> {
    fn index<T>(&mut self, of: impl Fn(usize) -> Option<T>) -> Option<T> {
        of(self.bytes.next()?.into())
    }

    fn operand(&mut self, first: u8, level: usize) {
        let mut flat = Flat {
            written: Written::new(ODD),
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
            _ => flat.written.shape = self.leaf(byte).unwrap_or(ODD),
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

    fn leaf(&mut self, byte: u8) -> Option<Shape<'static>> {
        Some(match byte {
            0..code::REGISTER_END => Shape::Register(ScalarType::from_index(byte.into())?),
            code::REGISTER_VECTOR => {
                let ty = self.index(ScalarType::from_index)?;
                Shape::RegisterVector(ty, self.bytes.next()?)
            }
            code::INTEGER => Shape::Integer(0),
            code::VALUE => {
                let mut value = [0; 8];
                for byte in &mut value {
                    *byte = self.bytes.next()?;
                }
                Shape::Integer(i64::from_le_bytes(value))
            }
            code::FLOAT => Shape::Float(self.float()?),
            code::SINGLE => Shape::Single(self.float()?),
            code::VARIABLE => {
                let space = self.index(StateSpace::from_index)?;
                Shape::Variable(space, self.index(ScalarType::from_index)?)
            }
            code::SPECIAL => Shape::Special(self.index(SpecialReg::from_index)?),
            code::SPECIAL_VECTOR => Shape::SpecialVector(self.index(SpecialReg::from_index)?),
            code::LABEL => Shape::Label,
            code::BRANCHES => Shape::Table(TableKind::Branches),
            code::CALLS => Shape::Table(TableKind::Calls),
            code::PROTOTYPE => Shape::Table(TableKind::Prototype),
            code::FUNCTION => Shape::Function,
            code::KERNEL => Shape::Kernel,
            code::SINK => Shape::Sink,
            _ => ODD,
        })
    }
}

/// A level with the parts of its operands, which are the level below.
fn join<'a>(level: &[Flat], below: &'a [Written<'a>]) -> Vec<Written<'a>> {
    let whole = |flat: &Flat| {
        let parts = below.get(flat.first..flat.first + flat.count);
        let parts = parts.unwrap_or_default();
        let shape = match flat.group {
            Group::None => flat.written.shape,
            Group::Bracket => Shape::Bracket(parts),
            Group::Vector => Shape::Vector(parts),
            Group::Pair => parts.try_into().map_or(ODD, Shape::Pair),
        };
        Written {
            shape,
            ..flat.written
        }
    };
    level.iter().map(whole).collect()
}

impl ShapeKey {
    /// Calls `with` with the operands, and whether the instruction stands in a kernel.
    pub fn read<R>(&self, with: impl FnOnce(&[Written<'_>], bool) -> R) -> R {
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
