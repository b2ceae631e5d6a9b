#pragma once
// Internal. What remains of a DTLS association after the handshake and the export of the SRTP keys. It carries no data:
// the peer can only send its last flight again or a close_notify, and we can only send our last flight again or a
// close_notify. So OpenSSL's 57 kB are freed, and this is kept: the peer's key to open records, our last flight, and a
// close_notify that was encrypted in advance. Only for AES-GCM suites (RFC 5288), which are the preferred ones.

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

    // Call it after the handshake. kOther: the suite is not AES-GCM, so the SSL object has to stay.
    static base::Result<Epilogue> make(ssl_st* ssl, bool client, std::span<const uint8_t> last_flight,
                                       uint64_t next_sequence);

    // Handles a received record. A record that does not decrypt with the peer's key gives kNothing.
    What on_record(const Record& record) const;
    // Our last flight, with new sequence numbers. Empty for a client: it has none to repeat.
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
