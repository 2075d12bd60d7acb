//! The reference for the results: the value of the expression in the tables, computed in 64 bits and rounded to nearest.
//!
//! It is part of the format of the files, so it does not depend on `ptx-vm`, whose results may become closer to those of GPUs.

use ptx_isa::internals::Expr;
use ptx_isa::{ExprFunction as Function, ScalarType};

use super::domain::Domain;
use super::form::Approximation;

/// One divided by two pi, as the hardware rounds it.
const TURNS: f32 = f32::from_bits(0x3e22_f983);

/// The result for an input.
pub(super) fn nearest(approximation: &Approximation, domain: Domain, input: u32) -> u32 {
    let element = approximation.element;
    let flush = |number: f64| {
        if approximation.flushes() && is_subnormal(element, number) {
            0f64.copysign(number)
        } else {
            number
        }
    };
    let source = flush(domain.number(element, input));
    let assignment = approximation
        .form
        .computation()
        .and_then(|c| c.assignments().first());
    let value = assignment.map_or(f64::NAN, |a| value(a.value(), source, element));
    domain.bits_of(element, flush(value))
}

fn is_subnormal(element: ScalarType, number: f64) -> bool {
    let min_normal = match element {
        ScalarType::F16 => 6.103_515_625e-5,
        ScalarType::F64 => f64::MIN_POSITIVE,
        _ => f32::MIN_POSITIVE.into(),
    };
    number.abs() < min_normal
}

/// The value of an expression with one operand.
fn value(expr: Expr, source: f64, element: ScalarType) -> f64 {
    let Expr::Call(function, arguments) = expr else {
        return match expr {
            Expr::Integer(number) => number as f64,
            Expr::Operand(_) => source,
            _ => f64::NAN,
        };
    };
    let argument = |n: usize| match arguments.get(n) {
        Some(argument) => value(*argument, source, element),
        None => f64::NAN,
    };
    match function {
        Function::Div => argument(0) / argument(1),
        Function::Sqrt => argument(0).sqrt(),
        Function::Exp2 => libm::exp2(argument(0)),
        Function::Log2 => libm::log2(argument(0)),
        Function::Tanh => libm::tanh(argument(0)),
        Function::Sin => sine(turns(argument(0))),
        Function::Cos => sine(0.25 - (turns(argument(0)) % 1.0).abs()),
        Function::Flush => match argument(1) {
            number if is_subnormal(element, number) => 0f64.copysign(number),
            number => number,
        },
        Function::Truncate => {
            let dropped = 53u32.saturating_sub(argument(0) as u32);
            f64::from_bits(argument(1).to_bits() & u64::MAX << dropped)
        }
        _ => f64::NAN,
    }
}

/// An angle as a number of turns, rounded towards zero to 24 bits.
fn turns(radians: f64) -> f64 {
    let turns = radians * f64::from(TURNS);
    f64::from_bits(turns.to_bits() & u64::MAX << 29)
}

/// The sine of a number of turns; exactly zero for multiples of half a turn.
fn sine(turns: f64) -> f64 {
    let fraction = turns % 1.0;
    let reduced = match fraction.abs() {
        0.75.. => fraction - 1f64.copysign(fraction),
        0.25.. => 0.5f64.copysign(fraction) - fraction,
        _ => fraction,
    };
    if reduced == 0.0 {
        0f64.copysign(turns)
    } else {
        libm::sin(reduced * core::f64::consts::TAU)
    }
}

/// The results for a binade.
pub(super) fn binade(approximation: &Approximation, domain: Domain, binade: usize) -> Vec<u32> {
    let mut results = vec![0; domain.size()];
    let chunk_len = chunk_len(results.len());
    std::thread::scope(|scope| {
        for (number, chunk) in results.chunks_mut(chunk_len).enumerate() {
            scope.spawn(move || {
                for (index, result) in chunk.iter_mut().enumerate() {
                    let input = domain.input(binade, number * chunk_len + index);
                    *result = nearest(approximation, domain, input);
                }
            });
        }
    });
    results
}

/// The number of results that a thread of the host computes.
pub(super) fn chunk_len(results: usize) -> usize {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    results.div_ceil(threads).max(1 << 12)
}
