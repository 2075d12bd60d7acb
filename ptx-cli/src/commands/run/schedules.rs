//! Tries orders of CTAs and warps, to find one with an error.

use anyhow::Result;
use ptx_ir::FuncId;
use ptx_vm::{Launch, Machine, Schedule, StopReason};

use super::memory::Memory;
use super::plan::Plan;
use super::{Run, kernel, launch};
use crate::output::{self, Out, Status};

/// A machine with the buffers of a run, and its launches.
pub(super) type Prepared<'m> = (Machine<'m>, Memory, Vec<(FuncId, Launch)>);

impl<'a> Run<'a> {
    /// All launches of a run in an order, of which each is checked.
    pub(super) fn prepare(&self, plan: &Plan, schedule: Option<Schedule>) -> Result<Prepared<'a>> {
        let module = &self.read.module;
        let kernels = plan.calls.iter().map(|call| kernel(module, call));
        let kernels = kernels.collect::<Result<Vec<FuncId>>>()?;
        let mut machine = Machine::new(module);
        let limits = self.args.limits.limits();
        machine.limit_memory(limits.memory_bytes);
        let memory = Memory::new(&mut machine, plan.buffers())?;
        let mut launches = Vec::new();
        for (call, kernel) in plan.calls.iter().zip(kernels) {
            let mut launch = launch(module, kernel, call, &memory, limits)?;
            launch.schedule = schedule;
            launch.profile = self.args.profile.is_some();
            launch.checks = self.args.check.iter().copied().collect();
            launch.model = self.args.model;
            launches.push((kernel, launch));
        }
        Ok((machine, memory, launches))
    }

    /// Runs the launches in the first of several orders that gives an error or a finding, or in the usual order if none does.
    pub(super) fn schedules(&self, count: usize, plan: &Plan, out: &mut Out) -> Result<Status> {
        let threads = plan.calls.iter().map(|call| product(call.shape.block.0));
        let blocks = plan.calls.iter().map(|call| product(call.shape.grid.0));
        let threads = u32::try_from(threads.max().unwrap_or(1)).unwrap_or(u32::MAX);
        let all = Schedule::several(threads, blocks.max().unwrap_or(1));
        let mut tried = 0;
        for schedule in [None].into_iter().chain(all.map(Some)).take(count) {
            tried += 1;
            let fails = self.fails(plan, schedule)?;
            if fails && let Some(schedule) = schedule {
                output::note(format_args!(
                    "ptxkit: order {tried} of {count}; to run only this one, use `--schedule {schedule}`"
                ));
            }
            if fails {
                return self.all(plan, schedule, out);
            }
        }
        output::note(format_args!(
            "ptxkit: no error in {tried} orders of CTAs and warps"
        ));
        self.all(plan, None, out)
    }

    /// Whether launches in an order end with an error or a finding, or are interrupted.
    fn fails(&self, plan: &Plan, schedule: Option<Schedule>) -> Result<bool> {
        let (mut machine, _, launches) = self.prepare(plan, schedule)?;
        for (_, launch) in &launches {
            let ended = self.watch.run(&mut machine, launch, None);
            let fails = match &ended {
                Ok(_) => false,
                // What a launch cannot begin with is shown as that of the usual order.
                Err(error) => error.reason != StopReason::NoKernel,
            };
            if fails || !machine.reports().is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn product(sizes: [u32; 3]) -> u64 {
    sizes.iter().fold(1, |all, &n| all.saturating_mul(n.into()))
}
