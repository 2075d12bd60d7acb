//! `y = a * x + y` from scratch. `cargo run -p ptx-examples --bin saxpy`

use ptx_build::{BuildError, ModuleBuilder, at, select};
use ptx_ir::Linkage;
use ptx_isa::{Component, PtxVersion, ScalarType as T, SpecialReg, Target};

use crate::kernel::{Element, Kernel, Parameter};

const COUNT: u32 = 1000;
const THREADS: u32 = 256;

/// `saxpy(n, a, x, y)`: `y[i] = fma(a, x[i], y[i])` for `i < n`, one thread for each element.
pub fn kernel() -> Result<Kernel, BuildError> {
    let mut m = ModuleBuilder::new(PtxVersion::new(7, 0), Target::Sm70);
    m.comment("y = a * x + y");
    let mut k = m.kernel("saxpy")?;
    k.linkage(Linkage::Visible);
    let (n, a) = (k.param(T::U32, "n")?, k.param(T::F32, "a")?);
    let (x, y) = (k.param(T::U64, "x")?, k.param(T::U64, "y")?);
    let [i, block, size, count] = [(); 4].map(|()| k.reg(T::B32));
    let [px, py, offset] = [(); 3].map(|()| k.reg(T::B64));
    let [fa, fx, fy] = [(); 3].map(|()| k.reg(T::F32));
    let (outside, end) = (k.reg(T::Pred), k.label());

    k.comment("the element of this thread");
    k.mov()
        .u32((block, select(SpecialReg::Ctaid, Component::X)))?;
    k.mov()
        .u32((size, select(SpecialReg::Ntid, Component::X)))?;
    k.mov().u32((i, select(SpecialReg::Tid, Component::X)))?;
    k.mad().lo().u32((i, block, size, i))?;
    k.ld().param().u32((count, at(n)))?;
    k.setp().ge().u32((outside, i, count))?;
    k.guard(outside).bra().emit(end)?;

    k.ld().param().f32((fa, at(a)))?;
    k.mul().wide().u32((offset, i, 4))?;
    for (pointer, param) in [(px, x), (py, y)] {
        k.ld().param().u64((pointer, at(param)))?;
        k.cvta().to().global().u64((pointer, pointer))?;
        k.add().s64((pointer, pointer, offset))?;
    }
    k.ld().global().f32((fx, at(px)))?;
    k.ld().global().f32((fy, at(py)))?;
    k.fma().rn().f32((fy, fa, fx, fy))?;
    k.st().global().f32((at(py), fy))?;
    k.place(end)?;
    k.ret().emit(())?;
    k.finish()?;
    let parameters = vec![
        Parameter::U32(COUNT),
        Parameter::F32(2.5),
        Parameter::input("x", Element::F32, COUNT as usize),
        Parameter::output("y", Element::F32, COUNT as usize),
    ];
    let launch = [[COUNT.div_ceil(THREADS), 1, 1], [THREADS, 1, 1]];
    Kernel::new(m, "saxpy", parameters, launch)
}
