/*
 * ptxkit.h: the C interface of ptxkit, a toolkit for NVIDIA PTX. docs/c.md describes it.
 *
 * Made by cbindgen from ptx-capi/src; do not edit. `.ci/capi --write` writes it again.
 */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// The whole module, instead of the index of a function.
#define PTXKIT_WHOLE_MODULE SIZE_MAX

// Warn about registers, variables and labels that nothing uses.
#define PTXKIT_WARN_UNUSED 1

// Warn about likely mistakes: registers that nothing writes, accesses that are never aligned.
#define PTXKIT_WARN_LIKELY_MISTAKES 2

// How sure the repair of a diagnostic is.
typedef enum {
  // The text after the repair is the only one that can be meant.
  PTXKIT_APPLICABILITY_MACHINE_APPLICABLE = 0,
  // A suggestion: something else may be meant. The help says what it assumes.
  PTXKIT_APPLICABILITY_MAYBE_INCORRECT = 1,
  // The repair writes something instead of a value that only the author knows.
  PTXKIT_APPLICABILITY_HAS_PLACEHOLDERS = 2,
} ptxkit_applicability;

// What an instruction does to a register.
typedef enum {
  // It reads the register.
  PTXKIT_REGISTER_USE_READ = 0,
  // It writes the register whenever it is reached.
  PTXKIT_REGISTER_USE_WRITE = 1,
  // It may write the register, but need not: under a guard, or because it is unknown.
  PTXKIT_REGISTER_USE_CONDITIONAL_WRITE = 2,
} ptxkit_register_use;

// How serious a diagnostic is.
typedef enum {
  // The module is legal.
  PTXKIT_SEVERITY_WARNING = 0,
  // The module is not legal.
  PTXKIT_SEVERITY_ERROR = 1,
} ptxkit_severity;

// How a call ended.
typedef enum {
  // The result was written.
  PTXKIT_STATUS_OK = 0,
  // An argument is null, not UTF-8, or not a name of its kind.
  PTXKIT_STATUS_INVALID_ARGUMENT = 1,
  // There is no function or other entity of a name.
  PTXKIT_STATUS_NOT_FOUND = 2,
  // The module has errors, or the result would have some.
  PTXKIT_STATUS_REFUSED = 3,
  // A mistake in this library. The objects of the call can still be freed.
  PTXKIT_STATUS_INTERNAL = 4,
} ptxkit_status;

// The PTX of a binary file. It does not change: any number of threads may use it at the same time.
typedef struct ptxkit_container ptxkit_container;

// A list of diagnostics. It does not change: any number of threads may use it at the same time.
typedef struct ptxkit_diagnostics ptxkit_diagnostics;

// The instructions of a function. They do not change: any number of threads may use them at the same time.
typedef struct ptxkit_instructions ptxkit_instructions;

// A parsed module. It does not change: any number of threads may use it at the same time.
typedef struct ptxkit_module ptxkit_module;

// Requirements of a module and of its functions. They do not change: any number of threads may use them at the same time.
typedef struct ptxkit_requirements ptxkit_requirements;

// A text. It does not change: any number of threads may use it at the same time.
typedef struct ptxkit_text ptxkit_text;

// Bytes: a name, or a text in UTF-8. There is no zero byte after them, and `data` may be null if `len` is 0.
//
// A string that a function returns belongs to the object that it is about, and is valid until that is freed. An empty string is
// also returned for what does not exist.
typedef struct {
  // The first byte.
  const char *data;
  // The number of bytes.
  size_t len;
} ptxkit_string;

// A PTX module of a binary file.
typedef struct {
  // A name that is unique in the file, such as `3.sm_90.ptx`.
  ptxkit_string name;
  // The target for which it was compiled, such as `sm_90`.
  ptxkit_string target;
  // Its text, decompressed.
  ptxkit_string source;
} ptxkit_entry;

// A range of bytes of a source: from `start` to before `end`.
typedef struct {
  // The offset of the first byte.
  uint32_t start;
  // The offset after the last byte.
  uint32_t end;
} ptxkit_span;

