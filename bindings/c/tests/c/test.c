// Uses every function of ptxkit.h. `test FILE`: a binary file with PTX.
#include <stdio.h>
#include <stdlib.h>

#include "ptxkit.h"

static const char source[] =
    ".version 8.0\n"
    ".target sm_80\n"
    ".address_size 64\n"
    ".global .b32 counter; // a variable\n"
    ".func helper() { ret; }\n"
    ".visible .entry kernel(.param .u64 data)\n"
    "{\n"
    "  .reg .b32 %r<4>; .reg .b64 %rd<3>; .reg .pred %p; .reg .b32 idle;\n"
    "  ld.param.u64 %rd1, [data];\n"
    "  ld.global.u32 %r1, [%rd1+8];\n"
    "  setp.ne.s32 %p, %r1, 0;\n"
    "  @!%p add.s32 %r2, %r1, 1;\n"
    "  mov.u32 %r3, 7;\n"
    "  call helper;\n"
    "  st.global.u32 [%rd1], %r2;\n"
    "  ret;\n"
    "}\n";

static int checks = 0;

static void require(int condition, const char *what, int line) {
  checks++;
  if (condition) return;
  ptxkit_string message = ptxkit_error_message();
  fprintf(stderr, "test.c:%d: %s (%.*s)\n", line, what, (int)message.len, message.data);
  exit(1);
}
#define REQUIRE(condition) require(condition, #condition, __LINE__)
#define OK(call) REQUIRE((call) == PTXKIT_STATUS_OK)

static int is(ptxkit_string text, const char *expected) {
  return text.len == strlen(expected) && memcmp(text.data, expected, text.len) == 0;
}

static int contains(ptxkit_string text, const char *part) {
  size_t len = strlen(part);
  for (size_t i = 0; i + len <= text.len; i++)
    if (memcmp(text.data + i, part, len) == 0) return 1;
  return 0;
}

static ptxkit_module *parse(const char *text) {
  ptxkit_module *module = NULL;
  OK(ptxkit_parse(ptxkit_cstring(text), &module));
  return module;
}

static const ptxkit_string none = {NULL, 0};

static void test_module(const ptxkit_module *module) {
  REQUIRE(ptxkit_version().len > 0);
  REQUIRE(is(ptxkit_module_source(module), source));
  REQUIRE(is(ptxkit_module_target(module), "sm_80"));
  REQUIRE(ptxkit_function_count(module) == 2);
  size_t index = 99;
  OK(ptxkit_function_find(module, ptxkit_cstring("kernel"), &index));
  ptxkit_function kernel = ptxkit_function_get(module, index);
  REQUIRE(is(kernel.name, "kernel") && kernel.is_kernel && kernel.is_defined && is(kernel.linkage, "visible"));
  REQUIRE(kernel.line == 6 && kernel.instruction_count == 8 && source[kernel.span.start] == '.' && source[kernel.span.end - 1] == '}');
  REQUIRE(ptxkit_function_get(module, 2).name.len == 0);
  REQUIRE(ptxkit_function_find(module, ptxkit_cstring("missing"), &index) == PTXKIT_STATUS_NOT_FOUND);
  REQUIRE(is(ptxkit_error_message(), "no function `missing`"));
}

static void test_instructions(const ptxkit_module *module) {
  size_t kernel = 0;
  OK(ptxkit_function_find(module, ptxkit_cstring("kernel"), &kernel));
  ptxkit_instructions *all = NULL;
  OK(ptxkit_instructions_of(module, kernel, &all));
  REQUIRE(ptxkit_instructions_count(all) == 8);
  ptxkit_instruction load = ptxkit_instructions_get(all, 1);
  REQUIRE(is(load.opcode, "ld") && is(load.mnemonic, "ld.global.u32") && is(load.flow, "next") && load.line == 10);
  REQUIRE(load.operand_count == 2 && is(ptxkit_instruction_operand(all, 1, 1), "[%rd1+8]"));
  REQUIRE(load.read_count == 1 && is(ptxkit_instruction_register(all, 1, PTXKIT_REGISTER_USE_READ, 0), "%rd1"));
  REQUIRE(load.write_count == 1 && is(ptxkit_instruction_register(all, 1, PTXKIT_REGISTER_USE_WRITE, 0), "%r1"));
  ptxkit_access access = ptxkit_instruction_access(all, 1, 0);
  REQUIRE(load.access_count == 1 && is(access.space, "global") && is(access.access, "read") && is(access.base, "%rd1"));
  REQUIRE(access.bytes == 4 && access.has_offset && access.offset == 8 && load.is_known && !load.has_side_effects);
  ptxkit_instruction add = ptxkit_instructions_get(all, 3);
  REQUIRE(is(add.guard, "%p") && add.is_guard_negated && add.write_count == 0 && add.conditional_write_count == 1);
  REQUIRE(is(ptxkit_instruction_register(all, 3, PTXKIT_REGISTER_USE_CONDITIONAL_WRITE, 0), "%r2"));
  REQUIRE(source[add.span.start] == '@' && source[add.span.end - 1] == ';');
  REQUIRE(is(ptxkit_instructions_get(all, 7).flow, "return"));
  // What does not exist is empty.
  REQUIRE(ptxkit_instructions_get(all, 8).opcode.len == 0 && ptxkit_instruction_operand(all, 1, 2).len == 0);
  REQUIRE(ptxkit_instruction_register(all, 1, 77, 0).len == 0 && ptxkit_instruction_access(all, 0, 5).space.len == 0);
  ptxkit_instructions_free(all);
  REQUIRE(ptxkit_instructions_of(module, 5, &all) == PTXKIT_STATUS_NOT_FOUND && all == NULL);
}

