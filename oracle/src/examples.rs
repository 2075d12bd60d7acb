//! `cargo oracle examples`: the examples of the instructions, assembled by ptxas.

use anyhow::{Result, bail};
use ptx_ir::Severity;
use ptx_isa::describe::example_module;
use ptx_isa::{Instruction, PtxVersion, Target};

use crate::assembler::{Assemblers, Job};
use crate::shared::Shared;

/// Examples with the same version and target.
struct Batch {
    version: PtxVersion,
    target: Target,
    examples: Vec<&'static str>,
}

pub(crate) fn run(shared: &Shared) -> Result<()> {
    let Some(assemblers) = shared.assemblers("EXAMPLES OF INSTRUCTIONS")? else {
        return Ok(());
    };
    println!("{}", assemblers.describe());
    let (mut batches, mut unplaced) = (Vec::new(), 0);
    let all = Instruction::ALL.iter().flat_map(|i| i.examples());
    all.for_each(|example| unplaced += usize::from(!place(assemblers, example, &mut batches)));
    let mut refused = 0;
    for batch in &batches {
        refused += judge(assemblers, batch)?;
    }
    let count: usize = batches.iter().map(|b| b.examples.len()).sum();
    println!(
        "{count} examples in {} modules, {refused} refused; {unplaced} for versions that no ptxas here knows",
        batches.len()
    );
    if refused > 0 {
        bail!("ptxas refuses examples");
    }
    Ok(())
}

/// Adds an example to the batch of the first version and target on which the verifier accepts it; false if ptxas knows none.
fn place(assemblers: &Assemblers, example: &'static str, batches: &mut Vec<Batch>) -> bool {
    let known = batches.iter().map(|b| (b.version, b.target));
    let mut places: Vec<_> = known.collect();
    for version in PtxVersion::KNOWN.iter().rev().take(8).rev() {
        let supported = Target::ALL.iter().filter(|t| assemblers.supports(**t));
        places.extend(supported.map(|target| (*version, *target)));
    }
    let accepts = |&(version, target): &(PtxVersion, Target)| {
        let known = assemblers.of(target, version).is_some();
        let text = || example_module(&[example], version, target).to_string();
        known && is_legal(&text())
    };
    let Some((version, target)) = places.into_iter().find(accepts) else {
        return false;
    };
    match batches
        .iter_mut()
        .find(|b| (b.version, b.target) == (version, target))
    {
        Some(batch) => batch.examples.push(example),
        None => batches.push(Batch {
            version,
            target,
            examples: vec![example],
        }),
    }
    true
}

fn is_legal(text: &str) -> bool {
    let parsed = ptx_parse::parse(text.as_bytes());
    let mut diagnostics = parsed.diagnostics;
    diagnostics.extend(ptx_verify::verify(&parsed.module, &Default::default()));
    diagnostics.iter().all(|d| d.severity != Severity::Error)
}

/// The number of examples that ptxas refuses.
fn judge(assemblers: &Assemblers, batch: &Batch) -> Result<usize> {
    let assemble = |examples: &[&str]| {
        let text = example_module(examples, batch.version, batch.target).to_string();
        assemblers.run(text.as_bytes(), Job::Check)
    };
    if assemble(&batch.examples)?.accepted {
        return Ok(0);
    }
    let mut refused = 0;
    for &example in &batch.examples {
        let verdict = assemble(&[example])?;
        if !verdict.accepted {
            refused += 1;
            println!(
                "{} {}: {example}: {}",
                batch.version,
                batch.target,
                verdict.reason()
            );
        }
    }
    // The module has an error even if each of its kernels is accepted alone.
    Ok(refused.max(1))
}
