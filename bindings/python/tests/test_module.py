"""Modules, functions, instructions and their facts."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

import ptxkit


def test_header_and_declarations(module, text):
    assert (module.version, module.target, module.address_size) == ("8.0", "sm_80", 64)
    assert (module.name, module.text, module.source) == ("sum.ptx", text, text.encode())
    assert [f.name for f in module.functions] == ["helper", "_Z3sumPfi", "unused"]
    assert [f.name for f in module.kernels] == ["_Z3sumPfi"]
    assert [(v.name, v.space, v.bytes, v.linkage) for v in module.variables] == [("scale", "global", 4, "visible")]
    assert module.files == {1: "sum.cu"}
    assert module.diagnostics == []
    assert module.position(module.text.index(".target")) == (2, 1)


def test_functions_are_found_by_position_slice_and_name(module):
    functions = module.functions
    assert len(functions) == 3
    assert functions[-1].name == "unused"
    assert [f.name for f in functions[::-2]] == ["unused", "helper"]
    assert functions["unused"] == functions[2]
    assert functions["unused"] in functions
    assert "unused" in functions and "missing" not in functions
    with pytest.raises(KeyError, match="no function `missing`"):
        functions["missing"]
    with pytest.raises(KeyError, match="did you mean `_Z3sumPfi`"):
        functions["sum"]
    with pytest.raises(IndexError):
        functions[3]
    with pytest.raises(TypeError):
        functions[1.5]


def test_function(kernel):
    assert kernel.demangled == "sum(float*, int)"
    assert (kernel.kind, kernel.is_kernel, kernel.is_definition, kernel.linkage) == ("entry", True, True, "visible")
    assert [(p.name, p.type, p.bytes) for p in kernel.parameters] == [("_Z3sumPfi_param_0", ".u64", 8), ("n", ".u32", 4)]
    assert kernel.results == []
    assert kernel.directives == {"maxntid": [128, 1, 1]}
    assert kernel.labels == ["$LOOP"]
    assert [(v.name, v.bytes) for v in kernel.variables] == [("buffer", 512)]
    assert ("%rd1", ".b64") in [(r.name, r.type) for r in kernel.registers]
    assert kernel.line == 9
    assert kernel.text.startswith(".visible .entry") and kernel.text.endswith("}")
    assert kernel.stats["instructions"] == 12
    assert kernel.module.functions[1] == kernel


def test_occupancy(kernel, module):
    # At most 16 CTAs of 128 threads are 2,048 threads of a multiprocessor.
    occupancy = kernel.occupancy(target="sm_80")
    assert (occupancy["blocks"], occupancy["percent"], occupancy["threads_from"]) == (16, 100.0, "maximum")
    assert kernel.occupancy() == kernel.stats["occupancy"]
    # 100,000 bytes and those of `buffer`: one CTA in 164 KiB.
    assert kernel.occupancy(block=256, shared=100_000, target="sm_80")["blocks"] == 1
    assert kernel.occupancy(target="sm_20") is None
    with pytest.raises(ValueError, match="1 to 1024"):
        kernel.occupancy(block=2048)
    with pytest.raises(ptxkit.PtxError, match="no body"):
        module.functions["helper"].occupancy()


def test_declarations_have_no_body(module):
    helper = module.functions["helper"]
    assert not helper.is_definition
    assert [(p.name, p.type) for p in helper.results] == [("out", ".b32")]
    assert len(helper.instructions) == 0
    for what in ("cfg", "stats", "pressure"):
        with pytest.raises(ptxkit.PtxError, match="`helper` has no body"):
            getattr(helper, what)


def test_calls():
    module = ptxkit.parse(
        ".version 8.0\n.target sm_80\n.func f() { ret; }\n.func g() { call f; ret; }\n.entry k() { call g; call g; ret; }"
    )
    f, g, k = module.functions
    assert (f.callers, g.callees, k.callees) == ([g], [f], [g])
    assert not f.is_recursive and not k.may_call_unknown
    assert [i.callees for i in k.instructions] == [["g"], ["g"], None]


def test_instructions_are_a_sequence(kernel):
    instructions = kernel.instructions
    assert len(instructions) == 12
    assert [i.opcode for i in instructions[4:6]] == ["ld", "add"]
    assert instructions[-1].opcode == "ret"
    assert [i.index for i in instructions[::-5]] == [11, 6, 1]
    assert [i.index for i in instructions[2:10][1:3]] == [3, 4]
    assert instructions[3] in instructions[::3] and instructions[3] not in instructions[::2]
    assert instructions[0] not in instructions[1:]
    assert len(instructions[8:4]) == 0
    with pytest.raises(IndexError):
        instructions[12]


def test_all_instructions_of_a_module(module, kernel):
    assert len(module.instructions) == 13
    assert list(module.instructions)[:12] == list(kernel.instructions)
    assert module.instructions[12].function.name == "unused"


def test_instruction(module, kernel):
    load = kernel.instructions[4]
    assert (load.mnemonic, load.modifiers) == ("ld.global.f32", ("global", "f32"))
    assert str(load) == load.text == "ld.global.f32 %f2, [%rd1+4];"
    assert load.line == module.text[: load.span.start].count("\n") + 1 and len(load.span) == len(load.text)
    assert (load.reads, load.writes) == (("%rd1",), ("%f2",))
    access = load.memory[0]
    assert (access.space, access.access, access.bytes, access.base, access.offset) == ("global", "read", 4, "%rd1", 4)
    assert access.reads and not access.writes
    assert not load.side_effects and load.is_known and load.flow == "next"
    assert [str(line) for line in load.source] == ["sum.cu:6:5"]
    assert load.function == kernel


def test_guards_and_jumps(kernel):
    jump, store, barrier, end = kernel.instructions[8:]
    assert (str(jump.guard), jump.guard.register, jump.guard.negated) == ("%p1", "%p1", False)
    assert (jump.flow, jump.targets) == ("jump", ["$LOOP"])
    assert str(store.guard) == "!%p1" and store.reads == ("%p1", "%rd1", "%f1") and store.side_effects
    assert barrier.is_barrier and end.flow == "return" and not end.guard


def test_conditional_writes():
    text = ".version 8.0\n.target sm_80\n.entry k() { .reg .pred %p; .reg .b32 %r; @%p mov.b32 %r, 1; ret; }"
    move = ptxkit.parse(text).instructions[0]
    assert (move.writes, move.conditional_writes) == ((), ("%r",))


def test_operands(kernel):
    register, address = kernel.instructions[4].operands
    assert (register.kind, register.text, register.type) == ("register", "%f2", ".f32")
    assert (address.kind, address.text, address.base.name, address.offset.value) == ("address", "[%rd1+4]", "%rd1", 4)
    label = kernel.instructions[8].operands[0]
    assert (label.kind, label.name) == ("label", "$LOOP")
    number = kernel.instructions[3].operands[1]
    assert (number.kind, number.value) == ("immediate", 0.0)
    assert register == kernel.instructions[5].operands[2] != address
    assert hash(register) == hash(kernel.instructions[5].operands[2])


def test_operands_of_all_kinds():
    text = (
        ".version 8.0\n.target sm_90\n.global .b32 g;\n.entry k() { .reg .b32 %r<5>; .reg .b64 %rd; .reg .pred %p<3>;"
        "ld.v2.u32 {%r1, %r2}, [g]; mov.u32 %r3, %tid.x; setp.eq.and.s32 %p0|%p1, %r1, -5, !%p2; mov.u64 %rd, g; }"
    )
    load, move, setp, address = ptxkit.parse(text).instructions
    assert [part.name for part in load.operands[0].parts] == ["%r1", "%r2"]
    assert (move.operands[1].kind, move.operands[1].component) == ("component", "x")
    assert move.operands[1].parts[0].name == "%tid"
    assert [o.kind for o in setp.operands] == ["pair", "register", "immediate", "not"]
    assert setp.operands[2].value == -5
    assert (address.operands[1].kind, address.operands[1].name) == ("variable", "g")


def test_equality_and_hashes(text):
    one, two = ptxkit.parse(text), ptxkit.parse(text)
    assert one == two and hash(one) == hash(two) and one != ptxkit.parse("")
    assert one.functions[1] == two.functions[1] != two.functions[2]
    assert len({*one.instructions, *two.instructions}) == 13
    assert len({one.kernels[0].blocks[0], two.kernels[0].blocks[0]}) == 1


def test_pickling(module, kernel):
    for value in (module, kernel, kernel.instructions[4], ptxkit.Span(1, 2)):
        assert pickle.loads(pickle.dumps(value)) == value
    function, instruction = pickle.loads(pickle.dumps((kernel, kernel.instructions[4])))
    assert instruction.function.module is function.module
    diagnostics = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { add.s32 %r1, %r1 }").check()
    assert pickle.loads(pickle.dumps(diagnostics)) == diagnostics


def test_text_with_other_bytes():
    module = ptxkit.parse(b".version 8.0 // \xff\n")
    assert module.source.endswith(b"\xff\n") and "\ufffd" in module.text


@pytest.mark.parametrize("text", ["", "{{{{", ".entry k(", "\0", ".version 99.9\n.target sm_1"])
def test_any_text_is_read(text):
    module = ptxkit.parse(text)
    module.check()
    for function in module.functions:
        assert repr(function) and list(function.instructions) is not None


def test_threads(text):
    def work(number):
        module = ptxkit.parse(text.replace("scale", f"scale{number}"))
        return [i.opcode for i in module.instructions], module.kernels[0].pressure.units, len(module.check())

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, range(32)))
    assert results == [results[0]] * 32


def test_shared_caches_from_threads(module):
    def work(_):
        return [(i.reads, i.writes, i.source, i.live_after) for i in module.kernels[0].instructions]

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, range(16)))
    assert results == [results[0]] * 16


def test_repr(module, kernel):
    assert repr(module) == "<Module sum.ptx: 3 functions>"
    assert repr(kernel) == "<Function _Z3sumPfi: 12 instructions>"
    assert repr(kernel.instructions) == "<12 instructions>"
    assert repr(kernel.instructions[-1]) == "<Instruction ret;>"
    assert repr(kernel.instructions[4].operands[0]) == "<Operand register: %f2>"


FACTS = """\
.version 8.0
.target sm_90
.file 1 "a.cu"
.section .debug_str { info0: .b8 95,90,49,102,118,0 }
.entry k()
{
	.reg .b32 %r<8>;
	.reg .f32 %f<5>;
	.reg .b64 %rd;
	.loc 1 3 1
	fence.acq_rel.gpu;
	.loc 1 4 1, function_name info0, inlined_at 1 3 1
	ld.acquire.gpu.global.b32 %r1, [%rd];
	mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};
	add.s32 %r7, %r7, 1;
	bar.sync 0;
}
"""


def test_facts():
    fence, load, multiply, add, barrier = ptxkit.parse(FACTS).instructions
    assert [i.is_fence for i in (fence, load, barrier)] == [True, False, False]
    assert [i.is_matrix_multiply for i in (load, multiply, add)] == [False, True, False]
    assert [i.may_be_removed for i in (load, multiply, add, barrier)] == [False, True, True, False]
    assert add.section == "9.7.1.1"
    assert [(a.order, a.scope) for a in load.memory] == [("acquire", "gpu")]


def test_inlined_functions():
    fence, load, *_ = ptxkit.parse(FACTS).instructions
    assert [(line.line, line.function, line.demangled) for line in load.source] == [(4, "_Z1fv", "f()"), (3, None, None)]
    assert [line.function for line in fence.source] == [None]


def test_spans(module, kernel):
    span = kernel.span
    assert module.text[span.start : span.end] == kernel.text
