//! `cargo oracle pressure`: the rank correlation between live registers, as `ptx-analysis` counts them, and the registers that ptxas
//! allocates to each kernel (`ptxas -v`). ptxas unrolls, reorders and rematerializes, so the correlation is high, not perfect.

use anyhow::{Result, bail};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_ir::facts::ModuleFacts;
use rayon::prelude::*;

use crate::assembler::Job;
use crate::shared::Shared;

/// Arguments of `cargo oracle pressure`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of files
    #[arg(long, default_value_t = 100)]
    pub(crate) sample: usize,
}

/// The largest file: code generation of larger ones takes too long.
const LARGEST: u64 = 200_000;

/// The lowest rank correlation. Samples of 100 files have 0.55 to 0.72; a smaller sample varies too much to be judged.
const CORRELATION: f64 = 0.4;

pub(crate) fn run(args: &Args, shared: &Shared) -> Result<()> {
    let Some(assemblers) = shared.assemblers("COMPARISON OF REGISTERS")? else {
        return Ok(());
    };
    let chosen = shared.sample(&shared.accepted(), args.sample, LARGEST);
    let file_pairs: Vec<Vec<(u32, u32)>> = chosen
        .par_iter()
        .map(|entry| {
            let text = entry.text()?;
            let verdict = assemblers.run(text, Job::Verbose)?;
            Ok(pairs(text, &verdict.output))
        })
        .collect::<Result<_>>()?;
    let kernels = file_pairs.concat();
    let Some(rho) = spearman(&kernels) else {
        bail!("{} kernels are too few or too similar", kernels.len());
    };
    println!(
        "{}: {} kernels of {} files; rank correlation of live registers and allocated registers: {rho:.3}",
        assemblers.describe(),
        kernels.len(),
        chosen.len()
    );
    if rho < CORRELATION {
        bail!("the correlation has to be at least {CORRELATION}");
    }
    Ok(())
}

/// For each kernel the highest number of live registers, and the number that ptxas reports.
fn pairs(text: &[u8], output: &str) -> Vec<(u32, u32)> {
    let module = ptx_parse::parse(text).module;
    let facts = ModuleFacts::new(&module);
    let mut kernel = None;
    let mut pairs = Vec::new();
    for line in output.lines() {
        if let Some((_, name)) = line.split_once("Compiling entry function '") {
            kernel = name.split('\'').next().and_then(|n| module.function(n));
        }
        let allocated = line
            .split_once(": Used ")
            .and_then(|(_, number)| number.split(' ').next()?.parse().ok());
        let kernel_facts = kernel.and_then(|k| facts.function(k));
        if let (Some(allocated), Some(kernel_facts)) = (allocated, kernel_facts) {
            let live = FunctionAnalysis::new(kernel_facts).pressure().units;
            pairs.push((live, allocated));
            kernel = None;
        }
    }
    pairs
}

/// Spearman's rank correlation; equal values share the mean of their ranks. `None` if one side is constant.
fn spearman(pairs: &[(u32, u32)]) -> Option<f64> {
    let (live, allocated): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
    let (live, allocated) = (ranks(&live), ranks(&allocated));
    let mean = (pairs.len() as f64 + 1.0) / 2.0;
    let covariance = |a: &[f64], b: &[f64]| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    let deviation = (covariance(&live, &live) * covariance(&allocated, &allocated)).sqrt();
    (deviation > 0.0).then(|| covariance(&live, &allocated) / deviation)
}

/// The rank of each value, counted from one.
fn ranks(values: &[u32]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    values
        .iter()
        .map(|value| {
            let less = sorted.partition_point(|v| v < value);
            let less_or_equal = sorted.partition_point(|v| v <= value);
            (less + less_or_equal + 1) as f64 / 2.0
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_correlation() {
        assert_eq!(ranks(&[30, 10, 20, 20]), [4.0, 1.0, 2.5, 2.5]);
        assert_eq!(spearman(&[(1, 10), (2, 100), (3, 101)]), Some(1.0));
        assert_eq!(spearman(&[(1, 3), (2, 2), (3, 1)]), Some(-1.0));
        assert_eq!(spearman(&[(1, 3), (1, 2)]), None);
        // 1 - 6 Σd² / (n (n² - 1)), with d = 1, 1, 1, 1, 0.
        let rho = spearman(&[(1, 2), (2, 1), (3, 4), (4, 3), (5, 5)]);
        assert!(rho.is_some_and(|r| (r - 0.8).abs() < 1e-12));
    }

    #[test]
    fn registers_are_read_from_the_output() {
        let text =
            b".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n.reg .b32 %r<3>;\n\
            mov.b32 %r1, 1;\nmov.b32 %r2, 2;\nadd.s32 %r1, %r1, %r2;\nret;\n}\n";
        let output = "ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function 'k' for 'sm_80'\n\
            ptxas info    : Function properties for k\n    0 bytes stack frame\n\
            ptxas info    : Used 4 registers, used 0 barriers\n";
        assert_eq!(pairs(text, output), [(2, 4)]);
    }
}
