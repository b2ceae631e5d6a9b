#include "protocol/dtls/record.h"

#include "base/bytes.h"

namespace dtls {
namespace {

constexpr uint8_t kClientHello = 1;

// The message types that a peer may send. Finished is never plaintext. Optional messages that were not requested
// (tickets, certificate status) are excluded.
bool type_of_peer(uint8_t type, FragmentFilter::From peer) {
    if (type == 11) return true;  // Certificate
    if (peer == FragmentFilter::From::kClient) return type == kClientHello || type == 15 || type == 16;
    return type == 2 || type == 3 || (type >= 12 && type <= 14);  // ServerHello to ServerHelloDone
}

}  // namespace

std::optional<Record> next_record(std::span<const uint8_t>& datagram) {
    base::ByteReader reader(datagram);
    Record record{};
    record.type = static_cast<Content>(reader.u8());
    record.version = reader.u16();
    record.epoch = reader.u16();
    record.sequence = static_cast<uint64_t>(reader.u16()) << 32;
    record.sequence |= reader.u32();
    record.body = reader.bytes(reader.u16());
    const bool version = record.version == 0xfeff || record.version == 0xfefd;
    if (!reader.ok() || record.body.empty() || !version) return std::nullopt;
    record.all = datagram.first(kRecordHeader + record.body.size());
    datagram = reader.rest();
    return record;
}

bool FragmentFilter::possible(const Fragment& fragment) const {
    if (!type_of_peer(fragment.type, peer_) || fragment.sequence >= kMaxMessages) return false;
    if (fragment.length > kMaxMessage || fragment.offset + fragment.size > fragment.length) return false;
    // An empty fragment of a non-empty message carries no information.
    if (fragment.size == 0 && fragment.length != 0) return false;
    const uint32_t told = lengths_[fragment.sequence];
    if (told) return told == fragment.length + 1;
    uint32_t total = fragment.length;
    for (uint16_t length : lengths_) total += length;
    return total <= kMaxTotal;
}

bool FragmentFilter::admits(std::span<const uint8_t> body) {
    base::ByteReader reader(body);
    while (reader.left()) {
        Fragment fragment{};
        fragment.type = reader.u8();
        fragment.length = reader.u24();
        fragment.sequence = reader.u16();
        fragment.offset = reader.u24();
        fragment.size = reader.u24();
        reader.skip(fragment.size);
        if (!reader.ok() || !possible(fragment)) return false;
        lengths_[fragment.sequence] = static_cast<uint16_t>(fragment.length + 1);
    }
    return true;
}

void number_records(std::span<uint8_t> datagram, uint64_t& sequence) {
    std::span<const uint8_t> rest = datagram;
    while (auto record = next_record(rest)) {
        if (record->epoch != 0) continue;
        uint8_t* out = datagram.data() + (record->all.data() - datagram.data()) + 5;
        out = base::put_u16(out, static_cast<uint32_t>(sequence >> 32));
        base::put_u32(out, static_cast<uint32_t>(sequence));
        ++sequence;
    }
}

Hello client_hello(const Record& record) {
    base::ByteReader reader(record.body);
    const bool hello = record.type == Content::kHandshake && record.epoch == 0 && reader.u8() == kClientHello;
    const uint32_t length = reader.u24();
    const uint16_t sequence = reader.u16();
    reader.skip(3);
    const uint32_t size = reader.u24();
    if (!hello || !reader.ok() || sequence != 0) return Hello::kNone;
    return size == length ? Hello::kWhole : Hello::kPiece;
}

}  // namespace dtls
