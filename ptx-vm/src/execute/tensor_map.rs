//! Instructions that change and copy tensor maps: manual 9.7.9.26 and 9.7.13.16.

use core::ops::Range;

use ptx_isa::{Action, Modifier};

use super::execution::{Control, Execution, Failed, Outcome};
use super::groups::State;
use super::location::{Location, Memory};
use crate::error::StopReason;
use crate::lanes::lanes;
use crate::program::{Act, ActOperand};
use crate::tensor::encoding::{Field, MAP_BYTES, replace};

/// The bytes of an access to a map.
const PART: usize = 16;
/// The mask of a whole warp.
const WARP: u32 = u32::MAX;

/// The field that a modifier names.
const fn field(modifier: Modifier) -> Option<Field> {
    Some(match modifier {
        Modifier::GlobalAddress => Field::Address,
        Modifier::Rank => Field::Rank,
        Modifier::BoxDim => Field::Box,
        Modifier::GlobalDim => Field::Dim,
        Modifier::GlobalStride => Field::Stride,
        Modifier::ElementStride => Field::Step,
        Modifier::Elemtype => Field::Element,
        Modifier::InterleaveLayout => Field::Interleave,
        Modifier::SwizzleMode => Field::SwizzleMode,
        Modifier::SwizzleAtomicity => Field::SwizzleAtomicity,
        Modifier::FillMode => Field::Fill,
        _ => return None,
    })
}

impl Execution<'_> {
    /// Replaces a field of a tensor map. It is an access to the whole map.
    pub(super) fn replace_in_tensor_map(&mut self, act: &Act) -> Outcome {
        let field = act.modifiers.iter().find_map(|modifier| field(*modifier));
        let values = act.values();
        for lane in lanes(self.active) {
            let (Some(field), Some(Some(ActOperand::Address(address)))) =
                (field, act.operands.first())
            else {
                return Err((StopReason::Unsupported("unsupported operands".into()), lane));
            };
            let (index, value) = match values[..] {
                [value] => (0, self.get(value, lane) as u64),
                [index, value] => (self.get(index, lane) as usize, self.get(value, lane) as u64),
                _ => (0, 0),
            };
            let location = self.location(address, lane);
            let mut bytes = self.read_tensor_map(location, lane)?;
            replace(&mut bytes, field, index, value).map_err(|count| {
                let reason = format!(
                    "the ordinal of the field of the tensor map is {index}, but 0 to {} is expected",
                    count - 1
                );
                (StopReason::Invalid(reason), lane)
            })?;
            self.write_tensor_map(location, &bytes, lane)?;
        }
        Ok(Control::Next)
    }

    /// Copies tensor maps, and waits until all lanes of the warp have done so. Lanes with equal operands copy once.
    pub(super) fn copy_tensor_map(&mut self, act: &Act) -> Outcome {
        let addresses = act.addresses();
        let [target, source] = addresses[..] else {
            let reason = StopReason::Unsupported("unsupported operands".into());
            return Err((reason, self.first()));
        };
        let mut copied = Vec::new();
        for lane in lanes(self.active) {
            let locations = (self.location(&target, lane), self.location(&source, lane));
            if !copied.contains(&locations) {
                let bytes = self.read_tensor_map(locations.1, lane)?;
                self.write_tensor_map(locations.0, &bytes, lane)?;
                copied.push(locations);
            }
        }
        let waiting = State::Lanes(WARP);
        let present = self.active | self.warp.groups.mask_in_state(waiting);
        if present & self.warp.groups.live() != self.warp.groups.live() {
            return Ok(Control::Wait(waiting));
        }
        self.warp.groups.release(waiting);
        Ok(Control::Next)
    }

    /// The addresses in global memory of the tensor map by which the instruction copies or reduces a part of a tensor in a lane. No other operand is an address in
    /// global memory.
    pub(crate) fn tensor_map(&self, lane: usize) -> Option<Range<u64>> {
        let act = self.action()?;
        if !matches!(act.action, Action::TensorCopy | Action::TensorReduce) {
            return None;
        }
        act.addresses().iter().find_map(|address| {
            let location = self.location(address, lane);
            let start = location.address();
            (location.memory() == Memory::Global).then(|| start..start + MAP_BYTES as u64)
        })
    }

    /// The bytes of a tensor map.
    pub(super) fn read_tensor_map(
        &self,
        location: Location,
        lane: usize,
    ) -> Result<[u8; MAP_BYTES], Failed> {
        let mut bytes = [0; MAP_BYTES];
        for (offset, part) in (0..).step_by(PART).zip(bytes.chunks_exact_mut(PART)) {
            let bits = self.read(location.plus(offset), PART as u8, lane)?;
            part.copy_from_slice(&bits.to_le_bytes());
        }
        Ok(bytes)
    }

    fn write_tensor_map(
        &mut self,
        location: Location,
        bytes: &[u8; MAP_BYTES],
        lane: usize,
    ) -> Result<(), Failed> {
        for (offset, part) in (0..).step_by(PART).zip(bytes.chunks_exact(PART)) {
            let bits = part.try_into().map_or(0, u128::from_le_bytes);
            self.write(location.plus(offset), PART as u8, bits, lane)?;
        }
        Ok(())
    }
}