static void test_diagnostics(const ptxkit_module *module) {
  ptxkit_diagnostics *found = NULL;
  OK(ptxkit_check(module, none, none, 0, &found));
  REQUIRE(ptxkit_diagnostics_count(found) == 0);
  ptxkit_diagnostics_free(found);
  OK(ptxkit_check(module, none, none, PTXKIT_WARN_UNUSED | PTXKIT_WARN_LIKELY_MISTAKES, &found));
  REQUIRE(ptxkit_diagnostics_count(found) > 0 && ptxkit_diagnostics_get(found, 0).severity == PTXKIT_SEVERITY_WARNING);
  ptxkit_diagnostics_free(found);
  REQUIRE(ptxkit_check(module, ptxkit_cstring("sm_1"), none, 0, &found) == PTXKIT_STATUS_INVALID_ARGUMENT && found == NULL);

  ptxkit_module *wrong = parse(".version 8.0\n.target sm_80\n.entry k()\n{\n  .reg .b32 %r<3>;\n  ad.s32 %r1, %r1, 1;\n  mov.b32 %r1 %r2;\n}\n");
  OK(ptxkit_syntax_errors(wrong, &found));
  size_t errors = ptxkit_diagnostics_count(found);
  REQUIRE(errors > 0);
  ptxkit_diagnostics_free(found);
  OK(ptxkit_check(wrong, ptxkit_cstring("sm_90"), ptxkit_cstring("8.1"), 0, &found));
  REQUIRE(ptxkit_diagnostics_count(found) >= errors);
  ptxkit_diagnostic first = ptxkit_diagnostics_get(found, 0);
  REQUIRE(first.severity == PTXKIT_SEVERITY_ERROR && first.line == 6 && first.column == 3 && first.code.len == 7);
  REQUIRE(contains(first.message, "ad") && first.name.len > 0 && first.help.len > 0 && first.edit_count == 1);
  REQUIRE(first.applicability == PTXKIT_APPLICABILITY_MAYBE_INCORRECT);
  REQUIRE(ptxkit_diagnostics_get(found, 1).applicability == PTXKIT_APPLICABILITY_MACHINE_APPLICABLE);
  ptxkit_note edit = ptxkit_diagnostic_edit(found, 0, 0);
  REQUIRE(is(edit.text, "add") && edit.span.end - edit.span.start == 2);
  REQUIRE(ptxkit_diagnostics_get(found, 99).code.len == 0);
  ptxkit_text *text = NULL;
  OK(ptxkit_fix(wrong, found, &text));
  REQUIRE(contains(ptxkit_text_get(text), "ad.s32 %r1, %r1, 1;\n  mov.b32 %r1, %r2;"));
  ptxkit_text_free(text);
  REQUIRE(ptxkit_format(wrong, &text) == PTXKIT_STATUS_REFUSED && text == NULL && contains(ptxkit_error_message(), "line "));
  ptxkit_diagnostics_free(found);
  ptxkit_module_free(wrong);

  wrong = parse(".version 8.0\n.target sm_80\n.entry k()\n{\n  .reg .b32 twice;\n  .reg .b64 twice;\n  ret;\n}\n");
  OK(ptxkit_syntax_errors(wrong, &found));
  REQUIRE(ptxkit_diagnostics_count(found) == 1 && ptxkit_diagnostics_get(found, 0).label_count == 1);
  ptxkit_note label = ptxkit_diagnostic_label(found, 0, 0);
  REQUIRE(label.text.len > 0 && label.span.start < ptxkit_diagnostics_get(found, 0).span.start);
  ptxkit_diagnostics_free(found);
  ptxkit_module_free(wrong);
}

