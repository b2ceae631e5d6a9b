#pragma once
// IngestManager: the ingests of one protocol that the configuration has, each a Pull (a SourceRunner, whose task() has
// the stream, and a text that is equal for equal configurations); a reload begins, changes and ends them. A guard of
// the gate learns which streams players ask for: of these, the ones on demand are pulled, and of the others a pause
// ends.

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/access/gate.h"
#include "net/sessions/session.h"
#include "runtime/loop/task_list.h"
#include "service/relay/source_runner.h"
#include "service/shared_parts.h"

namespace service::relay {

template <class Pull>
class IngestManager final : private SourceOwner, private net::Guard {
  public:
    using Task = std::remove_cvref_t<decltype(std::declval<const Pull&>().task())>;
    struct Protocol {
        std::function<std::vector<Task>(const config::Snapshot&)> tasks;  // of all enabled vhosts
        std::function<std::unique_ptr<Pull>(SourceOwner&, Task)> make;
    };

    // The references must outlive it.
    IngestManager(net::SessionTable& sessions, live::Registry& registry, net::Gate& gate, Protocol protocol)
        : sessions_(sessions), registry_(registry), gate_(gate), protocol_(std::move(protocol)) {}
    ~IngestManager() { stop(); }  // yields
    IngestManager(const IngestManager&) = delete;

    void start(const config::SnapshotPtr& snapshot) {
        started_ = true;
        gate_.add(*this);
        reload(snapshot);
    }
    // Pulls whose configuration is the same go on; new clients of the gate see the new ones at once.
    void reload(const config::SnapshotPtr& next);
    void stop();
    // While it is on, all of them are another process's.
    void give_over(bool on);

    const runtime::TaskList<Pull>& list() const { return pulls_; }
    // For Offers::fetches.
    Fetching fetching(const live::StreamKey& stream) const;

  private:
    const config::SnapshotPtr& snapshot() const override { return snapshot_; }
    net::SessionTable& sessions() override { return sessions_; }
    live::Registry& registry() override { return registry_; }
    const config::Vhost* fetching(const config::Snapshot& snapshot, std::string_view vhost) const override {
        return snapshot.vhost(vhost);
    }
    void source_ended(SourceRunner& runner) override;
    base::Result<void> admit(const net::Visitor& visitor, const config::Vhost& vhost) override;
    base::Result<void> check(const net::Visitor& visitor, const config::Vhost& vhost) override;
    Pull* find(const live::StreamKey& stream) const;
    void begin_wanted();

    config::SnapshotPtr snapshot_;
    net::SessionTable& sessions_;
    live::Registry& registry_;
    net::Gate& gate_;
    const Protocol protocol_;
    runtime::TaskList<Pull> pulls_{"the last ingest to end"};
    bool started_ = false;
    bool given_over_ = false;
};

template <class Pull>
void IngestManager<Pull>::stop() {
    if (!std::exchange(started_, false)) return;
    gate_.remove(*this);
    for (auto& pull : pulls_) pull->stop("the server stops", base::CloseReason::kServerStop);
    pulls_.cancel_and_join();
}

template <class Pull>
void IngestManager<Pull>::give_over(bool on) {
    given_over_ = on;
    if (!started_) return;
    if (!on) return begin_wanted();
    for (auto& pull : pulls_) pull->stop("another process pulls it", base::CloseReason::kServerStop);
}

template <class Pull>
void IngestManager<Pull>::reload(const config::SnapshotPtr& next) {
    snapshot_ = next;
    if (!started_) return;
    const std::vector<Task> wanted = protocol_.tasks(*snapshot_);
    for (auto& pull : pulls_)
        if (std::ranges::find(wanted, pull->task().text, &Task::text) == wanted.end())
            pull->stop("the configuration changed", base::CloseReason::kServerStop);
    begin_wanted();
}

// One whose name a pull that is ending still has begins when that has ended.
template <class Pull>
void IngestManager<Pull>::begin_wanted() {
    if (given_over_) return;
    for (Task& task : protocol_.tasks(*snapshot_)) {
        if (find(task.stream)) continue;
        SourceOwner& owner = *this;
        auto pull = protocol_.make(owner, std::move(task));
        if (pull->start()) pulls_.add(std::move(pull));
    }
}

template <class Pull>
void IngestManager<Pull>::source_ended(SourceRunner& runner) {
    const std::unique_ptr<Pull> ended = pulls_.take(static_cast<Pull&>(runner));
    if (started_) begin_wanted();
    if (const auto stream = registry_.find(ended->key())) stream->wake_waiting();
}

// It refuses nobody.
template <class Pull>
base::Result<void> IngestManager<Pull>::admit(const net::Visitor& visitor, const config::Vhost&) {
    if (visitor.action != net::Action::kPlay) return {};
    if (Pull* pull = find(visitor.key())) pull->want();
    return {};
}

// A pull goes on for a client that watches; it is begun by those who were admitted by all guards.
template <class Pull>
base::Result<void> IngestManager<Pull>::check(const net::Visitor& visitor, const config::Vhost&) {
    if (visitor.action != net::Action::kPlay) return {};
    Pull* pull = find(visitor.key());
    if (pull && pull->state() != SourceRunner::State::kIdle) pull->want();
    return {};
}

template <class Pull>
Pull* IngestManager<Pull>::find(const live::StreamKey& stream) const {
    const auto found = std::ranges::find_if(pulls_, [&](const auto& pull) { return pull->task().stream == stream; });
    return found == pulls_.end() ? nullptr : found->get();
}

template <class Pull>
Fetching IngestManager<Pull>::fetching(const live::StreamKey& stream) const {
    const Pull* pull = find(stream);
    if (!pull) return Fetching::kNever;
    return pull->is_refused() ? Fetching::kRefused : Fetching::kAsked;
}

}  // namespace service::relay
