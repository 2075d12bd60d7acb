//! Records the results of an instruction for all inputs.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, anyhow, bail};
use ptx_isa::ScalarType;
use ptx_vm::Launch;

use super::domain::Domain;
use super::exact::chunk_len;
use super::form::Approximation;
use super::table::{Header, Rule, Table, sum};
use super::{exact, runs};
use crate::device::{Device, Loaded};
use crate::version::Abilities;

/// The number of inputs of a launch, if a binade has fewer.
const LAUNCH: u64 = 1 << 16;
/// The number of results at equal distances that are compared before all results are.
const SAMPLE: usize = 64;

/// Records an instruction on a device: for all inputs, or, if they have 32 bits, for the inputs whose lowest `skip` bits are zero.
///
/// # Errors
///
/// Fails if the device does not run the instruction, or if the results depend on bits that are not recorded.
pub fn record(
    device: &dyn Device,
    abilities: Abilities,
    approximation: &Approximation,
    skip: u32,
) -> Result<Table> {
    let skip = match approximation.element.bits() {
        16 => 0,
        _ => skip,
    };
    let domain =
        Domain::new(approximation.element, skip).context("as many bits are not in the fraction")?;
    let header = Header {
        device: device.name(),
        target: abilities.target.to_string(),
        driver: device.driver(),
        version: abilities.version.to_string(),
    };
    let mut source = Source::new(device, abilities, approximation, domain)?;
    let mut table = Table::new(header, approximation.clone(), domain);
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

/// The shortest rule that computes the results of a binade.
fn rule(table: &Table, binade: usize, results: &[u32]) -> Result<Rule> {
    let first = *results.first().context("no results")?;
    if results.iter().all(|r| *r == first) {
        return Ok(Rule::Constant(first));
    }
    for (earlier, rule) in table.rules.iter().enumerate().rev() {
        if !matches!(rule, Rule::Differences(_)) {
            continue;
        }
        let add = table.wrap(first.wrapping_sub(table.result(earlier, 0)?));
        if all_equal(results, |index| {
            Ok(table.wrap(table.result(earlier, index)?.wrapping_add(add)))
        })? {
            return Ok(Rule::Like {
                binade: earlier,
                add,
            });
        }
    }
    let one = table.domain.one();
    if table.approximation.element == ScalarType::F32
        && matches!(table.rules.get(one), Some(Rule::Differences(_)))
    {
        let first_of_one = f32::from_bits(table.result(one, 0)?);
        let add = (f32::from_bits(first) - first_of_one).to_bits();
        if all_equal(results, |index| Ok(sum(table.result(one, index)?, add)))? {
            return Ok(Rule::Sum { binade: one, add });
        }
    }
    if let Some(step) = step(table, binade, first)?
        && all_equal(results, |index| {
            match table.split(table.domain.input(binade, index)) {
                // A value that is not equal to the result.
                None => Ok(!results.get(index).copied().unwrap_or(0)),
                Some((fraction, integer)) => {
                    let result = table.evaluate(fraction)?.unwrap_or(0);
                    Ok(table.wrap(result.wrapping_add(step.wrapping_mul(integer as u32))))
                }
            }
        })?
    {
        return Ok(Rule::Whole { step });
    }
    let nearest = exact::binade(&table.approximation, table.domain, binade);
    let differences = results
        .iter()
        .zip(&nearest)
        .map(|(result, nearest)| signed(table.domain, result.wrapping_sub(*nearest)));
    Ok(Rule::Differences(runs::compress(differences)?))
}

/// The bits of a result as a signed integer.
fn signed(domain: Domain, bits: u32) -> i32 {
    match domain.bits {
        16 => i32::from(bits as u16 as i16),
        _ => bits as i32,
    }
}

/// The increase of the bits of the result if the input increases by one, computed from zero and the first input of a binade; `None` if it
/// is not an integer.
fn step(table: &Table, binade: usize, first: u32) -> Result<Option<u32>> {
    let Some((0, integer)) = table.split(table.domain.input(binade, 0)) else {
        return Ok(None);
    };
    let zero = signed(table.domain, table.result(0, 0)?);
    let difference = i64::from(signed(table.domain, first)) - i64::from(zero);
    let step = difference / integer;
    Ok((step * integer == difference).then_some(step as u32))
}

/// Whether the results are equal to the values of a function. Compares a sample first, then all results, on all threads of the host.
fn all_equal(results: &[u32], value: impl Fn(usize) -> Result<u32> + Sync) -> Result<bool> {
    let distance = results.len().div_ceil(SAMPLE);
    for (index, result) in results.iter().enumerate().step_by(distance) {
        if value(index)? != *result {
            return Ok(false);
        }
    }
    let differs = AtomicBool::new(false);
    let chunk_len = chunk_len(results.len());
    let compare = &|number: usize, chunk: &[u32]| {
        for (index, result) in chunk.iter().enumerate() {
            if value(number * chunk_len + index)? != *result {
                differs.store(true, Ordering::Relaxed);
            }
            if differs.load(Ordering::Relaxed) {
                break;
            }
        }
        anyhow::Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = results
            .chunks(chunk_len)
            .enumerate()
            .map(|(number, chunk)| scope.spawn(move || compare(number, chunk)))
            .collect();
        for thread in threads {
            thread
                .join()
                .map_err(|_| anyhow!("a comparison failed"))??;
        }
        anyhow::Ok(())
    })?;
    Ok(!differs.into_inner())
}

/// The results of a device.
struct Source<'a> {
    module: Box<dyn Loaded + 'a>,
    approximation: &'a Approximation,
    domain: Domain,
    /// The address to which the device writes the results.
    buffer: u64,
    /// The number of inputs of a launch.
    inputs: u64,
    /// The results of the last launch.
    results: Vec<u32>,
    /// The number of the first input of the last launch.
    first: u64,
}

impl<'a> Source<'a> {
    fn new(
        device: &'a dyn Device,
        abilities: Abilities,
        approximation: &'a Approximation,
        domain: Domain,
    ) -> Result<Self> {
        let text = approximation.kernel(abilities.version, abilities.target);
        let mut module = device.load(&text)?;
        let inputs = LAUNCH.max(domain.size() as u64).min(domain.inputs());
        let buffer = module.allocate(inputs * approximation.bytes() as u64)?;
        Ok(Self {
            module,
            approximation,
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
        let start = usize::try_from(first - self.first)?;
        let results = self.results.get(start..start + size);
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
        let byte_count = usize::try_from(self.inputs)? * self.approximation.bytes();
        let bytes = self.module.read(self.buffer, byte_count)?;
        let words = bytes.as_chunks().0.iter().map(|w| u32::from_le_bytes(*w));
        self.results.clear();
        self.first = first;
        let is_packed = self.approximation.lanes > 1;
        if self.approximation.bytes() == 8 {
            let words: Vec<u32> = words.collect();
            for halves in words.chunks(2) {
                let &[0, high] = halves else {
                    bail!(
                        "{}: the low half of a result is not zero",
                        self.approximation.name
                    );
                };
                self.results.push(high);
            }
            return Ok(());
        }
        for word in words {
            if is_packed && word >> 16 != word & 0xffff {
                bail!(
                    "{}: the elements of {word:#x} differ",
                    self.approximation.name
                );
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
