//! The state that all comparisons of one run share: the ptxas binaries, the corpora and the seed.

use std::path::PathBuf;

use anyhow::{Result, bail};

use ptx_isa::PtxVersion;

use crate::assembler::{Assembler, Assemblers};
use crate::files::{self, Entry};

/// Options of every command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A folder with PTX files and their INDEX.tsv; without any, the repository's `corpus` and, if it exists, `../shared/corpus`
    #[arg(long, global = true)]
    dir: Vec<PathBuf>,
    /// Fail if there is no ptxas
    #[arg(long, global = true)]
    require_ptxas: bool,
    /// Selects samples and random texts; the same seed selects the same ones
    #[arg(long, global = true, default_value_t = test_support::sample::seed())]
    seed: u64,
    /// Add failures to `tools/conformance/regressions`
    #[arg(long, global = true)]
    file_failures: bool,
}

/// The shared state of one run.
pub(crate) struct Shared {
    assemblers: Option<Assemblers>,
    require_ptxas: bool,
    entries: Vec<Entry>,
    seed: u64,
    file_failures: bool,
}

impl Shared {
    pub(crate) fn new(args: &Args) -> Result<Self> {
        Ok(Self {
            assemblers: Assemblers::find()?,
            require_ptxas: args.require_ptxas,
            entries: files::entries(&files::folders(&args.dir))?,
            seed: args.seed,
            file_failures: args.file_failures,
        })
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether failures are added to `tools/conformance/regressions`.
    pub(crate) fn files_failures(&self) -> bool {
        self.file_failures
    }

    /// Whether a missing program is an error.
    pub(crate) fn requires_ptxas(&self) -> bool {
        self.require_ptxas
    }

    /// The ptxas binaries. Without any, an error under `--require-ptxas`, else a warning that `comparison` was not done.
    pub(crate) fn assemblers(&self, comparison: &str) -> Result<Option<&Assemblers>> {
        if self.assemblers.is_none() {
            if self.require_ptxas {
                bail!("no ptxas: set PTXAS or put it on PATH");
            }
            println!("!!! NO PTXAS: {comparison} NOT DONE (set PTXAS or put it on PATH) !!!");
        }
        Ok(self.assemblers.as_ref())
    }

    /// The ptxas that knows a version. Without one, an error under `--require-ptxas`, else a warning that `comparison` was not done.
    pub(crate) fn assembler(
        &self,
        version: PtxVersion,
        comparison: &str,
    ) -> Result<Option<&Assembler>> {
        let Some(assemblers) = self.assemblers(comparison)? else {
            return Ok(None);
        };
        let assembler = assemblers.of_version(version);
        if assembler.is_none() {
            if self.require_ptxas {
                bail!("no ptxas for PTX {version}: set PTXAS_NEWER");
            }
            println!("!!! NO PTXAS FOR PTX {version}: {comparison} NOT DONE (set PTXAS_NEWER) !!!");
        }
        Ok(assembler)
    }

    /// The files of the corpora.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The files of the corpora that ptxas accepts.
    pub(crate) fn accepted(&self) -> Vec<&Entry> {
        self.entries.iter().filter(|e| e.accepted).collect()
    }

    /// A sample of `count` files of at most `largest` bytes.
    pub(crate) fn sample<'e>(
        &self,
        entries: &[&'e Entry],
        count: usize,
        largest: u64,
    ) -> Vec<&'e Entry> {
        files::sample(entries, count, largest, self.seed)
    }
}
