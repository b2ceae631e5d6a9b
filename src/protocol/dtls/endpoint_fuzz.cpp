// Arbitrary datagrams sent to a waiting server, to a server and a client in the middle of a handshake, and to an
// established pair, which must stay established. The first byte chooses; then each datagram is a length byte (times
// eight) and its content. No datagram larger than the MTU may be sent, and a server that has not begun must still
// accept a valid hello.
#include <cstddef>
#include <cstdint>

#include "protocol/dtls/dtls_testing.h"

namespace {

using dtls::Endpoint;

Endpoint fresh(dtls::Role role) {
    Endpoint made(dtls::context_of(dtls::KeyKind::kEcdsa), role);
    made.accept_any_certificate();
    return made;
}

dtls::Link& established() {
    static dtls::Link* const kLink = [] {
        const auto& context = dtls::context_of(dtls::KeyKind::kEcdsa);
        auto* link = std::make_unique<dtls::Link>(context, context).release();
        CHECK(link->run(1000));
        return link;
    }();
    return *kLink;
}

const dtls::Bytes& hello() {
    static const dtls::Bytes kHello = [] {
        Endpoint client = fresh(dtls::Role::kClient);
        client.start(0);
        const auto datagram = client.next_datagram();
        return dtls::Bytes(datagram.begin(), datagram.end());
    }();
    return kHello;
}

size_t drain(Endpoint& endpoint) {
    size_t count = 0;
    for (;; ++count) {
        const auto datagram = endpoint.next_datagram();
        if (datagram.empty()) return count;
        CHECK(datagram.size() <= Endpoint::kMtu);
    }
}

size_t feed(Endpoint& endpoint, std::span<const uint8_t> input) {
    size_t answered = 0;
    while (!input.empty()) {
        const size_t size = std::min<size_t>(input[0] * 8u, input.size() - 1);
        endpoint.on_datagram(input.subspan(1, size), 0);
        answered += drain(endpoint);
        input = input.subspan(1 + size);
    }
    return answered;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    const std::span<const uint8_t> input(data + 1, size - 1);
    switch (data[0] % 4) {
        case 0: {
            Endpoint server = fresh(dtls::Role::kServer);
            if (feed(server, input) || server.failed()) break;
            server.on_datagram(hello(), 1);
            CHECK(drain(server) > 0);
            break;
        }
        case 1: {
            Endpoint server = fresh(dtls::Role::kServer);
            server.on_datagram(hello(), 0);
            CHECK(drain(server) > 0);
            feed(server, input);
            CHECK(!server.established());
            break;
        }
        case 2: {
            Endpoint client = fresh(dtls::Role::kClient);
            client.start(0);
            CHECK(drain(client) > 0);
            feed(client, input);
            CHECK(!client.established());
            break;
        }
        default:
            feed(established().server, input);
            feed(established().client, input);
            CHECK(established().server.established() && established().client.established());
    }
    return 0;
}
