#include "service/rtsp/pulls.h"

#include <algorithm>
#include <utility>

namespace service::rtsp {

using base::Result;

Pulls::Pulls(net::SessionTable& sessions, live::Registry& registry, net::Gate& gate)
    : sessions_(sessions),
      registry_(registry),
      gate_(gate),
      track_wait_({[this](const config::Vhost& vhost) { return has_on_demand(vhost); },
                   [this](const live::StreamKey& stream) { return pulls_on_demand(stream); }},
                  registry) {}

Pulls::~Pulls() { stop(); }

void Pulls::start(const config::SnapshotPtr& snapshot) {
    started_ = true;
    gate_.add(*this);
    gate_.add(track_wait_);
    reload(snapshot);
}

void Pulls::stop() {
    if (!std::exchange(started_, false)) return;
    gate_.remove(track_wait_);
    gate_.remove(*this);
    for (auto& pull : pulls_) pull->stop("the server stops");
    pulls_.cancel_and_join();
}

void Pulls::reload(const config::SnapshotPtr& next) {
    snapshot_ = next;
    if (!started_) return;
    const std::vector<PullTask> wanted = pull_tasks(*snapshot_);
    for (auto& pull : pulls_)
        if (std::ranges::find(wanted, pull->task().text, &PullTask::text) == wanted.end())
            pull->stop("the configuration changed");
    begin_wanted();
}

// One whose name a pull that is ending still has begins when that has ended.
void Pulls::begin_wanted() {
    for (PullTask& task : pull_tasks(*snapshot_)) {
        const bool is_taken =
            std::ranges::any_of(pulls_, [&](const auto& pull) { return pull->task().stream == task.stream; });
        if (is_taken) continue;
        PullOwner& owner = *this;
        auto pull = std::make_unique<Pull>(owner, std::move(task));
        if (pull->start()) pulls_.add(std::move(pull));
    }
}

void Pulls::pull_ended(Pull& pull) {
    const std::unique_ptr<Pull> ended = pulls_.take(pull);
    if (started_) begin_wanted();
}

bool Pulls::pulls(const live::StreamKey& stream) const {
    return std::ranges::any_of(pulls_, [&](const auto& pull) { return pull->task().stream == stream; });
}

// It refuses nobody.
Result<void> Pulls::admit(const net::Visitor& visitor, const config::Vhost&) {
    if (visitor.action != net::Action::kPlay) return {};
    if (Pull* pull = find_on_demand(visitor.key())) pull->want();
    return {};
}

// A pull goes on for a client that waits; it is begun by those who were admitted by all guards.
Result<void> Pulls::check(const net::Visitor& visitor, const config::Vhost&) {
    if (visitor.action != net::Action::kPlay) return {};
    Pull* pull = find_on_demand(visitor.key());
    if (pull && (visitor.is_admitted || pull->state() != Pull::State::kIdle)) pull->want();
    return {};
}

Pull* Pulls::find_on_demand(const live::StreamKey& stream) const {
    const auto found = std::ranges::find_if(
        pulls_, [&](const auto& pull) { return pull->task().on_demand && pull->task().stream == stream; });
    return found == pulls_.end() ? nullptr : found->get();
}

bool Pulls::pulls_on_demand(const live::StreamKey& stream) const { return find_on_demand(stream) != nullptr; }

bool Pulls::has_on_demand(const config::Vhost& vhost) const {
    return std::ranges::any_of(
        pulls_, [&](const auto& pull) { return pull->task().on_demand && pull->task().stream.vhost == vhost.name; });
}

}  // namespace service::rtsp
