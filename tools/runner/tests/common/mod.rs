//! Devices of the tests.
#![allow(dead_code, reason = "not every test needs all of it")]

use std::sync::Arc;

use anyhow::Result;
use ptx_isa::Target;
use ptx_vm::Launch;
use runner::{Abilities, Device, Loaded, VirtualMachine};

/// The GPU and what it can be asked to run, if there is one; else a loud line was printed.
pub(crate) fn gpu() -> Option<(Arc<dyn Device>, Abilities)> {
    let found = runner::gpu().unwrap_or_else(|error| {
        eprintln!("!!! NO GPU: {error}, NOTHING WAS RUN ON A GPU !!!");
        None
    });
    let gpu: Arc<dyn Device> = found?.into();
    let abilities = Abilities::of(&*gpu, Target::Sm90).unwrap();
    println!("{}, driver {}, {abilities:?}", gpu.name(), gpu.driver());
    Some((gpu, abilities))
}

/// A device with a defect: the virtual machine with modules that are changed before it runs them, or with memory that is.
#[derive(Copy, Clone)]
pub(crate) struct Defective {
    /// Changes the text of a module.
    pub(crate) text: fn(&str) -> String,
    /// Changes what is read from memory.
    pub(crate) memory: fn(&mut [u8]),
}

impl Defective {
    /// A device without a defect.
    pub(crate) const NONE: Self = Self {
        text: str::to_owned,
        memory: |_| {},
    };
}

impl Device for Defective {
    fn name(&self) -> String {
        "a defective device".into()
    }

    fn driver(&self) -> String {
        VirtualMachine.driver()
    }

    fn architecture(&self) -> Option<u32> {
        None
    }

    fn load(&self, text: &str) -> Result<Box<dyn Loaded>> {
        let module = VirtualMachine.load(&(self.text)(text))?;
        let memory = self.memory;
        Ok(Box::new(WithDefect { module, memory }))
    }
}

struct WithDefect {
    module: Box<dyn Loaded>,
    memory: fn(&mut [u8]),
}

impl Loaded for WithDefect {
    fn allocate(&mut self, bytes: u64) -> Result<u64> {
        self.module.allocate(bytes)
    }

    fn variable(&mut self, name: &str) -> Result<u64> {
        self.module.variable(name)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.module.write(address, bytes)
    }

    fn read(&mut self, address: u64, bytes: usize) -> Result<Vec<u8>> {
        let mut found = self.module.read(address, bytes)?;
        (self.memory)(&mut found);
        Ok(found)
    }

    fn launch(&mut self, launch: &Launch) -> Result<Option<Vec<u8>>> {
        self.module.launch(launch)
    }

    fn survives_errors(&self) -> bool {
        self.module.survives_errors()
    }
}
