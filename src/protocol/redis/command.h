#pragma once
// Commands to Redis (RESP2): arrays of bulk strings, which are binary safe. A name that a client has chosen is an
// argument of its own, so it can never be read as another command; the inline form is not used.

#include <initializer_list>
#include <string>
#include <string_view>

namespace redis {

// "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", appended to out.
void append_command(std::string& out, std::initializer_list<std::string_view> words);
std::string command(std::initializer_list<std::string_view> words);

}  // namespace redis
