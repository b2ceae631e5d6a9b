// Arbitrary datagrams for the STUN parser and the demultiplexer; checking the integrity of an accepted message does not
// change it, and the views stay inside the datagram.
#include <cstddef>
#include <cstdint>

#include "protocol/stun/demux.h"
#include "protocol/stun/message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::span<const uint8_t> datagram(data, size);
    const auto kind = stun::packet_kind(datagram);
    auto message = stun::parse(datagram);
    if (!message) return 0;
    CHECK(kind == (data[0] <= 3 ? stun::Packet::kStun : stun::Packet::kOther) || data[0] >= 20);
    const auto* name = reinterpret_cast<const uint8_t*>(message->username.data());
    CHECK(message->username.empty() || (name >= data && name + message->username.size() <= data + size));
    CHECK(message->receiver_ufrag().size() + message->sender_ufrag().size() <= message->username.size());
    CHECK(message->has_integrity() || !message->check_integrity("password"));
    message->check_integrity("VOkJxbRl1RmTxUk/WvJxBt");
    return 0;
}
