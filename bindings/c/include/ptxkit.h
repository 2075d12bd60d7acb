/*
 * ptxkit.h: the C interface of ptxkit, a toolkit for NVIDIA PTX. docs/c.md describes it.
 *
 * Made by cbindgen from bindings/c/src; do not edit. `.ci/capi --write` writes it again.
 */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// The whole module, instead of the index of a function.
#define PTXKIT_WHOLE_MODULE SIZE_MAX

// Warns about registers, variables and labels that nothing uses.
#define PTXKIT_WARN_UNUSED 1

// Warns about likely mistakes: registers that nothing writes, accesses that are never aligned.
#define PTXKIT_WARN_LIKELY_MISTAKES 2

// The certainty of the fix of a diagnostic.
typedef enum {
  // The fix is certain: only the text after the fix can be meant.
  PTXKIT_APPLICABILITY_MACHINE_APPLICABLE = 0,
  // The fix is a suggestion: something else may be meant. The help states its assumption.
  PTXKIT_APPLICABILITY_MAYBE_INCORRECT = 1,
  // The fix contains a placeholder for a value that only the author knows.
  PTXKIT_APPLICABILITY_HAS_PLACEHOLDERS = 2,
} ptxkit_applicability;

// The use of a register by an instruction.
typedef enum {
  // The instruction reads the register.
  PTXKIT_REGISTER_USE_READ = 0,
  // The instruction writes the register whenever it is reached.
  PTXKIT_REGISTER_USE_WRITE = 1,
  // The instruction may write the register: it has a guard, or it is unknown.
  PTXKIT_REGISTER_USE_CONDITIONAL_WRITE = 2,
} ptxkit_register_use;

// The severity of a diagnostic.
typedef enum {
  // The module is legal.
  PTXKIT_SEVERITY_WARNING = 0,
  // The module is not legal.
  PTXKIT_SEVERITY_ERROR = 1,
} ptxkit_severity;

// The result of a call.
typedef enum {
  // The result was written.
  PTXKIT_STATUS_OK = 0,
  // An argument is null, not UTF-8, or not a valid name.
  PTXKIT_STATUS_INVALID_ARGUMENT = 1,
  // There is no function or other entity with the name.
  PTXKIT_STATUS_NOT_FOUND = 2,
  // The module has errors, or the result would have errors.
  PTXKIT_STATUS_REFUSED = 3,
  // A defect of this library. The objects of the call can still be freed.
  PTXKIT_STATUS_INTERNAL = 4,
} ptxkit_status;

// The PTX modules of a binary file. They never change, so any number of threads may use them at the same time.
typedef struct ptxkit_container ptxkit_container;

// A list of diagnostics. It never changes, so any number of threads may use it at the same time.
typedef struct ptxkit_diagnostics ptxkit_diagnostics;

// The instructions of a function. They never change, so any number of threads may use them at the same time.
typedef struct ptxkit_instructions ptxkit_instructions;

// A parsed module. It never changes, so any number of threads may use it at the same time.
typedef struct ptxkit_module ptxkit_module;

// The requirements of a module and of its functions. They never change, so any number of threads may use them at the same time.
typedef struct ptxkit_requirements ptxkit_requirements;

// A text. It never changes, so any number of threads may use it at the same time.
typedef struct ptxkit_text ptxkit_text;

// A sequence of bytes, usually a name or another text in UTF-8. No zero byte follows it, and `data` may be null if `len` is 0.
//
// A string that a function returns belongs to the object that was passed to the function, and is valid until that object is freed. A function also
// returns an empty string if there is no value.
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
  // The decompressed text.
  ptxkit_string source;
} ptxkit_entry;

// A range of bytes of a source. It includes the byte at `start` and excludes the byte at `end`.
typedef struct {
  // The offset of the first byte.
  uint32_t start;
  // The offset after the last byte.
  uint32_t end;
} ptxkit_span;

