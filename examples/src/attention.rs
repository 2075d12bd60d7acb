//! Attention on Hopper: a warpgroup multiplies queries and keys in shared memory (wgmma), computes the softmax in registers, and multiplies the weights,
//! still in registers, with the values. `cargo run -p ptx-examples --bin attention`

use ptx_build::{
    BuildError, Declaration, FunctionBuilder, ModuleBuilder, OperandExpr, Reg, at, select,
};
use ptx_ir::Linkage;
use ptx_isa::{Component, PtxVersion, ScalarType as T, SpecialReg, StateSpace, Target};

use crate::kernel::{Element, Kernel, Parameter};

/// The number of queries and of keys, a multiple of 64. Each has 64 elements.
pub const LENGTH: u32 = 192;

/// The size of a tile in bytes: 64 rows of 64 elements of half precision.
const TILE: i64 = 64 * 128;

/// The fields of a matrix descriptor besides the address: groups of 8 rows are 1024 bytes apart, and the swizzle has 128 bytes.
const DESCRIPTOR: u64 = 1 << 62 | (1024 >> 4) << 32 | 1 << 16;

/// Exponentials are powers of two: 1 / sqrt(64) of a score, divided by ln 2.
pub const SCALE: f32 = core::f32::consts::LOG2_E / 8.0;

/// `attention(q, k, v, o, length)`: `o = softmax(q · kᵀ / 8) · v`, rows of half precision in and of single precision out. Each block of
/// 128 threads computes 64 rows, from 64 keys at a time; a new greatest score scales what was added before.
pub fn kernel() -> Result<Kernel, BuildError> {
    let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm90a);
    let mut k = m.kernel("attention")?;
    k.linkage(Linkage::Visible);
    let mut pointers = Vec::new();
    for name in ["q", "k", "v", "o"] {
        pointers.push((k.param(T::U64, name)?, k.reg(T::B64)));
    }
    let length = k.param(T::U32, "length")?;
    let tiles = Declaration::new(StateSpace::Shared, T::B8, "tiles").align(1024);
    let tiles = k.declare(tiles.array([3 * TILE as u64]))?;
    let [tid, tile, copied, remaining, x, y] = [(); 6].map(|()| k.reg(T::B32));
    let wide = k.reg(T::B64);
    let [scores, sums] = [(); 2].map(|()| [(); 32].map(|()| k.reg(T::F32)));
    let [greatest, total] = [(); 2].map(|()| [(); 2].map(|()| k.reg(T::F32)));
    let has_next = k.reg(T::Pred);

    k.ld().param().u32((remaining, at(length)))?;
    k.mov().u32((tid, select(SpecialReg::Tid, Component::X)))?;
    k.mov().u32((x, select(SpecialReg::Ctaid, Component::X)))?;
    for (param, pointer) in &pointers {
        k.ld().param().u64((*pointer, at(*param)))?;
        k.cvta().to().global().u64((*pointer, *pointer))?;
    }
    let [q, keys, values, o] = [0, 1, 2, 3].map(|n: usize| pointers[n].1);
    k.comment("each thread copies 16 bytes of every 16th row, which the swizzle moves");
    k.mul().wide().u32((wide, x, TILE))?;
    k.add().s64((q, q, wide))?;
    k.shl().b64((wide, wide, 1))?;
    k.add().s64((o, o, wide))?;
    for pointer in [q, keys, values] {
        k.mul().wide().u32((wide, tid, 16))?;
        k.add().s64((pointer, pointer, wide))?;
    }
    k.mov().u32((tile, tiles))?;
    k.shr().u32((x, tid, 3))?;
    k.xor().b32((y, tid, x))?;
    k.and().b32((y, y, 7))?;
    k.mad().lo().u32((copied, x, 128, tile))?;
    k.mad().lo().u32((copied, y, 16, copied))?;
    copy(&mut k, q, copied, 0)?;
    for sum in sums.into_iter().chain(scores) {
        k.mov().f32((sum, 0.0f32))?;
    }
    for (greatest, total) in greatest.into_iter().zip(total) {
        k.mov().f32((greatest, f32::MIN))?;
        k.mov().f32((total, 0.0f32))?;
    }

    let next_keys = k.block()?;
    copy(&mut k, keys, copied, TILE)?;
    copy(&mut k, values, copied, 2 * TILE)?;
    k.comment("the writes of all threads come before reads by wgmma");
    k.inst("fence.proxy.async", ())?;
    k.bar().sync().emit(0)?;
    multiply(&mut k, scores, tile, None)?;
    let weights = softmax(&mut k, scores, sums, greatest, total)?;
    multiply(&mut k, sums, tile, Some(weights))?;
    k.bar().sync().emit(0)?;
    k.sub().s32((remaining, remaining, 64))?;
    k.setp().gt().s32((has_next, remaining, 0))?;
    k.guard(has_next).bra().emit(next_keys)?;

    store(&mut k, tid, o, sums, total)?;
    k.ret().emit(())?;
    k.finish()?;
    let count = (64 * LENGTH) as usize;
    let mut parameters = ["q", "k", "v"]
        .map(|name| Parameter::input(name, Element::F16, count))
        .to_vec();
    parameters.push(Parameter::output("o", Element::F32, count));
    parameters.push(Parameter::U32(LENGTH));
    let shape = [[LENGTH / 64, 1, 1], [128, 1, 1]];
    Kernel::new(m, "attention", parameters, shape)
}

