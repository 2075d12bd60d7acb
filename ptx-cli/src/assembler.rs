//! The options that name ptxas and nvdisasm, and the facts about machine code that both give.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use ptx_ir::Module;
use ptx_isa::Target;
use ptx_report::function_stats::FunctionStats;
use ptx_report::occupancy::LaunchSizes;
use ptx_report::sass::{self, AssemblerMessage, Disassembly};

use crate::commands::check::target;
use crate::nvdisasm::{self, TemporaryFile};
use crate::ptxas::{Compiled, Job};

/// The programs that assemble and disassemble.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Assembler {
    /// Also compile each file with this ptxas: registers, spills and stack
    #[arg(long, value_name = "PATH")]
    pub(crate) ptxas: Option<PathBuf>,
    /// Read the machine code of ptxas with this nvdisasm [default: the one beside ptxas, else the one on PATH]
    #[arg(long, value_name = "PATH", requires = "ptxas")]
    pub(crate) nvdisasm: Option<PathBuf>,
    /// The target that ptxas compiles for, instead of the one in the header
    #[arg(long, value_name = "sm_XX", value_parser = target, requires = "ptxas")]
    pub(crate) target: Option<Target>,
}

/// The facts that a command needs.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Depth {
    /// What ptxas reports.
    Report,
    /// The machine code as well.
    Code,
}

/// A module as machine code.
pub(crate) struct Assembled {
    pub(crate) compiled: Compiled,
    /// Only with [`Depth::Code`].
    pub(crate) disassembly: Option<Disassembly>,
}

impl Assembler {
    /// The target of a module: that of the option, else that of the header. The error says that there is none.
    pub(crate) fn target_of(&self, header: Option<&str>) -> Result<String, String> {
        let target = self.target.map(Target::text).or(header);
        target
            .map(str::to_owned)
            .ok_or_else(|| "the module has no target".to_owned())
    }

    /// Assembles a module. `header` is the target of its header. The inner error is the reason why ptxas refuses it.
    ///
    /// # Errors
    ///
    /// A program cannot be started, or nvdisasm cannot be found.
    pub(crate) fn assemble(
        &self,
        header: Option<&str>,
        source: &[u8],
        depth: Depth,
    ) -> Result<Result<Assembled, String>> {
        let Some(ptxas) = self.ptxas.as_deref() else {
            bail!("--ptxas is missing");
        };
        let target = match self.target_of(header) {
            Ok(target) => target,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let job = Job {
            ptxas,
            target: &target,
            source,
        };
        match depth {
            Depth::Report => Ok(job.compile()?.map(|compiled| Assembled {
                compiled,
                disassembly: None,
            })),
            Depth::Code => assemble_code(job, self.nvdisasm.as_deref()),
        }
    }

    /// Adds the facts of machine code to the statistics of functions. The inner error is the reason why ptxas refuses the module.
    ///
    /// # Errors
    ///
    /// A program cannot be started, or nvdisasm cannot be found.
    pub(crate) fn measure<'f>(
        &self,
        module: &Module,
        functions: impl Iterator<Item = &'f mut FunctionStats>,
        depth: Depth,
    ) -> Result<Result<Vec<AssemblerMessage>, String>> {
        let header = module.header().target.map(Target::text);
        let assembled = self.assemble(header, module.source(), depth)?;
        Ok(assembled.map(|assembled| {
            assembled.apply(module, functions);
            assembled.compiled.messages
        }))
    }
}

impl Assembled {
    /// Adds the facts to the statistics of functions.
    pub(crate) fn apply<'f>(
        &self,
        module: &Module,
        functions: impl Iterator<Item = &'f mut FunctionStats>,
    ) {
        let machine_code = &self.compiled.machine_code;
        let mut functions: Vec<&mut FunctionStats> = functions.collect();
        for function in &mut functions {
            function.ptxas = machine_code.get(&function.name).cloned();
            if let Some(target) = module.header().target {
                function.set_launch(target.text(), LaunchSizes::default());
            }
        }
        if let Some(disassembly) = &self.disassembly {
            sass::apply(module, disassembly, functions);
        }
    }
}

fn assemble_code(job: Job<'_>, nvdisasm: Option<&Path>) -> Result<Result<Assembled, String>> {
    let nvdisasm = nvdisasm::find(nvdisasm, job.ptxas)?;
    let cubin = TemporaryFile::new("cubin")?;
    match job.assemble(cubin.path())? {
        Ok(compiled) => Ok(Ok(Assembled {
            compiled,
            disassembly: Some(nvdisasm::disassemble(&nvdisasm, cubin.path())?),
        })),
        Err(refusal) => Ok(Err(refusal)),
    }
}
