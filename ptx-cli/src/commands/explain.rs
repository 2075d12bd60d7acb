//! `ptxkit explain`: describes diagnostics and instructions.

mod form;
mod instruction;

use std::io::Write;

use anyhow::Result;
use ptx_ir::Code;

use crate::output::{self, Out, Status};
use crate::pages::PAGES;
use crate::render::clean;

/// Describe a diagnostic code or an instruction
///
/// For an opcode, all forms are shown; for a mnemonic, those that take its modifiers. Without an argument, all codes are listed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit explain PTX0104
  ptxkit explain cp.async.bulk
  ptxkit explain add.rn.ftz.f32
  ptxkit explain")]
pub(crate) struct Args {
    /// A code such as PTX0104 (or ptx0104, 0104, 104), an opcode or a mnemonic
    #[arg(value_name = "CODE|INSTRUCTION")]
    code: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let Some(text) = &args.code else {
        for &code in Code::ALL {
            line(&mut out, code)?;
        }
        out.flush()?;
        return Ok(Status::Ok);
    };
    let number = number(text);
    let known = number.and_then(|n| Code::ALL.iter().find(|c| u64::from(c.number()) == n));
    if let Some(&code) = known {
        page(&mut out, code)?;
        out.flush()?;
        return Ok(Status::Ok);
    }
    if number.is_none() {
        return instruction::explain(&mut out, text);
    }
    let text = clean(text);
    match number.and_then(nearest) {
        Some(code) => output::note(format_args!(
            "ptxkit: unknown code {text}; did you mean {code}: {}?",
            code.title()
        )),
        None => output::note(format_args!(
            "ptxkit: unknown code {text}; `ptxkit explain` lists all codes, such as PTX0104"
        )),
    }
    Ok(Status::UsageError)
}

/// Writes the page of a code, or its title if there is no page.
fn page(out: &mut Out, code: Code) -> Result<()> {
    let name = code.to_string();
    match PAGES.iter().find(|(of, _)| *of == name) {
        Some((_, text)) => Ok(write!(out, "{text}")?),
        None => line(out, code),
    }
}

fn line(out: &mut Out, code: Code) -> Result<()> {
    Ok(writeln!(out, "{code}: {}", code.title())?)
}

/// The number in a text such as `PTX0104`, `ptx104` or `0104`.
fn number(text: &str) -> Option<u64> {
    let digits = match text.get(..3) {
        Some(prefix) if prefix.eq_ignore_ascii_case("ptx") => &text[3..],
        _ => text,
    };
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().unwrap_or(u64::MAX))
}

fn nearest(number: u64) -> Option<Code> {
    let distance = |code: &Code| u64::from(code.number()).abs_diff(number);
    Code::ALL.iter().copied().min_by_key(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_code() {
        for text in ["PTX0104", "ptx0104", "0104", "104"] {
            assert_eq!(number(text), Some(104), "{text}");
        }
        for text in ["", "PTX", "PTX-1", "x", "É4"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn the_nearest_code() {
        assert_eq!(nearest(0), Code::ALL.first().copied());
        assert_eq!(nearest(u64::MAX), Code::ALL.last().copied());
        assert_eq!(nearest(104), Some(Code::UnknownOpcode));
    }
}
