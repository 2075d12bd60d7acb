//! Instrumented files: ptxas accepts them, and they contain every statement of the original, in order.

use anyhow::Result;
use ptx_ir::facts::Space;
use ptx_ir::{Module, Operand};
use ptx_isa::StateSpace;
use ptx_transform::Rewriting;
use ptx_transform::instrument::{
    Bounds, Error, Outside, Probe, Records, Report, Timing, Trace, instrument,
};

use crate::assembler::{Assemblers, Job};
use crate::corpus::cubin::{self, Outcome};

type Instrumented = Result<Rewriting<Report>, Error>;
type Instrumentation<'a> = &'a dyn Fn(&Module) -> Instrumented;

pub(super) fn check(assemblers: &Assemblers, source: &[u8]) -> Result<Vec<(String, Outcome)>> {
    let Some(job) = job(assemblers, source)? else {
        return Ok(vec![(String::new(), Outcome::NotAssembled)]);
    };
    let module = ptx_parse::parse(source).module;
    let parameters = cubin::info(source) != cubin::Info::Debug;
    let instrumentations: [(&str, Instrumentation<'_>); 4] = [
        ("bounds", &|m| bounds(m, StateSpace::Global, Outside::Trap)),
        ("shared bounds", &|m| {
            bounds(m, StateSpace::Shared, Outside::Record(records()))
        }),
        ("trace", &|m| trace(m, parameters)),
        ("everything", &|m| everything(m, parameters)),
    ];
    let mut outcomes = Vec::new();
    for (name, apply) in instrumentations {
        let outcome = match apply(&module) {
            Err(e) => Outcome::Different(e.to_string()),
            Ok(instrumented) => {
                let verdict = assemblers.run(instrumented.text(), job)?;
                if !verdict.accepted {
                    Outcome::Different(format!("refused: {}", verdict.reason()))
                } else if let Some(statement) = lost_statement(&module, &instrumented.module) {
                    Outcome::Different(format!("lost: {statement}"))
                } else {
                    Outcome::Accepted
                }
            }
        };
        outcomes.push((name.to_owned(), outcome));
    }
    Ok(outcomes)
}

/// The size in bytes of the largest file for which code is generated: with a call at every access, code generation may take minutes.
/// Larger files are only checked.
const LARGEST: usize = 16_000;

/// The first job that ptxas can perform for the original.
fn job(assemblers: &Assemblers, source: &[u8]) -> Result<Option<Job>> {
    let jobs: &[Job] = match source.len() {
        ..LARGEST => &[Job::Code, Job::Relocatable],
        _ => &[Job::Check, Job::CheckRelocatable],
    };
    for &job in jobs {
        if assemblers.run(source, job)?.accepted {
            return Ok(Some(job));
        }
    }
    Ok(None)
}

fn records() -> Records {
    Records {
        name: "oracle_records".to_owned(),
        capacity: 1000,
    }
}

fn bounds(module: &Module, space: StateSpace, outside: Outside) -> Instrumented {
    let name = "oracle_bounds".to_owned();
    let (low, high) = (0x1000, 0x7fff_0000_0000);
    let bounds = Bounds {
        name,
        space,
        low,
        high,
        outside,
    };
    bounds.apply(module)
}

/// Traces accesses to memory, with `parameters` also to parameters: ptxas crashes on their addresses in code for a debugger.
fn trace(module: &Module, parameters: bool) -> Instrumented {
    let mut spaces = Trace::MEMORY.to_vec();
    spaces.push(Space::State(StateSpace::Const));
    spaces.extend(parameters.then_some(Space::State(StateSpace::Param)));
    let records = records();
    Trace { records, spaces }.apply(module)
}

/// Inserts a probe at every instruction, alternately before and after it, that reads all facts and changes the carry flag.
fn everything(module: &Module, parameters: bool) -> Instrumented {
    let mut is_even = false;
    instrument(
        module,
        |c| {
            is_even = !is_even;
            let can_continue =
                c.facts.falls_through() && c.facts.targets() == ptx_ir::facts::Targets::None;
            Some(if is_even && can_continue {
                Timing::After
            } else {
                Timing::Before
            })
        },
        |probe| read_everything(probe, parameters),
    )
}

/// Emits instructions that use the address, the size and the values of each access.
fn read_everything(probe: &mut Probe<'_, '_>, parameters: bool) -> Result<(), Error> {
    let sum = Operand::Reg(probe.register(ptx_isa::ScalarType::B64)?);
    let low = Operand::Reg(probe.register(ptx_isa::ScalarType::B32)?);
    probe.emit("add.cc.u32", &[low, Operand::Small(1), Operand::Small(2)])?;
    for nth in 0..probe.site().accesses.len() {
        let is_parameter = match probe.space(nth)? {
            Space::State(space) => space.base() == StateSpace::Param,
            _ => false,
        };
        if (parameters || !is_parameter)
            && let Some(address) = probe.address(nth)?
        {
            probe.emit("add.s64", &[sum, address, address])?;
        }
        if let Some(size) = probe.size(nth)? {
            let size = probe.widened(size)?;
            probe.emit("add.s64", &[sum, sum, size])?;
        }
        for value in probe.values(nth)? {
            probe.emit("xor.b64", &[sum, sum, value.bits])?;
        }
    }
    Ok(())
}

/// The first statement of a function that is missing in the other module after its predecessors.
fn lost_statement(old: &Module, new: &Module) -> Option<String> {
    for (_, function, body) in old.definitions() {
        let name = old.name(function.name);
        let Some(new_body) = new.function(name).and_then(|f| new.body(f)) else {
            return Some(name.to_owned());
        };
        let mut new_statements = new_body.statements();
        for (stmt, _) in body.statements() {
            let text = body.source_span(stmt).of(old.source());
            if !new_statements.any(|(s, _)| new_body.source_span(s).of(new.source()) == text) {
                let text = String::from_utf8_lossy(text);
                return Some(format!("{name}: {text}"));
            }
        }
    }
    None
}
