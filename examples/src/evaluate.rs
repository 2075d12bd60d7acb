//! Compiles an expression, runs it on the machine, and compares with the CPU. `cargo run -p ptx-examples --bin evaluate -- 'a * a + b'`

use ptx_vm::{Launch, Machine};

use crate::kernel::{Kernel, Parameter};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The content of the array of a variable.
#[must_use]
pub fn input(variable: usize, count: usize) -> Vec<f32> {
    (0..count)
        .map(|i| (i * (variable + 2)) as f32 / 8.0 - 100.0)
        .collect()
}

/// Runs a kernel of arrays of numbers; gives what it writes.
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
            Parameter::Buffer { count, written, .. } => {
                let address = machine.allocate(4 * *count as u64).ok_or("no memory")?;
                match *written {
                    true => output = Some((address, *count)),
                    false => {
                        let content = inputs.next().ok_or("an input is missing")?;
                        let bytes: Vec<u8> = content.iter().flat_map(|x| x.to_le_bytes()).collect();
                        machine.write(address, &bytes)?;
                    }
                }
                launch.argument(address.to_le_bytes())
            }
            Parameter::Map { .. } => return Err("there are no tensor maps".into()),
        };
    }
    machine.launch(&launch)?;
    let (address, count) = output.ok_or("there is no output")?;
    let bytes = machine.read(address, 4 * count)?;
    let number = |bytes: &[u8]| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    Ok(bytes.chunks_exact(4).map(number).collect())
}

/// The value of an expression on the CPU, with the values of its variables. Each operator is rounded, as in the kernel.
pub fn on_cpu(text: &str, variables: &[f32]) -> Result<f32> {
    let mut rest = text.trim_start();
    let value = sum(&mut rest, variables)?;
    match rest {
        "" => Ok(value),
        _ => Err(format!("`{rest}` is not expected here").into()),
    }
}

/// Takes one of some operators from the start of a text.
fn operator(rest: &mut &str, of: &[char]) -> Option<char> {
    let next = rest.chars().next().filter(|c| of.contains(c))?;
    *rest = rest[1..].trim_start();
    Some(next)
}

fn sum(rest: &mut &str, variables: &[f32]) -> Result<f32> {
    let mut value = product(rest, variables)?;
    while let Some(operator) = operator(rest, &['+', '-']) {
        let right = product(rest, variables)?;
        value = if operator == '+' {
            value + right
        } else {
            value - right
        };
    }
    Ok(value)
}

fn product(rest: &mut &str, variables: &[f32]) -> Result<f32> {
    let mut value = factor(rest, variables)?;
    while let Some(operator) = operator(rest, &['*', '/']) {
        let right = factor(rest, variables)?;
        value = if operator == '*' {
            value * right
        } else {
            value / right
        };
    }
    Ok(value)
}

fn factor(rest: &mut &str, variables: &[f32]) -> Result<f32> {
    if operator(rest, &['-']).is_some() {
        return Ok(-factor(rest, variables)?);
    }
    if operator(rest, &['(']).is_some() {
        let value = sum(rest, variables)?;
        operator(rest, &[')']).ok_or("a parenthesis is not closed")?;
        return Ok(value);
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    let (token, behind) = rest.split_at(end.unwrap_or(rest.len()));
    *rest = behind.trim_start();
    let variable = || {
        let letter = token.bytes().next().filter(|_| token.len() == 1)?;
        variables
            .get(usize::from(letter.checked_sub(b'a')?))
            .copied()
    };
    let value = token.parse().ok().or_else(variable);
    Ok(value.ok_or_else(|| format!("`{token}` is neither a number nor a variable"))?)
}

/// The number of results of an expression, all the same on the machine and on the CPU.
pub fn compare(text: &str) -> Result<usize> {
    let kernel = crate::expression::kernel(text)?;
    let is_input = |p: &&Parameter| matches!(p, Parameter::Buffer { written: false, .. });
    let variables = kernel.parameters.iter().filter(is_input).count();
    let count = kernel.parameters.iter().find_map(|p| match p {
        Parameter::Buffer { count, .. } => Some(*count),
        _ => None,
    });
    let inputs: Vec<Vec<f32>> = (0..variables)
        .map(|v| input(v, count.unwrap_or(0)))
        .collect();
    let found = on_machine(&kernel, &inputs)?;
    for (i, found) in found.iter().enumerate() {
        let values: Vec<f32> = inputs.iter().map(|input| input[i]).collect();
        let expected = on_cpu(text, &values)?;
        // Which NaN it is depends on the machine.
        if found.to_bits() != expected.to_bits() && !(found.is_nan() && expected.is_nan()) {
            return Err(format!(
                "{text} of {values:?}: {found} on the machine, {expected} on the CPU"
            )
            .into());
        }
    }
    Ok(found.len())
}
