#pragma once
// Interprets a hook's answer: INTERFACE.md, "Hooks". Pure.

#include <cstdint>
#include <string>
#include <string_view>

namespace service::hook {

struct Answer {
    enum class Kind : uint8_t {
        kAccepted,
        kRefused,  // by a valid answer: a code other than 0, or a status of 4xx
        kFailed,   // anything else: the result is configured (fail_open)
    };
    Kind kind = Kind::kFailed;
    std::string why{};         // for people; empty if accepted
    std::string passphrase{};  // of an SRT client: 10 to 80 bytes; empty: the answer names none
};

// Accepted: status 200 or 201, and "0" or a JSON object whose integer `code` is 0; its `data.passphrase`, if any, must
// be one.
Answer interpret(int status, std::string_view body);

}  // namespace service::hook
