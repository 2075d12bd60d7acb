//! `ptx rename`: other names, and not a byte besides.

use anyhow::{Result, bail};
use ptx_ir::Module;
use ptx_transform::{Refused, Rename};

use super::rewrite;
use crate::input::Files;
use crate::output::Status;

/// Rename registers, labels, parameters, variables and functions
///
/// Every mention changes, and no other byte. Refused where a name is missing or taken, or where debug information speaks of
/// it. The result goes to standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptx rename axpy=saxpy kernel.ptx
  ptx rename --in axpy %r=%reg exit=done kernel.ptx    the range %r<9> and a label of one function
  ptx rename --prefix mine_ kernel.ptx                 all names that other modules cannot see")]
pub(crate) struct Args {
    /// OLD=NEW… and the file
    #[arg(required = true, value_name = "OLD=NEW… FILE")]
    words: Vec<String>,
    /// Names of this function; without it those of the module, and where it has none of a name, those of all functions
    #[arg(long = "in", value_name = "FUNCTION")]
    function: Option<String>,
    /// Put this before all names of the module that other modules cannot see
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let Some((file, pairs)) = args.words.split_last() else {
        bail!("no file");
    };
    let mut names = Vec::new();
    for pair in pairs {
        match pair.split_once('=') {
            Some((old, new)) if !old.is_empty() && !new.is_empty() => names.push((old, new)),
            _ => bail!("`{pair}` is no OLD=NEW"),
        }
    }
    if names.is_empty() && args.prefix.is_none() {
        bail!("nothing to rename: OLD=NEW or --prefix");
    }
    rewrite::one(&Files::of(file), |module| {
        renamed(module, args, &names).map_err(|why| why.to_string())
    })
}

fn renamed(module: &Module, args: &Args, names: &[(&str, &str)]) -> Result<Vec<u8>, Refused> {
    let function = match &args.function {
        Some(name) => match module.function(name) {
            Some(function) => Some(function),
            None => return Err(Refused::Missing(name.clone())),
        },
        None => None,
    };
    let all: Vec<Rename<'_>> = names
        .iter()
        .map(|&(old, new)| Rename { function, old, new })
        .collect();
    let text = ptx_transform::rename(module, &all)?.text;
    match &args.prefix {
        Some(prefix) => {
            let module = ptx_parse::parse(&text).module;
            Ok(ptx_transform::prefix(&module, prefix)?.text)
        }
        None => Ok(text),
    }
}
