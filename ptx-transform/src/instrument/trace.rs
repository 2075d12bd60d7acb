//! A trace of memory accesses.

use alloc::vec::Vec;

use ptx_edit::Rewriting;
use ptx_ir::facts::{MemoryAccess, Space};
use ptx_ir::{Module, Operand};
use ptx_isa::{Access, StateSpace};

use super::error::Error;
use super::plan::{Candidate, Timing};
use super::probe::Probe;
use super::record::Records;
use super::{Report, instrument_with_items};

/// Records every memory access; see [`Records`] for the format. Reads are recorded after their instruction, writes before it,
/// and atomic operations after it, with the old value. A vector access makes a record for each element that is not discarded.
/// If the value is unknown, as for asynchronous copies, there is one record with the value 0. An unknown size is 0.
///
/// ```
/// use ptx_transform::instrument::{Records, Trace};
/// let text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p)\n{\n\t.reg .b64 a;\n\t.reg .f32 x;
/// \tld.param.u64 a, [p];\n\tld.global.f32 x, [a+4];\n\tret;\n}\n";
/// let module = ptx_parse::parse(text).module;
/// let trace = Trace { records: Records { name: "trace".into(), capacity: 1 << 16 }, spaces: Trace::MEMORY.into() };
/// let traced = trace.apply(&module)?;
/// assert_eq!(traced.report.sites.len(), 1);
/// let text = core::str::from_utf8(traced.text())?;
/// assert!(text.contains("call trace_record, (0, 4, "), "{text}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// The buffer for the records.
    pub records: Records,
    /// The spaces whose accesses are recorded.
    pub spaces: Vec<Space>,
}

impl Trace {
    /// All memory except parameters and constants.
    pub const MEMORY: [Space; 4] = [
        Space::Generic,
        Space::State(StateSpace::Global),
        Space::State(StateSpace::Shared),
        Space::State(StateSpace::Local),
    ];

    /// Inserts the trace.
    ///
    /// # Errors
    ///
    /// A name is in use, the module has no header or has errors, or an edit was refused.
    pub fn apply(&self, module: &Module) -> Result<Rewriting<Report>, Error> {
        instrument_with_items(
            module,
            &self.records.code(module),
            |module| {
                let function = self
                    .records
                    .function(module)
                    .ok_or(Error::Missing("function to record it"))?;
                Ok(move |probe: &mut Probe<'_, '_>| self.probe(probe, function))
            },
            |candidate| self.select(candidate),
        )
    }

    fn select(&self, candidate: &Candidate<'_>) -> Option<Timing> {
        let mut when = None;
        for access in candidate.facts.memory().filter(|a| self.covers(a)) {
            let records_result = access.data.is_some() && access.reads();
            when = if records_result {
                Some(Timing::After)
            } else {
                when.or(Some(Timing::Before))
            };
        }
        when
    }

    fn covers(&self, access: &MemoryAccess) -> bool {
        let space = match access.space {
            Space::State(space) => Space::State(space.base()),
            space => space,
        };
        access.operand.is_some() && access.access != Access::None && self.spaces.contains(&space)
    }

    fn probe(&self, probe: &mut Probe<'_, '_>, function: Operand) -> Result<(), Error> {
        for (access, nth) in probe.site().accesses.iter().zip(0..) {
            if !self.covers(access) {
                continue;
            }
            let Some(address) = probe.address(nth)? else {
                continue;
            };
            let values = probe.values(nth)?;
            if values.is_empty() {
                let size = probe.size(nth)?.unwrap_or(Operand::Small(0));
                let operands = [size, address, Operand::Small(0)];
                self.records.append(probe, None, function, operands)?;
            }
            for value in values {
                let address = match i64::try_from(value.offset) {
                    Ok(0) | Err(_) => address,
                    Ok(offset) => probe.plus(address, offset)?,
                };
                let size = probe.editor().integer(value.bytes as i64);
                let operands = [size, address, value.bits];
                self.records.append(probe, None, function, operands)?;
            }
        }
        Ok(())
    }
}
