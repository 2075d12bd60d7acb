"""Kernels that run without a GPU."""

import array
import ctypes
import struct
import threading

import pytest

import ptxkit

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"

SCALE = HEADER + """
.global .align 4 .u32 launches = 7;
.visible .entry scale(.param .u64 data, .param .f32 factor, .param .s32 n, .param .align 4 .b8 offset[8])
{
    .reg .pred %p;
    .reg .b32 %r<4>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    ld.param.f32 %f1, [factor];
    ld.param.s32 %r1, [n];
    ld.param.f32 %f3, [offset+4];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mul.lo.s32 %r2, %r2, %r3;
    mov.u32 %r3, %tid.x;
    add.s32 %r2, %r2, %r3;
    setp.ge.s32 %p, %r2, %r1;
    @%p exit;
    mul.wide.s32 %rd2, %r2, 4;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.f32 %f2, [%rd1];
    fma.rn.f32 %f2, %f2, %f1, %f3;
    st.global.f32 [%rd1], %f2;
    ret;
}
"""


def machine(text):
    return ptxkit.Machine(ptxkit.parse(text))


def test_arguments_are_numbers_arrays_and_structs():
    runs = machine(SCALE)
    assert runs.kernels == ["scale"] and runs.module.target == "sm_90"
    numbers = array.array("f", range(100))
    outcome = runs.launch("scale", [numbers, 2.0, 100, struct.pack("<if", 9, 0.5)], grid=4, block=32)
    assert numbers.tolist() == [2.0 * n + 0.5 for n in range(100)]
    assert outcome.steps > 0 and outcome.output == "" and outcome.findings == []
    # The memory of a launch is used again.
    shorter = (ctypes.c_float * 100)(*range(100))
    runs.launch("scale", [shorter, -1, 3, bytes(8)], grid=(1, 1), block=[32, 1, 1])
    assert list(shorter)[:5] == [0.0, -1.0, -2.0, 3.0, 4.0]
    # What cannot be changed is not.
    constant = array.array("f", [1.0]).tobytes()
    with pytest.raises(ValueError, match="parameter `data`: .*read-only"):
        runs.launch("scale", [constant, 2.0, 1, bytes(8)])
    assert constant == array.array("f", [1.0]).tobytes()


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ([], TypeError, "4 parameters, not 0"),
        ([0, 2.0, 2**31, bytes(8)], OverflowError, "not a value of `.s32`"),
        ([-1, 2.0, 1, bytes(8)], OverflowError, "not a value of `.u64`"),
        ([0, "two", 1, bytes(8)], TypeError, "parameter `factor`: expected a number for `.f32`, found a value of type `str`"),
        ([0, 2.0, 1.5, bytes(8)], TypeError, "parameter `n`: expected an integer for `.s32`, found a value of type `float`"),
        ([[1.0, 2.0], 2.0, 1, bytes(8)], TypeError, "parameter `data`: expected .* array .*, found a value of type `list`"),
        ([None, 2.0, 1, bytes(8)], TypeError, "parameter `data`: expected .*`NoneType`"),
        (["text", 2.0, 1, bytes(8)], TypeError, "parameter `data`: expected .*`str`"),
        ([0, None, 1, bytes(8)], TypeError, "parameter `factor`: expected .*`NoneType`"),
        ([2.5, 2.0, 1, bytes(8)], TypeError, "parameter `data`: expected an integer .*`float`"),
        ([0, 2.0, 2**200, bytes(8)], OverflowError, "parameter `n`"),
        ([0, 2.0, 1, bytes(7)], ValueError, "7 bytes, the parameter 8"),
        ([0, 2.0, 1, 5], TypeError, "8 bytes"),
        ([memoryview(bytes(8))[::2], 2.0, 1, bytes(8)], ValueError, "contiguous"),
    ],
)
def test_wrong_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        machine(SCALE).launch("scale", arguments)


