#pragma once
// Helpers of those who read and write URLs. Pure.

#include <string>
#include <string_view>

#include "base/result.h"
#include "protocol/rtmp/url.h"
#include "service/url/target.h"

namespace service::url {

constexpr net::Action action_of(bool publishes) { return publishes ? net::Action::kPublish : net::Action::kPlay; }

// "HOST[:PORT]" of "SCHEME://HOST[:PORT]/...", with user and password.
std::string_view authority_in(std::string_view url);
// kProtocol: the URL names no stream.
base::Result<void> take_address(Target& target, ::rtmp::StreamAddress address);

// With the port where it is not the scheme's.
std::string authority_of(const Target& target, uint16_t usual);
// "SCHEME://HOST[:PORT]/APP/STREAM[?query]".
std::string plain_url(std::string_view scheme, const Target& target, uint16_t usual, std::string_view query);

}  // namespace service::url
