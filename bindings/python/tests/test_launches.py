"""Multimem addresses, cooperative launches and sequences of dependent launches."""

import array

import pytest

import ptxkit

HEADER = ".version 8.1\n.target sm_90\n.address_size 64\n"


def machine(text):
    return ptxkit.Machine(ptxkit.parse(HEADER + text))


SUM = """
.visible .entry sum(.param .u64 all, .param .u64 result)
{
    .reg .b32 %r1;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [all];
    ld.param.u64 %rd2, [result];
    multimem.ld_reduce.relaxed.sys.global.add.u32 %r1, [%rd1+4];
    st.global.u32 [%rd2], %r1;
    ret;
}
"""


def test_multimem_addresses_combine_members():
    runs = machine(SUM)
    members = [runs.allocate(8) for _ in range(3)]
    for number, member in enumerate(members, 5):
        runs.write(member, array.array("I", [0, number]))
    address = runs.multicast(members, 8)
    result = array.array("I", [0])
    runs.launch("sum", [address, result])
    assert result.tolist() == [5 + 6 + 7]
    runs.free_multicast(address)
    with pytest.raises(ptxkit.PtxError):
        runs.launch("sum", [address, result])
    with pytest.raises(ptxkit.PtxError, match="expected the first multimem address"):
        runs.free_multicast(address)
    with pytest.raises(ptxkit.PtxError, match="expected 1 to 64 members"):
        runs.multicast([], 8)
    with pytest.raises(ptxkit.PtxError):
        runs.multicast(members, 1 << 20)


def test_memory_is_freed():
    runs = machine(SUM)
    address = runs.allocate(1 << 12)
    runs.free(address)
    with pytest.raises(ptxkit.PtxError, match="freed before"):
        runs.free(address)
    with pytest.raises(ptxkit.PtxError, match="no allocation"):
        runs.free(address + 4)
    assert runs.allocate(1 << 12) == address


# All CTAs count, and wait until all have counted.
GRID_BARRIER = """
.visible .entry meet(.param .u64 counter, .param .u32 count)
{
    .reg .pred %p;
    .reg .b32 %r<3>;
    .reg .b64 %rd1;
    ld.param.u64 %rd1, [counter];
    ld.param.u32 %r2, [count];
    atom.global.add.u32 %r1, [%rd1], 1;
WAIT:
    ld.acquire.gpu.global.u32 %r1, [%rd1];
    setp.lt.u32 %p, %r1, %r2;
    @%p bra WAIT;
    ret;
}
"""


def test_cooperative_launches():
    runs = machine(GRID_BARRIER)
    for cooperative, grid in [(True, 2000), (2, 64), (None, 7), (False, 7)]:
        counter = array.array("I", [0])
        runs.launch("meet", [counter, grid], grid=grid, cooperative=cooperative)
        assert counter.tolist() == [grid]
    for cooperative, grid in [(True, 132 * 32 + 1), (2, 65)]:
        with pytest.raises(ptxkit.PtxError, match="cooperative"):
            runs.launch("meet", [array.array("I", [0]), grid], grid=grid, cooperative=cooperative)
    for cooperative in ["yes", 1.5, -1]:
        with pytest.raises(TypeError, match="`cooperative`: expected True, False or a number of multiprocessors"):
            runs.launch("meet", [array.array("I", [0]), 1], cooperative=cooperative)


SEQUENCE = """
.visible .entry first(.param .u64 data)
{
    .reg .b32 %r1;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [data];
    griddepcontrol.launch_dependents;
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    add.u32 %r1, %r1, 7;
    st.global.u32 [%rd2], %r1;
    ret;
}
.visible .entry second(.param .u64 data, .param .u64 copy, .param .u32 factor)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    ld.param.u64 %rd2, [copy];
    ld.param.u32 %r3, [factor];
    WAIT
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd3, %r1, 4, %rd1;
    ld.global.u32 %r2, [%rd3];
    mul.lo.u32 %r2, %r2, %r3;
    mad.wide.u32 %rd3, %r1, 4, %rd2;
    st.global.u32 [%rd3], %r2;
    ret;
}
"""


def sequence(wait, **options):
    """The copy that the second kernel makes, and the outcomes."""
    runs = machine(SEQUENCE.replace("WAIT", wait))
    data, copy = (array.array("I", [0] * 4) for _ in range(2))
    launches = [
        {"kernel": "first", "arguments": [data], "block": 4},
        {"kernel": "second", "arguments": [data, copy, 10], "block": (4, 1), "grid": 1, "shared": 64, "cluster": None},
    ]
    outcomes = runs.launch_dependent(launches, **options)
    assert data.tolist() == [7, 8, 9, 10]
    return copy.tolist(), outcomes, runs.findings


def test_a_dependent_launch_waits():
    for options in [{}, {"checks": ["racecheck", "memcheck"]}, {"asynchrony": "late", "max_steps": 1000, "max_memory": 1 << 30, "timeout": 60.0}]:
        copy, outcomes, findings = sequence("griddepcontrol.wait;", **options)
        assert copy == [70, 80, 90, 100]
        assert len(outcomes) == 2 and all(outcome.steps > 0 for outcome in outcomes)
        assert all(outcome.findings == [] and outcome.profile is None for outcome in outcomes) and findings == []


def test_a_missing_wait_is_seen():
    copy, _, _ = sequence("")
    assert copy == [0, 0, 0, 0]
    _, (first, second), findings = sequence("", checks="racecheck")
    assert first.findings == [] and len(second.findings) == len(findings) == 1
    assert second.findings[0].at.instruction.startswith("ld.global.u32")


def test_wrong_sequences():
    runs = machine(SEQUENCE.replace("WAIT", ""))
    assert runs.launch_dependent([]) == []
    for launches, message in [
        ([5], "`launches`: expected dictionaries, found a value of type `int`"),
        ([{"arguments": []}], "without `kernel`"),
        ([{"kernel": "first", "checks": "racecheck"}], "found `checks`"),
        ([{"kernel": "first", 3: 4}], "`launches`: expected names of parameters, found a value of type `int`"),
        ([{"kernel": "first", "cooperative": "no"}], "`cooperative`"),
        ([{"kernel": "first", "grid": "no"}], "`grid`"),
        ([{"kernel": "first"}], "1 parameters, not 0"),
    ]:
        with pytest.raises(TypeError, match=message):
            runs.launch_dependent(launches)
    with pytest.raises(ptxkit.PtxError, match="no kernel `third`"):
        runs.launch_dependent([{"kernel": "third"}])
    with pytest.raises(ptxkit.PtxError, match="limit of executed instructions"):
        runs.launch_dependent([{"kernel": "first", "arguments": [array.array("I", [0])]}], max_steps=1)
    with pytest.raises(ValueError, match="is not a target"):
        runs.launch_dependent([{"kernel": "first", "arguments": [0]}], model="sm_1")
