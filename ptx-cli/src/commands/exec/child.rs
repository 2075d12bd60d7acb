//! The process of the program: signals are passed on to it, and its status becomes that of this one.

use std::env;
use std::ffi::{CString, OsStr, OsString};
use std::io::{self, IsTerminal as _};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Context as _, Result, bail};
use nix::errno::Errno;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
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
pub(super) fn run(command: &[OsString], variables: &[(&str, OsString)]) -> Result<WaitStatus> {
    let Some(program) = command.first() else {
        bail!("a program is required");
    };
    // Signals are blocked before the child exists, so that none of them ends this process without reaching the child.
    let signals: SigSet = SIGNALS.into_iter().collect();
    let usual = signals.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let process = start(command, variables, &usual)
        .with_context(|| clean(&program.to_string_lossy()).into_owned())?;
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
    let status = loop {
        match waitpid(process, None) {
            Err(Errno::EINTR) => {}
            status => break status?,
        }
    };
    has_ended.store(true, Ordering::Release);
    Ok(status)
}

/// Starts the program, which blocks the signals of `mask` and is ended by a closed pipe. `std::process::Command` would pass on the mask of this process.
fn start(command: &[OsString], variables: &[(&str, OsString)], mask: &SigSet) -> Result<Pid> {
    let arguments = command
        .iter()
        .map(|argument| CString::new(argument.as_bytes()))
        .collect::<Result<Vec<CString>, _>>()?;
    let changed = |name: &OsStr| variables.iter().any(|(variable, _)| name == *variable);
    let environment = env::vars_os()
        .filter(|(name, _)| !changed(name))
        .chain(
            variables
                .iter()
                .map(|(name, value)| (name.into(), value.clone())),
        )
        .map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()))
        .collect::<Result<Vec<CString>, _>>()?;
    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_flags(
        PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF,
    )?;
    attributes.set_sigmask(mask)?;
    attributes.set_sigdefault(&Signal::SIGPIPE.into())?;
    let files = PosixSpawnFileActions::init()?;
    posix_spawnp(&arguments[0], &files, &attributes, &arguments, &environment)
        .map_err(|error| io::Error::from(error).into())
}

/// The status of the program as a number: that of shells, which add 128 to the number of a signal.
pub(super) fn number(status: WaitStatus) -> u8 {
    let number = match status {
        WaitStatus::Exited(_, code) => code,
        WaitStatus::Signaled(_, signal, _) => 128 + signal as i32,
        _ => 1,
    };
    u8::try_from(number).unwrap_or(1)
}
