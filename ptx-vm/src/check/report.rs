//! Reports of checkers.

use std::collections::HashMap;

use ptx_ir::{Code, Diagnostic, FuncId, InstId, Span};

use super::Checker;
use super::sites::Sites;
use crate::execute::Grid;

/// A thread at an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Occurrence {
    /// The function that the thread executed.
    pub function: FuncId,
    /// The name of the function.
    pub name: String,
    /// The instruction; `None` at the end of the function.
    pub inst: Option<InstId>,
    /// The span of the instruction in the source of the module.
    pub span: Option<Span>,
    /// The text of the instruction.
    pub instruction: String,
    /// `%ctaid` of the thread.
    pub block: [u32; 3],
    /// `%tid` of the thread.
    pub thread: [u32; 3],
}

impl Occurrence {
    /// The indices of the block and the thread, as words.
    fn describe_thread(&self) -> String {
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        format!("block ({bx}, {by}, {bz}), thread ({tx}, {ty}, {tz})")
    }
}

/// A report of a checker.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The checker that reports the error.
    pub checker: Checker,
    /// The code of the error.
    pub code: Code,
    /// The kernel that was launched.
    pub kernel: String,
    /// The message.
    pub message: String,
    /// The first thread for which the error was found.
    pub at: Occurrence,
    /// The other event with its label: for a race, the earlier access; for a use after free, the call of `free`.
    pub other: Option<(Occurrence, String)>,
    /// Advice on fixing the error.
    pub help: String,
    /// The number of occurrences at this instruction.
    pub count: u64,
}

impl Report {
    /// Adds the reports of a later grid of a launch. Reports of the same kind at the same instruction and in the same kernel are counted together.
    pub(crate) fn add_all(reports: &mut Vec<Self>, later: Vec<Self>) {
        for report in later {
            let can_grow = reports.len() < MOST_REPORTS;
            let earlier = reports.iter_mut().find(|earlier| {
                (earlier.code, earlier.at.function, earlier.at.inst)
                    == (report.code, report.at.function, report.at.inst)
                    && earlier.kernel == report.kernel
            });
            match earlier {
                Some(earlier) => earlier.count += report.count,
                None if can_grow => reports.push(report),
                None => {}
            }
        }
    }

    /// The report as a diagnostic in the source of the module.
    #[must_use]
    pub fn diagnostic(&self) -> Diagnostic {
        let span = self.at.span.unwrap_or_default();
        let times = match self.count {
            1 => String::new(),
            n => format!("; found {n} times"),
        };
        let message = format!(
            "{}: {}, in kernel `{}`, {}{times}",
            self.checker,
            self.message,
            self.kernel,
            self.at.describe_thread()
        );
        let diagnostic = Diagnostic::error(self.code, span, message).with_help(self.help.clone());
        match &self.other {
            Some((other, label)) => {
                let label = format!("{label}, in {}", other.describe_thread());
                diagnostic.with_label(other.span.unwrap_or_default(), label)
            }
            None => diagnostic,
        }
    }
}

/// The checker that reports a code.
pub(super) const fn checker(code: Code) -> Checker {
    match code as u16 {
        1411..=1420 => Checker::Initcheck,
        1421..=1440 => Checker::Synccheck,
        1441.. => Checker::Racecheck,
        _ => Checker::Memcheck,
    }
}

/// Formats the report as one line.
impl core::fmt::Display for Report {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.diagnostic().fmt(f)
    }
}

/// The maximum number of reports; further ones are only counted if there is a report of the same kind at the same instruction.
const MOST_REPORTS: usize = 100;

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
    /// The other event, with its label.
    pub(super) other: Option<(Actor, &'static str)>,
    pub(super) help: &'static str,
}

/// Reports, one for each kind and instruction.
#[derive(Debug, Default)]
pub(super) struct Reports {
    reports: Vec<Report>,
    /// The index of the report of each kind at each instruction.
    numbers: HashMap<(Code, u32), usize>,
}

impl Reports {
    /// Adds a report, or counts another occurrence of the report of its kind at the instruction.
    pub(super) fn add(
        &mut self,
        grid: &Grid<'_>,
        sites: &Sites,
        code: Code,
        actor: Actor,
        text: impl FnOnce() -> Text,
    ) {
        if let Some(&number) = self.numbers.get(&(code, actor.site)) {
            if let Some(report) = self.reports.get_mut(number) {
                report.count += 1;
            }
            return;
        }
        if self.reports.len() >= MOST_REPORTS {
            return;
        }
        self.numbers.insert((code, actor.site), self.reports.len());
        let Text {
            message,
            other,
            help,
        } = text();
        let kernel = grid.program.function(grid.kernel);
        self.reports.push(Report {
            checker: checker(code),
            code,
            kernel: kernel.map_or_else(String::new, |k| k.name.clone()),
            message,
            at: occurrence(grid, sites, actor),
            other: other.map(|(actor, label)| (occurrence(grid, sites, actor), label.into())),
            help: help.into(),
            count: 1,
        });
    }

    /// Whether there are reports at an instruction.
    pub(super) fn any_at(&self, site: u32) -> bool {
        self.numbers
            .keys()
            .any(|(_, reported_site)| *reported_site == site)
    }

    /// Whether there is a report of a kind at an instruction.
    pub(super) fn has(&self, code: Code, site: u32) -> bool {
        self.numbers.contains_key(&(code, site))
    }

    pub(super) fn finish(self) -> Vec<Report> {
        self.reports
    }
}

/// The position of a thread, with names.
fn occurrence(grid: &Grid<'_>, sites: &Sites, actor: Actor) -> Occurrence {
    let (function, step_index) = sites.place(actor.site);
    let program_function = grid.program.function(function);
    let inst = program_function
        .and_then(|f| f.steps.get(step_index as usize))
        .map(|s| s.inst);
    let location = inst.and_then(|inst| grid.place(function, inst));
    let (span, instruction) = location
        .map(|location| (location.span, location.text))
        .unzip();
    Occurrence {
        function,
        name: program_function.map_or_else(String::new, |f| f.name.clone()),
        inst,
        span,
        instruction: instruction.unwrap_or_default(),
        block: grid.block(actor.block),
        thread: grid.thread(actor.thread),
    }
}
