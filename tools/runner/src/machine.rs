//! The virtual machine as a device.

use anyhow::{Context as _, Result, bail};
use ptx_vm::{Executor, Launch, Machine, RunOptions};

use crate::device::{Device, Loaded};

/// `ptx-vm`, which runs modules for every target.
#[derive(Copy, Clone, Debug, Default)]
pub struct VirtualMachine;

impl Device for VirtualMachine {
    fn name(&self) -> String {
        "ptx-vm".into()
    }

    fn driver(&self) -> String {
        env!("CARGO_PKG_VERSION").into()
    }

    fn architecture(&self) -> Option<u32> {
        None
    }

    fn load(&self, text: &str) -> Result<Box<dyn Loaded>> {
        let parsed = ptx_parse::parse(text.as_bytes());
        if let Some(error) = parsed.diagnostics.first() {
            bail!("{}", error.message);
        }
        Ok(Box::new(Machine::new(parsed.module)))
    }
}

impl Loaded for Machine<'static> {
    fn allocate(&mut self, bytes: u64) -> Result<u64> {
        ptx_vm::Device::allocate(self, bytes).context("no memory")
    }

    fn variable(&mut self, name: &str) -> Result<u64> {
        let (address, _) =
            Machine::variable(self, name).with_context(|| format!("no variable `{name}`"))?;
        Ok(address)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        Ok(ptx_vm::Device::write(self, address, bytes)?)
    }

    fn read(&mut self, address: u64, bytes: usize) -> Result<Vec<u8>> {
        Ok(self.device().read(address, bytes)?)
    }

    fn launch(&mut self, launch: &Launch) -> Result<Option<Vec<u8>>> {
        let options = RunOptions::default().with_executor(&Threads);
        Ok(Some(self.launch_with(launch, options)?.output))
    }

    fn survives_errors(&self) -> bool {
        true
    }
}

/// An executor with a thread for each processor of the host.
#[derive(Debug)]
struct Threads;

impl Executor for Threads {
    fn run(&self, tasks: u64, task: &(dyn Fn(u64) + Sync)) {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
        if threads.min(tasks) < 2 {
            return (0..tasks).for_each(task);
        }
        std::thread::scope(|scope| {
            for first in 0..threads.min(tasks) {
                let thread_tasks = (first..tasks).step_by(threads as usize);
                scope.spawn(move || thread_tasks.for_each(task));
            }
        });
    }
}
