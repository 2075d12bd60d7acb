//! ptxas on the same texts: it parses and checks them and generates no code.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::timing::Timing;
use crate::assembler::{Assemblers, Job};

/// Next to nothing: what remains is the start of the process.
const EMPTY: &[u8] = b".version 8.0\n.target sm_80\n.address_size 64\n";

/// Times ptxas on one text; `None` if it refuses it.
pub(crate) fn time(
    assemblers: &Assemblers,
    text: &[u8],
    budget: Duration,
) -> Result<Option<Timing>> {
    let start = Instant::now();
    let mut times = Vec::new();
    while times.len() < 3 || start.elapsed() < budget {
        let verdict = assemblers.run(text, Job::Check)?;
        if !verdict.accepted {
            return Ok(None);
        }
        times.push(verdict.time);
    }
    Ok(Timing::of(times))
}

/// Times its start.
pub(crate) fn start_up(assemblers: &Assemblers, budget: Duration) -> Result<Option<Timing>> {
    time(assemblers, EMPTY, budget)
}
