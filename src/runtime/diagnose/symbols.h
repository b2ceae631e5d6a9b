#pragma once
// Names of functions for addresses of this process: from the program's own symbol table, which is there unless somebody
// stripped it, and what shared libraries export. Demangled. Immutable, and usable from any thread.
//
// Does not read debug information: no files and lines. Where a name is not known the module and the offset in it stand
// for it, as addr2line takes them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace runtime {

class Symbols {
  public:
    Symbols();  // reads the table; get() has it once for all

    // Made when first asked for; takes some milliseconds then: not on the loop, call offload([] { Symbols::get(); }).
    static const Symbols& get();

    // "live::Audience::pump()"; of a return address ask for the address before it.
    std::string name(uintptr_t address) const;
    // As it stands in the symbol table: for pprof.
    std::string mangled_name(uintptr_t address) const;
    size_t size() const { return functions_.size(); }

  private:
    struct Function {
        uintptr_t address;
        uint32_t bytes;
        uint32_t name;  // offset into names_
    };
    const char* find(uintptr_t address) const;

    const char* names_ = nullptr;      // of the program's file, mapped for good
    std::vector<Function> functions_;  // by address
};

}  // namespace runtime
