//! Runs ptxas: finds its binaries, chooses the architecture of a text, and returns its verdict.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, Result};
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_isa::{PtxVersion, Target};
use wait_timeout::ChildExt as _;

/// The time limit of one run.
const TIMEOUT: Duration = Duration::from_secs(900);

/// The installed ptxas binaries: the reference release, a newer one for texts whose `.version` it does not know, and an older one for
/// targets that it no longer supports.
pub(crate) struct Assemblers {
    reference: Assembler,
    newer: Option<Assembler>,
    older: Option<Assembler>,
    /// Verdicts of [`Self::run_cached`], by text and job.
    cache: Mutex<Cache>,
}

type Cache = HashMap<(Vec<u8>, Job), Arc<Verdict>>;

/// One ptxas binary.
pub(crate) struct Assembler {
    path: PathBuf,
    release: String,
    /// The newest PTX version that it knows.
    newest: PtxVersion,
    /// The architectures it generates code for: `75`, `90a`, ….
    archs: Vec<String>,
}

/// The purpose of a run of ptxas.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Job {
    /// Parse and check the text.
    Check,
    /// Parse and check a module that is linked with others.
    CheckRelocatable,
    /// Generate a cubin.
    Code,
    /// Generate a relocatable cubin.
    Relocatable,
    /// Generate a cubin and report the resources it uses.
    Verbose,
}

/// The result of one run of ptxas.
pub(crate) struct Verdict {
    pub(crate) accepted: bool,
    /// The text that ptxas printed.
    pub(crate) output: String,
    /// The cubin; empty if none was generated.
    pub(crate) cubin: Vec<u8>,
}

impl Verdict {
    /// The first line of the output.
    pub(crate) fn reason(&self) -> &str {
        self.output.lines().next().unwrap_or("no output")
    }
}

impl Assemblers {
    /// Searches for ptxas: the variable `PTXAS`, then `PATH`, then the Python environment in the user's cache
    /// (`$XDG_CACHE_HOME/ptxas/RELEASE`).
    pub(crate) fn find() -> Result<Option<Self>> {
        let Some(path) = std::env::var_os("PTXAS")
            .map(PathBuf::from)
            .or_else(on_path)
            .or_else(|| cached("13.2"))
        else {
            return Ok(None);
        };
        let reference = Assembler::query(path)?;
        let newer = std::env::var_os("PTXAS_NEWER")
            .map(PathBuf::from)
            .or_else(|| cached("13.5"));
        let older = std::env::var_os("PTXAS_OLDER")
            .map(PathBuf::from)
            .or_else(|| cached("12.9"));
        Ok(Some(Self {
            reference,
            newer: newer.map(Assembler::query).transpose()?,
            older: older.map(Assembler::query).transpose()?,
            cache: Mutex::default(),
        }))
    }

    /// The releases, for a heading.
    pub(crate) fn describe(&self) -> String {
        let mut text = format!("ptxas {}", self.reference.release);
        if let Some(newer) = &self.newer {
            text += &format!(", {} for newer texts", newer.release);
        }
        if let Some(older) = &self.older {
            text += &format!(", {} for older targets", older.release);
        }
        text
    }

    /// [`Self::run`] with a cache by text and job, for originals that several comparisons assemble.
    pub(crate) fn run_cached(&self, text: &[u8], job: Job) -> Result<Arc<Verdict>> {
        let key = (text.to_vec(), job);
        let lock = || self.cache.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(verdict) = lock().get(&key) {
            return Ok(Arc::clone(verdict));
        }
        let verdict = Arc::new(self.run(text, job)?);
        lock().insert(key, Arc::clone(&verdict));
        Ok(verdict)
    }

    /// Runs ptxas on a text in a new folder, where the file is always called `module.ptx`.
    pub(crate) fn run(&self, text: &[u8], job: Job) -> Result<Verdict> {
        let version = word_after(text, b".version").and_then(|v| v.parse::<PtxVersion>().ok());
        self.recent()
            .find(|assembler| version.is_none_or(|v| v <= assembler.newest))
            .unwrap_or(&self.reference)
            .run(text, job)
    }

    /// The reference release, then the newer one.
    fn recent(&self) -> impl Iterator<Item = &Assembler> {
        [Some(&self.reference), self.newer.as_ref()]
            .into_iter()
            .flatten()
    }

    /// The binary for a version: the reference release if it knows the version, else the newer one.
    pub(crate) fn of_version(&self, version: PtxVersion) -> Option<&Assembler> {
        self.recent().find(|a| version <= a.newest)
    }

    /// The newest version that a binary knows.
    pub(crate) fn newest(&self) -> PtxVersion {
        self.recent()
            .map(|a| a.newest)
            .max()
            .unwrap_or(PtxVersion::CURRENT)
    }

    /// Whether the reference release or the newer one generates code for a target.
    pub(crate) fn supports(&self, target: Target) -> bool {
        self.recent().any(|a| a.knows(target))
    }

    /// The binary that checks texts of a target and a version: one that knows both, else the older one if it knows the target.
    pub(crate) fn of(&self, target: Target, version: PtxVersion) -> Option<&Assembler> {
        self.recent()
            .find(|a| a.knows(target) && version <= a.newest)
            .or(self.older.as_ref().filter(|a| a.knows(target)))
    }
}

