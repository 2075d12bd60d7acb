//! The command line.

use std::env;
use std::ffi::OsString;
use std::sync::LazyLock;
use std::time::Instant;

use anyhow::Result;
use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::commands::{
    callgraph, cfg, check, clean, debug, diff, dump, exec, explain, explore, extract, fmt, gate,
    grep, instrument, line_info, link, lint, list, litmus, lsp, minify, rename, report, requires,
    retarget, rewrite, run, sass, source, stats, table,
};
use crate::generate::Generate;
use crate::output::{self, Color, Status, Verbosity};
use ptx_isa::PtxVersion;
use ptx_report::demangle;

const EXAMPLES: &str = "\
Examples:
  ptxkit check kernel.ptx                 report all errors with the source lines
  ptxkit check --format short build/      one line per error, for a whole directory
  nvcc -ptx -o - a.cu | ptxkit fmt -      format standard input
  ptxkit stats --json *.ptx               statistics as JSON

A directory means every .ptx file in it and its subdirectories; `-` means standard input.

Exit status: 0 success, 1 errors or other findings, 2 usage error or a file cannot be read,
3 an error while `run` executed a kernel.";

/// The commands in the order of the help, by what they are for.
const GROUPS: [(&str, &[&str]); 8] = [
    (
        "Check",
        &["check", "lint", "gate", "requires", "explain", "lsp"],
    ),
    (
        "Analyze",
        &[
            "stats",
            "report",
            "source",
            "sass",
            "cfg",
            "callgraph",
            "grep",
            "diff",
            "dump",
            "table",
        ],
    ),
    ("Run", &["run", "exec", "explore", "litmus"]),
    (
        "Rewrite",
        &[
            "fmt",
            "clean",
            "strip",
            "minify",
            "renumber",
            "flatten",
            "rename",
            "retarget",
            "instrument",
            "line-info",
        ],
    ),
    ("Combine", &["extract", "link"]),
    ("Unpack", &["list"]),
    ("Debug", &["debug"]),
    ("Help", &["help"]),
];

/// The version of the program, the newest PTX version that it knows, and the features that it was built with.
static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    let built: Vec<&str> = [
        ("lsp", cfg!(feature = "lsp")),
        ("png", cfg!(feature = "png")),
        ("table", cfg!(feature = "table")),
    ]
    .into_iter()
    .filter(|(_, is_built)| *is_built)
    .map(|(name, _)| name)
    .collect();
    let features = match built.as_slice() {
        [] => "none".to_owned(),
        built => built.join(", "),
    };
    format!(
        "{}\nPTX: up to {}\nfeatures: {features}",
        env!("CARGO_PKG_VERSION"),
        PtxVersion::CURRENT
    )
});

/// The template of the main help, in which the commands are grouped.
fn grouped_help(command: &clap::Command) -> String {
    let header = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (title, names) in GROUPS {
        text += &format!("\n{header}{title}:{header:#}\n");
        for name in names {
            let subcommand = command.find_subcommand(name);
            let about = subcommand.and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            // The details after a colon are in the help of the command.
            let sentence = about.split(": ").next().unwrap_or_default();
            text += &format!("  {literal}{name:10}{literal:#}  {sentence}\n");
        }
    }
    text + &format!("\n{header}Options:{header:#}\n{{options}}{{after-help}}")
}

/// Check, analyze, format and rewrite PTX, the assembly language of NVIDIA GPUs.
#[derive(Debug, Parser)]
#[command(name = "ptxkit", version, long_version = LONG_VERSION.as_str(), after_help = EXAMPLES, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// Use at most this many threads
    #[arg(short, long, global = true, value_name = "N", value_parser = threads)]
    jobs: Option<usize>,
    /// Print no summaries and notes on standard error
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Print the files that are read and the time that each takes on standard error
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    verbose: bool,
    /// Use colors; `auto` means on a terminal, unless the environment variable NO_COLOR is set or TERM is `dumb`
    #[arg(long, value_enum, global = true, default_value_t = Color::Auto, value_name = "WHEN")]
    color: Color,
    /// Print the mangled names of C++ and Rust functions and variables
    #[arg(long, global = true)]
    no_demangle: bool,
    /// Write a man page or shell completions to standard output
    #[arg(long, value_enum, exclusive = true, value_name = "WHAT")]
    generate: Option<Generate>,
}

/// The largest number of threads that the command line accepts.
const MAX_THREADS: usize = 1024;

