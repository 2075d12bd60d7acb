//! The requests of accesses, from affine forms or from the values of warps.

use alloc::vec::Vec;

use ptx_ir::EntityId as _;
use ptx_ir::facts::Space;
use ptx_isa::{Action, StateSpace};

use super::lanes::{Addresses, Request};
use super::{Access, Context};
use crate::function_analysis::FunctionAnalysis;
use crate::ssa::ValueId;
use crate::warps::{Masks, WarpValues};
use crate::work::matrix::lanes_with_rows;

/// The most bytes of a thread whose sectors are counted.
const MOST_BYTES: u64 = 1 << 16;

/// How the request of an access is found.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each access of a function"
)]
enum Source {
    /// The addresses follow from an affine form.
    Affine(Addresses, u16),
    /// The addresses are evaluated: the value in the register of the address.
    Value(ValueId),
}

impl Context<'_> {
    /// Adds the requests of accesses.
    pub(super) fn add_requests(&self, function: &FunctionAnalysis<'_>, all: &mut [Access]) {
        let sources: Vec<Option<Source>> = all.iter().map(|access| self.source(access)).collect();
        if sources.iter().all(Option::is_none) {
            return;
        }
        let mut needed: Vec<ValueId> = Vec::new();
        for (access, source) in all.iter().zip(&sources) {
            if let Some(Source::Value(value)) = source {
                needed.push(*value);
            }
            if source.is_some() {
                needed.extend(self.guard_value(access));
            }
        }
        needed.extend(self.branch_values());
        let warps = WarpValues::new(
            function,
            self.ssa,
            self.values,
            &self.pointers,
            needed.into_iter(),
        );
        let lanes = warps.executing_lanes();
        for (access, source) in all.iter_mut().zip(&sources) {
            if let Some(source) = source {
                let executing = self
                    .block(access.stmt)
                    .and_then(|block| lanes.get(block.index()).copied().flatten());
                access.request = self.request_of(access, source, &warps, executing);
            }
        }
    }

    /// How the request of an access is found; `None` for accesses without one.
    fn source(&self, access: &Access) -> Option<Source> {
        let is_param =
            matches!(access.space, Space::State(space) if space.base() == StateSpace::Param);
        if is_param || access.bytes.is_none_or(|bytes| bytes > MOST_BYTES) {
            return None;
        }
        let affine = access
            .address
            .zip(self.address(access.stmt, &access.access))
            .and_then(|(form, (_, bits))| Some((self.affine_addresses(&form, bits)?, bits)));
        if let Some((addresses, bits)) = affine {
            return Some(Source::Affine(addresses, bits));
        }
        let place = self.address_register(&access.access)?;
        self.address_value(access.stmt, place).map(Source::Value)
    }

    fn request_of(
        &self,
        access: &Access,
        source: &Source,
        warps: &WarpValues<'_>,
        executing: Option<Masks>,
    ) -> Option<Request> {
        let (addresses, bits) = match *source {
            Source::Affine(addresses, bits) => (addresses, bits),
            Source::Value(value) => {
                let offset = access.access.offset?;
                let lanes = warps.addresses(access.stmt, value, offset)?;
                let addresses = Addresses {
                    lanes,
                    is_affine: false,
                };
                (addresses, self.values.width(value))
            }
        };
        let mut sets = executing;
        if self.facts.inst(access.inst).guard().is_some() {
            let guard = warps.guard(access.stmt);
            sets = sets
                .zip(guard)
                .and_then(|(sets, guard)| sets.intersection(guard));
        }
        let facts = self.facts.inst(access.inst);
        if let Some(Action::BulkCopy | Action::BulkReduce) = facts.action() {
            // Each thread copies for itself.
            sets = Some(Masks::known(1));
        } else if facts.convergence().is_some() {
            // A warp executes it as a whole, but not each lane needs to access memory.
            sets = None;
        }
        if let Some(rows) = self.row_lanes(access) {
            let sets_with_rows = sets.unwrap_or(Masks::known(u32::MAX));
            sets = sets_with_rows.intersection(Masks::known(rows));
        }
        self.request(&addresses, bits, access.bytes?, sets)
    }

    /// The lanes that provide the addresses of the rows of matrices; `None` for other accesses.
    fn row_lanes(&self, access: &Access) -> Option<u32> {
        lanes_with_rows(self.facts, access.inst).map(super::requests::existing_lanes)
    }

    /// The value of the guard of an access.
    fn guard_value(&self, access: &Access) -> Option<ValueId> {
        let (place, _) = self.facts.inst(access.inst).guard_register()?;
        self.address_value(access.stmt, place)
    }

    /// The values of the guards of branches.
    fn branch_values(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.analysis.cfg().blocks().filter_map(|(_, block)| {
            let (stmt, inst) = block.insts(self.facts.body()).next_back()?;
            let (place, _) = self.facts.inst(inst).guard_register()?;
            self.address_value(stmt, place)
        })
    }
}
