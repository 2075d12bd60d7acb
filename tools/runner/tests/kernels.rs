//! The kernels of the examples, and what rewriting makes of them, on a GPU beside the CPU. Without a GPU these tests are ignored, and what can
//! be run by `ptx-vm` is run by it.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

mod common;

use std::sync::Arc;

use half::f16;
use libtest_mimic::{Arguments, Failed, Trial};
use ptx_examples::{Element, Kernel, Parameter};
use ptx_ir::Module;
use ptx_transform::instrument::{Bounds, Outside, Records, Trace};
use ptx_transform::{MinifyOptions, clean};
use ptx_vm::Launch;
use runner::{Device, VirtualMachine};

/// What a kernel is given for one of its parameters.
enum Argument {
    Value(Vec<u8>),
    /// The address of a buffer with this content.
    Buffer(Vec<u8>),
    /// A map of a tensor with this content.
    Map(Vec<u8>, Parameter),
}

/// The content of a buffer, by index: small whole numbers, whose products and sums are exact in every format.
fn content(of: usize, at: usize) -> i32 {
    ((at * 7 + of * 5 + at / 13) % 9) as i32 - 4
}

fn bytes(element: Element, values: &[f32]) -> Vec<u8> {
    let values = values.iter();
    match element {
        Element::F16 => values
            .flat_map(|v| f16::from_f32(*v).to_ne_bytes())
            .collect(),
        Element::F32 => values.flat_map(|v| v.to_ne_bytes()).collect(),
        Element::U32 => values.flat_map(|v| (*v as i32).to_ne_bytes()).collect(),
    }
}

/// What each parameter is given, and the numbers of all buffers in their order.
fn arguments(kernel: &Kernel) -> (Vec<Argument>, Vec<Vec<f32>>) {
    let mut inputs: Vec<Vec<f32>> = Vec::new();
    let mut fill = |element, count: usize| {
        let of = inputs.len();
        let values: Vec<f32> = (0..count).map(|i| content(of, i) as f32).collect();
        let bytes = bytes(element, &values);
        inputs.push(values);
        bytes
    };
    let arguments = kernel.parameters.iter().map(|parameter| match parameter {
        Parameter::U32(value) => Argument::Value(value.to_le_bytes().into()),
        Parameter::F32(value) => Argument::Value(value.to_le_bytes().into()),
        Parameter::Buffer { element, count, .. } => Argument::Buffer(fill(*element, *count)),
        Parameter::Map { element, size, .. } => {
            let content = fill(*element, (size[0] * size[1]) as usize);
            Argument::Map(content, parameter.clone())
        }
    });
    (arguments.collect(), inputs)
}

/// The bytes of the map of a tensor at an address.
#[cfg(feature = "cuda")]
fn map(parameter: &Parameter, address: u64) -> Result<Vec<u8>, Failed> {
    let Parameter::Map {
        element,
        size,
        tile,
        swizzle,
        ..
    } = parameter
    else {
        return Err("no tensor".into());
    };
    let element = match element {
        Element::F16 => runner::Element::F16,
        Element::F32 => runner::Element::F32,
        Element::U32 => runner::Element::U32,
    };
    let tensor = runner::Tensor {
        element,
        size: *size,
        tile: *tile,
        swizzle: *swizzle,
    };
    Ok(tensor.map(address)?)
}

#[cfg(not(feature = "cuda"))]
fn map(_: &Parameter, _: u64) -> Result<Vec<u8>, Failed> {
    Err("only a driver makes maps of tensors".into())
}

/// What a kernel should leave in the buffer that it writes, from the content of all.
type Reference = fn(&[Vec<f32>], &Kernel) -> Vec<f32>;

struct Example {
    name: &'static str,
    kernel: Kernel,
    expected: Reference,
}

/// Rows of the first by rows of the second: both lie so that what is summed over is next to each other.
fn product(inputs: &[Vec<f32>], kernel: &Kernel) -> Vec<f32> {
    let [Parameter::U32(columns), Parameter::U32(length)] = kernel.parameters[3..5] else {
        return Vec::new();
    };
    let rows = |matrix: &[f32]| -> Vec<Vec<f32>> {
        let rows = matrix.chunks(length as usize);
        rows.map(<[f32]>::to_vec).collect()
    };
    let (a, b) = (rows(&inputs[0]), rows(&inputs[1]));
    assert_eq!(b.len(), columns as usize);
    let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| x * y).sum();
    a.iter().flat_map(|x| b.iter().map(|y| dot(x, y))).collect()
}

fn axpy(inputs: &[Vec<f32>], kernel: &Kernel) -> Vec<f32> {
    let Parameter::F32(a) = kernel.parameters[1] else {
        return Vec::new();
    };
    let both = inputs[0].iter().zip(&inputs[1]);
    both.map(|(x, y)| a.mul_add(*x, *y)).collect()
}

fn examples() -> Vec<Example> {
    use ptx_examples::{checked, expression, hopper, matmul, merged, peephole, saxpy};
    let example = |name, kernel, expected| Example {
        name,
        kernel,
        expected,
    };
    vec![
        example("saxpy", saxpy::kernel().unwrap(), axpy),
        example("checked", checked::kernel().unwrap(), axpy),
        example("matmul", matmul::kernel().unwrap(), product),
        example("hopper", hopper::kernel().unwrap(), product),
        example(
            "expression",
            expression::kernel("(a - b) * -a / 4 + 0.5").unwrap(),
            |inputs, _| {
                let both = inputs[1].iter().zip(&inputs[2]);
                both.map(|(a, b)| (a - b) * -a / 4.0 + 0.5).collect()
            },
        ),
        example("peephole", peephole::kernel().unwrap(), |inputs, _| {
            inputs[0].iter().map(|x| x * 8.0).collect()
        }),
        example("merged", merged::kernel().unwrap(), |inputs, _| {
            vec![inputs[0][1] * 2.0 + 1.0, inputs[0][1]]
        }),
    ]
}