/// Divides the sums of the thread by the totals of their rows, and stores them.
fn store(
    k: &mut FunctionBuilder<'_>,
    tid: Reg,
    o: Reg,
    sums: [Reg; 32],
    total: [Reg; 2],
) -> Result<(), BuildError> {
    let [x, y] = [(); 2].map(|()| k.reg(T::B32));
    let wide = k.reg(T::B64);
    k.comment("warp w has rows 16w to 16w + 15; a thread has two columns of every eight, in a row and eight below");
    k.shr().u32((x, tid, 5))?;
    k.shl().b32((x, x, 4))?;
    k.bfe().u32((y, tid, 2, 3))?;
    k.add().s32((x, x, y))?;
    k.mul().wide().u32((wide, x, 256))?;
    k.add().s64((o, o, wide))?;
    k.and().b32((y, tid, 3))?;
    k.mul().wide().u32((wide, y, 8))?;
    k.add().s64((o, o, wide))?;
    for (n, pair) in (0..).zip(sums.chunks_exact(2)) {
        for sum in pair {
            k.div().rn().f32((*sum, *sum, total[n as usize % 2]))?;
        }
        let offset = n / 2 * 32 + n % 2 * 8 * 256;
        k.st().global().v2().f32((o + offset, [pair[0], pair[1]]))?;
    }
    Ok(())
}

/// Copies the part of the thread of a tile, and moves the pointer to the next tile.
fn copy(k: &mut FunctionBuilder<'_>, from: Reg, to: Reg, tile: i64) -> Result<(), BuildError> {
    for offset in [0, 2048, 4096, 6144] {
        let words = [(); 4].map(|()| k.reg(T::B32));
        k.ld().global().v4().b32((words, from + offset))?;
        k.st().shared().v4().b32((to + (tile + offset), words))?;
    }
    k.add().s64((from, from, TILE))
}

/// Multiplies the queries with the transposed keys; or weights with the values, which are added to the sums.
fn multiply(
    k: &mut FunctionBuilder<'_>,
    sums: [Reg; 32],
    tile: Reg,
    weights: Option<[[Reg; 4]; 4]>,
) -> Result<(), BuildError> {
    let x = k.reg(T::B32);
    let [queries, second] = [(); 2].map(|()| k.reg(T::B64));
    let offset = if weights.is_some() { 2 * TILE } else { TILE };
    for (descriptor, offset) in [(queries, 0), (second, offset)] {
        k.add().s32((x, tile, offset))?;
        k.bfe().u32((x, x, 4, 14))?;
        k.cvt().of_u64().u32((descriptor, x))?;
        k.or().b64((descriptor, descriptor, DESCRIPTOR))?;
    }
    let adds = k.reg(T::Pred);
    k.setp().eq().u32((adds, 0, u32::from(weights.is_none())))?;
    k.wgmma().fence().sync().aligned().emit(())?;
    for slice in 0..4 {
        let mut operands: Vec<OperandExpr> = vec![sums.into()];
        match weights {
            Some(weights) => operands.push(weights[slice].into()),
            None => operands.push(queries.into()),
        }
        operands.extend([second.into(), adds.into(), 1.into(), 1.into()]);
        match weights {
            Some(_) => operands.push(1.into()),
            None => operands.extend([0.into(), 0.into()]),
        }
        k.inst(
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
            &operands[..],
        )?;
        k.setp().eq().u32((adds, 0, 0))?;
        k.comment("16 elements of a row are 32 bytes, 16 rows 2048");
        k.add().s64((queries, queries, 2))?;
        k.add()
            .s64((second, second, if weights.is_some() { 128 } else { 2 }))?;
    }
    k.wgmma().commit_group().sync().aligned().emit(())?;
    k.wgmma().wait_group().sync().aligned().emit(0)
}

/// Turns scores into weights of half precision, as the first factor of the next product has them.
fn softmax(
    k: &mut FunctionBuilder<'_>,
    scores: [Reg; 32],
    sums: [Reg; 32],
    greatest: [Reg; 2],
    total: [Reg; 2],
) -> Result<[[Reg; 4]; 4], BuildError> {
    let [before, x] = [(); 2].map(|()| k.reg(T::F32));
    for row in 0..2 {
        let of_row = |all: [Reg; 32]| {
            (0..32)
                .filter(move |n| n / 2 % 2 == row)
                .map(move |n| all[n])
        };
        let (greatest, total) = (greatest[row], total[row]);
        k.mov().f32((before, greatest))?;
        for score in of_row(scores) {
            k.mul().rn().f32((score, score, SCALE))?;
            k.max().f32((greatest, greatest, score))?;
        }
        for distance in [1, 2] {
            k.inst("shfl.sync.bfly.b32", (x, greatest, distance, 31, -1))?;
            k.max().f32((greatest, greatest, x))?;
        }
        k.sub().rn().f32((before, before, greatest))?;
        k.ex2().approx().f32((before, before))?;
        for sum in of_row(sums).chain([total]) {
            k.mul().rn().f32((sum, sum, before))?;
        }
        let of_thread = k.reg(T::F32);
        k.mov().f32((of_thread, 0.0f32))?;
        for score in of_row(scores) {
            k.sub().rn().f32((score, score, greatest))?;
            k.ex2().approx().f32((score, score))?;
            k.add().rn().f32((of_thread, of_thread, score))?;
        }
        for distance in [1, 2] {
            k.inst("shfl.sync.bfly.b32", (x, of_thread, distance, 31, -1))?;
            k.add().rn().f32((of_thread, of_thread, x))?;
        }
        k.add().rn().f32((total, total, of_thread))?;
    }
    let weights = [(); 4].map(|()| [(); 4].map(|()| k.reg(T::B32)));
    for (weight, pair) in weights.as_flattened().iter().zip(scores.chunks_exact(2)) {
        k.cvt().rn().of_f16x2().f32((*weight, pair[1], pair[0]))?;
    }
    Ok(weights)
}
