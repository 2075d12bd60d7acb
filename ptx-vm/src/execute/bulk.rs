//! Asynchronous copies of blocks and stores. They are done at once; what waits for them sees them complete.

use ptx_isa::Modifier;

use super::execution::{Control, Execution, Outcome};
use super::location::Location;
use crate::error::Reason;
use crate::lanes::lanes;
use crate::program::{Act, ActOperand};

impl Act {
    /// Whether it writes to several CTAs of the cluster.
    pub(super) fn is_multicast(&self) -> bool {
        let mut texts = self.modifiers.iter().map(|m| m.text());
        texts.any(|text| text.starts_with(".multicast"))
    }
}

impl Execution<'_> {
    /// Copies a block; with `.multicast::cluster` to the same place in several CTAs of the cluster.
    pub(super) fn bulk_copy(&mut self, act: &Act) -> Outcome {
        let addresses = act.addresses();
        let (values, first) = (act.values(), self.first());
        let refused = [Modifier::CpMask, Modifier::IgnoreOob];
        if refused.into_iter().any(|m| act.has(m)) {
            let why = "copies of parts of blocks".into();
            return Err((Reason::Unsupported(why), first));
        }
        let ([to, from] | [to, from, _]) = addresses[..] else {
            return Err((Reason::Unsupported("its addresses".into()), first));
        };
        for lane in lanes(self.active) {
            let value = |n: usize| values.get(n).map_or(0, |p| self.get(*p, lane) as u64);
            let (size, mask) = (value(0), value(1));
            let source = self.location(&from, lane);
            let target = self.location(&to, lane);
            let object = addresses.get(2).map(|a| self.location(a, lane));
            let ranks: Vec<Option<usize>> = match act.is_multicast() {
                true => (0..32).filter(|r| mask >> r & 1 == 1).map(Some).collect(),
                false => vec![None],
            };
            for rank in ranks {
                let target = in_block(target, rank);
                for at in (0..size).step_by(16) {
                    let data = self.read(source.plus(at), 16, lane);
                    data.and_then(|d| self.write(target.plus(at), 16, d, lane))?;
                }
                if let Some(object) = object {
                    let object = in_block(object, rank);
                    self.complete_transactions(object, size, lane)?;
                }
            }
        }
        Ok(Control::Next)
    }

    /// Stores values, and completes their bytes at an mbarrier object.
    pub(super) fn store_async(&mut self, act: &Act) -> Outcome {
        let addresses = act.addresses();
        let places = act.operands.iter().find_map(|o| match o {
            Some(ActOperand::Places(places)) => Some(places),
            _ => None,
        });
        let mut types = act.modifiers.iter().rev().filter_map(|m| m.scalar_type());
        let (Some(to), Some(places), Some(ty)) = (addresses.first(), places, types.next()) else {
            let first = self.first();
            return Err((Reason::Unsupported("its operands".into()), first));
        };
        let bytes = (ty.bits() / 8) as u8;
        for lane in lanes(self.active) {
            let target = self.location(to, lane);
            for (n, place) in (0u64..).zip(places) {
                let bits = self.get(*place, lane);
                let at = target.plus(n * u64::from(bytes));
                self.write(at, bytes, bits, lane)?;
            }
            if let Some(object) = addresses.get(1) {
                let object = self.location(object, lane);
                let all = u64::from(bytes) * places.len() as u64;
                self.complete_transactions(object, all, lane)?;
            }
        }
        Ok(Control::Next)
    }
}

/// The same place in the shared memory of a CTA of the cluster.
pub(super) const fn in_block(location: Location, rank: Option<usize>) -> Location {
    match (location, rank) {
        (Location::Shared(_, at), Some(rank)) => Location::Shared(rank, at),
        _ => location,
    }
}
