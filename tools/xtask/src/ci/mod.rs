//! `cargo xtask ci`: every check of the project, as a list of named steps. `.ci/run` runs them on one machine, the workflows in `.github` by group.

mod nightly;
mod schedule;
mod steps;
mod tools;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use steps::STEPS;
use tools::Tools;

/// The cargo profile of all builds.
const PROFILE: &str = "ci";

/// The arguments that select all packages, with the command `table`, which the program does not have by default.
const WORKSPACE: [&str; 3] = ["--workspace", "--features", "table"];

/// Arguments of `cargo xtask ci`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Steps and groups of steps; the steps that they depend on run as well [default: all but `fuzz`]
    names: Vec<String>,
    /// List the steps with their groups and what they need
    #[arg(long)]
    list: bool,
    /// Run tests, comparisons and fuzz targets with the seed PTXKIT_SEED, by default the number of the day, and file what fails
    #[arg(long, conflicts_with = "names")]
    nightly: bool,
    /// The number of steps that run at the same time [default: the number of processors, at most 4]
    #[arg(long)]
    jobs: Option<usize>,
}

/// A part of the checks that a workflow runs as one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Formatting, lints, documentation, packages, and files that are generated or listed. Needs no program but cargo and npm.
    Checks,
    /// The tests of the workspace.
    Tests,
    /// Comparisons with programs of NVIDIA.
    Oracle,
    /// The interfaces to other languages, editors and browsers.
    Bindings,
    /// Analyses and semantics, recomputed by other programs.
    Recomputed,
    /// Mutated inputs.
    Fuzz,
    /// CUDA libraries of others.
    Clients,
}

impl Group {
    const ALL: [Self; 7] = [
        Self::Checks,
        Self::Tests,
        Self::Oracle,
        Self::Bindings,
        Self::Recomputed,
        Self::Fuzz,
        Self::Clients,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Checks => "checks",
            Self::Tests => "tests",
            Self::Oracle => "oracle",
            Self::Bindings => "bindings",
            Self::Recomputed => "recomputed",
            Self::Fuzz => "fuzz",
            Self::Clients => "clients",
        }
    }
}

/// What a step needs besides Rust and the built workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// A POSIX system with bash, gcc and Python.
    Unix,
    /// `ptxas` of PTX 9.2 and of PTX 9.5, and `nvdisasm`, from PyPI.
    Assemblers,
    /// `cuobjdump` and libraries with PTX in them, from PyPI.
    Containers,
    /// Node.js and npm.
    Npm,
    /// Chromium and the package that drives it.
    Browser,
    /// Java 17, for Spark.
    Java,
    /// The SMT solver z3, from PyPI.
    Z3,
    /// The package jsonschema, from PyPI.
    JsonSchema,
    /// Libraries that use CUDA, from PyPI: numba-cuda, cuda.core, Triton and tinygrad.
    Clients,
    /// A folder of `../shared`, whose files are not part of the repository. Its steps are skipped where it is missing, in CI as well.
    Shared(&'static str),
}

/// One check.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) group: Group,
    /// The steps that must have succeeded before.
    pub(crate) after: &'static [&'static str],
    pub(crate) needs: &'static [Need],
    /// Whether cargo builds in the folder of the workspace, which it locks: one such step runs at a time.
    pub(crate) builds_workspace: bool,
    pub(crate) run: fn(&StepRun<'_>) -> Result<()>,
}

/// What all steps share.
pub(crate) struct Context {
    root: PathBuf,
    /// The folder that cargo builds in.
    target: PathBuf,
    seed: String,
    tools: Tools,
    test_programs: OnceLock<Vec<TestProgram>>,
}

/// A built test program.
struct TestProgram {
    /// The folder of its package, relative to the root of the repository.
    package: PathBuf,
    name: String,
    executable: PathBuf,
}

/// A step that runs: its output goes to a file, which is printed when the step ends.
pub(crate) struct StepRun<'a> {
    context: &'a Context,
    log: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.list {
        list();
        return Ok(());
    }
    let selected = select(&args.names)?;
    let mut context = Context::new()?;
    if args.nightly {
        if std::env::var_os("PTXKIT_SEED").is_none() {
            context.seed = days_since_1970()?.to_string();
        }
        return nightly::run(&context);
    }
    let jobs = match args.jobs {
        Some(jobs) => jobs.max(1),
        None => {
            std::thread::available_parallelism().map_or(1, |processors| processors.get().min(4))
        }
    };
    schedule::run(&selected, &context, jobs)
}

