//! The rewrites that insert bounds checks or traces of memory accesses.

use ptx_ir::facts::Space;
use ptx_isa::StateSpace;
use ptx_report::{counted, labels};
use ptx_transform::Rewriting;
use ptx_transform::instrument::{Bounds, Error, Outside, Records, Report, Trace};

use super::options::{NumberKind, RewriteOption, Values};
use super::{Outcome, Rewrite};
use crate::document::Document;

/// The state spaces whose accesses can be checked.
const CHECKED: [StateSpace; 4] = [
    StateSpace::Global,
    StateSpace::Shared,
    StateSpace::Local,
    StateSpace::Const,
];

/// The address spaces whose accesses can be recorded.
const TRACED: [Space; 6] = [
    Space::Generic,
    Space::State(StateSpace::Global),
    Space::State(StateSpace::Shared),
    Space::State(StateSpace::Local),
    Space::State(StateSpace::Const),
    Space::State(StateSpace::Param),
];

pub(super) fn all() -> [Rewrite; 2] {
    let spaces = TRACED.iter().map(|space| {
        let name = labels::space(*space);
        let description = format!("record accesses to {name} addresses");
        RewriteOption::bool(name, Trace::MEMORY.contains(space), description)
    });
    let range = NumberKind {
        minimum: 1,
        default: 1 << 16,
        maximum: u32::MAX,
    };
    let capacity = RewriteOption::number("records", range, "capacity in records");
    [
        Rewrite {
            name: "bounds",
            title: "Check bounds",
            description: "Inserts checks of the addresses of memory accesses; an access outside of the range stops the kernel.",
            options: vec![
                RewriteOption::choice(
                    "space",
                    CHECKED.map(|s| labels::space(Space::State(s))),
                    Some("global"),
                    "the state space whose accesses are checked",
                ),
                RewriteOption::string("low", Some("0"), "first valid address, decimal or 0x…"),
                RewriteOption::string(
                    "high",
                    Some("0xffffffffffffffff"),
                    "end of the valid addresses, exclusive",
                ),
                name_option("ptx_bounds"),
            ],
            apply: bounds,
        },
        Rewrite {
            name: "trace",
            title: "Trace memory accesses",
            description: "Inserts a record of the address and the value of each memory access.",
            options: spaces.chain([capacity, name_option("ptx_trace")]).collect(),
            apply: trace,
        },
    ]
}

fn name_option(default: &'static str) -> RewriteOption {
    RewriteOption::string("name", Some(default), "prefix of the new names")
}

fn bounds(document: &Document, values: &Values<'_>) -> Result<Outcome, String> {
    let name = values.text("space");
    let space = CHECKED
        .into_iter()
        .find(|s| labels::space(Space::State(*s)) == name);
    let bounds = Bounds {
        space: space.unwrap_or(StateSpace::Global),
        low: address(values, "low")?,
        high: address(values, "high")?,
        outside: Outside::Trap,
        name: values.text("name").to_owned(),
    };
    outcome(bounds.apply(document.module()))
}

fn trace(document: &Document, values: &Values<'_>) -> Result<Outcome, String> {
    let trace = Trace {
        records: Records {
            name: values.text("name").to_owned(),
            capacity: values.number("records"),
        },
        spaces: TRACED
            .into_iter()
            .filter(|s| values.is_set(labels::space(*s)))
            .collect(),
    };
    outcome(trace.apply(document.module()))
}

fn outcome(result: Result<Rewriting<Report>, Error>) -> Result<Outcome, String> {
    let instrumented = result.map_err(|e| e.to_string())?;
    let skipped = match instrumented.report.skipped.len() {
        0 => None,
        n => Some(format!("{} cannot have a probe", counted(n, "instruction"))),
    };
    Ok(Outcome::new(instrumented.text()).with_notes(skipped))
}

fn address(values: &Values<'_>, name: &str) -> Result<u64, String> {
    let text = values.text(name);
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|e| format!("`{name}` is not an address: {e}"))
}
