#pragma once
// JSON by nlohmann's library, whose parser and writer are compiled once, in json.cpp: each source that names them would
// compile them again. It is for sources; headers that pass a value on take <nlohmann/json_fwd.hpp>.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace base {

// What is read; the look-up of a member is fast however many there are.
using Json = nlohmann::json;
// What is written; members keep the order in which they were added.
using OrderedJson = nlohmann::ordered_json;

// is_discarded() where the text is no JSON.
Json parse_json(std::string_view text);

// On one line. Bytes that are no UTF-8 become U+FFFD.
std::string to_text(const OrderedJson& json);

}  // namespace base
