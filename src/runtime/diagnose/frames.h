#pragma once
// Internal. Walks a stack by frame pointers: which of our functions are under way. Safe in a signal handler: reads
// nothing but the stack it was told of, allocates nothing, calls nothing. Our code keeps frame pointers; libraries may
// not, so their frames are passed over: a walk that begins in one goes on at the first of ours.
//
// Does not read unwind tables. On processors other than x86-64 and AArch64 a walk finds nothing but the first address.

#include <cstddef>
#include <cstdint>
#include <span>

namespace runtime::detail {

struct StackRange {
    uintptr_t low = 0;
    uintptr_t top = 0;
    // The outermost frame has 0 for its caller's frame, as those of coroutines have: what lies about on the stack and
    // only looks like frames is told from real ones by it.
    bool ends = false;

    bool contains(uintptr_t address, size_t bytes) const {
        return address >= low && address < top && top - address >= bytes;
    }
};

struct Registers {
    uintptr_t pc = 0;
    uintptr_t fp = 0;
    uintptr_t sp = 0;
};
// Of the code that a signal interrupted; the third argument of its handler.
Registers registers_of(const void* signal_context);

// Whether the address is code of this program, not of a library.
bool in_our_code(uintptr_t address);

// The return addresses from the frame at `fp` outwards, as far as they are ours. How many there are.
size_t walk_frames(uintptr_t fp, StackRange stack, std::span<uintptr_t> out);
// The same from what was interrupted: the program counter first.
size_t walk_interrupted(const Registers& at, StackRange stack, std::span<uintptr_t> out);

}  // namespace runtime::detail
