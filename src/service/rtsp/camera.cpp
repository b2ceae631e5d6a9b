#include "service/rtsp/camera.h"

#include <utility>

#include "runtime/loop/limited_log.h"
#include "service/rtsp/camera_source.h"

namespace service::rtsp {

net::SessionType rtsp_pull_type() {
    static const net::SessionType kType = net::SessionType::add("rtsp-pull", true);
    return kType;
}

Camera::Camera(relay::SourceOwner& owner, ClientTls& tls, PullTask task)
    : SourceRunner(owner, {.log_name = "ingest " + task.name,
                           .session_type = rtsp_pull_type(),
                           .key = task.stream,
                           .connect_ms = 10'000,
                           .on_demand = task.on_demand,
                           .is_configured = true}),
      tls_(tls),
      task_(std::move(task)) {}

base::Result<std::unique_ptr<relay::Source>> Camera::make_source(const std::string&, const config::Vhost&) {
    return make_camera_source(
        {.source = task_.source, .tls = &tls_, .on_password_in_the_clear = [this] { warn_of_password(); }});
}

// Asking often with wrong credentials may lock the account.
int64_t Camera::on_failure(const base::Error& error) {
    return error.code() == base::Code::kRefused && !is_streaming() ? kLongestPauseMs : 0;
}

// Once.
void Camera::warn_of_password() {
    if (std::exchange(warned_, true)) return;
    runtime::warn_limited(
        "ingest {}: the password goes to {} in the clear, as the camera offers Basic alone; methods digest "
        "forbids it",
        task_.name, task_.source.url);
}

}  // namespace service::rtsp
