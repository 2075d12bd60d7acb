//! The recorded results: a rule for each binade.

use std::hash::Hasher as _;
use std::sync::OnceLock;

use anyhow::{Context as _, Result};

use super::domain::Domain;
use super::exact;
use super::form::Approximation;
use super::runs;

/// The device and the kernel with which a table was recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// The name of the device.
    pub device: String,
    /// The target of the kernel.
    pub target: String,
    /// The version of the driver.
    pub driver: String,
    /// The version of PTX of the kernel.
    pub version: String,
}

/// The results of an instruction for all inputs.
#[derive(Debug)]
pub struct Table {
    pub(super) header: Header,
    pub(super) approximation: Approximation,
    pub(super) domain: Domain,
    /// The rule that computes the results of each binade.
    pub(super) rules: Vec<Rule>,
    /// The results of compressed binades, which are decompressed at their first use.
    pub(super) decoded: Vec<OnceLock<Vec<u32>>>,
    /// A hash of the results of each block of inputs.
    pub(super) hashes: Vec<u64>,
}

/// The computation of the results of a binade.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    /// All results are this constant.
    Constant(u32),
    /// The bits are those of an earlier binade plus a constant: only the exponent or the sign changes.
    Like { binade: usize, add: u32 },
    /// The results are the sums of those of an earlier binade and a number, rounded to nearest.
    Sum { binade: usize, add: u32 },
    /// The bits are those of the result for the fraction of the input, plus a constant times the integer part of the input.
    Whole { step: u32 },
    /// The bits are those of the nearest result plus these compressed differences.
    Differences(Vec<u8>),
}

impl Table {
    pub(super) fn new(header: Header, approximation: Approximation, domain: Domain) -> Self {
        Self {
            header,
            approximation,
            domain,
            rules: Vec::new(),
            decoded: Vec::new(),
            hashes: Vec::new(),
        }
    }

    /// The device and the kernel with which a table was recorded.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The instruction, without its operands.
    #[must_use]
    pub fn instruction(&self) -> &str {
        &self.approximation.name
    }

    /// The hash of the hashes of all blocks.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let mut hash = Fnv::default();
        self.hashes.iter().for_each(|h| hash.write_u64(*h));
        hash.finish()
    }

    /// The bits that the instruction returns for an input; of 64 bits, the high halves of both. `None` if it was not recorded.
    ///
    /// # Errors
    ///
    /// If the compressed results are damaged.
    pub fn evaluate(&self, input: u32) -> Result<Option<u32>> {
        match self.domain.position(input) {
            Some((binade, index)) => Ok(Some(self.result(binade, index)?)),
            None => Ok(None),
        }
    }

    /// The result for the input with an index in a binade.
    pub(super) fn result(&self, binade: usize, index: usize) -> Result<u32> {
        let rule = self.rules.get(binade).context("a binade is missing")?;
        Ok(match *rule {
            Rule::Constant(bits) => bits,
            Rule::Like { binade, add } => self.wrap(self.result(binade, index)?.wrapping_add(add)),
            Rule::Sum { binade, add } => sum(self.result(binade, index)?, add),
            Rule::Whole { step } => {
                let input = self.domain.input(binade, index);
                let (fraction, integer) =
                    self.split(input).context("an input without a fraction")?;
                let (binade, index) = self
                    .domain
                    .position(fraction)
                    .context("a fraction that was not recorded")?;
                let result = self.result(binade, index)?;
                self.wrap(result.wrapping_add(step.wrapping_mul(integer as u32)))
            }
            Rule::Differences(_) => {
                let results = self.decoded(binade)?;
                *results.get(index).context("a result is missing")?
            }
        })
    }

    /// The results of a binade that is compressed.
    fn decoded(&self, binade: usize) -> Result<&[u32]> {
        let cell = self.decoded.get(binade).context("a binade is missing")?;
        if let Some(results) = cell.get() {
            return Ok(results);
        }
        let Some(Rule::Differences(bytes)) = self.rules.get(binade) else {
            return Ok(&[]);
        };
        let differences = runs::decompress(bytes, self.domain.size())?;
        let nearest = exact::binade(&self.approximation, self.domain, binade);
        Ok(cell.get_or_init(|| {
            nearest
                .into_iter()
                .zip(differences)
                .map(|(bits, difference)| self.wrap(bits.wrapping_add(difference as u32)))
                .collect()
        }))
    }

    /// The lowest bits of a number that a result has.
    pub(super) fn wrap(&self, bits: u32) -> u32 {
        match self.domain.bits {
            16 => bits & 0xffff,
            _ => bits,
        }
    }

    /// The fraction of an input, as an input, and its integer part, rounded down; `None` if the fraction is not exact.
    pub(super) fn split(&self, input: u32) -> Option<(u32, i64)> {
        let element = self.approximation.element;
        let number = self.domain.number(element, input);
        if !(1.0..1e15).contains(&number.abs()) {
            return None;
        }
        let integer = number.floor();
        let fraction = number - integer;
        let bits = self.domain.bits_of(element, fraction);
        (self.domain.number(element, bits) == fraction).then_some((bits, integer as i64))
    }

    /// Adds the hashes of some results, the first of which is the first of a block.
    pub(super) fn add_hashes(&mut self, results: &[u32]) {
        for block in results.chunks(self.domain.block()) {
            let mut hash = Fnv::default();
            block.iter().for_each(|r| hash.write_u32(*r));
            self.hashes.push(hash.finish());
        }
    }

    /// Compares the hashes of the results with the recorded ones. The inner error is the number of the first block with another hash.
    ///
    /// # Errors
    ///
    /// If the compressed results are damaged.
    pub fn check(&self) -> Result<Result<(), usize>> {
        let block_len = self.domain.block();
        let mut block = 0;
        let mut results: Vec<u32> = Vec::new();
        for binade in 0..self.domain.binades() {
            for index in 0..self.domain.size() {
                results.push(self.result(binade, index)?);
            }
            let is_last = binade + 1 == self.domain.binades();
            while results.len() >= block_len || is_last && !results.is_empty() {
                let next_results = results.split_off(results.len().min(block_len));
                let mut hash = Fnv::default();
                results.iter().for_each(|r| hash.write_u32(*r));
                if self.hashes.get(block) != Some(&hash.finish()) {
                    return Ok(Err(block));
                }
                (results, block) = (next_results, block + 1);
            }
        }
        Ok(Ok(()))
    }
}

/// The sum of two numbers of 32 bits, rounded to nearest.
pub(super) fn sum(a: u32, b: u32) -> u32 {
    (f32::from_bits(a) + f32::from_bits(b)).to_bits()
}

/// FNV-1a of words, of 64 bits.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl std::hash::Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64((*b).into()));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x100_0000_01b3);
    }
}
