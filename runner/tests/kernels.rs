//! The kernels of the examples, and what rewriting makes of them, on a GPU beside the CPU. Without a GPU a loud line, and nothing
//! is run.
#![allow(clippy::unwrap_used)] // test helpers outside #[test] functions

use half::f16;
use libtest_mimic::{Arguments, Failed, Trial};
use ptx_examples::{Element, Kernel, Parameter};
use ptx_ir::Module;
use ptx_transform::instrument::{Bounds, Outside, Records, Trace};
use ptx_transform::{Minify, clean};
use runner::{Argument, Gpu, Launch, Tensor};

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
        Parameter::U32(value) => Argument::U32(*value),
        Parameter::F32(value) => Argument::F32(*value),
        Parameter::Buffer { element, count, .. } => Argument::Buffer(fill(*element, *count)),
        Parameter::Map {
            element,
            size,
            tile,
            swizzle,
            ..
        } => {
            let content = fill(*element, (size[0] * size[1]) as usize);
            let element = match element {
                Element::F16 => runner::Element::F16,
                Element::F32 => runner::Element::F32,
                Element::U32 => runner::Element::U32,
            };
            let tensor = Tensor {
                element,
                size: *size,
                tile: *tile,
                swizzle: *swizzle,
            };
            Argument::Tensor(content, tensor)
        }
    });
    (arguments.collect(), inputs)
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
    ("stripped", |m| ptx_transform::strip(&m).text),
    ("minified", |m| {
        ptx_transform::minify(&m, Minify::default()).text
    }),
    ("renumbered", |m| ptx_transform::renumber(&m).text),
    ("flattened", |m| ptx_transform::flatten(&m).text),
    ("cleaned", |mut m| {
        clean::clean(&mut m, &clean::Options::default());
        ptx_print::verbatim(&m)
    }),
    ("checked", |m| {
        let bounds = Bounds {
            name: "all_of_memory".to_owned(),
            space: ptx_isa::StateSpace::Global,
            low: 0,
            high: u64::MAX,
            outside: Outside::Trap,
        };
        ptx_print::verbatim(&bounds.apply(&m).unwrap().0)
    }),
    ("traced", |m| {
        let records = Records {
            name: "records".to_owned(),
            capacity: 1 << 12,
        };
        let spaces = Trace::MEMORY.into();
        let trace = Trace { records, spaces };
        ptx_print::verbatim(&trace.apply(&m).unwrap().0)
    }),
];

fn rewritten(example: &Example, how: Rewriting) -> Result<String, Failed> {
    let module = ptx_parse::parse_str(&example.kernel.text).module;
    Ok(String::from_utf8(how(module))?)
}

fn compare(gpu: &Gpu, example: &Example, how: Rewriting) -> Result<(), Failed> {
    let kernel = &example.kernel;
    let (arguments, inputs) = arguments(kernel);
    let launch = Launch {
        grid: kernel.grid,
        block: kernel.block,
        shared: 0,
    };
    let text = rewritten(example, how)?;
    let mut buffers = gpu.run(&text, kernel.name, launch, &arguments)?.into_iter();
    let expected = (example.expected)(&inputs, kernel);
    for parameter in &kernel.parameters {
        let Parameter::Buffer {
            element, written, ..
        } = parameter
        else {
            continue;
        };
        let found = buffers.next().ok_or("a buffer is missing")?;
        let wanted = bytes(*element, &expected);
        if *written && found != wanted {
            let width = wanted.len() / expected.len().max(1);
            let both = wanted.chunks(width).zip(found.chunks(width));
            let at = both.into_iter().position(|(a, b)| a != b);
            let sizes = (wanted.len(), found.len());
            return Err(format!("element {at:?} is wrong; {sizes:?} bytes").into());
        }
    }
    Ok(())
}

/// The target that a text is for, as a number, and whether no other will do: 90 and yes for `sm_90a`.
fn target(kernel: &Kernel) -> Option<(u32, bool)> {
    let target = ptx_parse::parse_str(&kernel.text).module.header().target?;
    let text = target.text().strip_prefix("sm_")?;
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    Some((digits.parse().ok()?, digits.len() < text.len()))
}

fn main() {
    let options = Arguments::from_args();
    let gpu = Gpu::find().unwrap();
    let capability = gpu.as_ref().map(|g| g.capability().unwrap());
    let gpu = std::sync::Arc::new(gpu);
    let mut trials = Vec::new();
    for example in examples() {
        let (needs, exact) = target(&example.kernel).unwrap();
        let runs = capability.is_some_and(|c| c == needs || c > needs && !exact);
        let example = std::sync::Arc::new(example);
        for &(name, how) in REWRITINGS {
            let (gpu, example) = (gpu.clone(), example.clone());
            // Without a GPU, that every text can be made and is read without errors is still to be seen.
            let title = match runs {
                true => format!("{} {name}", example.name),
                false => format!("{} {name} (not run: no GPU for it)", example.name),
            };
            trials.push(Trial::test(title, move || {
                let text = rewritten(&example, how)?;
                if ptx_parse::parse_str(&text).has_errors() {
                    return Err("the text has errors".into());
                }
                match &*gpu {
                    Some(gpu) if runs => compare(gpu, &example, how),
                    _ => Ok(()),
                }
            }));
        }
    }
    libtest_mimic::run(&options, trials).exit();
}
