#pragma once
// GbChannels: the streams that a signalling server has announced (POST /gb/v1/publish/), each by its id, the stream's
// name, and by the SSRC of the camera that will send it. Both are reserved until the camera's session has ended, or
// until none has come in time. Nobody else can publish by GB28181. Pure: times are passed in.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace service::caster {

class GbSession;

struct GbChannel {
    std::string id{};
    uint32_t ssrc = 0;
    std::string output{};          // of the caster
    int64_t expires_us = 0;        // unless it has a session
    GbSession* session = nullptr;  // null: none has come yet
};

// A decimal number of at most ten digits, as GB/T 28181 writes it; zeros may precede. kProtocol: it is none, or above
// 32 bits.
base::Result<uint32_t> parse_ssrc(std::string_view text);

class GbChannels {
  public:
    static constexpr size_t kMax = 10'000;

    // kBusy: the id or the SSRC is reserved; kLimit: there are too many.
    base::Result<void> reserve(GbChannel channel);
    // Null: nobody announced it.
    GbChannel* find(uint32_t ssrc);
    void release(uint32_t ssrc);
    // Releases one that no session came for in time, and returns it; nothing: there is none.
    std::optional<GbChannel> take_expired(int64_t now_us);
    size_t size() const { return by_ssrc_.size(); }
    size_t waiting() const;  // without a session

  private:
    std::map<uint32_t, GbChannel> by_ssrc_;  // trees: their keys are chosen by others
    std::map<std::string, uint32_t> by_id_;
};

}  // namespace service::caster
