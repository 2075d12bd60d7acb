//! Each method of a type takes any number of operands that a form of the opcode has.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use ptx_build::{ModuleBuilder, at, pair};
use ptx_isa::{PtxVersion, ScalarType as T, Target};

#[test]
fn opcodes_whose_forms_differ_in_their_operands() {
    let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm90);
    let mut k = m.kernel("k").unwrap();
    let global = k.param(T::U64, "global").unwrap();
    let address = k.reg(T::B64);
    k.ld().param().u64((address, at(global))).unwrap();
    let (a, b, c) = (k.reg(T::B32), k.reg(T::B32), k.reg(T::B32));
    let half = k.reg(T::F16);
    let (x, y) = (k.reg(T::F32), k.reg(T::F32));
    let (p, q, s) = (k.reg(T::Pred), k.reg(T::Pred), k.reg(T::Pred));
    k.setp().lt().s32((p, a, b)).unwrap();
    k.setp().lt().s32((pair(p, q), a, b)).unwrap();
    k.setp().lt().and().s32((p, a, b, q)).unwrap();
    k.shfl().sync().bfly().b32((a, b, 1, 31, -1)).unwrap();
    k.vote().sync().ballot().b32((a, p, -1)).unwrap();
    k.vote().sync().any().pred((s, p, -1)).unwrap();
    k.atom().global().add().u32((a, at(address), b)).unwrap();
    k.atom().global().cas().b32((a, at(address), b, c)).unwrap();
    k.cvt().rn().f32((x, x)).unwrap_err();
    k.cvt().rn().of_bf16x2().f32((a, x, y)).unwrap();
    let (d, e, f) = (
        [k.reg(T::F32), k.reg(T::F32), k.reg(T::F32), k.reg(T::F32)],
        [a, b, c, a],
        [a, b],
    );
    k.mma()
        .sync()
        .aligned()
        .m16n8k16()
        .row()
        .col()
        .of_f32()
        .of_f16()
        .of_f16()
        .f32((d, e, f, d))
        .unwrap();
    k.cvt().rn().of(T::F16).f32((half, x)).unwrap();
    k.ret().emit(()).unwrap();
    k.finish().unwrap();
    m.finish().unwrap();
}
