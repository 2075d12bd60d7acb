//! `ptxkit lsp`: the language server.

use anyhow::Result;

use crate::assembler::Assembler;
#[cfg(feature = "lsp")]
use crate::assembler::Depth;
use crate::output::Status;

/// Run the language server for editors on standard input and output
///
/// Editors start the server and communicate with it through the Language Server Protocol: diagnostics with fixes, hover, completion,
/// navigation, renaming, formatting and more for `.ptx` files. docs/editors.md describes the features and the configuration of editors.
#[derive(Debug, clap::Args)]
#[command(mut_arg("ptxas", |arg| arg.help("Show the machine code that this ptxas makes when hovering over an instruction")))]
pub(crate) struct Args {
    /// Accepted for clients that pass it: standard input and output are always used
    #[arg(long)]
    stdio: bool,
    #[command(flatten)]
    assembler: Assembler,
}

#[cfg(not(feature = "lsp"))]
pub(crate) fn run(_: &Args) -> Result<Status> {
    anyhow::bail!(
        "this program was built without the feature `lsp`; in a checkout, `cargo install --path ptx-cli` builds it with the feature"
    )
}

#[cfg(feature = "lsp")]
pub(crate) fn run(args: &Args) -> Result<Status> {
    use_small_pages();
    let input = std::io::BufReader::new(std::io::stdin());
    let status = ptx_lsp::run_with(options(&args.assembler), input, std::io::stdout().lock())?;
    Ok(Status::of(status != 0))
}

/// With ptxas, hovers show machine code.
#[cfg(feature = "lsp")]
fn options(assembler: &Assembler) -> ptx_lsp::ServerOptions {
    let mut options = ptx_lsp::ServerOptions::default();
    if assembler.ptxas.is_some() {
        let assembler = assembler.clone();
        options.assemble = Some(std::sync::Arc::new(move |text: &[u8]| {
            let module = ptx_parse::parse(text).module;
            let header = module.header().target.map(ptx_isa::Target::text);
            let assembled = assembler.assemble(header, text, Depth::Code);
            let assembled = assembled.map_err(|error| format!("{error:#}"))??;
            Ok(assembled.disassembly.unwrap_or_default())
        }));
    }
    options
}

/// With huge pages, memory that the allocator could return to the system stays in use because something near it is in use. A server runs long
/// enough for that to matter more than the time that huge pages save.
#[cfg(feature = "lsp")]
fn use_small_pages() {
    // Where the system does not allow this, the server uses more memory.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_thp_disable(true);
}
