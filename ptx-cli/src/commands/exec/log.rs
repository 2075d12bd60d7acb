//! What the processes of a program found: their logs, with the same findings of several launches and processes together.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use anyhow::{Context as _, Result};
use ptx_ir::{Code, Diagnostic, LineIndex, Module, Span};
use ptx_report::launch_log::{EXTENSION, Event, LoggedInstruction};

/// A module that a program loaded.
pub(super) struct LoadedModule {
    pub(super) module: Module,
    pub(super) lines: LineIndex,
}

impl LoadedModule {
    fn new(text: &str) -> Self {
        let module = ptx_parse::parse(text.as_bytes()).module;
        Self {
            lines: LineIndex::new(text.as_bytes()),
            module,
        }
    }
}

/// A finding, with all its occurrences.
pub(super) struct Cause {
    /// The index of the module.
    pub(super) module: usize,
    pub(super) kernel: String,
    pub(super) diagnostic: Diagnostic,
    /// Whether it ended the launch.
    pub(super) ended_launch: bool,
    pub(super) launches: u64,
    pub(super) occurrences: u64,
}

/// The profile of all launches of a kernel.
pub(super) struct KernelProfile {
    /// The index of the module.
    pub(super) module: usize,
    pub(super) kernel: String,
    pub(super) launches: u64,
    pub(super) steps: u64,
    pub(super) instructions: Vec<LoggedInstruction>,
}

/// The logs of all processes.
#[derive(Default)]
pub(super) struct Log {
    pub(super) modules: Vec<LoadedModule>,
    /// In the order of the processes, and of the launches in each.
    pub(super) causes: Vec<Cause>,
    pub(super) profiles: Vec<KernelProfile>,
    /// The processes that launched kernels.
    pub(super) processes: usize,
    /// The processes that did not end by themselves, so that their numbers of launches and profiles are unknown.
    pub(super) killed: usize,
    /// The launches and the executed warp instructions of the processes that ended by themselves.
    pub(super) launches: u64,
    pub(super) steps: u64,
    /// The index of each text among the modules.
    texts: HashMap<String, usize>,
    /// The index of each cause.
    known: HashMap<(usize, String, Code, Span), usize>,
}

impl Log {
    /// Reads the logs in a folder.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let mut log = Self::default();
        let mut paths = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.path().extension().is_some_and(|e| e == EXTENSION) {
                paths.push((entry.metadata()?.modified().ok(), entry.path()));
            }
        }
        paths.sort();
        for (_, path) in &paths {
            log.add(path).with_context(|| path.display().to_string())?;
        }
        Ok(log)
    }

    /// Adds the log of a process.
    fn add(&mut self, path: &Path) -> Result<()> {
        let mut modules = HashMap::new();
        let mut findings = HashMap::new();
        let mut is_complete = false;
        for line in BufReader::new(File::open(path)?).lines() {
            // The last line of a process that was killed may be a part of one.
            let Ok(event) = serde_json::from_str(&line?) else {
                break;
            };
            match event {
                Event::Process { .. } => self.processes += 1,
                Event::Module { module, text } => {
                    modules.insert(module, self.module(text));
                }
                Event::Finding {
                    finding,
                    module,
                    kernel,
                    ended_launch,
                    occurrences,
                    diagnostic,
                    ..
                } => {
                    let module = modules.get(&module).copied();
                    if let (Some(module), Some(diagnostic)) = (module, diagnostic.diagnostic()) {
                        let cause = Cause {
                            module,
                            kernel,
                            diagnostic,
                            ended_launch,
                            launches: 1,
                            occurrences,
                        };
                        findings.insert(finding, self.add_cause(cause));
                    }
                }
                Event::Again {
                    finding,
                    occurrences,
                } => {
                    let index = findings.get(&finding).copied();
                    if let Some(cause) = index.and_then(|index: usize| self.causes.get_mut(index)) {
                        cause.launches += 1;
                        cause.occurrences += occurrences;
                    }
                }
                Event::Profile {
                    module,
                    kernel,
                    launches,
                    steps,
                    instructions,
                } => {
                    if let Some(&module) = modules.get(&module) {
                        self.profiles.push(KernelProfile {
                            module,
                            kernel,
                            launches,
                            steps,
                            instructions,
                        });
                    }
                }
                Event::End { launches, steps } => {
                    self.launches += launches;
                    self.steps += steps;
                    is_complete = true;
                }
            }
        }
        self.killed += usize::from(!is_complete);
        Ok(())
    }

    /// The index of a module with a text.
    fn module(&mut self, text: String) -> usize {
        if let Some(index) = self.texts.get(&text) {
            return *index;
        }
        let index = self.modules.len();
        self.modules.push(LoadedModule::new(&text));
        self.texts.insert(text, index);
        index
    }

    /// Adds a finding, or the launches and occurrences of one that another process found, and returns its index.
    fn add_cause(&mut self, cause: Cause) -> usize {
        let Cause {
            module, diagnostic, ..
        } = &cause;
        let kernel = cause.kernel.clone();
        let key = (*module, kernel, diagnostic.code, diagnostic.span);
        let index = *self.known.entry(key).or_insert(self.causes.len());
        match self.causes.get_mut(index) {
            Some(known) => {
                known.launches += cause.launches;
                known.occurrences += cause.occurrences;
            }
            None => self.causes.push(cause),
        }
        index
    }
}
