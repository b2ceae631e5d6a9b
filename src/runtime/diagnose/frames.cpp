#include "runtime/diagnose/frames.h"

#include <ucontext.h>

#include "runtime/loop/memcheck.h"
#include "runtime/loop/stack.h"

// Defined by the linker: where the program's code begins and ends.
extern "C" const char __executable_start;
extern "C" const char etext;

#define READS_STACKS __attribute__((no_sanitize("address", "undefined")))

namespace runtime::detail {
namespace {

// How many words of a library's frames are scanned for the call that came from our code. OpenSSL's frames are the
// deepest.
constexpr size_t kMaxLibraryWords = 2048;

// Much of a stack was never written. Reading a stale word is intended: valgrind need not report it.
READS_STACKS uintptr_t word_at(uintptr_t address) {
    uintptr_t word = *reinterpret_cast<const volatile uintptr_t*>(address);
    memcheck_forgive(&word, sizeof word);
    return word;
}

// Whether the instruction before the address is a call: most stale words on a stack do not follow one.
READS_STACKS bool follows_call([[maybe_unused]] uintptr_t address) {
    if (!in_our_code(address) || !in_our_code(address - 8)) return false;
#if defined(__x86_64__)
    const auto* code = reinterpret_cast<const volatile uint8_t*>(address);
    if (code[-5] == 0xe8) return true;                               // call rel32
    if (code[-2] == 0xff && (code[-1] & 0xf8) == 0xd0) return true;  // call register
    for (int size : {2, 3, 4, 6, 7}) {                               // call through memory
        if (code[-size] == 0xff && (code[1 - size] & 0x38) == 0x10) return true;
    }
    return false;
#elif defined(__aarch64__)
    const uint32_t code = *reinterpret_cast<const volatile uint32_t*>(address - 4);
    return (code & 0xfc000000) == 0x94000000 || (code & 0xfffffc1f) == 0xd63f0000;
#else
    return true;
#endif
}

// A frame: the caller's frame pointer, followed by the return address.
READS_STACKS bool is_frame(uintptr_t fp, StackRange stack) {
    return fp % sizeof(uintptr_t) == 0 && stack.contains(fp, 2 * sizeof(uintptr_t)) &&
           follows_call(word_at(fp + sizeof(uintptr_t)));
}

// Whether the frames from here outwards lead to the stack's end, as far as this can be determined.
READS_STACKS bool is_whole(uintptr_t fp, StackRange stack) {
    if (!stack.ends) return is_frame(fp, stack);
    while (is_frame(fp, stack)) {
        const uintptr_t next = word_at(fp);
        // A leftover 0 may stand below a leftover return address.
        if (next == 0) return is_in_first_frame(word_at(fp + sizeof(uintptr_t)));
        if (next <= fp) return false;
        fp = next;
    }
    return false;
}

// Whether the address follows a call into a library, which goes through a jump of the procedure linkage table. Much of
// a library's stack is stale; nearly all stale words fail this check.
READS_STACKS bool follows_library_call(uintptr_t address) {
    if (!follows_call(address)) return false;
#if defined(__x86_64__)
    const auto* code = reinterpret_cast<const volatile uint8_t*>(address);
    if (code[-5] != 0xe8) return false;
    uint32_t distance = 0;
    for (int i = 0; i < 4; ++i) distance |= static_cast<uint32_t>(code[i - 4]) << 8 * i;
    const uintptr_t target = address + static_cast<uintptr_t>(static_cast<intptr_t>(static_cast<int32_t>(distance)));
    if (!in_our_code(target)) return false;
    const auto* jump = reinterpret_cast<const volatile uint8_t*>(target);
    if (jump[0] == 0xf3 && jump[1] == 0x0f && jump[2] == 0x1e) jump += 4;  // endbr64
    if (jump[0] == 0xf2) ++jump;                                           // bnd
    return jump[0] == 0xff && jump[1] == 0x25;                             // jmp *offset(%rip)
#else
    return true;
#endif
}

// For code interrupted in a library: the first return address into our code, and our frame pointer, which the library
// has kept in the register or saved below that address.
READS_STACKS uintptr_t find_our_frame(const Registers& at, StackRange stack, uintptr_t& return_address) {
    constexpr size_t kWord = sizeof(uintptr_t);
    uintptr_t slot = (at.sp + kWord - 1) & ~(kWord - 1);
    for (size_t i = 0; i < kMaxLibraryWords && stack.contains(slot, kWord); ++i, slot += kWord) {
        if (!follows_library_call(word_at(slot))) continue;
        return_address = word_at(slot);
        if (at.fp > slot && is_whole(at.fp, stack)) return at.fp;
        for (uintptr_t below = slot - kWord; below >= at.sp && stack.contains(below, kWord); below -= kWord) {
            if (const uintptr_t saved = word_at(below); saved > slot && is_whole(saved, stack)) return saved;
        }
    }
    return 0;
}

}  // namespace

bool in_our_code(uintptr_t address) {
    return address >= reinterpret_cast<uintptr_t>(&__executable_start) && address < reinterpret_cast<uintptr_t>(&etext);
}

Registers registers_of([[maybe_unused]] const void* signal_context) {
#if defined(__x86_64__)
    const auto& g = static_cast<const ucontext_t*>(signal_context)->uc_mcontext.gregs;
    return {static_cast<uintptr_t>(g[REG_RIP]), static_cast<uintptr_t>(g[REG_RBP]), static_cast<uintptr_t>(g[REG_RSP])};
#elif defined(__aarch64__)
    const auto& m = static_cast<const ucontext_t*>(signal_context)->uc_mcontext;
    return {m.pc, m.regs[29], m.sp};
#else
    return {};
#endif
}

READS_STACKS size_t walk_frames(uintptr_t fp, StackRange stack, std::span<uintptr_t> out) {
    size_t count = 0;
    while (count < out.size() && is_frame(fp, stack)) {
        out[count++] = word_at(fp + sizeof(uintptr_t));
        const uintptr_t next = word_at(fp);
        if (next <= fp) break;  // callers are at higher addresses
        fp = next;
    }
    return count;
}

READS_STACKS size_t walk_interrupted(const Registers& at, StackRange stack, std::span<uintptr_t> out) {
    if (out.empty()) return 0;
    out[0] = at.pc;
    if (!stack.contains(at.sp, 1)) return 1;
    if (in_our_code(at.pc)) return 1 + walk_frames(at.fp, stack, out.subspan(1));
    uintptr_t return_address = 0;
    const uintptr_t fp = find_our_frame(at, stack, return_address);
    if (!fp || out.size() < 2) return 1;
    out[1] = return_address;
    return 2 + walk_frames(fp, stack, out.subspan(2));
}

}  // namespace runtime::detail