def test_wrong_launches():
    runs = machine(SCALE)
    with pytest.raises(ptxkit.PtxError, match="no kernel `other`: expected `scale`"):
        runs.launch("other")
    with pytest.raises(ptxkit.PtxError, match="no kernel `scal`; did you mean `scale`"):
        runs.launch("scal")
    with pytest.raises(ptxkit.PtxError, match="has no kernels"):
        machine(HEADER).launch("other")
    many = "".join(f".visible .entry k{n}() {{ ret; }}\n" for n in range(11))
    with pytest.raises(ptxkit.PtxError, match="`k0`, .*`k7` and 3 more"):
        machine(HEADER + many).launch("other")
    for block in [256.0, "256", (1, 2.0), {1}]:
        with pytest.raises(TypeError, match="`block`: expected an integer, or up to three of them, found a value of type"):
            runs.launch("scale", [0, 0.0, 0, bytes(8)], block=block)
    for cluster in [-1, 2**32, [1, -1]]:
        with pytest.raises(OverflowError, match="`cluster`: expected .* found (-1|4294967296)"):
            runs.launch("scale", [0, 0.0, 0, bytes(8)], cluster=cluster)
    with pytest.raises(ValueError, match="`grid`: expected one to three dimensions, found 0"):
        runs.launch("scale", [0, 0.0, 0, bytes(8)], grid=())
    for checks in [5, [None]]:
        with pytest.raises(TypeError, match="`checks`: expected names"):
            runs.launch("scale", [0, 0.0, 0, bytes(8)], checks=checks)
    with pytest.raises(TypeError, match="`schedule`: expected a seed"):
        runs.launch("scale", [0, 0.0, 0, bytes(8)], schedule=0.5)
    with pytest.raises(ValueError, match="`schedule`"):
        runs.launch("scale", [0, 0.0, 0, bytes(8)], schedule="soon")
    with pytest.raises(ValueError, match="dimensions"):
        runs.launch("scale", grid=[1, 1, 1, 1])
    with pytest.raises(ValueError, match="`leakcheck` is not a checker: expected `memcheck`, .*`racecheck`"):
        runs.launch("scale", [0, 0.0, 0, bytes(8)], checks=["leakcheck"])
    with pytest.raises(ValueError, match="target"):
        runs.launch("scale", [0, 0.0, 0, bytes(8)], model="sm_1")
    with pytest.raises(ptxkit.PtxError, match="threads"):
        runs.launch("scale", [0, 0.0, 0, bytes(8)], block=2048)


def test_a_module_with_errors_has_no_machine():
    text = SCALE.replace("mov.u32 %r2, %ctaid.x;", "mvo.u32 %r2, %ctaid.x;").replace("add.s64 %rd1, %rd1, %rd2;", "add.s64 %rd1, %rd1;")
    module = ptxkit.parse(text, name="scale.ptx")
    with pytest.raises(ptxkit.PtxError) as caught:
        ptxkit.Machine(module)
    errors = [diagnostic for diagnostic in module.check() if diagnostic.is_error]
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == [error.code for error in errors]
    assert len(errors) == 2 and caught.value.code == errors[0].code and caught.value.span == errors[0].span
    assert "the module has errors" in str(caught.value)
    assert all(error.message in str(caught.value) for error in errors)
    assert "scale.ptx:" in str(caught.value) and "mvo.u32" in str(caught.value)
    with pytest.raises(ptxkit.PtxError, match="and 30 more"):
        machine(HEADER + ".entry k() {" + 40 * "mvo.u32 1;\n" + "}")


def test_memory():
    runs = machine(SCALE)
    address, size = runs.variable("launches")
    assert size == 4 and runs.read(address, 4) == struct.pack("<I", 7)
    assert runs.variable("other") is None
    data = runs.allocate(12)
    assert runs.read(data, 12) == bytes(12)
    runs.write(data, array.array("f", [1.0, 2.0, 3.0]))
    runs.launch("scale", [data, 3.0, 2, bytes(8)], block=32)
    assert struct.unpack("<3f", runs.read(data, 12)) == (3.0, 6.0, 3.0)
    with pytest.raises(ptxkit.PtxError):
        runs.read(data + 2**50, 4)
    with pytest.raises(TypeError):
        runs.write(data, 5)
    with pytest.raises(MemoryError):
        runs.allocate(2**62)


def test_errors_name_the_instruction():
    runs = machine(SCALE)
    with pytest.raises(ptxkit.PtxError) as caught:
        runs.launch("scale", [16, 1.0, 1, bytes(8)])
    assert caught.value.code and "out of bounds" in str(caught.value)
    text = SCALE[caught.value.span.start : caught.value.span.end]
    assert text == "ld.global.f32 %f2, [%rd1];"
    with pytest.raises(ptxkit.PtxError, match="limit"):
        runs.launch("scale", [0, 1.0, 0, bytes(8)], max_steps=3)


RACE = HEADER + """
.visible .entry race(.param .u64 data)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd;
    .shared .align 4 .b8 word[4];
    ld.param.u64 %rd, [data];
    mov.u32 %r1, %tid.x;
    st.shared.u32 [word], %r1;
    ld.shared.u32 %r2, [word];
    st.global.u32 [%rd], %r2;
    ret;
}
"""


def test_checkers():
    runs = machine(RACE)
    word = array.array("I", [0])
    assert runs.launch("race", [word], block=64).findings == []
    outcome = runs.launch("race", [word], block=64, checks=["racecheck", "memcheck"], schedule=3)
    alone = runs.launch("race", [word], block=64, checks="racecheck", schedule=3)
    assert [str(f) for f in alone.findings] == [str(f) for f in outcome.findings]
    finding = outcome.findings[0]
    assert finding.checker == "racecheck" and finding.code == "PTX1441" and finding.count >= 1
    assert finding.message and finding.help and "racecheck" in str(finding)
    assert finding.at.function == "race" and finding.other.thread != finding.at.thread
    assert finding.at.block == (0, 0, 0) and "word" in finding.at.instruction
    assert RACE[finding.at.span.start : finding.at.span.end] == finding.at.instruction
    assert [str(f) for f in runs.findings] == [str(f) for f in outcome.findings]


