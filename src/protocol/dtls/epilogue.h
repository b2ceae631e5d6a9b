#pragma once
// Internal. What is left of a DTLS association when its handshake is done and its SRTP keys are out: it carries no
// data, so all that can come is the peer's last flight again, and its farewell; and all that can be sent is our last
// flight again, and our farewell. So OpenSSL's 57 kB go, and this stays: the peer's key to open records with, our last
// flight, and a farewell that was encrypted in advance. For AES-GCM suites (RFC 5288), which are those preferred.

#include <cstdint>
#include <span>
#include <vector>

#include "base/shrink.h"
#include "protocol/dtls/record_keys.h"

struct ssl_st;

namespace dtls {

class Epilogue {
  public:
    enum class What : uint8_t { kNothing, kLastFlightAgain, kClosed };

    // After the handshake. kOther: the suite is none with AES-GCM, so the SSL object has to stay.
    static base::Result<Epilogue> make(ssl_st* ssl, bool client, std::span<const uint8_t> last_flight,
                                       uint64_t next_sequence);

    // A record that came; one that the peer's key does not open is nothing.
    What on_record(const Record& record) const;
    // Empty for a client, which has none.
    std::span<const uint8_t> last_flight();
    std::span<const uint8_t> farewell() const { return std::span(bytes_).subspan(last_flight_size_); }
    void set_farewell(std::span<const uint8_t> record) {
        bytes_.insert(bytes_.end(), record.begin(), record.end());
        base::shrink(bytes_);
    }

  private:
    explicit Epilogue(RecordKeys peer) : peer_(std::move(peer)) {}

    RecordKeys peer_;
    uint16_t last_flight_size_ = 0;
    uint64_t sequence_ = 0;
    std::vector<uint8_t> bytes_;
};

}  // namespace dtls
