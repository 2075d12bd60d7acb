"""Checks, requirements, differences and rewriting of modules."""

import pickle

import pytest

import ptxkit

BROKEN = ".version 8.0\n.target sm_90\n.entry k()\n{\n\t.reg .f32 %f;\n\tmul.f32 %f, %f, %f\n\tret;\n}\n"


def test_check(module):
    assert module.check() == []
    tensor = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r; redux.sync.add.s32 %r, %r, -1; }")
    assert tensor.check() == []
    for options in ({"version": "6.0"}, {"target": "sm_70"}):
        assert [d.code for d in tensor.check(**options)] == ["PTX0513"]
    (unused,) = module.check(unused=True)[-1:]
    assert unused.severity == "warning" and not unused.is_error
    with pytest.raises(ValueError, match="sm_x"):
        module.check(target="sm_x")


def test_diagnostics():
    module = ptxkit.parse(BROKEN, name="k.ptx")
    (error,) = module.check()
    assert (error.is_error, error.line, error.column) == (True, 7, 2)
    assert error == module.diagnostics[0] and len({error, *module.check()}) == 1
    assert error.span.start >= module.source.index(b"mul")
    assert error.code in str(error) and str(error).startswith("7:")
    assert ptxkit.explain(error.code)[0].kind == "diagnostic"
    assert "k.ptx:7:" in module.render(error)
    assert error.fix and module.fixed().check() == []
    assert error.applicability == "MachineApplicable"
    assert isinstance(error.notes, list) and error.message
    (unknown,) = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { ad.s32; ret; }").check()
    assert unknown.help == "did you mean `add`?"


def test_requires(module):
    needs = module.requires()
    assert needs.minimal and ("sm_90", needs.lowest("sm_90")) in needs.pairs
    assert set(needs.functions) == {"_Z3sumPfi", "unused"}
    assert needs.blocking("sm_90") == []
    assert all(module.source[reason.span.start : reason.span.end] for reason in needs.reasons)
    assert all(reason.lines[0] == reason.line and len(reason.lines) <= reason.count for reason in needs.reasons)
    assert needs.illegal == []
    twice = "griddepcontrol.wait;\n" * 2
    waits = ptxkit.parse(f".version 8.0\n.target sm_90\n.entry k() {{ .reg .b32 %r;\n{twice}mul.u32 %r, %r, %r;\nret; }}\n")
    reasons = {reason.what: reason.lines for reason in waits.requires().reasons}
    assert reasons["griddepcontrol.wait"] == [4, 5]
    assert len(waits.requires().illegal) == 1
    with pytest.raises(ValueError):
        needs.lowest("sm_0")


def test_requirements_of_functions():
    text = """.version 9.2
.target sm_90
.entry a() { griddepcontrol.wait; ret; }
.entry b() { .reg .b32 %r; redux.sync.add.s32 %r, %r, -1;
griddepcontrol.wait; griddepcontrol.wait; ret; }
.entry c() { .reg .b32 %r; add.f32 %r, %r; ret; }
"""
    needs = ptxkit.parse(text).requires()
    (wait,) = needs.reasons_of("a")
    assert (wait.what, wait.line, wait.lines, wait.count) == ("griddepcontrol.wait", 3, [3, 5], 3)
    assert [reason.what for reason in needs.reasons_of("b")] == ["redux.sync.add.s32", "griddepcontrol.wait"]
    assert needs.reasons_of("c") == []
    with pytest.raises(KeyError, match="d"):
        needs.reasons_of("d")
    assert [text[span.start : span.end] for span in needs.illegal] == ["add.f32 %r, %r;"]


def test_retarget(module):
    new = module.retarget("sm_90a")
    assert (new.target, new.version, new.name) == ("sm_90a", "8.0", "sum.ptx")
    assert module.retarget("sm_90", "lowest").version == "7.8"
    assert module.retarget("sm_90", "8.3").version == "8.3"
    tensor = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r; redux.sync.add.s32 %r, %r, -1; }")
    with pytest.raises(ptxkit.PtxError) as error:
        tensor.retarget("sm_70")
    assert error.value.code and error.value.span and error.value.diagnostics[0].is_error
    with pytest.raises(ptxkit.PtxError, match="no `.version`"):
        ptxkit.parse("").retarget("sm_90")


def test_errors_are_pickled():
    with pytest.raises(ptxkit.PtxError) as error:
        ptxkit.parse(BROKEN).retarget("sm_80")
    again = pickle.loads(pickle.dumps(error.value))
    assert (str(again), again.code, again.span) == (str(error.value), error.value.code, error.value.span)


def test_format(module):
    new = module.format()
    assert new.format().text == new.text and "// the sum" in new.text
    assert "\n  ret;" in module.format(indent=2).text


