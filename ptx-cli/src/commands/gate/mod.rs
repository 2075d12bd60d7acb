//! `ptxkit gate`: fails if kernels exceed limits, or contain denied instructions.

mod examine;
mod rules;

use anyhow::{Result, anyhow, bail};

use super::check::report::{Reporter, Reporting};
use crate::assembler::Assembler;
use crate::config::ConfigFile;
use crate::functions::Functions;
use crate::input::{self, Files};
use crate::metrics;
use crate::occupancy::LaunchOptions;
use crate::output::{self, Out, Status};
use examine::Gate;
use rules::{Amount, Bound, Denied, Limit, Section};

/// Fail if kernels exceed limits or contain denied instructions
///
/// Limits and denied instructions come from the options and from the section `gate` of ptxkit.toml in the current directory or above it, which
/// can contain different ones for individual kernels; docs/gates.md describes it. Limits apply to kernels, or to the functions selected by --function; denied
/// instructions apply to all functions.
///
/// A comment `// ptxkit: allow(denied-instruction)`, `allow(above-limit)` or `allow(below-limit)` permits the instruction, or the findings in the function, after it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = help())]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    functions: Functions,
    /// Fail if a metric of a kernel is above a value, such as pressure=64 or shared=48K. May be repeated
    #[arg(long, value_name = "METRIC=VALUE", value_parser = Amount::parse)]
    max: Vec<Amount>,
    /// Fail if a metric of a kernel is below a value
    #[arg(long, value_name = "METRIC=VALUE", value_parser = Amount::parse)]
    min: Vec<Amount>,
    /// Fail if such an instruction exists: `ld.generic in loops`, `*.f64`, or a condition as for `ptxkit grep --where`.
    /// May be repeated
    #[arg(long, value_name = "INSTRUCTIONS")]
    deny: Vec<String>,
    /// Succeed even if no kernel matches the limits
    #[arg(long)]
    allow_no_match: bool,
    #[command(flatten)]
    launch: LaunchOptions,
    #[command(flatten)]
    assembler: Assembler,
    #[command(flatten)]
    reporting: Reporting,
    #[command(flatten)]
    config: ConfigFile,
}

fn help() -> String {
    format!(
        "\
A denied instruction is a pattern or a condition, optionally followed by `in loops` and by `where` with a condition:
  ld.generic in loops             loads through generic addresses
  *.f64                           all double-precision instructions
  st.global where bytes<4         narrow stores
  atomic && space==shared         a condition as for `ptxkit grep --where`
A pattern consists of an opcode and modifiers in any order; the instruction may have further modifiers. `generic` means no state space.

{}
Examples:
  ptxkit gate --max pressure=64 --max shared=48K kernel.ptx
  ptxkit gate --deny 'ld.generic in loops' --function 'gemm*' build/
  ptxkit gate --ptxas /usr/local/cuda/bin/ptxas --max spills=0 --min sass.LDG.128=4 kernel.ptx
  ptxkit gate --min occupancy=50 --block 256 --shared 65536 kernel.ptx
  ptxkit gate --format github build/            the rules of ptxkit.toml",
        metrics::help()
    )
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let sections = sections(args)?;
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list()?;
    let mut reporter = Reporter::new(&args.reporting)?;
    reporter.begin(&mut out)?;
    let gate = Gate {
        sections: &sections,
        functions: &args.functions,
        assembler: &args.assembler,
        launch: args.launch.sizes(),
    };
    let mut matched = vec![false; sections.len()];
    let mut used = Vec::new();
    let work = |source| gate.examine(source);
    input::in_order(&inputs, &mut out, &mut status, work, |out, examined| {
        let mut examined = examined?;
        examined.checked.chosen.note(&mut used);
        for (is_matched, is_matched_here) in matched.iter_mut().zip(&examined.matched) {
            *is_matched |= is_matched_here;
        }
        let (errors, _) = reporter.report(&mut examined.checked, out)?;
        if let Some(refusal) = &examined.refusal {
            let name = &examined.checked.source.name;
            output::note(format_args!("{name}: no metrics from ptxas: {refusal}"));
        }
        Ok(Status::of(errors > 0 || examined.refusal.is_some()))
    })?;
    args.functions.check(&used)?;
    reporter.end(&mut out)?;
    reporter.summary(inputs.len(), status, "all limits are met");
    if status != Status::UsageError && !args.allow_no_match {
        expect_matches(&sections, &matched)?;
    }
    Ok(status)
}

/// The rules of the configuration file, then the rules of the command line, whose limits replace those of the file.
fn sections(args: &Args) -> Result<Vec<Section>> {
    let mut sections = match args.config.read()? {
        Some(text) => rules::read(&text, text.parse()?.get_ref())?,
        None => Vec::new(),
    };
    let limit = |bound, name: &str, amount: &Amount| Limit {
        bound,
        place: format!("--{name} {}={}", amount.written_name, amount.value),
        amount: amount.clone(),
    };
    let max = args
        .max
        .iter()
        .map(|amount| limit(Bound::Max, "max", amount));
    let min = args
        .min
        .iter()
        .map(|amount| limit(Bound::Min, "min", amount));
    let denied = args
        .deny
        .iter()
        .map(|text| {
            Denied::parse(text, "--deny".to_owned()).map_err(|error| anyhow!("--deny, {error}"))
        })
        .collect::<Result<_>>()?;
    sections.push(Section {
        place: "command line".to_owned(),
        limits: max.chain(min).collect(),
        denied,
        ..Section::default()
    });
    if sections
        .iter()
        .all(|s| s.limits.is_empty() && s.denied.is_empty())
    {
        bail!(
            "nothing to check: expected --max, --min, --deny, or a ptxkit.toml with a section `gate`"
        );
    }
    let limit_for_ptxas = sections
        .iter()
        .flat_map(|section| &section.limits)
        .find(|limit| args.assembler.ptxas.is_none() && limit.amount.metric.needs_ptxas());
    if let Some(limit) = limit_for_ptxas {
        let (name, place) = (&limit.amount.written_name, &limit.place);
        bail!("{place}: `{name}` requires ptxas; specify its path with `--ptxas PATH`");
    }
    Ok(sections)
}

/// Checks that every rule applies to a function.
fn expect_matches(sections: &[Section], matched: &[bool]) -> Result<()> {
    for (section, is_matched) in sections.iter().zip(matched) {
        if *is_matched {
            continue;
        }
        match &section.function {
            Some(_) if section.optional => {}
            Some(name) => bail!(
                "{}: no function `{name}` with a body; `optional = true` permits that",
                section.place
            ),
            None if section.limits.is_empty() => {}
            None => bail!(
                "no kernel matches the limits; use `--function` to select other functions, or `--allow-no-match` to permit this"
            ),
        }
    }
    Ok(())
}
