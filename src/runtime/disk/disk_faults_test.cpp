// What the engine does when the disk refuses, is full or late; and the words for such faults.

#include <cerrno>
#include <cstdlib>
#include <future>

#include "runtime/disk/disk_testing.h"
#include "runtime/loop/reactor.h"

namespace runtime::disk {
namespace {

using runtime::testing::DiskTest;
using runtime::testing::failed_with;
using runtime::testing::ok;
using runtime::testing::Outcome;
using runtime::testing::pattern;
using runtime::testing::read_file;

class DiskFaultTest : public DiskTest {};

TEST_F(DiskFaultTest, ErrorsNameTheFileAndTheReason) {
    std::ofstream(at("plain")) << "a file";
    auto file = AppendFile::create(at("plain/x"), {});
    ASSERT_TRUE(until([&] { return file->error() != nullptr; }));
    EXPECT_EQ(file->error()->text(), fmt::format("opening {}: Not a directory", at("plain/x")));
    for (int i = 0; i < 2; ++i) {
        auto appended = file->append(pattern(10));
        ASSERT_TRUE(failed_with(appended, base::Code::kSystem));
        EXPECT_EQ(appended.error().system_errno(), ENOTDIR);
    }
    auto finished = finish(*file, at("y"));
    ASSERT_TRUE(failed_with(finished, base::Code::kSystem));
    EXPECT_EQ(finished.error().text(), fmt::format("opening {}: Not a directory", at("plain/x")));
    EXPECT_FALSE(std::filesystem::exists(at("y")));
    EXPECT_EQ(status().files_failed, 1u);
    EXPECT_EQ(status().files_dropped, 0u);
    EXPECT_NE(status().last_error.find("plain/x"), std::string::npos);

    Outcome outcome;
    write_file(at("plain/z"), "x", outcome.done());
    auto written = outcome.wait();
    ASSERT_TRUE(failed_with(written, base::Code::kSystem));
    EXPECT_EQ(written.error().text(), fmt::format("writing {}: Not a directory", at("plain/z")));
}

TEST_F(DiskFaultTest, AFileWhoseDirectoryIsGoneCannotBeRenamed) {
    auto file = AppendFile::create(at("gone/x.tmp"), {});
    ASSERT_TRUE(ok(file->append(pattern(100'000))));
    ASSERT_TRUE(until([&] { return file->written() > 0; }));
    std::filesystem::remove_all(at("gone"));
    auto finished = finish(*file, at("gone/x"));
    ASSERT_TRUE(failed_with(finished, base::Code::kSystem));
    EXPECT_EQ(finished.error().text(), fmt::format("renaming {}: No such file or directory", at("gone/x.tmp")));
}

TEST_F(DiskFaultTest, AFullDiskEndsTheFileAtWhatWasWritten) {
    auto file = AppendFile::create(at("full/x.tmp"), {});
    auto other = AppendFile::create(at("fine/y"), {});
    ASSERT_TRUE(ok(file->append(pattern(200'000))));
    ASSERT_TRUE(until([&] { return file->written() > 0; }));
    set_fault(std::make_unique<Fault>(*parse_fault("path=full/ op=write error=ENOSPC")));
    uint64_t size = 200'000;
    ASSERT_TRUE(until([&] {
        EXPECT_TRUE(ok(other->append(pattern(5000, other->size()))));
        if (!file->append(pattern(5000, size))) return true;
        size += 5000;
        return false;
    }));
    EXPECT_EQ(file->error()->text(), fmt::format("writing {}: No space left on device", at("full/x.tmp")));
    const auto written = file->written();
    EXPECT_GT(written, 0u);
    EXPECT_EQ(finish(*file, at("full/x")).error().system_errno(), ENOSPC);
    EXPECT_TRUE(read_file(at("full/x.tmp")) == pattern(written));
    EXPECT_FALSE(std::filesystem::exists(at("full/x")));
    ASSERT_TRUE(ok(finish(*other)));
    EXPECT_TRUE(read_file(at("fine/y")) == pattern(other->size()));
    EXPECT_EQ(status().files_failed, 1u);
}

TEST_F(DiskFaultTest, ASlowDiskEndsAFileAtItsBoundAndTheLoopRunsOn) {
    settings_.file_limit_bytes = 1'000'000;
    restart();
    set_fault(std::make_unique<Fault>(*parse_fault("path=slow op=write delay_ms=2000")));
    auto file = AppendFile::create(at("slow"), {});
    auto other = AppendFile::create(at("quick"), {});
    ASSERT_TRUE(until([] { return status().operations == 0; }));
    uint64_t size = 0;
    const auto passes = detail::reactor_counters().iterations;
    int steps = 0;
    while (file->append(pattern(10'000, size))) {
        size += 10'000;
        ++steps;
        ASSERT_TRUE(ok(other->append(pattern(1000, other->size()))));
        ASSERT_LT(size, 3'000'000u) << "the bound was not applied";
        EXPECT_LE(status().bytes_in_flight, 1'500'000u);
        ASSERT_TRUE(ok(yield()));
    }
    // The loop continued to run while the write was delayed: nothing slept in it.
    EXPECT_GT(size, 500'000u);
    EXPECT_EQ(file->written(), 0u);
    EXPECT_GE(detail::reactor_counters().iterations, passes);
    EXPECT_GE(steps, 50);
    EXPECT_EQ(file->error()->code(), base::Code::kLimit);
    EXPECT_NE(file->error()->text().find("the disk is too slow for " + at("slow")), std::string::npos)
        << file->error()->text();
    EXPECT_EQ(status().files_dropped, 1u);
    // The write in progress is awaited, not aborted.
    EXPECT_TRUE(failed_with(finish(*file), base::Code::kLimit));
    EXPECT_TRUE(read_file(at("slow")) == pattern(file->written()));
    ASSERT_TRUE(ok(finish(*other)));
    EXPECT_GE(status().slow_warnings, 1u);
}

TEST_F(DiskFaultTest, TheBoundOfAllHolds) {
    settings_.file_limit_bytes = 1'000'000;
    settings_.total_limit_bytes = 2'000'000;
    restart();
    set_fault(std::make_unique<Fault>(*parse_fault("op=write delay_ms=1000")));
    std::vector<std::unique_ptr<AppendFile>> files;
    for (int i = 0; i < 5; ++i) files.push_back(AppendFile::create(at(fmt::format("{}", i)), {}));
    int failed = 0;
    for (int i = 0; i < 60; ++i) {
        failed = 0;
        for (auto& file : files) failed += !file->append(pattern(10'000, file->size()));
        EXPECT_LE(status().bytes_in_flight, 2'000'000u);
        ASSERT_TRUE(ok(yield()));
    }
    EXPECT_GE(failed, 1);
    EXPECT_LT(failed, 5);
    for (auto& file : files) {
        const bool had_failed = file->error() != nullptr;
        EXPECT_EQ(finish(*file).has_value(), !had_failed);
        EXPECT_TRUE(read_file(file->path()) == pattern(had_failed ? file->written() : file->size()));
    }
}

TEST_F(DiskFaultTest, ADelayIsNoErrorWhileThereIsRoom) {
    set_fault(std::make_unique<Fault>(*parse_fault("op=any delay_ms=300")));
    auto file = AppendFile::create(at("x.tmp"), {});
    for (int i = 0; i < 50; ++i) {
        ASSERT_TRUE(ok(file->append(pattern(20'000, file->size()))));
        ASSERT_TRUE(ok(sleep_ms(10)));
    }
    ASSERT_TRUE(ok(finish(*file, at("x"))));
    EXPECT_TRUE(read_file(at("x")) == pattern(1'000'000));
}

TEST_F(DiskFaultTest, AnOpenThatFailsLate) {
    set_fault(std::make_unique<Fault>(*parse_fault("op=open delay_ms=200 error=EACCES")));
    auto file = AppendFile::create(at("x"), {});
    ASSERT_TRUE(ok(file->append(pattern(200'000))));
    ASSERT_TRUE(until([&] { return file->error() != nullptr; }));
    EXPECT_EQ(file->error()->text(), fmt::format("opening {}: Permission denied", at("x")));
    EXPECT_TRUE(failed_with(finish(*file), base::Code::kSystem));
}

TEST_F(DiskFaultTest, ALongJobLeavesAThreadForTheOthers) {
    std::promise<void> go_on;
    Outcome outcome[3];
    std::atomic<int> at_once = 0, most = 0;
    for (auto& one : outcome) {
        run(
            [&,
             future = std::make_shared<std::shared_future<void>>(
                 &one == outcome ? go_on.get_future().share() : std::shared_future<void>())]() -> base::Result<void> {
                most = std::max<int>(most, ++at_once);
                if (future->valid()) future->wait();
                --at_once;
                return base::fail(base::Code::kNotFound, "as it should");
            },
            one.done());
    }
    auto file = AppendFile::create(at("x.tmp"), {});
    ASSERT_TRUE(ok(file->append(pattern(2'000'000))));
    ASSERT_TRUE(ok(finish(*file, at("x"))));
    EXPECT_FALSE(outcome[0].told());
    go_on.set_value();
    for (auto& one : outcome) EXPECT_TRUE(failed_with(one.wait(), base::Code::kNotFound));
    EXPECT_EQ(most, 1);
}

TEST(DiskFaultWordsTest, WordsAreRead) {
    const auto fault = parse_fault("path=live/x  op=write delay_ms=2000\nerror=ENOSPC from_offset=100\n");
    ASSERT_TRUE(ok(fault));
    EXPECT_EQ(fault->path, "live/x");
    EXPECT_TRUE(fault->on_write && !fault->on_open && !fault->on_close);
    EXPECT_EQ(fault->delay_ms, 2000);
    EXPECT_EQ(fault->error, ENOSPC);
    EXPECT_EQ(fault->from_offset, 100u);
    for (const char* bad : {"path", "op=none", "error=EWHAT", "delay_ms=x", "speed=3"})
        EXPECT_TRUE(failed_with(parse_fault(bad), base::Code::kConfig)) << bad;
}

TEST(DiskFaultWordsTest, WordsInTheEnvironmentThatMeanNothingAreAnError) {
    runtime::testing::start_loop_once();
    detail::stop_services();
    setenv("DISK_FAULT", "op=none", 1);
    EXPECT_TRUE(failed_with(start({}), base::Code::kConfig));
    unsetenv("DISK_FAULT");
    EXPECT_TRUE(ok(start({})));
    detail::stop_services();
}

}  // namespace
}  // namespace runtime::disk