static void test_requirements(const ptxkit_module *module) {
  ptxkit_requirements *needs = NULL;
  OK(ptxkit_requires(module, &needs));
  REQUIRE(ptxkit_requirements_count(needs, PTXKIT_WHOLE_MODULE) == 1 && ptxkit_requirements_count(needs, 1) >= 1);
  ptxkit_requirement lowest = ptxkit_requirements_get(needs, PTXKIT_WHOLE_MODULE, 0);
  REQUIRE(lowest.target.len > 3 && lowest.major > 0 && lowest.minor < 10);
  REQUIRE(ptxkit_requirements_get(needs, 7, 0).target.len == 0);
  REQUIRE(ptxkit_reason_count(needs) > 0);
  ptxkit_reason reason = ptxkit_reason_get(needs, 0);
  REQUIRE(reason.what.len > 0 && reason.count > 0 && reason.span.end > reason.span.start);
  REQUIRE(ptxkit_reason_use(needs, 0, 0).start == reason.span.start);
  REQUIRE(ptxkit_reason_use(needs, 0, reason.count - 1).end > 0 && ptxkit_reason_use(needs, 0, reason.count).end == 0);
  REQUIRE(ptxkit_illegal_count(needs) == 0 && ptxkit_illegal_get(needs, 0).end == 0);
  ptxkit_requirements_free(needs);
}

// Checks a rewriting, and frees its text.
static void rewritten(ptxkit_status status, ptxkit_text **text, const char *has, const char *lacks, int line) {
  require(status == PTXKIT_STATUS_OK, "a rewriting succeeds", line);
  ptxkit_string result = ptxkit_text_get(*text);
  require(contains(result, has), has, line);
  require(!contains(result, lacks), lacks, line);
  ptxkit_text_free(*text);
}
#define REWRITTEN(call, has, lacks) rewritten(call, &text, has, lacks, __LINE__)

static void test_rewriting(const ptxkit_module *module) {
  ptxkit_text *text = NULL;
  ptxkit_string kernel = ptxkit_cstring("kernel"), helper = ptxkit_cstring("helper");
  REWRITTEN(ptxkit_format(module, &text), "// a variable", "  .reg .b32 %r<4>; .reg");
  REWRITTEN(ptxkit_strip(module, &text), "counter", "// a variable");
  REWRITTEN(ptxkit_minify(module, &text), "kernel", "\n  ld");
  REWRITTEN(ptxkit_clean(module, none, &text), "st.global.u32", "mov.u32");
  REWRITTEN(ptxkit_clean(module, ptxkit_cstring("dead"), &text), "st.global.u32", "mov.u32");
  REQUIRE(ptxkit_clean(module, ptxkit_cstring("dead,missing"), &text) == PTXKIT_STATUS_INVALID_ARGUMENT && text == NULL);
  REWRITTEN(ptxkit_extract(module, &helper, 1, &text), "helper", "kernel");
  REQUIRE(ptxkit_extract(module, &none, 1, &text) == PTXKIT_STATUS_NOT_FOUND && text == NULL);
  REWRITTEN(ptxkit_rename(module, helper, ptxkit_cstring("twice"), none, &text), "call twice", "helper");
  REWRITTEN(ptxkit_rename(module, ptxkit_cstring("%r"), ptxkit_cstring("%count"), kernel, &text), "%count1", "%r1");
  REQUIRE(ptxkit_rename(module, helper, kernel, none, &text) == PTXKIT_STATUS_REFUSED && text == NULL);
  REWRITTEN(ptxkit_retarget(module, ptxkit_cstring("sm_90a"), none, &text), ".target sm_90a", "sm_80");
  REWRITTEN(ptxkit_retarget(module, ptxkit_cstring("sm_90"), ptxkit_cstring("8.4"), &text), ".version 8.4", "sm_80");
  REQUIRE(ptxkit_retarget(module, none, none, &text) == PTXKIT_STATUS_INVALID_ARGUMENT);

  ptxkit_module *other = parse(".version 8.1\n.target sm_80\n.address_size 64\n.visible .entry other() { ret; }\n");
  const ptxkit_module *both[] = {module, other};
  REWRITTEN(ptxkit_link(both, 2, NULL, 0, &text), ".entry other", ".version 8.0");
  REWRITTEN(ptxkit_link(both, 2, &kernel, 1, &text), ".entry other", ".version 8.0");
  both[1] = NULL;
  REQUIRE(ptxkit_link(both, 2, NULL, 0, &text) == PTXKIT_STATUS_INVALID_ARGUMENT && text == NULL);
  ptxkit_module_free(other);
}

