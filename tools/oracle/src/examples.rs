//! `cargo oracle examples`: the examples of instructions, types, special registers and directives, assembled by ptxas.

use anyhow::{Result, bail};
use ptx_ir::Severity;
use ptx_isa::internals::describe::{directive_module, example_module, register_example};
use ptx_isa::{Directive, Instruction, PtxVersion, ScalarType, SpecialReg, Target};

use crate::assembler::{Assemblers, Job};
use crate::shared::Shared;

/// Examples with the same version and target.
struct Batch<'e> {
    version: PtxVersion,
    target: Target,
    examples: Vec<&'e str>,
}

pub(crate) fn run(shared: &Shared) -> Result<()> {
    let Some(assemblers) = shared.assemblers("EXAMPLES OF INSTRUCTIONS")? else {
        return Ok(());
    };
    println!("{}", assemblers.describe());
    let registers: Vec<String> = SpecialReg::ALL
        .iter()
        .map(|r| register_example(*r).to_string())
        .collect();
    let examples = (Instruction::ALL.iter().flat_map(|i| i.examples()).copied())
        .chain(ScalarType::ALL.iter().filter_map(|ty| ty.example()))
        .chain(registers.iter().map(String::as_str));
    let (mut batches, mut unassembled) = (Vec::new(), 0);
    for example in examples {
        match first_legal(assemblers, example, &batches) {
            Some((version, target)) => add_example(&mut batches, version, target, example),
            None => unassembled += 1,
        }
    }
    let mut refused = 0;
    for batch in &batches {
        refused += judge(assemblers, batch)?;
    }
    refused += directives(assemblers)?;
    let count: usize = batches.iter().map(|b| b.examples.len()).sum();
    println!(
        "{count} examples in {} modules, {refused} refused; {unassembled} for versions that no ptxas here knows",
        batches.len()
    );
    if refused > 0 {
        bail!("ptxas refuses examples");
    }
    Ok(())
}

/// The number of examples of directives that ptxas refuses in all versions that it knows.
fn directives(assemblers: &Assemblers) -> Result<usize> {
    let (mut count, mut refused) = (0, 0);
    for directive in Directive::ALL {
        let Some(example) = directive.example() else {
            continue;
        };
        let target = Target::Sm90;
        let version = PtxVersion::KNOWN
            .iter()
            .copied()
            .rfind(|v| assemblers.of(target, *v).is_some())
            .unwrap_or(PtxVersion::CURRENT);
        let text = directive_module(example, version, target);
        let verdict = assemblers.run(text.to_string().as_bytes(), Job::Check)?;
        count += 1;
        if !verdict.accepted {
            refused += 1;
            println!("{}: {}", directive.text(), verdict.reason());
        }
    }
    println!("{count} examples of directives, {refused} refused");
    Ok(refused)
}

/// The first version and target on which the verifier accepts an example, those of batches first. `None` if ptxas knows none.
fn first_legal(
    assemblers: &Assemblers,
    example: &str,
    batches: &[Batch<'_>],
) -> Option<(PtxVersion, Target)> {
    let mut candidates: Vec<_> = batches.iter().map(|b| (b.version, b.target)).collect();
    for version in PtxVersion::KNOWN.iter().rev().take(8).rev() {
        let supported = Target::ALL.iter().filter(|t| assemblers.supports(**t));
        candidates.extend(supported.map(|target| (*version, *target)));
    }
    candidates.into_iter().find(|&(version, target)| {
        assemblers.of(target, version).is_some()
            && is_legal(&example_module(&[example], version, target).to_string())
    })
}

fn add_example<'e>(
    batches: &mut Vec<Batch<'e>>,
    version: PtxVersion,
    target: Target,
    example: &'e str,
) {
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
}

fn is_legal(text: &str) -> bool {
    let parsed = ptx_parse::parse(text.as_bytes());
    let mut diagnostics = parsed.diagnostics;
    diagnostics.extend(ptx_verify::verify(&parsed.module, &Default::default()));
    diagnostics.iter().all(|d| d.severity != Severity::Error)
}

/// The number of examples that ptxas refuses.
fn judge(assemblers: &Assemblers, batch: &Batch<'_>) -> Result<usize> {
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
