#pragma once
// Two endpoints and a link between them that loses, duplicates and reorders datagrams, in simulated time.

#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <vector>

#include "protocol/dtls/endpoint.h"

namespace dtls {

using Bytes = std::vector<uint8_t>;

// One context per key kind and version, made once: generating RSA keys takes time.
inline const std::shared_ptr<const Context>& context_of(KeyKind kind, Version version = Version::kAuto) {
    static std::shared_ptr<const Context> made[2][3];
    auto& one = made[static_cast<int>(kind)][static_cast<int>(version)];
    if (!one) one = Context::make(Certificate::make(kind).value(), version).value();
    return one;
}

struct Link {
    struct Flying {
        int64_t at_ms;
        bool to_server;
        Bytes bytes;
    };

    Link(std::shared_ptr<const Context> client_context, std::shared_ptr<const Context> server_context,
         size_t mtu = Endpoint::kMtu)
        : client(std::move(client_context), Role::kClient, mtu), server(std::move(server_context), Role::kServer, mtu) {
        client.accept_any_certificate();
        server.accept_any_certificate();
    }

    Endpoint& sender(bool to_server) { return to_server ? client : server; }
    Endpoint& receiver(bool to_server) { return to_server ? server : client; }

    void take(bool to_server) {
        for (;;) {
            const auto datagram = sender(to_server).next_datagram();
            if (datagram.empty()) return;
            largest = std::max(largest, datagram.size());
            ++sent;
            Bytes bytes(datagram.begin(), datagram.end());
            if (on_send && !on_send(to_server, bytes)) continue;
            flying.push_back({now_ms + delay_ms(to_server), to_server, std::move(bytes)});
        }
    }

    // Runs until both endpoints are established (true), both failed or until_ms is reached.
    bool run(int64_t until_ms) {
        client.start(now_ms);
        take(true);
        for (; now_ms <= until_ms; ++now_ms) {
            for (size_t i = 0; i < flying.size();) {
                if (flying[i].at_ms > now_ms) {
                    ++i;
                    continue;
                }
                const Flying one = std::move(flying[i]);
                flying.erase(flying.begin() + static_cast<ptrdiff_t>(i));
                receiver(one.to_server).on_datagram(one.bytes, now_ms);
                take(!one.to_server);
            }
            for (bool to_server : {true, false}) {
                if (sender(to_server).timeout_ms() > now_ms) continue;
                sender(to_server).on_timeout(now_ms);
                take(to_server);
            }
            if (client.established() && server.established() && flying.empty()) return true;
            if (client.failed() && server.failed()) return false;
        }
        return client.established() && server.established();
    }

    Endpoint client, server;
    int64_t now_ms = 0;
    size_t largest = 0;
    int sent = 0;
    // Called for each datagram, which it may change; false: the datagram is lost.
    std::function<bool(bool to_server, Bytes&)> on_send;
    std::function<int64_t(bool to_server)> delay_ms = [](bool) { return 10; };
    std::deque<Flying> flying;
};

}  // namespace dtls
