#pragma once
// For tests: keys, packets.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/hex_testing.h"
#include "protocol/rtp/packet.h"
#include "protocol/srtp/keys.h"

namespace srtp {

using Bytes = std::vector<uint8_t>;
using base::hex;

inline MasterKey master_key(std::string_view key, std::string_view salt) {
    MasterKey master;
    Bytes k = hex(key), s = hex(salt);
    std::copy(k.begin(), k.end(), master.key.begin());
    std::copy(s.begin(), s.end(), master.salt.begin());
    return master;
}

// The key of RFC 3711, B.3. GCM uses twelve bytes of the salt.
inline MasterKey example_key() {
    return master_key("e1f97a0d3e018be0d64fa32c06de4139", "0ec675ad498afeebb6960b3aabe6");
}

// A header and a payload of `size` bytes with a counting pattern.
inline Bytes rtp_packet(uint32_t ssrc, uint16_t sequence, size_t size) {
    Bytes out(rtp::kFixedHeaderSize);
    rtp::write_header(out.data(), {false, 96, sequence, 3000u * sequence, ssrc});
    for (size_t i = 0; i < size; ++i) out.push_back(static_cast<uint8_t>(i));
    return out;
}

// An empty receiver report, followed by application data of `words` words.
inline Bytes rtcp_packet(uint32_t ssrc, size_t words) {
    Bytes out = {0x80, 201, 0, 1, 0, 0, 0, 0};
    base::put_u32(&out[4], ssrc);
    Bytes app(8 + 4 * words, 0x61);
    app[0] = 0x80;
    app[1] = 204;
    base::put_u16(&app[2], static_cast<uint32_t>(1 + words));
    out.insert(out.end(), app.begin(), app.end());
    return out;
}

}  // namespace srtp