/// Parses a number of threads.
fn threads(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|n| (1..=MAX_THREADS).contains(n))
        .ok_or_else(|| format!("expected a number of threads from 1 to {MAX_THREADS}"))
}

/// Declares the commands with their options and functions.
macro_rules! commands {
    ($($(#[$attribute:meta])* $name:ident($args:ty) => $run:expr,)*) => {
        #[derive(Debug, Subcommand)]
        #[command(defer = true)]
        enum Command {
            $($(#[$attribute])* $name($args),)*
        }

        impl Command {
            fn run(self) -> Result<Status> {
                match self {
                    $(Self::$name(args) => $run(&args),)*
                }
            }
        }
    };
}

commands! {
    Check(check::Args) => check::run,
    Lint(lint::Args) => lint::run,
    Gate(gate::Args) => gate::run,
    Requires(requires::Args) => requires::run,
    Retarget(retarget::Args) => retarget::run,
    Clean(clean::Args) => clean::run,
    Extract(extract::Args) => extract::run,
    Link(link::Args) => link::run,
    List(list::Args) => list::run,
    Fmt(fmt::Args) => fmt::run,
    Rename(rename::Args) => rename::run,
    /// Remove comments and debug information
    ///
    /// Also removes `.loc`, `.file`, debug sections, the option `debug` of `.target` and line markers. Everything else stays,
    /// such as `.pragma`. By default the result goes to standard output.
    #[command(after_help = "\
Examples:
  ptxkit strip kernel.ptx > bare.ptx")]
    Strip(rewrite::Args) => |args| rewrite::run(args, ptx_transform::strip),
    LineInfo(line_info::Args) => line_info::run,
    Minify(minify::Args) => minify::run,
    /// Number the registers of each range without gaps
    ///
    /// Unused registers are removed, and the counts of declarations are reduced. A range whose members have the same names as
    /// other declarations keeps its numbers. By default the result goes to standard output.
    #[command(after_help = "\
Examples:
  ptxkit renumber kernel.ptx > dense.ptx")]
    Renumber(rewrite::Args) => |args| rewrite::run(args, ptx_transform::renumber),
    /// Remove the inner scopes `{ }` of functions
    ///
    /// Names that are declared in several scopes get numbers: `param0` becomes `param0_1`. By default the result goes to standard output.
    #[command(after_help = "\
Examples:
  ptxkit flatten kernel.ptx | ptxkit renumber - > flat.ptx")]
    Flatten(rewrite::Args) => |args| rewrite::run(args, ptx_transform::flatten),
    Stats(stats::Args) => stats::run,
    Report(report::Args) => report::run,
    Source(source::Args) => source::run,
    Sass(sass::Args) => sass::run,
    Diff(diff::Args) => diff::run,
    Run(Box<run::Args>) => run::run,
    Exec(Box<exec::Args>) => exec::run,
    Explore(Box<explore::Args>) => explore::run,
    Litmus(litmus::Args) => litmus::run,
    Dump(dump::Args) => dump::run,
    Table(table::Args) => table::run,
    Cfg(cfg::Args) => cfg::run,
    Callgraph(callgraph::Args) => callgraph::run,
    Grep(grep::Args) => grep::run,
    Instrument(instrument::Args) => instrument::run,
    Explain(explain::Args) => explain::run,
    Lsp(lsp::Args) => lsp::run,
    #[command(hide = true)]
    Debug(debug::Args) => debug::run,
}

/// Parses the command line and runs the command. A usage error ends the program here.
pub(crate) fn run() -> Result<Status> {
    let start = Instant::now();
    let matches = matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    output::set_json(is_json(&matches));
    output::set_verbosity(match (cli.quiet, cli.verbose) {
        (true, _) => Verbosity::Quiet,
        (_, true) => Verbosity::Verbose,
        _ => Verbosity::Normal,
    });
    output::set_color(cli.color);
    demangle::set_enabled(!cli.no_demangle);
    if let Some(generate) = cli.generate {
        generate.write(with_all_options())?;
        return Ok(Status::Ok);
    }
    let Some(command) = cli.command else {
        let error = with_all_options().error(ErrorKind::MissingSubcommand, "a command is required");
        error.exit()
    };
    if let Some(jobs) = cli.jobs {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs);
        match command {
            // The main thread waits for other threads in these commands.
            Command::Lsp(_) | Command::Table(_) => pool.build_global()?,
            _ => pool.use_current_thread().build_global()?,
        }
    }
    let status = command.run()?;
    output::detail(format_args!(
        "{:.3} s in total",
        start.elapsed().as_secs_f64()
    ));
    Ok(status)
}

/// A former name of a command, which scripts may use.
struct FormerCommand {
    name: &'static str,
    /// The arguments that replace the name.
    replacement: &'static [&'static str],
    /// The options that have no effect any more.
    obsolete: &'static [&'static str],
}

const FORMER_COMMANDS: [FormerCommand; 4] = [
    FormerCommand {
        name: "analyze",
        replacement: &["dump", "--analysis"],
        obsolete: &["--json", "--insts"],
    },
    FormerCommand {
        name: "parse",
        replacement: &["debug", "parse"],
        obsolete: &[],
    },
    FormerCommand {
        name: "roundtrip",
        replacement: &["debug", "roundtrip"],
        obsolete: &[],
    },
    FormerCommand {
        name: "tokens",
        replacement: &["debug", "tokens"],
        obsolete: &[],
    },
];

/// Replaces the former name of a command in the arguments of the program, the first of which is the path of the program.
fn with_present_command(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let former = FORMER_COMMANDS
        .iter()
        .find(|former| arguments.get(1).is_some_and(|first| first == former.name));
    if let Some(former) = former {
        arguments.retain(|argument| !former.obsolete.iter().any(|option| argument == option));
        arguments.splice(1..2, former.replacement.iter().map(OsString::from));
    }
    arguments
}

/// Parses the command line. The options of all commands are only declared where help or an error may need them.
fn matches() -> ArgMatches {
    let arguments = with_present_command(exec::ptxas::as_ptxas(env::args_os().collect()));
    Cli::command()
        .try_get_matches_from(&arguments)
        .unwrap_or_else(|error| {
            let mut words = arguments.iter().skip(1);
            let is_help = words.next().is_some_and(|first| first == "help");
            if is_help && words.next().is_some() {
                // The error is the help of one command.
                error.exit()
            }
            with_all_options().get_matches_from(&arguments)
        })
}

/// The command line with the options of all commands.
fn with_all_options() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    let template = grouped_help(&command);
    command.help_template(template)
}