// An error or a warning.
typedef struct {
  // The severity.
  ptxkit_severity severity;
  // The code, such as `PTX0501`. Codes are stable.
  ptxkit_string code;
  // The name of the code, such as `unknown-instruction`.
  ptxkit_string name;
  // The message, which names the expected and the actual input.
  ptxkit_string message;
  // A description of a fix; empty if no fix is known.
  ptxkit_string help;
  // The location in the source.
  ptxkit_span span;
  // The line of the beginning, counted from 1.
  uint32_t line;
  // The column of the beginning, in bytes, counted from 1.
  uint32_t column;
  // The number of other locations, which `ptxkit_diagnostic_label` returns.
  size_t label_count;
  // The number of edits of the fix, which `ptxkit_diagnostic_edit` returns; 0 if no fix is known.
  size_t edit_count;
  // The certainty of the fix; meaningless without edits.
  ptxkit_applicability applicability;
} ptxkit_diagnostic;

// A location in a source with a text: a label, or the replacement of an edit.
typedef struct {
  // The location.
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
  // The predicate of the guard; empty if there is no guard.
  ptxkit_string guard;
  // Whether the instruction executes if the predicate is false.
  bool is_guard_negated;
  // Whether the instruction is legal. Otherwise, its facts are conservative.
  bool is_known;
  // Whether it has effects other than writing its registers, reading memory and continuing with the next instruction.
  bool has_side_effects;
  // The effect on control flow: `next`, `jump`, `table`, `call`, `return`, `exit`, `trap` or `unknown`.
  ptxkit_string flow;
  // The location in the source, from the guard to the semicolon.
  ptxkit_span span;
  // The line of the beginning, counted from 1.
  uint32_t line;
  // The number of operands.
  size_t operand_count;
  // The number of registers that it reads, including the guard.
  size_t read_count;
  // The number of registers that it writes.
  size_t write_count;
  // The number of registers that it may write.
  size_t conditional_write_count;
  // The number of memory accesses.
  size_t access_count;
} ptxkit_instruction;

// A memory access.
typedef struct {
  // The state space: `global`, `shared`, `local`, `param`, `const`, `generic`, `texture`, `surface`, `tensor` or `any`.
  ptxkit_string space;
  // The kind of the access: `read`, `write`, `atomic` or `update`.
  ptxkit_string access;
  // The register or variable of the address; empty if there is none.
  ptxkit_string base;
  // The maximum number of bytes that a thread accesses; 0 if it is unknown.
  uint64_t bytes;
  // Whether `offset` is known.
  bool has_offset;
  // The offset from the base.
  int64_t offset;
} ptxkit_access;

// A function or a kernel.
typedef struct {
  // The name.
  ptxkit_string name;
  // Whether it is a kernel.
  bool is_kernel;
  // Whether it has a body.
  bool is_defined;
  // `visible`, `extern`, `weak`, or empty.
  ptxkit_string linkage;
  // The location in the source; empty for a function that is declared in the body of another one.
  ptxkit_span span;
  // The line of the beginning, counted from 1.
  uint32_t line;
  // The number of instructions.
  size_t instruction_count;
} ptxkit_function;

// A lowest target with the lowest PTX version on it.
typedef struct {
  // The target, such as `sm_90a`.
  ptxkit_string target;
  // The major version of PTX.
  uint8_t major;
  // The minor version of PTX.
  uint8_t minor;
} ptxkit_requirement;

// A feature that restricts the targets and versions of a module.
typedef struct {
  // The feature, such as an instruction.
  ptxkit_string what;
  // The location of its first use.
  ptxkit_span span;
  // The number of its uses.
  size_t count;
} ptxkit_reason;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the version of this library, such as `0.1.0`.
ptxkit_string ptxkit_version(void);

// Finds the PTX modules of a binary file. Parts that cannot be read become problems; a file without PTX has no modules. Free the result with
// `ptxkit_container_free`.
ptxkit_status ptxkit_container_open(ptxkit_string file,
                                    ptxkit_container **container);

// Returns the number of PTX modules of a binary file.
size_t ptxkit_container_count(const ptxkit_container *container);

// Returns a PTX module of a binary file; an empty one if there is no module at `index`.
ptxkit_entry ptxkit_container_get(const ptxkit_container *container, size_t index);

// Returns the error of a part of a binary file that could not be read; an empty string if there is no problem at `index`.
ptxkit_string ptxkit_container_problem(const ptxkit_container *container, size_t index);

// Frees the PTX modules of a binary file.
void ptxkit_container_free(ptxkit_container *container);

// Returns the syntax errors of a module. Free the list with `ptxkit_diagnostics_free`.
ptxkit_status ptxkit_syntax_errors(const ptxkit_module *module, ptxkit_diagnostics **diagnostics);

