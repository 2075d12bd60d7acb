//! The operands for a query to the instruction table, read from a key.

use alloc::vec::Vec;
use ptx_isa::internals::{ActualOperand, OperandShape, TableKind};
use ptx_isa::{ScalarType, Selector, SpecialReg, StateSpace};
use smallvec::SmallVec;

use super::{ShapeKey, tag};

/// An operand whose parts are a range of the next deeper level.
#[derive(Copy, Clone)]
struct Node {
    operand: ActualOperand<'static>,
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

type Level = SmallVec<[Node; 8]>;

/// The shape for a malformed key, which no instruction accepts. The encoder never makes such a key.
const MALFORMED: OperandShape<'static> = OperandShape::List(&[]);

struct Decoder<I> {
    bytes: I,
    /// Operands, their parts, and the parts of these.
    levels: [Level; 3],
}

impl<I: Iterator<Item = u8>> Decoder<I> {
    fn operand(&mut self, first: u8, level: usize) {
        let mut node = Node {
            operand: ActualOperand::new(MALFORMED),
            group: Group::None,
            first: 0,
            count: 0,
        };
        match self.prefixes(first, &mut node.operand) {
            tag::BRACKET => self.group(Group::Bracket, level, &mut node),
            tag::VECTOR => self.group(Group::Vector, level, &mut node),
            tag::PAIR => self.pair(level, &mut node),
            tag => node.operand.shape = self.leaf(tag).unwrap_or(MALFORMED),
        }
        if let Some(list) = self.levels.get_mut(level) {
            list.push(node);
        }
    }

    /// Reads signs and suffixes, and returns the tag after them.
    fn prefixes(&mut self, first: u8, operand: &mut ActualOperand<'static>) -> u8 {
        let mut byte = first;
        loop {
            match byte {
                tag::NEGATED => operand.negated = true,
                tag::INVERTED => operand.inverted = true,
                tag::UNIFIED => operand.unified = true,
                tag::INDEXED => operand.indexed = true,
                tag::OFFSET => operand.offset = true,
                tag::COMPONENT => operand.component = true,
                tag::LANES => {
                    let bits = self.array().map(u16::from_le_bytes);
                    operand.lanes = Some(Selector::from_bits(bits.unwrap_or(0)));
                }
                tag => return tag,
            }
            byte = self.bytes.next().unwrap_or(tag::LIST);
        }
    }

    fn len(&self, level: usize) -> usize {
        self.levels.get(level).map_or(0, SmallVec::len)
    }

    fn group(&mut self, group: Group, level: usize, node: &mut Node) {
        (node.group, node.first) = (group, self.len(level + 1));
        while let Some(byte) = self.bytes.next().filter(|b| *b != tag::END) {
            self.operand(byte, level + 1);
        }
        node.count = self.len(level + 1) - node.first;
    }

    fn pair(&mut self, level: usize, node: &mut Node) {
        (node.group, node.first) = (Group::Pair, self.len(level + 1));
        for _ in 0..2 {
            if let Some(byte) = self.bytes.next() {
                self.operand(byte, level + 1);
            }
        }
        node.count = self.len(level + 1) - node.first;
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut value = [0; N];
        for byte in &mut value {
            *byte = self.bytes.next()?;
        }
        Some(value)
    }

    fn index<T>(&mut self, from_index: impl Fn(usize) -> Option<T>) -> Option<T> {
        from_index(self.bytes.next()?.into())
    }

    fn leaf(&mut self, tag: u8) -> Option<OperandShape<'static>> {
        Some(match tag {
            tag::REGISTER..tag::REGISTER_END => {
                OperandShape::Register(ScalarType::from_index((tag - tag::REGISTER).into())?)
            }
            tag::REGISTER_VECTOR => {
                let ty = self.index(ScalarType::from_index)?;
                OperandShape::RegisterVector(ty, self.bytes.next()?)
            }
            tag::INTEGER => OperandShape::Integer(0),
            tag::VALUE => OperandShape::Integer(i64::from_le_bytes(self.array()?)),
            tag::FLOAT => OperandShape::F64(f32::from_le_bytes(self.array()?)),
            tag::F32_BITS => OperandShape::F32Bits(f32::from_le_bytes(self.array()?)),
            tag::VARIABLE => {
                let space = self.index(StateSpace::from_index)?;
                OperandShape::Variable(space, self.index(ScalarType::from_index)?)
            }
            tag::SPECIAL => OperandShape::Special(self.index(SpecialReg::from_index)?),
            tag::SPECIAL_VECTOR => OperandShape::SpecialVector(self.index(SpecialReg::from_index)?),
            tag::LABEL => OperandShape::Label,
            tag::BRANCHES => OperandShape::Table(TableKind::Branches),
            tag::CALLS => OperandShape::Table(TableKind::Calls),
            tag::PROTOTYPE => OperandShape::Table(TableKind::Prototype),
            tag::FUNCTION => OperandShape::Function,
            tag::KERNEL => OperandShape::Kernel,
            tag::DISCARD => OperandShape::Discard,
            _ => MALFORMED,
        })
    }
}

/// The operands of a level; their parts are the operands of the level below.
fn link<'a>(level: &[Node], below: &'a [ActualOperand<'a>]) -> Vec<ActualOperand<'a>> {
    let mut operands = Vec::with_capacity(level.len());
    for node in level {
        let parts = below
            .get(node.first..node.first + node.count)
            .unwrap_or_default();
        let mut operand = node.operand;
        operand.shape = match node.group {
            Group::None => operand.shape,
            Group::Bracket => OperandShape::Bracket(parts),
            Group::Vector => OperandShape::Vector(parts),
            Group::Pair => parts.try_into().map_or(MALFORMED, OperandShape::Pair),
        };
        operands.push(operand);
    }
    operands
}

impl ShapeKey {
    /// Calls `query` with the operands and the tag of the function that contains the instruction.
    pub(super) fn decode<R>(&self, query: impl FnOnce(&[ActualOperand<'_>], u8) -> R) -> R {
        let mut decoder = Decoder {
            bytes: self.bytes(),
            levels: Default::default(),
        };
        let function_tag = decoder.bytes.next().unwrap_or(tag::IN_FUNC);
        while let Some(byte) = decoder.bytes.next() {
            decoder.operand(byte, 0);
        }
        let [outer, middle, inner] = decoder.levels;
        let inner = link(&inner, &[]);
        let middle = link(&middle, &inner);
        query(&link(&outer, &middle), function_tag)
    }
}
