//! `ptxkit grep`: finds instructions by mnemonic and by their properties.

pub(crate) mod hit;
mod search;

use std::io::Write;

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;

use crate::format::{FormatOptions, TextOrJson};
use crate::functions::Functions;
use crate::input::{self, Files, Source};
use crate::output::{self, Out, Status};
use crate::query::{self, Query};
use search::{FileMatches, Output, Search};

/// Find instructions by mnemonic and by their properties
///
/// The pattern must match the whole mnemonic; `*` matches any characters, `?` matches one. For an unrecognized statement,
/// the first word is compared.
#[derive(Debug, clap::Args)]
#[command(mut_arg("json", |arg| arg.help("Write one JSON object per line of the output; the same as --format json")))]
#[command(after_help = "\
A condition combines fields with `&&`, `||`, `!` and parentheses:
  guarded, !in_loop                        a flag holds, or does not
  bytes>=8, offset!=0, operand(1)==0       == != < <= > >=
  space==shared, opcode!=ld                one of the words of the field; * and ? are wildcards
  reads=='%rd*', function=~gemm            the whole text, or part of it
  after 'bar.sync', before (fence)         every path passes one
  memory(space==global && access==write)   one access satisfies all of it
`ptxkit grep --fields` lists the fields, and `--fields=NAME` the values of one. Words that do not exist are errors.
A comparison holds if it holds for one value of the field, such as the space of one memory access.

Examples:
  ptxkit grep 'ld.global*' --where 'bytes>=8 && !guarded' kernel.ptx
  ptxkit grep '*' --where 'atomic && space==shared' --json build/
  ptxkit grep '*' --where 'in_loop && family==float && type==f64' --count build/
  ptxkit grep 'bar*' --not --list=functions build/        functions without a barrier

Exit status: 0 matches were found, 1 no matches, 2 usage error or a file cannot be read.")]
pub(crate) struct Args {
    /// Pattern for the mnemonic
    #[arg(required = true)]
    pattern: Option<String>,
    #[command(flatten)]
    files: Files,
    /// Condition that the instruction must satisfy
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,
    /// Find instructions that do not match, or with --list, files or functions without a match
    #[arg(long)]
    not: bool,
    #[command(flatten)]
    functions: Functions,
    /// Print the number of matches in each file
    #[arg(short, long, conflicts_with = "list")]
    count: bool,
    /// Print the files or functions that contain a match
    #[arg(short, long, value_enum, value_name = "WHAT", num_args = 0..=1, require_equals = true,
          default_missing_value = "files")]
    list: Option<List>,
    #[command(flatten)]
    format: FormatOptions<TextOrJson>,
    /// List the fields of conditions, or the values of one field
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, exclusive = true,
          default_missing_value = "")]
    fields: Option<String>,
}

#[derive(Copy, Clone, PartialEq, Debug, ValueEnum)]
enum List {
    /// Names of files
    Files,
    /// Names of functions
    Functions,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    if let Some(field) = &args.fields {
        let name = Some(field.as_str()).filter(|f| !f.is_empty());
        let Some(text) = query::fields_text(name) else {
            bail!("there is no field `{field}`; `ptxkit grep --fields` lists them");
        };
        out.write_all(text.as_bytes())?;
        out.flush()?;
        return Ok(Status::Ok);
    }
    let query = match &args.condition {
        Some(text) => Some(Query::parse(text).map_err(|error| anyhow!("--where, {error}"))?),
        None => None,
    };
    let search = Search {
        pattern: args.pattern.as_deref().unwrap_or("*"),
        query,
        not: args.not,
        functions: &args.functions,
        output: match args.list {
            _ if args.count => Output::Count,
            Some(List::Files) => Output::Files,
            Some(List::Functions) => Output::Functions,
            None if args.format.is_json() => Output::Json,
            None => Output::Lines,
        },
    };
    let mut status = Status::Ok;
    let inputs = args.files.list()?;
    let work = |source: Source| {
        let module = ptx_parse::parse_with(source.bytes, &ptx_ir::Limits::default()).module;
        search.file(&source.name, &module)
    };
    let (mut has_matches, mut used) = (false, Vec::new());
    let emit = |out: &mut Out, matches: FileMatches| {
        matches.chosen.note(&mut used);
        has_matches |= matches.has_matches();
        matches.write(args.format.is_json(), out)?;
        Ok(Status::Ok)
    };
    input::in_order(&inputs, &mut out, &mut status, work, emit)?;
    args.functions.check(&used)?;
    out.flush()?;
    if !has_matches && let Some(unknown) = query::unknown_word(search.pattern) {
        output::summary(format_args!("ptxkit: note: {unknown}"));
    }
    status.worsen(Status::of(!has_matches));
    Ok(status)
}