UNAWAITED = HEADER + """
.visible .entry copy(.param .u64 data)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd;
    .shared .align 4 .b8 word[4];
    ld.param.u64 %rd, [data];
    mov.u32 %r1, word;
    cp.async.ca.shared.global [%r1], [%rd], 4;
    ld.shared.u32 %r2, [word];
    st.global.u32 [%rd+4], %r2;
    ret;
}
"""


def test_asynchrony():
    runs = machine(UNAWAITED)
    words = array.array("I", [7, 1])
    runs.launch("copy", [words])
    assert list(words) == [7, 7]
    runs.launch("copy", [words], asynchrony="late")
    assert list(words) == [7, 0]
    runs.launch("copy", [words], asynchrony="random:1")
    with pytest.raises(ValueError, match="random:SEED"):
        runs.launch("copy", [words], asynchrony="soon")


LOOP = HEADER + "\n.global .b32 count;\n.visible .entry loop() {\n.reg .b32 %r; .reg .pred %p;\nAGAIN: add.u32 %r, %r, 1;\nst.global.u32 [count], %r;\nsetp.ne.u32 %p, %r, 0;\n@%p bra AGAIN;\nret;\n}\n"


def test_a_machine_runs_one_launch_at_a_time():
    runs = machine(LOOP)
    started = threading.Event()
    errors = []

    def run():
        started.set()
        try:
            runs.launch("loop", max_steps=20_000_000)
        except ptxkit.PtxError as error:
            errors.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    started.wait()
    busy = 0
    while thread.is_alive():
        try:
            runs.read(0, 0)
        except RuntimeError:
            busy += 1
        except ptxkit.PtxError:
            pass
    thread.join()
    assert busy > 0 and "limit" in errors[0]


PRINT = HEADER + """
.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 arguments);
.global .b8 text[] = { 104, 105, 10, 0 };
.visible .entry hello()
{
    .reg .b64 %rd<2>;
    .param .b64 first;
    .param .b64 second;
    .param .b32 result;
    cvta.global.u64 %rd1, text;
    st.param.b64 [first], %rd1;
    st.param.b64 [second], 0;
    call.uni (result), vprintf, (first, second);
    trap;
}
"""


def test_output_of_a_kernel_that_fails():
    runs = machine(PRINT)
    with pytest.raises(ptxkit.PtxError, match="trap"):
        runs.launch("hello")
    assert runs.output == "hi\n"


TENSOR = HEADER + """
.visible .entry multiply()
{
    .reg .b32 %r<8>;
    .reg .pred %p;
    mov.u32 %r1, %tid.x;
    mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r2, %r3}, {%r1}, {%r1}, {%r4, %r5};
    ret;
}
"""


def test_profiles():
    runs = machine(SCALE)
    arguments = [array.array("f", range(100)), 2.0, 40, bytes(8)]
    assert runs.launch("scale", arguments, block=64).profile is None
    assert runs.profile is None
    outcome = runs.launch("scale", arguments, block=64, profile=True, checks=["memcheck"])
    rows = outcome.profile
    assert [str(row) for row in runs.profile] == [str(row) for row in rows]
    assert all(row.function == "scale" and row.matrix is None for row in rows)
    load = next(row for row in rows if row.instruction.startswith("ld.global"))
    assert SCALE[load.span.start : load.span.end] == load.instruction
    assert SCALE.splitlines()[load.line - 1].strip() == load.instruction
    assert (load.executions, load.lanes) == (2, 40)
    [memory] = load.memory
    assert (memory.space, memory.bytes, memory.requests) == (".global", 160, 2)
    assert (memory.sectors, memory.passes, memory.bank_conflicts) == (5, 0, 0)
    assert load.to_dict()["memory"] == [memory.to_dict()]
    assert load.to_dict() == {
        "function": "scale",
        "line": load.line,
        "instruction": load.instruction,
        "executions": 2,
        "lanes": 40,
        "memory": [{"space": ".global", "bytes": 160, "requests": 2, "sectors": 5, "passes": 0, "bank_conflicts": 0}],
        "matrix": None,
    }


def test_products_of_matrices_in_profiles():
    outcome = machine(TENSOR).launch("multiply", grid=3, block=64, profile=True)
    row = next(row for row in outcome.profile if row.matrix)
    assert row.executions == 6 and "m8n8k16" in repr(row.matrix)
    assert (row.matrix.shape, row.matrix.factors, row.matrix.sparse) == ((8, 8, 16), (".s8", ".s8"), False)
    assert (row.matrix.products, row.matrix.multiply_adds) == (6, 6 * 8 * 8 * 16)
    assert row.matrix.to_dict()["products"] == 6
    assert row.to_dict()["matrix"] == row.matrix.to_dict()