// An error or a warning.
typedef struct {
  // How serious it is.
  ptxkit_severity severity;
  // Its code, such as `PTX0501`, which is stable.
  ptxkit_string code;
  // The name of the code, such as `unknown-instruction`.
  ptxkit_string name;
  // What was expected, and what was found.
  ptxkit_string message;
  // How to repair it; empty if that is not known.
  ptxkit_string help;
  // Its place in the source.
  ptxkit_span span;
  // The line where it begins, counted from 1.
  uint32_t line;
  // The column in the line, in bytes, counted from 1.
  uint32_t column;
  // The number of its other places, which `ptxkit_diagnostic_label` returns.
  size_t label_count;
  // The number of edits that repair it, which `ptxkit_diagnostic_edit` returns; 0 if no repair is known.
  size_t edit_count;
  // How sure the edits are; without edits it means nothing.
  ptxkit_applicability applicability;
} ptxkit_diagnostic;

// A place in a source, and a text: what is there, or what to write instead.
typedef struct {
  // The place.
  ptxkit_span span;
  // The text.
  ptxkit_string text;
} ptxkit_note;

// An instruction.
typedef struct {
  // The opcode, such as `add`.
  ptxkit_string opcode;
  // The opcode with its modifiers, such as `add.s32`.
  ptxkit_string mnemonic;
  // The predicate under which it executes; empty without one.
  ptxkit_string guard;
  // Whether it executes where the predicate is false.
  bool is_guard_negated;
  // Whether the tables know it. Else its facts are the worst that may be.
  bool is_known;
  // Whether it does something besides writing its registers, reading memory and going on.
  bool has_side_effects;
  // What it does to control flow: `next`, `jump`, `table`, `call`, `return`, `exit`, `trap` or `unknown`.
  ptxkit_string flow;
  // Its place in the source, from the guard to the semicolon.
  ptxkit_span span;
  // The line where it begins, counted from 1.
  uint32_t line;
  // The number of its operands.
  size_t operand_count;
  // The number of registers that it reads, the guard included.
  size_t read_count;
  // The number of registers that it writes.
  size_t write_count;
  // The number of registers that it may write.
  size_t conditional_write_count;
  // The number of its accesses to memory.
  size_t access_count;
} ptxkit_instruction;

// An access to memory.
typedef struct {
  // The state space: `global`, `shared`, `local`, `param`, `const`, `generic`, `texture`, `surface`, `tensor` or `any`.
  ptxkit_string space;
  // `read`, `write`, `atomic` or `update`.
  ptxkit_string access;
  // The register or variable that holds the address; empty if there is none.
  ptxkit_string base;
  // How many bytes one thread reaches at most; 0 if that is not known.
  uint64_t bytes;
  // Whether `offset` is known.
  bool has_offset;
  // The offset from the base.
  int64_t offset;
} ptxkit_access;

// A function or a kernel.
typedef struct {
  // Its name.
  ptxkit_string name;
  // Whether it is a kernel.
  bool is_kernel;
  // Whether it has a body.
  bool is_defined;
  // `visible`, `extern`, `weak`, or empty.
  ptxkit_string linkage;
  // Its place in the source; empty for one that is declared in the body of another.
  ptxkit_span span;
  // The line, counted from 1.
  uint32_t line;
  // The number of its instructions.
  size_t instruction_count;
} ptxkit_function;

// A target, and the lowest PTX version with which it is enough.
typedef struct {
  // The target, such as `sm_90a`.
  ptxkit_string target;
  // The version before the point.
  uint8_t major;
  // The version after the point.
  uint8_t minor;
} ptxkit_requirement;

// A feature that restricts the targets and versions of a module.
typedef struct {
  // The feature, such as an instruction.
  ptxkit_string what;
  // Its first place.
  ptxkit_span span;
  // The number of its places.
  size_t count;
} ptxkit_reason;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the version of this library, such as `0.1.0`.
ptxkit_string ptxkit_version(void);

// Finds the PTX of a binary file. What cannot be read is a problem; a file without PTX has no entries. Free the result with
// `ptxkit_container_free`.
ptxkit_status ptxkit_container_open(ptxkit_string file, ptxkit_container **container);

