#pragma once
// Internal. Walks a stack by frame pointers to find which of our functions are active. Safe in a signal handler: it
// reads nothing but the given stack, allocates nothing and calls nothing. Our code keeps frame pointers; libraries may
// not, so their frames are skipped: a walk that begins in a library continues at the first frame of ours.
//
// Does not read unwind tables. On processors other than x86-64 and AArch64 a walk finds only the first address.

#include <cstddef>
#include <cstdint>
#include <span>

namespace runtime::detail {

struct StackRange {
    uintptr_t low = 0;
    uintptr_t top = 0;
    // The outermost frame has 0 as its caller's frame pointer and returns to first_frame, as on coroutine stacks. The
    // walk uses it to tell real frames from leftover values that only look like frames.
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
// Registers of the code that a signal interrupted; the argument is the third one of the signal handler.
Registers registers_of(const void* signal_context);

// Whether the address is code of this program rather than of a library.
bool in_our_code(uintptr_t address);

// Writes the return addresses from the frame at `fp` outwards, as far as they are in our code. Returns their number.
size_t walk_frames(uintptr_t fp, StackRange stack, std::span<uintptr_t> out);
// The same for interrupted code: the program counter first.
size_t walk_interrupted(const Registers& at, StackRange stack, std::span<uintptr_t> out);

}  // namespace runtime::detail
