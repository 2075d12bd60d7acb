//! NVIDIA's assembler: where it is, which architecture a text wants, and running it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_isa::Target;
use wait_timeout::ChildExt as _;

/// How long one run may take.
const TIMEOUT: Duration = Duration::from_secs(900);

/// The assemblers at hand: the judge, a newer one for texts whose `.version` it does not know, and an older one for
/// targets it knows no more.
pub(crate) struct Assemblers {
    judge: Assembler,
    newer: Option<Assembler>,
    older: Option<Assembler>,
}

/// One of them.
pub(crate) struct Assembler {
    path: PathBuf,
    release: String,
    /// `75`, `90a`, …: what it makes code for.
    archs: Vec<String>,
}

/// What an assembler is asked for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Job {
    /// Read and check the text.
    Check,
    /// The same for a module that others are linked to.
    CheckRelocatable,
    /// Make a cubin.
    Code,
    /// Make a relocatable cubin.
    Relocatable,
    /// Make a cubin and tell what it needs.
    Verbose,
}

/// What an assembler said.
pub(crate) struct Verdict {
    pub(crate) accepted: bool,
    /// Everything it printed.
    pub(crate) output: String,
    /// The cubin; empty where none was asked for or made.
    pub(crate) cubin: Vec<u8>,
    /// From start to exit.
    pub(crate) time: Duration,
}

impl Verdict {
    /// The first line that says why.
    pub(crate) fn reason(&self) -> &str {
        self.output.lines().next().unwrap_or("it said nothing")
    }
}

impl Assemblers {
    /// Looks at the variable `PTXAS`, then along `PATH`, then in the user's cache
    /// (`$XDG_CACHE_HOME/ptxas/RELEASE`, where a Python environment holds it).
    pub(crate) fn find() -> Result<Option<Self>> {
        let given = std::env::var_os("PTXAS").map(PathBuf::from);
        let Some(path) = given.or_else(on_path).or_else(|| cached("13.2")) else {
            return Ok(None);
        };
        let judge = Assembler::ask(path)?;
        let newer = std::env::var_os("PTXAS_NEWER")
            .map(PathBuf::from)
            .or_else(|| cached("13.5"));
        let older = std::env::var_os("PTXAS_OLDER")
            .map(PathBuf::from)
            .or_else(|| cached("12.9"));
        Ok(Some(Self {
            judge,
            newer: newer.map(Assembler::ask).transpose()?,
            older: older.map(Assembler::ask).transpose()?,
        }))
    }

    /// [`Self::find`] for a command line: without an assembler, an error under
    /// `--require-ptxas`, else one loud line.
    pub(crate) fn find_or_warn(required: bool, what: &str) -> Result<Option<Self>> {
        let found = Self::find()?;
        if found.is_none() {
            if required {
                bail!("no ptxas: set PTXAS or put it on PATH");
            }
            println!("!!! NO PTXAS: {what} NOT DONE (set PTXAS or put it on PATH) !!!");
        }
        Ok(found)
    }

    /// The releases, for a headline.
    pub(crate) fn describe(&self) -> String {
        let mut text = format!("ptxas {}", self.judge.release);
        let others = [(&self.newer, "texts"), (&self.older, "targets")];
        for ((other, what), age) in others.into_iter().zip(["newer", "older"]) {
            if let Some(other) = other {
                text += &format!(", {} for {age} {what}", other.release);
            }
        }
        text
    }

    /// Assembles a text in a folder of its own, where it is always called `module.ptx`.
    pub(crate) fn run(&self, text: &[u8], job: Job) -> Result<Verdict> {
        let first = self.judge.run(text, job)?;
        match &self.newer {
            Some(newer) if first.output.contains("Unsupported .version") => newer.run(text, job),
            _ => Ok(first),
        }
    }

    /// The one that makes code for a target itself: the judge, else the older one.
    pub(crate) fn of_target(&self, target: Target) -> Option<&Assembler> {
        let all = [Some(&self.judge), self.older.as_ref()];
        all.into_iter().flatten().find(|a| a.knows(target))
    }

    /// Whether the judge makes code for a target.
    pub(crate) fn judged(&self, target: Target) -> bool {
        self.judge.knows(target)
    }
}

fn on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|d| d.join("ptxas"))
        .find(|p| p.is_file())
}

fn cached(release: &str) -> Option<PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(home)?;
    let libraries = fs::read_dir(cache.join("ptxas").join(release).join("lib")).ok()?;
    let inside = ["cu13/bin/ptxas", "cuda_nvcc/bin/ptxas"];
    libraries
        .flatten()
        .flat_map(|python| inside.map(|i| python.path().join("site-packages/nvidia").join(i)))
        .find(|p| p.is_file())
}

impl Assembler {
    fn ask(path: PathBuf) -> Result<Self> {
        let ask = |option: &str| -> Result<String> {
            let answer = Command::new(&path).arg(option).output();
            let answer = answer.with_context(|| format!("running {}", path.display()))?;
            Ok(String::from_utf8_lossy(&answer.stdout).into_owned())
        };
        let version = ask("--version")?;
        let release = version
            .split("release ")
            .nth(1)
            .and_then(|v| v.split(',').next());
        let release = release.unwrap_or("of unknown release").to_owned();
        let help = ask("--help")?;
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
            archs,
        })
    }

    fn knows(&self, target: Target) -> bool {
        let name = target.text().trim_start_matches("sm_");
        self.archs.iter().any(|a| a == name)
    }

    /// Its release, as in `13.2`.
    pub(crate) fn release(&self) -> &str {
        &self.release
    }

    /// The architecture to assemble a text for: its target; for targets no longer made, the
    /// oldest one that is, and for what is no target `90`.
    fn arch(&self, text: &[u8]) -> &str {
        let target = target(text).unwrap_or_default();
        let name = target
            .strip_prefix("sm_")
            .or_else(|| target.strip_prefix("compute_"));
        let name = name.unwrap_or_default();
        if let Some(known) = self.archs.iter().find(|a| *a == name) {
            return known;
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
        let (cubin, said) = (
            folder.path().join("module.cubin"),
            folder.path().join("said"),
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
        let out = File::create(&said)?;
        command
            .stdin(Stdio::null())
            .stderr(out.try_clone()?)
            .stdout(out);
        let start = Instant::now();
        let mut child = command.spawn().context("running ptxas")?;
        let status = child.wait_timeout(TIMEOUT)?;
        let time = start.elapsed();
        if status.is_none() {
            child.kill()?;
            child.wait()?;
        }
        let accepted = status.is_some_and(|s| s.success());
        let mut output = read(&said);
        if status.is_none() {
            output.insert_str(0, "ptxas takes too long\n");
        }
        Ok(Verdict {
            accepted,
            output,
            cubin: fs::read(cubin).unwrap_or_default(),
            time,
        })
    }
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// The first word after `.target`.
pub(crate) fn target(text: &[u8]) -> Option<&str> {
    let mut tokens = Lexer::new(text).filter(|t| !t.kind.is_trivia()).take(200);
    tokens.find(|t| t.kind == TokenKind::DotWord && t.span.of(text) == b".target")?;
    let word = tokens.next()?;
    std::str::from_utf8(word.span.of(text)).ok()
}
