//! Shows a result that differs: the kernel reduced to its instruction, the inputs, and both results.

use runner::Device;

use crate::compare::{Mismatch, Place, mismatch, shown};
use crate::kernel;
use crate::program::Program;

/// The text of the error of a comparison. The reduced kernel is run again, and if both devices agree there, the whole one is shown.
pub(crate) fn describe(
    program: &Program<'_>,
    place: Place,
    device: &dyn Device,
    found: &Mismatch,
) -> String {
    let step = &program.steps[found.stored.step];
    let inputs = step.sources.iter().zip(&found.sources);
    let inputs: Vec<String> = inputs
        .map(|(s, value)| shown(program, *s, *value))
        .collect();
    let result = match step.results.get(found.stored.result) {
        Some(register) => register.name.as_str(),
        None => "the carry flag",
    };
    let digits = 2 * found.stored.bytes + 2;
    let alone = program.alone(found.stored.step);
    // An input that is read twice is one input.
    let sources = alone.steps[0].sources.iter().zip(&found.sources);
    let mut values = vec![0; alone.inputs.len()];
    for (source, value) in sources {
        if let crate::program::Source::Input(number) = *source {
            values[number] = *value;
        }
    }
    let (text, again) = match mismatch(&alone, place, device, &[values]) {
        Ok(Err(_)) => (
            kernel::module(&alone, place.version, place.target),
            "alone, too",
        ),
        Ok(Ok(_)) => (
            kernel::module(program, place.version, place.target),
            "not alone; the whole kernel",
        ),
        Err(_) => (
            kernel::module(&alone, place.version, place.target),
            "alone it fails",
        ),
    };
    format!(
        "`{}` differs in thread {}\n  inputs: {}\n  {result} is {:#0digits$x} on {}, and {:#0digits$x} on ptx-vm\n  {again}:\n{text}",
        step.line,
        found.thread,
        inputs.join(", "),
        found.device,
        device.name(),
        found.machine,
    )
}

/// The verifier accepts a program.
pub(crate) fn accepted(program: &Program<'_>, place: Place) -> Result<(), String> {
    let text = crate::kernel::module(program, place.version, place.target);
    let parsed = ptx_parse::parse_str(&text);
    let errors = ptx_verify::verify(&parsed.module, &ptx_verify::Options::default());
    match parsed.diagnostics.first().or(errors.first()) {
        Some(error) => {
            let at = error.span.start as usize;
            let line = text[..at].matches('\n').count();
            let line = text.lines().nth(line).unwrap_or_default();
            Err(format!("{}: {line}", error.message))
        }
        None => Ok(()),
    }
}
