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
//!
//! ```
//! use ptx_ir::Operand;
//! use ptx_isa::{Access, ScalarType};
//! use ptx_transform::insert_items;
//! use ptx_transform::instrument::{Timing, instrument};
//!
//! let text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p)\n{\n\t.reg .b64 a;\n\t.reg .pred q;
//! \tld.param.u64 a, [p];\n\tsetp.ne.u64 q, a, 0;\n\t@q st.global.u32 [a+4], 7;\n\tret;\n}\n";
//! // How many bytes are stored to global memory.
//! let module = ptx_parse::parse(text).module;
//! let module = insert_items(&module, ".visible .global .u64 stored;")?.module;
//! let total = Operand::Symbol(module.symbol("stored").ok_or("the variable was inserted")?);
//! let instrumented = instrument(
//!     &module,
//!     |c| c.facts.memory().any(|m| m.access == Access::Write).then_some(Timing::Before),
//!     |probe| {
//!         let Some(size) = probe.size(0)? else { return Ok(()) };
//!         let size = probe.widened(size)?;
//!         let to = probe.editor().address(total, Operand::Absent)?;
//!         probe.emit("red.global.add.u64", &[to, size])
//!     },
//! )?;
//! assert_eq!(instrumented.report.sites.len(), 1);
//! let text = core::str::from_utf8(instrumented.text())?;
//! assert!(text.contains("\t@q red.global.add.u64 [stored], 4;\n\t@q st.global.u32 [a+4], 7;\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod bounds;
mod carry_flag;
mod error;
mod host;
mod mnemonics;
mod plan;
mod probe;
mod record;
mod trace;
mod value;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_edit::{EditModule as _, Rewriting};
use ptx_ir::{FuncId, Module};

pub use bounds::{Bounds, Outside};
pub use error::Error;
pub use plan::{Candidate, ProbedSite, Reason, Site, Skipped, Timing};
pub use probe::Probe;
pub use record::Records;
pub use trace::Trace;
pub use value::Value;

use crate::insert_items;
use crate::printed::{reparse, to_old};

/// The probes that were inserted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The sites with a probe, by their number.
    pub sites: Vec<ProbedSite>,
    /// Instructions that were selected and cannot have one.
    pub skipped: Vec<Skipped>,
}

/// Inserts a probe at each selected instruction. `select` sees all instructions of the module; then `probe` is called for each
/// selected one, in order. Ids that the probes use are those of `module`.
///
/// # Errors
///
/// The first error of `probe`, or an edit that was refused.
pub fn instrument(
    module: &Module,
    select: impl FnMut(&Candidate<'_>) -> Option<Timing>,
    probe: impl FnMut(&mut Probe<'_, '_>) -> Result<(), Error>,
) -> Result<Rewriting<Report>, Error> {
    let mut instrumented = module.clone();
    let report = instrument_in_place(&mut instrumented, select, probe)?;
    Ok(reparse(&instrumented).with_report(report))
}

/// [`instrument`] as edits of the module, for those who go on editing: ids stay valid, and the text is neither printed nor
/// parsed.
///
/// # Errors
///
/// An error of [`instrument`]. Earlier probes stay inserted.
pub fn instrument_in_place(
    module: &mut Module,
    select: impl FnMut(&Candidate<'_>) -> Option<Timing>,
    mut probe: impl FnMut(&mut Probe<'_, '_>) -> Result<(), Error>,
) -> Result<Report, Error> {
    let plan = plan::plan(module, select);
    let mut report = Report {
        sites: Vec::new(),
        skipped: plan.skipped,
    };
    for (function, sites) in plan.functions {
        let mut host = host::FunctionInstrumenter::new(module.edit(function)?);
        for site in &sites {
            let mut site_probe = Probe::new(&mut host, site);
            probe(&mut site_probe)?;
            site_probe.finish()?;
            report.sites.push(site.probed());
        }
    }
    Ok(report)
}

/// Inserts items and then a probe at each selected instruction of the functions that `module` has. `make_probe` finds the inserted
/// items in the module that has them. The ids and spans of the report are those of `module`.
fn instrument_with_items<P>(
    module: &Module,
    items: &str,
    make_probe: impl FnOnce(&Module) -> Result<P, Error>,
    mut select: impl FnMut(&Candidate<'_>) -> Option<Timing>,
) -> Result<Rewriting<Report>, Error>
where
    P: FnMut(&mut Probe<'_, '_>) -> Result<(), Error>,
{
    let with_items = insert_items(module, items)?;
    let old_functions: BTreeMap<&str, FuncId> = module
        .definitions()
        .map(|(id, function, _)| (module.name(function.name), id))
        .collect();
    let old_function = |id: FuncId| {
        let function = with_items.module.functions().get(id)?;
        let name = with_items.module.name(function.name);
        old_functions.get(name).copied()
    };
    let instrumented = instrument(
        &with_items.module,
        |candidate| {
            old_function(candidate.function)?;
            select(candidate)
        },
        make_probe(&with_items.module)?,
    )?;
    let mut rewriting = with_items.then(instrumented);
    let sites = rewriting.report.sites.iter_mut();
    let skipped = rewriting.report.skipped.iter_mut();
    let places = sites
        .map(|site| (&mut site.function, &mut site.span))
        .chain(skipped.map(|skipped| (&mut skipped.function, &mut skipped.span)));
    for (function, span) in places {
        if let Some(id) = old_function(*function) {
            *function = id;
        }
        *span = to_old(&with_items.map, *span);
    }
    Ok(rewriting)
}
