//! `cargo bench -p bench --features measure --bench build`: instructions a second, until the last statement and until the module is finished, with the
//! allocator of the program. Nothing is asserted about time.

#![allow(missing_docs)]

use divan::Bencher;
use divan::counter::ItemsCount;
use ptx_build::{BuildError, ModuleBuilder, at};
use ptx_isa::{PtxVersion, ScalarType as T, Target};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const COUNT: usize = 100_000;

fn main() {
    divan::main();
}

fn build() -> Result<ModuleBuilder, BuildError> {
    let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
    let mut k = m.kernel("k")?;
    let p = k.param(T::U64, "p")?;
    let addr = k.reg(T::B64);
    k.ld().param().u64((addr, at(p)))?;
    for i in 0..COUNT / 5 {
        let (a, b, c) = (k.reg(T::F32), k.reg(T::F32), k.reg(T::B32));
        k.ld().global().nc().f32((a, addr + 4 * i as i64))?;
        k.mul().rn().f32((b, a, a))?;
        k.mov().u32((c, i as u32))?;
        k.add().s32((c, c, 1))?;
        k.st().global().f32((addr + 4 * i as i64, b))?;
    }
    k.ret().emit(())?;
    k.finish()?;
    Ok(m)
}

#[divan::bench]
fn statements(bencher: Bencher<'_, '_>) {
    bencher.counter(ItemsCount::new(COUNT)).bench_local(build);
}

#[divan::bench]
fn finished(bencher: Bencher<'_, '_>) {
    bencher
        .counter(ItemsCount::new(COUNT))
        .bench_local(|| build().and_then(ModuleBuilder::finish));
}
