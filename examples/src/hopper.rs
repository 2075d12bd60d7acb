//! A product of matrices on Hopper: tensor copies (TMA) load tiles, an mbarrier reports their completion, and a warp group multiplies
//! the tiles in shared memory (wgmma). `cargo run -p ptx-examples --bin hopper`

use ptx_build::{
    BuildError, Declaration, FunctionBuilder, ModuleBuilder, OperandExpr, Reg, Variable, at,
    bracket, select,
};
use ptx_ir::Linkage;
use ptx_isa::{Component, PtxVersion, ScalarType as T, SpecialReg, StateSpace, Target};

use crate::kernel::{Element, Kernel, Parameter};

/// The rows of A and C, the columns of C, and the columns of A: multiples of 64.
const SIZE: [u32; 3] = [128, 192, 256];

/// The size of a tile in bytes: 64 rows of 64 elements of half precision, which are 128 bytes. The swizzle has 128 bytes.
const TILE: i64 = 64 * 128;

/// The fields of a matrix descriptor besides the address: groups of 8 rows are 1024 bytes apart, and the swizzle has 128 bytes.
const DESCRIPTOR: u64 = 1 << 62 | (1024 >> 4) << 32 | 1 << 16;

/// `hopper(a, b, c, n, k)`: `c[i][j] = Σ a[i][l] * b[j][l]`; A and B are tensor maps of rows of half precision in tiles of 64 x 64, C
/// is rows of single precision; each block of 128 threads computes 64 x 64 elements of it.
#[allow(clippy::too_many_lines, reason = "the code of a kernel, in its order")]
pub fn kernel() -> Result<Kernel, BuildError> {
    let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm90a);
    let mut k = m.kernel("hopper")?;
    k.linkage(Linkage::Visible);
    let map = |name| {
        Declaration::new(StateSpace::Param, T::B8, name)
            .align(64)
            .array([128])
    };
    let maps = [k.add_param(map("a"))?, k.add_param(map("b"))?];
    let (c, n, depth) = (
        k.param(T::U64, "c")?,
        k.param(T::U32, "n")?,
        k.param(T::U32, "k")?,
    );
    let shared = |ty, name: &str| Declaration::new(StateSpace::Shared, ty, name);
    let tiles = k.declare(shared(T::B8, "tiles").align(1024).array([2 * TILE as u64]))?;
    let barrier = k.declare(shared(T::B64, "barrier").align(8))?;
    let [tid, row, column, rn, rk, step, phase, x, y] = [(); 9].map(|()| k.reg(T::B32));
    let [tile, mbar] = [(); 2].map(|()| k.reg(T::B32));
    let [map_a, map_b, pa, pb, state, pc, pc8, wide] = [(); 8].map(|()| k.reg(T::B64));
    let sums = [(); 32].map(|()| k.reg(T::F32));
    let [first, done, has_next, sum] = [(); 4].map(|()| k.reg(T::Pred));

    for (register, param) in [(rn, n), (rk, depth)] {
        k.ld().param().u32((register, at(param)))?;
    }
    for (register, map) in [map_a, map_b].into_iter().zip(maps) {
        k.mov().u64((register, map))?;
        k.cvta().param().u64((register, register))?;
    }
    k.mov().u32((tid, select(SpecialReg::Tid, Component::X)))?;
    for (register, axis) in [(row, Component::Y), (column, Component::X)] {
        k.mov().u32((register, select(SpecialReg::Ctaid, axis)))?;
        k.shl().b32((register, register, 6))?;
    }
    k.mov().u32((tile, tiles))?;
    k.mov().u32((mbar, barrier))?;
    k.comment("one arrival, that of the thread which starts the copies");
    k.setp().eq().u32((first, tid, 0))?;
    k.guard(first)
        .inst("mbarrier.init.shared.b64", (at(mbar), 1))?;
    k.fence().mbarrier_init().release().cluster().emit(())?;
    k.bar().sync().emit(0)?;
    for sum in sums {
        k.mov().f32((sum, 0.0f32))?;
    }
    for (register, value) in [(step, 0), (phase, 0)] {
        k.mov().u32((register, value))?;
    }

    let loop_start = k.block()?;
    k.guard(first).inst(
        "mbarrier.arrive.expect_tx.shared.b64",
        (state, at(mbar), 2 * TILE),
    )?;
    for (map, target, first_row) in [(map_a, at(tile), row), (map_b, tile + TILE, column)] {
        let source = bracket([map.into(), [step, first_row].into()]);
        k.guard(first).inst(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
            (target, source, at(mbar)),
        )?;
    }
    let wait = k.block()?;
    k.mbarrier()
        .try_wait()
        .parity()
        .shared()
        .b64((done, at(mbar), phase))?;
    k.guard_not(done).bra().emit(wait)?;
    k.xor().b32((phase, phase, 1))?;
    k.comment("the descriptors of both tiles: address / 16 and layout");
    for (descriptor, offset) in [(pa, 0), (pb, TILE)] {
        k.add().s32((x, tile, offset))?;
        k.shr().u32((x, x, 4))?;
        k.cvt().of_u64().u32((descriptor, x))?;
        k.or().b64((descriptor, descriptor, DESCRIPTOR))?;
    }
    k.setp().eq().u32((sum, 0, 0))?;
    k.wgmma().fence().sync().aligned().emit(())?;
    for slice in 0..4 {
        // Sixteen elements of a row are 32 bytes.
        let operands: [OperandExpr; 8] = [
            sums.into(),
            pa.into(),
            pb.into(),
            sum.into(),
            1.into(),
            1.into(),
            0.into(),
            0.into(),
        ];
        k.inst(
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
            &operands[..],
        )?;
        if slice < 3 {
            for p in [pa, pb] {
                k.add().s64((p, p, 2))?;
            }
        }
    }
    k.wgmma().commit_group().sync().aligned().emit(())?;
    k.wgmma().wait_group().sync().aligned().emit(0)?;
    k.comment("all warps have read the tiles before the next copies");
    k.bar().sync().emit(0)?;
    k.add().s32((step, step, 64))?;
    k.setp().lt().u32((has_next, step, rk))?;
    k.guard(has_next).bra().emit(loop_start)?;

    store(
        &mut k,
        c,
        sums,
        [tid, row, column, rn, x, y],
        [pc, pc8, wide],
    )?;
    k.ret().emit(())?;
    k.finish()?;
    let [m_rows, n_rows, length] = SIZE;
    let map = |name: &str, rows: u32| {
        let (name, size, tile) = (name.to_owned(), [length.into(), rows.into()], [64, 64]);
        Parameter::Map {
            name,
            element: Element::F16,
            size,
            tile,
            swizzle: 128,
        }
    };
    let c = Parameter::output("c", Element::F32, (m_rows * n_rows) as usize);
    let parameters = vec![
        map("a", m_rows),
        map("b", n_rows),
        c,
        Parameter::U32(n_rows),
        Parameter::U32(length),
    ];
    Kernel::new(
        m,
        "hopper",
        parameters,
        [[n_rows / 64, m_rows / 64, 1], [128, 1, 1]],
    )
}

