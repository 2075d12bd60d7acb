//! A function that is refused for a target, then built again in another way.

use ptx_build::{BuildError, Declaration, FunctionBuilder, ModuleBuilder, Reg, at, select};
use ptx_ir::{Linkage, Module};
use ptx_isa::{Component, PtxVersion, ScalarType as T, SpecialReg, StateSpace, Target};

/// Emits instructions that compute the sum of a value over all threads of a warp.
type Reduction = fn(&mut FunctionBuilder<'_>, Reg) -> Result<Reg, BuildError>;

/// Emits one instruction, which newer targets have.
fn by_redux(k: &mut FunctionBuilder<'_>, value: Reg) -> Result<Reg, BuildError> {
    let sum = k.reg(T::B32);
    k.redux().sync().add().s32((sum, value, -1))?;
    Ok(sum)
}

/// Emits five exchanges between threads.
fn by_shuffles(k: &mut FunctionBuilder<'_>, value: Reg) -> Result<Reg, BuildError> {
    for distance in [16, 8, 4, 2, 1] {
        let other = k.reg(T::B32);
        k.shfl()
            .sync()
            .bfly()
            .b32((other, value, distance, 31, -1))?;
        k.add().s32((value, value, other))?;
    }
    Ok(value)
}

/// Builds the kernel. If an instruction is refused, the builder is dropped with everything in it.
fn kernel(m: &mut ModuleBuilder, sum_of_warp: Reduction) -> Result<(), BuildError> {
    let mut k = m.kernel("sum_of_warps")?;
    k.linkage(Linkage::Visible);
    let values = k.add_param(Declaration::new(StateSpace::Param, T::U64, "values"))?;
    let (address, offset) = (k.reg(T::B64), k.reg(T::B64));
    let (thread, value) = (k.reg(T::B32), k.reg(T::B32));
    k.ld().param().u64((address, at(values)))?;
    k.mov()
        .u32((thread, select(SpecialReg::Tid, Component::X)))?;
    k.mul().wide().u32((offset, thread, 4))?;
    k.add().s64((address, address, offset))?;
    k.ld().global().b32((value, at(address)))?;
    let sum = sum_of_warp(&mut k, value)?;
    k.st().global().b32((at(address), sum))?;
    k.ret().emit(())?;
    k.finish()?;
    Ok(())
}

/// Builds a kernel that replaces each element by the sum over its warp, with the shortest instructions that the target has.
///
/// # Errors
///
/// The target has neither instruction.
pub fn sum_of_warps(target: Target) -> Result<Module, BuildError> {
    let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), target);
    if kernel(&mut m, by_redux).is_err() {
        // The refused kernel is dropped with its name.
        kernel(&mut m, by_shuffles)?;
    }
    m.finish()
}
