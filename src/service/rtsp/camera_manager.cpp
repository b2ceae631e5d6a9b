#include "service/rtsp/camera_manager.h"

#include <algorithm>
#include <utility>

namespace service::rtsp {

using base::CloseReason;
using base::Result;

CameraManager::CameraManager(net::SessionTable& sessions, live::Registry& registry, net::Gate& gate)
    : sessions_(sessions), registry_(registry), gate_(gate) {}

CameraManager::~CameraManager() { stop(); }

void CameraManager::start(const config::SnapshotPtr& snapshot) {
    started_ = true;
    gate_.add(*this);
    reload(snapshot);
}

void CameraManager::stop() {
    if (!std::exchange(started_, false)) return;
    gate_.remove(*this);
    for (auto& camera : cameras_) camera->stop("the server stops", CloseReason::kServerStop);
    cameras_.cancel_and_join();
}

void CameraManager::reload(const config::SnapshotPtr& next) {
    snapshot_ = next;
    if (!started_) return;
    const std::vector<PullTask> wanted = pull_tasks(*snapshot_);
    for (auto& camera : cameras_)
        if (std::ranges::find(wanted, camera->task().text, &PullTask::text) == wanted.end())
            camera->stop("the configuration changed", CloseReason::kServerStop);
    begin_wanted();
}

// One whose name a pull that is ending still has begins when that has ended.
void CameraManager::begin_wanted() {
    for (PullTask& task : pull_tasks(*snapshot_)) {
        if (find(task.stream)) continue;
        SourceOwner& owner = *this;
        auto camera = std::make_unique<Camera>(owner, tls_, std::move(task));
        if (camera->start()) cameras_.add(std::move(camera));
    }
}

const config::Vhost* CameraManager::fetching(const config::Snapshot& snapshot, std::string_view vhost) const {
    return snapshot.vhost(vhost);
}

void CameraManager::source_ended(relay::SourceRunner& runner) {
    const std::unique_ptr<Camera> ended = cameras_.take(static_cast<Camera&>(runner));
    if (started_) begin_wanted();
    if (const auto stream = registry_.find(ended->key())) stream->wake_waiting();
}

// It refuses nobody.
Result<void> CameraManager::admit(const net::Visitor& visitor, const config::Vhost&) {
    if (visitor.action != net::Action::kPlay) return {};
    if (Camera* camera = find(visitor.key())) camera->want();
    return {};
}

// A pull goes on for a client that watches; it is begun by those who were admitted by all guards.
Result<void> CameraManager::check(const net::Visitor& visitor, const config::Vhost&) {
    if (visitor.action != net::Action::kPlay) return {};
    Camera* camera = find(visitor.key());
    if (camera && camera->state() != Camera::State::kIdle) camera->want();
    return {};
}

Camera* CameraManager::find(const live::StreamKey& stream) const {
    const auto found =
        std::ranges::find_if(cameras_, [&](const auto& camera) { return camera->task().stream == stream; });
    return found == cameras_.end() ? nullptr : found->get();
}

Fetching CameraManager::fetching(const live::StreamKey& stream) const {
    const Camera* camera = find(stream);
    if (!camera) return Fetching::kNever;
    return camera->is_refused() ? Fetching::kRefused : Fetching::kAsked;
}

}  // namespace service::rtsp
