#pragma once
// The packets of an Ogg file with one stream (RFC 3533), as far as measuring wants them.

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace audio {

inline base::Result<std::vector<std::vector<uint8_t>>> read_ogg(const std::string& path) {
    constexpr size_t kHead = 27;
    std::ifstream file(path, std::ios::binary);
    if (!file) return base::fail(base::Code::kNotFound, path);
    std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(file), {});
    std::vector<std::vector<uint8_t>> packets;
    std::vector<uint8_t> packet;
    for (size_t at = 0; at + kHead <= bytes.size();) {
        size_t lacings = at + kHead, body = lacings + bytes[at + 26];
        for (; lacings < at + kHead + bytes[at + 26]; ++lacings) {
            size_t length = lacings < bytes.size() ? bytes[lacings] : 0;
            if (body + length > bytes.size()) return base::fail(base::Code::kProtocol, path + " is cut");
            packet.insert(packet.end(), &bytes[body], &bytes[body] + length);
            body += length;
            if (length < 255) packets.push_back(std::exchange(packet, {}));
        }
        at = body;
    }
    return packets;
}

}  // namespace audio
