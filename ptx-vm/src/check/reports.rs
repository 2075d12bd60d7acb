//! The reports of a launch.

use ptx_ir::Code;
use std::collections::HashMap;

use super::report::checker;
use super::sites::Sites;
use super::{Occurrence, Report};
use crate::execute::Grid;

/// The maximum number of reports; further ones are only counted if there is a report of the same kind at the same instruction.
const MOST: usize = 100;

/// A thread at an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Actor {
    /// The number of the instruction.
    pub(super) site: u32,
    /// The linear index of the CTA.
    pub(super) block: u64,
    /// The linear index of the thread in its CTA.
    pub(super) thread: u32,
}

/// The text of a report.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) message: String,
    pub(super) other: Option<(Actor, &'static str)>,
    pub(super) help: &'static str,
}

/// Reports, one for each kind and instruction.
#[derive(Debug, Default)]
pub(super) struct Reports {
    found: Vec<Report>,
    numbers: HashMap<(Code, u32), usize>,
}

impl Reports {
    /// Adds a report; if there is one of its kind at the instruction, that one is counted.
    pub(super) fn add(
        &mut self,
        (grid, sites): (&Grid<'_>, &Sites),
        code: Code,
        actor: Actor,
        text: impl FnOnce() -> Text,
    ) {
        if let Some(&number) = self.numbers.get(&(code, actor.site)) {
            if let Some(report) = self.found.get_mut(number) {
                report.count += 1;
            }
            return;
        }
        if self.found.len() >= MOST {
            return;
        }
        self.numbers.insert((code, actor.site), self.found.len());
        let Text {
            message,
            other,
            help,
        } = text();
        let kernel = grid.program.function(grid.kernel);
        self.found.push(Report {
            checker: checker(code),
            code,
            kernel: kernel.map_or_else(String::new, |k| k.name.clone()),
            message,
            at: occurrence(grid, sites, actor),
            other: other.map(|(actor, what)| (occurrence(grid, sites, actor), what.into())),
            help: help.into(),
            count: 1,
        });
    }

    /// Whether there are reports at an instruction.
    pub(super) fn any_at(&self, site: u32) -> bool {
        self.numbers.keys().any(|(_, at)| *at == site)
    }

    /// Whether there is a report of a kind at an instruction.
    pub(super) fn has(&self, code: Code, site: u32) -> bool {
        self.numbers.contains_key(&(code, site))
    }

    pub(super) fn finish(self) -> Vec<Report> {
        self.found
    }
}

/// The position of a thread, with names.
fn occurrence(grid: &Grid<'_>, sites: &Sites, actor: Actor) -> Occurrence {
    let (function, at) = sites.place(actor.site);
    let of = grid.program.function(function);
    let inst = of.and_then(|f| f.steps.get(at as usize)).map(|s| s.inst);
    let place = inst.and_then(|inst| grid.place(function, inst));
    let (span, instruction) = place.map(|place| (place.span, place.text)).unzip();
    Occurrence {
        function,
        name: of.map_or_else(String::new, |f| f.name.clone()),
        inst,
        span,
        instruction: instruction.unwrap_or_default(),
        block: grid.block(actor.block),
        thread: grid.thread(actor.thread),
    }
}
