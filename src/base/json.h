#pragma once
// JSON by nlohmann's library, whose parser and writer are compiled once, in json.cpp: each source file that
// instantiates them would compile them again. For source files; headers that only pass a value on include
// <nlohmann/json_fwd.hpp>.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace base {

// For parsed values; member lookup is fast for any number of members.
using Json = nlohmann::json;
// For output; members keep the order in which they were added.
using OrderedJson = nlohmann::ordered_json;

// is_discarded() when the text is not JSON.
Json parse_json(std::string_view text);

// On one line. Invalid UTF-8 becomes U+FFFD.
std::string to_text(const OrderedJson& json);

}  // namespace base
