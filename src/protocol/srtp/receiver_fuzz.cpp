// Arbitrary bytes to a receiver, and packets that were protected and then changed: only packets made by a sender are
// accepted. Bytes that are not protected here are opened with another key, since libFuzzer remembers protected packets
// and tries them. First byte: profile, RTP or RTCP, and whether the rest is protected first; then the position and kind
// of the change.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "protocol/rtp/packet.h"
#include "protocol/srtp/receiver.h"
#include "protocol/srtp/sender.h"

namespace {

using Bytes = std::vector<uint8_t>;

bool open(srtp::Receiver& receiver, bool rtcp, Bytes bytes) {
    auto size = rtcp ? receiver.unprotect_rtcp(bytes) : receiver.unprotect_rtp(bytes);
    if (size) CHECK(*size < bytes.size());
    return size.has_value();
}

// Empty when the input is not a packet.
Bytes protect(srtp::Sender& sender, bool rtcp, std::span<const uint8_t> plain) {
    Bytes out(plain.size() + srtp::kMaxOverhead);
    size_t header = rtp::header_size(plain);
    if (rtcp ? plain.size() < 8 || plain[0] >> 6 != 2 : header == 0) return {};
    out.resize(
        rtcp ? sender.protect_rtcp(plain, out.data())
             : sender.protect_rtp(plain.first(header), plain.subspan(header), rtp::get_u16(&plain[2]), out.data()));
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 4) return 0;
    auto profile = data[0] & 1 ? srtp::Profile::kAeadAes128Gcm : srtp::Profile::kAes128CmSha1_80;
    bool rtcp = data[0] & 2;
    std::span<const uint8_t> rest(data + 4, size - 4);
    srtp::MasterKey key;
    srtp::Receiver receiver(profile, key);
    srtp::Sender sender(profile, key);
    if (!(data[0] & 4)) {
        srtp::MasterKey other;
        other.key[0] = 1;
        srtp::Receiver stranger(profile, other);
        CHECK(!open(stranger, rtcp, {rest.begin(), rest.end()}));
        return 0;
    }
    Bytes sealed = protect(sender, rtcp, rest);
    if (sealed.empty()) return 0;
    Bytes changed = sealed;
    if (data[0] & 8) changed.resize(rtp::get_u16(data + 1) % (changed.size() + 1));
    if (!changed.empty()) changed[rtp::get_u16(data + 1) % changed.size()] ^= data[3];
    if (changed != sealed) CHECK(!open(receiver, rtcp, changed));
    CHECK(open(receiver, rtcp, sealed));
    CHECK(!open(receiver, rtcp, sealed));
    return 0;
}
