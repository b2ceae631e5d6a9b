#pragma once
// For tests of the disk engine: a fixture that runs it over a directory of its own, bytes to write, and
// what a Done was told.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "runtime/disk/disk.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/services.h"
#include "runtime/loop/sync.h"
#include "runtime/loop/testing.h"

namespace runtime::testing {

using Bytes = std::vector<uint8_t>;

inline Bytes read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Bytes whose values depend on their position.
inline Bytes pattern(size_t size, uint64_t from = 0) {
    Bytes bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(((from + i) * 2654435761u) >> 13);
    return bytes;
}

inline std::span<const uint8_t> span_of(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Records the result passed to a Done; wait() yields until then.
class Outcome {
  public:
    disk::Done done() {
        return [this](base::Result<void> result) {
            EXPECT_FALSE(result_.has_value()) << "called twice";
            result_ = std::move(result);
            ++reported_;
            told_event_.set();
        };
    }
    base::Result<void> wait() {
        auto waited = told_event_.wait(Deadline::in_ms(60'000));
        if (!waited) return waited;
        return std::move(*result_);
    }
    bool told() const { return result_.has_value(); }

  private:
    std::optional<base::Result<void>> result_;
    int reported_ = 0;
    Event told_event_;
};

class DiskTest : public ::testing::Test {
  protected:
    void SetUp() override {
        start_loop_once();
        std::string name = std::filesystem::temp_directory_path() / "disk_test.XXXXXX";
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        root_ = name;
        restart();
    }
    void TearDown() override {
        disk::set_fault(nullptr);
        EXPECT_TRUE(ok(disk::drain(Deadline::in_ms(60'000))));
        EXPECT_EQ(disk::status().bytes_in_flight, 0u);
        EXPECT_EQ(disk::status().files_open, 0u);
        detail::stop_services();
        std::filesystem::remove_all(root_);
    }
    // Stops a running engine, and starts one with settings_.
    void restart() {
        detail::stop_services();
        ASSERT_TRUE(ok(disk::start(settings_)));
    }
    std::string at(std::string_view name) const { return root_ + "/" + std::string(name); }
    static base::Result<void> finish(disk::AppendFile& file, std::string rename_to = {}) {
        Outcome outcome;
        file.finish(std::move(rename_to), outcome.done());
        return outcome.wait();
    }
    // Runs the loop until so() is true, for a bounded number of iterations.
    static bool until(std::move_only_function<bool()> so) {
        for (int i = 0; i < 3000; ++i) {
            if (so()) return true;
            if (!sleep_ms(10)) return false;
        }
        return false;
    }

    std::string root_;
    disk::Settings settings_;
};

}  // namespace runtime::testing