def test_diff(module, text):
    assert module.diff(module).is_equal and not module.diff(module)
    other = ptxkit.parse(text.replace("add.f32 %f1", "sub.f32 %f1").replace("sm_80", "sm_90"))
    diff = module.diff(other)
    assert diff and diff.changes == [("target", "", "sm_80", "sm_90")]
    (function,) = diff.functions
    assert (function.name, function.removed, function.added) == ("_Z3sumPfi", 1, 1)
    assert function.left == module.kernels[0] and function.right == other.kernels[0]
    assert not function.similarity and function.changes == []
    assert ("+", "sub.f32 %f1, %f1, %f2;") in function.lines
    assert str(diff).splitlines()[:2] == ["-target: sm_80", "+target: sm_90"]
    renamed = ptxkit.parse(text.replace("%f", "%x"))
    assert module.diff(renamed).is_equal


def test_diff_of_values():
    def text(instruction):
        return f".version 8.0\n.target sm_80\n.entry k() {{ .reg .b32 %a<3>; .reg .b64 %d; {instruction} st.global.b32 [%d], %a1; ret; }}"

    one, two = (
        ptxkit.parse(text(f"mov.u32 %a0, %tid.x; mov.u32 %a2, %tid.y; add.s32 %a1, {operands};"))
        for operands in ("%a2, %a0", "%a0, %a2")
    )
    assert not one.diff(two).is_equal and one.diff(two, values=True).is_equal


def test_rename(module):
    new = module.rename({"_Z3sumPfi": "sum", "scale": "factor"})
    assert new.kernels[0].name == "sum" and new.variables[0].name == "factor"
    assert "%count1" in module.rename({"%r": "%count"}, function="_Z3sumPfi").text
    with pytest.raises(ptxkit.PtxError, match="missing"):
        module.rename({"missing": "x"})
    with pytest.raises(ptxkit.PtxError):
        module.rename({"unused": "_Z3sumPfi"})
    assert module.add_prefix("my_", visible=True).kernels[0].name == "my__Z3sumPfi"


def test_strip_and_minify(module):
    stripped = module.strip()
    assert "the sum" not in stripped.text and ".loc" not in stripped.text
    assert len(module.minify(symbols=True, dead=True).source) < len(module.minify().source) < len(module.source)
    assert module.minify().check() == []


def test_renumber_and_flatten(module):
    assert module.renumber().check() == [] and module.flatten().text == module.text


def test_extract_and_split(module):
    assert [f.name for f in module.extract(["unused"]).functions] == ["unused"]
    part, rest = module.split(["_Z3sumPfi"])
    assert [f.name for f in part.kernels] == ["_Z3sumPfi"] and rest.kernels[:].__len__() == 0
    with pytest.raises(ptxkit.PtxError, match="missing"):
        module.extract(["missing"])


def test_link(module):
    other = ptxkit.parse(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .func (.param .b32 out) helper(.param .b32 in) { ret; }"
    )
    linked = ptxkit.link([module, other], name="all.ptx")
    assert linked.check() == [] and linked.functions["helper"].is_definition and linked.name == "all.ptx"
    assert not ptxkit.link([module, other], hidden=["helper"]).functions["helper"].linkage
    with pytest.raises(ptxkit.PtxError) as error:
        ptxkit.link([other, other])
    assert error.value.code
    with pytest.raises(ptxkit.PtxError):
        ptxkit.link([ptxkit.parse(BROKEN)])


def test_clean(module):
    text = ".version 8.0\n.target sm_80\n.entry k() { .reg .b32 %r<3>; mov.b32 %r1, 1; add.s32 %r2, %r1, 1; ret; }"
    cleaned, changes = ptxkit.parse(text).clean()
    assert len(cleaned.instructions) == 1 and all(len(change) == 4 for change in changes)
    kept, changes = ptxkit.parse(text).clean(["unreachable"])
    assert len(kept.instructions) == 3 and changes == []
    with pytest.raises(ValueError):
        module.clean(["missing"])


def test_trace_memory(module, kernel):
    traced, sites = module.trace_memory(name="my_trace", capacity=16, spaces=["global"])
    assert traced.check() == [] and "my_trace_records" in traced.text
    assert [(site.line, site.text, site.is_after) for site in sites][0] == (kernel.instructions[4].line, kernel.instructions[4].text, True)
    assert sites[0].id == 0 and sites[0].function == "_Z3sumPfi" and sites[0].span == kernel.instructions[4].span
    with pytest.raises(ValueError, match="nowhere"):
        module.trace_memory(spaces=["nowhere"])
    with pytest.raises(ptxkit.PtxError):
        traced.trace_memory(name="my_trace")


def test_check_bounds(module):
    checked, sites = module.check_bounds(low=0x1000, high=0x2000)
    assert checked.check() == [] and "ptx_bounds" in checked.text and len(sites) == 2
    recorded, _ = module.check_bounds(low=0, high=16, records=8, name="outside")
    assert "outside_records" in recorded.text


def test_explain():
    (entry,) = ptxkit.explain("bar.sync")[:1]
    assert entry.kind == "instruction" and entry.summary
    assert entry.examples and entry.name in str(entry) and entry.details["forms"][0]["section"].startswith("9.7")
    assert ptxkit.explain("%tid")[0].kind == "special register"
    assert [e.section for e in ptxkit.explain(".global") if e.kind == "directive"] == ["5.1.4"]
    with pytest.raises(KeyError):
        ptxkit.explain("no such word")
