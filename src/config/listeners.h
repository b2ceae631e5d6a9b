#pragma once
// The listeners of all services: one list for code that checks, tries or reports them.

#include <cstdint>
#include <span>
#include <string_view>

#include "config/snapshot.h"

namespace config {

enum class Transport : uint8_t { kTcp, kUdp };

struct Listener {
    std::string_view service;      // the service that listens: "http_api"
    const char* path;              // of the directive: "http_api/https/listen"
    std::string_view name;         // for people: "api over TLS"
    std::string_view report_name;  // in reports to other servers: "apis"
    Transport transport;
    // Null: it is not enabled.
    const ListenAddresses* (*addresses)(const Snapshot&);
};

std::span<const Listener> listeners();

// Calls use(listener, address) for each address of each enabled listener.
template <class Use>
void for_each_address(const Snapshot& snapshot, Use&& use) {
    for (const Listener& listener : listeners())
        if (const ListenAddresses* addresses = listener.addresses(snapshot))
            for (const ListenAddress& address : *addresses) use(listener, address);
}

// Whether both http_server and http_api, or their https, have that address: http_server's listener then serves both.
bool is_shared(const Snapshot& snapshot, const ListenAddress& address);

}  // namespace config
