//! The process of the program: signals are passed on to it, and its status becomes that of this one.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;
use ptx_report::clean;

/// The signals that are passed on.
const SIGNALS: [Signal; 6] = [
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
];

/// Runs a program with additional environment variables, and waits for its end.
pub(super) fn run(command: &[OsString], variables: &[(&str, OsString)]) -> Result<ExitStatus> {
    let Some((program, arguments)) = command.split_first() else {
        bail!("a program is required");
    };
    let mut child = Command::new(program)
        .args(arguments)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .spawn()
        .with_context(|| clean(&program.to_string_lossy()).into_owned())?;
    // The child has inherited the usual signals; from here on, a thread of this process waits for them.
    let signals: SigSet = SIGNALS.into_iter().collect();
    signals.thread_block()?;
    let process = Pid::from_raw(i32::try_from(child.id())?);
    let has_ended = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&has_ended);
    // A terminal sends its signals to all processes, so the child has them already.
    let has_terminal = io::stdin().is_terminal();
    thread::spawn(move || {
        while let Ok(signal) = signals.wait() {
            let of_terminal = has_terminal && matches!(signal, Signal::SIGINT | Signal::SIGQUIT);
            if !of_terminal && !seen.load(Ordering::Acquire) {
                let _ = kill(process, signal);
            }
        }
    });
    let status = child.wait()?;
    has_ended.store(true, Ordering::Release);
    Ok(status)
}

/// The status of the program as a number: that of shells, which add 128 to the number of a signal.
pub(super) fn number(status: ExitStatus) -> u8 {
    let number = status
        .code()
        .or_else(|| Some(128 + status.signal()?))
        .unwrap_or(1);
    u8::try_from(number).unwrap_or(1)
}
