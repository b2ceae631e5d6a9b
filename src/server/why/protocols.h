#pragma once
// The protocols by whose URLs this server may be asked for streams: those of the services that are built in, and the
// names of the others.

#include <functional>
#include <string_view>

#include "service/url/protocol.h"

namespace server::why {

using service::url::Protocol;

// Visits what each service that is built in knows of URLs, in the order of their start.
void for_each_part(const std::function<void(const service::url::Part&)>& visit);

// Null: none that is built in.
const Protocol* protocol_of_scheme(std::string_view scheme);
const Protocol* protocol_of_path(std::string_view path);  // of HTTP: by how it begins
const Protocol* protocol_of_file(std::string_view path);  // of HTTP: by its extension
// What a URL would be of that no service is built in for: "WebRTC"; empty: nothing known. scheme: of a URL of HTTP
// empty.
std::string_view left_out(std::string_view scheme, std::string_view path);

// The extension of the protocol that the path ends in: ".flv". A CHECK: it has one.
std::string_view extension_of(const Protocol& protocol, std::string_view path);

}  // namespace server::why
