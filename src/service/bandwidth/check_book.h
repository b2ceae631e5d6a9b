#pragma once
// CheckBook: the bandwidth checks that are under way: who may begin one, what each may still transfer, and when the
// next bytes of all of them may pass. Each direction has one ceiling for all checks, so that they leave the rest of the
// server's connection to viewers. Pure: times are handed in, us of the loop's clock.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "base/result.h"
#include "net/admission/address_limiter.h"
#include "protocol/srt/pacing.h"

namespace service::bandwidth {

constexpr const char* kNoCheck = "there is no such check, or it has ended";

enum class Direction : uint8_t { kDown, kUp };

// Transfers of it hold it, and end when it has ended.
struct Check {
    static constexpr size_t kMaxTransfers = 8;  // at once

    std::string id;  // not to be guessed
    std::string ip;
    int64_t ends_us;
    uint64_t bytes_left[2];  // by direction
    uint64_t bytes_done[2] = {};
    size_t transfers = 0;
    bool is_ended = false;

    bool may_transfer(Direction direction, int64_t now_us) const {
        return !is_ended && now_us < ends_us && bytes_left[static_cast<size_t>(direction)] > 0;
    }
};
using CheckPtr = std::shared_ptr<Check>;

class CheckBook {
  public:
    // Input that has come beyond the ceiling cannot be unsent: so much is accepted before more is refused.
    static constexpr int64_t kMaxDebtBytes = 8 * 1024 * 1024;

    struct Options {
        int64_t duration_us = 0;
        uint64_t bytes = 0;  // of a check, in each direction
        size_t in_all = 1;
        uint32_t of_address = 1;
        double per_second = 1;  // new checks of an address
        uint32_t burst = 1;
        int64_t bytes_per_second = 1;           // of all checks, in each direction
        std::vector<base::IpNetwork> exempt{};  // from the limits of an address
    };
    struct Counters {
        uint64_t begun = 0;
        uint64_t refused_address = 0, refused_all = 0;
        uint64_t bytes[2] = {};  // by direction
    };

    // Checks that are under way keep what they have.
    void set_options(Options options);
    const Options& options() const { return options_; }

    // id: random. kLimit: too many at once; kRefused: too many of this address.
    base::Result<CheckPtr> begin(std::string id, std::string_view ip, int64_t now_us);
    // Null: there is none, or it has ended.
    CheckPtr find(std::string_view id, int64_t now_us);
    void end(const CheckPtr& check, int64_t now_us);

    // When the next bytes in that direction may pass; now_us or before: now.
    int64_t ready_us(Direction direction) const { return buckets_[static_cast<size_t>(direction)].ready_us(limit()); }
    // Bytes pass at now_us, or, down, when ready_us() was before: then at most as many as the check has left.
    void count(Check& check, Direction direction, uint64_t bytes, int64_t now_us);
    // Up: us until more may pass. net::HttpDrain's errors: no more is wanted, as there is no such check, or it has had
    // what it may, or all checks are too far beyond the ceiling.
    base::Result<int64_t> receive(std::string_view id, uint64_t bytes, int64_t now_us);

    size_t size(int64_t now_us);
    const Counters& counters() const { return counters_; }

  private:
    srt::TokenBucket::Limit limit() const;
    void drop_ended(int64_t now_us);

    Options options_;
    std::vector<CheckPtr> checks_;  // at most in_all
    net::AddressLimiter addresses_;
    srt::TokenBucket buckets_[2];
    Counters counters_;
};

}  // namespace service::bandwidth
