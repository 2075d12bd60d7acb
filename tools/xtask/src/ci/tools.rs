//! The programs and packages that steps need, installed into the cache folder of the user where they are missing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context as _, Result, bail};

use super::Need;

/// The packages of `ptxas` for PTX 9.2, with the compiler `nvcc`.
const PTXAS_PACKAGES: &[&str] = &[
    "nvidia-cuda-nvcc==13.2.78",
    "nvidia-nvvm==13.2.*",
    "nvidia-cuda-crt==13.2.*",
    "nvidia-cuda-runtime==13.2.*",
    "nvidia-cuda-cccl==13.2.*",
];

/// Libraries that use CUDA, the compilers that they need, and what the tests of numba-cuda need.
const CLIENT_PACKAGES: &[&str] = &[
    "numba-cuda[cu13]==0.30.4",
    "cuda-core==1.2.2",
    "nvidia-cuda-nvrtc==13.5.37",
    "triton==3.9.0",
    "tinygrad==0.14.0",
    "numpy",
    "ml_dtypes",
    "cffi",
    "filecheck",
    "psutil",
    "pytest",
    // Triton compiles its launcher with it.
    "setuptools",
];

/// Each tool is installed once, by the first thread that asks for it.
#[derive(Default)]
pub(super) struct Tools {
    root: PathBuf,
    assemblers: OnceLock<Result<Assemblers, String>>,
    containers: OnceLock<Result<PathBuf, String>>,
    npm: OnceLock<Result<(), String>>,
    browser: OnceLock<Result<PathBuf, String>>,
    java: OnceLock<Result<(), String>>,
    z3: OnceLock<Result<PathBuf, String>>,
    json_schema: OnceLock<Result<PathBuf, String>>,
    clients: OnceLock<Result<PathBuf, String>>,
}

/// Paths of programs of NVIDIA.
pub(super) struct Assemblers {
    pub(super) ptxas: PathBuf,
    /// `ptxas` for PTX after 9.2.
    pub(super) newer_ptxas: PathBuf,
    pub(super) nvdisasm: PathBuf,
}

impl Tools {
    pub(super) fn new(root: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
            ..Self::default()
        }
    }

    /// Installs tools before the first step asks for them, since most of the time is spent waiting for the network.
    pub(super) fn install<'n>(&self, needs: impl Iterator<Item = &'n Need>) {
        for need in needs {
            self.missing(*need);
        }
    }

    /// The reason for which a tool is missing, after an attempt to install it.
    pub(super) fn missing(&self, need: Need) -> Option<String> {
        match need {
            Need::Unix | Need::Shared(_) => None,
            Need::Assemblers => self.assemblers().err(),
            Need::Containers => self.containers().err(),
            Need::Npm => self.npm().err(),
            Need::Browser => self.browser().err(),
            Need::Java => self.java().err(),
            Need::Z3 => self.z3().err(),
            Need::JsonSchema => self.json_schema().err(),
            Need::Clients => self.clients().err(),
        }
        .map(|error| format!("{error:#}"))
    }

    pub(super) fn assemblers(&self) -> Result<&Assemblers> {
        once(&self.assemblers, || {
            let from_environment = |name| std::env::var_os(name).map(PathBuf::from);
            let ptxas = from_environment("PTXAS");
            let newer_ptxas = from_environment("PTXAS_NEWER");
            let nvdisasm = from_environment("NVDISASM");
            Ok(Assemblers {
                ptxas: ptxas
                    .map_or_else(|| nvidia_program("ptxas/13.2", "ptxas", PTXAS_PACKAGES), Ok)?,
                newer_ptxas: newer_ptxas.map_or_else(
                    || nvidia_program("ptxas/13.5", "ptxas", &["nvidia-cuda-nvcc==13.5.37"]),
                    Ok,
                )?,
                nvdisasm: nvdisasm.map_or_else(
                    || {
                        nvidia_program(
                            "ptxkit-nvdisasm",
                            "nvdisasm",
                            &["nvidia-cuda-nvdisasm==13.5.37"],
                        )
                    },
                    Ok,
                )?,
            })
        })
    }

    /// The environment with `cuobjdump`, beside the folders of libraries `linux`, `linux-12` and `windows`.
    pub(super) fn containers(&self) -> Result<&PathBuf> {
        once(&self.containers, || {
            let environment = environment("ptxkit-cuobjdump", &["nvidia-cuda-cuobjdump==13.2.86"])?;
            let libraries: [(&str, &[&str]); 3] = [
                ("linux", &["nvidia-nvjpeg==13.3.2.43"]),
                ("linux-12", &["nvidia-nvjpeg-cu12==12.4.0.76"]),
                (
                    "windows",
                    &[
                        "--platform",
                        "win_amd64",
                        "--only-binary=:all:",
                        "nvidia-nvjpeg==13.3.2.43",
                    ],
                ),
            ];
            for (name, arguments) in libraries {
                let folder = environment.join(name);
                if !folder.exists() {
                    let mut pip = pip(&environment);
                    pip.args(["--no-deps", "--target"])
                        .arg(&folder)
                        .args(arguments);
                    run(&mut pip)?;
                }
            }
            Ok(environment)
        })
    }

    pub(super) fn npm(&self) -> Result<&()> {
        once(&self.npm, || {
            if !is_installed("npm") {
                install_debian_packages(&["nodejs", "npm"])?;
            }
            Ok(())
        })
    }

    /// The path of Chromium. The package that drives it is installed in `.ci/browser`.
    pub(super) fn browser(&self) -> Result<&PathBuf> {
        self.npm()?;
        once(&self.browser, || {
            let chromium = match std::env::var_os("CHROMIUM") {
                Some(path) => PathBuf::from(path),
                None => {
                    let names = ["chromium", "google-chrome"];
                    let name = names.into_iter().find(|name| is_installed(name));
                    if name.is_none() {
                        install_debian_packages(&["chromium", "fonts-dejavu-core"])?;
                    }
                    find_program(name.unwrap_or("chromium")).context("Chromium is missing")?
                }
            };
            let folder = self.root.join(".ci/browser");
            if !folder.join("node_modules/axe-core").is_dir() {
                let mut npm = Command::new("npm");
                npm.args(["ci", "--silent", "--no-audit", "--no-fund"])
                    .current_dir(folder);
                run(&mut npm)?;
            }
            Ok(chromium)
        })
    }

    fn java(&self) -> Result<&()> {
        once(&self.java, || {
            if is_installed("java") {
                Ok(())
            } else {
                bail!("Spark needs Java 17")
            }
        })
    }

    /// The Python interpreter of an environment with z3.
    pub(super) fn z3(&self) -> Result<&PathBuf> {
        once(&self.z3, || {
            Ok(environment("ptxkit-z3", &["z3-solver==5.4.1.0"])?.join("bin/python"))
        })
    }

    /// The Python interpreter of an environment with libraries that use CUDA.
    pub(super) fn clients(&self) -> Result<&PathBuf> {
        once(&self.clients, || {
            Ok(environment("ptxkit-clients", CLIENT_PACKAGES)?.join("bin/python"))
        })
    }

    /// The Python interpreter of an environment with jsonschema.
    pub(super) fn json_schema(&self) -> Result<&PathBuf> {
        once(&self.json_schema, || {
            Ok(environment("ptxkit-jsonschema", &["jsonschema"])?.join("bin/python"))
        })
    }
}

