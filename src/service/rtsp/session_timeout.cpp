// rtsp_server { session_timeout }: who neither plays nor publishes sends a request in this time, and a player by UDP a
// request or a report. A publisher has the time limits of all publishers (live/hub/publisher_limits.h).

#include "service/rtsp/connection.h"

namespace service::rtsp {

using base::CloseReason;

void Connection::restart_timeout() { work_->deadline = runtime::Deadline::in_ms(session_timeout_s_ * int64_t{1000}); }

base::Error Connection::timed_out() const {
    return {base::Code::kTimeout, fmt::format("no request for {} s (session_timeout)", session_timeout_s_)};
}

void Connection::check_timeout(int64_t now_ms) {
    if (!viewer_ || !claimed_ || now_ms - heard_ms_ < session_timeout_s_ * int64_t{1000}) return;
    runtime::ContextScope scope(id());
    viewer_->abort(fmt::format("neither a request nor a report for {} s (session_timeout)", session_timeout_s_),
                   CloseReason::kPeerTimeout);
}

}  // namespace service::rtsp
