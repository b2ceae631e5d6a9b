#include "protocol/srt/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "base/ascii.h"
#include "base/authority.h"
#include "base/text.h"
#include "protocol/http/url.h"
#include "protocol/srt/key_material.h"

namespace srt {

using base::Code;
using base::fail;
using base::Result;

namespace {

// Of libsrt and FFmpeg: they say how their own sockets work.
constexpr std::array<std::string_view, 20> kIgnored = {
    "adapter", "conntimeo", "connect_timeout", "enforced_encryption", "ffs",      "inputbw",
    "iptos",   "ipttl",     "linger",          "lossmaxttl",          "maxbw",    "messageapi",
    "mss",     "nakreport", "oheadbw",         "payload_size",        "pkt_size", "rcvbuf",
    "sndbuf",  "tlpktdrop"};

// Their values select who the client is, or its own vhost, or would replace what the id says.
constexpr std::array<std::string_view, 6> kOwnKeys = {"h", "r", "m", "via", "vhost", "domain"};

// Within a key or value it would begin another one.
bool splits(char c) { return c == ',' || c == '?' || base::is_control(c); }

// ",via=a:b", as far as there is room, within the limit.
std::string via_of(std::string_view path, size_t room) {
    std::string via;
    while (!path.empty()) {
        const std::string_view name = path.substr(0, path.find(','));
        path.remove_prefix(std::min(name.size() + 1, path.size()));
        if (name.empty() || std::ranges::any_of(name, splits)) continue;
        const std::string_view before = via.empty() ? ",via=" : ":";
        if (via.size() + before.size() + name.size() > room) break;
        via += before;
        via += name;
    }
    return via;
}

bool is_bad_byte(char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; }

Result<int> number(std::string_view name, std::string_view text, int max) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > max)
        return fail(Code::kConfig,
                    fmt::format("{} is a number up to {}{}", name, max, name.ends_with("latency") ? " (ms)" : ""));
    return value;
}

Result<void> set_key_size(Url& url, std::string_view value) {
    const int size = TRY(number("pbkeylen", value, kMaxKey));
    if (size != 0 && !is_key_size(static_cast<size_t>(size)))
        return fail(Code::kConfig, "pbkeylen is 16, 24 or 32 bytes");
    if (size != 0) url.key_size = static_cast<uint8_t>(size);
    return {};
}

Result<void> set_text(Url& url, std::string_view name, std::string_view value) {
    auto text = http::percent_decode(value);
    if (!text) return fail(Code::kConfig, fmt::format("{} is not percent-encoded as it has to be", name));
    const bool is_id = name == "streamid";
    if (is_id && (text->size() > kMaxStreamId || std::ranges::any_of(*text, base::is_control)))
        return fail(Code::kConfig, "streamid has at most 512 bytes, and no control characters");
    if (!is_id && !text->empty() && (text->size() < kMinPassphrase || text->size() > kMaxPassphrase))
        return fail(Code::kConfig, "a passphrase of SRT has 10 to 80 bytes");
    (is_id ? url.stream_id : url.passphrase) = *std::move(text);
    return {};
}

Result<void> set_parameter(Url& url, std::string_view name, std::string_view value,
                           std::array<std::optional<int>, 2>& latencies) {
    if (name == "streamid" || name == "passphrase") return set_text(url, name, value);
    if (name == "pbkeylen") return set_key_size(url, value);
    if (name == "rcvlatency" || name == "peerlatency") {
        latencies[name == "peerlatency"] = TRY(number(name, value, kMaxLatencyMs));
        return {};
    }
    if (name == "latency") {
        url.receive_latency_ms = url.peer_latency_ms = static_cast<uint16_t>(TRY(number(name, value, kMaxLatencyMs)));
        return {};
    }
    if (name == "mode" && value != "caller") return fail(Code::kConfig, "mode is caller: this server calls");
    if (name == "transtype" && value != "live") return fail(Code::kConfig, "transtype is live");
    if (name == "mode" || name == "transtype" || std::ranges::find(kIgnored, name) != kIgnored.end()) return {};
    return fail(Code::kConfig, fmt::format("SRT has no parameter {}", base::for_log(name, 32)));
}

Result<void> set_parameters(Url& url, std::string_view query) {
    std::array<std::optional<int>, 2> latencies;  // rcvlatency, peerlatency
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(pair.size() + 1, query.size()));
        if (pair.empty()) continue;
        const size_t equals = std::min(pair.find('='), pair.size());
        const std::string_view value = equals < pair.size() ? pair.substr(equals + 1) : std::string_view();
        TRY(set_parameter(url, pair.substr(0, equals), value, latencies));
    }
    if (latencies[0]) url.receive_latency_ms = static_cast<uint16_t>(*latencies[0]);
    if (latencies[1]) url.peer_latency_ms = static_cast<uint16_t>(*latencies[1]);
    return {};
}

}  // namespace

bool is_srt_url(std::string_view text) {
    const size_t end = text.find("://");
    return end != text.npos && base::lower(text.substr(0, end)) == "srt";
}

Result<Url> parse_url(std::string_view text) {
    if (!is_srt_url(text)) return fail(Code::kConfig, "it does not begin with srt://");
    if (std::ranges::any_of(text, is_bad_byte))
        return fail(Code::kConfig, "the URL has a space or a control character");
    std::string_view rest = text.substr(text.find("://") + 3);
    const size_t end = std::min(rest.find_first_of("/?#"), rest.size());
    const auto authority = base::split_authority(rest.substr(0, end));
    if (!authority) return fail(Code::kConfig, authority.error().text());
    if (!authority->user.empty()) return fail(Code::kConfig, "SRT has no user: write ?passphrase= or a stream id");
    if (authority->host.empty() || authority->port.value_or(0) == 0)
        return fail(Code::kConfig, "write srt://HOST:PORT");
    Url url;
    url.host = authority->host;
    url.port = *authority->port;
    url.shown = fmt::format("srt://{}", rest.substr(0, end));
    rest.remove_prefix(end);
    if (rest.starts_with('/')) rest.remove_prefix(1);
    if (rest.empty()) return url;
    if (!rest.starts_with('?')) return fail(Code::kConfig, "SRT has no path: write srt://HOST:PORT?streamid=...");
    TRY(set_parameters(url, rest.substr(1)));
    return url;
}

Result<std::string> make_stream_id(StreamMode mode, const base::StreamKey& stream, std::string_view params,
                                   std::string_view path) {
    std::string id = "#!::";
    if (!stream.vhost.empty()) id += "h=" + stream.vhost + ",";
    const bool publishes = mode == StreamMode::kPublish;
    id += fmt::format("r={}/{},m={}", stream.app, stream.name, publishes ? "publish" : "request");
    id += via_of(path, id.size() < kMaxStreamId ? (kMaxStreamId - id.size()) / 2 : 0);
    if (params.starts_with('?')) params.remove_prefix(1);
    const std::string kept = http::without_parameters(params, kOwnKeys);
    for (std::string_view rest = kept; !rest.empty();) {
        const std::string_view pair = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
        const bool has_room = id.size() + 1 + pair.size() <= kMaxStreamId;
        if (has_room && !pair.empty() && std::ranges::none_of(pair, splits)) id += fmt::format(",{}", pair);
    }
    const auto read = parse_stream_id(id, {});
    if (!read || read->mode != mode || read->vhost != stream.vhost || read->app != stream.app ||
        read->stream != stream.name)
        return fail(Code::kConfig, id.size() > kMaxStreamId
                                       ? "the stream id would have more than 512 bytes"
                                       : "a name with characters that have a meaning in a stream id");
    return id;
}

}  // namespace srt
