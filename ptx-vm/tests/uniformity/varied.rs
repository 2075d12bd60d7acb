//! Launches with numbers that the kernel compares with, or that are near them: as arguments, and in memory.
//!
//! Whether an index is below a size, or a number above a limit, differs between threads only for some data; these launches look for it.

use std::collections::{BTreeMap, BTreeSet};

use ptx_ir::facts::{FunctionFacts, ModuleFacts};
use ptx_ir::{Binding, FuncId, Module, Operand};
use ptx_isa::{ScalarType, TypeKind};
use ptx_vm::{Launch, Machine};

use super::launches::{BUFFER, SEEDS, Shape, content, fill_variables, launch_of};
use super::random::Random;
use super::repeat;

/// The shapes; some have many CTAs.
const SHAPES: [Shape; 10] = [
    Shape::new([40, 1, 1], [32, 1, 1]),
    Shape::new([3, 15, 2], [16, 2, 1]),
    Shape::new([2, 1, 1], [256, 1, 1]),
    Shape::new([300, 1, 1], [3, 1, 1]),
    Shape::new([2, 3, 2], [8, 4, 4]),
    Shape::new([1, 90, 1], [64, 1, 1]),
    Shape::new([1, 1, 1], [40, 12, 2]),
    Shape::clusters([8, 2, 1], [32, 2, 1], [4, 1, 1]),
    Shape::new([2, 2, 40], [5, 7, 1]),
    Shape::new([17, 1, 1], [128, 1, 1]),
];

/// Instructions of all warps after which a run ends, and how many more for each statement of the kernel.
const STEPS: u64 = 8_000;
const STEPS_PER_STATEMENT: u64 = 6;

/// The numbers of a kernel, and how it reads its parameters.
#[derive(Debug)]
pub(crate) struct Numbers {
    /// The constants of the kernel and of the functions that it may call.
    constants: Vec<u64>,
    /// The type of what the kernel reads of a parameter and of 8 bytes of it, unless that may be a pointer.
    types: BTreeMap<(usize, u64), ScalarType>,
    statements: u64,
}

impl Numbers {
    pub(crate) fn new(
        facts: &ModuleFacts<'_>,
        kernel: FuncId,
        functions: impl Iterator<Item = FuncId>,
    ) -> Self {
        let mut constants = BTreeSet::from([0, 1]);
        let mut statements = 0;
        for of in functions.filter_map(|id| facts.function(id)) {
            statements += of.body().statements().count() as u64;
            constants.extend(constants_of(of));
        }
        let types = facts.function(kernel).map(types).unwrap_or_default();
        Self {
            constants: constants.into_iter().collect(),
            types,
            statements,
        }
    }

    /// A constant, or a number that was compared before.
    fn constant(&self, random: &mut Random, hints: &[u64]) -> u64 {
        let known = match random.below(4) {
            1.. if !hints.is_empty() => hints,
            _ => &self.constants,
        };
        known[random.below(known.len() as u64) as usize]
    }

    /// A number that a kernel may compare with: `threads` are those of the launch.
    fn number(&self, random: &mut Random, (threads, hints): (u64, &[u64])) -> u64 {
        match random.below(10) {
            0 => random.below(4),
            1 => 1 + random.below(40),
            2..=4 => self
                .constant(random, hints)
                .wrapping_add(random.below(3))
                .wrapping_sub(1),
            5 => self
                .constant(random, hints)
                .wrapping_mul(1 + random.below(6)),
            6 => random.below(2 * threads + 2),
            7 => (1 << random.below(15)) + random.below(3) - 1,
            8 => random.next() >> random.below(64),
            _ => float(random).into(),
        }
    }

    /// The data of a buffer.
    fn data(&self, random: &mut Random, hints: &[u64]) -> Vec<u8> {
        let kind = random.below(12);
        if kind < 6 {
            return content(kind * SEEDS + random.below(SEEDS));
        }
        let few: Vec<u64> = (0..3).map(|_| self.number(random, (64, hints))).collect();
        let mut word = |at: u64| match kind {
            6 => 0,
            7 => at as u32,
            8 => few[(at % 3) as usize] as u32,
            9 => float(random),
            _ => self.number(random, (64, hints)) as u32,
        };
        let words = (0..BUFFER / 4).map(&mut word);
        words.flat_map(u32::to_le_bytes).collect()
    }

