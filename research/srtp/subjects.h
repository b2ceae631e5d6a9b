#pragma once
// What is measured: who protects RTP packets from a shared plaintext into an arena, as a WebRTC viewer's send path does
// it.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "protocol/srtp/keys.h"

namespace measure {

// One viewer's context. Packets are protected in the order of their sequence numbers.
class Context {
  public:
    virtual ~Context() = default;
    // header: 12 bytes. Returns the size in `out`.
    virtual size_t protect(std::span<const uint8_t> header, std::span<const uint8_t> payload, uint64_t index,
                           uint8_t* out) = 0;
};

struct Subject {
    std::string name;
    virtual ~Subject() = default;
    virtual std::unique_ptr<Context> make(srtp::Profile profile, const srtp::MasterKey& key) = 0;
};

// srtp::Sender.
std::unique_ptr<Subject> own();
// libsrtp2, loaded from a file. Null, with a line on stderr, when that is not possible.
std::unique_ptr<Subject> libsrtp(const std::string& name, const std::string& file);

}  // namespace measure
