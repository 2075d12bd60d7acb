//! A compiler of arithmetic: `(a - b) * -a / 3 + 0.5` becomes a kernel that computes it for every element of arrays.
//! `cargo run -p ptx-examples --bin expression -- 'a * a + b'`

use ptx_build::{FunctionBuilder, ModuleBuilder, OperandExpr, Reg, at, select};
use ptx_ir::Linkage;
use ptx_isa::{Component, PtxVersion, ScalarType as T, SpecialReg, Target};

use crate::kernel::{Element, Kernel, Parameter};

const COUNT: u32 = 1000;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Returns the precedence of an operator; `~` is the sign of a negative value. A parenthesis has the lowest precedence.
fn precedence(operator: char) -> u8 {
    match operator {
        '+' | '-' => 1,
        '*' | '/' => 2,
        '~' => 3,
        _ => 0,
    }
}

/// Emits an instruction for an operator, whose operands are the last values.
fn reduce(
    k: &mut FunctionBuilder<'_>,
    operator: char,
    values: &mut Vec<OperandExpr>,
) -> Result<()> {
    let b = values.pop().ok_or("a value is missing")?;
    let d = k.reg(T::F32);
    let emitted = if operator == '~' {
        k.neg().f32((d, b))
    } else {
        let a = values.pop().ok_or("a value is missing")?;
        match operator {
            '+' => k.add().rn().f32((d, a, b)),
            '-' => k.sub().rn().f32((d, a, b)),
            '*' => k.mul().rn().f32((d, a, b)),
            '/' => k.div().rn().f32((d, a, b)),
            _ => return Err("a parenthesis is not closed".into()),
        }
    };
    values.push(d.into());
    Ok(emitted?)
}

/// Emits instructions for an expression and returns its value. `variables` are the registers of the letters `a`, `b`, …
fn value(k: &mut FunctionBuilder<'_>, text: &str, variables: &[Reg]) -> Result<OperandExpr> {
    let (mut values, mut operators): (Vec<OperandExpr>, Vec<char>) = (Vec::new(), Vec::new());
    let mut input = text.trim_start();
    // Whether the next token is a value, not an operator.
    let mut expects_value = true;
    while let Some(next) = input.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '.';
        let end = input
            .find(|c| !is_word(c))
            .unwrap_or(input.len())
            .max(next.len_utf8());
        let (token, remaining) = input.split_at(if is_word(next) { end } else { next.len_utf8() });
        input = remaining.trim_start();
        let begins_value = is_word(next) || next == '(';
        match next {
            '-' if expects_value => operators.push('~'),
            _ if begins_value != expects_value => {
                return Err(format!("`{token}` is not expected here").into());
            }
            '(' => operators.push('('),
            ')' => {
                while let Some(operator) = operators.pop_if(|last| *last != '(') {
                    reduce(k, operator, &mut values)?;
                }
                operators.pop().ok_or("a parenthesis is not opened")?;
            }
            _ if precedence(next) > 0 => {
                while let Some(last) =
                    operators.pop_if(|last| precedence(*last) >= precedence(next))
                {
                    reduce(k, last, &mut values)?;
                }
                operators.push(next);
            }
            _ => values.push(match token.parse::<f32>() {
                Ok(number) => number.into(),
                Err(_) => letter(token)
                    .and_then(|n| variables.get(n))
                    .map(|r| (*r).into())
                    .ok_or_else(|| format!("`{token}` is neither a number nor a variable"))?,
            }),
        }
        expects_value = !matches!(next, ')') && !is_word(next);
    }
    while let Some(operator) = operators.pop() {
        reduce(k, operator, &mut values)?;
    }
    Ok(values.pop().ok_or("there is no expression")?)
}

fn letter(token: &str) -> Option<usize> {
    let &[letter @ b'a'..=b'h'] = token.as_bytes() else {
        return None;
    };
    Some(usize::from(letter - b'a'))
}

/// `expression(n, out, a, b, …)`: `out[i]` for `i < n`, with the arrays up to the last letter that is used.
pub fn kernel(text: &str) -> Result<Kernel> {
    let letters = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter_map(letter);
    let names = (b'a'..)
        .take(letters.max().map_or(0, |n| n + 1))
        .map(|c| char::from(c).to_string());
    let inputs: Vec<String> = names.collect();
    let mut m = ModuleBuilder::new(PtxVersion::new(7, 0), Target::Sm70);
    let mut k = m.kernel("expression")?;
    k.linkage(Linkage::Visible).comment(text);
    let (n, out) = (k.param(T::U32, "n")?, k.param(T::U64, "out")?);
    let params = inputs
        .iter()
        .map(|name| k.param(T::U64, name))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let [i, block, size, count] = [(); 4].map(|()| k.reg(T::B32));
    let (address, offset, outside) = (k.reg(T::B64), k.reg(T::B64), k.reg(T::Pred));
    k.mov()
        .u32((block, select(SpecialReg::Ctaid, Component::X)))?;
    k.mov()
        .u32((size, select(SpecialReg::Ntid, Component::X)))?;
    k.mov().u32((i, select(SpecialReg::Tid, Component::X)))?;
    k.mad().lo().u32((i, block, size, i))?;
    k.ld().param().u32((count, at(n)))?;
    k.setp().ge().u32((outside, i, count))?;
    k.guard(outside).ret().emit(())?;
    k.mul().wide().u32((offset, i, 4))?;
    let mut variables = Vec::new();
    for param in params {
        let (from, v) = (k.reg(T::B64), k.reg(T::F32));
        k.ld().param().u64((from, at(param)))?;
        k.add().s64((from, from, offset))?;
        k.ld().global().f32((v, at(from)))?;
        variables.push(v);
    }
    let result = value(&mut k, text, &variables)?;
    k.ld().param().u64((address, at(out)))?;
    k.add().s64((address, address, offset))?;
    k.st().global().f32((at(address), result))?;
    k.ret().emit(())?;
    k.finish()?;
    let count = COUNT as usize;
    let mut parameters = vec![
        Parameter::U32(COUNT),
        Parameter::output("out", Element::F32, count),
    ];
    parameters.extend(
        inputs
            .iter()
            .map(|name| Parameter::input(name, Element::F32, count)),
    );
    Ok(Kernel::new(
        m,
        "expression",
        parameters,
        [[COUNT.div_ceil(256), 1, 1], [256, 1, 1]],
    )?)
}
