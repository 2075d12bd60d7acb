//! The recorded results: a rule for each binade.

use std::hash::Hasher as _;
use std::sync::OnceLock;

use anyhow::{Context as _, Result};

use super::domain::Domain;
use super::exact;
use super::form::Approximation;
use super::runs;

/// What was recorded, and where.
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

/// What an instruction returns for all inputs.
#[derive(Debug)]
pub struct Table {
    pub(super) header: Header,
    pub(super) of: Approximation,
    pub(super) domain: Domain,
    /// How the results of each binade are computed.
    pub(super) rules: Vec<Rule>,
    /// The results of binades that are not computed from others, once they are needed.
    pub(super) decoded: Vec<OnceLock<Vec<u32>>>,
    /// A hash of the results of each block of inputs.
    pub(super) hashes: Vec<u64>,
}

/// How the results of a binade are computed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    /// All are the same.
    Constant(u32),
    /// The bits are those of an earlier binade plus a constant: only the exponent or the sign changes.
    Like { binade: usize, add: u32 },
    /// The numbers are those of an earlier binade plus a number, rounded to nearest.
    Sum { binade: usize, add: u32 },
    /// The bits are those of the result for the fraction of the input, plus a constant for each whole number below it.
    Whole { step: u32 },
    /// The bits are those of the nearest result plus these compressed differences.
    Differences(Vec<u8>),
}

impl Table {
    pub(super) fn new(header: Header, of: Approximation, domain: Domain) -> Self {
        Self {
            header,
            of,
            domain,
            rules: Vec::new(),
            decoded: Vec::new(),
            hashes: Vec::new(),
        }
    }

    /// What was recorded, and where.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The instruction, without its operands.
    #[must_use]
    pub fn instruction(&self) -> &str {
        &self.of.name
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
        let place = self.domain.place(input);
        place
            .map(|(binade, at)| self.result(binade, at))
            .transpose()
    }

    /// A result.
    pub(super) fn result(&self, binade: usize, at: usize) -> Result<u32> {
        let rule = self.rules.get(binade).context("a binade is missing")?;
        Ok(match *rule {
            Rule::Constant(bits) => bits,
            Rule::Like { binade: of, add } => self.wrap(self.result(of, at)?.wrapping_add(add)),
            Rule::Sum { binade: of, add } => sum(self.result(of, at)?, add),
            Rule::Whole { step } => {
                let input = self.domain.input(binade, at);
                let (fraction, whole) = self.split(input).context("an input without a fraction")?;
                let place = self
                    .domain
                    .place(fraction)
                    .context("a fraction that was not recorded")?;
                let result = self.result(place.0, place.1)?;
                self.wrap(result.wrapping_add(step.wrapping_mul(whole as u32)))
            }
            Rule::Differences(_) => {
                let all = self.decoded(binade)?;
                *all.get(at).context("a result is missing")?
            }
        })
    }

    /// The results of a binade that is compressed.
    fn decoded(&self, binade: usize) -> Result<&[u32]> {
        let cell = self.decoded.get(binade).context("a binade is missing")?;
        if let Some(known) = cell.get() {
            return Ok(known);
        }
        let Some(Rule::Differences(bytes)) = self.rules.get(binade) else {
            return Ok(&[]);
        };
        let differences = runs::decompress(bytes, self.domain.size())?;
        let nearest = exact::binade(&self.of, self.domain, binade);
        let both = nearest.into_iter().zip(differences);
        let results = both.map(|(n, d)| self.wrap(n.wrapping_add(d as u32)));
        Ok(cell.get_or_init(|| results.collect()))
    }

    /// The bits that a result has.
    pub(super) fn wrap(&self, bits: u32) -> u32 {
        match self.domain.bits {
            16 => bits & 0xffff,
            _ => bits,
        }
    }

    /// The input that is the fraction of a number, and the whole number below it; `None` where the fraction is not exact.
    pub(super) fn split(&self, input: u32) -> Option<(u32, i64)> {
        let element = self.of.element;
        let number = self.domain.number(element, input);
        if !(1.0..1e15).contains(&number.abs()) {
            return None;
        }
        let (whole, fraction) = (number.floor(), number - number.floor());
        let bits = self.domain.bits_of(element, fraction);
        (self.domain.number(element, bits) == fraction).then_some((bits, whole as i64))
    }

    /// Adds the hashes of some results, which begin with a block.
    pub(super) fn add_hashes(&mut self, results: &[u32]) {
        for block in results.chunks(self.domain.block()) {
            let mut hash = Fnv::default();
            block.iter().for_each(|r| hash.write_u32(*r));
            self.hashes.push(hash.finish());
        }
    }

    /// Whether the results have the recorded hashes; otherwise the first block that has not.
    ///
    /// # Errors
    ///
    /// If the compressed results are damaged.
    pub fn check(&self) -> Result<Result<(), usize>> {
        let (size, each, mut block) = (self.domain.size(), self.domain.block(), 0);
        let mut results: Vec<u32> = Vec::new();
        for binade in 0..self.domain.binades() {
            for at in 0..size {
                results.push(self.result(binade, at)?);
            }
            let last = binade + 1 == self.domain.binades();
            while results.len() >= each || last && !results.is_empty() {
                let rest = results.split_off(results.len().min(each));
                let mut hash = Fnv::default();
                results.iter().for_each(|r| hash.write_u32(*r));
                if self.hashes.get(block) != Some(&hash.finish()) {
                    return Ok(Err(block));
                }
                (results, block) = (rest, block + 1);
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
