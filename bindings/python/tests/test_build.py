"""Building of modules."""

import pytest

import ptxkit


def test_a_kernel():
    with ptxkit.Builder("8.0", "sm_90") as builder:
        builder.comment("made by a test")
        table = builder.variable("table", "f32", space="const", count=4, align=16)
        with builder.kernel("k", visible=True) as k:
            data = k.parameter("data", "u64", pointer="global", align=16)
            k.directive("maxntid", [128, 1, 1])
            k.comment("the body")
            address, a, b, p = k.register("b64"), k.register("f32"), k.register("f32", "%b"), k.register("pred")
            buffer = k.variable("buffer", "b8", space="shared", count=64, align=8)
            k.ld.param.u64(address, [data])
            k.ld.const.f32(a, [table + 4])
            k.ld.global_.v2.f32((a, b), [address - 8])
            k.fma.rn.f32(a, a, 1.5, b)
            k.setp.gt.f32(p, a, 0.0)
            k.st.shared.f32([buffer], a, guard=p)
            k.st.shared.f32([buffer], b, guard=~p)
            k.ret()
    module = builder.module
    assert module.check() == []
    kernel = module.functions["k"]
    assert kernel.linkage == "visible" and kernel.directives == {"maxntid": [128, 1, 1]}
    assert [i.mnemonic for i in kernel.instructions[:4]] == ["ld.param.u64", "ld.const.f32", "ld.global.v2.f32", "fma.rn.f32"]
    assert [str(i.guard) for i in kernel.instructions[5:7]] == ["%p1", "!%p1"]
    assert "// made by a test" in module.text and "// the body" in module.text


def test_labels_and_loops():
    builder = ptxkit.Builder("8.0", "sm_90")
    builder.file(1, "a.cu")
    k = builder.kernel("k")
    i, p, loop = k.register("b32"), k.register("pred"), k.label()
    k.loc(1, 2, 3)
    k.mov.u32(i, "%tid.x")
    k.place(loop)
    k.sub.s32(i, i, 1)
    k.setp.gt.s32(p, i, 0)
    k.bra(loop, guard=p)
    k.ret()
    k.finish()
    module = builder.module
    assert len(module.functions[0].loops) == 1
    assert str(module.instructions[0].source[0]) == "a.cu:2:3"


def test_calls():
    with ptxkit.Builder("8.0", "sm_90") as builder:
        with builder.function("twice") as f:
            out, value = f.result("out", "b32"), f.parameter("in", "b32")
            r = f.register("b32")
            f.ld.param.b32(r, [value])
            f.add.s32(r, r, r)
            f.st.param.b32([out], r)
            f.ret()
        with builder.kernel("k") as k:
            r = k.register("b32")
            k.call_function(f.value, [21], [r])
            k.ret()
    module = builder.module
    assert module.check() == [] and module.functions["k"].callees == [module.functions["twice"]]


def test_operands_of_all_kinds():
    with ptxkit.Builder("8.0", "sm_90") as builder:
        with builder.kernel("k") as k:
            r, d, p, q = k.register("b32"), k.register("f64"), k.register("pred"), k.register("pred")
            v = k.register("f32", "%v", vector=4)
            k.inst("mov.b32", r, "0x10")
            k.inst("mov.b32", r, 0xFFFFFFFF)
            k.inst("mov.f64", d, 1.0)
            k.mov.f32(v["x"], 1.0)
            k.setp.eq.s32(p | q, r, True)
            k.atom.global_.add.u32(None, [k.register("b64") + 4], r)
            k.and_.b32(r, r, -1)
    assert [i.text for i in builder.module.instructions] == [
        "mov.b32 %r1, 0x10;",
        "mov.b32 %r1, 4294967295;",
        "mov.f64 %fd1, 0d3FF0000000000000;",
        "mov.f32 %v.x, 0f3F800000;",
        "setp.eq.s32 %p1|%p2, %r1, 1;",
        "atom.global.add.u32 _, [%rd1+4], %r1;",
        "and.b32 %r1, %r1, -1;",
    ]


def test_mistakes_are_refused_at_once():
    builder = ptxkit.Builder("8.0", "sm_90")
    k = builder.kernel("k")
    r = k.register("b32")
    with pytest.raises(ptxkit.PtxError) as error:
        k.add.f32(r, r)
    assert error.value.code
    with pytest.raises(TypeError):
        k.add.s32(r, r, object())
    with pytest.raises(TypeError, match="guard"):
        k.ret(guard=1)
    with pytest.raises(TypeError, match="label"):
        k.place(r)
    with pytest.raises(ValueError, match="type"):
        k.register("b33")
    k.ret()
    k.finish()
    with pytest.raises(ptxkit.PtxError, match="complete"):
        k.ret()
    assert [i.text for i in builder.module.instructions] == ["ret;"]
    with pytest.raises(ptxkit.PtxError, match="complete"):
        builder.kernel("l")


def test_functions_are_given_up():
    with ptxkit.Builder("8.0", "sm_90") as builder:
        with pytest.raises(ZeroDivisionError):
            with builder.kernel("k") as k:
                k.ret()
                1 / 0
        builder.kernel("l").abandon()
        with builder.kernel("k") as k:
            k.trap()
    assert [i.text for i in builder.module.instructions] == ["trap;"]


def test_items():
    with ptxkit.Builder("8.0", "sm_90") as builder:
        builder.item(".visible .global .f32 x;")
        builder.variable("y", "b32", count=2, init=[1, 2], linkage="visible")
        with pytest.raises(ptxkit.PtxError):
            builder.item(".global .f32 x;")
    assert [v.name for v in builder.module.variables] == ["x", "y"]


def test_mnemonics():
    k = ptxkit.Builder("8.0", "sm_90").kernel("k")
    assert repr(k.ld.shared__cta.v4.u32) == "<Mnemonic ld.shared::cta.v4.u32>"
    assert repr(k.tex._2d.v4) == "<Mnemonic tex.2d.v4>"
    with pytest.raises(AttributeError):
        k.__missing__


def test_indirect_calls():
    with ptxkit.Builder("8.0", "sm_90") as builder:
        functions = []
        for name in ("f", "g"):
            with builder.function(name) as f:
                a, r = f.parameter("a", "b32"), f.result("r", "b32")
                value = f.register("b32")
                f.ld.param.b32(value, [a])
                f.st.param.b32([r], value)
                f.ret()
            functions.append(f.value)
        with builder.kernel("k") as k:
            address, result = k.register("b64"), k.register("b32")
            k.mov.u64(address, functions[0])
            k.call_indirect(address, k.call_targets(functions, ["b32"], ["b32"]), [7], [result])
            k.call_indirect(address, k.call_prototype(["b32"], ["b32"]), [result], [result])
            for arguments, error in (([1, 2], ptxkit.PtxError), (["%tid.x"], ptxkit.PtxError)):
                with pytest.raises(error):
                    k.call_indirect(address, k.call_prototype(["b32"]), arguments)
            for wrong in (k.label("L"), result, functions[0]):
                with pytest.raises(TypeError, match="call_targets"):
                    k.call_indirect(address, wrong, [])
            with pytest.raises(TypeError, match="not a register"):
                k.call_indirect(functions[0], k.call_prototype([]), [])
            with pytest.raises(TypeError, match="expected a function"):
                k.call_targets([result], [])
            k.ret()
    module = builder.module
    assert module.check() == []
    calls = [i for i in module.functions["k"].instructions if i.flow == "call"]
    assert [i.callees for i in calls] == [["f", "g"], None]
