#pragma once
// What a URL asks of this server, as the service of its protocol reads it.

#include <cstdint>
#include <string>

#include "net/access/gate.h"

namespace service::url {

struct Protocol;

struct Target {
    const Protocol* protocol = nullptr;  // not null when it is resolved; lives until the end
    bool tls = false;
    bool is_websocket = false;
    bool is_page = false;            // a page's URL: the page makes the protocol's
    bool wants_low_latency = false;  // of the page that plays LL-HLS
    net::Action action = net::Action::kPlay;
    std::string host{};       // without brackets
    uint16_t port = 0;        // of the URL, or that of the scheme where it has none
    std::string vhost{};      // as the client names it: not looked up
    std::string app{};        // empty: the URL has none
    std::string stream{};     // the last level
    std::string param{};      // "?k=v&...", as hooks and signatures get it; may be empty
    std::string extension{};  // of a path by HTTP: ".flv"
    // Of a URL of HTTP: whether the vhost serves streams at such a path.
    bool is_mounted = true;
    std::string user{}, password{};  // of the URL itself; of SRT the passphrase
};

}  // namespace service::url
