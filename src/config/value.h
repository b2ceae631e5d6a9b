#pragma once
// Conversion between words and values, one ValueType per C++ type of directives. text() returns what parse() would
// accept. Does not know any directive.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/types.h"

namespace config {

using Words = std::span<const std::string>;

// Bounds and unit of a number; other types only use `choices`.
struct Limits {
    double low = 0;
    double high = 0;
    std::string_view unit{};                  // "ms", "s", "bytes" or empty
    std::vector<std::string_view> choices{};  // of a string: empty allows any
    bool http_url = false;                    // of a string: it must begin with http:// or https://

    std::string text() const;  // "0 to 60000 ms", "trace|info"; empty if there are no limits
};

inline Limits none() { return {}; }
inline Limits milliseconds(double low, double high) { return {low, high, "ms", {}}; }
inline Limits seconds(double low, double high) { return {low, high, "s", {}}; }
inline Limits bytes(double low, double high) { return {low, high, "bytes", {}}; }
inline Limits megabytes(double low, double high) { return {low, high, "MB", {}}; }
inline Limits count(double low, double high) { return {low, high, "", {}}; }
inline Limits http_url() { return {.http_url = true}; }
inline Limits one_of(std::vector<std::string_view> choices) { return {0, 0, "", std::move(choices)}; }

template <class T>
struct ValueType;

#define CONFIG_VALUE_TYPE(type, what)                                       \
    template <>                                                             \
    struct ValueType<type> {                                                \
        static constexpr std::string_view kName = what;                     \
        static base::Result<type> parse(Words words, const Limits& limits); \
        static std::string text(const type& value);                         \
    }

CONFIG_VALUE_TYPE(bool, "on|off");
CONFIG_VALUE_TYPE(int, "integer");
CONFIG_VALUE_TYPE(double, "number");
CONFIG_VALUE_TYPE(std::string, "text");
CONFIG_VALUE_TYPE(std::vector<std::string>, "texts");
CONFIG_VALUE_TYPE(ListenAddresses, "addresses");
// "play all", "publish 10.0.0.0/8 ::1 play all": an action, and addresses up to the next action.
CONFIG_VALUE_TYPE(AccessRules, "rules");
// "10.0.0.0/8 ::1"; "none" is an empty list.
CONFIG_VALUE_TYPE(IpNetworks, "networks");
// Words of one command.
CONFIG_VALUE_TYPE(Commands, "command");
CONFIG_VALUE_TYPE(LogTank, "file|console");
CONFIG_VALUE_TYPE(TimeJitter, "full|zero|off");
CONFIG_VALUE_TYPE(StandbyMode, "off|on|preempt");
#undef CONFIG_VALUE_TYPE

base::Result<ListenAddress> parse_listen_address(std::string_view text);

// The word as written in the configuration file: quoted if necessary.
std::string quote_if_needed(std::string_view word);
// Splits an environment variable's text into words at spaces.
std::vector<std::string> split_words(std::string_view text);

}  // namespace config
