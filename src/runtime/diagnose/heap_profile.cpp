#include "runtime/diagnose/heap_profile.h"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>

#include "runtime/loop/coroutine.h"

namespace runtime {
namespace {

// gperftools/heap-profiler.h, looked up by name: it is linked only in some builds.
struct HeapProfiler {
    int (*is_running)() = nullptr;
    void (*start)(const char* prefix) = nullptr;
    void (*stop)() = nullptr;
    char* (*profile)() = nullptr;

    explicit operator bool() const { return is_running && start && stop && profile; }
};

template <class Function>
void look_up(const char* name, Function& out) {
    out = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

HeapProfiler find_profiler() {
    HeapProfiler found;
    look_up("IsHeapProfilerRunning", found.is_running);
    look_up("HeapProfilerStart", found.start);
    look_up("HeapProfilerStop", found.stop);
    look_up("GetHeapProfile", found.profile);
    return found;
}

bool recording = false;

}  // namespace

bool can_profile_heap() { return static_cast<bool>(find_profiler()); }

base::Result<std::string> record_heap_profile(int64_t duration_ms) {
    const HeapProfiler profiler = find_profiler();
    if (!profiler) return base::fail(base::Code::kNotFound, "tcmalloc is not linked");
    if (recording) return base::fail(base::Code::kBusy, "a heap profile is being recorded already");
    struct Recording {
        ~Recording() {
            if (own) own();
            recording = false;
        }
        void (*own)() = nullptr;  // stops the profiler that we started
    } guard;
    recording = true;
    if (!profiler.is_running()) {
        // tcmalloc writes files of this name only when 100 MB more are in use.
        profiler.start("gperf.srs.heap");
        guard.own = profiler.stop;
        TRY(sleep_ms(duration_ms));
    }
    const std::unique_ptr<char, decltype(&std::free)> text(profiler.profile(), std::free);
    if (!text) return base::fail(base::Code::kOther, "the heap profiler gave nothing");
    return std::string(text.get());
}

}  // namespace runtime
