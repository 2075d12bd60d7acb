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
    for (block, _) in cfg.blocks() {
        let mut sums: Vec<Sum> = Vec::new();
        for event in events.of(block) {
            add(events, event, &mut sums);
        }
        for sum in &sums {
            let (Some(expected), Some(copied)) = (sum.expected, sum.copied) else {
                continue;
            };
            let Some(inst) = sum.first.filter(|_| sum.copies > 0 && expected != copied) else {
                continue;
            };
            let Some(rest) = left.checked_sub(1) else {
                return;
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
}

/// Whether all that adds to an object is counted in a sum.
fn is_alone(events: &Events, sum: &Sum) -> bool {
    let copies = events.operations.iter().filter_map(|o| o.object);
    let copies = copies.filter(|object| object.may_be_same_address(sum.object));
    copies.count() == sum.copies as usize
}

/// Objects of a block, and sums that are wrong, beyond these are not looked at.
const MOST: usize = 64;

fn add(events: &Events, event: &Event, sums: &mut Vec<Sum>) {
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
    let at = sums.iter().position(|s| s.object.is_same_address(object));
    let at = at.unwrap_or_else(|| {
        if sums.len() < MOST {
            sums.push(Sum {
                object,
                expected: Some(0),
                copied: Some(0),
                first: None,
                copies: 0,
            });
        }
        sums.len() - 1
    });
    let Some(sum) = sums.get_mut(at) else { return };
    let plus = |sum: Option<u64>, more: Option<u64>| sum?.checked_add(more?);
    if let Some(bytes) = expected {
        sum.expected = plus(sum.expected, bytes);
        sum.first = sum.first.or(Some(event.inst));
    }
    if let Some(bytes) = copied {
        sum.copied = plus(sum.copied, bytes);
        sum.copies += 1;
    }
}
