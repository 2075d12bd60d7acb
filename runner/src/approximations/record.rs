//! Records what an instruction returns for all inputs.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, anyhow, bail};
use ptx_isa::ScalarType;
use ptx_vm::Launch;

use super::domain::Domain;
use super::exact::part;
use super::form::Approximation;
use super::table::{Header, Rule, Table, sum};
use super::{exact, runs};
use crate::device::{Device, Loaded};
use crate::version::Abilities;

/// Inputs of a launch, if a binade has fewer.
const LAUNCH: u64 = 1 << 16;
/// Results at equal distances that are compared before all are.
const SAMPLE: usize = 64;

/// Records an instruction on a device: for all inputs, or, if these have 32 bits, for those whose lowest `skip` bits are zero.
///
/// # Errors
///
/// If the device does not run the instruction, or its results depend on more than is recorded.
pub fn record(
    device: &dyn Device,
    abilities: Abilities,
    of: &Approximation,
    skip: u32,
) -> Result<Table> {
    let skip = match of.element.bits() {
        16 => 0,
        _ => skip,
    };
    let domain = Domain::new(of.element, skip).context("as many bits are not in the fraction")?;
    let header = Header {
        device: device.name(),
        target: abilities.target.to_string(),
        driver: device.driver(),
        version: abilities.version.to_string(),
    };
    let mut source = Source::new(device, abilities, of, domain)?;
    let mut table = Table::new(header, of.clone(), domain);
    let mut pending: Vec<u32> = Vec::new();
    for binade in 0..domain.binades() {
        let results = source.binade(binade)?;
        pending.extend(&results);
        if pending.len() >= domain.block() || binade + 1 == domain.binades() {
            table.add_hashes(&std::mem::take(&mut pending));
        }
        let rule = rule(&table, binade, &results)?;
        let decoded = OnceLock::new();
        if matches!(rule, Rule::Differences(_)) {
            let _ = decoded.set(results);
        }
        table.rules.push(rule);
        table.decoded.push(decoded);
    }
    Ok(table)
}

/// The shortest way to compute the results of a binade.
fn rule(table: &Table, binade: usize, results: &[u32]) -> Result<Rule> {
    let first = *results.first().context("no results")?;
    if results.iter().all(|r| *r == first) {
        return Ok(Rule::Constant(first));
    }
    let compressed = table.rules.iter().enumerate().rev();
    let compressed = compressed.filter(|(_, r)| matches!(r, Rule::Differences(_)));
    for (earlier, _) in compressed {
        let begins = table.result(earlier, 0)?;
        let add = table.wrap(first.wrapping_sub(begins));
        let like = Rule::Like {
            binade: earlier,
            add,
        };
        let value = |at| Ok(table.wrap(table.result(earlier, at)?.wrapping_add(add)));
        if holds(results, value)? {
            return Ok(like);
        }
    }
    let one = table.domain.one();
    if table.of.element == ScalarType::F32
        && matches!(table.rules.get(one), Some(Rule::Differences(_)))
    {
        let begins = f32::from_bits(table.result(one, 0)?);
        let add = (f32::from_bits(first) - begins).to_bits();
        if holds(results, |at| Ok(sum(table.result(one, at)?, add)))? {
            return Ok(Rule::Sum { binade: one, add });
        }
    }
    if let Some(step) = step(table, binade, first)? {
        let value = |at| match table.split(table.domain.input(binade, at)) {
            None => Ok(!results.get(at).copied().unwrap_or(0)),
            Some((fraction, whole)) => {
                let result = table.evaluate(fraction)?.unwrap_or(0);
                Ok(table.wrap(result.wrapping_add(step.wrapping_mul(whole as u32))))
            }
        };
        if holds(results, value)? {
            return Ok(Rule::Whole { step });
        }
    }
    let nearest = exact::binade(&table.of, table.domain, binade);
    let both = results.iter().zip(&nearest);
    let difference = |(r, n): (&u32, &u32)| match table.domain.bits {
        16 => i32::from(r.wrapping_sub(*n) as u16 as i16),
        _ => r.wrapping_sub(*n) as i32,
    };
    Ok(Rule::Differences(runs::compress(both.map(difference))?))
}

