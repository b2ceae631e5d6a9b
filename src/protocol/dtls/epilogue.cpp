#include "protocol/dtls/epilogue.h"

#include <utility>

namespace dtls {
namespace {

// A Finished has 48 bytes with its nonce and tag, an alert 26: longer records are ignored.
constexpr size_t kMaxBody = 64;

}  // namespace

base::Result<Epilogue> Epilogue::make(ssl_st* ssl, bool client, std::span<const uint8_t> last_flight,
                                      uint64_t next_sequence) {
    if (last_flight.size() > 0xffff) return base::fail(base::Code::kLimit, "a last flight of more than 64 kB");
    Epilogue made(TRY(RecordKeys::of(ssl, !client)));
    made.sequence_ = next_sequence;
    made.last_flight_size_ = static_cast<uint16_t>(last_flight.size());
    made.bytes_.assign(last_flight.begin(), last_flight.end());
    return made;
}

std::span<const uint8_t> Epilogue::last_flight() {
    const auto flight = std::span(bytes_).first(last_flight_size_);
    number_records(flight, sequence_);
    return flight;
}

Epilogue::What Epilogue::on_record(const Record& record) const {
    constexpr uint8_t kFinished = 20, kFatal = 2, kCloseNotify = 0;
    if (record.epoch != 1 || record.body.size() > kMaxBody) return What::kNothing;
    if (record.type != Content::kHandshake && record.type != Content::kAlert) return What::kNothing;
    const auto plain = peer_.open(record);
    if (plain.empty()) return What::kNothing;
    if (record.type == Content::kHandshake)
        return plain[0] == kFinished && last_flight_size_ ? What::kLastFlightAgain : What::kNothing;
    return plain.size() == 2 && (plain[1] == kCloseNotify || plain[0] == kFatal) ? What::kClosed : What::kNothing;
}

}  // namespace dtls
