//! Runs in several orders of CTAs and warps, to find an order with an error, or with other results.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use anyhow::Result;
use ptx_ir::FuncId;
use ptx_vm::{Launch, Machine, Schedule, StopReason};

use super::memory::Memory;
use super::plan::Plan;
use super::{Run, kernel, launch};
use crate::output::{self, Out, Status};

/// A machine with the buffers of a run, and its launches.
pub(super) struct Prepared<'m> {
    pub(super) machine: Machine<'m>,
    pub(super) memory: Memory,
    /// The launches with their kernels.
    pub(super) launches: Vec<(FuncId, Launch)>,
    /// The numbers of launches in sequences, each of which depends on the one before.
    pub(super) sequences: Vec<usize>,
}

impl<'a> Run<'a> {
    /// Prepares all launches of a run in an order, and checks their arguments.
    pub(super) fn prepare(&self, plan: &Plan, schedule: Option<Schedule>) -> Result<Prepared<'a>> {
        let module = &self.parsed.module;
        let kernels = plan
            .calls
            .iter()
            .map(|call| kernel(module, call.kernel.as_ref()))
            .collect::<Result<Vec<FuncId>>>()?;
        let mut machine = Machine::new(module);
        let limits = self.args.limits.limits();
        machine.limit_memory(limits.memory_bytes);
        let memory = Memory::new(&mut machine, plan)?;
        let mut launches = Vec::new();
        let mut sequences: Vec<usize> = Vec::new();
        for (call, kernel) in plan.calls.iter().zip(kernels) {
            let mut launch = launch(module, kernel, call, &memory, limits)?;
            launch.schedule = schedule;
            launch.asynchrony = self.args.asynchrony.or(call.asynchrony).unwrap_or_default();
            launch.profile = self.args.profile.is_some();
            launch.checks = self.args.check.iter().copied().collect();
            launch.model = self.args.model;
            launch.cooperative = call.cooperative;
            launches.push((kernel, launch));
            match sequences.last_mut() {
                Some(count) if call.is_dependent => *count += 1,
                _ => sequences.push(1),
            }
        }
        Ok(Prepared {
            machine,
            memory,
            launches,
            sequences,
        })
    }

    /// Runs the launches in the first of several orders that has an error or a finding, or in the usual order if none has.
    pub(super) fn try_schedules(&self, count: usize, plan: &Plan, out: &mut Out) -> Result<Status> {
        let threads = plan.calls.iter().map(|call| product(call.shape.block.0));
        let blocks = plan.calls.iter().map(|call| product(call.shape.grid.0));
        let threads = u32::try_from(threads.max().unwrap_or(1)).unwrap_or(u32::MAX);
        let schedules = Schedule::several(threads, blocks.max().unwrap_or(1));
        let mut tried = 0;
        let mut usual_digest = None;
        // The first order with other results.
        let mut different = None;
        for schedule in [None].into_iter().chain(schedules.map(Some)).take(count) {
            tried += 1;
            let Some(digest) = self.digest(plan, schedule)? else {
                if let Some(schedule) = schedule {
                    output::note(format_args!(
                        "ptxkit: order {tried} of {count}; to run only this one, use `--schedule {schedule}`"
                    ));
                }
                return self.run_all(plan, schedule, out);
            };
            if *usual_digest.get_or_insert(digest) != digest && different.is_none() {
                different = schedule;
            }
        }
        output::note(format_args!(
            "ptxkit: no error in {tried} orders of CTAs and warps"
        ));
        if let Some(schedule) = different {
            self.report_difference(plan, schedule)?;
        }
        self.run_all(plan, None, out)
    }

    /// Reports where the results of an order differ from those of the usual order.
    fn report_difference(&self, plan: &Plan, schedule: Schedule) -> Result<()> {
        let mut usual = self.prepare(plan, None)?;
        let mut reordered = self.prepare(plan, Some(schedule))?;
        for ((_, launch), (_, reordered_launch)) in usual.launches.iter().zip(&reordered.launches) {
            let _ = self.watch.run(&mut usual.machine, launch, None);
            let _ = self
                .watch
                .run(&mut reordered.machine, reordered_launch, None);
        }
        let usual_parts = usual.memory.parts(&usual.machine);
        let reordered_parts = reordered.memory.parts(&reordered.machine);
        for (part, reordered_part) in usual_parts.zip(reordered_parts) {
            let mut bytes = part.bytes.iter().zip(&reordered_part.bytes);
            if let Some(index) = bytes.position(|(a, b)| a != b) {
                output::note(format_args!(
                    "ptxkit: the results depend on the order: with `--schedule {schedule}`, buffer {} differs from offset {} on",
                    part.buffer,
                    part.offset + index as u64
                ));
                break;
            }
        }
        Ok(())
    }

    /// A digest of the buffers after all launches in an order; `None` if a launch ends with an error or a finding, or is interrupted.
    fn digest(&self, plan: &Plan, schedule: Option<Schedule>) -> Result<Option<u64>> {
        let Prepared {
            mut machine,
            memory,
            launches,
            ..
        } = self.prepare(plan, schedule)?;
        for (_, launch) in &launches {
            let result = self.watch.run(&mut machine, launch, None);
            let has_failed = match &result {
                Ok(_) => false,
                // An error before the first step does not depend on the order.
                Err(error) => error.reason != StopReason::NoKernel,
            };
            if has_failed || !machine.reports().is_empty() {
                return Ok(None);
            }
        }
        let mut digest = DefaultHasher::new();
        for part in memory.parts(&machine) {
            part.bytes.hash(&mut digest);
        }
        Ok(Some(digest.finish()))
    }
}

fn product(sizes: [u32; 3]) -> u64 {
    sizes
        .iter()
        .fold(1, |product, &n| product.saturating_mul(n.into()))
}
