#include "protocol/srt/stream_id.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/stream_name.h"
#include "base/text.h"

namespace srt {

namespace {

constexpr std::string_view kStandard = "#!::";
constexpr std::string_view kBraces = "#!{";
constexpr std::string_view kPublishPrefix = "publish:", kReadPrefix = "read:";
constexpr std::string_view kFeedback = "#feedbackplay";  // some encoders append it
constexpr size_t kLoggedBytes = 64;

using Parsed = std::expected<StreamId, StreamIdError>;

std::unexpected<StreamIdError> bad(std::string text, Refusal code = Refusal::kBadRequest) {
    return std::unexpected(StreamIdError{.code = code, .text = std::move(text)});
}

// Removes the part before the first separator, and that, from the text; all of it if there is none.
std::string_view take_part(std::string_view& text, std::string_view separators) {
    const size_t end = text.find_first_of(separators);
    const std::string_view part = text.substr(0, end);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    return part;
}

void add_parameter(StreamId& id, std::string_view pair) {
    if (pair.empty()) return;
    if (!id.params.empty()) id.params += '&';
    id.params += pair;
}

// The path: app and stream. Checks all names.
Parsed finish(StreamId id, std::string_view path, const StreamIdDefaults& defaults) {
    while (path.starts_with('/')) path.remove_prefix(1);
    while (path.ends_with('/')) path.remove_suffix(1);
    if (path.empty()) return bad("the stream id names no stream");
    const size_t slash = path.rfind('/');
    id.app = slash == path.npos ? defaults.app : path.substr(0, slash);
    id.stream = slash == path.npos ? path : path.substr(slash + 1);
    if (!id.vhost.empty()) {
        if (auto good = base::check_name("vhost", id.vhost); !good) return bad(good.error().text());
    }
    if (auto good = base::check_name("app", id.app); !good) return bad(good.error().text());
    if (auto good = base::check_name("stream name", id.stream); !good) return bad(good.error().text());
    for (const std::string* text : {&id.params, &id.path, &id.user, &id.password}) {
        if (std::ranges::any_of(*text, base::is_control)) return bad("the stream id has a control character");
    }
    return id;
}

// The value of m. Nothing for other modes: bidirectional.
std::optional<StreamMode> mode_of(std::string_view text) {
    const std::string mode = base::lower(text);
    if (mode == "publish") return StreamMode::kPublish;
    if (mode == "request") return StreamMode::kRequest;
    return std::nullopt;
}

// h: a host, app/stream or vhost/app/stream; returns the path in it.
std::string_view read_host(std::string_view host, StreamId& id) {
    const size_t slash = host.find('/');
    if (slash == host.npos) {
        id.vhost = host;
        return {};
    }
    if (slash == host.rfind('/')) return host;
    id.vhost = host.substr(0, slash);
    return host.substr(slash + 1);
}

Parsed parse_standard(std::string_view text, const StreamIdDefaults& defaults) {
    StreamId id;
    std::string_view path, host_path;
    while (!text.empty()) {
        const std::string_view pair = take_part(text, ",?&");
        const size_t equals = pair.find('=');
        const std::string_view key = pair.substr(0, equals);
        const std::string_view value = equals == pair.npos ? std::string_view() : pair.substr(equals + 1);
        if (key == "h") {
            host_path = read_host(value, id);
        } else if (key == "r") {
            path = value;
        } else if (key == "m") {
            const auto mode = mode_of(value);
            if (!mode) {
                return bad("the mode '" + base::for_log(value, kLoggedBytes) + "' is neither publish nor request",
                           Refusal::kBadMode);
            }
            id.mode = *mode;
        } else if (key == "via") {
            id.path = value;
            std::ranges::replace(id.path, ':', ',');
        } else {
            if (key == "u") id.user = value;
            if (key == "s") id.password = value;
            add_parameter(id, pair);
        }
    }
    if (!id.vhost.empty()) id.params = "vhost=" + id.vhost + (id.params.empty() ? "" : "&") + id.params;
    return finish(std::move(id), path.empty() ? host_path : path, defaults);
}

// path, path:query, path:user:pass or path:user:pass:query.
Parsed parse_mediamtx(StreamMode mode, std::string_view text, const StreamIdDefaults& defaults) {
    StreamId id;
    id.mode = mode;
    const std::string_view path = take_part(text, ":");
    if (text.contains(':')) {
        id.user = take_part(text, ":");
        id.password = take_part(text, ":");
    }
    id.params = text;
    return finish(std::move(id), path, defaults);
}

Parsed parse_name(std::string_view text, const StreamIdDefaults& defaults) {
    StreamId id;
    id.mode = defaults.mode;
    const std::string_view path = take_part(text, "?");
    id.params = text;
    return finish(std::move(id), path, defaults);
}

}  // namespace

Parsed parse_stream_id(std::string_view text, const StreamIdDefaults& defaults) {
    if (text.empty()) text = defaults.stream_id;
    if (text.size() > kMaxStreamId) return bad("the stream id is longer than 512 bytes");
    if (text.ends_with(kFeedback)) text.remove_suffix(kFeedback.size());
    if (text.starts_with(kStandard)) return parse_standard(text.substr(kStandard.size()), defaults);
    if (text.starts_with(kBraces)) return bad("stream ids with braces are not supported");
    if (text.starts_with(kPublishPrefix)) {
        return parse_mediamtx(StreamMode::kPublish, text.substr(kPublishPrefix.size()), defaults);
    }
    if (text.starts_with(kReadPrefix)) {
        return parse_mediamtx(StreamMode::kRequest, text.substr(kReadPrefix.size()), defaults);
    }
    return parse_name(text, defaults);
}

}  // namespace srt