/// A rewriting that leaves what a text computes.
type Rewriting = fn(Module) -> Vec<u8>;

const REWRITINGS: &[(&str, Rewriting)] = &[
    ("as it is", |m| ptx_print::verbatim(&m)),
    ("canonical", |m| {
        ptx_print::canonical(&m, &ptx_print::Style::default())
    }),
    ("stripped", |m| ptx_transform::strip(&m).text().to_vec()),
    ("minified", |m| {
        let options = MinifyOptions::default();
        ptx_transform::minify(&m, &options).text().to_vec()
    }),
    ("renumbered", |m| {
        ptx_transform::renumber(&m).text().to_vec()
    }),
    ("flattened", |m| ptx_transform::flatten(&m).text().to_vec()),
    ("cleaned", |m| {
        clean::clean(&m, &clean::Options::default()).text().to_vec()
    }),
    ("checked", |m| {
        let bounds = Bounds {
            name: "all_of_memory".to_owned(),
            space: ptx_isa::StateSpace::Global,
            low: 0,
            high: u64::MAX,
            outside: Outside::Trap,
        };
        bounds.apply(&m).unwrap().text().to_vec()
    }),
    ("traced", |m| {
        let records = Records {
            name: "records".to_owned(),
            capacity: 1 << 12,
        };
        let spaces = Trace::MEMORY.into();
        let trace = Trace { records, spaces };
        trace.apply(&m).unwrap().text().to_vec()
    }),
];

fn rewritten(example: &Example, how: Rewriting) -> Result<String, Failed> {
    let module = ptx_parse::parse_str(&example.kernel.text).module;
    Ok(String::from_utf8(how(module))?)
}

/// Runs a kernel; gives the buffers as it left them.
fn run(
    device: &dyn Device,
    text: &str,
    kernel: &Kernel,
    arguments: Vec<Argument>,
) -> Result<Vec<Vec<u8>>, Failed> {
    let mut module = device.load(text)?;
    let mut launch = Launch::new(kernel.name);
    (launch.grid, launch.block) = (kernel.grid, kernel.block);
    let mut buffers = Vec::new();
    for argument in arguments {
        let mut hold = |content: &[u8]| -> Result<u64, Failed> {
            let address = module.allocate(content.len() as u64)?;
            module.write(address, content)?;
            Ok(address)
        };
        launch.arguments.push(match argument {
            Argument::Value(bytes) => bytes,
            Argument::Buffer(content) => {
                let address = hold(&content)?;
                buffers.push((address, content.len()));
                address.to_le_bytes().into()
            }
            Argument::Map(content, parameter) => map(&parameter, hold(&content)?)?,
        });
    }
    module.launch(&launch)?;
    let read = |(address, bytes)| Ok(module.read(address, bytes)?);
    buffers.into_iter().map(read).collect()
}

fn compare(device: &dyn Device, example: &Example, how: Rewriting) -> Result<(), Failed> {
    let kernel = &example.kernel;
    let (arguments, inputs) = arguments(kernel);
    let text = rewritten(example, how)?;
    let mut buffers = run(device, &text, kernel, arguments)?.into_iter();
    let expected = (example.expected)(&inputs, kernel);
    for parameter in &kernel.parameters {
        let Parameter::Buffer {
            element, is_output, ..
        } = parameter
        else {
            continue;
        };
        let found = buffers.next().ok_or("a buffer is missing")?;
        let wanted = bytes(*element, &expected);
        if *is_output && found != wanted {
            let width = wanted.len() / expected.len().max(1);
            let both = wanted.chunks(width).zip(found.chunks(width));
            let at = both.into_iter().position(|(a, b)| a != b);
            let sizes = (wanted.len(), found.len());
            return Err(format!("element {at:?} is wrong; {sizes:?} bytes").into());
        }
    }
    Ok(())
}

fn main() {
    let options = Arguments::from_args();
    let (gpu, abilities) = common::gpu().unzip();
    let mut trials = Vec::new();
    for example in examples() {
        let module = ptx_parse::parse_str(&example.kernel.text).module;
        let runs = gpu.as_deref().zip(abilities.as_ref());
        let runs = runs.is_some_and(|(gpu, abilities)| abilities.run(gpu, &module));
        let mut parameters = example.kernel.parameters.iter();
        let maps = parameters.any(|p| matches!(p, Parameter::Map { .. }));
        let example = Arc::new(example);
        for &(name, how) in REWRITINGS {
            let on_gpu = (gpu.clone(), example.clone());
            let trial = Trial::test(format!("{} {name} gpu", example.name), move || {
                let (gpu, example) = on_gpu;
                let gpu = gpu.as_deref().ok_or("there is no GPU")?;
                compare(gpu, &example, how)
            });
            trials.push(trial.with_ignored_flag(!runs));
            let example = example.clone();
            let title = format!("{} {name}", example.name);
            // Without a GPU, that every text can be made and is read without errors is still to be seen.
            trials.push(Trial::test(title, move || {
                let text = rewritten(&example, how)?;
                if ptx_parse::parse_str(&text).has_errors() {
                    return Err("the text has errors".into());
                }
                match maps {
                    false => compare(&VirtualMachine, &example, how),
                    true => Ok(()),
                }
            }));
        }
    }
    libtest_mimic::run(&options, trials).exit();
}
