#include "service/edge/push.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "config/path_variables.h"
#include "runtime/loop/clock.h"
#include "service/edge/config.h"
#include "service/edge/origin.h"
#include "service/edge/params.h"
#include "service/relay/rtmp_link.h"
#include "service/relay/srt_link.h"

namespace service::edge {

using base::CloseReason;
using base::Code;
using base::fail;
using base::Result;

namespace {

net::SessionType edge_push_type() {
    static const net::SessionType kType = net::SessionType::add("edge-push", false);
    return kType;
}

}  // namespace

std::string_view Push::state_name(State state) {
    constexpr std::array<std::string_view, kStates> kNames = {"connecting", "publishing", "waiting"};
    return kNames[static_cast<size_t>(state)];
}

Push::Push(PushOwner& owner, base::Ref<live::Stream> stream, std::string path)
    : SinkRunner(owner,
                 {.log_name = "edge push", .connect_ms = kConnectMs + kAcceptMs, .longest_pause_ms = kFirstPauseMs},
                 std::move(stream), std::move(path)),
      owner_(owner),
      params_(this->stream().publisher() ? params_for_origin(this->stream().publisher()->facts().params)
                                         : std::string()),
      without_since_ms_(runtime::now_ms()) {}

void Push::reconfigure() {
    const config::Vhost* vhost = find_edge(*owner_.snapshot(), key().vhost);
    if (!vhost) return;
    const auto origins = shown_origins(vhost->get<VhostConfig>().origin);
    if (std::ranges::find(origins, server()) == origins.end())
        close_connection("its origin is no longer in the configuration", CloseReason::kDone);
}

std::vector<std::string> Push::servers_now() {
    const config::Vhost* vhost = find_edge(*owner_.snapshot(), key().vhost);
    if (!vhost) return {};
    auto origins =
        owner_.health().order(key().vhost, shown_origins(vhost->get<VhostConfig>().origin), runtime::now_ms());
    std::erase_if(origins, [](const std::string& origin) {
        const auto parsed = parse_origin(origin);
        return !parsed || !(parsed->takes_rtmp() || parsed->is_srt());
    });
    return origins;
}

Result<std::unique_ptr<PushLink>> Push::make_link(const std::string& origin) {
    const config::SnapshotPtr snapshot = owner_.snapshot();
    const config::Vhost* vhost = find_edge(*snapshot, key().vhost);
    if (!vhost) return fail(Code::kConfig, "the vhost is no edge any more");
    const std::string name = config::PathVariables().set("vhost", key().vhost).expand(vhost->get<VhostConfig>().vhost);
    const Origin where = TRY(find_origin(vhost->get<VhostConfig>().origin, origin));
    if (where.is_srt()) {
        auto target = TRY(srt_target_of(where, ::srt::StreamMode::kPublish, key(), name, params_, path()));
        ++owner_.health().state(origin).connections;
        return std::make_unique<relay::SrtLink>(relay::SrtLinkOptions{.session_type = edge_push_type(),
                                                                      .target = std::move(target),
                                                                      .stream = base::Ref<live::Stream>(&stream())});
    }
    relay::RtmpLinkOptions options{.log_name = "edge push",
                                   .session_type = edge_push_type(),
                                   .path = path(),
                                   .connect_ms = kConnectMs,
                                   .tls = &owner_.tls()};
    options.target = TRY(target_of(where, Scheme::kRtmp, key(), name, params_));
    ++owner_.health().state(origin).connections;
    return std::make_unique<relay::RtmpLink>(std::move(options));
}

void Push::on_publishing() {
    was_taken_ = true;
    owner_.health().record_success(server());
    ++owner_.health().state(server()).pushes;
}

void Push::on_publishing_ended() {
    without_since_ms_ = runtime::now_ms();
    --owner_.health().state(server()).pushes;
}

Result<void> Push::on_failure(const base::Error& error) {
    const bool is_refused = error.code() == Code::kRefused;
    if (!is_refused && error.code() != Code::kConfig)
        owner_.health().record_failure(server(), error.text(), runtime::now_ms());
    // A refusal is a decision about the publisher.
    if (is_refused && !was_taken_) return fail(Code::kRefused, fmt::format("{}: {}", server(), error.text()));
    return {};
}

Result<void> Push::on_round_failed() {
    if (was_taken_ && runtime::now_ms() - without_since_ms_ < kWithoutMs) return {};
    const std::string why =
        problem().empty() ? "no origin takes streams by RTMP or SRT" : fmt::format("{}: {}", server(), problem());
    return fail(Code::kOther, "no origin takes the stream; " + why);
}

}  // namespace service::edge
