#include "config/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace config {
namespace {

using base::Code;
using base::fail;
using base::Result;

Result<std::string_view> single(Words words) {
    if (words.empty()) return fail(Code::kConfig, "a value is missing");
    if (words.size() > 1) return fail(Code::kConfig, fmt::format("takes one value, {} were given", words.size()));
    return std::string_view(words[0]);
}

std::string number_text(double value) { return fmt::format("{}", value); }

Result<void> check_range(double value, const Limits& limits) {
    if (value >= limits.low && value <= limits.high) return {};
    return fail(Code::kConfig, fmt::format("{} is out of range: {}", number_text(value), limits.text()));
}

template <class Enum>
struct EnumName {
    Enum value;
    std::string_view name;
};
constexpr EnumName<LogTank> kLogTanks[] = {{LogTank::kFile, "file"}, {LogTank::kConsole, "console"}};
constexpr EnumName<TimeJitter> kTimeJitters[] = {
    {TimeJitter::kFull, "full"}, {TimeJitter::kZero, "zero"}, {TimeJitter::kOff, "off"}};
constexpr EnumName<StandbyMode> kStandbyModes[] = {
    {StandbyMode::kOff, "off"}, {StandbyMode::kOn, "on"}, {StandbyMode::kPreempt, "preempt"}};

template <class Enum, size_t N>
Result<Enum> parse_enum(const EnumName<Enum> (&names)[N], Words words) {
    std::string_view word = TRY(single(words));
    std::string all;
    for (const auto& entry : names) {
        if (entry.name == word) return entry.value;
        all += fmt::format("{}{}", all.empty() ? "" : "|", entry.name);
    }
    return fail(Code::kConfig, fmt::format("'{}' is none of {}", word, all));
}

template <class Enum, size_t N>
std::string enum_text(const EnumName<Enum> (&names)[N], Enum value) {
    for (const auto& entry : names) {
        if (entry.value == value) return std::string(entry.name);
    }
    return "?";
}

}  // namespace

std::string Limits::text() const {
    if (!choices.empty()) {
        std::string all;
        for (std::string_view choice : choices) all += fmt::format("{}{}", all.empty() ? "" : "|", choice);
        return all;
    }
    if (http_url) return "an http:// or https:// address";
    if (low == 0 && high == 0) return "";
    return fmt::format("{} to {}{}{}", number_text(low), number_text(high), unit.empty() ? "" : " ", unit);
}

Result<bool> ValueType<bool>::parse(Words words, const Limits&) {
    std::string_view word = TRY(single(words));
    if (word == "on") return true;
    if (word == "off") return false;
    return fail(Code::kConfig, fmt::format("'{}' is neither on nor off", word));
}
std::string ValueType<bool>::text(const bool& value) { return value ? "on" : "off"; }

Result<int> ValueType<int>::parse(Words words, const Limits& limits) {
    std::string_view word = TRY(single(words));
    int64_t value = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error == std::errc::result_out_of_range)
        return fail(Code::kConfig, fmt::format("{} is out of range: {}", word, limits.text()));
    if (error != std::errc() || end != word.data() + word.size())
        return fail(Code::kConfig, fmt::format("'{}' is not a whole number", word));
    TRY(check_range(static_cast<double>(value), limits));
    return static_cast<int>(value);
}
std::string ValueType<int>::text(const int& value) { return std::to_string(value); }

Result<double> ValueType<double>::parse(Words words, const Limits& limits) {
    std::string_view word = TRY(single(words));
    double value = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, std::chars_format::fixed);
    if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value))
        return fail(Code::kConfig, fmt::format("'{}' is not a number", word));
    TRY(check_range(value, limits));
    return value;
}
std::string ValueType<double>::text(const double& value) { return number_text(value); }

