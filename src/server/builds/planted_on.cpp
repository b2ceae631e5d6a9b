// Deliberate defects, one of each kind that a diagnostic build finds. Each runs in a coroutine, below functions whose
// names the tests look for in the tools' reports: planted_entry, planted_outer and planted_inner in each of them.

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/loop/coroutine.h"
#include "server/builds/diagnostics.h"

namespace server {
namespace {

// Neither inlined nor cloned. None ends in a call, which could become a jump, so each has its stack frame.
#define PLANTED [[gnu::noinline, gnu::noclone]]

volatile uint32_t sink = 0;
// A value that the optimiser cannot know.
char* volatile blind = nullptr;

constexpr size_t kBlock = 1200;

struct Leak {
    PLANTED static void planted_inner() {
        blind = new char[kBlock];
        std::memset(blind, 'l', kBlock);
        blind = nullptr;
    }
};

struct Overrun {
    PLANTED static void planted_inner() {
        auto block = std::make_unique<char[]>(kBlock);
        blind = block.get();
        blind[kBlock] = 'o';
    }
};

struct UseAfterFree {
    PLANTED static void planted_inner() {
        auto block = std::make_unique<char[]>(kBlock);
        blind = block.get();
        block.reset();
        sink = sink + static_cast<unsigned char>(blind[kBlock / 2]);
    }
};

// Reads a member of an object that is not there.
struct Null {
    PLANTED static void planted_inner() {
        struct Absent {
            char before[16];
            volatile uint32_t member;
        };
        blind = nullptr;
        sink = sink + reinterpret_cast<Absent*>(blind)->member;
    }
};

// Reads uninitialised memory and branches on it.
struct Undefined {
    PLANTED static void planted_inner() {
        auto block = std::make_unique_for_overwrite<char[]>(kBlock);
        blind = block.get();
        if (blind[kBlock / 2] == 'u') sink = sink + 1;
    }
};

// Overflows a signed integer.
struct Overflow {
    PLANTED static void planted_inner() {
        volatile int most = 0x7fffffff;
        most = most + 1;
    }
};

// Spins for half a second, yielding to the others in between.
struct Hot {
    PLANTED static void planted_spin() {
        // On the stack, so that the function has a frame: the compiler omits the frame of a function that does not
        // access the stack.
        volatile uint32_t number = sink;
        for (uint32_t i = 0; i < 100'000; ++i) number = number * 1664525 + 1013904223;
        sink = number;
    }
    PLANTED static void planted_inner() {
        for (int64_t end = base::monotonic_us() + 500'000; base::monotonic_us() < end;) {
            // Twice: pprof omits a caller whose address is the same in all samples.
            planted_spin();
            planted_spin();
            if (!runtime::yield()) return;
        }
    }
};

// Blocks the loop, once the watchdog is running.
struct Stall {
    PLANTED static void planted_inner() {
        if (!runtime::sleep_ms(1000)) return;
        for (int64_t end = base::monotonic_us() + 400'000; base::monotonic_us() < end;) sink = sink + 1;
    }
};

// Holds a block referenced only from its own stack until the process ends.
struct Held {
    // Large compared with what libraries hold from the start: the graph omits small blocks.
    static constexpr size_t kMuch = 256 * 1024;
    PLANTED static void planted_inner() {
        auto block = std::make_unique<char[]>(kMuch);
        base::log::trace("planted: held");
        while (runtime::sleep_ms(1000)) sink = sink + static_cast<unsigned char>(block[0]);
    }
};

template <class Defect>
PLANTED void planted_outer() {
    Defect::planted_inner();
    sink = sink + 1;
}

template <class Defect>
PLANTED void planted_entry() {
    planted_outer<Defect>();
    base::log::trace("planted: done");
}

constexpr struct {
    std::string_view name;
    void (*entry)();
} kDefects[] = {
    {"leak", planted_entry<Leak>},
    {"overrun", planted_entry<Overrun>},
    {"use-after-free", planted_entry<UseAfterFree>},
    {"null", planted_entry<Null>},
    {"undefined", planted_entry<Undefined>},
    {"overflow", planted_entry<Overflow>},
    {"hot", planted_entry<Hot>},
    {"stall", planted_entry<Stall>},
    {"held", planted_entry<Held>},
};

}  // namespace

base::Result<void> plant_defect() {
    const char* wanted = std::getenv("PLANT_DEFECT");
    if (!wanted) return {};
    std::string names;
    for (const auto& defect : kDefects) {
        if (defect.name == wanted) {
            base::log::warn("planted: a defect, {}, as PLANT_DEFECT says", wanted);
            runtime::spawn("planted", defect.entry);
            return {};
        }
        names += fmt::format("{}{}", names.empty() ? "" : ", ", defect.name);
    }
    return base::fail(base::Code::kConfig, fmt::format("PLANT_DEFECT={}: there are {}", wanted, names));
}

}  // namespace server
