#include "runtime/diagnose/cpu_profile.h"

#include <cstdlib>
#include <cstring>

#include "runtime/diagnose/symbols.h"
#include "runtime/loop/cpu_slice.h"
#include "runtime/loop/sync.h"
#include "runtime/loop/testing.h"

namespace runtime {
namespace {

using testing::failed_with;
using testing::ok;

__attribute__((noinline, noclone)) void hot_loop_of_the_test(int64_t us) {
    const int64_t end = thread_cpu_us() + us;
    volatile uint64_t sum = 0;
    while (thread_cpu_us() < end) {
        for (int i = 0; i < 20'000; ++i) sum = sum + static_cast<uint64_t>(i);
    }
}

// The time is spent in libc, whose frames carry little information. The address sanitizer does not intercept
// strfromd().
__attribute__((noinline, noclone)) void hot_library_of_the_test(int64_t us) {
    const int64_t end = thread_cpu_us() + us;
    char text[400];
    volatile double value = 1e300 / 7;
    while (thread_cpu_us() < end) {
        for (int i = 0; i < 100; ++i) strfromd(text, sizeof text, "%.200f", value);
    }
}

struct Seen {
    uint64_t samples = 0;
    uint64_t inside = 0;  // samples that contain that function
    uint64_t whole = 0;   // ... and also the coroutine's first function
    std::string example;
};

Seen look_for(const CpuProfile& profile, std::string_view function) {
    const Symbols& symbols = Symbols::get();
    Seen seen;
    for (size_t at = 0; at + 2 <= profile.records.size();) {
        const size_t count = profile.records[at + 1];
        std::string calls;
        for (size_t i = 0; i < count; ++i) calls += symbols.name(profile.records[at + 2 + i] - (i ? 1 : 0)) + "\n";
        ++seen.samples;
        seen.inside += calls.contains(function);
        seen.whole += calls.contains(function) && calls.contains("coroutine_main");
        if (!calls.contains(function) || seen.example.empty()) seen.example = calls;
        at += 2 + count;
    }
    return seen;
}

class CpuProfileTest : public testing::RuntimeTest {
  protected:
    // Burns CPU in a coroutine that yields every few milliseconds, and records meanwhile.
    CpuProfile record(void (*burn)(int64_t us)) {
        bool stop = false;
        auto burner = spawn("burner", [&] {
            while (!stop) {
                burn(3000);
                static_cast<void>(yield());
            }
        });
        auto profile = record_cpu_profile({.duration_ms = 1000});
        stop = true;
        burner.cancel_and_join();
        EXPECT_TRUE(ok(profile));
        return profile ? *std::move(profile) : CpuProfile{};
    }

    // Again where other processes had the processors meanwhile.
    Seen see(void (*burn)(int64_t us), std::string_view function) {
        Seen seen;
        for (int i = 0; i < 5 && seen.samples < kEnough; ++i) seen = look_for(record(burn), function);
        std::printf("%lu samples, %lu of them in the function, %lu whole\n", seen.samples, seen.inside, seen.whole);
        return seen;
    }

    static constexpr size_t kEnough = 5;  // samples
};

TEST_F(CpuProfileTest, NamesTheHotFunctionAndItsCallers) {
    const Seen seen = see(hot_loop_of_the_test, "hot_loop_of_the_test");
    ASSERT_GE(seen.samples, kEnough);
    EXPECT_GE(seen.inside * 10, seen.samples * 6) << seen.example;
    EXPECT_GE(seen.whole * 10, seen.inside * 8) << seen.example;
}

TEST_F(CpuProfileTest, NamesWhoCalledTheLibrary) {
    const Seen seen = see(hot_library_of_the_test, "hot_library_of_the_test");
    ASSERT_GE(seen.samples, kEnough);
    EXPECT_GE(seen.inside * 10, seen.samples * 6) << seen.example;
    EXPECT_GE(seen.whole * 10, seen.inside * 6) << seen.example;
}

TEST_F(CpuProfileTest, OneAtATimeAndGivenUp) {
    bool leave = false;
    base::Result<CpuProfile> first = base::fail(base::Code::kOther, "not run");
    auto task = spawn("recorder",
                      [&] { first = record_cpu_profile({.duration_ms = 600'000, .give_up = [&] { return leave; }}); });
    ASSERT_TRUE(ok(sleep_ms(5)));
    EXPECT_TRUE(failed_with(record_cpu_profile({.duration_ms = 10}), base::Code::kBusy));
    leave = true;
    ASSERT_TRUE(ok(task.join(Deadline::in_ms(10'000))));
    EXPECT_TRUE(failed_with(first, base::Code::kCancelled));
    // A second recording must work.
    EXPECT_TRUE(ok(record_cpu_profile({.duration_ms = 10})));
}

TEST_F(CpuProfileTest, PprofForm) {
    CpuProfile profile;
    profile.period_us = 10'000;
    profile.records = {2, 3, 0x10, 0x20, 0x30};
    const std::string bytes = profile.to_pprof();
    const std::vector<uintptr_t> expected = {0, 3, 0, 10'000, 0, 2, 3, 0x10, 0x20, 0x30, 0, 1, 0};
    ASSERT_GT(bytes.size(), expected.size() * sizeof(uintptr_t));
    EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), expected.size() * sizeof(uintptr_t)), 0);
    EXPECT_NE(bytes.find("r-xp", expected.size() * sizeof(uintptr_t)), std::string::npos);
}

TEST(Symbols, NamesWithoutTemplateArguments) {
    for (const auto& [name, plain] : std::initializer_list<std::pair<const char*, const char*>>{
             {"live::Audience::pump()", "live::Audience::pump()"},
             {"std::map<Key, std::vector<int> >::find(Key const&) const", "std::map::find(Key const&) const"},
             {"void f<int, &g<long> >(std::function<void (int)>)", "void f(std::function)"},
             {"a::operator<<(b<c>)", "a::operator<<(b)"},
             {"a<b>::operator->() const", "a::operator->() const"},
             {"base::operator<=>(x, y)", "base::operator<=>(x, y)"},
             {"srs+0x12", "srs+0x12"}})
        EXPECT_EQ(without_template_arguments(name), plain);
}

TEST(Symbols, NamesOurFunctionsAndThoseOfLibraries) {
    const Symbols& symbols = Symbols::get();
    ASSERT_GT(symbols.size(), 100u);
    const auto ours = reinterpret_cast<uintptr_t>(&hot_loop_of_the_test);
    EXPECT_EQ(symbols.name(ours + 1), "runtime::(anonymous namespace)::hot_loop_of_the_test(long)");
    EXPECT_NE(symbols.name(reinterpret_cast<uintptr_t>(&std::fopen)).find("fopen"), std::string::npos);
    EXPECT_EQ(symbols.name(16), "0x10");
}

// Checks where a coroutine waits, by its frames.
__attribute__((noinline, noclone)) void waits_in_the_test(Event& event) {
    static_cast<void>(event.wait(Deadline::never()));
    asm volatile("");  // not a tail call
}

TEST_F(CpuProfileTest, CallsOfACoroutineThatWaits) {
    Event event;
    auto task = spawn("to-be-walked", [&] { waits_in_the_test(event); });
    ASSERT_TRUE(ok(sleep_ms(5)));
    std::string calls;
    for (const auto& info : list_coroutines(true)) {
        if (info.name != "to-be-walked") continue;
        for (const uintptr_t address : info.calls) calls += Symbols::get().name(address - 1) + "\n";
    }
    EXPECT_NE(calls.find("Event::wait"), std::string::npos) << calls;
    EXPECT_NE(calls.find("waits_in_the_test"), std::string::npos) << calls;
    EXPECT_NE(calls.find("coroutine_main"), std::string::npos) << calls;
    task.cancel_and_join();
}

TEST(FoldedProfile, HasEachStackOnceFromTheOutermostInwards) {
    const auto inner = reinterpret_cast<uintptr_t>(&hot_loop_of_the_test);
    const auto outer = reinterpret_cast<uintptr_t>(&hot_library_of_the_test) + 1;
    CpuProfile profile;
    profile.records = {2, 2, inner, outer, 1, 1, inner, 3, 2, inner + 1, outer};
    const std::string loop = Symbols::get().name(inner), library = Symbols::get().name(outer);
    ASSERT_TRUE(loop.contains("hot_loop_of_the_test")) << loop;
    EXPECT_EQ(profile.to_folded(Symbols::get()), library + ";" + loop + " 5\n" + loop + " 1\n");
    EXPECT_EQ(CpuProfile().to_folded(Symbols::get()), "");
}

}  // namespace
}  // namespace runtime
