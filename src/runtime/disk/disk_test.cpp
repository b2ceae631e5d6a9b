#include "runtime/disk/disk.h"

#include <sys/stat.h>

#include <cerrno>
#include <random>
#include <set>

#include "runtime/disk/disk_buffers.h"
#include "runtime/disk/disk_testing.h"

namespace runtime::disk {
namespace {

using runtime::testing::Bytes;
using runtime::testing::DiskTest;
using runtime::testing::ok;
using runtime::testing::Outcome;
using runtime::testing::pattern;
using runtime::testing::read_file;
using runtime::testing::span_of;

TEST_F(DiskTest, WhatWasAppendedIsInTheFileWhateverTheSizes) {
    std::mt19937 random(7);
    for (const size_t most : {1u, 300u, 5000u, 100'000u, 700'000u}) {
        const auto path = at(fmt::format("a/b/{}.bin", most));
        auto file = AppendFile::create(path);
        Bytes all;
        const int count = most < 1000 ? 3000 : 40;
        for (int i = 0; i < count; ++i) {
            const auto part = pattern(random() % (most + 1), all.size());
            ASSERT_TRUE(ok(file->append(part)));
            all.insert(all.end(), part.begin(), part.end());
            if (random() % 16 == 0) {
                ASSERT_TRUE(ok(yield()));
            }
        }
        EXPECT_EQ(file->size(), all.size());
        ASSERT_TRUE(ok(finish(*file)));
        EXPECT_EQ(file->written(), all.size());
        EXPECT_TRUE(read_file(path) == all) << path;
    }
}

TEST_F(DiskTest, SlowBytesAreWrittenByTheFlush) {
    settings_.flush_ms = 100;
    restart();
    auto file = AppendFile::create(at("x"));
    Bytes all;
    for (int i = 0; i < 5; ++i) {
        const auto part = pattern(1500, all.size());
        ASSERT_TRUE(ok(file->append(part)));
        all.insert(all.end(), part.begin(), part.end());
        ASSERT_TRUE(until([&] { return file->written() == all.size(); })) << file->written();
        EXPECT_TRUE(read_file(at("x")) == all) << "what another reader sees";
    }
    ASSERT_TRUE(ok(finish(*file)));
    EXPECT_TRUE(read_file(at("x")) == all);
}

TEST_F(DiskTest, WithoutFlushNothingIsWrittenBeforeABufferIsFull) {
    auto file = AppendFile::create(at("x"), {.flush_ms = 0});
    ASSERT_TRUE(ok(file->append(pattern(1000))));
    ASSERT_TRUE(ok(sleep_ms(1500)));
    EXPECT_EQ(file->written(), 0u);
    ASSERT_TRUE(ok(finish(*file)));
    EXPECT_EQ(read_file(at("x")).size(), 1000u);
}

TEST_F(DiskTest, AFileThatIsNotFlushedMayBeWrittenByOneJob) {
    for (const size_t size : {0u, 1u, 5000u, 32'768u, 40'000u, 300'000u}) {
        const auto path = at(fmt::format("deep/{}", size));
        auto file = AppendFile::create(path + ".tmp", {.flush_ms = 0});
        auto all = pattern(size);
        ASSERT_TRUE(ok(file->append(all)));
        if (size > 10) {
            ASSERT_TRUE(ok(file->overwrite(3, span_of("patch"))));
            std::copy_n("patch", 5, all.begin() + 3);
        }
        ASSERT_TRUE(ok(yield()));
        EXPECT_TRUE(size >= 32'768 || !std::filesystem::exists(path + ".tmp"));
        ASSERT_TRUE(ok(finish(*file, path)));
        EXPECT_TRUE(read_file(path) == all) << size;
        EXPECT_EQ(file->written(), size);
    }
    auto file = AppendFile::create(at("x"), {.flush_ms = 0});
    ASSERT_TRUE(ok(file->append(pattern(100))));
    Outcome outcome;
    file->discard(outcome.done());
    ASSERT_TRUE(ok(outcome.wait()));
    EXPECT_FALSE(std::filesystem::exists(at("x")));
}

TEST_F(DiskTest, AFileThatIsWrittenByOneJobTellsItsErrorAtTheEnd) {
    std::ofstream(at("plain")) << "a file";
    auto file = AppendFile::create(at("plain/x"), {.flush_ms = 0});
    ASSERT_TRUE(ok(file->append(pattern(100))));
    EXPECT_EQ(finish(*file, at("y")).error().text(), fmt::format("opening {}: Not a directory", at("plain/x")));
    set_fault(std::make_unique<Fault>(*parse_fault("op=write error=ENOSPC")));
    file = AppendFile::create(at("x"), {.flush_ms = 0});
    ASSERT_TRUE(ok(file->append(pattern(100))));
    EXPECT_EQ(finish(*file, at("y")).error().system_errno(), ENOSPC);
    EXPECT_FALSE(std::filesystem::exists(at("y")));
}

TEST_F(DiskTest, OverwritesAreInTheFileWhenItIsFinished) {
    auto file = AppendFile::create(at("x.tmp"), {});
    auto all = pattern(300'001);
    ASSERT_TRUE(ok(file->append(all)));
    const auto replace = [&](uint64_t offset, std::string_view with) {
        ASSERT_TRUE(ok(file->overwrite(offset, span_of(with))));
        std::copy(with.begin(), with.end(), all.begin() + static_cast<long>(offset));
    };
    replace(0, "head");
    replace(4094, "over a block");
    replace(4096, "twice");
    replace(299'999, "zz");
    ASSERT_TRUE(ok(finish(*file, at("deep/er/x"))));
    EXPECT_TRUE(read_file(at("deep/er/x")) == all);
    EXPECT_FALSE(std::filesystem::exists(at("x.tmp")));
}

TEST_F(DiskTest, AHeldFileIsNotThereBeforeItIsReleased) {
    for (const int64_t flush_ms : {0, 100}) {
        auto file = AppendFile::create(at("deep/x.tmp"), {.flush_ms = flush_ms, .hold_ms = 60'000});
        const auto all = pattern(300'000);
        ASSERT_TRUE(ok(file->append(all)));
        ASSERT_TRUE(ok(sleep_ms(300)));
        auto release = file->releaser();
        Outcome outcome;
        file->finish(at("deep/x"), outcome.done());
        file.reset();
        ASSERT_TRUE(ok(sleep_ms(50)));
        EXPECT_FALSE(outcome.told());
        EXPECT_FALSE(std::filesystem::exists(at("deep")));
        release();
        ASSERT_TRUE(ok(outcome.wait()));
        EXPECT_TRUE(read_file(at("deep/x")) == all);
        EXPECT_FALSE(std::filesystem::exists(at("deep/x.tmp")));
        std::filesystem::remove_all(at("deep"));
    }
}

TEST_F(DiskTest, AFileIsHeldForABoundedTime) {
    auto file = AppendFile::create(at("x"), {.flush_ms = 100, .hold_ms = 500});
    ASSERT_TRUE(ok(file->append(pattern(100))));
    ASSERT_TRUE(ok(sleep_ms(300)));
    EXPECT_FALSE(std::filesystem::exists(at("x")));
    EXPECT_TRUE(until([&] { return file->written() == 100; }));
    file->releaser()();
    ASSERT_TRUE(ok(finish(*file)));
    EXPECT_EQ(read_file(at("x")).size(), 100u);

    Outcome outcome;
    AppendFile::create(at("y"), {.hold_ms = 100})->discard(outcome.done());
    ASSERT_TRUE(ok(outcome.wait()));
    EXPECT_FALSE(std::filesystem::exists(at("y")));
}

TEST_F(DiskTest, AnEmptyFileIsAFile) {
    auto file = AppendFile::create(at("x"), {.sync = true});
    ASSERT_TRUE(ok(finish(*file)));
    EXPECT_EQ(std::filesystem::file_size(at("x")), 0u);
}

TEST_F(DiskTest, OlderBytesOfTheNameAreGone) {
    std::ofstream(at("x")) << std::string(100'000, 'x');
    auto file = AppendFile::create(at("x"), {});
    ASSERT_TRUE(ok(file->append(span_of("new"))));
    ASSERT_TRUE(ok(finish(*file)));
    EXPECT_EQ(read_file(at("x")), (Bytes{'n', 'e', 'w'}));
}

TEST_F(DiskTest, TheObjectMayGoBeforeTheFileIsDone) {
    Outcome outcome;
    auto file = AppendFile::create(at("x.tmp"), {});
    ASSERT_TRUE(ok(file->append(pattern(500'000))));
    file->finish(at("x"), outcome.done());
    EXPECT_FALSE(outcome.told());
    file.reset();
    ASSERT_TRUE(ok(outcome.wait()));
    EXPECT_TRUE(read_file(at("x")) == pattern(500'000));

    file = AppendFile::create(at("left"), {});
    ASSERT_TRUE(ok(file->append(pattern(500'000))));
    file.reset();
    ASSERT_TRUE(ok(drain(Deadline::in_ms(60'000))));
    EXPECT_TRUE(read_file(at("left")) == pattern(500'000));
}

TEST_F(DiskTest, ADiscardedFileIsGone) {
    Outcome outcome;
    auto file = AppendFile::create(at("x"), {});
    ASSERT_TRUE(ok(file->append(pattern(500'000))));
    file->discard(outcome.done());
    ASSERT_TRUE(ok(outcome.wait()));
    EXPECT_FALSE(std::filesystem::exists(at("x")));
}

TEST_F(DiskTest, OperationsOnOnePathRunInOrder) {
    for (int round = 0; round < 20; ++round) {
        const auto text = fmt::format("round {}", round);
        auto file = AppendFile::create(at("x.tmp"), {});
        ASSERT_TRUE(ok(file->append(span_of(text))));
        Outcome outcome[5];
        file->finish(at("x"), outcome[0].done());
        rename(at("x"), at("y"), outcome[1].done());
        write_file(at("x"), "other", outcome[2].done());
        remove(at("x"), outcome[3].done());
        rename(at("y"), at("d/z"), outcome[4].done());
        file = AppendFile::create(at("x.tmp"), {});
        ASSERT_TRUE(ok(file->append(span_of("second"))));
        for (auto& one : outcome) ASSERT_TRUE(ok(one.wait()));
        EXPECT_EQ(read_file(at("d/z")), Bytes(text.begin(), text.end()));
        EXPECT_FALSE(std::filesystem::exists(at("x")));
        EXPECT_FALSE(std::filesystem::exists(at("y")));
        ASSERT_TRUE(ok(finish(*file)));
        EXPECT_EQ(read_file(at("x.tmp")).size(), 6u);
    }
}

TEST_F(DiskTest, SmallFilesAreReplacedWhole) {
    for (const std::string text : {"one", "", "three"}) {
        Outcome outcome;
        write_file(at("dir/list"), text, outcome.done());
        ASSERT_TRUE(ok(outcome.wait()));
        EXPECT_EQ(read_file(at("dir/list")), Bytes(text.begin(), text.end()));
        EXPECT_FALSE(std::filesystem::exists(at("dir/list.tmp")));
    }
    Outcome first, second;
    remove(at("dir/list"), first.done(), true);
    ASSERT_TRUE(ok(first.wait()));
    EXPECT_FALSE(std::filesystem::exists(at("dir")));
    remove(at("dir/list"), second.done());
    EXPECT_TRUE(ok(second.wait()));
}

TEST(BufferPoolTest, SpareBuffersOfASizeThatFilesHaveGrownOutOfMakeRoom) {
    constexpr size_t kAtOnce = 16 * 1024 * 1024;
    constexpr size_t kSmall = 32 * 1024;
    constexpr size_t kLarge = 128 * 1024;
    BufferPool pool;
    for (const size_t size : {kSmall, kLarge}) {
        std::vector<Buffer> out;
        for (size_t bytes = 0; bytes < kAtOnce; bytes += size) out.push_back(pool.take(size));
        for (auto& buffer : out) pool.give(std::move(buffer));
    }
    const size_t spare = pool.bytes();
    EXPECT_GE(spare, kAtOnce / 4 - kLarge);
    EXPECT_LE(spare, kAtOnce / 2);
    std::vector<Buffer> out;
    while (out.size() < spare / kLarge) out.push_back(pool.take(kLarge));
    EXPECT_EQ(pool.bytes(), spare) << "all spare buffers have the last requested size";
}

TEST_F(DiskTest, BuffersFollowTheRate) {
    // Few bytes at a time: the smallest buffers suffice.
    settings_.flush_ms = 100;
    restart();
    auto slow = AppendFile::create(at("slow"), {});
    for (int i = 0; i < 8; ++i) {
        ASSERT_TRUE(ok(slow->append(pattern(100, slow->size()))));
        ASSERT_TRUE(until([&] { return slow->written() == slow->size(); }));
    }
    EXPECT_LE(status().bytes_buffered, 4 * 32u * 1024);
    // Many bytes at once: large writes.
    const auto before = status().writes;
    auto quick = AppendFile::create(at("quick"), {});
    for (int i = 0; i < 400; ++i) ASSERT_TRUE(ok(quick->append(pattern(50'000, quick->size()))));
    ASSERT_TRUE(ok(finish(*quick)));
    EXPECT_LT(status().writes - before, 20'000'000 / 100'000u);
    EXPECT_TRUE(read_file(at("quick")) == pattern(20'000'000));
    ASSERT_TRUE(ok(finish(*slow)));
}

TEST_F(DiskTest, ManyFilesAtOnce) {
    std::vector<std::unique_ptr<AppendFile>> files;
    for (int i = 0; i < 200; ++i) files.push_back(AppendFile::create(at(fmt::format("{}/{}.tmp", i % 7, i)), {}));
    EXPECT_EQ(status().files_open, 200u);
    for (int round = 0; round < 20; ++round) {
        for (auto& file : files) ASSERT_TRUE(ok(file->append(pattern(3000, file->size()))));
        ASSERT_TRUE(ok(yield()));
    }
    size_t done = 0;
    for (auto& file : files)
        file->finish(file->path().substr(0, file->path().size() - 4), [&](base::Result<void> result) {
            EXPECT_TRUE(ok(result));
            ++done;
        });
    files.clear();
    ASSERT_TRUE(until([&] { return done == 200; }));
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(read_file(at(fmt::format("{}/{}", i % 7, i))) == pattern(60'000)) << i;
}

}  // namespace
}  // namespace runtime::disk
