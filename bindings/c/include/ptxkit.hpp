// ptxkit.hpp: ptxkit.h for C++17. Objects free themselves; failures are exceptions. docs/c.md describes it.
#ifndef PTXKIT_HPP
#define PTXKIT_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptxkit.h"

namespace ptxkit {

inline std::string_view view(ptxkit_string text) { return {text.data, text.len}; }
inline ptxkit_string string(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view version() { return view(ptxkit_version()); }

/// A call that failed: its status and why.
class Error : public std::runtime_error {
 public:
  explicit Error(ptxkit_status status) : std::runtime_error(std::string(view(ptxkit_error_message()))), status_(status) {}
  ptxkit_status status() const { return status_; }

 private:
  ptxkit_status status_;
};

inline void check(ptxkit_status status) {
  if (status != PTXKIT_STATUS_OK) throw Error(status);
}

/// The object that a call writes.
template <typename T, typename Make>
T *make(Make call) {
  T *object = nullptr;
  check(call(&object));
  return object;
}

/// An object of the library, which is freed with its owner.
template <typename T, void (*Free)(T *)>
class Handle {
 public:
  const T *get() const { return object_.get(); }

 protected:
  explicit Handle(T *object) : object_(object, Free) {}

 private:
  std::unique_ptr<T, void (*)(T *)> object_;
};

class Diagnostics : public Handle<ptxkit_diagnostics, ptxkit_diagnostics_free> {
 public:
  explicit Diagnostics(ptxkit_diagnostics *object) : Handle(object) {}
  std::size_t size() const { return ptxkit_diagnostics_count(get()); }
  ptxkit_diagnostic operator[](std::size_t index) const { return ptxkit_diagnostics_get(get(), index); }
  ptxkit_note label(std::size_t index, std::size_t label) const { return ptxkit_diagnostic_label(get(), index, label); }
  ptxkit_note edit(std::size_t index, std::size_t edit) const { return ptxkit_diagnostic_edit(get(), index, edit); }
};

class Requirements : public Handle<ptxkit_requirements, ptxkit_requirements_free> {
 public:
  explicit Requirements(ptxkit_requirements *object) : Handle(object) {}
  std::vector<ptxkit_requirement> minimal(std::size_t function = PTXKIT_WHOLE_MODULE) const {
    std::vector<ptxkit_requirement> all(ptxkit_requirements_count(get(), function));
    for (std::size_t i = 0; i < all.size(); i++) all[i] = ptxkit_requirements_get(get(), function, i);
    return all;
  }
  std::vector<ptxkit_reason> reasons() const {
    std::vector<ptxkit_reason> all(ptxkit_reason_count(get()));
    for (std::size_t i = 0; i < all.size(); i++) all[i] = ptxkit_reason_get(get(), i);
    return all;
  }
  // The locations of all uses of a feature.
  std::vector<ptxkit_span> uses(std::size_t reason) const {
    std::vector<ptxkit_span> all(ptxkit_reason_get(get(), reason).count);
    for (std::size_t i = 0; i < all.size(); i++) all[i] = ptxkit_reason_use(get(), reason, i);
    return all;
  }
  std::vector<ptxkit_span> illegal() const {
    std::vector<ptxkit_span> all(ptxkit_illegal_count(get()));
    for (std::size_t i = 0; i < all.size(); i++) all[i] = ptxkit_illegal_get(get(), i);
    return all;
  }
};

class Instructions : public Handle<ptxkit_instructions, ptxkit_instructions_free> {
 public:
  explicit Instructions(ptxkit_instructions *object) : Handle(object) {}
  std::size_t size() const { return ptxkit_instructions_count(get()); }
  ptxkit_instruction operator[](std::size_t index) const { return ptxkit_instructions_get(get(), index); }
  std::string_view operand(std::size_t index, std::size_t operand) const {
    return view(ptxkit_instruction_operand(get(), index, operand));
  }
  std::string_view register_name(std::size_t index, ptxkit_register_use how, std::size_t number) const {
    return view(ptxkit_instruction_register(get(), index, how, number));
  }
  ptxkit_access access(std::size_t index, std::size_t access) const { return ptxkit_instruction_access(get(), index, access); }
};

class Module : public Handle<ptxkit_module, ptxkit_module_free> {
 public:
  explicit Module(std::string_view source)
      : Handle(make<ptxkit_module>([&](auto out) { return ptxkit_parse(string(source), out); })) {}
  std::string_view source() const { return view(ptxkit_module_source(get())); }
  std::string_view target() const { return view(ptxkit_module_target(get())); }

  std::size_t function_count() const { return ptxkit_function_count(get()); }
  ptxkit_function function(std::size_t index) const { return ptxkit_function_get(get(), index); }
  std::size_t find(std::string_view name) const {
    std::size_t index = 0;
    check(ptxkit_function_find(get(), string(name), &index));
    return index;
  }
  Instructions instructions(std::size_t function) const {
    return Instructions(make<ptxkit_instructions>([&](auto out) { return ptxkit_instructions_of(get(), function, out); }));
  }

  Diagnostics syntax_errors() const {
    return Diagnostics(make<ptxkit_diagnostics>([&](auto out) { return ptxkit_syntax_errors(get(), out); }));
  }
  Diagnostics diagnose(std::string_view target = {}, std::string_view version = {}, std::uint32_t warnings = 0) const {
    return Diagnostics(make<ptxkit_diagnostics>(
        [&](auto out) { return ptxkit_check(get(), string(target), string(version), warnings, out); }));
  }
  Requirements requirements() const {
    return Requirements(make<ptxkit_requirements>([&](auto out) { return ptxkit_requires(get(), out); }));
  }

  std::string fixed(const Diagnostics &found) const {
    return text([&](auto out) { return ptxkit_fix(get(), found.get(), out); });
  }
  std::string formatted() const { return text([&](auto out) { return ptxkit_format(get(), out); }); }
  std::string stripped() const { return text([&](auto out) { return ptxkit_strip(get(), out); }); }
  std::string minified() const { return text([&](auto out) { return ptxkit_minify(get(), out); }); }
  std::string cleaned(std::string_view passes = {}) const {
    return text([&](auto out) { return ptxkit_clean(get(), string(passes), out); });
  }
  std::string extracted(const std::vector<std::string_view> &names) const {
    std::vector<ptxkit_string> all = strings(names);
    return text([&](auto out) { return ptxkit_extract(get(), all.data(), all.size(), out); });
  }
  std::string renamed(std::string_view old, std::string_view new_name, std::string_view function = {}) const {
    return text([&](auto out) { return ptxkit_rename(get(), string(old), string(new_name), string(function), out); });
  }
  std::string retargeted(std::string_view target, std::string_view version = {}) const {
    return text([&](auto out) { return ptxkit_retarget(get(), string(target), string(version), out); });
  }

  static std::string linked(const std::vector<const Module *> &modules, const std::vector<std::string_view> &hidden = {}) {
    std::vector<const ptxkit_module *> all;
    for (const Module *module : modules) all.push_back(module->get());
    std::vector<ptxkit_string> names = strings(hidden);
    return text([&](auto out) { return ptxkit_link(all.data(), all.size(), names.data(), names.size(), out); });
  }

 private:
  template <typename Make>
  static std::string text(Make call) {
    std::unique_ptr<ptxkit_text, void (*)(ptxkit_text *)> text(make<ptxkit_text>(call), ptxkit_text_free);
    return std::string(view(ptxkit_text_get(text.get())));
  }
  static std::vector<ptxkit_string> strings(const std::vector<std::string_view> &texts) {
    std::vector<ptxkit_string> all;
    for (std::string_view text : texts) all.push_back(string(text));
    return all;
  }
};

/// The PTX of a binary file.
class Container : public Handle<ptxkit_container, ptxkit_container_free> {
 public:
  explicit Container(std::string_view file)
      : Handle(make<ptxkit_container>([&](auto out) { return ptxkit_container_open(string(file), out); })) {}
  std::size_t size() const { return ptxkit_container_count(get()); }
  ptxkit_entry operator[](std::size_t index) const { return ptxkit_container_get(get(), index); }
  std::string_view problem(std::size_t index) const { return view(ptxkit_container_problem(get(), index)); }
};

}  // namespace ptxkit

#endif