/// What the bits of the result increase by if one is added to the input, if that may be: from zero to the first input of a binade.
fn step(table: &Table, binade: usize, first: u32) -> Result<Option<u32>> {
    let Some((0, whole)) = table.split(table.domain.input(binade, 0)) else {
        return Ok(None);
    };
    let at_zero = table.result(0, 0)?;
    let shift = |bits: u32| match table.domain.bits {
        16 => i64::from(bits as u16 as i16),
        _ => i64::from(bits as i32),
    };
    let difference = shift(first) - shift(at_zero);
    let step = difference / whole;
    Ok((step * whole == difference).then_some(step as u32))
}

/// Whether the results are those that a function gives: first some, then all, on all threads of the host.
fn holds(results: &[u32], value: impl Fn(usize) -> Result<u32> + Sync) -> Result<bool> {
    let distance = results.len().div_ceil(SAMPLE);
    for (at, result) in results.iter().enumerate().step_by(distance) {
        if value(at)? != *result {
            return Ok(false);
        }
    }
    let differs = AtomicBool::new(false);
    let part = part(results.len());
    let compare = &|number: usize, own: &[u32]| {
        for (at, result) in own.iter().enumerate() {
            if value(number * part + at)? != *result {
                differs.store(true, Ordering::Relaxed);
            }
            if differs.load(Ordering::Relaxed) {
                break;
            }
        }
        anyhow::Ok(())
    };
    std::thread::scope(|scope| {
        let parts = results.chunks(part).enumerate();
        let threads: Vec<_> = parts
            .map(|(number, own)| scope.spawn(move || compare(number, own)))
            .collect();
        for thread in threads {
            let ended = thread.join();
            ended.map_err(|_| anyhow!("a comparison failed"))??;
        }
        anyhow::Ok(())
    })?;
    Ok(!differs.into_inner())
}

/// The results of a device.
struct Source<'a> {
    module: Box<dyn Loaded + 'a>,
    of: &'a Approximation,
    domain: Domain,
    /// Where the device writes them, and for how many inputs.
    buffer: u64,
    inputs: u64,
    /// The results of the last launch, and its first input.
    results: Vec<u32>,
    first: u64,
}

impl<'a> Source<'a> {
    fn new(
        device: &'a dyn Device,
        abilities: Abilities,
        of: &'a Approximation,
        domain: Domain,
    ) -> Result<Self> {
        let mut module = device.load(&of.kernel(abilities.version, abilities.target))?;
        let inputs = LAUNCH.max(domain.size() as u64).min(domain.inputs());
        let buffer = module.allocate(inputs * of.bytes() as u64)?;
        Ok(Self {
            module,
            of,
            domain,
            buffer,
            inputs,
            results: Vec::new(),
            first: 0,
        })
    }

    fn binade(&mut self, binade: usize) -> Result<Vec<u32>> {
        let size = self.domain.size();
        let first = (binade * size) as u64;
        if first >= self.first + self.results.len() as u64 {
            self.launch(first)?;
        }
        let at = usize::try_from(first - self.first)?;
        let results = self.results.get(at..at + size);
        Ok(results.context("results are missing")?.to_vec())
    }

    fn launch(&mut self, first: u64) -> Result<()> {
        let threads = self.inputs.min(256);
        let blocks = u32::try_from(self.inputs / threads)?;
        let launch = Launch::new("k")
            .shape(blocks, threads as u32)
            .argument(self.buffer.to_le_bytes())
            .argument(u32::try_from(first)?.to_le_bytes())
            .argument(self.domain.skip.to_le_bytes());
        self.module.launch(&launch)?;
        let bytes = usize::try_from(self.inputs)? * self.of.bytes();
        let bytes = self.module.read(self.buffer, bytes)?;
        let words = bytes.as_chunks().0.iter().map(|w| u32::from_le_bytes(*w));
        self.results.clear();
        self.first = first;
        let (packed, wide) = (self.of.lanes > 1, self.of.bytes() == 8);
        if wide {
            let words: Vec<u32> = words.collect();
            for both in words.chunks(2) {
                let &[0, high] = both else {
                    bail!("{}: the low half of a result is not zero", self.of.name);
                };
                self.results.push(high);
            }
            return Ok(());
        }
        for word in words {
            if packed && word >> 16 != word & 0xffff {
                bail!("{}: the elements of {word:#x} differ", self.of.name);
            }
            let result = if self.domain.bits == 16 {
                word & 0xffff
            } else {
                word
            };
            self.results.push(result);
        }
        Ok(())
    }
}
