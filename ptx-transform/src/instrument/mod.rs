//! Instrumentation: inserts custom code before or after instructions.
//!
//! [`instrument`] asks for each instruction whether to insert a [probe](Probe), and then calls you to write it. The facts about
//! the instruction are available as operands: the [address](Probe::address) of each access, its [size](Probe::size), its
//! [space](Probe::space) and its [values](Probe::values). [`Bounds`] and [`Trace`] are ready-made probes.
//!
//! # Guarantees
//!
//! * **Guards.** [`emit`](Probe::emit) inserts an instruction under the guard of the probed one, negated or not;
//!   [`emit_if`](Probe::emit_if) adds a predicate to the guard.
//! * **Order.** A probe is directly at its instruction: labels and `.loc` stay before it, and no jump bypasses it. In a probe
//!   after an instruction, addresses, sizes, guards and operands have the values from before it, even if it overwrites their
//!   registers; results have the new values.
//! * **Carry flag.** A live carry flag is preserved if the probe changes it or makes a call.
//! * **Names.** New registers and labels have unused names.
//! * **Everything else** in the module stays unchanged, byte for byte.
//!
//! # Limitations
//!
//! * Textures, surfaces, the parameters of a call and tensor maps have no address: [`Probe::address`] is `None`.
//! * Probes need registers and time. Code whose behavior depends on either changes its behavior.
//! * Unrecognized statements have no facts, and get no probes.
//! * After an error, some probes are already inserted: instrument a clone of the module if that matters.
//!
//! ```
//! use ptx_ir::Operand;
//! use ptx_isa::{Access, ScalarType};
//! use ptx_transform::instrument::{Timing, instrument, symbol, with_code};
//!
//! let text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p)\n{\n\t.reg .b64 a;\n\t.reg .pred q;
//! \tld.param.u64 a, [p];\n\tsetp.ne.u64 q, a, 0;\n\t@q st.global.u32 [a+4], 7;\n\tret;\n}\n";
//! // How many bytes are stored to global memory.
//! let mut module = with_code(&ptx_parse::parse(text).module, ".visible .global .u64 stored;")?;
//! let total = symbol(&module, "stored").expect("the variable was added");
//! let report = instrument(
//!     &mut module,
//!     |c| c.facts.memory().any(|m| m.access == Access::Write).then_some(Timing::Before),
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
mod mnemonics;
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

/// The probes that were inserted.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The sites with a probe, by their number.
    pub sites: Vec<Site>,
    /// Instructions that were selected and cannot have one.
    pub skipped: Vec<Skipped>,
}

/// Inserts a probe at each selected instruction. `select` sees all instructions of the unchanged module; then `probe` is called
/// for each selected one, in order.
///
/// # Errors
///
/// The first error of `probe`, or an edit that was refused. Earlier probes stay inserted.
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