/// The seed of a nightly run.
fn days_since_1970() -> Result<u64> {
    const SECONDS_PER_DAY: u64 = 24 * 60 * 60;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(now.as_secs() / SECONDS_PER_DAY)
}

fn list() {
    for step in STEPS {
        let needs: Vec<String> = step.needs.iter().map(|need| format!("{need:?}")).collect();
        let needs = if needs.is_empty() {
            String::new()
        } else {
            format!(" (needs {})", needs.join(", "))
        };
        let group = step.group.name();
        println!("{group:<10} {:<20} {}{needs}", step.name, step.title);
    }
}

/// The steps of the given names and groups and those that they depend on, in the order of the list. Without names, all but the fuzz targets, which
/// the workflows run.
fn select(names: &[String]) -> Result<Vec<&'static Step>> {
    let is_default = |step: &Step| names.is_empty() && step.group != Group::Fuzz;
    let mut selected: Vec<bool> = STEPS.iter().map(is_default).collect();
    for name in names {
        let group = Group::ALL.into_iter().find(|group| group.name() == name);
        let mut is_known = group.is_some();
        for (step, selected) in STEPS.iter().zip(&mut selected) {
            if step.name == name || Some(step.group) == group {
                is_known = true;
                *selected = true;
            }
        }
        if !is_known {
            bail!("`{name}` is neither a step nor a group; `--list` lists them");
        }
    }
    // A step depends on earlier steps only.
    for index in (0..STEPS.len()).rev() {
        if selected[index] {
            for (step, selected) in STEPS.iter().zip(&mut selected) {
                *selected |= STEPS[index].after.contains(&step.name);
            }
        }
    }
    let steps = STEPS.iter().zip(selected);
    Ok(steps
        .filter_map(|(step, selected)| selected.then_some(step))
        .collect())
}

impl Context {
    fn new() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(2)
            .context("the root of the repository")?
            .to_path_buf();
        let target = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => std::path::absolute(root.join(folder))?,
            None => root.join("target"),
        };
        let seed = match std::env::var("PTXKIT_SEED") {
            Ok(seed) => seed,
            Err(_) => fs::read_to_string(root.join("tools/test-support/seed"))?
                .trim()
                .to_owned(),
        };
        fs::create_dir_all(target.join("logs"))?;
        Ok(Self {
            tools: Tools::new(&root),
            root,
            target,
            seed,
            test_programs: OnceLock::new(),
        })
    }

    /// A folder of `../shared`.
    fn shared(&self, folder: &str) -> PathBuf {
        self.root.join("../shared").join(folder)
    }

    /// A program of the workspace.
    fn built(&self, name: &str) -> PathBuf {
        let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        self.target.join(PROFILE).join(name)
    }

    /// The reason for which a step cannot run here, if there is one. Installs what the step needs.
    fn missing(&self, need: Need) -> Option<String> {
        match need {
            Need::Unix => (!cfg!(unix)).then(|| "not a POSIX system".to_owned()),
            Need::Shared(folder) => {
                (!self.shared(folder).exists()).then(|| format!("../shared/{folder} is missing"))
            }
            _ => self.tools.missing(need),
        }
    }
}

