#include "runtime/diagnose/symbols.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>

#include "base/shrink.h"
#include "runtime/diagnose/frames.h"
#include "runtime/loop/immortal.h"

namespace runtime {
namespace {

// Maps the whole program file; empty when it cannot be read. Never unmapped.
std::span<const char> map_program() {
    const int fd = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return {};
    struct stat info {};
    void* at = MAP_FAILED;
    if (fstat(fd, &info) == 0 && info.st_size > 0)
        at = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    ::close(fd);
    if (at == MAP_FAILED) return {};
    return {static_cast<const char*>(at), static_cast<size_t>(info.st_size)};
}

// `count` T at that offset; empty when the file is too short.
template <class T>
std::span<const T> table_at(std::span<const char> file, uint64_t offset, uint64_t count) {
    if (offset > file.size() || count > (file.size() - offset) / sizeof(T)) return {};
    return {reinterpret_cast<const T*>(file.data() + offset), static_cast<size_t>(count)};
}

// The offset between the program's load and link addresses: the first object is the program.
uintptr_t load_bias() {
    uintptr_t bias = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* out) {
            *static_cast<uintptr_t*>(out) = info->dlpi_addr;
            return 1;
        },
        &bias);
    return bias;
}

std::string demangled(const char* name) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                           std::free);
    return text ? text.get() : name;
}

}  // namespace

Symbols::Symbols() {
    const auto file = map_program();
    const auto head = table_at<ElfW(Ehdr)>(file, 0, 1);
    if (head.empty() || std::memcmp(head[0].e_ident, ELFMAG, SELFMAG) != 0) return;
    const auto sections = table_at<ElfW(Shdr)>(file, head[0].e_shoff, head[0].e_shnum);
    const uintptr_t bias = load_bias();
    for (const uint32_t kind : {SHT_SYMTAB, SHT_DYNSYM}) {
        for (const auto& section : sections) {
            if (section.sh_type != kind || section.sh_link >= sections.size() || !functions_.empty()) continue;
            const auto& strings = sections[section.sh_link];
            const auto names = table_at<char>(file, strings.sh_offset, strings.sh_size);
            if (names.empty() || names.back() != 0) continue;
            names_ = names.data();
            for (const auto& symbol :
                 table_at<ElfW(Sym)>(file, section.sh_offset, section.sh_size / sizeof(ElfW(Sym)))) {
                if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
                if (symbol.st_name >= names.size()) continue;
                functions_.push_back({bias + symbol.st_value, static_cast<uint32_t>(symbol.st_size), symbol.st_name});
            }
        }
    }
    std::ranges::stable_sort(functions_, {}, &Function::address);
    base::shrink(functions_);
}

const Symbols& Symbols::get() {
    static const detail::Immortal<Symbols> symbols;
    return symbols.value;
}

const char* Symbols::find(uintptr_t address) const {
    auto after = std::ranges::upper_bound(functions_, address, {}, &Function::address);
    if (after == functions_.begin()) return nullptr;
    const Function& function = *--after;
    // Functions written in assembler have no size.
    if (function.bytes != 0 && address >= function.address + function.bytes) return nullptr;
    return names_ + function.name;
}

std::string Symbols::mangled_name(uintptr_t address) const {
    Dl_info info{};
    const bool known = dladdr(reinterpret_cast<void*>(address), &info) != 0;
    // Addresses after the program's last function belong to libraries.
    if (detail::in_our_code(address)) {
        if (const char* ours = find(address)) return ours;
    }
    if (!known || !info.dli_fname) return fmt::format("0x{:x}", address);
    if (info.dli_sname) return info.dli_sname;
    const char* slash = std::strrchr(info.dli_fname, '/');
    return fmt::format("{}+0x{:x}", slash ? slash + 1 : info.dli_fname,
                       address - reinterpret_cast<uintptr_t>(info.dli_fbase));
}

std::string without_template_arguments(std::string_view name) {
    constexpr std::string_view kOperator = "operator";
    std::string out;
    int depth = 0;
    for (size_t i = 0; i < name.size(); ++i) {
        // The angles of operator<, <<, <=>, -> and >> are part of the name.
        if (depth == 0 && name.substr(i).starts_with(kOperator)) {
            const size_t end = std::min(name.find_first_not_of("<=>-", i + kOperator.size()), name.size());
            out.append(name.substr(i, end - i));
            i = end - 1;
        } else if (name[i] == '<') {
            ++depth;
        } else if (name[i] == '>' && depth > 0) {
            --depth;
        } else if (depth == 0) {
            out += name[i];
        }
    }
    return out;
}

std::string Symbols::name(uintptr_t address) const { return demangled(mangled_name(address).c_str()); }

}  // namespace runtime
