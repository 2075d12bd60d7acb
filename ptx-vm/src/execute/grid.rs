//! A grid: all CTAs of a launch.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use ptx_ir::{FuncId, InstId, Module, Span, Statement};

use super::dependent::Dependency;
use super::execution::Failed;
use super::launches::Launches;
use crate::account::{Account, Purpose};
use crate::asynchrony::Asynchrony;
use crate::error::{RunError, StopReason};
use crate::executor::Progress;
use crate::launch::LaunchLimits;
use crate::matrix::model::Model;
use crate::memory::{GlobalMemory, Heap};
use crate::program::Program;
use crate::schedule::Schedule;
use crate::texture::TextureStore;
use crate::trace::StepObserver;

/// The place of an instruction.
#[derive(Debug)]
pub(crate) struct InstPlace {
    /// The span in the source of the module; empty for an instruction that was inserted or built.
    pub(crate) span: Span,
    /// The text of the instruction as it is now.
    pub(crate) text: String,
}

/// The state that all threads of a launch share.
#[derive(Debug)]
pub(crate) struct Grid<'a> {
    pub(crate) program: &'a Program,
    pub(crate) module: &'a Module,
    pub(crate) device: &'a GlobalMemory,
    pub(crate) kernel: FuncId,
    /// The number of grids of the launch that began before.
    pub(crate) number: u64,
    pub(crate) parameters: &'a [u8],
    /// CTAs in each dimension.
    pub(crate) blocks: [u32; 3],
    /// Threads of a CTA in each dimension.
    pub(crate) threads: [u32; 3],
    /// CTAs of a cluster in each dimension.
    pub(crate) cluster: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub(crate) shared: u32,
    pub(crate) limits: LaunchLimits,
    /// The time at which the launch has to end.
    pub(crate) deadline: Option<Instant>,
    /// The architecture whose tensor cores multiply matrices.
    pub(crate) model: Model,
    /// Counts the steps of all warps and the CTAs that ended.
    pub(crate) progress: &'a Progress,
    /// The observer of the steps of warps.
    pub(crate) observer: Option<&'a dyn StepObserver>,
    /// The order of CTAs and warps.
    pub(crate) schedule: Option<Schedule>,
    /// The time at which asynchronous operations are performed.
    pub(crate) asynchrony: Asynchrony,
    /// The seed of what shared memory holds at first.
    pub(crate) shared_seed: Option<u64>,
    /// Whether member masks include the lane.
    pub(crate) permissive: bool,
    pub(crate) heap: &'a Heap,
    /// The memory for the parameters of launches from kernels.
    pub(crate) parameter_heap: &'a Heap,
    /// The work that threads requested from the device runtime.
    pub(crate) launches: Mutex<Launches>,
    /// The number of launches from kernels that led to this grid.
    pub(crate) depth: u32,
    /// The number of the architecture, such as 90.
    pub(crate) architecture: u32,
    pub(crate) textures: &'a TextureStore,
    /// The address of what barriers of all CTAs are kept in; `%envreg1` and `%envreg2` are its halves.
    pub(crate) workspace: u64,
    /// The state of programmatic dependent launches.
    pub(crate) dependency: Dependency,
    /// The number of clusters that have begun or were canceled, in the order in which they begin.
    pub(crate) begun_clusters: AtomicU64,
    /// The output of `printf` in each cluster.
    pub(crate) output: Mutex<BTreeMap<u64, Vec<u8>>>,
}

/// The bytes of memory that a byte of output counts as: there are copies of it, lists that grow, and what shows it.
pub(crate) const COPIES: u64 = 16;
/// The bytes of memory that the first output of a cluster counts as besides.
const CLUSTER_OUTPUT: u64 = 128;
/// The steps of the launch between looks at the clock.
const CLOCK_STEPS: u64 = 1 << 12;
/// The reason and the place of an error.
pub(crate) struct Failure {
    pub(crate) reason: StopReason,
    pub(crate) function: Option<FuncId>,
    pub(crate) step_index: u32,
    pub(crate) lane: usize,
}

