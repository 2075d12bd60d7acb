//! The mbarrier objects to which operations report.

use alloc::rc::Rc;
use alloc::vec::Vec;

use super::events::{Event, Events, Kind, Operation};
use super::mechanism::Mechanism;
use super::place::{Place, distinct};
use super::reach::after;
use crate::cfg::{BlockId, Cfg};
use crate::function_analysis::FunctionAnalysis;

/// More objects than these are not told apart, and from more blocks it is not searched what follows.
const MOST: usize = 64;

/// The objects to which an operation may report; `None` is any object.
pub(super) type Reported = Rc<[Option<Place>]>;

/// Of each operation, the objects that it may report to. Linear in the events, for each of the first blocks with operations on tensor memory.
pub(super) fn reports(events: &Events, analysis: &FunctionAnalysis<'_>) -> Vec<Reported> {
    let expected = events.all().filter_map(|e| match &e.kind {
        Kind::Expect(place, _) => Some(*place),
        _ => None,
    });
    let expected = distinct(expected, MOST);
    let calls = events.all().any(|e| matches!(e.kind, Kind::Call));
    let is_expected = |object: Place| match &expected {
        Some(all) if events.is_kernel && !calls => {
            all.iter().any(|place| place.may_be_same_address(object))
        }
        _ => true,
    };
    let none: Reported = [].into();
    let copies: Reported = reported(events, Mechanism::Copies, |_| true).into();
    let mut of_block: Option<OfBlock> = None;
    let mut blocks = 0;
    let mut of = |operation: &Operation| -> Reported {
        match (operation.mechanism, operation.object) {
            (Mechanism::Mbarrier, Some(object)) if !is_expected(object) => none.clone(),
            (Mechanism::Mbarrier, object) => [object].into(),
            (Mechanism::Copies, _) => copies.clone(),
            (Mechanism::Tensor, _) => {
                if of_block
                    .as_ref()
                    .is_none_or(|of| of.block != operation.block)
                {
                    blocks += 1;
                    let new = || OfBlock::new(events, analysis.cfg(), operation.block);
                    of_block = (blocks <= MOST).then(new);
                }
                match &of_block {
                    Some(of) => of.after(events.order(operation.inst)),
                    None => [None].into(),
                }
            }
            _ => none.clone(),
        }
    };
    events.operations.iter().map(&mut of).collect()
}

/// What operations of a mechanism report to in some events.
fn reported(
    events: &Events,
    mechanism: Mechanism,
    is_one: impl Fn(&Event) -> bool,
) -> Vec<Option<Place>> {
    let mut found: Vec<Option<Place>> = Vec::new();
    for event in events.all() {
        if let Kind::Report(of, place) = &event.kind
            && *of == mechanism
            && is_one(event)
            && !found.contains(place)
        {
            if found.len() == MOST {
                return vec![None];
            }
            found.push(*place);
        }
    }
    found
}

/// The reports of operations on tensor memory that follow those of a block.
struct OfBlock {
    block: BlockId,
    /// In blocks after this one.
    later: Vec<Option<Place>>,
    /// In the block itself, each with the last position.
    own: Vec<(u32, Option<Place>)>,
}

impl OfBlock {
    fn new(events: &Events, cfg: &Cfg, block: BlockId) -> Self {
        let follows = after(cfg, &[block], |_| false);
        let is_later = |event: &Event| follows.contains(event.block.as_u32());
        let mut own: Vec<(u32, Option<Place>)> = Vec::new();
        for event in events.of(block) {
            let Kind::Report(Mechanism::Tensor, place) = event.kind else {
                continue;
            };
            let position = events.order(event.inst);
            let known = own.iter().position(|(_, other)| *other == place);
            match known {
                Some(at) => own[at].0 = position,
                None if own.len() < MOST => own.push((position, place)),
                None => own = vec![(u32::MAX, None)],
            }
        }
        Self {
            block,
            later: reported(events, Mechanism::Tensor, is_later),
            own,
        }
    }

    /// What is reported to after a position in the block.
    fn after(&self, position: u32) -> Reported {
        let own = self.own.iter().filter(|(last, _)| *last > position);
        let all = self
            .later
            .iter()
            .copied()
            .chain(own.map(|(_, place)| *place));
        all.collect()
    }
}
