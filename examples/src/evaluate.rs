//! Compiles an expression, runs it on the machine, and compares with the CPU. `cargo run -p ptx-examples --bin evaluate -- 'a * a + b'`

use ptx_vm::{Launch, Machine};

use crate::kernel::{Kernel, Parameter};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Returns `count` values of a variable, which differ between variables.
#[must_use]
pub fn input(variable: usize, count: usize) -> Vec<f32> {
    (0..count)
        .map(|i| (i * (variable + 2)) as f32 / 8.0 - 100.0)
        .collect()
}

/// Runs a kernel whose arrays contain numbers of single precision, and returns the array that it writes.
pub fn on_machine(kernel: &Kernel, inputs: &[Vec<f32>]) -> Result<Vec<f32>> {
    let module = ptx_parse::parse_str(&kernel.text).into_result()?;
    let mut machine = Machine::new(&module);
    let mut launch = Launch::new(kernel.name);
    (launch.grid, launch.block) = (kernel.grid, kernel.block);
    let mut inputs = inputs.iter();
    let mut output = None;
    for parameter in &kernel.parameters {
        launch = match parameter {
            Parameter::U32(value) => launch.argument(value.to_le_bytes()),
            Parameter::F32(value) => launch.argument(value.to_le_bytes()),
            Parameter::Buffer {
                count, is_output, ..
            } => {
                let address = machine.allocate(4 * *count as u64).ok_or("no memory")?;
                if *is_output {
                    output = Some((address, *count));
                } else {
                    let content = inputs.next().ok_or("an input is missing")?;
                    machine.write_slice(address, content)?;
                }
                launch.argument(address.to_le_bytes())
            }
            Parameter::Map { .. } => return Err("there are no tensor maps".into()),
        };
    }
    machine.launch(&launch)?;
    let (address, count) = output.ok_or("there is no output")?;
    Ok(machine.read_slice(address, count)?)
}

/// Evaluates an expression on the CPU. Each operator rounds its result, as in the kernel.
pub fn on_cpu(text: &str, variables: &[f32]) -> Result<f32> {
    let mut input = text.trim_start();
    let value = sum(&mut input, variables)?;
    if input.is_empty() {
        Ok(value)
    } else {
        Err(format!("`{input}` is not expected here").into())
    }
}

/// Removes an operator from the start of the input, if it is one of `operators`.
fn operator(input: &mut &str, operators: &[char]) -> Option<char> {
    let operator = input.chars().next().filter(|c| operators.contains(c))?;
    *input = input[1..].trim_start();
    Some(operator)
}

fn sum(input: &mut &str, variables: &[f32]) -> Result<f32> {
    let mut value = product(input, variables)?;
    while let Some(operator) = operator(input, &['+', '-']) {
        let right = product(input, variables)?;
        value = if operator == '+' {
            value + right
        } else {
            value - right
        };
    }
    Ok(value)
}

fn product(input: &mut &str, variables: &[f32]) -> Result<f32> {
    let mut value = factor(input, variables)?;
    while let Some(operator) = operator(input, &['*', '/']) {
        let right = factor(input, variables)?;
        value = if operator == '*' {
            value * right
        } else {
            value / right
        };
    }
    Ok(value)
}

fn factor(input: &mut &str, variables: &[f32]) -> Result<f32> {
    if operator(input, &['-']).is_some() {
        return Ok(-factor(input, variables)?);
    }
    if operator(input, &['(']).is_some() {
        let value = sum(input, variables)?;
        operator(input, &[')']).ok_or("a parenthesis is not closed")?;
        return Ok(value);
    }
    let end = input.find(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    let (token, remaining) = input.split_at(end.unwrap_or(input.len()));
    *input = remaining.trim_start();
    let variable = || {
        let letter = token.bytes().next().filter(|_| token.len() == 1)?;
        variables
            .get(usize::from(letter.checked_sub(b'a')?))
            .copied()
    };
    let value = token.parse().ok().or_else(variable);
    Ok(value.ok_or_else(|| format!("`{token}` is neither a number nor a variable"))?)
}

/// Compares the results of an expression on the machine and on the CPU; returns their number.
///
/// # Errors
///
/// The expression is malformed, or two results differ.
pub fn compare(text: &str) -> Result<usize> {
    let kernel = crate::expression::kernel(text)?;
    let variables = kernel
        .parameters
        .iter()
        .filter(|parameter| {
            matches!(
                parameter,
                Parameter::Buffer {
                    is_output: false,
                    ..
                }
            )
        })
        .count();
    let count = kernel.parameters.iter().find_map(|p| match p {
        Parameter::Buffer { count, .. } => Some(*count),
        _ => None,
    });
    let inputs: Vec<Vec<f32>> = (0..variables)
        .map(|v| input(v, count.unwrap_or(0)))
        .collect();
    let results = on_machine(&kernel, &inputs)?;
    for (i, result) in results.iter().enumerate() {
        let values: Vec<f32> = inputs.iter().map(|input| input[i]).collect();
        let expected = on_cpu(text, &values)?;
        // The bits of a NaN may differ.
        if result.to_bits() != expected.to_bits() && !(result.is_nan() && expected.is_nan()) {
            return Err(format!(
                "{text} of {values:?}: {result} on the machine, {expected} on the CPU"
            )
            .into());
        }
    }
    Ok(results.len())
}
