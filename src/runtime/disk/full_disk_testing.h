#pragma once
// For tests: files of this process cannot be larger than so many bytes while it exists. The kernel writes what fits of
// a longer one, as on a full disk.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

namespace runtime::testing {

class FullDisk {
  public:
    explicit FullDisk(rlim_t max_bytes) {
        ::signal(SIGXFSZ, SIG_IGN);
        EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
        const rlimit small{max_bytes, before_.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    }
    ~FullDisk() { EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0); }
    FullDisk(const FullDisk&) = delete;

  private:
    rlimit before_{};
};

}  // namespace runtime::testing
