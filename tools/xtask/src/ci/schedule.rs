//! Runs steps on several threads: a step starts when those that it depends on have succeeded.

use std::collections::HashMap;
use std::fs;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::{Context, Need, Step, StepRun};

/// How a step ended.
enum Outcome {
    Passed,
    /// What the step needs is missing, or a step that it depends on did not pass.
    Skipped(String),
    Failed(String),
}

/// The state that the threads share.
struct Queue<'a> {
    /// The steps that have not started, in the order of the list.
    waiting: Vec<&'a Step>,
    running: Vec<&'a Step>,
    ended: HashMap<&'static str, Outcome>,
}

/// What a thread does next.
enum Next<'a> {
    Run(&'a Step),
    Skip(&'a Step, String),
    Wait,
    Finish,
}

/// Runs all steps, at most `jobs` at a time, also after failures, and prints their output when they end.
pub(super) fn run(steps: &[&'static Step], context: &Context, jobs: usize) -> Result<()> {
    let start = Instant::now();
    let queue = Mutex::new(Queue {
        waiting: steps.to_vec(),
        running: Vec::new(),
        ended: HashMap::new(),
    });
    let changed = Condvar::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            context
                .tools
                .install(steps.iter().flat_map(|step| step.needs))
        });
        for _ in 0..jobs {
            scope.spawn(|| work(&queue, &changed, context));
        }
    });
    let queue = queue.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("\n{} s in total", start.elapsed().as_secs());
    summarize(steps, &queue.ended)
}

fn work(queue: &Mutex<Queue<'_>>, changed: &Condvar, context: &Context) {
    let mut state = queue.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        match state.next() {
            Next::Finish => {
                changed.notify_all();
                return;
            }
            Next::Wait => state = changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Next::Skip(step, reason) => {
                println!("== {}: skipped: {reason}", step.title);
                state.end(step, Outcome::Skipped(reason));
                changed.notify_all();
            }
            Next::Run(step) => {
                drop(state);
                let outcome = run_step(step, context);
                state = queue.lock().unwrap_or_else(PoisonError::into_inner);
                state.end(step, outcome);
                changed.notify_all();
            }
        }
    }
}

impl<'a> Queue<'a> {
    /// Takes the first step that can start out of the waiting ones.
    fn next(&mut self) -> Next<'a> {
        let folder_is_used = self.running.iter().any(|step| step.builds_workspace);
        for (index, &step) in self.waiting.iter().enumerate() {
            let unmet = |name: &&&str| !matches!(self.ended.get(**name), Some(Outcome::Passed));
            match step.after.iter().find(unmet) {
                Some(name) if self.ended.contains_key(name) => {
                    let reason = format!("`{name}` has not passed");
                    self.waiting.remove(index);
                    return Next::Skip(step, reason);
                }
                None if !(step.builds_workspace && folder_is_used) => {
                    self.waiting.remove(index);
                    self.running.push(step);
                    return Next::Run(step);
                }
                _ => {}
            }
        }
        if self.waiting.is_empty() {
            Next::Finish
        } else {
            Next::Wait
        }
    }

    fn end(&mut self, step: &Step, outcome: Outcome) {
        self.running.retain(|running| running.name != step.name);
        self.ended.insert(step.name, outcome);
    }
}

/// Whether this is a CI system, where everything that a step needs can be installed.
fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

fn run_step(step: &Step, context: &Context) -> Outcome {
    for need in step.needs {
        let Some(reason) = context.missing(*need) else {
            continue;
        };
        let may_be_missing =
            !is_ci() || !cfg!(target_os = "linux") || matches!(need, Need::Shared(_));
        println!("== {}: {reason}", step.title);
        return if may_be_missing {
            Outcome::Skipped(reason)
        } else {
            Outcome::Failed(reason)
        };
    }
    let log = context
        .target
        .join("logs")
        .join(format!("{}.txt", step.name));
    let _ = fs::remove_file(&log);
    let start = Instant::now();
    let result = (step.run)(&StepRun {
        context,
        log: log.clone(),
    });
    let output = fs::read(&log).unwrap_or_default();
    let output = String::from_utf8_lossy(&output);
    print_step(step, &output, start.elapsed(), result.is_err());
    match result {
        Ok(()) => Outcome::Passed,
        Err(error) => {
            println!("FAILED: {error:#}");
            Outcome::Failed(format!("{error:#}"))
        }
    }
}

/// Prints all output of a step that failed, and the last lines of one that passed; the file in `target/logs` has them all.
fn print_step(step: &Step, output: &str, duration: Duration, failed: bool) {
    const LAST_LINES: usize = 12;
    let lines: Vec<&str> = output.lines().collect();
    let hidden = if failed {
        0
    } else {
        lines.len().saturating_sub(LAST_LINES)
    };
    let mut text = format!(
        "== {} ({}), {:.0} s\n",
        step.title,
        step.name,
        duration.as_secs_f64()
    );
    if hidden > 0 {
        text += &format!("({hidden} lines before)\n");
    }
    for line in &lines[hidden..] {
        text += line;
        text.push('\n');
    }
    print!("{text}");
}

fn summarize(steps: &[&'static Step], ended: &HashMap<&'static str, Outcome>) -> Result<()> {
    let mut failed = Vec::new();
    for step in steps {
        match ended.get(step.name) {
            Some(Outcome::Passed) => {}
            Some(Outcome::Skipped(reason)) => println!("skipped: {} ({reason})", step.title),
            Some(Outcome::Failed(reason)) => {
                println!("FAILED: {} ({reason})", step.title);
                failed.push(step.name);
            }
            None => failed.push(step.name),
        }
    }
    if !failed.is_empty() {
        bail!("{} steps failed: {}", failed.len(), failed.join(", "));
    }
    println!("all checks passed");
    Ok(())
}
