//! The attention kernel on the virtual machine, with all checkers, compared with the CPU.
#![allow(clippy::unwrap_used, reason = "tests")]

use ptx_examples::attention::{LENGTH, kernel};
use ptx_vm::{Checker, Launch, Machine};

/// The bits of a multiple of 1/8 below 2 in half precision.
fn half(eighths: i32) -> u16 {
    let magnitude = eighths.unsigned_abs();
    let sign = u16::from(eighths < 0) << 15;
    match magnitude.checked_ilog2() {
        None => sign,
        Some(power) => {
            let fraction = (magnitude ^ 1 << power) << (10 - power);
            sign | ((12 + power) << 10 | fraction) as u16
        }
    }
}

/// The rows of the result, in double precision.
fn expected([q, keys, values]: [&[f64]; 3]) -> Vec<f64> {
    let mut rows = Vec::new();
    for query in q.chunks(64) {
        let score = |key: &[f64]| query.iter().zip(key).map(|(a, b)| a * b).sum::<f64>() / 8.0;
        let weights: Vec<f64> = keys.chunks(64).map(|key| score(key).exp()).collect();
        let total: f64 = weights.iter().sum();
        for column in 0..64 {
            let terms = weights.iter().zip(values.chunks(64));
            rows.push(terms.map(|(w, value)| w * value[column]).sum::<f64>() / total);
        }
    }
    rows
}

#[test]
fn the_result_is_that_of_the_cpu() {
    let kernel = kernel().unwrap();
    let module = ptx_parse::parse_str(&kernel.text).into_result().unwrap();
    let mut machine = Machine::new(&module);
    let count = 64 * LENGTH as usize;
    let mut random = 1u32;
    let mut inputs = [(); 3].map(|()| Vec::new());
    let mut launch = Launch::new(kernel.name).shape(kernel.grid[0], kernel.block[0]);
    for input in &mut inputs {
        let eighths: Vec<i32> = (0..count)
            .map(|_| {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (random >> 24) as i32 % 31 - 15
            })
            .collect();
        let halves: Vec<u16> = eighths.iter().map(|&n| half(n)).collect();
        let address = machine.allocate(2 * count as u64).unwrap();
        machine.write_slice(address, &halves).unwrap();
        launch = launch.argument(address.to_le_bytes());
        *input = eighths.iter().map(|&n| f64::from(n) / 8.0).collect();
    }
    let output = machine.allocate(4 * count as u64).unwrap();
    launch = launch
        .argument(output.to_le_bytes())
        .argument(LENGTH.to_le_bytes());
    let launch = Checker::ALL.into_iter().fold(launch, Launch::check);
    machine.launch(&launch).unwrap();
    assert_eq!(machine.reports().len(), 0, "{:?}", machine.reports());
    let result: Vec<f32> = machine.read_slice(output, count).unwrap();
    let expected = expected([&inputs[0], &inputs[1], &inputs[2]]);
    for (n, (result, expected)) in result.iter().zip(expected).enumerate() {
        // Weights have half precision.
        assert!(
            (f64::from(*result) - expected).abs() < 2e-3,
            "{n}: {result} {expected}"
        );
    }
}