    /// Replaces numbers in the bytes of an argument of which each 8 bytes are a pointer so far.
    fn argument(
        &self,
        random: &mut Random,
        (parameter, bytes): (usize, &mut [u8]),
        known: (u64, &[u64]),
    ) {
        for (at, part) in (0..).zip(bytes.chunks_mut(8)) {
            let ty = self.types.get(&(parameter, at));
            if part.len() == 8 && ty.is_none() && random.below(10) > 0 {
                continue;
            }
            let size = ty.map_or(8, |ty| usize::from(ty.bits()) / 8).clamp(1, 8);
            let is_float = ty.is_some_and(|ty| ty.kind() == TypeKind::Float);
            for word in part.chunks_mut(size) {
                let number = match (is_float, size) {
                    (true, 8) => double(random),
                    (true, 4) => float(random).into(),
                    _ => self.number(random, known),
                };
                word.copy_from_slice(&number.to_le_bytes()[..word.len()]);
            }
        }
    }

    /// Prepares a launch.
    pub(crate) fn prepare(
        &self,
        machine: &mut Machine<'_>,
        (module, kernel, hints): (&Module, &str, &[u64]),
        seed: u64,
    ) -> Launch {
        let random = &mut Random::new(seed);
        fill_variables(machine, module, random.below(6 * SEEDS));
        let shape = &SHAPES[seed as usize % SHAPES.len()];
        let (mut launch, buffers) = launch_of(machine, module, kernel, seed % SEEDS, shape);
        let product = |sizes: [u32; 3]| sizes.into_iter().map(u64::from).product::<u64>();
        let threads = product(launch.grid) * product(launch.block);
        // All buffers are alike in some launches.
        let same = (random.below(3) == 0).then(|| self.data(random, hints));
        for buffer in &buffers {
            let data = same.clone().unwrap_or_else(|| self.data(random, hints));
            let _ = machine.write(*buffer, &data);
        }
        repeat(machine, &buffers);
        for (at, bytes) in launch.arguments.iter_mut().enumerate() {
            self.argument(random, (at, bytes), (threads, hints));
        }
        launch.limits.steps = STEPS + STEPS_PER_STATEMENT * self.statements;
        launch.limits.resident_clusters = 8;
        launch.shared_seed = Some(seed).filter(|_| seed % 2 == 1);
        launch.schedule = Some(ptx_vm::Schedule::Seed(seed));
        launch
    }
}

/// A floating-point number: of any size, or near 1, or not finite.
fn float(random: &mut Random) -> u32 {
    let any = random.next() as u32;
    match random.below(6) {
        0 => any,
        1 => any & 0x8000_0000 | 0x7f80_0000,
        2 => any & 0x8000_0000,
        _ => any & 0x8000_0000 | (120 + any % 14) << 23 | any >> 9,
    }
}

fn constants_of(facts: FunctionFacts<'_>) -> Vec<u64> {
    let (body, mut found) = (facts.body(), Vec::new());
    for (inst, _) in body.insts() {
        for operand in body.operands(inst) {
            found.extend(match *operand {
                Operand::Small(n) => Some(i64::from(n) as u64),
                Operand::Imm(id) => body.pool().immediate(id).map(|of| of.value.bits()),
                _ => None,
            });
        }
    }
    found
}

/// A floating-point number of 64 bits, like those of 32 bits.
fn double(random: &mut Random) -> u64 {
    f64::from(f32::from_bits(float(random))).to_bits()
}

/// The types of what a kernel reads of its parameters, by 8 bytes, unless that may be a pointer.
fn types(facts: FunctionFacts<'_>) -> BTreeMap<(usize, u64), ScalarType> {
    let module = facts.module();
    let header = &module.functions()[facts.id()];
    let params = header.interface.params.of(module.params());
    let (body, mut found) = (facts.body(), BTreeMap::new());
    for (id, inst) in body.insts() {
        let ty = module.signature(inst.sig).types().next();
        for access in facts.inst(id).memory() {
            let (Some(Operand::Var(var)), Some(offset), Some(bytes), Some(ty)) =
                (access.base, access.offset, access.bytes, ty)
            else {
                continue;
            };
            let is_it = |p: &ptx_ir::Param| matches!(p.binding, Binding::Var(of) if of == var);
            let Some(parameter) = params.iter().position(is_it) else {
                continue;
            };
            let start = u64::try_from(offset).unwrap_or(0);
            if ty.bits() < 64 || ty.kind() == TypeKind::Float {
                let parts = start / 8..(start + bytes).div_ceil(8);
                found.extend(parts.map(|part| ((parameter, part), ty)));
            }
        }
    }
    for (at, param) in params.iter().enumerate() {
        let ty = param.ty.known();
        let ty = ty.filter(|ty| ty.kind() == TypeKind::Float);
        found.extend(ty.map(|ty| ((at, 0), ty)));
    }
    found
}