// Checks a module. Returns its errors, including syntax errors, and the warnings that `warnings` selects, a combination of `PTXKIT_WARN_…`.
//
// `target` and `version`, such as `sm_90a` and `8.0`, replace the target and version of the header unless they are empty. Free the list with
// `ptxkit_diagnostics_free`.
ptxkit_status ptxkit_check(const ptxkit_module *module,
                           ptxkit_string target,
                           ptxkit_string version,
                           uint32_t warnings,
                           ptxkit_diagnostics **diagnostics);

// Returns the number of diagnostics of a list.
size_t ptxkit_diagnostics_count(const ptxkit_diagnostics *diagnostics);

// Returns a diagnostic; one with an empty code if there is no diagnostic at `index`. Diagnostics are in the order of the source.
ptxkit_diagnostic ptxkit_diagnostics_get(const ptxkit_diagnostics *diagnostics, size_t index);

// Returns another location of a diagnostic with its description.
ptxkit_note ptxkit_diagnostic_label(const ptxkit_diagnostics *diagnostics, size_t index, size_t label);

// Returns an edit of the fix of a diagnostic: `text` replaces the source at `span`. A fix consists of all of its edits.
ptxkit_note ptxkit_diagnostic_edit(const ptxkit_diagnostics *diagnostics, size_t index, size_t edit);

// Applies the fixes of the diagnostics of a module that are `MachineApplicable`, if errors disappear by them and no other errors appear. To apply other
// fixes, use their edits. Free the text with `ptxkit_text_free`.
ptxkit_status ptxkit_fix(const ptxkit_module *module,
                         const ptxkit_diagnostics *diagnostics,
                         ptxkit_text **text);

// Frees a list of diagnostics.
void ptxkit_diagnostics_free(ptxkit_diagnostics *diagnostics);

// Lists the instructions of the function with the index `function`. Free the list with `ptxkit_instructions_free`.
ptxkit_status ptxkit_instructions_of(const ptxkit_module *module, size_t function, ptxkit_instructions **instructions);

// Returns the number of instructions of a list.
size_t ptxkit_instructions_count(const ptxkit_instructions *instructions);

// Returns an instruction; one with an empty opcode if there is no instruction at `index`. Instructions are in the order of the source.
ptxkit_instruction ptxkit_instructions_get(const ptxkit_instructions *instructions, size_t index);

// Returns the text of an operand of an instruction, in the canonical style.
ptxkit_string ptxkit_instruction_operand(const ptxkit_instructions *instructions, size_t index, size_t operand);

// Returns the name of a register that an instruction uses as `register_use` says, one of `ptxkit_register_use`. `%r1#2` is the second of several
// registers with the name `%r1`.
ptxkit_string ptxkit_instruction_register(const ptxkit_instructions *instructions,
                                          size_t index,
                                          uint32_t register_use,
                                          size_t register_);

// Returns a memory access of an instruction.
ptxkit_access ptxkit_instruction_access(const ptxkit_instructions *instructions, size_t index, size_t access);

// Frees a list of instructions.
void ptxkit_instructions_free(ptxkit_instructions *instructions);

// Parses a module from a copy of `source`. Any bytes are accepted: errors become diagnostics of the module, and statements that cannot be parsed are
// kept as text. Free the module with `ptxkit_module_free`.
ptxkit_status ptxkit_parse(ptxkit_string source,
                           ptxkit_module **module);

// Frees a module. Objects that were created from it remain valid; strings that were returned for it do not.
void ptxkit_module_free(ptxkit_module *module);

// Returns the source of a module.
ptxkit_string ptxkit_module_source(const ptxkit_module *module);

// Returns the target of a module, such as `sm_90a`; empty if its header has none.
ptxkit_string ptxkit_module_target(const ptxkit_module *module);

// Returns the number of functions and kernels of a module, including declarations.
size_t ptxkit_function_count(const ptxkit_module *module);

// Returns a function of a module; one with an empty name if there is no function at `index`.
ptxkit_function ptxkit_function_get(const ptxkit_module *module, size_t index);

// Finds a function by its name, preferring one with a body, and writes its index to `index`.
ptxkit_status ptxkit_function_find(const ptxkit_module *module, ptxkit_string name, size_t *index);

