#pragma once
// Alert: what is wrong at the server, or with one of its streams, from when to when. service/alerts finds them;
// service/hook reports them (on_alert).

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "live/hub/stream.h"

namespace service {

enum class AlertKind : uint8_t {
    kPublisherGone,     // a stream
    kKeyframeInterval,  // a stream
    kRefusedLogins,
    kDisk,
    kLoopStalls,
    kReloadRefused,
    kCertificate,
};
inline constexpr std::array<std::string_view, 7> kAlertNames = {
    "publisher-gone", "keyframe-interval", "refused-logins", "disk", "loop-stalls", "reload-refused", "certificate"};
constexpr std::string_view alert_name(AlertKind kind) { return kAlertNames[static_cast<size_t>(kind)]; }

struct Alert {
    AlertKind kind = AlertKind::kDisk;
    live::StreamKey stream{};  // without a name: of the server
    std::string about{};       // of several of a kind which one: the listener of a certificate
    std::string text{};        // for people
    double figure = 0;         // s, a count, a share or days, by the kind (doc/operations.md)
    int64_t raised_ms = 0;     // wall clock
    int64_t cleared_ms = 0;    // 0: it lasts
};

}  // namespace service
