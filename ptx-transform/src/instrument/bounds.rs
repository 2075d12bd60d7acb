//! Bounds checks: accesses outside of a range stop the kernel, or are recorded.

use alloc::string::String;

use ptx_edit::Rewriting;
use ptx_ir::facts::Space;
use ptx_ir::{Module, Operand, RegId};
use ptx_isa::{Access, ScalarType, StateSpace};

use super::error::Error;
use super::mnemonics;
use super::plan::{Candidate, Timing};
use super::probe::Probe;
use super::record::Records;
use super::{Report, instrument_with_items};

/// The response to an access outside of the range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outside {
    /// The kernel is aborted before the access.
    Trap,
    /// The access is recorded, with the value 0, and executed.
    Record(Records),
}

/// Checks before every access to a state space that all of its bytes are in `[low, high)`.
///
/// The module gets a variable `NAME` of two `u64`, the ends of the range, which the host can set before a launch; kernels read
/// it once at their start. For an access of unknown size, the first byte is checked. A generic access is checked if its
/// address is in the state space.
///
/// ```
/// use ptx_isa::StateSpace;
/// use ptx_transform::instrument::{Bounds, Outside};
/// let text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p)\n{\n\t.reg .b64 a;\n\t.reg .f32 x;
/// \tld.param.u64 a, [p];\n\tld.global.f32 x, [a+4];\n\tret;\n}\n";
/// let module = ptx_parse::parse(text).module;
/// let bounds = Bounds { name: "bounds".into(), space: StateSpace::Global, low: 0x1000, high: 0x2000, outside: Outside::Trap };
/// let checked = bounds.apply(&module)?;
/// assert_eq!(checked.report.sites.len(), 1);
/// let text = core::str::from_utf8(checked.text())?;
/// assert!(text.contains(" trap;\n\tld.global.f32 x, [a+4];\n"), "{text}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// The name of the variable.
    pub name: String,
    /// The state space: global, shared, local or constant memory.
    pub space: StateSpace,
    /// The first valid address.
    pub low: u64,
    /// The end of the valid addresses, exclusive.
    pub high: u64,
    /// The response to an access outside of the range.
    pub outside: Outside,
}

/// Keys of the values that are computed once per function.
const LOW: u32 = 0;
const LENGTH: u32 = 1;

impl Bounds {
    /// Inserts the checks.
    ///
    /// # Errors
    ///
    /// The name is in use, the module has no header or has errors, or an edit was refused.
    pub fn apply(&self, module: &Module) -> Result<Rewriting<Report>, Error> {
        let ends = format!("{{{:#x}, {:#x}}}", self.low, self.high);
        let mut items = format!(
            ".visible .global .align 8 .u64 {}[2] = {ends};\n",
            self.name
        );
        if let Outside::Record(records) = &self.outside {
            items.push_str(&records.code(module));
        }
        instrument_with_items(
            module,
            &items,
            |module| {
                let symbol = module.symbol(&self.name);
                let ends = Operand::Symbol(symbol.ok_or(Error::Missing("variable"))?);
                let record = match &self.outside {
                    Outside::Record(records) => records.function(module),
                    Outside::Trap => None,
                };
                Ok(move |probe: &mut Probe<'_, '_>| self.probe(probe, ends, record))
            },
            |candidate| self.covers(candidate).then_some(Timing::Before),
        )
    }

    fn covers(&self, candidate: &Candidate<'_>) -> bool {
        candidate.facts.memory().any(|access| {
            let may_be_in_space = match access.space {
                Space::State(space) => space.base() == self.space.base(),
                space => space == Space::Generic,
            };
            may_be_in_space && access.operand.is_some() && access.access != Access::None
        })
    }

    fn probe(
        &self,
        probe: &mut Probe<'_, '_>,
        ends: Operand,
        record: Option<Operand>,
    ) -> Result<(), Error> {
        for nth in 0..probe.site().accesses.len() {
            let Some((address, within)) = probe.address_in(nth, self.space)? else {
                continue;
            };
            let size = probe.size(nth)?;
            let outside = self.is_outside(probe, ends, address, size)?;
            if let Some(within) = within {
                let operands = [outside, outside, within].map(Operand::Reg);
                probe.emit(mnemonics::AND, &operands)?;
            }
            match (&self.outside, record) {
                (Outside::Record(records), Some(function)) => {
                    let size = size.unwrap_or(Operand::Small(0));
                    let operands = [size, address, Operand::Small(0)];
                    records.append(probe, Some(outside), function, operands)?;
                }
                _ => probe.trap_if(outside)?,
            }
        }
        Ok(())
    }

    /// Whether bytes are outside of the range. Relative to the low end: `address >= length` or `length - address < size`.
    fn is_outside(
        &self,
        probe: &mut Probe<'_, '_>,
        ends: Operand,
        address: Operand,
        size: Option<Operand>,
    ) -> Result<RegId, Error> {
        let low = probe.at_entry(LOW, ScalarType::B64, |probe, low| {
            let address = probe.editor().address(ends, Operand::Absent)?;
            probe.emit(mnemonics::LOAD_GLOBAL, &[low, address])
        })?;
        let length = probe.at_entry(LENGTH, ScalarType::B64, |probe, length| {
            let address = probe.editor().address(ends, Operand::Small(8))?;
            probe.emit(mnemonics::LOAD_GLOBAL, &[length, address])?;
            probe.emit(mnemonics::SUBTRACT, &[length, length, low])
        })?;
        let distance = Operand::Reg(probe.register(ScalarType::B64)?);
        let outside = probe.register(ScalarType::Pred)?;
        probe.emit(mnemonics::SUBTRACT, &[distance, address, low])?;
        probe.emit(
            mnemonics::AT_LEAST,
            &[Operand::Reg(outside), distance, length],
        )?;
        let size = match size {
            None | Some(Operand::Small(1)) => return Ok(outside),
            Some(size) => probe.widened(size)?,
        };
        let remaining = Operand::Reg(probe.register(ScalarType::B64)?);
        probe.emit(mnemonics::SUBTRACT, &[remaining, length, distance])?;
        let starts_outside = Operand::Reg(outside);
        probe.emit(
            mnemonics::LESS_OR,
            &[starts_outside, remaining, size, starts_outside],
        )?;
        Ok(outside)
    }
}
