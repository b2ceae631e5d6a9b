#pragma once
// IndexCheck: the rule of sender.h, that an index of an SSRC is not used for different bytes, checked for the last
// kPackets indices of each SSRC. The sanitizer build's Sender and the tests of what is above it have one. Pure.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace srtp {

class IndexCheck {
  public:
    static constexpr size_t kPackets = 2048;

    // A packet of these parts, before encryption. False: other bytes had the index.
    bool permits(uint32_t ssrc, uint64_t index, std::span<const uint8_t> header, std::span<const uint8_t> first,
                 std::span<const uint8_t> second) {
        packet_.clear();
        for (std::span<const uint8_t> part : {header, first, second})
            packet_.append(reinterpret_cast<const char*>(part.data()), part.size());
        const uint64_t hash = std::hash<std::string>()(packet_);
        std::vector<Used>& all = used_[ssrc];
        if (all.empty()) all.resize(kPackets);
        Used& used = all[index % kPackets];
        if (used.index == index) return used.hash == hash;
        used = {.index = index, .hash = hash};
        return true;
    }

  private:
    struct Used {
        uint64_t index = UINT64_MAX, hash = 0;  // of none
    };

    std::string packet_;  // of the last call, to save its allocation
    std::unordered_map<uint32_t, std::vector<Used>> used_;
};

}  // namespace srtp
