//! A product of matrices in tiles: `cp.async` copies the next tiles while `mma.sync` multiplies.
//! `cargo run -p ptx-examples --bin matmul`

use ptx_build::{
    BuildError, Declaration, FunctionBuilder, ModuleBuilder, Reg, Variable, at, select,
};
use ptx_ir::Linkage;
use ptx_isa::{Component, PtxVersion, ScalarType as T, SpecialReg, StateSpace, Target};

use crate::kernel::{Element, Kernel, Parameter};

/// The rows of A and C, the columns of C, and the columns of A: multiples of 64, 32 and 32.
const SIZE: [u32; 3] = [128, 96, 160];

// A block of four warps computes 64 x 32 elements of C, from 32 columns of A and B at a time. A row of a tile in shared memory has
// 64 bytes and 16 bytes of padding, so that threads that read neighboring rows access different banks.
const ROW: i64 = 80;
const TILE_B: i64 = 64 * ROW;
const STAGE: i64 = TILE_B + 32 * ROW;

/// Copies the next tiles, 16 bytes at a time: rows `r` and `r + 32` of A, row `r` of B, to one of the two stages.
fn copy(
    k: &mut FunctionBuilder<'_>,
    to: Reg,
    from: [Reg; 3],
    has_next: Option<Reg>,
) -> Result<(), BuildError> {
    for (pointer, offset) in from.into_iter().zip([0, 32 * ROW, TILE_B]) {
        if let Some(has_next) = has_next {
            k.guard(has_next);
        }
        k.cp()
            .async_()
            .cg()
            .shared()
            .global()
            .emit((to + offset, at(pointer), 16))?;
        k.add().s64((pointer, pointer, 64))?;
    }
    k.cp().async_().commit_group().emit(())
}

