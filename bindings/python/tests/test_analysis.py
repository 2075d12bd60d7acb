"""Control flow, dominators, loops, live registers."""

import pytest

import ptxkit


def test_graph(kernel):
    cfg = kernel.cfg
    assert len(cfg) == 3 and list(cfg) == cfg.blocks == kernel.blocks
    entry, loop, end = cfg
    assert entry == cfg.entry and not entry.label and loop.label == "$LOOP"
    assert (entry.successors, loop.predecessors, end.successors) == ([loop], [entry, loop], [])
    assert [(e.source.index, e.target.index, e.kind, e.when) for e in cfg.edges] == [
        (0, 1, "next", None),
        (1, 1, "jump", True),
        (1, 2, "next", False),
    ]
    assert end.exits and not entry.exits and all(b.is_reachable and not b.is_dispatch for b in cfg)
    assert cfg.function == kernel == entry.function
    assert cfg[-1] == end
    assert "digraph" in cfg.dot() and "flowchart" in cfg.mermaid()


def test_blocks(kernel):
    assert [len(block) for block in kernel.blocks] == [4, 5, 3]
    assert [i for block in kernel.blocks for i in block] == list(kernel.instructions)
    assert kernel.instructions[5].block.label == "$LOOP"


def test_dominators(kernel):
    entry, loop, end = kernel.blocks
    assert entry.dominates(end) and loop.dominates(end) and not end.dominates(loop)
    assert end.post_dominates(entry) and not entry.post_dominates(end)
    assert (entry.immediate_dominator, end.immediate_dominator) == (None, loop)
    assert (entry.immediate_post_dominator, end.immediate_post_dominator) == (loop, None)


def test_loops(kernel):
    (loop,) = kernel.loops
    assert loop.header == kernel.blocks[1] and loop.blocks == loop.latches == [loop.header]
    assert (loop.depth, loop.parent, loop.is_natural) == (1, None, True)
    assert loop.exits == [(kernel.blocks[1], kernel.blocks[2])]
    assert loop.preheader == kernel.blocks[0]
    assert loop.header in loop and kernel.blocks[0] not in loop
    assert loop.header.loop == loop and not kernel.blocks[0].loop
    assert [block.loop_depth for block in kernel.blocks] == [0, 1, 0]
    assert kernel.cfg.is_reducible


def test_liveness(kernel):
    entry, loop, end = kernel.blocks
    assert entry.live_in == frozenset() and loop.live_in == {"%rd1", "%r1", "%r2", "%f1"}
    assert loop.live_out == {"%rd1", "%r1", "%r2", "%f1", "%p1"}
    assert end.live_out == frozenset()
    for block in kernel.blocks:
        instructions = list(block)
        assert instructions[0].live_before == block.live_in
        assert instructions[-1].live_after == block.live_out
        for one, next in zip(instructions, instructions[1:]):
            assert one.live_after == next.live_before


def test_liveness_is_that_of_its_definition(kernel):
    for i in kernel.instructions:
        assert i.live_before == (i.live_after - set(i.writes)) | set(i.reads)


def test_pressure(kernel):
    pressure = kernel.pressure
    assert pressure.units == 6
    assert pressure.by_class == {"pred": 1, "b32": 4, "b64": 1}
    assert pressure.at.function == kernel


def test_a_branch_through_a_table():
    text = (
        ".version 8.0\n.target sm_80\n.entry k() { .reg .b32 %r; T: .branchtargets A, B; brx.idx %r, T;"
        " A: bar.sync 0; B: ret; }"
    )
    cfg = ptxkit.parse(text).functions[0].cfg
    assert [(edge.source.index, edge.target.index, edge.kind) for edge in cfg.edges][:2] == [(0, 1, "table"), (0, 2, "table")]
    assert not any(block.is_dispatch for block in cfg)
    assert ptxkit.parse(text).instructions[0].targets == ["A", "B"]


VALUES = """\
.version 8.0
.target sm_90
.entry k(.param .u32 n)
{
	.reg .pred %p<3>;
	.reg .b32 %r<6>;
	ld.param.u32 %r1, [n];
	mov.u32 %r2, 0;
	setp.eq.u32 %p2, %r2, 1;
	@%p2 mov.u32 %r1, 5;
$LOOP:
	add.s32 %r2, %r2, 1;
	setp.lt.s32 %p1, %r2, %r1;
	@%p1 bra $LOOP;
	@%p2 bra $END;
	add.cc.u32 %r3, %r2, %r4;
	addc.u32 %r3, %r3, %r1;
$END:
	ret;
}
"""