fn on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|d| d.join("ptxas"))
        .find(|p| p.is_file())
}

/// The folder of the user's cache.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    match std::env::var_os("XDG_CACHE_HOME") {
        Some(folder) => Some(PathBuf::from(folder)),
        None => Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")),
    }
}

fn cached(release: &str) -> Option<PathBuf> {
    let environment = cache_folder()?.join("ptxas").join(release);
    for python in fs::read_dir(environment.join("lib")).ok()?.flatten() {
        let packages = python.path().join("site-packages/nvidia");
        for name in ["cu13/bin/ptxas", "cuda_nvcc/bin/ptxas"] {
            let path = packages.join(name);
            if path.is_file() {
                return Some(path);
            }
        }
    }
    None
}

impl Assembler {
    fn query(path: PathBuf) -> Result<Self> {
        let output = |option: &str| -> Result<String> {
            let output = Command::new(&path)
                .arg(option)
                .output()
                .with_context(|| format!("running {}", path.display()))?;
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let version = output("--version")?;
        let release = version
            .split("release ")
            .nth(1)
            .and_then(|v| v.split(',').next())
            .unwrap_or("unknown")
            .to_owned();
        let toolkit = format!("CUDA {release}");
        let mut versions = PtxVersion::KNOWN.iter().copied();
        let newest = versions.rfind(|v| v.toolkit() == Some(&toolkit));
        let help = output("--help")?;
        let mut archs: Vec<_> = help
            .split('\'')
            .filter_map(|w| w.strip_prefix("compute_"))
            .map(str::to_owned)
            .collect();
        archs.sort();
        archs.dedup();
        Ok(Self {
            path,
            release,
            newest: newest.unwrap_or(PtxVersion::CURRENT),
            archs,
        })
    }

    pub(crate) fn knows(&self, target: Target) -> bool {
        let name = target.text().trim_start_matches("sm_");
        self.archs.iter().any(|a| a == name)
    }

    /// The release, such as `13.2`.
    pub(crate) fn release(&self) -> &str {
        &self.release
    }

    /// The architecture to assemble a text for: its target; the oldest supported one for older targets; `90` without a valid target.
    fn arch(&self, text: &[u8]) -> &str {
        let target = target(text).unwrap_or_default();
        let name = target
            .strip_prefix("sm_")
            .or_else(|| target.strip_prefix("compute_"))
            .unwrap_or_default();
        if let Some(arch) = self.archs.iter().find(|a| *a == name) {
            return arch;
        }
        let number = |a: &str| a.trim_end_matches(['a', 'f']).parse::<u32>().ok();
        let oldest = self
            .archs
            .iter()
            .filter_map(|a| Some((number(a)?, a)))
            .min();
        match (number(name), oldest) {
            (Some(n), Some((least, arch))) if n < least => arch,
            _ => "90",
        }
    }

    pub(crate) fn run(&self, text: &[u8], job: Job) -> Result<Verdict> {
        let folder = tempfile::tempdir()?;
        let (cubin, output_path) = (
            folder.path().join("module.cubin"),
            folder.path().join("output"),
        );
        fs::write(folder.path().join("module.ptx"), text)?;
        let mut command = Command::new(&self.path);
        let kind = match job {
            Job::Check | Job::CheckRelocatable => "compute",
            Job::Code | Job::Relocatable | Job::Verbose => "sm",
        };
        command.arg(format!("-arch={kind}_{}", self.arch(text)));
        command.args(match job {
            Job::CheckRelocatable | Job::Relocatable => Some("-c"),
            Job::Verbose => Some("-v"),
            Job::Check | Job::Code => None,
        });
        command
            .args(["module.ptx", "-o", "module.cubin"])
            .current_dir(folder.path());
        let out = File::create(&output_path)?;
        command
            .stdin(Stdio::null())
            .stderr(out.try_clone()?)
            .stdout(out);
        let mut child = command.spawn().context("running ptxas")?;
        let status = child.wait_timeout(TIMEOUT)?;
        if status.is_none() {
            child.kill()?;
            child.wait()?;
        }
        let accepted = status.is_some_and(|s| s.success());
        let mut output = read(&output_path);
        if status.is_none() {
            output.insert_str(0, "ptxas timed out\n");
        }
        Ok(Verdict {
            accepted,
            output,
            cubin: fs::read(cubin).unwrap_or_default(),
        })
    }
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// The last target of the header, which is the effective one.
fn target(text: &[u8]) -> Option<&str> {
    let last = Lexer::new(text)
        .filter(|t| !t.kind.is_trivia())
        .take(200)
        .map(|t| t.span.of(text))
        .skip_while(|word| *word != b".target")
        .take_while(|word| !word.starts_with(b".") || *word == b".target")
        .filter(|word| Target::from_text(word).is_some())
        .last()?;
    std::str::from_utf8(last).ok()
}

/// The word after a directive of the header.
fn word_after<'t>(text: &'t [u8], directive: &[u8]) -> Option<&'t str> {
    let mut tokens = Lexer::new(text).filter(|t| !t.kind.is_trivia()).take(200);
    tokens.find(|t| t.kind == TokenKind::DotWord && t.span.of(text) == directive)?;
    let word = tokens.next()?;
    std::str::from_utf8(word.span.of(text)).ok()
}
