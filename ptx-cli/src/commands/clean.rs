//! `ptxkit clean`: removes the parts that a module does not need, and simplifies it.

use std::io::Write;

use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use ptx_transform::Rewriting;
use ptx_transform::clean::{Options, Pass, Report};
use serde::Serialize;

use super::rewrite::{self, ParsedSource};
use crate::destination::Destination;
use crate::input::Files;
use crate::output::{self, Out, Status};
use ptx_report::demangle::display_name;
use ptx_report::{SCHEMA, clean, counted};

/// Simplify files: eliminate dead and unreachable code, fold constants, propagate copies, infer address spaces
///
/// Without options, all clean-ups but vectorization run until nothing changes. All bytes outside of changed statements stay unchanged.
/// By default the result goes to standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit clean kernel.ptx > cleaned.ptx
  ptxkit clean --dead --copies kernel.ptx | ptxkit check -
  ptxkit clean --explain kernel.ptx          list the changes and their reasons")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    destination: Destination,
    #[command(flatten)]
    passes: Passes,
    /// List every change with its line and reason instead of writing the file
    #[arg(long)]
    explain: bool,
}

/// A change.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonChange<'a> {
    schema: u32,
    file: &'a str,
    line: u32,
    column: u32,
    function: &'a str,
    /// The statement before all changes.
    text: String,
    pass: &'static str,
    why: &'a str,
}

/// The selected clean-ups. Each has an option.
#[derive(Debug)]
struct Passes(Vec<Pass>);

impl clap::Args for Passes {
    fn augment_args(command: Command) -> Command {
        command.args(Pass::ALL.iter().map(|pass| {
            let mut term = pass.term().to_owned();
            term[..1].make_ascii_uppercase();
            Arg::new(pass.name())
                .long(pass.name())
                .help(format!("{term}: {}", pass.summary()))
                .action(ArgAction::SetTrue)
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Passes {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let selected = Pass::ALL
            .iter()
            .copied()
            .filter(|pass| matches.get_flag(pass.name()))
            .collect();
        Ok(Self(selected))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let options = match &args.passes.0[..] {
        [] => Options::default(),
        passes => Options::default().with_passes(passes),
    };
    if args.explain {
        return rewrite::visit(&args.files, |out, parsed| {
            let cleaned = clean_up(&parsed, &options);
            explain(out, args.destination.is_json(), &parsed, &cleaned.report)
        });
    }
    rewrite::rewrite(&args.files, &args.destination, |out, writer, parsed| {
        let cleaned = clean_up(&parsed, &options);
        let status = writer.write(out, &parsed.source, cleaned.text())?;
        output::success(format_args!(
            "{}: {}",
            parsed.source.name,
            summary(&cleaned.report)
        ));
        Ok(status)
    })
}

/// The number of changes, in total and by clean-up: `5 changes: dead 3, copies 2`.
fn summary(report: &Report) -> String {
    if report.changes.is_empty() {
        return "nothing to change".to_owned();
    }
    let passes: Vec<String> = Pass::ALL
        .iter()
        .filter_map(|pass| {
            let changes = report.changes.iter().filter(|c| c.pass == *pass);
            let count = changes.count();
            (count > 0).then(|| format!("{} {count}", pass.name()))
        })
        .collect();
    let changes = counted(report.changes.len(), "change");
    format!("{changes}: {}", passes.join(", "))
}

/// Cleans a module up. Reports the functions that are left unchanged on standard error.
fn clean_up(parsed: &ParsedSource, options: &Options) -> Rewriting<Report> {
    let cleaned = ptx_transform::clean::clean(&parsed.module, options);
    for skipped in &cleaned.report.skipped {
        let function = parsed.module.functions().get(skipped.function);
        let name = function.map_or("", |f| parsed.module.name(f.name));
        output::note(format_args!(
            "ptxkit: warning: {}: `{}` is left unchanged: {}",
            parsed.source.name,
            display_name(name),
            skipped.reason
        ));
    }
    cleaned
}

/// Lists the changes with their reasons.
fn explain(out: &mut Out, is_json: bool, parsed: &ParsedSource, report: &Report) -> Result<Status> {
    let (name, bytes) = (&parsed.source.name, &*parsed.source.bytes);
    let mut changes: Vec<_> = report.changes.iter().collect();
    changes.sort_by_key(|c| c.span.start);
    for change in changes {
        let position = parsed.lines.position(change.span.start);
        let text = String::from_utf8_lossy(change.span.of(bytes));
        let words: Vec<&str> = text.split_whitespace().collect();
        let function = parsed.module.functions().get(change.function);
        let change = JsonChange {
            schema: SCHEMA,
            file: name,
            line: position.line,
            column: position.column,
            function: function.map_or("", |f| parsed.module.name(f.name)),
            text: clean(&words.join(" ")).into_owned(),
            pass: change.pass.name(),
            why: &change.why,
        };
        if is_json {
            out.json(&change)?;
        } else {
            let JsonChange {
                line,
                text,
                pass,
                why,
                ..
            } = change;
            writeln!(out, "{name}:{line}: {text}: {pass}: {why}")?;
        }
    }
    Ok(Status::Ok)
}
