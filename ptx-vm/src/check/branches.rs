//! `synccheck`: branches that are marked as uniform.

use ptx_ir::Code;

use super::checkers::Checkers;
use super::reports::{Actor, Text};
use crate::execute::{CallFrame, Grid, Stepped};
use crate::lanes::lanes;
use crate::program::{Callee, Step};

impl Checkers {
    /// The active lanes of a branch that is marked as uniform must take the same path.
    pub(super) fn uniform_branch(
        &mut self,
        grid: &Grid<'_>,
        (index, warp): ([u32; 3], u32),
        (step, call): (Stepped, &CallFrame),
    ) {
        let site = self.sites.number(step.function, step.at);
        if !self.sites.get(site).is_some_and(|s| s.uniform) || step.active == 0 {
            return;
        }
        let first = step.active.trailing_zeros();
        let Some(other) = other_way(grid, step, call) else {
            return;
        };
        let block = grid.linear(index);
        let actor = |lane: u32| Actor {
            site,
            block,
            thread: warp + lane,
        };
        let sites = std::sync::Arc::clone(&self.sites);
        let text = || Text {
            message: "lanes of a warp diverge at a branch that is marked as uniform".into(),
            other: Some((actor(other), "another lane of the warp")),
            help: "remove `.uni`, or make the condition uniform in the warp",
        };
        self.reports
            .add((grid, &sites), Code::UniformBranch, actor(first), text);
    }
}

/// A lane that takes a different path than the first active one.
fn other_way(grid: &Grid<'_>, step: Stepped, call: &CallFrame) -> Option<u32> {
    let skipped = step.mask & !step.active;
    if skipped != 0 {
        return Some(skipped.trailing_zeros());
    }
    let target = grid
        .program
        .function(step.function)?
        .steps
        .get(step.at as usize)?;
    let place = match &target.step {
        Step::Table(index, _) => *index,
        Step::Call(of) => match of.callee {
            Callee::Indirect(place) => place,
            _ => return None,
        },
        _ => return None,
    };
    let first = call
        .registers
        .get(place, step.active.trailing_zeros() as usize);
    let mut active = lanes(step.active);
    let other = active.find(|lane| call.registers.get(place, *lane) != first)?;
    u32::try_from(other).ok()
}
