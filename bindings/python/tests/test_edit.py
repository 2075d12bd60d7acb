"""Edits of modules."""

import pytest

import ptxkit


def test_edits_leave_all_other_bytes(module, kernel, text):
    add = kernel.instructions[5]
    with module.edit() as edit:
        edit.set_mnemonic(add, "sub.f32")
        edit.set_operand(add, 2, "%f1")
    assert edit.module.text == text.replace("add.f32 %f1, %f1, %f2;", "sub.f32 %f1, %f1, %f1;")
    assert module.text == text and edit.module.name == "sum.ptx"


def test_statements_are_inserted_removed_and_replaced(module, kernel):
    instructions = kernel.instructions
    with module.edit() as edit:
        edit.prepend(kernel, ".reg .b64 %new;")
        edit.insert_before(instructions[0], "mov.b64 %new, 0;")
        edit.insert_after(instructions[0], "add.s64 %new, %new, %rd1;")
        edit.replace(instructions[2], "mov.u32 %r2, %tid.x; add.s32 %r2, %r2, 1;")
        edit.remove(instructions[10])
        edit.remove(module.functions["unused"])
    new = edit.module
    opcodes = [i.opcode for i in new.kernels[0].instructions]
    assert opcodes[:6] == ["mov", "ld", "add", "ld", "mov", "add"] and "bar" not in opcodes
    assert "unused" not in new.functions and new.check() == []


def test_operands_are_looked_up(module, kernel):
    load, add = kernel.instructions[4], kernel.instructions[6]
    with module.edit() as edit:
        edit.set_operand(load, 1, "[%rd2+16]")
        edit.set_operand(add, 2, 7)
        edit.set_operand(add, 1, kernel.instructions[7].operands[2])
    new = edit.module.kernels[0].instructions
    assert (new[4].text, new[6].text) == ("ld.global.f32 %f2, [%rd2+16];", "add.s32 %r2, %r1, 7;")
    with module.edit() as edit, pytest.raises(ptxkit.PtxError):
        edit.set_operand(add, 1, "%missing")
    assert edit.module == module
    with module.edit() as edit, pytest.raises(ptxkit.PtxError, match="operand 9 of 3"):
        edit.set_operand(add, 9, 1)


def test_guards(module, kernel):
    jump, store = kernel.instructions[8:10]
    with module.edit() as edit:
        edit.set_guard(jump, "!%p1")
        edit.set_guard(store, None)
    new = edit.module.kernels[0].instructions
    assert (str(new[8].guard), new[9].guard) == ("!%p1", None)


def test_headers_and_linkage(module):
    with module.edit() as edit:
        edit.set_version("8.5")
        edit.set_target("sm_90")
        edit.set_linkage(module.functions["unused"], "visible")
    new = edit.module
    assert (new.version, new.target, new.functions["unused"].linkage) == ("8.5", "sm_90", "visible")
    with module.edit() as edit, pytest.raises(ptxkit.PtxError):
        edit.set_linkage(module.functions["unused"], "shared")


def test_a_block_that_fails_has_no_result(module, kernel):
    with pytest.raises(ZeroDivisionError):
        with module.edit() as edit:
            edit.remove(kernel.instructions[10])
            1 / 0
    with pytest.raises(ptxkit.PtxError, match="failed"):
        edit.module


def test_instructions_of_other_modules_are_refused(module):
    other = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { ret; }")
    with module.edit() as edit, pytest.raises(ptxkit.PtxError, match="another module"):
        edit.remove(other.instructions[0])


def test_text_with_errors_is_refused(module, kernel):
    with module.edit() as edit, pytest.raises(ptxkit.PtxError):
        edit.insert_before(kernel.instructions[0], "add.s32 %r1,")
    assert edit.module == module


CALLS = """\
.version 8.0
.target sm_90
.func (.reg .b32 r) f(.reg .b32 a)
{
	mov.b32 r, a;
	ret;
}
.entry k()
{
	.reg .b32 %r<3>;
	call (%r1), f, (1);
	call.uni (%r1), f, (%r1);
	ret;
}
"""


def test_parameters_are_inserted_and_removed():
    module = ptxkit.parse(CALLS)
    f = module.functions["f"]
    with module.edit() as edit:
        edit.insert_parameter(f, 1, "b", "b32", "%r2", space="reg")
    new = edit.module
    assert [p.name for p in new.functions["f"].parameters] == ["a", "b"]
    assert [i.text for i in new.kernels[0].instructions][:2] == ["call (%r1), f, (1, %r2);", "call.uni (%r1), f, (%r1, %r2);"]
    assert new.check() == []
    with new.edit() as edit:
        edit.remove_parameter(new.functions["f"], 1)
    assert edit.module.kernels[0].text == module.kernels[0].text
    with module.edit() as edit, pytest.raises(ptxkit.PtxError):
        edit.remove_parameter(f, 0)
    assert edit.module == module


def test_parameters_in_memory_have_statements_before_calls():
    text = CALLS.replace(".func (.reg .b32 r) f(.reg .b32 a)\n{", ".func f()\n{ .reg .b32 r, a;").replace("call.uni (%r1), f, (%r1);\n", "")
    module = ptxkit.parse(text.replace("call (%r1), f, (1);", "call f;"))
    with module.edit() as edit:
        before = ".param .align 8 .b32 p; st.param.b32 [p], %r1;"
        edit.insert_parameter(module.functions["f"], 0, "b", "b32", "p", align=8, before=before)
    assert edit.module.check() == []
    assert [i.text for i in edit.module.kernels[0].instructions][:2] == ["st.param.b32 [p], %r1;", "call f, (p);"]
    assert ".align 8" in edit.module.functions["f"].text


def test_results_and_types_change():
    module = ptxkit.parse(CALLS)
    f = module.functions["f"]
    with module.edit() as edit:
        edit.insert_parameter(f, 1, "s", "b32", "%r2", space="reg", result=True)
        edit.set_parameter_type(f, 0, "u32", 5)
    new = edit.module
    assert [r.name for r in new.functions["f"].results] == ["r", "s"] and new.functions["f"].parameters[0].type == ".u32"
    assert [i.text for i in new.kernels[0].instructions][:2] == ["call (%r1, %r2), f, (5);", "call.uni (%r1, %r2), f, (5);"]
    with module.edit() as edit:
        edit.set_parameter_type(f, 0, "u32", result=True)
    assert edit.module.functions["f"].results[0].type == ".u32" and edit.module.kernels[0].text == module.kernels[0].text


def test_signatures_that_cannot_change(module):
    callers = ptxkit.parse(CALLS)
    f = callers.functions["f"]
    with callers.edit() as edit:
        for argument in ("%missing", "1, 2", ""):
            with pytest.raises(ptxkit.PtxError):
                edit.insert_parameter(f, 1, "b", "b32", argument, space="reg")
        with pytest.raises(ptxkit.PtxError, match="state space"):
            edit.insert_parameter(f, 1, "b", "b32", 1, space="global")
        with pytest.raises(ptxkit.PtxError):
            edit.insert_parameter(f, 3, "b", "b32", 1, space="reg")
        with pytest.raises(ptxkit.PtxError, match="another module"):
            edit.remove_parameter(module.functions["unused"], 0)
    assert edit.module == callers
