//! Instrumenting: code of your own before or after the instructions of your choice.
//!
//! [`instrument`] asks for each instruction whether it wants a [probe](Probe), and then lets you write it. What facts say of the
//! instruction is there as operands: the [address](Probe::address) of each access, its [size](Probe::size), its
//! [space](Probe::space), its [values](Probe::values). [`Bounds`] and [`Trace`] are probes made with this.
//!
//! # What is seen to
//!
//! * **Guards.** What a probe [emits](Probe::emit) is under the guard of the instruction, negated or not;
//!   [`emit_if`](Probe::emit_if) joins a predicate with it.
//! * **Order.** A probe stands right at its instruction: labels and `.loc` stay before it, nothing that jumps passes it. After
//!   an instruction, addresses, sizes, guards and operands are those from before it, also where it overwrites their
//!   registers; results are the new ones.
//! * **Carry.** Between an instruction that sets the carry flag and one that reads it, the flag is kept if the probe calls or
//!   changes it.
//! * **Names.** Registers and labels have names that nothing else has.
//! * **The rest** of the module keeps every byte; no instruction goes, none changes.
//!
//! # Limitations
//!
//! * There is no address where there is no memory: of textures, surfaces, the parameters of a call, what a tensor map says.
//!   [`Probe::address`] is `None` then.
//! * Probes need registers and time. What depends on either, or on the number of instructions, does change.
//! * Code that was not understood has no facts, and gets no probes.
//! * After an error, the module is edited in part: instrument a clone where that matters.
//!
//! ```
//! use ptx_ir::Operand;
//! use ptx_isa::{Access, ScalarType};
//! use ptx_transform::instrument::{When, instrument, symbol, with_code};
//!
//! let text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p)\n{\n\t.reg .b64 a;\n\t.reg .pred q;
//! \tld.param.u64 a, [p];\n\tsetp.ne.u64 q, a, 0;\n\t@q st.global.u32 [a+4], 7;\n\tret;\n}\n";
//! // How many bytes are stored to global memory.
//! let mut module = with_code(&ptx_parse::parse(text).module, ".visible .global .u64 stored;")?;
//! let total = symbol(&module, "stored").expect("it was added");
//! let report = instrument(
//!     &mut module,
//!     |c| c.facts.memory().any(|m| m.access == Access::Write).then_some(When::Before),
//!     |probe| {
//!         let Some(size) = probe.size(0)? else { return Ok(()) };
//!         let size = probe.widened(size)?;
//!         let to = probe.editor().address(total, Operand::Absent)?;
//!         probe.emit("red.global.add.u64", &[to, size])
//!     },
//! )?;
//! assert_eq!(report.sites.len(), 1);
//! let text = String::from_utf8(ptx_print::verbatim(&module))?;
//! assert!(text.contains("\t@q red.global.add.u64 [stored], 4;\n\t@q st.global.u32 [a+4], 7;\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod bounds;
mod carry_flag;
mod error;
mod host;
mod inject;
mod plan;
mod probe;
mod record;
mod trace;
mod value;

use alloc::vec::Vec;

use ptx_edit::EditModule as _;
use ptx_ir::Module;

pub use bounds::{Bounds, Outside};
pub use error::Error;
pub use inject::{symbol, with_code};
pub use plan::{Candidate, Reason, Site, Skipped, Timing};
pub use probe::Probe;
pub use record::Records;
pub use trace::Trace;
pub use value::Value;

/// What was instrumented.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The places with a probe, by their number.
    pub sites: Vec<Site>,
    /// Places that were chosen and cannot have one.
    pub skipped: Vec<Skipped>,
}

/// Puts a probe at each instruction that is chosen. First all are chosen, on the module as it is; then `probe` writes
/// them, in order.
pub fn instrument(
    module: &mut Module,
    select: impl FnMut(&Candidate<'_>) -> Option<Timing>,
    mut probe: impl FnMut(&mut Probe<'_, '_>) -> Result<(), Error>,
) -> Result<Report, Error> {
    let plan = plan::plan(module, select);
    let mut report = Report {
        skipped: plan.skipped,
        ..Report::default()
    };
    for (function, sites) in plan.functions {
        let mut host = host::FunctionInstrumenter::new(module.edit(function)?);
        for site in &sites {
            let mut of_site = Probe::new(&mut host, site);
            probe(&mut of_site)?;
            of_site.finish()?;
        }
        report.sites.extend(sites);
    }
    Ok(report)
}