/// The value of a cell, which the first call computes.
fn once<T>(cell: &OnceLock<Result<T, String>>, compute: impl FnOnce() -> Result<T>) -> Result<&T> {
    let value = cell.get_or_init(|| compute().map_err(|error| format!("{error:#}")));
    value.as_ref().map_err(|error| anyhow::anyhow!("{error}"))
}

fn cache() -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os("XDG_CACHE_HOME") {
        return Ok(PathBuf::from(folder));
    }
    let home = std::env::var_os("HOME").context("HOME is not set")?;
    Ok(PathBuf::from(home).join(".cache"))
}

/// A Python environment in the cache folder with packages from PyPI. The file `complete` marks that all of them are installed.
fn environment(name: &str, packages: &[&str]) -> Result<PathBuf> {
    let folder = cache()?.join(name);
    let complete = folder.join("complete");
    if !complete.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        run(pip(&folder).args(packages))?;
        std::fs::write(complete, packages.join("\n"))?;
    }
    Ok(folder)
}

fn pip(environment: &Path) -> Command {
    let mut command = Command::new(environment.join("bin/pip"));
    command.args(["install", "--quiet", "--disable-pip-version-check"]);
    command
}

/// A program of a package of NVIDIA.
fn nvidia_program(folder: &str, program: &str, packages: &[&str]) -> Result<PathBuf> {
    let libraries = environment(folder, packages)?.join("lib");
    for version in std::fs::read_dir(&libraries)? {
        let path = version?
            .path()
            .join("site-packages/nvidia/cu13/bin")
            .join(program);
        if path.is_file() {
            return Ok(path);
        }
    }
    bail!("{} contains no {program}", libraries.display())
}

fn install_debian_packages(packages: &[&str]) -> Result<()> {
    if !is_installed("apt-get") {
        bail!("{} is missing", packages.join(" or "));
    }
    run(Command::new("apt-get").args(["-qq", "update"]))?;
    let mut command = Command::new("apt-get");
    command.args(["-qq", "install", "--yes", "--no-install-recommends"]);
    run(command
        .args(packages)
        .env("DEBIAN_FRONTEND", "noninteractive"))
}

fn is_installed(program: &str) -> bool {
    find_program(program).is_some()
}

fn find_program(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let mut paths = std::env::split_paths(&folders).map(|folder| folder.join(name));
    paths.find(|path| path.is_file())
}

fn run(command: &mut Command) -> Result<()> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{}", command.get_program().display()))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let last = errors.trim_end().lines().next_back().unwrap_or_default();
        bail!("{} failed: {last}", command.get_program().display());
    }
    Ok(())
}