/// Stores the sums of each thread.
fn store(
    k: &mut FunctionBuilder<'_>,
    c: Variable,
    sums: [Reg; 32],
    [tid, row, column, rn, x, y]: [Reg; 6],
    [pc, pc8, wide]: [Reg; 3],
) -> Result<(), BuildError> {
    k.comment("warp w has rows 16w to 16w + 15; a thread has two columns of every eight, in a row and eight below");
    k.ld().param().u64((pc, at(c)))?;
    k.cvta().to().global().u64((pc, pc))?;
    k.shr().u32((x, tid, 5))?;
    k.mad().lo().u32((row, x, 16, row))?;
    k.bfe().u32((x, tid, 2, 3))?;
    k.add().s32((row, row, x))?;
    k.and().b32((y, tid, 3))?;
    k.mad().lo().u32((column, y, 2, column))?;
    k.mad().lo().u32((x, row, rn, column))?;
    k.mad().wide().u32((pc, x, 4, pc))?;
    k.mul().wide().u32((wide, rn, 32))?;
    k.add().s64((pc8, pc, wide))?;
    for (eight, four) in (0..).zip(sums.chunks_exact(4)) {
        k.st()
            .global()
            .v2()
            .f32((pc + 32 * eight, [four[0], four[1]]))?;
        k.st()
            .global()
            .v2()
            .f32((pc8 + 32 * eight, [four[2], four[3]]))?;
    }
    Ok(())
}
