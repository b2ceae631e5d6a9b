#pragma once
// The source of a camera or server that is asked by RTSP: it asks for the description, sets up its tracks and publishes
// what comes. The camera is not trusted: what it sends has the bounds of a publisher (publisher.h), and datagrams count
// from its address alone. The stream's name is acquired when the first packet comes, so that a camera without media
// does not publish.

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "service/client_tls.h"
#include "service/relay/source.h"
#include "service/rtsp/pull_config.h"

namespace service::rtsp {

// The address that a camera redirects to. The credentials are for its own host and port alone, and not for a connection
// that is less secure.
base::Result<PullSource> redirected(const PullSource& from, const std::string& location);

struct CameraOptions {
    PullSource source{};
    ClientTls* tls = nullptr;  // outlives it; for rtsps://
    // The camera accepts Basic alone, and was sent the password over a plain connection. Must not yield.
    std::function<void()> on_password_in_the_clear{};
};
std::unique_ptr<relay::Source> make_camera_source(CameraOptions options);

}  // namespace service::rtsp