// Returns the number of PTX modules of a binary file.
size_t ptxkit_container_count(const ptxkit_container *container);

// Returns a PTX module of a binary file; an empty one if there is none at `index`.
ptxkit_entry ptxkit_container_get(const ptxkit_container *container, size_t index);

// Returns why a part of a binary file could not be read; an empty string if there is no problem at `index`.
ptxkit_string ptxkit_container_problem(const ptxkit_container *container, size_t index);

// Frees the PTX of a binary file.
void ptxkit_container_free(ptxkit_container *container);

// Finds the errors of syntax of a module. Free the list with `ptxkit_diagnostics_free`.
ptxkit_status ptxkit_syntax_errors(const ptxkit_module *module, ptxkit_diagnostics **diagnostics);

// Finds the errors of a module, those of syntax included, and the warnings of `PTXKIT_WARN_…`.
//
// `target` and `version`, such as `sm_90a` and `8.0`, replace those of the header; empty ones do not. Free the list with
// `ptxkit_diagnostics_free`.
ptxkit_status ptxkit_check(const ptxkit_module *module,
                           ptxkit_string target,
                           ptxkit_string version,
                           uint32_t warnings,
                           ptxkit_diagnostics **diagnostics);

// Returns the number of diagnostics of a list.
size_t ptxkit_diagnostics_count(const ptxkit_diagnostics *diagnostics);

// Returns a diagnostic, in the order of the source; with an empty code if there is none at `index`.
ptxkit_diagnostic ptxkit_diagnostics_get(const ptxkit_diagnostics *diagnostics, size_t index);

// Returns another place of a diagnostic, and what is there.
ptxkit_note ptxkit_diagnostic_label(const ptxkit_diagnostics *diagnostics, size_t index, size_t label);

// Returns one of the edits that repair a diagnostic together: `text` replaces what is at `span`.
ptxkit_note ptxkit_diagnostic_edit(const ptxkit_diagnostics *diagnostics, size_t index, size_t edit);

// Makes the repairs of the diagnostics of a module that are `MachineApplicable`, as far as errors disappear and no other
// error appears. Make a suggestion with the edits of its diagnostic. Free the text with `ptxkit_text_free`.
ptxkit_status ptxkit_fix(const ptxkit_module *module, const ptxkit_diagnostics *diagnostics, ptxkit_text **text);

// Frees a list of diagnostics.
void ptxkit_diagnostics_free(ptxkit_diagnostics *diagnostics);

// Lists the instructions of the function at `function`, with their facts. Free the list with `ptxkit_instructions_free`.
ptxkit_status ptxkit_instructions_of(const ptxkit_module *module, size_t function, ptxkit_instructions **instructions);

// Returns the number of instructions of a list.
size_t ptxkit_instructions_count(const ptxkit_instructions *instructions);

// Returns an instruction, in the order of the source; with an empty opcode if there is none at `index`.
ptxkit_instruction ptxkit_instructions_get(const ptxkit_instructions *instructions, size_t index);

// Returns the text of an operand of an instruction, in the canonical style.
ptxkit_string ptxkit_instruction_operand(const ptxkit_instructions *instructions, size_t index, size_t operand);

// Returns the name of a register of an instruction. `how` is one of `ptxkit_register_use`; `%r1#2` is the second of several registers called
// `%r1`.
ptxkit_string ptxkit_instruction_register(const ptxkit_instructions *instructions,
                                          size_t index,
                                          uint32_t how,
                                          size_t register_);

// Returns an access of an instruction to memory.
ptxkit_access ptxkit_instruction_access(const ptxkit_instructions *instructions, size_t index, size_t access);

// Frees a list of instructions.
void ptxkit_instructions_free(ptxkit_instructions *instructions);

// Parses a module from a copy of `source`. Any bytes are accepted: errors are diagnostics of the module, and what cannot be parsed is kept
// as text. Free the module with `ptxkit_module_free`.
ptxkit_status ptxkit_parse(ptxkit_string source, ptxkit_module **module);

// Frees a module. Objects that were made from it remain valid; strings about it do not.
void ptxkit_module_free(ptxkit_module *module);

// Returns the source of a module.
ptxkit_string ptxkit_module_source(const ptxkit_module *module);

