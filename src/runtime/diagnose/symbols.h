#pragma once
// Function names for addresses of this process, from the program's own symbol table (present unless it was stripped)
// and from what shared libraries export. Demangled. Immutable, and usable from any thread.
//
// Does not read debug information: no files and lines. An address without a known name is given as the module and the
// offset in it, as addr2line takes them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace runtime {

class Symbols {
  public:
    Symbols();  // reads the table; get() returns one shared instance

    // Created at the first call, which takes some milliseconds: not on the loop, call offload([] { Symbols::get(); }).
    static const Symbols& get();

    // "live::Audience::pump()". For a return address pass the address before it.
    std::string name(uintptr_t address) const;
    // As in the symbol table, for pprof.
    std::string mangled_name(uintptr_t address) const;
    size_t size() const { return functions_.size(); }

  private:
    struct Function {
        uintptr_t address;
        uint32_t bytes;
        uint32_t name;  // offset into names_
    };
    const char* find(uintptr_t address) const;

    const char* names_ = nullptr;      // in the program's file, which stays mapped
    std::vector<Function> functions_;  // sorted by address
};

// "std::map::find(Key const&)" of "std::map<Key, Value>::find(Key const&)": for people, who know the types.
std::string without_template_arguments(std::string_view name);

}  // namespace runtime
