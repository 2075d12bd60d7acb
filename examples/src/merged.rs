//! Links a module that LLVM emitted with a function written by hand. `cargo run -p ptx-examples --bin merged`
//!
//! The C that LLVM compiled has `extern int elsewhere(int, float)`, and a kernel `imports(o)` with `o[0] = elsewhere(o[1], 2.0f)`.

use std::error::Error;

use ptx_build::{Declaration, ModuleBuilder, at};
use ptx_ir::Linkage;
use ptx_isa::{PtxVersion, ScalarType as T, StateSpace, Target};

use crate::kernel::{Element, Kernel, Parameter};

/// The module of LLVM: a dozen kernels and functions.
pub const COMPILED: &str =
    include_str!("../../corpus/compiled/llvm/kernels.clang22.O1.sm_86.ptx81.ptx");

/// `elsewhere(i, x)`: `i * (int)x + 1`, with the calling convention of C in PTX.
pub fn function() -> Result<String, ptx_build::BuildError> {
    let mut m = ModuleBuilder::new(PtxVersion::new(7, 0), Target::Sm80);
    let mut f = m.func("elsewhere")?;
    f.linkage(Linkage::Visible);
    f.comment("written by hand");
    let result = f.result(Declaration::new(StateSpace::Param, T::B32, "result"))?;
    let (i, x) = (f.param(T::B32, "i")?, f.param(T::B32, "x")?);
    let (ri, rx, whole) = (f.reg(T::B32), f.reg(T::F32), f.reg(T::B32));
    f.ld().param().b32((ri, at(i)))?;
    f.ld().param().f32((rx, at(x)))?;
    f.cvt().rzi().of_s32().f32((whole, rx))?;
    f.mad().lo().s32((ri, ri, whole, 1))?;
    f.st().param().b32((at(result), ri))?;
    f.ret().emit(())?;
    f.finish()?;
    let text = m.text();
    m.finish()?;
    Ok(text)
}

/// Both modules as one, without unresolved symbols.
pub fn kernel() -> Result<Kernel, Box<dyn Error>> {
    let function = function()?;
    let [compiled, by_hand] = [COMPILED, &function].map(|text| ptx_parse::parse(text.as_bytes()));
    let modules = [&compiled.module, &by_hand.module];
    let linked = ptx_transform::link(&modules, &Default::default())?;
    Ok(Kernel {
        text: String::from_utf8(linked.text().to_vec())?,
        name: "imports",
        parameters: vec![Parameter::output("o", Element::U32, 2)],
        grid: [1, 1, 1],
        block: [1, 1, 1],
    })
}