// Returns the target of a module, such as `sm_90a`; empty if its header has none.
ptxkit_string ptxkit_module_target(const ptxkit_module *module);

// Returns the number of functions and kernels of a module, declarations included.
size_t ptxkit_function_count(const ptxkit_module *module);

// Returns a function of a module; with an empty name if there is none at `index`.
ptxkit_function ptxkit_function_get(const ptxkit_module *module, size_t index);

// Writes the index of the function of a name to `index`: the one with a body, if there are several.
ptxkit_status ptxkit_function_find(const ptxkit_module *module, ptxkit_string name, size_t *index);

// Finds the targets and versions on which a module is legal, whatever its header has. Free the result with `ptxkit_requirements_free`.
ptxkit_status ptxkit_requires(const ptxkit_module *module, ptxkit_requirements **requirements);

// Returns the number of lowest targets of a function, or of `PTXKIT_WHOLE_MODULE`: one of each family. It is 0 if no target has everything.
size_t ptxkit_requirements_count(const ptxkit_requirements *requirements, size_t function);

// Returns a lowest target of a function, or of `PTXKIT_WHOLE_MODULE`; an empty one if there is none at `index`.
ptxkit_requirement ptxkit_requirements_get(const ptxkit_requirements *requirements, size_t function, size_t index);

// Returns the number of features that restrict the targets and versions.
size_t ptxkit_reason_count(const ptxkit_requirements *requirements);

// Returns a feature that restricts the targets and versions; an empty one if there is none at `index`.
ptxkit_reason ptxkit_reason_get(const ptxkit_requirements *requirements, size_t index);

// Frees requirements.
void ptxkit_requirements_free(ptxkit_requirements *requirements);

// Returns the bytes of a text.
ptxkit_string ptxkit_text_get(const ptxkit_text *text);

// Frees a text.
void ptxkit_text_free(ptxkit_text *text);

// Formats a module in the canonical style. Like all rewritings, it fails if the module has errors of syntax, and its text is freed with
// `ptxkit_text_free`.
ptxkit_status ptxkit_format(const ptxkit_module *module, ptxkit_text **text);

// Removes comments and debug information.
ptxkit_status ptxkit_strip(const ptxkit_module *module, ptxkit_text **text);

// Shortens a module: whitespace, comments, and names that other modules do not see.
ptxkit_status ptxkit_minify(const ptxkit_module *module, ptxkit_text **text);

// Extracts functions with everything they need.
ptxkit_status ptxkit_extract(const ptxkit_module *module, const ptxkit_string *names, size_t count, ptxkit_text **text);

// Renames what is called `old`: functions, variables, registers (`%r` for the range `%r<9>`), parameters and labels; with a
// `function` only inside of it. It fails if the new name is in use.
ptxkit_status ptxkit_rename(const ptxkit_module *module,
                            ptxkit_string old,
                            ptxkit_string new_name,
                            ptxkit_string function,
                            ptxkit_text **text);

// Changes the target and the version of the header. An empty `version` is that of the header, or the first one that has the
// target. It fails if the module is not legal there.
ptxkit_status ptxkit_retarget(const ptxkit_module *module, ptxkit_string target, ptxkit_string version, ptxkit_text **text);

// Removes code without effect and simplifies the rest. `passes` are the names of the options of `ptxkit clean` without dashes, with commas between
// them; all if it is empty.
ptxkit_status ptxkit_clean(const ptxkit_module *module,
                           ptxkit_string passes,
                           ptxkit_text **text);

// Links modules that are legal into one. `hidden` are the names that nothing outside of the result uses.
ptxkit_status ptxkit_link(const ptxkit_module *const *modules,
                          size_t count,
                          const ptxkit_string *hidden,
                          size_t hidden_count,
                          ptxkit_text **text);

// Returns why the last call that failed on this thread failed. The message is valid until the next call on this thread fails.
ptxkit_string ptxkit_error_message(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

/* The string of a text that ends with a zero byte, without that byte. */
static inline ptxkit_string ptxkit_cstring(const char *text) {
  ptxkit_string string = {text, text ? strlen(text) : 0};
  return string;
}