def test_values():
    function = ptxkit.parse(VALUES).functions["k"]
    ssa = function.ssa
    load, zero, equal, merge, add, less, jump, leave, low, high, ret = function.instructions
    assert ssa.function == function and len(ssa) == len(list(ssa)) and ssa[-1].index == len(ssa) - 1
    phi = ssa.reads(add)["%r2"]
    assert (phi.kind, phi.register, phi.block, phi.instruction) == ("phi", "%r2", add.block, None)
    assert ssa.phis(add.block) == {"%r2": phi} and phi == ssa[phi.index] and hash(phi) == hash(ssa[phi.index])
    assert [(block.index, value.instruction) for block, value in phi.arguments] == [(0, zero), (add.block.index, add)]
    assert phi.uses == [add] and ssa.writes(add)["%r2"].uses == [less, low]
    merged = ssa.reads(less)["%r1"]
    assert (merged.kind, merged.instruction, merged.old.instruction) == ("merge", merge, load)
    assert [v.kind for v in ssa.reads(low).values()] == ["write", "entry"]
    assert ssa.reads(high)["CC.CF"] == ssa.writes(low)["CC.CF"] and ssa.writes(low)["CC.CF"].register == "CC.CF"
    assert ssa.reads(ret) == {} and ssa[0].arguments == [] and not ssa[0].block


def test_constants():
    function = ptxkit.parse(VALUES).functions["k"]
    ssa, (load, zero, equal, merge, add, *_) = function.ssa, function.instructions
    assert (ssa.writes(zero)["%r2"].constant, ssa.writes(equal)["%p2"].constant) == (0, 0)
    assert ssa.writes(load)["%r1"].constant is None and ssa.writes(add)["%r2"].constant is None
    assert all(ssa.is_executable(block) for block in function.blocks)
    dead = ptxkit.parse(VALUES.replace("%r2, 1;\n\t@", "%r2, 0;\n\t@")).functions["k"]
    assert [dead.ssa.is_executable(block) for block in dead.blocks] == [True, True, True, False, True]


def test_reaching_definitions():
    function = ptxkit.parse(VALUES).functions["k"]
    reaching = function.reaching
    load, zero, equal, merge, add, less, jump, leave, low, high, ret = function.instructions
    assert reaching.definitions(add, "%r2") == [zero, add]
    assert reaching.definitions(less, "%r1") == [load, merge]
    assert reaching.uses(merge, "%r1") == [less, high] and reaching.uses(high, "%r3") == []
    assert reaching.may_be_uninitialized(low, "%r4") and not reaching.may_be_uninitialized(less, "%r1")
    with pytest.raises(ptxkit.PtxError, match="does not read `%r1`"):
        reaching.definitions(add, "%r1")
    with pytest.raises(ptxkit.PtxError, match="does not write `%r1`"):
        reaching.uses(add, "%r1")
    with pytest.raises(KeyError, match="%x"):
        reaching.definitions(add, "%x")


def test_values_of_other_functions_are_refused(module, kernel):
    other = ptxkit.parse(VALUES).functions["k"]
    for call in (kernel.ssa.reads, kernel.ssa.writes, lambda i: kernel.reaching.uses(i, "%r1")):
        with pytest.raises(ptxkit.PtxError, match="in another function"):
            call(other.instructions[0])
    with pytest.raises(ptxkit.PtxError, match="in another function"):
        kernel.ssa.phis(other.blocks[0])
    for what in ("ssa", "reaching"):
        with pytest.raises(ptxkit.PtxError, match="has no body"):
            getattr(module.functions["helper"], what)


def test_values_of_a_statement_that_was_not_recognized():
    text = ".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r<3>; foo %r1 = 2; mov.b32 %r2, %r1; }"
    function = ptxkit.parse(text).functions["k"]
    value = function.ssa.reads(function.instructions[-1])["%r1"]
    assert (value.kind, value.instruction, value.old.kind) == ("merge", None, "entry")


def test_what_is_known_of_values():
    module = ptxkit.parse(
        """.version 8.5\n.target sm_90\n.address_size 64
        .entry k(.param .u64 p, .param .u32 n)\n{
        .shared .align 4 .b8 s[8192]; .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<3>;
        ld.param.u64 %d0, [p]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; mov.b32 %r2, 0;
        L: add.s32 %r2, %r2, 1; setp.lt.s32 %p, %r2, %r0; @%p bra L;
        mov.u32 %r3, s; mad.lo.u32 %r3, %r1, 8, %r3; ld.shared.u32 %r4, [%r3];
        mad.wide.u32 %d1, %r1, 4, %d0; st.global.u32 [%d1+4], %r4; ret;\n}"""
    )
    kernel = module.functions["k"]
    find = {i.opcode: i for i in kernel.instructions if i.opcode in ("ld", "mad", "st", "setp")}
    assert find["mad"].affine == {"%d1": "p + 4*%tid.x"}
    assert find["mad"].uniform == {"%d1": "varying"}
    assert find["setp"].uniform == {"%p": "grid"}
    assert find["ld"].coalescing["degree"] == 2
    assert find["st"].coalescing["sectors"] == 5  # the 128 bytes start at byte 4 of a sector
    assert find["setp"].coalescing is None
    assert kernel.loops[0].trip_count["form"] == "max(1, n)"
    assert {block.uniform for block in kernel.blocks} == {"grid"}
    (function,) = module.report()["functions"]
    assert [a["coalescing"]["pattern"] for a in function["accesses"]] == ["strided", "consecutive"]
    dead = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r; mov.u32 %r, %tid.x; ret; }").lint()
    assert [(f["lint"], f["function"]) for f in dead] == [("dead-code", "k")]