static void test_wrong_arguments(const ptxkit_module *module) {
  ptxkit_string odd = {NULL, 3}, binary = {"\xff\xfe", 2};
  ptxkit_module *parsed = NULL;
  ptxkit_text *text = NULL;
  ptxkit_diagnostics *found = NULL;
  ptxkit_requirements *needs = NULL;
  ptxkit_instructions *all = NULL;
  size_t index = 0;
  REQUIRE(ptxkit_parse(odd, &parsed) == PTXKIT_STATUS_INVALID_ARGUMENT && parsed == NULL);
  REQUIRE(ptxkit_parse(none, NULL) == PTXKIT_STATUS_INVALID_ARGUMENT);
  REQUIRE(ptxkit_check(NULL, none, none, 0, &found) == PTXKIT_STATUS_INVALID_ARGUMENT);
  REQUIRE(ptxkit_syntax_errors(NULL, &found) == PTXKIT_STATUS_INVALID_ARGUMENT);
  REQUIRE(ptxkit_requires(NULL, &needs) == PTXKIT_STATUS_INVALID_ARGUMENT);
  REQUIRE(ptxkit_instructions_of(NULL, 0, &all) == PTXKIT_STATUS_INVALID_ARGUMENT);
  REQUIRE(ptxkit_function_find(module, binary, &index) == PTXKIT_STATUS_INVALID_ARGUMENT);
  REQUIRE(ptxkit_function_find(module, none, NULL) == PTXKIT_STATUS_INVALID_ARGUMENT);
  REQUIRE(ptxkit_fix(module, NULL, &text) == PTXKIT_STATUS_INVALID_ARGUMENT);
  REQUIRE(ptxkit_format(NULL, &text) == PTXKIT_STATUS_INVALID_ARGUMENT);
  REQUIRE(ptxkit_function_count(NULL) == 0 && ptxkit_diagnostics_count(NULL) == 0 && ptxkit_instructions_count(NULL) == 0);
  REQUIRE(ptxkit_module_source(NULL).len == 0 && ptxkit_text_get(NULL).len == 0 && ptxkit_reason_count(NULL) == 0);
  ptxkit_module_free(NULL);
  ptxkit_text_free(NULL);
  ptxkit_diagnostics_free(NULL);
  ptxkit_requirements_free(NULL);
  ptxkit_instructions_free(NULL);
  ptxkit_container_free(NULL);
  // Any bytes are a module.
  OK(ptxkit_parse(binary, &parsed));
  ptxkit_module_free(parsed);
}

static void test_container(const char *path) {
  FILE *file = fopen(path, "rb");
  REQUIRE(file != NULL && fseek(file, 0, SEEK_END) == 0);
  long len = ftell(file);
  rewind(file);
  char *bytes = malloc((size_t)len);
  REQUIRE(bytes != NULL && fread(bytes, 1, (size_t)len, file) == (size_t)len);
  fclose(file);
  ptxkit_string all = {bytes, (size_t)len};
  ptxkit_container *container = NULL;
  OK(ptxkit_container_open(all, &container));
  REQUIRE(ptxkit_container_count(container) > 0 && ptxkit_container_problem(container, 0).len == 0);
  ptxkit_entry entry = ptxkit_container_get(container, 0);
  REQUIRE(entry.name.len > 0 && entry.target.len > 0 && contains(entry.source, ".version"));
  ptxkit_container_free(container);
  all.len = all.len / 2;
  OK(ptxkit_container_open(all, &container));
  REQUIRE(ptxkit_container_problem(container, 0).len > 0);
  ptxkit_container_free(container);
  free(bytes);
}

int main(int argc, char **argv) {
  ptxkit_module *module = parse(source);
  test_module(module);
  test_instructions(module);
  test_diagnostics(module);
  test_requirements(module);
  test_rewriting(module);
  test_wrong_arguments(module);
  if (argc > 1) test_container(argv[1]);
  ptxkit_module_free(module);
  printf("test.c: %d checks passed\n", checks);
  return 0;
}
