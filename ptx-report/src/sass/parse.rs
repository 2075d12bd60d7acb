//! Reads the output of `nvdisasm -c -gp`.

use super::{Disassembly, SassFunction, SassInstruction};

/// The name of the section with the text of the PTX file, of which ptxas records lines. ptxas -c adds a number to it.
const PTX_FILE: &str = ".nv_debug_ptx_txt";

/// The state of reading.
#[derive(Default)]
struct Reader {
    functions: Vec<SassFunction>,
    /// The name in the current section `.text.NAME`.
    section: String,
    /// The symbols of functions in the section that have been declared, but whose labels have not been read.
    symbols: Vec<String>,
    /// The current line of the PTX file.
    line: Option<u32>,
    /// The label at the next instruction.
    label: Option<String>,
}

pub(super) fn parse(text: &str) -> Disassembly {
    let mut reader = Reader::default();
    for line in text.lines() {
        reader.read(line.trim());
    }
    for function in &mut reader.functions {
        mark_padding(function);
    }
    reader.functions.retain(|f| !f.instructions.is_empty());
    Disassembly {
        functions: reader.functions,
    }
}

impl Reader {
    fn read(&mut self, line: &str) {
        let (directive, arguments) = split_word(line);
        if directive == ".section" {
            self.enter_section(arguments);
        } else if directive == ".type" {
            let symbol = arguments.strip_suffix(",@function");
            self.symbols.extend(symbol.map(str::to_owned));
        } else if let Some(marker) = line.strip_prefix("//## File ") {
            if let Some(line) = ptx_line(marker) {
                self.line = Some(line);
            }
        } else if line.starts_with("/*") {
            self.instruction(line);
        } else if let Some(label) = line.strip_suffix(':')
            && !label.starts_with("//")
        {
            self.label(label);
        }
    }

    fn enter_section(&mut self, section: &str) {
        let name = section.split_once(',').map_or(section, |(name, _)| name);
        let name = name.trim_matches('"').strip_prefix(".text.");
        self.section = name.unwrap_or_default().to_owned();
        self.symbols.clear();
        (self.line, self.label) = (None, None);
        if let Some(name) = name {
            self.start(name.to_owned(), None);
        }
    }

    fn start(&mut self, name: String, kernel: Option<String>) {
        self.functions.push(SassFunction {
            name,
            kernel,
            instructions: Vec::new(),
        });
    }

    fn label(&mut self, label: &str) {
        let is_section = label.strip_prefix(".text.") == Some(&self.section);
        if is_section || label == self.section {
            return;
        }
        if self.symbols.iter().any(|symbol| symbol == label) {
            // The copy of a device function in the section of a kernel: `$kernel$function`.
            let prefix = format!("${}$", self.section);
            let name = label.strip_prefix(&prefix).unwrap_or(label);
            self.start(name.to_owned(), Some(self.section.clone()));
        }
        self.label = Some(label.to_owned());
    }

    /// `/*0010*/ @!P0 LDG.E R0, [R2.64] ;`
    fn instruction(&mut self, line: &str) {
        let Some((address, text)) = line
            .strip_prefix("/*")
            .and_then(|line| line.split_once("*/"))
        else {
            return;
        };
        let (Ok(address), Some(function)) =
            (u64::from_str_radix(address, 16), self.functions.last_mut())
        else {
            return;
        };
        let text = text.trim().trim_start_matches('{').trim_end_matches('}');
        let text = text.trim().trim_end_matches(';').trim();
        let (first, tail) = split_word(text);
        let (guard, (opcode, operands)) = match first.starts_with('@') {
            true => (Some(first.to_owned()), split_word(tail)),
            false => (None, (first, tail)),
        };
        if opcode.is_empty() {
            return;
        }
        function.instructions.push(SassInstruction {
            address,
            label: self.label.take(),
            guard,
            opcode: opcode.to_owned(),
            operands: operands.to_owned(),
            line: self.line,
            is_padding: false,
        });
    }
}

fn split_word(text: &str) -> (&str, &str) {
    let (word, tail) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, tail.trim())
}

/// The line of a marker `".nv_debug_ptx_txt", line 41`; `None` for lines of other files.
fn ptx_line(marker: &str) -> Option<u32> {
    let (file, tail) = marker.strip_prefix('"')?.split_once('"')?;
    let suffix = file.strip_prefix(PTX_FILE)?;
    let is_ptx = suffix.is_empty() || suffix.starts_with('.');
    let digits = tail.trim_start_matches(',').trim().strip_prefix("line ")?;
    let digits = digits.split(|c: char| !c.is_ascii_digit()).next()?;
    is_ptx.then(|| digits.parse().ok())?
}

/// Marks a branch to itself and the `NOP`s after it at the end of a section.
fn mark_padding(function: &mut SassFunction) {
    for instruction in function.instructions.iter_mut().rev() {
        let branches_to_itself = instruction.opcode == "BRA"
            && instruction.guard.is_none()
            && instruction.label.is_some()
            && instruction.target() == instruction.label.as_deref();
        if !branches_to_itself && instruction.opcode != "NOP" {
            return;
        }
        instruction.is_padding = true;
        if branches_to_itself {
            return;
        }
    }
}