Result<std::string> ValueType<std::string>::parse(Words words, const Limits& limits) {
    std::string_view word = TRY(single(words));
    if (word.empty()) return fail(Code::kConfig, "the value is empty");
    if (limits.http_url && !word.starts_with("http://") && !word.starts_with("https://"))
        return fail(Code::kConfig, fmt::format("'{}' is neither an http:// nor an https:// address", word));
    if (limits.choices.empty()) return std::string(word);
    for (std::string_view choice : limits.choices) {
        if (choice == word) return std::string(word);
    }
    return fail(Code::kConfig, fmt::format("'{}' is none of {}", word, limits.text()));
}
std::string ValueType<std::string>::text(const std::string& value) {
    return value.empty() ? "" : quote_if_needed(value);
}

Result<std::vector<std::string>> ValueType<std::vector<std::string>>::parse(Words words, const Limits& limits) {
    if (words.empty()) return fail(Code::kConfig, "a value is missing");
    for (const std::string& word : words) {
        if (word.empty()) return fail(Code::kConfig, "a value is empty");
        if (!limits.choices.empty() && std::ranges::find(limits.choices, word) == limits.choices.end())
            return fail(Code::kConfig, fmt::format("'{}' is none of {}", word, limits.text()));
    }
    return std::vector<std::string>(words.begin(), words.end());
}
std::string ValueType<std::vector<std::string>>::text(const std::vector<std::string>& value) {
    std::string all;
    for (const std::string& word : value) all += (all.empty() ? "" : " ") + quote_if_needed(word);
    return all;
}

Result<ListenAddresses> ValueType<ListenAddresses>::parse(Words words, const Limits&) {
    if (words.empty()) return fail(Code::kConfig, "an address is missing");
    if (words.size() > 64) return fail(Code::kConfig, "more than 64 addresses");
    ListenAddresses addresses;
    for (const std::string& word : words) {
        ListenAddress address = TRY(parse_listen_address(word));
        for (const ListenAddress& other : addresses) {
            if (other == address) return fail(Code::kConfig, fmt::format("'{}' is given twice", word));
        }
        addresses.push_back(std::move(address));
    }
    return addresses;
}
std::string ValueType<ListenAddresses>::text(const ListenAddresses& value) {
    std::string all;
    for (const ListenAddress& address : value) all += (all.empty() ? "" : " ") + address.text();
    return all;
}

Result<AccessRules> ValueType<AccessRules>::parse(Words words, const Limits&) {
    AccessRules rules;
    const std::string* action = nullptr;
    bool complete = false;
    for (const std::string& word : words) {
        if (word == "play" || word == "publish") {
            if (action && !complete) return fail(Code::kConfig, fmt::format("'{}' without an address", *action));
            action = &word;
            complete = false;
            continue;
        }
        if (!action) return fail(Code::kConfig, fmt::format("'{}' is neither play nor publish", word));
        auto network = word == "all" ? base::IpNetwork() : base::IpNetwork::parse(word);
        if (!network)
            return fail(Code::kConfig, fmt::format("'{}' is no address: write ADDRESS, ADDRESS/BITS or all", word));
        rules.push_back({*action == "publish", *network});
        complete = true;
    }
    if (!complete) return fail(Code::kConfig, "write play or publish, and an address, a network or all");
    return rules;
}
std::string ValueType<AccessRules>::text(const AccessRules& value) {
    std::string all;
    for (size_t i = 0; i < value.size(); ++i) {
        if (i == 0 || value[i].publish != value[i - 1].publish)
            all += fmt::format("{}{}", i == 0 ? "" : " ", value[i].publish ? "publish" : "play");
        all += " " + (value[i].network.is_everything() ? "all" : value[i].network.text());
    }
    return all;
}

