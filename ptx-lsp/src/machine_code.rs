//! The machine code of a document, which a function of the program that contains the server makes: the server itself starts no programs.

use std::cell::RefCell;
use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use ptx_report::sass::{Disassembly, SassInstruction};

/// The machine instructions of a PTX line that a hover shows at most.
const MAX_INSTRUCTIONS: usize = 24;
/// The time that a hover waits for the machine code. It is shown by a later hover if it takes longer.
const WAITING_TIME: Duration = Duration::from_millis(1500);

/// A function that assembles the text of a module for its target and disassembles the result. The error is a message for people.
pub type Assemble = dyn Fn(&[u8]) -> Result<Disassembly, String> + Send + Sync;

/// The options of a server.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ServerOptions {
    /// Makes the machine code that hovers show; `None` for hovers without machine code. It is called on a separate thread.
    pub assemble: Option<Arc<Assemble>>,
}

impl fmt::Debug for ServerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerOptions")
            .field("assemble", &self.assemble.is_some())
            .finish()
    }
}

/// What is known about the machine code of a text.
#[derive(Debug, Default)]
enum State {
    /// It was not asked for since the last change.
    #[default]
    Unknown,
    /// A thread makes it.
    Started(Receiver<Result<Disassembly, String>>),
    Finished(Result<Disassembly, String>),
}

/// The machine code of a document.
#[derive(Debug, Default)]
pub(crate) struct MachineCode {
    options: ServerOptions,
    state: RefCell<State>,
}

impl MachineCode {
    pub(crate) fn new(options: ServerOptions) -> Self {
        Self {
            options,
            state: RefCell::default(),
        }
    }

    /// Forgets the machine code because the text changed.
    pub(crate) fn forget(&self) {
        *self.state.borrow_mut() = State::Unknown;
    }

    /// The machine instructions of a line of the text as Markdown. `None` if nothing makes machine code, or if the line has none.
    pub(crate) fn of_line(&self, text: &[u8], line: u32) -> Option<String> {
        let assemble = self.options.assemble.as_ref()?;
        let mut state = self.state.borrow_mut();
        if matches!(*state, State::Unknown) {
            let (sender, receiver) = mpsc::channel();
            let (assemble, text) = (Arc::clone(assemble), text.to_vec());
            let builder = thread::Builder::new().name("assembler".to_owned());
            // After another change, nothing receives the result.
            let thread = builder.spawn(move || sender.send(assemble(&text)));
            *state = match thread {
                Ok(_) => State::Started(receiver),
                Err(error) => State::Finished(Err(error.to_string())),
            };
        }
        if let State::Started(receiver) = &*state {
            match receiver.recv_timeout(WAITING_TIME) {
                Ok(result) => *state = State::Finished(result),
                Err(RecvTimeoutError::Timeout) => {
                    return Some("SASS: ptxas is running".to_owned());
                }
                Err(RecvTimeoutError::Disconnected) => {
                    *state = State::Finished(Err("no result".to_owned()));
                }
            }
        }
        match &*state {
            State::Finished(Ok(disassembly)) => markdown(disassembly, line),
            State::Finished(Err(message)) => Some(format!("SASS: {}", first_line(message))),
            _ => None,
        }
    }
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    ptx_report::clean(line).replace('`', "'")
}

/// The instructions of a line in a block of code.
fn markdown(disassembly: &Disassembly, line: u32) -> Option<String> {
    let functions = disassembly.functions.iter();
    let instructions: Vec<&SassInstruction> = functions
        .flat_map(|function| function.executable())
        .filter(|instruction| instruction.line == Some(line))
        .collect();
    if instructions.is_empty() {
        return None;
    }
    let mut text = "SASS\n```sass\n".to_owned();
    for instruction in instructions.iter().take(MAX_INSTRUCTIONS) {
        let code = ptx_report::clean(&instruction.text()).replace("```", "");
        let _ = writeln!(text, "{:04x}  {code}", instruction.address);
    }
    text += "```";
    if let Some(others @ 1..) = instructions.len().checked_sub(MAX_INSTRUCTIONS) {
        let _ = write!(text, "\n{others} other instructions");
    }
    Some(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panics")]
mod tests {
    use super::*;

    const OUTPUT: &str = ".section .text.k\n//## File \".nv_debug_ptx_txt\", line 4\n/*0000*/ MOV R1, R2 ;\n/*0010*/ EXIT ;\n";

    fn machine_code(result: Result<&'static str, &'static str>) -> MachineCode {
        MachineCode::new(ServerOptions {
            assemble: Some(Arc::new(move |text: &[u8]| {
                assert_eq!(text, b"text");
                result.map(Disassembly::parse).map_err(str::to_owned)
            })),
        })
    }

    #[test]
    fn lines_have_their_instructions() {
        let code = machine_code(Ok(OUTPUT));
        let expected = "SASS\n```sass\n0000  MOV R1, R2\n0010  EXIT\n```";
        assert_eq!(code.of_line(b"text", 4).as_deref(), Some(expected));
        assert_eq!(code.of_line(b"text", 5), None);
        code.forget();
        assert_eq!(code.of_line(b"text", 4).as_deref(), Some(expected));
    }

    #[test]
    fn errors_are_shown() {
        let code = machine_code(Err("ptxas: no `x`\nmore"));
        assert_eq!(
            code.of_line(b"text", 4).as_deref(),
            Some("SASS: ptxas: no 'x'")
        );
        assert_eq!(MachineCode::default().of_line(b"text", 4), None);
    }
}