impl Failure {
    /// A failure that no step of the lane caused.
    pub(crate) fn without_step((reason, lane): Failed) -> Self {
        Self {
            reason,
            function: None,
            step_index: 0,
            lane,
        }
    }
}

impl Grid<'_> {
    /// The number of threads of a CTA.
    pub(crate) const fn threads_per_block(&self) -> u32 {
        self.threads[0] * self.threads[1] * self.threads[2]
    }

    /// The index of a thread in each dimension.
    pub(crate) const fn thread(&self, linear: u32) -> [u32; 3] {
        let [x, y, _] = self.threads;
        [linear % x, linear / x % y, linear / (x * y)]
    }

    /// The linear index of a CTA.
    pub(crate) const fn linear(&self, [x, y, z]: [u32; 3]) -> u64 {
        let [width, height, _] = self.blocks;
        x as u64 + width as u64 * (y as u64 + height as u64 * z as u64)
    }

    /// `%ctaid` of a CTA, by its linear index.
    pub(crate) fn block(&self, linear: u64) -> [u32; 3] {
        let [x, y, _] = self.blocks.map(u64::from);
        [linear % x, linear / x % y, linear / (x * y)].map(|i| i as u32)
    }

    /// The linear index of the CTA of a rank in the cluster of another one.
    pub(crate) fn block_of_rank(&self, index: [u32; 3], rank: usize) -> u64 {
        let ([x, y, _], rank) = (self.cluster, rank as u32);
        let inner = [rank % x, rank / x % y, rank / (x * y)];
        self.linear(core::array::from_fn(|dimension| {
            let start = index[dimension] - index[dimension] % self.cluster[dimension];
            start.saturating_add(inner[dimension])
        }))
    }

    /// The shape of the clusters.
    pub(crate) const fn clusters(&self) -> Clusters {
        Clusters {
            blocks: self.blocks,
            cluster: self.cluster,
        }
    }

    /// The place of an instruction in the source and its text. Linear in the length of the function.
    pub(crate) fn place(&self, function: FuncId, inst: InstId) -> Option<InstPlace> {
        let body = self.module.body(function)?;
        let (statement, _) = body
            .statements()
            .find(|(_, statement)| *statement == Statement::Inst(inst))?;
        let text = ptx_print::verbatim_statement(self.module, body, statement);
        Some(InstPlace {
            span: body.source_span(statement),
            text: String::from_utf8_lossy(&text).into(),
        })
    }

    /// The memory of the host that is used.
    pub(crate) const fn account(&self) -> &Arc<Account> {
        self.device.account()
    }

    /// Adds to what the cluster of a CTA printed.
    pub(super) fn print(&self, block: [u32; 3], text: Vec<u8>) -> Result<(), StopReason> {
        let number = self.clusters().of_block(block);
        let Ok(mut output) = self.output.lock() else {
            return Ok(());
        };
        let is_first = !output.contains_key(&number);
        let bytes = COPIES * text.len() as u64 + if is_first { CLUSTER_OUTPUT } else { 0 };
        self.account().take(bytes, Purpose::Output)?;
        output.entry(number).or_default().extend(text);
        Ok(())
    }

    /// The output, in the order of clusters: of all, or up to the one of an error, where later ones may have run on other threads.
    pub(crate) fn printed(&self, error: Option<&RunError>) -> Vec<u8> {
        let error = error.filter(|_| self.is_independent());
        let last = error.map_or(u64::MAX, |error| self.clusters().of_block(error.block));
        let output = self.output.lock().map(|mut all| core::mem::take(&mut *all));
        let output = output.unwrap_or_default();
        let bytes: usize = output.values().map(Vec::len).sum();
        let clusters = output.len() as u64 * CLUSTER_OUTPUT;
        self.account().release(COPIES * bytes as u64 + clusters);
        let shown = output.into_iter().filter(|(number, _)| *number <= last);
        shown.flat_map(|(_, text)| text).collect()
    }

    /// Whether the CTAs may run on several threads of the host.
    pub(super) fn is_independent(&self) -> bool {
        self.schedule.is_none()
            && self.asynchrony == Asynchrony::Immediate
            && self.program.is_independent(self.kernel)
    }

    /// Counts the CTAs of a cluster that came to its end.
    pub(super) fn cluster_ended(&self) {
        self.progress.add_blocks(self.clusters().size());
    }

    /// The steps that are allowed.
    pub(crate) fn steps_left(&self) -> u64 {
        let steps = self.progress.steps();
        self.limits.steps.saturating_sub(steps)
    }

    /// Counts steps, and fails if there were too many.
    pub(crate) fn count(&self, steps: u64) -> Result<(), StopReason> {
        let steps_before = self.progress.add_steps(steps);
        let all = steps_before.saturating_add(steps);
        if self.progress.is_canceled() || all / CLOCK_STEPS != steps_before / CLOCK_STEPS {
            self.interrupted()?;
        }
        if all > self.limits.steps {
            Err(StopReason::StepLimit)
        } else {
            Ok(())
        }
    }

    /// Fails if the launch was canceled, or has no time left.
    pub(crate) fn interrupted(&self) -> Result<(), StopReason> {
        if self.progress.is_canceled() {
            return Err(StopReason::Canceled);
        }
        let time = self.limits.time.unwrap_or_default();
        match self.deadline {
            Some(end) if Instant::now() >= end => Err(StopReason::TimeLimit(time)),
            _ => Ok(()),
        }
    }

    /// The error of a failure, with the place in the module.
    pub(crate) fn error(&self, failure: Failure, block: [u32; 3], first: u32) -> RunError {
        let mut error = RunError::new(failure.reason);
        error.block = block;
        error.thread = self.thread(first + failure.lane as u32);
        let Some(id) = failure.function else {
            return error;
        };
        let function = self.program.function(id);
        let step = function.and_then(|f| f.steps.get(failure.step_index as usize));
        let (Some(function), Some(step)) = (function, step) else {
            return error;
        };
        error.function.clone_from(&function.name);
        if let Some(place) = self.place(id, step.inst) {
            error.span = Some(place.span);
            error.instruction = place.text;
        }
        error
    }
}

