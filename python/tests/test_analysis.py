"""Control flow, dominators, loops, live registers."""

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