/// Whether the options of a command select JSON: `--json`, `--format json` or `--format ndjson`.
fn is_json(matches: &ArgMatches) -> bool {
    if let Some((_, subcommand)) = matches.subcommand() {
        return is_json(subcommand);
    }
    let is_set = matches!(matches.try_get_one("json"), Ok(Some(true)));
    let formats = matches.try_get_raw("format").ok().flatten();
    is_set
        || formats.into_iter().flatten().any(|format| {
            format
                .to_str()
                .is_some_and(|format| format.ends_with("json"))
        })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panics")]

    use std::ffi::OsString;

    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::with_all_options().debug_assert();
    }

    #[test]
    fn each_command_is_in_one_group_of_the_help() {
        let command = super::with_all_options();
        let mut grouped: Vec<&str> = super::GROUPS
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        let mut names: Vec<&str> = command
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        grouped.sort_unstable();
        names.sort_unstable();
        assert_eq!(grouped, names);
        let help = command.clone().render_help().to_string();
        let mut commands = help.lines().take_while(|line| *line != "Options:");
        assert!(commands.all(|line| line.len() <= 107), "{help}");
    }

    #[test]
    fn former_names_of_commands_are_replaced() {
        let present = |line: &str| {
            let words = line.split(' ').map(OsString::from).collect();
            super::with_present_command(words)
        };
        let expected = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(
            present("ptxkit analyze --json --insts k.ptx"),
            expected("ptxkit dump --analysis k.ptx")
        );
        assert_eq!(
            present("ptxkit tokens k.ptx"),
            expected("ptxkit debug tokens k.ptx")
        );
        assert_eq!(
            present("ptxkit check parse"),
            expected("ptxkit check parse")
        );
        assert_eq!(present("ptxkit"), expected("ptxkit"));
    }

    /// A documentation comment of options would replace it.
    #[test]
    fn descriptions_of_commands_stay() {
        let (command, built) = (super::Cli::command(), super::with_all_options());
        let described = command
            .get_subcommands()
            .filter(|c| c.get_about().is_some());
        let mut count = 0;
        for command in described {
            let built = built.find_subcommand(command.get_name()).unwrap();
            assert_eq!(command.get_about(), built.get_about());
            count += 1;
        }
        assert!(count >= 3, "{count} commands");
    }
}