/// The shape of a grid and of its clusters.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Clusters {
    /// CTAs of the grid in each dimension.
    pub(super) blocks: [u32; 3],
    /// CTAs of a cluster in each dimension.
    pub(super) cluster: [u32; 3],
}

impl Clusters {
    fn counts(self) -> [u64; 3] {
        core::array::from_fn(|i| u64::from(self.blocks[i] / self.cluster[i].max(1)))
    }

    /// The number of clusters.
    pub(super) fn count(self) -> u64 {
        self.counts().iter().product()
    }

    /// The number of CTAs of a cluster.
    pub(crate) fn size(self) -> u64 {
        self.cluster.iter().map(|&n| u64::from(n)).product()
    }

    /// `%clusterid` of a number.
    pub(super) fn index(self, number: u64) -> [u32; 3] {
        let [x, y, _] = self.counts();
        [number % x, number / x % y, number / (x * y)].map(|i| i as u32)
    }

    /// The number of a cluster, by `%clusterid`.
    pub(super) fn number(self, [a, b, c]: [u32; 3]) -> u64 {
        let [x, y, _] = self.counts();
        u64::from(a) + x * (u64::from(b) + y * u64::from(c))
    }

    /// The number of the cluster with this CTA.
    pub(crate) fn of_block(self, index: [u32; 3]) -> u64 {
        self.number(core::array::from_fn(|i| index[i] / self.cluster[i].max(1)))
    }

    /// The number of the cluster with this CTA, by its linear index.
    pub(crate) fn of_linear(self, block: u64) -> u64 {
        if self.size() == 1 {
            return block;
        }
        let [x, y, _] = self.blocks.map(u64::from);
        self.of_block([block % x, block / x % y, block / (x * y)].map(|i| i as u32))
    }
}
