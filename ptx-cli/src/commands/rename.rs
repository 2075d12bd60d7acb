//! `ptxkit rename`: renames functions, variables, registers and labels.

use anyhow::{Result, bail};
use ptx_edit::{Entity, Names, OwnSymbols, RenameError, Renaming, Rewriting};
use ptx_ir::{LineIndex, Module};

use super::rewrite;
use crate::destination::Destination;
use crate::input::Files;
use crate::output::Status;
use ptx_report::demangle::{AmbiguousName, FunctionPattern};

/// Rename functions, variables, registers and labels
///
/// OLD is a function or a module variable, whose name may be demangled, or else every register (`%r` for the range `%r<9>`), parameter, local variable and
/// label of that name. All names change at once, so that names can be swapped. If a new name is already in use, or would
/// capture other uses, nothing is written. By default the result goes to standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit rename old_kernel=new_kernel kernel.ptx
  ptxkit rename --function k %r=%count a=b b=a kernel.ptx
  ptxkit rename --prefix mylib_ kernel.ptx")]
pub(crate) struct Args {
    /// New names, then the file (`-` for standard input)
    #[arg(required = true, value_name = "OLD=NEW… FILE")]
    words: Vec<String>,
    #[command(flatten)]
    destination: Destination,
    /// Rename only inside of this function
    #[arg(long, visible_alias = "kernel", value_name = "NAME")]
    function: Option<FunctionPattern>,
    /// Prefix for the name of every function and variable that is not visible to other modules
    #[arg(long, value_name = "P")]
    prefix: Option<String>,
    /// With --prefix: also rename visible functions, kernels and variables that are defined in this file
    #[arg(long, requires = "prefix")]
    visible: bool,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let Some((file, words)) = args.words.split_last() else {
        bail!("missing FILE");
    };
    let mut pairs = Vec::new();
    for word in words {
        match word.split_once('=') {
            Some((old, new)) if !old.is_empty() => pairs.push((old, new)),
            _ => bail!("expected OLD=NEW, found `{word}`"),
        }
    }
    if pairs.is_empty() && args.prefix.is_none() {
        bail!("nothing to rename: expected OLD=NEW or --prefix");
    }
    let files = Files::one(file);
    rewrite::transform(&files, &args.destination, |source, module| {
        rename(module, &pairs, args).map_err(|error| match error {
            Failure::Unknown(name) => format!("no name `{name}`"),
            Failure::Name(error) => error.to_string(),
            Failure::Refused(RenameError::Taken(name, span)) => {
                let position = LineIndex::new(&source.bytes).position(span.start);
                let error = RenameError::Taken(name, Default::default());
                format!("{error}: line {}", position.line)
            }
            Failure::Refused(error) => error.to_string(),
        })
    })
}

enum Failure {
    Unknown(String),
    Name(AmbiguousName),
    Refused(RenameError),
}

fn rename(module: &Module, pairs: &[(&str, &str)], args: &Args) -> Result<Rewriting, Failure> {
    let names = Names::of(module);
    let unknown = |name: &str| Failure::Unknown(name.to_owned());
    let function = match &args.function {
        Some(pattern) => {
            let functions = module.functions().values().map(|f| module.name(f.name));
            let unknown = || unknown(&pattern.to_string());
            let [name] = pattern.select(functions).map_err(Failure::Name)?[..] else {
                return Err(unknown());
            };
            Some(module.function(name).ok_or_else(unknown)?)
        }
        None => None,
    };
    let mut renaming = match &args.prefix {
        Some(prefix) => {
            let symbols = if args.visible {
                OwnSymbols::WithVisible
            } else {
                OwnSymbols::Private
            };
            Renaming::prefix(module, &names, prefix, symbols)
        }
        None => Renaming::new(),
    };
    for (old, new) in pairs {
        let mut entities: Vec<Entity> = names.find(module, old, function);
        if entities.is_empty() {
            let symbols = module.symbols().values().map(|s| module.name(s.name));
            let selected = FunctionPattern::new(old).select(symbols);
            if let [name] = selected.map_err(Failure::Name)?[..] {
                entities = names.find(module, name, function);
            }
        }
        if entities.is_empty() {
            return Err(unknown(old));
        }
        for entity in entities {
            renaming.set(entity, *new);
        }
    }
    renaming.apply(module, &names).map_err(Failure::Refused)
}