impl StepRun<'_> {
    /// A command in the root of the repository, with the variables that all steps have.
    fn command(&self, program: impl AsRef<OsStr>) -> Result<Command> {
        let log = File::options().create(true).append(true).open(&self.log)?;
        let mut command = Command::new(program);
        command
            .current_dir(&self.context.root)
            .stdin(std::process::Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .env("CARGO_TERM_COLOR", "never")
            .env("CARGO_TARGET_DIR", &self.context.target)
            .env("PTXKIT_SEED", &self.context.seed);
        if std::env::var_os("PTXKIT_SAMPLE").is_none() {
            command.env("PTXKIT_SAMPLE", "ci");
        }
        Ok(command)
    }

    /// Runs a command line whose words have no spaces.
    fn line(&self, line: &str) -> Result<()> {
        let mut words = line.split_whitespace();
        let mut command = self.command(words.next().context("a command")?)?;
        self.execute(command.args(words))
    }

    /// Runs `cargo` with the profile of all builds and the locked versions of the dependencies.
    fn cargo(&self, subcommand: &str, arguments: &[&str]) -> Result<()> {
        let mut command = self.command("cargo")?;
        command.args([subcommand, "--profile", PROFILE, "--locked"]);
        self.execute(command.args(arguments))
    }

    /// Runs a script of the folder `.ci`.
    fn script(&self, name: &str, arguments: &[&OsStr]) -> Result<()> {
        let mut command = self.command(self.context.root.join(".ci").join(name))?;
        self.execute(command.args(arguments))
    }

    fn execute(&self, command: &mut Command) -> Result<()> {
        let status = command
            .status()
            .with_context(|| format!("{}", command.get_program().display()))?;
        if !status.success() {
            let words: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
            bail!(
                "`{} {}` failed: {status}",
                command.get_program().display(),
                words.join(" ")
            );
        }
        Ok(())
    }

    fn write_line(&self, line: &str) -> Result<()> {
        let mut log = File::options().create(true).append(true).open(&self.log)?;
        writeln!(log, "{line}")?;
        Ok(())
    }

    /// A test program of the package in a folder. `cargo test --package` would build the libraries again, with fewer features.
    fn test_program(&self, package: &str, name: &str) -> Result<&Path> {
        let programs = self
            .context
            .test_programs
            .get()
            .context("the step `build` has not run")?;
        let program = programs
            .iter()
            .find(|program| program.package == Path::new(package) && program.name == name)
            .with_context(|| format!("{package} has no test program {name}"))?;
        Ok(&program.executable)
    }

    /// A command that runs a test program in the folder of its package, as cargo does.
    fn test(&self, package: &str, name: &str) -> Result<Command> {
        let mut command = self.command(self.test_program(package, name)?)?;
        command.current_dir(self.context.root.join(package));
        Ok(command)
    }

    /// Builds the test programs of the workspace and returns them.
    fn build_tests(&self, arguments: &[&str]) -> Result<Vec<TestProgram>> {
        let mut command = self.command("cargo")?;
        let output = command
            .args(["test", "--profile", PROFILE, "--locked", "--no-run"])
            .args(WORKSPACE)
            .arg("--message-format=json-render-diagnostics")
            .args(arguments)
            .stdout(std::process::Stdio::piped())
            .output()?;
        if !output.status.success() {
            bail!("the tests cannot be built");
        }
        let messages = String::from_utf8_lossy(&output.stdout);
        Ok(messages
            .lines()
            .filter_map(|line| self.read_test_program(line))
            .collect())
    }

    /// The test program that a message of cargo describes.
    fn read_test_program(&self, message: &str) -> Option<TestProgram> {
        let message: Value = serde_json::from_str(message).ok()?;
        let executable = message["executable"].as_str()?;
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
        if message["profile"]["test"] != true {
            return None;
        }
        Some(TestProgram {
            package: folder.strip_prefix(&self.context.root).ok()?.to_path_buf(),
            name: message["target"]["name"].as_str()?.to_owned(),
            executable: PathBuf::from(executable),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Group, STEPS, select};

    #[test]
    fn steps_depend_on_earlier_steps() {
        for (index, step) in STEPS.iter().enumerate() {
            let earlier: Vec<&str> = STEPS[..index].iter().map(|step| step.name).collect();
            assert!(
                !earlier.contains(&step.name),
                "{} is listed twice",
                step.name
            );
            for dependency in step.after {
                assert!(
                    earlier.contains(dependency),
                    "{} after {dependency}",
                    step.name
                );
            }
            assert!(
                Group::ALL
                    .iter()
                    .all(|group| group.name() != step.name || *group == step.group)
            );
        }
    }

    #[test]
    fn selection_includes_dependencies() {
        let names = |selection: &[&str]| -> Vec<&str> {
            let selection: Vec<String> = selection.iter().map(ToString::to_string).collect();
            select(&selection)
                .unwrap()
                .iter()
                .map(|step| step.name)
                .collect()
        };
        assert_eq!(names(&["format"]), ["format"]);
        assert_eq!(names(&["c"]), ["build", "c"]);
        assert!(names(&[]).contains(&"test") && !names(&[]).contains(&"fuzz"));
        assert!(names(&["oracle"]).contains(&"build"));
        assert!(select(&["no-such-step".to_owned()]).is_err());
    }

    /// The workflows run every group, and name nothing else.
    #[test]
    fn workflows_run_all_groups() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(2)
            .unwrap();
        let mut text = String::new();
        for workflow in std::fs::read_dir(root.join(".github/workflows")).unwrap() {
            text += &std::fs::read_to_string(workflow.unwrap().path()).unwrap();
        }
        let runs: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split_once(".ci/run "))
            .filter(|(_, arguments)| !arguments.starts_with("--"))
            .flat_map(|(_, names)| names.split_whitespace())
            .collect();
        for name in &runs {
            assert!(select(&[(*name).to_owned()]).is_ok(), "`.ci/run {name}`");
        }
        for group in Group::ALL {
            assert!(
                runs.contains(&group.name()),
                "no workflow runs {}",
                group.name()
            );
        }
    }
}
