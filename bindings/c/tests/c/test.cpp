// Uses every part of ptxkit.hpp, on several threads. `test FILE`: a binary file with PTX.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>

#include "ptxkit.hpp"

namespace {

constexpr std::string_view source = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry kernel(.param .u64 data)
{
  .reg .b32 %r<3>; // registers
  .reg .b64 %rd; .reg .b32 idle;
  ld.param.u64 %rd, [data];
  ld.global.u32 %r1, [%rd];
  st.global.u32 [%rd+4], %r1;
  ret;
}
)";

void require(bool condition, const char *what, int line) {
  if (condition) return;
  std::cerr << "test.cpp:" << line << ": " << what << '\n';
  std::exit(1);
}
#define REQUIRE(condition) require(condition, #condition, __LINE__)

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

void use(const ptxkit::Module &module) {
  using ptxkit::view;
  std::size_t kernel = module.find("kernel");
  REQUIRE(module.source() == source && module.target() == "sm_80" && module.function_count() == 1);
  REQUIRE(view(module.function(kernel).name) == "kernel");
  ptxkit::Instructions all = module.instructions(kernel);
  REQUIRE(all.size() == 4 && view(all[1].mnemonic) == "ld.global.u32" && all.operand(1, 1) == "[%rd]");
  REQUIRE(all.register_name(1, PTXKIT_REGISTER_USE_READ, 0) == "%rd" && all.access(2, 0).offset == 4);
  REQUIRE(module.syntax_errors().size() == 0 && module.diagnose("sm_90", "8.1").size() == 0);
  ptxkit::Diagnostics warnings = module.diagnose({}, {}, PTXKIT_WARN_UNUSED);
  REQUIRE(warnings.size() > 0 && warnings[0].severity == PTXKIT_SEVERITY_WARNING);
  REQUIRE(warnings.label(0, 99).text.len == 0 && warnings.edit(0, 99).text.len == 0);
  REQUIRE(contains(module.fixed(warnings), "ld.global"));
  ptxkit::Requirements needs = module.requirements();
  REQUIRE(needs.minimal().size() == 1 && needs.minimal(kernel).size() == 1 && !needs.reasons().empty());
  REQUIRE(needs.uses(0).size() == needs.reasons()[0].count && needs.illegal().empty());
  REQUIRE(contains(module.formatted(), "// registers") && !contains(module.stripped(), "// registers"));
  REQUIRE(module.minified().size() < source.size() && contains(module.cleaned(), "st.global"));
  REQUIRE(contains(module.extracted({"kernel"}), "kernel") && contains(module.renamed("kernel", "k"), ".entry k("));
  REQUIRE(contains(module.retargeted("sm_90"), ".target sm_90"));
  ptxkit::Module other(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry other() { ret; }");
  REQUIRE(contains(ptxkit::Module::linked({&module, &other}), "other"));
  try {
    module.extracted({"missing"});
    REQUIRE(!"an exception");
  } catch (const ptxkit::Error &error) {
    REQUIRE(error.status() == PTXKIT_STATUS_NOT_FOUND && contains(error.what(), "`missing`"));
  }
}

}  // namespace

int main(int argc, char **argv) {
  REQUIRE(!ptxkit::version().empty());
  ptxkit::Module module(source);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) threads.emplace_back([&] { use(module); });
  for (std::thread &thread : threads) thread.join();
  ptxkit::Module moved = std::move(module);
  use(moved);
  if (argc > 1) {
    std::ifstream stream(argv[1], std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    ptxkit::Container container(bytes);
    REQUIRE(container.size() > 0 && container.problem(0).empty() && contains(ptxkit::view(container[0].source), ".version"));
  }
  std::cout << "test.cpp: passed\n";
}
