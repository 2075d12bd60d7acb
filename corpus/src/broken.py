#!/usr/bin/env python3
"""Write ../broken/*.ptx: small modules with one mistake each.  usage: broken.py PTXAS

CASES holds name | kind | lines.  The line with the mistake ends in a section sign, which is removed.  H, HF, E and X stand
for a usual header, the header with a function, the opening of a kernel with registers and its end.  The first line of each
file tells the line of the mistake, and ptxas's own line where that differs.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

OUT = Path(__file__).resolve().parent.parent / "broken"
H = ".version 8.5\n.target sm_90\n.address_size 64\n"
HF = H + ".global .align 8 .b32 data[4] = { 1, 2, 3, 4 };\n.func (.param .b32 r) twice(.param .b32 a)\n{\n  .reg .b32 x;\n  ld.param.b32 x, [a];\n  add.s32 x, x, x;\n  st.param.b32 [r], x;\n  ret;\n}\n"
E = ".visible .entry k(.param .u64 out)\n{\n  .reg .b16 h<4>;\n  .reg .b32 r<8>;\n  .reg .b64 d<4>;\n  .reg .f32 f<4>;\n  .reg .f64 g<2>;\n  .reg .pred p, q;\n  .param .b32 arg, back;\n  ld.param.u64 d0, [out];\n"
X = "  st.global.b32 [d0], r0;\n  ret;\n}\n"


def body(*lines, pre=H):
    return pre + E + "".join("  " + l + "\n" for l in lines) + X


def mod(*lines, head=H):
    return head + "".join(l + "\n" for l in lines) + ".visible .entry k() { ret; }\n"


CASES = [
    # lexical
    ("lex_bad_octal", "digit 8 in an octal number", body("mov.b32 r0, 018;§")),
    ("lex_bad_hex", "hexadecimal number without digits", body("mov.b32 r0, 0x;§")),
    ("lex_bad_binary", "digit 2 in a binary number", body("mov.b32 r0, 0b102;§")),
    ("lex_small_u_suffix", "lower case suffix", body("mov.b32 r0, 7u;§")),
    ("lex_underscore_number", "underscore in a number", body("mov.b32 r0, 1_000;§")),
    ("lex_exact_float_digits", "exact float with seven digits", body("mov.f32 f0, 0f3F80000;§")),
    ("lex_exact_double_digits", "exact double with eight digits", body("mov.f64 g0, 0d3FF00000;§")),
    ("lex_exact_float_long", "exact float with nine digits", body("mov.f32 f0, 0f3F8000000;§")),
    ("lex_float_suffix", "float with a suffix", body("mov.f32 f0, 1.0f;§")),
    ("lex_float_exponent", "exponent without digits", body("mov.f32 f0, 1.5e;§")),
    ("lex_float_two_points", "number with two points", body("mov.f32 f0, 1.2.3;§")),
    ("lex_float_overflow", "float constant out of range", body("mov.f64 g0, 1e999;§")),
    ("lex_integer_overflow", "integer constant out of range", body("mov.b64 d1, 0xfffffffffffffffffff;§")),
    ("lex_stray_byte", "stray character", body("add.s32 r0, r1, r2; ?§")),
    ("lex_backslash", "backslash outside a comment", body("add.s32 r0, \\ r1, r2;§")),
    ("lex_non_ascii", "non-ASCII byte outside a comment", body("add.s32 r\xe9, r1, r2;§")),
    ("lex_vertical_tab", "vertical tab is no white space", body("add.s32\x0br0, r1, r2;§")),
    ("lex_control_byte", "control character", body("add.s32 r0, r1, \x01r2;§")),
    ("lex_char_constant", "character constant", body("mov.b32 r0, 'a';§")),
    ("lex_dollar_alone", "a dollar sign alone is no name", body(".reg .b32 $;§")),
    ("lex_percent_alone", "a percent sign alone is no name", body("mov.b32 %, r1;§")),
    ("lex_name_with_percent", "percent sign inside a name", body(".reg .b32 a%b;§")),
    ("lex_remainder_without_blank", "%2 is a name, not a remainder", body("mov.b32 r0, 7 %2;§")),
    ("lex_define_line", "preprocessor directive", mod("#define N 4§", ".global .b32 a[4];")),
    ("lex_marker_without_file", "line marker without a file name", mod("# 12§", ".global .b32 a[4];")),
    ("lex_unterminated_comment", "comment without an end", H + "/* this comment never ends§\n.visible .entry k() { ret; }\n"),
    ("lex_nested_comment", "comments do not nest", mod("/* outer /* inner */ still outer */§")),
    ("lex_unterminated_string", "string without an end", mod('.pragma "nounroll;§')),
    ("lex_modifier_blank", "blank after a dot", body("add. s32 r0, r1, r2;§")),
    ("lex_double_colon_blank", "blank inside a qualified modifier", body("ld.shared :: cta.b32 r0, [r1];§")),
    # header
    ("head_no_version", "no .version", ".target sm_90§\n.address_size 64\n.visible .entry k() { ret; }\n"),
    ("head_no_target", "no .target", ".version 8.5\n.address_size 64§\n.visible .entry k() { ret; }\n"),
    ("head_empty", "nothing but a comment", "// empty§\n"),
    ("head_version_unknown", "version does not exist", ".version 99.0§\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"),
    ("head_version_integer", "version without a point", ".version 8§\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"),
    ("head_target_unknown", "target does not exist", ".version 8.5\n.target sm_91§\n.address_size 64\n.visible .entry k() { ret; }\n"),
    ("head_target_too_new", "target newer than the version", ".version 7.0\n.target sm_90§\n.address_size 64\n.visible .entry k() { ret; }\n"),
    ("head_target_option", "unknown target option", ".version 8.5\n.target sm_90, texmode_other§\n.address_size 64\n.visible .entry k() { ret; }\n"),
    ("head_version_twice", "second .version", mod(".version 8.5§")),
    ("head_target_late", "second .target after other directives", mod(".global .b32 a;", ".target sm_80§")),
    ("head_address_size_bad", "address size 48", ".version 8.5\n.target sm_90\n.address_size 48§\n.visible .entry k() { ret; }\n"),
    ("head_address_size_late", "address size after a declaration", ".version 8.5\n.target sm_90\n.global .b32 a;\n.address_size 64§\n.visible .entry k() { ret; }\n"),
    ("head_address_size_twice", "second .address_size", mod(".address_size 64§")),
    ("head_semicolon", "semicolon after .target", ".version 8.5\n.target sm_90;§\n.address_size 64\n.visible .entry k() { ret; }\n"),
    ("head_target_before_version", "misordered header", ".target sm_90§\n.version 8.5\n.address_size 64\n.visible .entry k() { ret; }\n"),
    # declarations
    ("decl_no_semicolon", "missing semicolon after a variable", mod(".global .b32 a§", ".global .b32 b;")),
    ("decl_no_type", "missing type", mod(".global a;§")),
    ("decl_unknown_space", "unknown state space", mod(".globl .b32 a;§")),
    ("decl_unknown_type", "unknown type", mod(".global .i32 a;§")),
    ("decl_v3", "vector of three", mod(".global .v3 .b32 a;§")),
    ("decl_vector_too_large", "vector of more than 128 bits", mod(".global .v4 .b64 a;§")),
    ("decl_align", "alignment not a power of two", mod(".global .align 12 .b32 a;§")),
    ("decl_align_after_type", "alignment behind the type", mod(".global .b32 .align 8 a;§")),
    ("decl_dimension_expression", "array dimension is an expression", mod(".global .b32 a[2 * 3];§")),
    ("decl_negative_dimension", "negative array dimension", mod(".global .b32 a[-1];§")),
    ("decl_unsized", "array without a size", mod(".global .b32 a[];§")),
    ("decl_reg_module", "register at module scope", mod(".reg .b32 a;§")),
    ("decl_pred_memory", "predicate in memory", mod(".global .pred a;§")),
    ("decl_reg_array", "array of registers", body(".reg .b32 a[4];§")),
    ("decl_reg_initialiser", "register with an initial value", body(".reg .b32 a = 4;§")),
    ("decl_duplicate_global", "variable declared twice", mod(".global .b32 a;", ".global .b32 a;§")),
    ("decl_duplicate_register", "register declared twice", body(".reg .b32 r5;§")),
    ("decl_two_linkings", "two linking directives", mod(".visible .weak .global .b32 a;§")),
    ("decl_common_shared", "common variable in shared memory", mod(".common .shared .b32 a;§")),
    ("decl_attribute", "unknown attribute", mod(".global .attribute(.shared_by_all) .b32 a;§")),
    ("decl_managed_shared", "managed variable in shared memory", mod(".shared .attribute(.managed) .b32 a;§")),
    ("decl_explicit_bank", "constant bank number", mod(".const[2] .b32 a;§")),
    ("decl_sampler_unified", "sampler in unified mode", mod(".global .samplerref s;§")),
    # initialisers and constant expressions
    ("init_too_many", "too many values", mod(".global .b32 a[2] = { 1, 2, 3 };§")),
    ("init_trailing_comma", "comma before a closing brace", mod(".global .b32 a[2] = { 1, };§")),
    ("init_scalar_braces", "braces for a scalar", mod(".global .b32 a = { 1 };§")),
    ("init_array_scalar", "scalar for an array", mod(".global .b32 a[2] = 1;§")),
    ("init_flat", "flat list for two dimensions", mod(".global .b32 a[2][2] = { 1, 2, 3, 4 };§")),
    ("init_float_for_int", "float for an integer", mod(".global .u32 a = 1.5;§")),
    ("init_int_for_float", "integer for a float", mod(".global .f32 a = 1;§")),
    ("init_extern", "external variable with a value", mod(".extern .global .b32 a = 1;§")),
    ("init_shared", "shared variable with a value", mod(".shared .b32 a = 1;§")),
    ("init_half", "half variable with a value", mod(".global .f16 a = 1.0;§")),
    ("init_unknown_symbol", "undefined name", mod(".global .u64 a = nosuch;§")),
    ("init_symbol_minus", "offset with a minus sign", mod(".global .b32 b[4];", ".global .u64 a = b - 4;§")),
    ("init_shared_address", "address of a shared variable", mod(".shared .b32 s;", ".global .u64 a = s;§")),
    ("init_address_in_b64", "address in a .b64 variable", mod(".global .b32 b;", ".global .b64 a = b;§")),
    ("init_mask", "bad byte mask", mod(".global .b32 b;", ".global .u8 a[1] = { 0xF0(b) };§")),
    ("init_string", "string as a value", mod('.global .b8 a[4] = "abc";§')),
    ("init_missing_brace", "missing closing brace", mod(".global .b32 a[2] = { 1, 2;§")),
    ("const_division_by_zero", "division by zero", mod(".global .b32 a = 5 / (3 - 3);§")),
    ("const_remainder_by_zero", "remainder by zero", mod(".global .b32 a = 5 % 0;§")),
    ("const_mixed", "integer and float mixed", mod(".global .f64 a = 1 + 2.0;§")),
    ("const_cast", "unsupported cast", mod(".global .b32 a = (.u32) 5;§")),
    ("const_float_shift", "shift of a float", mod(".global .f64 a = 1.0 << 2;§")),
    ("const_choice_floats", "choice between floats", mod(".global .f64 a = 1 ? 2.0 : 3.0;§")),
    ("const_negative_exact", "sign before an exact float", mod(".global .f32 a = -0f3F800000;§")),
    ("const_parenthesis", "missing parenthesis", mod(".global .b32 a = (1 + 2;§")),
    ("const_no_operand", "operator without operand", mod(".global .b32 a = 1 +;§")),
    # functions and directives
    ("func_not_closed", "missing closing brace at the end", H + ".visible .entry k()\n{\n  ret;\n§"),
    ("func_brace_extra", "extra closing brace", mod(".func f() { ret; } }§")),
    ("func_duplicate", "function defined twice", mod(".func f() { ret; }", ".func f() { ret; }§")),
    ("func_declaration_differs", "declaration and definition differ", mod(".func f(.param .b32 a);", ".func f(.param .b64 a) { ret; }§")),
    ("func_entry_reg", "kernel parameter in a register", mod(".entry j(.reg .b32 a) { ret; }§")),
    ("func_entry_result", "kernel with a result", mod(".entry (.param .b32 r) j() { ret; }§")),
    ("func_param_no_comma", "missing comma between parameters", mod(".func f(.param .b32 a .param .b32 b) { ret; }§")),
    ("func_param_duplicate", "parameter named twice", mod(".func f(.param .b32 a, .param .b32 a) { ret; }§")),
    ("func_unknown_directive", "unknown directive", mod(".frobnicate 4;§")),
    ("func_performance_on_func", "kernel directive on a function", mod(".func f() .maxntid 32 { ret; }§")),
    ("func_maxnreg_zero", "register limit of zero", mod(".entry j() .maxnreg 0 { ret; }§")),
    ("func_maxntid_four", "four block dimensions", mod(".entry j() .maxntid 1, 2, 3, 4 { ret; }§")),
    ("func_maxntid_expression", "expression in a directive", mod(".entry j() .maxntid 16 * 2 { ret; }§")),
    ("func_old_directive", "directive that no longer exists", mod(".entry j() .maxnctapersm 2 { ret; }§")),
    ("func_alias_unknown", "alias of an undefined function", mod(".func f();", ".alias f, nosuch;§")),
    ("func_pragma_no_string", "pragma without a string", mod(".pragma nounroll;§")),
    ("func_pragma_no_semicolon", "pragma without a semicolon", mod('.pragma "nounroll"§', ".global .b32 a;")),
    # statements
    ("stmt_no_semicolon", "missing semicolon", body("add.s32 r0, r1, r2§", "sub.s32 r3, r1, r2;")),
    ("stmt_lone_semicolon", "empty statement", body("add.s32 r0, r1, r2;;§")),
    ("stmt_unknown_opcode", "unknown instruction", body("addd.s32 r0, r1, r2;§")),
    ("stmt_upper_case", "instruction in capitals", body("ADD.s32 r0, r1, r2;§")),
    ("stmt_unknown_modifier", "unknown modifier", body("add.fast.s32 r0, r1, r2;§")),
    ("stmt_illegal_modifier", "modifier not allowed here", body("add.approx.s32 r0, r1, r2;§")),
    ("stmt_no_type", "missing type", body("add r0, r1, r2;§")),
    ("stmt_type_twice", "type given twice", body("add.s32.s32 r0, r1, r2;§")),
    ("stmt_two_roundings", "two rounding modes", body("add.rn.rz.f32 f0, f1, f2;§")),
    ("stmt_no_comma", "missing comma", body("add.s32 r0, r1 r2;§")),
    ("stmt_double_comma", "two commas", body("add.s32 r0,, r1, r2;§")),
    ("stmt_trailing_comma", "comma before the semicolon", body("add.s32 r0, r1, r2,;§")),
    ("stmt_too_few", "missing operand", body("add.s32 r0, r1;§")),
    ("stmt_too_many", "surplus operand", body("add.s32 r0, r1, r2, r3;§")),
    ("stmt_wrong_class", "float register in an integer instruction", body("add.s32 r0, r1, f0;§")),
    ("stmt_wrong_size", "register of the wrong size", body("add.s32 r0, r1, d1;§")),
    ("stmt_int_for_float", "integer constant for a float operand", body("add.f32 f0, f1, 1;§")),
    ("stmt_store_to_immediate", "constant as destination", body("mov.b32 5, r0;§")),
    ("stmt_no_bracket", "missing closing bracket", body("ld.global.b32 r0, [d0;§")),
    ("stmt_bracket_minus", "offset with a minus sign", body("ld.global.b32 r0, [d0-4];§")),
    ("stmt_two_registers", "sum of two registers as an address", body("ld.global.b32 r0, [d0+d1];§")),
    ("stmt_no_bracket_at_all", "address without brackets", body("ld.global.b32 r0, d0;§")),
    ("stmt_vector_length", "vector of the wrong length", body("ld.global.v4.b32 {r0, r1, r2}, [d0];§")),
    ("stmt_vector_brace", "missing closing brace of a vector", body("ld.global.v2.b32 {r0, r1, [d0];§")),
    ("stmt_wrong_space", "shared load from a global variable", body("ld.shared.b32 r0, [data];§", pre=HF)),
    ("stmt_guard_not_pred", "guard that is no predicate", body("@r1 add.s32 r0, r1, r2;§")),
    ("stmt_guard_two", "two guards", body("@p @q add.s32 r0, r1, r2;§")),
    ("stmt_guard_constant", "constant guard", body("@1 add.s32 r0, r1, r2;§")),
    ("stmt_guard_block", "guard before a block", body("@p {§", "add.s32 r0, r1, r2;", "}")),
    ("stmt_negated_operand", "negation of a register", body("add.s32 r0, -r1, r2;§")),
    ("stmt_sink", "discarded result not allowed", body("add.s32 _, r1, r2;§")),
    ("stmt_special_register", "special register as an operand", body("add.s32 r0, %tid.x, 1;§")),
    ("stmt_write_special", "write to a special register", body("mov.u32 %laneid, r0;§")),
    ("stmt_bad_component", "unknown vector component", body(".reg .v2 .b32 v;", "mov.b32 r0, v.q;§")),
    ("stmt_string_operand", "string as an operand", body('mov.b32 r0, "x";§')),
    ("stmt_barrier_range", "barrier number out of range", body("bar.sync 16;§")),
    ("stmt_feature_version", "instruction newer than .version", ".version 6.0\n.target sm_70\n.address_size 64\n" + E + "  elect.sync _|p, -1;§\n" + X),
    ("stmt_feature_target", "instruction newer than .target", ".version 8.5\n.target sm_70\n.address_size 64\n" + E + "  cp.async.wait_all;§\n" + X),
    ("stmt_arch_feature", "architecture specific instruction on a plain target", body("wgmma.fence.sync.aligned;§")),
    # names
    ("name_undefined_register", "undefined register", body("add.s32 r0, r1, r99;§")),
    ("name_undefined_label", "undefined label", body("bra nowhere;§")),
    ("name_undefined_variable", "undefined variable", body("ld.global.b32 r0, [nowhere];§")),
    ("name_undefined_function", "undefined function", body("call nowhere;§")),
    ("name_use_before", "register used before its declaration", body("mov.b32 late, 1;§", ".reg .b32 late;")),
    ("name_out_of_scope", "register used behind its block", body("{ .reg .b32 inner; }", "mov.b32 inner, 1;§")),
    ("name_label_inner", "branch into a block", body("bra inside;§", "{ inside: mov.b32 r0, 1; }")),
    ("name_label_twice", "label twice in one block", body("again: mov.b32 r0, 1;", "again: mov.b32 r0, 2;§")),
    ("name_label_is_register", "branch to a register", body("bra r0;§")),
    ("name_warp_sz", "WARP_SZ cannot be declared", body(".reg .b32 WARP_SZ;§")),
    ("name_register_range", "register beyond a declared range", body(".reg .b32 x<4>;", "mov.b32 x4, 1;§")),
    # calls
    ("call_argument_count", "too few arguments", body("call (back), twice, ();§", pre=HF)),
    ("call_argument_type", "argument of the wrong size", body("call (back), twice, (d1);§", pre=HF)),
    ("call_no_result", "missing result", body("call twice, (arg);§", pre=HF)),
    ("call_no_prototype", "indirect call without a prototype", body("call (back), d1, (arg);§", pre=HF)),
    ("call_prototype_no_label", "prototype without a label", body(".callprototype _ ();§", pre=HF)),
    ("call_entry", "call of a kernel", body("call k;§", pre=HF)),
    ("call_variable", "call of a variable", body("call data;§", pre=HF)),
    ("call_write_input", "store to an input parameter", mod(".func f(.param .b32 a)", "{", "  st.param.b32 [a], 1;§", "  ret;", "}")),
    ("brx_no_list", "jump table that does not exist", body("brx.idx r0, nowhere;§")),
    ("brx_list_unknown_label", "unknown label in a jump table", body("list: .branchtargets here, there;§", "here: brx.idx r0, list;")),
    # debug information
    ("debug_file_twice", "file number used twice", mod('.file 1 "a.cu"', '.file 1 "b.cu"§')),
    ("debug_file_no_number", "file without a number", mod('.file "a.cu"§')),
    ("debug_loc_semicolon", "semicolon after .loc", body(".loc 1 2 3;§")),
    ("debug_loc_negative", "negative line number", body(".loc 1 -2 3§")),
    ("debug_section_name", "section name without a dot", H + ".visible .entry k() { ret; }\n.section debug_str§\n{\n}\n"),
    ("debug_section_value", "value too large for its type", H + ".visible .entry k() { ret; }\n.section .debug_str\n{\n.b8 1, 2, 300§\n}\n"),
    ("debug_section_expression", "sum in a section", H + ".visible .entry k() { ret; }\n.section .debug_str\n{\n.b8 1 + 2§\n}\n"),
    ("debug_section_type", "type that sections do not have", H + ".visible .entry k() { ret; }\n.section .debug_str\n{\n.u8 1§\n}\n"),
    ("debug_section_comma", "comma at the end of a list", H + ".visible .entry k() { ret; }\n.section .debug_str\n{\n.b8 1, 2,§\n}\n"),
]


def main():
    ptxas = sys.argv[1]
    OUT.mkdir(exist_ok=True)
    for old in OUT.glob("*.ptx"):
        old.unlink()
    for name, kind, text in CASES:
        assert text.count("§") == 1, name
        line = text[: text.index("§")].count("\n") + 2
        if name == "head_empty":
            line = 1
        text = text.replace("§", "")
        arch = re.search(r"\.target sm_(\d+)", text)
        arch = arch.group(1) if arch and arch.group(1) in ("75", "80", "90", "100") else "75" if arch and int(arch.group(1)) < 75 else "90"
        first = f"// error on line {line}: {kind}\n"
        with tempfile.NamedTemporaryFile(suffix=".ptx") as f:
            f.write((first + text).encode("latin-1"))
            f.flush()
            p = subprocess.run([ptxas, f"-arch=compute_{arch}", f.name], capture_output=True)
            out = (p.stdout + p.stderr).decode("latin-1").replace(f.name, "F")
        lines = [int(n) for n in re.findall(r"line (\d+); (?:error|fatal)", out)]
        got = lines[0] if lines else "-"
        if p.returncode == 0:
            print("ACCEPTED", name)
            continue
        if got != line:
            first = f"// error on line {line} (ptxas: line {got}): {kind}\n"
            print(f"{name}: line {line}, ptxas {got}: {out.splitlines()[0]}")
        if len(set(lines)) > 1:
            print(f"{name}: SEVERAL {out}")
        (OUT / f"{name}.ptx").write_bytes((first + text).encode("latin-1"))


main()
