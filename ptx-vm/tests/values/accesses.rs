//! The accesses of warps to memory, compared with what the analysis knows of them.

use ptx_analysis::memory_access::requests::{LANES, passes, sectors};
use ptx_analysis::memory_access::{Access, CountRange, Provenance, Request};
use ptx_analysis::values::{AffineSymbol, VariableRef};
use ptx_ir::facts::Space;
use ptx_isa::StateSpace;
use ptx_vm::ExecutedStep;

use super::function::Function;
use super::kernels::BUFFER;
use super::threads::Threads;

/// The addresses of the lanes that access memory.
struct Addresses {
    at: [u64; LANES],
    mask: u32,
    space: StateSpace,
}

impl Threads<'_> {
    /// Compares the accesses of a step.
    pub(super) fn accesses(&mut self, function: &Function, step: &ExecutedStep<'_>) {
        let (stmt, _) = function.statement(step.place.inst);
        let known = function.accesses.all().iter().filter(|a| a.stmt == stmt);
        let [access] = known.collect::<Vec<_>>()[..] else {
            return;
        };
        let Some(bytes) = access.access.bytes else {
            return;
        };
        let mut addresses = Addresses {
            at: [0; LANES],
            mask: 0,
            space: StateSpace::Global,
        };
        for of_lane in step.accesses {
            let lane = 1 << of_lane.lane;
            if of_lane.bytes != bytes || addresses.mask & lane != 0 {
                return;
            }
            addresses.at[of_lane.lane] = of_lane.address;
            addresses.mask |= lane;
            addresses.space = of_lane.space;
        }
        if addresses.mask == 0 || step.accesses.iter().any(|a| a.space != addresses.space) {
            return;
        }
        self.checked.accesses += 1;
        let problem = self.problem(function, step, access, &addresses);
        if let Some(problem) = problem {
            let at = self.statement_text(step.place.function, stmt);
            let name = &self.name;
            let found = format!("{:x?} of {:x}", addresses.at, addresses.mask);
            self.checked
                .note(|| format!("{name}: {problem} of `{at}`: {access:x?} for {found}"));
        }
    }

    fn problem(
        &mut self,
        function: &Function,
        step: &ExecutedStep<'_>,
        access: &Access,
        addresses: &Addresses,
    ) -> Option<&'static str> {
        let lanes = || (0..LANES).filter(|lane| addresses.mask >> lane & 1 == 1);
        if lanes().any(|lane| !addresses.at[lane].is_multiple_of(access.alignment)) {
            return Some("alignment");
        }
        if let Space::State(space) = access.space
            && access.access.space == Space::Generic
        {
            self.checked.spaces += 1;
            // The machine has constants in global memory.
            let space = match space.base() {
                StateSpace::Const => StateSpace::Global,
                other => other,
            };
            if space != addresses.space {
                return Some("space");
            }
        }
        if let Some(Provenance::Parameter { variable, offset }) = access.provenance
            && addresses.space == StateSpace::Global
            && function.is_kernel
        {
            let pointer = self.common.iter().find_map(|((_, id), value)| {
                let symbol = function.values.symbol(*id)?;
                let same = matches!(symbol, AffineSymbol::Parameter { variable: v, offset: o, .. }
                    if v == variable && o == offset);
                same.then_some(*value as u64)
            });
            let start = self.buffers.wrapping_sub(BUFFER / 2);
            let buffer = |at: u64| at.wrapping_sub(start) / BUFFER;
            if let Some(pointer) = pointer.filter(|p| (1..18).contains(&buffer(*p))) {
                self.checked.pointers += 1;
                // What is in no buffer is beyond the end of one.
                let differs =
                    |at: u64| (1..18).contains(&buffer(at)) && buffer(at) != buffer(pointer);
                if lanes().any(|lane| differs(addresses.at[lane])) {
                    return Some("provenance");
                }
            }
        }
        if !self.is_in_variable(function, step, access, addresses) {
            return Some("variable");
        }
        let request = access.request.as_ref()?;
        let has_whole_rows = self.block[0].is_multiple_of(LANES as u32);
        if request.assumptions.one_dimension && !has_whole_rows {
            return None;
        }
        // A request is that of lanes in one iteration.
        if self.are_in_different_iterations(step, addresses.mask) {
            self.checked.separated_requests += 1;
            self.add_lanes(step, request, addresses.mask);
            return None;
        }
        let problem = self.request(step, request, addresses);
        if request.assumptions.no_wrap || request.assumptions.same_quotient {
            self.checked.assumed_requests += 1;
            self.checked.wrapped_requests += u64::from(problem.is_some());
            return None;
        }
        self.checked.requests += 1;
        problem
    }

    /// Whether lanes access the variable that is claimed, or what is beyond the end of it and in no other one.
    fn is_in_variable(
        &mut self,
        function: &Function,
        step: &ExecutedStep<'_>,
        access: &Access,
        addresses: &Addresses,
    ) -> bool {
        let Some(Provenance::Variable(claimed)) = access.provenance else {
            return true;
        };
        let mut known = false;
        for lane in (0..LANES).filter(|lane| addresses.mask >> lane & 1 == 1) {
            let thread = (step.place.block, step.place.first_thread + lane as u32);
            let at = i128::from(addresses.at[lane]);
            let frames = self.threads.get(&thread);
            let frame = frames.and_then(|f| f.get(step.place.depth as usize));
            let own = frame.into_iter().flat_map(|f| &f.symbols);
            let own = own.map(|(id, value)| (*id, *value));
            let common = self.common.iter();
            let common = common.filter(|((of, _), _)| *of == step.place.function);
            let all = own.chain(common.map(|((_, id), value)| (*id, *value)));
            let is_in = |variable: VariableRef, start: i128| {
                let found = self.variable(step.place.function, variable);
                let found = found.filter(|(space, _)| *space == addresses.space);
                found.is_some_and(|(_, size)| at >= start && at < start + i128::from(size))
            };
            let mut inside = None;
            for (id, start) in all {
                if let Some(AffineSymbol::Variable(variable)) = function.values.symbol(id)
                    && is_in(variable, start)
                {
                    inside = Some(variable);
                }
            }
            // A sum with the address of the variable that leaves it is a mistake of the kernel, or of the launch.
            let terms = access.address.iter().flat_map(|form| form.terms());
            let is_sum = |t: &ptx_analysis::values::Term| {
                function.values.symbol(t.symbol) == Some(AffineSymbol::Variable(claimed))
            };
            if inside.is_some_and(|v| v != claimed) && !terms.copied().any(|t| is_sum(&t)) {
                return false;
            }
            known |= inside == Some(claimed);
        }
        self.checked.variables += u64::from(known);
        true
    }

    /// The part of the prediction of a request that differs: the addresses of the lanes, the active lanes, or the counts of sectors and passes.
    fn request(
        &mut self,
        step: &ExecutedStep<'_>,
        request: &Request,
        addresses: &Addresses,
    ) -> Option<&'static str> {
        let mask = addresses.mask;
        if !request.allows(&addresses.at, mask) {
            return Some("request");
        }
        let is_predicted = match request.active_lanes() {
            [] => mask == u32::MAX,
            sets => sets.contains(&mask),
        };
        if !is_predicted {
            self.add_lanes(step, request, mask);
            return None;
        }
        self.checked.counted_requests += 1;
        let is_in = |count: u64, range: CountRange| (range.least..=range.most).contains(&count);
        let counted = sectors(&addresses.at, request.bytes, mask);
        if addresses.space == StateSpace::Global && !is_in(counted, request.sector_range()) {
            return Some("sectors");
        }
        let counted = passes(&addresses.at, request.bytes, mask).all;
        if addresses.space == StateSpace::Shared && !is_in(counted, request.pass_range()) {
            return Some("passes");
        }
        None
    }

    /// Notes lanes that are not a predicted set. They are parts of one.
    fn add_lanes(&mut self, step: &ExecutedStep<'_>, request: &Request, mask: u32) {
        let sets = request.active_lanes();
        let threads: u32 = self.block.iter().product();
        if threads.is_multiple_of(LANES as u32) && !sets.is_empty() {
            self.add_separate_lanes(step, mask, sets);
        }
    }
}
