#include "server/why/protocols.h"

#include <algorithm>

#include "server/services.h"

namespace server::why {
namespace {

struct Known {
    std::string_view name;
    std::vector<std::string_view> schemes{}, paths{}, extensions{};
};
// Those of services that a build may leave out.
const std::vector<Known>& known_protocols() {
    static const std::vector<Known> kKnown{{"RTMP", {"rtmp", "rtmps"}},
                                           {"HTTP-FLV and HTTP-TS", {}, {}, {".flv", ".ts", ".aac", ".mp3"}},
                                           {"HLS", {}, {}, {".m3u8"}},
                                           {"DASH", {}, {}, {".mpd"}},
                                           {"WebRTC", {"webrtc"}, {"/rtc/v1"}},
                                           {"RTSP", {"rtsp", "rtsps"}},
                                           {"SRT", {"srt"}}};
    return kKnown;
}

bool has_scheme(const auto& protocol, std::string_view scheme) {
    return std::ranges::find(protocol.schemes, scheme) != protocol.schemes.end();
}

bool begins_path(const auto& protocol, std::string_view path) {
    return std::ranges::any_of(protocol.paths, [&](std::string_view level) {
        return path.starts_with(level) && (path.size() == level.size() || path[level.size()] == '/');
    });
}

bool ends_path(const auto& protocol, std::string_view path) {
    return std::ranges::any_of(protocol.extensions, [&](std::string_view one) { return path.ends_with(one); });
}

const Protocol* find_protocol(const std::function<bool(const Protocol&)>& fits) {
    const Protocol* found = nullptr;
    for_each_part([&](const service::url::Part& part) {
        for (const Protocol& protocol : part.protocols)
            if (!found && fits(protocol)) found = &protocol;
    });
    return found;
}

}  // namespace

void for_each_part(const std::function<void(const service::url::Part&)>& visit) {
    for (const service::Description* one : services())
        if (one->urls) visit(*one->urls());
}

const Protocol* protocol_of_scheme(std::string_view scheme) {
    return find_protocol([&](const Protocol& one) { return has_scheme(one, scheme); });
}

const Protocol* protocol_of_path(std::string_view path) {
    return find_protocol([&](const Protocol& one) { return begins_path(one, path); });
}

const Protocol* protocol_of_file(std::string_view path) {
    return find_protocol([&](const Protocol& one) { return ends_path(one, path); });
}

std::string_view left_out(std::string_view scheme, std::string_view path) {
    for (const Known& one : known_protocols())
        if (scheme.empty() ? begins_path(one, path) || ends_path(one, path) : has_scheme(one, scheme)) return one.name;
    return {};
}

std::string_view extension_of(const Protocol& protocol, std::string_view path) {
    const auto found =
        std::ranges::find_if(protocol.extensions, [&](std::string_view one) { return path.ends_with(one); });
    CHECK(found != protocol.extensions.end());
    return *found;
}

}  // namespace server::why