/// `matmul(a, b, c, n, k)`: `c[i][j] = Σ a[i][l] * b[j][l]`; A and B by rows of half precision, so B is the second factor transposed;
/// C by rows of single precision, each a block of 64 x 32.
#[allow(clippy::too_many_lines, reason = "the code of a kernel, in its order")]
pub fn kernel() -> Result<Kernel, BuildError> {
    let mut m = ModuleBuilder::new(PtxVersion::new(7, 0), Target::Sm80);
    let mut k = m.kernel("matmul")?;
    k.linkage(Linkage::Visible);
    let [a, b, c] = [
        k.param(T::U64, "a")?,
        k.param(T::U64, "b")?,
        k.param(T::U64, "c")?,
    ];
    let [n, depth] = [k.param(T::U32, "n")?, k.param(T::U32, "k")?];
    let tiles = k.declare(
        Declaration::new(StateSpace::Shared, T::B8, "tiles")
            .align(16)
            .array([2 * STAGE as u64]),
    )?;
    let [tid, row0, column0, r, part, x, y, left] = [(); 8].map(|()| k.reg(T::B32));
    let [copied, base, g, warp, fa, fb, rn, rk] = [(); 8].map(|()| k.reg(T::B32));
    let stage = k.reg(T::B32);
    let [pa, pa2, pb, pc, pc8, wide] = [(); 6].map(|()| k.reg(T::B64));
    let sums = [(); 4].map(|()| [(); 4].map(|()| k.reg(T::F32)));
    let has_next = k.reg(T::Pred);
    for (register, param) in [(rn, n), (rk, depth)] {
        k.ld().param().u32((register, at(param)))?;
    }
    k.mov().u32((tid, select(SpecialReg::Tid, Component::X)))?;
    for (register, axis, shift) in [(row0, Component::Y, 6), (column0, Component::X, 5)] {
        k.mov().u32((register, select(SpecialReg::Ctaid, axis)))?;
        k.shl().b32((register, register, shift))?;
    }
    k.comment("what this thread copies: 16 bytes of row r");
    k.shr().u32((r, tid, 2))?;
    k.and().b32((part, tid, 3))?;
    for (pointer, param, first) in [(pa, a, row0), (pb, b, column0)] {
        k.ld().param().u64((pointer, at(param)))?;
        k.add().s32((x, first, r))?;
        k.mul().lo().u32((x, x, rk))?;
        k.mad().lo().u32((x, part, 8, x))?;
        k.mad().wide().u32((pointer, x, 2, pointer))?;
    }
    k.mul().wide().u32((wide, rk, 64))?;
    k.add().s64((pa2, pa, wide))?;
    k.mov().u32((base, tiles))?;
    k.comment("what this thread multiplies: rows g of its warp, columns 2 * part and the next of every eight");
    k.and().b32((g, r, 7))?;
    k.shr().u32((warp, tid, 5))?;
    for (d, a, b, c) in [
        (copied, r, ROW, base),
        (copied, part, 16, copied),
        (fb, g, ROW, base),
        (fb, part, 4, fb),
        (fa, warp, 16 * ROW, fb),
    ] {
        k.mad().lo().u32((d, a, b, c))?;
    }
    for sum in sums.as_flattened() {
        k.mov().f32((*sum, 0.0f32))?;
    }
    copy(&mut k, copied, [pa, pa2, pb], None)?;
    k.shr().u32((left, rk, 5))?;
    k.mov().u32((stage, 0))?;
    let loop_start = k.block()?;
    k.comment("the other stage, if anything is left for it");
    k.setp().gt().u32((has_next, left, 1))?;
    k.sub().s32((x, STAGE, stage))?;
    k.add().s32((x, x, copied))?;
    copy(&mut k, x, [pa, pa2, pb], Some(has_next))?;
    k.cp().async_().wait_group().emit(1)?;
    k.bar().sync().emit(0)?;
    k.add().s32((x, fa, stage))?;
    k.add().s32((y, fb, stage))?;
    for step in [0, 32] {
        let fa = [0, 8 * ROW, 16, 8 * ROW + 16].map(|at| (k.reg(T::B32), at));
        for (register, offset) in fa {
            k.ld().shared().b32((register, x + (step + offset)))?;
        }
        for (column, sum) in (0..).zip(sums) {
            let fb = [0, 16].map(|at| (k.reg(T::B32), TILE_B + 8 * ROW * column + at));
            for (register, offset) in fb {
                k.ld().shared().b32((register, y + (step + offset)))?;
            }
            let mma = k
                .mma()
                .sync()
                .aligned()
                .m16n8k16()
                .row()
                .col()
                .of_f32()
                .of_f16()
                .of_f16()
                .of_f32();
            mma.emit((sum, fa.map(|(r, _)| r), fb.map(|(r, _)| r), sum))?;
        }
    }
    k.bar().sync().emit(0)?;
    k.sub().s32((stage, STAGE, stage))?;
    k.sub().s32((left, left, 1))?;
    k.guard(has_next).bra().emit(loop_start)?;
    store(
        &mut k,
        c,
        sums,
        [row0, column0, rn, warp, g, part, x],
        [pc, pc8, wide],
    )?;
    k.ret().emit(())?;
    k.finish()?;
    let [m_rows, n_rows, length] = SIZE;
    let size = |rows, columns| (rows * columns) as usize;
    let [a, b] = [("a", m_rows), ("b", n_rows)]
        .map(|(name, rows)| Parameter::input(name, Element::F16, size(rows, length)));
    let c = Parameter::output("c", Element::F32, size(m_rows, n_rows));
    let parameters = vec![a, b, c, Parameter::U32(n_rows), Parameter::U32(length)];
    Kernel::new(
        m,
        "matmul",
        parameters,
        [[n_rows / 32, m_rows / 64, 1], [128, 1, 1]],
    )
}

/// Stores the sums of each thread.
fn store(
    k: &mut FunctionBuilder<'_>,
    c: Variable,
    sums: [[Reg; 4]; 4],
    [row0, column0, rn, warp, g, part, x]: [Reg; 7],
    [pc, pc8, wide]: [Reg; 3],
) -> Result<(), BuildError> {
    k.ld().param().u64((pc, at(c)))?;
    k.mad().lo().u32((x, warp, 16, row0))?;
    k.add().s32((x, x, g))?;
    k.mad().lo().u32((x, x, rn, column0))?;
    k.mad().lo().u32((x, part, 2, x))?;
    k.mad().wide().u32((pc, x, 4, pc))?;
    k.mul().wide().u32((wide, rn, 32))?;
    k.add().s64((pc8, pc, wide))?;
    for (column, [c0, c1, c2, c3]) in (0..).zip(sums) {
        k.st().global().v2().f32((pc + 32 * column, [c0, c1]))?;
        k.st().global().v2().f32((pc8 + 32 * column, [c2, c3]))?;
    }
    Ok(())
}
