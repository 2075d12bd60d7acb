//! Tries orders of CTAs and warps, to find one with an error, or with other results.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

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
        let mut usual = None;
        let mut other = None;
        for schedule in [None].into_iter().chain(all.map(Some)).take(count) {
            tried += 1;
            let Some(results) = self.results(plan, schedule)? else {
                if let Some(schedule) = schedule {
                    output::note(format_args!(
                        "ptxkit: order {tried} of {count}; to run only this one, use `--schedule {schedule}`"
                    ));
                }
                return self.all(plan, schedule, out);
            };
            if *usual.get_or_insert(results) != results && other.is_none() {
                other = schedule;
            }
        }
        output::note(format_args!(
            "ptxkit: no error in {tried} orders of CTAs and warps"
        ));
        if let Some(schedule) = other {
            self.compare(plan, schedule)?;
        }
        self.all(plan, None, out)
    }

    /// Says where the results of an order differ from those of the usual order.
    fn compare(&self, plan: &Plan, schedule: Schedule) -> Result<()> {
        let (mut machine, memory, launches) = self.prepare(plan, None)?;
        let (mut other, other_memory, other_launches) = self.prepare(plan, Some(schedule))?;
        for ((_, launch), (_, other_launch)) in launches.iter().zip(&other_launches) {
            let _ = self.watch.run(&mut machine, launch, None);
            let _ = self.watch.run(&mut other, other_launch, None);
        }
        let parts = memory.parts(&machine).zip(other_memory.parts(&other));
        let mut differences = parts.filter_map(|((buffer, start, a), (_, _, b))| {
            let at = a.iter().zip(&b).position(|(a, b)| a != b)?;
            Some((buffer, start + at as u64))
        });
        if let Some((buffer, at)) = differences.next() {
            output::note(format_args!(
                "ptxkit: the results depend on the order: with `--schedule {schedule}`, buffer {buffer} differs from offset {at} on"
            ));
        }
        Ok(())
    }

    /// A digest of the buffers after all launches in an order; `None` if these end with an error or a finding, or are interrupted.
    fn results(&self, plan: &Plan, schedule: Option<Schedule>) -> Result<Option<u64>> {
        let (mut machine, memory, launches) = self.prepare(plan, schedule)?;
        for (_, launch) in &launches {
            let ended = self.watch.run(&mut machine, launch, None);
            let fails = match &ended {
                Ok(_) => false,
                // What a launch cannot begin with is shown as that of the usual order.
                Err(error) => error.reason != StopReason::NoKernel,
            };
            if fails || !machine.reports().is_empty() {
                return Ok(None);
            }
        }
        let mut digest = DefaultHasher::new();
        memory
            .parts(&machine)
            .for_each(|(.., part)| part.hash(&mut digest));
        Ok(Some(digest.finish()))
    }
}

fn product(sizes: [u32; 3]) -> u64 {
    sizes.iter().fold(1, |all, &n| all.saturating_mul(n.into()))
}
