//! The mbarrier objects to which each operation may report.

use alloc::rc::Rc;
use alloc::vec::Vec;

use super::events::{Event, Events, Kind, Operation};
use super::mechanism::Mechanism;
use super::paths::reachable_from;
use super::place::{Place, distinct};
use crate::cfg::{BlockId, Cfg};
use crate::function_dataflow::FunctionDataflow;

/// The maximum number of objects that are told apart, and of blocks for whose operations the commits are searched.
const MOST: usize = 64;

/// The objects to which an operation may report; `None` is any object.
pub(super) type Reported = Rc<[Option<Place>]>;

/// For each operation, the objects to which it may report. Cost: linear in the events, for each of the first blocks with operations on tensor
/// memory.
pub(super) fn reports(events: &Events, analysis: &FunctionDataflow<'_>) -> Vec<Reported> {
    let expecting = expecting_objects(events);
    let no_object: Reported = [].into();
    let copy_objects: Reported = reported_objects(events, Mechanism::Copies, |_| true).into();
    let mut block_commits: Option<TensorCommits> = None;
    let mut searched_blocks = 0;
    let mut objects_of = |operation: &Operation| -> Reported {
        match (operation.mechanism, operation.object) {
            (Mechanism::Mbarrier, Some(object)) => {
                let is_expected = expecting.as_ref().is_none_or(|expecting| {
                    expecting.iter().any(|p| p.may_be_same_address(object))
                });
                if is_expected {
                    [Some(object)].into()
                } else {
                    no_object.clone()
                }
            }
            (Mechanism::Mbarrier, None) => [None].into(),
            (Mechanism::Copies, _) => copy_objects.clone(),
            (Mechanism::Tensor, _) => {
                if block_commits
                    .as_ref()
                    .is_none_or(|commits| commits.block != operation.block)
                {
                    searched_blocks += 1;
                    block_commits = (searched_blocks <= MOST)
                        .then(|| TensorCommits::new(events, analysis.cfg(), operation.block));
                }
                match &block_commits {
                    Some(commits) => commits.after(events.order(operation.inst)),
                    None => [None].into(),
                }
            }
            _ => no_object.clone(),
        }
    };
    events.operations.iter().map(&mut objects_of).collect()
}

/// The objects that expect bytes of copies; `None` if others may.
fn expecting_objects(events: &Events) -> Option<Vec<Place>> {
    let has_calls = events.all().any(|event| matches!(event.kind, Kind::Call));
    if !events.is_kernel || has_calls {
        return None;
    }
    let expecting = events.all().filter_map(|event| match &event.kind {
        Kind::Expect(place, _) => Some(*place),
        _ => None,
    });
    distinct(expecting, MOST)
}

/// The objects to which operations of a mechanism report in the selected events.
fn reported_objects(
    events: &Events,
    mechanism: Mechanism,
    is_selected: impl Fn(&Event) -> bool,
) -> Vec<Option<Place>> {
    let mut objects: Vec<Option<Place>> = Vec::new();
    for event in events.all() {
        if let Kind::Report(reporting, place) = &event.kind
            && *reporting == mechanism
            && is_selected(event)
            && !objects.contains(place)
        {
            if objects.len() == MOST {
                return vec![None];
            }
            objects.push(*place);
        }
    }
    objects
}

/// A commit of operations on tensor memory to an object.
struct Commit {
    /// The position of its instruction in the text.
    position: u32,
    object: Option<Place>,
}

/// The commits that may follow the operations on tensor memory of a block.
struct TensorCommits {
    block: BlockId,
    /// The objects of the commits in blocks that are reached from the block.
    later: Vec<Option<Place>>,
    /// The last commit in the block to each object.
    in_block: Vec<Commit>,
}

impl TensorCommits {
    fn new(events: &Events, cfg: &Cfg, block: BlockId) -> Self {
        let later_blocks = reachable_from(cfg, &[block], |_| false);
        let mut in_block: Vec<Commit> = Vec::new();
        for event in events.in_block(block) {
            let Kind::Report(Mechanism::Tensor, object) = event.kind else {
                continue;
            };
            let position = events.order(event.inst);
            let known_object = in_block.iter().position(|c| c.object == object);
            match known_object {
                Some(index) => in_block[index].position = position,
                None if in_block.len() < MOST => in_block.push(Commit { position, object }),
                None => {
                    in_block = vec![Commit {
                        position: u32::MAX,
                        object: None,
                    }];
                }
            }
        }
        Self {
            block,
            later: reported_objects(events, Mechanism::Tensor, |event| {
                later_blocks.contains(event.block.as_u32())
            }),
            in_block,
        }
    }

    /// The objects of the commits after a position in the block.
    fn after(&self, position: u32) -> Reported {
        let in_block = self.in_block.iter().filter(|c| c.position > position);
        self.later
            .iter()
            .copied()
            .chain(in_block.map(|commit| commit.object))
            .collect()
    }
}
