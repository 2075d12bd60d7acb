//! The programs of `corpus/src/programs` on a GPU: the bytes are those that the CPU computed and those of `ptx-vm`, or, where a program
//! states how exact its results are, as close to them. Without a GPU these tests are ignored, and small programs are run with `ptx-vm` in
//! both places.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panics"
)]

mod common;

use test_support::programs::case;
use test_support::programs::compare;
use test_support::programs::list;
use test_support::programs::run;

use std::fs;
use std::sync::Arc;

use common::Defective;
use libtest_mimic::{Arguments, Trial};
use list::Program;
use ptx_vm::Launch;
use run::{Found, Host};
use runner::{Abilities, Device, Loaded, VirtualMachine};

/// A module on a device.
struct OnDevice(Box<dyn Loaded>);

impl Host for OnDevice {
    fn allocate(&mut self, bytes: u64) -> Result<u64, String> {
        self.0.allocate(bytes).map_err(text)
    }

    fn variable(&mut self, name: &str) -> Result<u64, String> {
        self.0.variable(name).map_err(text)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        self.0.write(address, bytes).map_err(text)
    }

    fn read(&mut self, address: u64, bytes: usize) -> Result<Vec<u8>, String> {
        self.0.read(address, bytes).map_err(text)
    }

    fn launch(
        &mut self,
        of: &case::Launch,
        arguments: Vec<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, String> {
        let mut launch = Launch::new(&of.kernel);
        (launch.grid, launch.block) = (of.grid, of.block);
        (launch.cluster, launch.shared) = (of.cluster, of.shared);
        launch.arguments = arguments;
        self.0.launch(&launch).map_err(text)
    }

    fn survives_errors(&self) -> bool {
        self.0.survives_errors()
    }
}

fn text(error: anyhow::Error) -> String {
    format!("{error:#}")
}

/// Runs a program on a device and on the virtual machine, and compares both with the expected results and with each other.
fn compare(program: &Program, device: &dyn Device) -> Result<(), String> {
    let module = fs::read_to_string(&program.module).map_err(|e| e.to_string())?;
    let on = |device: &dyn Device| {
        let loaded = device.load(&module).map_err(text)?;
        let found = run::run(&program.steps, &mut OnDevice(loaded));
        found.map_err(|e| format!("{}: {e}", device.name()))
    };
    same(&on(device)?, &on(&VirtualMachine)?)
}

/// Compares what memory had on two devices. The first one may have ended after a launch that failed, as the program expects.
fn same(found: &[Found], expected: &[Found]) -> Result<(), String> {
    for (a, b) in found.iter().zip(expected) {
        let compared = compare::compare(&a.bytes, &b.bytes, a.ty, a.allowed);
        compared.map_err(|e| format!("line {}, from ptx-vm: {e}", a.line))?;
    }
    match found.len() <= expected.len() {
        true => Ok(()),
        false => Err("ptx-vm ended before the device".into()),
    }
}

/// Whether a device runs a program.
fn runs(program: &Program, device: &dyn Device, abilities: &Abilities) -> bool {
    // Hosts other than the machine of `test_support` create no textures.
    if program.steps.lines().any(|line| line.starts_with("array ")) {
        return false;
    }
    let text = fs::read(&program.module).expect("a module");
    abilities.run(device, &ptx_parse::parse(&text).module)
}

/// Bytes of the modules that are run without a GPU.
const SMALL: u64 = 5000;

fn main() {
    let arguments = Arguments::from_args();
    let (gpu, abilities) = common::gpu().unzip();
    let mut trials = vec![
        Trial::test("a_wrong_byte_is_found", || Ok(a_wrong_byte_is_found()?)),
        Trial::test("a_wrong_instruction_is_found", || {
            Ok(a_wrong_instruction_is_found()?)
        }),
        Trial::test("errors_of_a_device_are_those_expected", || {
            Ok(errors_of_a_device()?)
        }),
    ];
    for program in list::programs(None) {
        let small = fs::metadata(&program.module).is_ok_and(|m| m.len() <= SMALL);
        let known = gpu.as_deref().zip(abilities.as_ref());
        let runs = known.is_some_and(|(gpu, abilities)| runs(&program, gpu, abilities));
        let (program, gpu) = (Arc::new(program), gpu.clone());
        if gpu.is_none() && small {
            let program = program.clone();
            trials.push(Trial::test(
                format!("{}::ptx_vm", program.title),
                move || Ok(compare(&program, &VirtualMachine)?),
            ));
        }
        let title = format!("{}::gpu", program.title);
        let trial = Trial::test(title, move || match gpu.as_deref() {
            Some(gpu) => Ok(compare(&program, gpu)?),
            None => Err("there is no GPU".into()),
        });
        trials.push(trial.with_ignored_flag(!runs));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn program(title: &str) -> Program {
    let mut all = list::programs(None).into_iter();
    all.find(|p| p.title == title).expect("the program")
}

/// A device whose memory has a wrong bit now and then differs from what is expected, and from the virtual machine.
fn a_wrong_byte_is_found() -> Result<(), String> {
    let device = Defective {
        memory: |bytes| {
            if let Some(last) = bytes.last_mut() {
                *last ^= 1;
            }
        },
        ..Defective::NONE
    };
    let error = compare(&program("bits::O3"), &device).err();
    let error = error.ok_or("nothing was found")?;
    if !error.contains("a defective device") || !error.contains("elements differ") {
        return Err(error);
    }
    // The same, where the program allows more than the virtual machine and the device differ.
    let found = |bytes: Vec<u8>| {
        [Found {
            line: 1,
            bytes,
            ty: case::Type::F32,
            allowed: case::Allowed::Ulps(1),
        }]
    };
    let [zero, one, two] = [0u32, 1, 2].map(|n| found(n.to_le_bytes().into()));
    match (same(&one, &zero), same(&two, &zero)) {
        (Ok(()), Err(error)) if error.contains("from ptx-vm") => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

/// A device that executes an instruction wrongly is found.
fn a_wrong_instruction_is_found() -> Result<(), String> {
    let device = Defective {
        text: |text| text.replace("popc.b32", "clz.b32"),
        ..Defective::NONE
    };
    match compare(&program("bits::O3"), &device) {
        Err(error) if error.contains("elements differ") => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

/// A device that does not survive errors ends with the first one that a program expects, and only then.
fn errors_of_a_device() -> Result<(), String> {
    struct Mortal(OnDevice);
    impl Host for Mortal {
        fn allocate(&mut self, bytes: u64) -> Result<u64, String> {
            self.0.allocate(bytes)
        }
        fn variable(&mut self, name: &str) -> Result<u64, String> {
            self.0.variable(name)
        }
        fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
            self.0.write(address, bytes)
        }
        fn read(&mut self, address: u64, bytes: usize) -> Result<Vec<u8>, String> {
            self.0.read(address, bytes)
        }
        fn launch(
            &mut self,
            of: &case::Launch,
            arguments: Vec<Vec<u8>>,
        ) -> Result<Option<Vec<u8>>, String> {
            let result = self.0.launch(of, arguments);
            result.map_err(|_| "unspecified launch failure".into())
        }
        fn survives_errors(&self) -> bool {
            false
        }
    }
    let program = program("printing::O3");
    let module = fs::read_to_string(&program.module).map_err(|e| e.to_string())?;
    let run = |steps: &str| {
        let loaded = VirtualMachine.load(&module).map_err(text)?;
        run::run(steps, &mut Mortal(OnDevice(loaded)))
    };
    // The steps after the error are not run, whatever they are.
    let steps = format!("{}fill @999+0 1 1\n", program.steps);
    if run(&steps)?.is_empty() {
        return Err("nothing was compared before the error".into());
    }
    let unexpected: Vec<&str> = program.steps.lines().collect();
    let unexpected = unexpected.into_iter().filter(|l| !l.starts_with("error"));
    match run(&unexpected.collect::<Vec<_>>().join("\n")) {
        Err(error) if error.contains("unspecified launch failure") => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err("an error that is not expected was not reported".into()),
    }
}
