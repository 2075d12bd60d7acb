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
