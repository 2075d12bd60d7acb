//! Objects that expect other numbers of bytes than the copies that report to them have (9.7.13.15.5).

use alloc::vec::Vec;

use super::events::{Event, Events, Kind};
use super::place::Place;
use super::{Certainty, Rule, Violation};
use crate::cfg::Cfg;

/// What one block adds to an object.
struct Sum {
    object: Place,
    expected: Option<u64>,
    copied: Option<u64>,
    /// The first instruction that states what is expected.
    first: Option<ptx_ir::InstId>,
    copies: u32,
    /// How often it is stated what is expected.
    statements: u32,
    /// The tensor maps of the copies, in order; `None` if there are other copies.
    maps: Option<Vec<Place>>,
}

/// Adds the instructions that expect a wrong number of bytes, where one block has these and the copies.
pub(super) fn check(events: &Events, cfg: &Cfg, found: &mut Vec<Violation>) {
    if events
        .all()
        .any(|e| matches!(e.kind, Kind::ClusterWait | Kind::Call))
    {
        return;
    }
    let mut left = MOST;
    let mut mapped: Vec<Mapped> = Vec::new();
    for (block, _) in cfg.blocks() {
        let mut sums: Vec<Sum> = Vec::new();
        let mut map = None;
        for event in events.of(block) {
            match event.kind {
                Kind::MapRead(place) => map = Some((event.inst, place)),
                _ => add(events, event, map, &mut sums),
            }
        }
        mapped.extend(
            sums.iter()
                .filter_map(Mapped::new)
                .take(MOST - mapped.len()),
        );
        for sum in &sums {
            let (Some(expected), Some(copied)) = (sum.expected, sum.copied) else {
                continue;
            };
            let Some(inst) = sum.first.filter(|_| sum.copies > 0 && expected != copied) else {
                continue;
            };
            let Some(rest) = left.checked_sub(1) else {
                break;
            };
            left = rest;
            if is_alone(events, sum) {
                found.push(Violation {
                    inst,
                    rule: Rule::ExpectedBytes,
                    certainty: Certainty::Definite,
                    cause: None,
                });
            }
        }
    }
    differing(&mapped, found);
}

/// What is expected of copies by tensor maps alone.
struct Mapped {
    inst: ptx_ir::InstId,
    expected: u64,
    maps: Vec<Place>,
}

impl Mapped {
    fn new(sum: &Sum) -> Option<Self> {
        let maps = sum.maps.as_ref().filter(|maps| !maps.is_empty())?;
        Some(Self {
            inst: sum.first.filter(|_| sum.statements == 1)?,
            expected: sum.expected?,
            maps: maps.clone(),
        })
    }

    /// Whether the copies are of boxes of the same tensor maps.
    fn has_same_maps(&self, other: &Self) -> bool {
        let mut pairs = self.maps.iter().zip(&other.maps);
        self.maps.len() == other.maps.len() && pairs.all(|(a, b)| a.is_same_address(*b))
    }
}

/// Adds the instructions that expect other numbers of bytes than most do of copies by the same tensor maps: the size of a box does not change.
fn differing(all: &[Mapped], found: &mut Vec<Violation>) {
    for own in all {
        let same = || all.iter().filter(|other| own.has_same_maps(other));
        let count = |bytes: u64| same().filter(|other| other.expected == bytes).count();
        let votes = |other: &Mapped| (count(other.expected), core::cmp::Reverse(other.inst));
        let Some(usual) = same().max_by_key(|other| votes(other)) else {
            continue;
        };
        if usual.expected != own.expected {
            found.push(Violation {
                inst: own.inst,
                rule: Rule::ExpectedBytesDiffer,
                certainty: Certainty::Possible,
                cause: Some(usual.inst),
            });
        }
    }
}

/// Whether all that adds to an object is counted in a sum.
fn is_alone(events: &Events, sum: &Sum) -> bool {
    let copies = events.operations.iter().filter_map(|o| o.object);
    let copies = copies.filter(|object| object.may_be_same_address(sum.object));
    let expects = events.all().filter(|e| match &e.kind {
        Kind::Expect(object, _) => object.may_be_same_address(sum.object),
        _ => false,
    });
    copies.count() == sum.copies as usize && expects.count() == sum.statements as usize
}

/// Objects of a block, and sums that are wrong, beyond these are not looked at.
const MOST: usize = 64;

fn add(events: &Events, event: &Event, map: Option<(ptx_ir::InstId, Place)>, sums: &mut Vec<Sum>) {
    let (object, expected, copied) = match &event.kind {
        Kind::Expect(object, bytes) => (*object, Some(*bytes), None),
        Kind::Start(number) => {
            let Some(operation) = events.operation(*number) else {
                return;
            };
            let bytes = operation.destination.and_then(|d| d.bytes);
            match operation.object {
                Some(object) => (object, None, Some(bytes)),
                None => return,
            }
        }
        _ => return,
    };
    let at = sums.iter().position(|s| s.object.is_same_in_block(object));
    let at = at.unwrap_or_else(|| {
        if sums.len() < MOST {
            sums.push(Sum {
                object,
                expected: Some(0),
                copied: Some(0),
                first: None,
                copies: 0,
                statements: 0,
                maps: Some(Vec::new()),
            });
        }
        sums.len() - 1
    });
    let Some(sum) = sums.get_mut(at) else { return };
    let plus = |sum: Option<u64>, more: Option<u64>| sum?.checked_add(more?);
    if let Some(bytes) = expected {
        sum.expected = plus(sum.expected, bytes);
        sum.first = sum.first.or(Some(event.inst));
        sum.statements += 1;
    }
    if let Some(bytes) = copied {
        sum.copied = plus(sum.copied, bytes);
        sum.copies += 1;
        let of_event = map.filter(|(inst, _)| *inst == event.inst);
        match (&mut sum.maps, of_event) {
            (Some(maps), Some((_, place))) => maps.push(place),
            (maps, _) => *maps = None,
        }
    }
}
