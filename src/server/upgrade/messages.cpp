#include "server/upgrade/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/json.h"
#include "protocol/http/url.h"

namespace server::upgrade {

using base::Code;
using base::fail;
using base::Result;

namespace {

constexpr std::array<std::string_view, 20> kNames = {
    "unknown", "hello",     "sockets", "pid_file", "start",   "ready", "failed",  "commit", "published", "unpublished",
    "stream",  "datagrams", "claim",   "verdict",  "tickets", "http",  "figures", "ending", "end",       "state",
};
constexpr size_t kMaxText = 4 * 1024;  // bytes
// More than a process can have; sums with it stay sums.
constexpr uint64_t kMaxConnections = 100'000'000;
constexpr size_t kMaxVersion = 128;  // bytes
// Percent-encoded, a byte is three.
constexpr size_t kMaxEncoded = 3 * kMaxKeyBytes;

size_t size_of(const base::StreamKey& key) { return key.vhost.size() + key.app.size() + key.name.size(); }

std::string text_of(const base::Json& json, const char* name, size_t max) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_string()) return {};
    return found->get_ref<const std::string&>().substr(0, max);
}

// 0: it has none of that range.
template <class T>
T number_of(const base::Json& json, const char* name) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_number_unsigned()) return 0;
    const auto number = found->get<uint64_t>();
    return number <= static_cast<uint64_t>(std::numeric_limits<T>::max()) ? static_cast<T>(number) : 0;
}

Result<std::string> decoded(const base::Json& json) {
    if (!json.is_string()) return fail(Code::kProtocol, "a part of a name is no text");
    const auto& text = json.get_ref<const std::string&>();
    if (text.size() > kMaxEncoded) return fail(Code::kProtocol, "a name is too long");
    return http::percent_decode(text);
}

Result<std::vector<base::StreamKey>> keys_of(const base::Json& json) {
    std::vector<base::StreamKey> keys;
    const auto found = json.find("keys");
    if (found == json.end()) return keys;
    if (!found->is_array() || found->size() > kMaxKeys) return fail(Code::kProtocol, "no list of names");
    for (const base::Json& one : *found) {
        if (!one.is_array() || one.size() != 3) return fail(Code::kProtocol, "a name that has not three parts");
        keys.push_back({TRY(decoded(one[0])), TRY(decoded(one[1])), TRY(decoded(one[2]))});
        if (size_of(keys.back()) > kMaxKeyBytes) return fail(Code::kProtocol, "a name is too long");
    }
    return keys;
}

base::OrderedJson json_of(const service::ProcessFigures& figures) {
    base::OrderedJson json = {{"pid", figures.pid},
                              {"version", figures.version.substr(0, kMaxVersion)},
                              {"connections", figures.connections},
                              {"stream_memory", figures.stream_memory},
                              {"publishers", figures.publishers},
                              {"players", figures.players},
                              {"received", figures.traffic.received_bytes},
                              {"sent", figures.traffic.sent_bytes}};
    base::OrderedJson& addresses = json["addresses"] = base::OrderedJson::array();
    for (size_t i = 0; i < std::min(figures.addresses.size(), kMaxAddresses); ++i)
        addresses.push_back({figures.addresses[i].first.text(), figures.addresses[i].second});
    return json;
}

Result<service::ProcessFigures> figures_of(const base::Json& json) {
    service::ProcessFigures figures;
    if (!json.is_object()) return fail(Code::kProtocol, "no figures");
    figures.pid = number_of<int64_t>(json, "pid");
    figures.version = text_of(json, "version", kMaxVersion);
    figures.connections = std::min<uint64_t>(number_of<uint64_t>(json, "connections"), kMaxConnections);
    figures.stream_memory = number_of<uint64_t>(json, "stream_memory");
    figures.publishers = number_of<uint64_t>(json, "publishers");
    figures.players = number_of<uint64_t>(json, "players");
    figures.traffic = {number_of<uint64_t>(json, "received"), number_of<uint64_t>(json, "sent")};
    const auto found = json.find("addresses");
    if (found == json.end()) return figures;
    if (!found->is_array() || found->size() > kMaxAddresses) return fail(Code::kProtocol, "no list of addresses");
    for (const base::Json& one : *found) {
        if (!one.is_array() || one.size() != 2 || !one[0].is_string() || !one[1].is_number_unsigned())
            return fail(Code::kProtocol, "an address that has not two parts");
        const auto address = base::IpAddress::parse(one[0].get_ref<const std::string&>());
        if (!address) return fail(Code::kProtocol, "no address");
        figures.addresses.emplace_back(*address,
                                       static_cast<uint32_t>(std::min<uint64_t>(one[1].get<uint64_t>(), UINT32_MAX)));
    }
    return figures;
}

}  // namespace

std::string_view kind_name(Kind kind) { return kNames[static_cast<size_t>(kind)]; }

std::string write_message(const Message& message) {
    base::OrderedJson json;
    json["kind"] = kind_name(message.kind);
    if (message.version != 0) json["version"] = message.version;
    if (message.pid != 0) json["pid"] = message.pid;
    if (message.id != 0) json["id"] = message.id;
    if (message.is_granted) json["granted"] = true;
    if (!message.text.empty()) json["text"] = message.text.substr(0, kMaxText);
    if (message.figures) json["figures"] = json_of(*message.figures);
    for (const base::StreamKey& key : message.keys)
        json["keys"].push_back(
            {http::percent_encode(key.vhost), http::percent_encode(key.app), http::percent_encode(key.name)});
    return base::to_text(json);
}

Result<Message> parse_message(std::string_view text) {
    const base::Json json = base::parse_json(text);
    if (!json.is_object()) return fail(Code::kProtocol, "no message of an upgrade");
    const std::string name = text_of(json, "kind", 64);
    if (name.empty()) return fail(Code::kProtocol, "a message of no kind");
    const auto found = std::ranges::find(kNames, name);
    Message message;
    if (found == kNames.end()) return message;
    message.kind = static_cast<Kind>(found - kNames.begin());
    message.version = number_of<int>(json, "version");
    message.pid = number_of<int64_t>(json, "pid");
    message.id = number_of<uint64_t>(json, "id");
    message.text = text_of(json, "text", kMaxText);
    const auto granted = json.find("granted");
    message.is_granted = granted != json.end() && granted->is_boolean() && granted->get<bool>();
    message.keys = TRY(keys_of(json));
    if (const auto figures = json.find("figures"); figures != json.end()) message.figures = TRY(figures_of(*figures));
    return message;
}

std::vector<Message> messages_of(Kind kind, const std::vector<base::StreamKey>& keys) {
    std::vector<Message> messages;
    size_t bytes = 0;
    for (const base::StreamKey& key : keys) {
        const size_t size = size_of(key);
        if (size > kMaxKeyBytes) continue;
        if (messages.empty() || messages.back().keys.size() == kMaxKeys || bytes + size > kMaxKeysBytes) {
            messages.push_back({.kind = kind});
            bytes = 0;
        }
        messages.back().keys.push_back(key);
        bytes += size;
    }
    return messages;
}

}  // namespace server::upgrade