// Returns the targets and versions on which a module is legal, independent of its header. Free the result with `ptxkit_requirements_free`.
ptxkit_status ptxkit_requires(const ptxkit_module *module, ptxkit_requirements **requirements);

// Returns the number of lowest targets of a function, or of `PTXKIT_WHOLE_MODULE`. There is at most one for each architecture family; there is none if
// the function is legal on no target.
size_t ptxkit_requirements_count(const ptxkit_requirements *requirements,
                                 size_t function);

// Returns a lowest target of a function, or of `PTXKIT_WHOLE_MODULE`; an empty one if there is no target at `index`.
ptxkit_requirement ptxkit_requirements_get(const ptxkit_requirements *requirements, size_t function, size_t index);

// Returns the number of features that restrict the targets and versions.
size_t ptxkit_reason_count(const ptxkit_requirements *requirements);

// Returns a feature that restricts the targets and versions; an empty one if there is no feature at `index`.
ptxkit_reason ptxkit_reason_get(const ptxkit_requirements *requirements, size_t index);

// Returns the location of a use of a feature, in the order of the source; an empty one if there is no feature at `index`, or no use at `use_index`.
ptxkit_span ptxkit_reason_use(const ptxkit_requirements *requirements,
                              size_t index,
                              size_t use_index);

// Returns the number of instructions that are illegal for all versions and targets. The requirements do not include them.
size_t ptxkit_illegal_count(const ptxkit_requirements *requirements);

// Returns the location of an instruction that is illegal for all versions and targets; an empty one if there is none at `index`.
ptxkit_span ptxkit_illegal_get(const ptxkit_requirements *requirements, size_t index);

// Frees requirements.
void ptxkit_requirements_free(ptxkit_requirements *requirements);

// Returns the bytes of a text.
ptxkit_string ptxkit_text_get(const ptxkit_text *text);

// Frees a text.
void ptxkit_text_free(ptxkit_text *text);

// Formats a module in the canonical style. Like all rewrites, it fails if the module has syntax errors. Free the text with `ptxkit_text_free`.
ptxkit_status ptxkit_format(const ptxkit_module *module,
                            ptxkit_text **text);

// Removes comments and debug information.
ptxkit_status ptxkit_strip(const ptxkit_module *module, ptxkit_text **text);

// Shortens a module: removes whitespace and comments, and shortens names that are not visible to other modules.
ptxkit_status ptxkit_minify(const ptxkit_module *module, ptxkit_text **text);

// Extracts functions with all of their dependencies.
ptxkit_status ptxkit_extract(const ptxkit_module *module, const ptxkit_string *names, size_t count, ptxkit_text **text);

// Renames all functions, variables, registers (`%r` for the range `%r<9>`), parameters and labels with the name `old_name`. If `function` is not empty,
// only names in this function are renamed. Fails if the new name is in use.
ptxkit_status ptxkit_rename(const ptxkit_module *module,
                            ptxkit_string old_name,
                            ptxkit_string new_name,
                            ptxkit_string function,
                            ptxkit_text **text);

// Changes the target and the version of the header. If `version` is empty, the version stays, or becomes the first one that supports the target. Fails if
// the module is not legal on the target in the version.
ptxkit_status ptxkit_retarget(const ptxkit_module *module,
                              ptxkit_string target,
                              ptxkit_string version,
                              ptxkit_text **text);

// Removes code without effect and simplifies the remaining code. `passes` lists the names of the options of `ptxkit clean` without dashes, separated by
// commas. If it is empty, the default passes run.
ptxkit_status ptxkit_clean(const ptxkit_module *module,
                           ptxkit_string passes,
                           ptxkit_text **text);

// Links legal modules into one. `hidden` contains the names of symbols that no module outside of the result uses.
ptxkit_status ptxkit_link(const ptxkit_module *const *modules,
                          size_t count,
                          const ptxkit_string *hidden,
                          size_t hidden_count,
                          ptxkit_text **text);

// Returns the message of the last failure on this thread. The message is valid until the next call on this thread fails.
ptxkit_string ptxkit_error_message(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

/* The string of a text that ends with a zero byte, without that byte. */
static inline ptxkit_string ptxkit_cstring(const char *text) {
  ptxkit_string string = {text, text ? strlen(text) : 0};
  return string;
}