Result<IpNetworks> ValueType<IpNetworks>::parse(Words words, const Limits&) {
    if (words.empty()) return fail(Code::kConfig, "an address is missing");
    IpNetworks networks;
    if (words.size() == 1 && words[0] == "none") return networks;
    for (const std::string& word : words) {
        auto network = base::IpNetwork::parse(word);
        if (!network)
            return fail(Code::kConfig, fmt::format("'{}' is no address: write ADDRESS or ADDRESS/BITS, or none", word));
        networks.push_back(*network);
    }
    return networks;
}
std::string ValueType<IpNetworks>::text(const IpNetworks& value) {
    if (value.empty()) return "none";
    std::string all;
    for (const base::IpNetwork& network : value) all += (all.empty() ? "" : " ") + network.text();
    return all;
}

Result<Commands> ValueType<Commands>::parse(Words words, const Limits& limits) {
    return Commands{TRY(ValueType<std::vector<std::string>>::parse(words, limits))};
}
std::string ValueType<Commands>::text(const Commands& value) {
    std::string all;
    for (const auto& command : value)
        all += (all.empty() ? "" : " ; ") + ValueType<std::vector<std::string>>::text(command);
    return all;
}

Result<LogTank> ValueType<LogTank>::parse(Words words, const Limits&) { return parse_enum(kLogTanks, words); }
std::string ValueType<LogTank>::text(const LogTank& value) { return enum_text(kLogTanks, value); }

Result<TimeJitter> ValueType<TimeJitter>::parse(Words words, const Limits&) { return parse_enum(kTimeJitters, words); }
std::string ValueType<TimeJitter>::text(const TimeJitter& value) { return enum_text(kTimeJitters, value); }

Result<StandbyMode> ValueType<StandbyMode>::parse(Words words, const Limits&) {
    return parse_enum(kStandbyModes, words);
}
std::string ValueType<StandbyMode>::text(const StandbyMode& value) { return enum_text(kStandbyModes, value); }

Result<ListenAddress> parse_listen_address(std::string_view text) {
    auto bad = [&](std::string_view why) {
        return fail(Code::kConfig, fmt::format("'{}' {}: write PORT, ADDRESS:PORT or [IPV6-ADDRESS]:PORT", text, why));
    };
    ListenAddress address;
    std::string_view port = text;
    if (text.starts_with('[')) {
        size_t close = text.find(']');
        if (close == std::string_view::npos || close == 1 || !text.substr(close + 1).starts_with(':'))
            return bad("is no address");
        address.host = text.substr(1, close - 1);
        port = text.substr(close + 2);
    } else if (size_t colon = text.rfind(':'); colon != std::string_view::npos) {
        address.host = text.substr(0, colon);
        if (address.host.empty() || address.host.find(':') != std::string::npos) return bad("is no address");
        port = text.substr(colon + 1);
    }
    if (!address.host.empty() && !base::IpAddress::parse(address.host)) return bad("has no address in numbers");
    int number = 0;
    auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (port.empty() || error != std::errc() || end != port.data() + port.size()) return bad("has no port number");
    if (number < 1 || number > 65535) return bad("has a port outside 1 to 65535");
    address.port = static_cast<uint16_t>(number);
    return address;
}

std::string quote_if_needed(std::string_view word) {
    bool needed = word.empty() || word[0] == '#' || word.find_first_of(" \t;{}\"'") != std::string_view::npos ||
                  word.find_first_of("\n\r") != std::string_view::npos;
    if (!needed) return std::string(word);
    std::string quoted = "\"";
    for (char c : word) {
        if (c == '\n') {
            quoted += "\\n";
        } else if (c == '\r') {
            quoted += "\\r";
        } else {
            if (c == '"' || c == '\\') quoted += '\\';
            quoted += c;
        }
    }
    return quoted + '"';
}

std::vector<std::string> split_words(std::string_view text) {
    std::vector<std::string> words;
    constexpr std::string_view kSpace = " \t\r\n";
    for (size_t at = text.find_first_not_of(kSpace); at != std::string_view::npos;) {
        size_t end = text.find_first_of(kSpace, at);
        words.emplace_back(text.substr(at, end == std::string_view::npos ? end : end - at));
        at = end == std::string_view::npos ? end : text.find_first_not_of(kSpace, end);
    }
    return words;
}

}  // namespace config
