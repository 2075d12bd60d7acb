//! Assignments of packed types, which are done for each element.

use ptx_isa::ScalarType;
use ptx_isa::internals::{Assignment, Destination};

use super::{Assigned, Lowering};
use crate::lanes::{Integer, Kind, Place};

impl Lowering<'_> {
    /// The assignments to packed results.
    pub(super) fn packed(&mut self, assignments: &'static [Assignment]) -> Option<()> {
        for assignment in assignments {
            match assignment.target() {
                Destination::Local => self.assigned.push(Assigned::Expr(assignment.value())),
                _ => self.assign_elements(assignment)?,
            }
        }
        Some(())
    }

    /// Assigns each element, and puts the elements of a result together.
    fn assign_elements(&mut self, assignment: &Assignment) -> Option<()> {
        let (ty, destination) = match assignment.target() {
            Destination::Operand(index) => (
                self.operand_type(index.into())?,
                self.operand_place(index.into()),
            ),
            Destination::Memory(_) => (self.memory_type()?, None),
            _ => return None,
        };
        let in_memory = matches!(assignment.target(), Destination::Memory(_));
        let element = ty.element()?;
        let mut packed = None;
        for lane in 0..u16::from(ty.elements()) {
            self.lane = Some(lane);
            let value = self.result(assignment.value(), element)?;
            let bits = match value {
                Assigned::Integer(int) => {
                    let word = self.as_word(int)?;
                    if element.bits() < 32 {
                        self.code.extend(word, element.bits(), false)
                    } else {
                        word
                    }
                }
                other => other.place()?,
            };
            packed = Some(match packed {
                None if ty.bits() > 32 => Place::Double(self.widened(bits)?),
                None => bits,
                Some(lower_elements) => self.joined(lower_elements, bits, lane * element.bits())?,
            });
        }
        self.lane = None;
        let packed = packed?;
        match destination {
            Some(destination) => self.lowered.results.push((destination, packed)),
            None if in_memory => self.lowered.stored = Some(packed),
            None => {}
        }
        self.assigned.push(Assigned::Bits(ty, packed));
        Some(())
    }

    fn widened(&mut self, bits: Place) -> Option<u32> {
        match bits {
            Place::Word(word) => Some(self.code.double(Kind::Widen, [word, 0, 0])),
            _ => None,
        }
    }

    /// The elements of a packed value so far, with the bits of the next one above them.
    fn joined(&mut self, lower_elements: Place, bits: Place, position: u16) -> Option<Place> {
        Some(match lower_elements {
            Place::Double(low) => {
                let high = self.widened(bits)?;
                let amount = self.code.constant_double(position.into());
                let kind = Kind::Double(Integer::ShiftLeft);
                let high = self.code.double(kind, [high, amount, amount]);
                let kind = Kind::Double(Integer::Or);
                Place::Double(self.code.double(kind, [low, high, high]))
            }
            _ => {
                let amount = self.code.constant_word(position.into());
                let kind = Kind::Word(Integer::ShiftLeft);
                let high = self.code.word(kind, [bits.index(), amount, amount]);
                let kind = Kind::Word(Integer::Or);
                Place::Word(self.code.word(kind, [lower_elements.index(), high, high]))
            }
        })
    }

    /// The bits of an element of a packed value.
    pub(super) fn element_bits(
        &mut self,
        place: Place,
        element: ScalarType,
        lane: u16,
    ) -> Option<Place> {
        let position = lane * element.bits();
        let word = match place {
            Place::Double(double) => {
                let high = u32::from(position >= 32);
                self.code.word(Kind::Narrow, [double, 0, high])
            }
            Place::Word(word) => word,
            _ => return None,
        };
        let shifted = match position % 32 {
            0 if element.bits() == 32 => return Some(Place::Word(word)),
            0 => word,
            shift => {
                let amount = self.code.constant_word(shift.into());
                let kind = Kind::Word(Integer::ShiftRight { signed: false });
                self.code.word(kind, [word, amount, amount])
            }
        };
        Some(
            self.code
                .extend(Place::Word(shifted), element.bits(), false),
        )
    }
}
