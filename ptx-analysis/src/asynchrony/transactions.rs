//! Mbarrier objects that expect a different number of bytes than the copies that report to them have (9.7.13.15.5).

use alloc::vec::Vec;

use ptx_ir::InstId;

use super::events::{Event, Events, Kind};
use super::place::Place;
use super::{Certainty, Rule, Violation};
use crate::cfg::Cfg;

/// The maximum number of objects of a block, of sums by tensor maps, and of wrong sums that are examined.
const MOST: usize = 64;

/// The bytes that the events of one block add to an object.
struct Sum {
    object: Place,
    /// The bytes that the object expects, if they are known.
    expected: Option<u64>,
    /// The bytes of the copies, if they are known.
    copied: Option<u64>,
    /// The first instruction that adds expected bytes.
    first_expectation: Option<InstId>,
    /// The number of copies.
    copies: u32,
    /// The number of instructions that add expected bytes.
    expectations: u32,
    /// The tensor maps of the copies, in order; `None` if there are copies without a tensor map.
    maps: Option<Vec<Place>>,
}

/// Adds the instructions that expect a wrong number of bytes, if one block contains them and the copies.
pub(super) fn check(events: &Events, cfg: &Cfg, violations: &mut Vec<Violation>) {
    // Other functions and CTAs may copy as well.
    if events
        .all()
        .any(|event| matches!(event.kind, Kind::ClusterWait | Kind::Call))
    {
        return;
    }
    let mut wrong_sums = 0;
    let mut expectations: Vec<Expectation> = Vec::new();
    for (block, _) in cfg.blocks() {
        let mut sums: Vec<Sum> = Vec::new();
        let mut last_map = None;
        for event in events.in_block(block) {
            match event.kind {
                Kind::MapRead(place) => last_map = Some((event.inst, place)),
                _ => {
                    let map = last_map.filter(|(inst, _)| *inst == event.inst);
                    add_event(events, event, map.map(|(_, place)| place), &mut sums);
                }
            }
        }
        expectations.extend(
            sums.iter()
                .filter_map(Expectation::new)
                .take(MOST - expectations.len()),
        );
        for sum in &sums {
            let Some(inst) = sum.wrong_expectation() else {
                continue;
            };
            if wrong_sums == MOST {
                break;
            }
            wrong_sums += 1;
            if is_complete(events, sum) {
                violations.push(Violation {
                    inst,
                    rule: Rule::ExpectedBytes,
                    certainty: Certainty::Definite,
                    cause: None,
                });
            }
        }
    }
    check_usual_bytes(&expectations, violations);
}

impl Sum {
    /// The first instruction that expects bytes, if the sum of them differs from that of the copies.
    fn wrong_expectation(&self) -> Option<InstId> {
        let is_wrong = self.copies > 0 && self.expected? != self.copied?;
        self.first_expectation.filter(|_| is_wrong)
    }
}

/// The bytes that one instruction expects of copies by tensor maps alone.
struct Expectation {
    inst: InstId,
    bytes: u64,
    maps: Vec<Place>,
}

impl Expectation {
    fn new(sum: &Sum) -> Option<Self> {
        let maps = sum.maps.as_ref().filter(|maps| !maps.is_empty())?;
        Some(Self {
            inst: sum.first_expectation.filter(|_| sum.expectations == 1)?,
            bytes: sum.expected?,
            maps: maps.clone(),
        })
    }

    /// Whether both are of boxes of the same tensor maps.
    fn has_same_maps(&self, other: &Self) -> bool {
        self.maps.len() == other.maps.len()
            && self
                .maps
                .iter()
                .zip(&other.maps)
                .all(|(a, b)| a.is_same_address(*b))
    }
}

/// Adds the instructions that expect a different number of bytes than most instructions do of copies by the same tensor maps: the size of a box does
/// not change.
fn check_usual_bytes(expectations: &[Expectation], violations: &mut Vec<Violation>) {
    for expectation in expectations {
        let comparable = || {
            expectations
                .iter()
                .filter(|other| expectation.has_same_maps(other))
        };
        let Some(usual) = comparable().max_by_key(|candidate| {
            let votes = comparable()
                .filter(|other| other.bytes == candidate.bytes)
                .count();
            (votes, core::cmp::Reverse(candidate.inst))
        }) else {
            continue;
        };
        if usual.bytes != expectation.bytes {
            violations.push(Violation {
                inst: expectation.inst,
                rule: Rule::ExpectedBytesDiffer,
                certainty: Certainty::Possible,
                cause: Some(usual.inst),
            });
        }
    }
}

/// Whether a sum contains all copies and expectations of the function that may be of its object.
fn is_complete(events: &Events, sum: &Sum) -> bool {
    let copies = events
        .operations
        .iter()
        .filter_map(|operation| operation.object)
        .filter(|object| object.may_be_same_address(sum.object));
    let expectations = events.all().filter(|event| match &event.kind {
        Kind::Expect(object, _) => object.may_be_same_address(sum.object),
        _ => false,
    });
    copies.count() == sum.copies as usize && expectations.count() == sum.expectations as usize
}

/// Adds an event of a block to the sum of its object. `map` is the tensor map that its instruction uses.
fn add_event(events: &Events, event: &Event, map: Option<Place>, sums: &mut Vec<Sum>) {
    match &event.kind {
        Kind::Expect(object, bytes) => {
            if let Some(sum) = sum_of_object(sums, *object) {
                sum.expected = checked_sum(sum.expected, *bytes);
                sum.first_expectation = sum.first_expectation.or(Some(event.inst));
                sum.expectations += 1;
            }
        }
        Kind::Start(number) => {
            let Some(operation) = events.operation(*number) else {
                return;
            };
            if let Some(object) = operation.object
                && let Some(sum) = sum_of_object(sums, object)
            {
                let bytes = operation.destination.and_then(|place| place.bytes);
                sum.copied = checked_sum(sum.copied, bytes);
                sum.copies += 1;
                match (&mut sum.maps, map) {
                    (Some(maps), Some(place)) => maps.push(place),
                    (maps, _) => *maps = None,
                }
            }
        }
        _ => {}
    }
}

fn checked_sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a?.checked_add(b?)
}

/// The sum of an object of a block; the last sum for further objects if there are too many.
fn sum_of_object(sums: &mut Vec<Sum>, object: Place) -> Option<&mut Sum> {
    let index = sums
        .iter()
        .position(|sum| sum.object.is_same_in_block(object));
    if let Some(index) = index {
        return sums.get_mut(index);
    }
    if sums.len() < MOST {
        sums.push(Sum {
            object,
            expected: Some(0),
            copied: Some(0),
            first_expectation: None,
            copies: 0,
            expectations: 0,
            maps: Some(Vec::new()),
        });
    }
    sums.last_mut()
}
