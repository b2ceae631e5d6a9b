#pragma once
// Push: passes a stream that is published at an edge up to an origin, by RTMP or SRT: the runner of service/relay,
// which tries the vhost's origins in turn until one takes it. Meanwhile the stream's GOP cache is the buffer: what an
// origin gets begins at the newest keyframe. Without an origin the publisher is ended, and is told why: players at
// other edges would wait for nothing.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/snapshot.h"
#include "service/client_tls.h"
#include "service/edge/origin_health.h"
#include "service/relay/sink_runner.h"

namespace service::edge {

class PushOwner : public relay::SinkOwner {
  public:
    virtual const config::SnapshotPtr& snapshot() const = 0;
    virtual OriginHealth& health() = 0;
    virtual ClientTls& tls() = 0;

  protected:
    ~PushOwner() = default;
};

class Push final : public relay::SinkRunner {
  public:
    static constexpr size_t kStates = 3;  // it knows no loop
    static std::string_view state_name(State state);

    static constexpr int64_t kConnectMs = 150;     // of an origin's TCP connection, as SRS has it
    static constexpr int64_t kAcceptMs = 5'000;    // from there to the accepted publish
    static constexpr int64_t kWithoutMs = 10'000;  // a stream that had an origin may be without one for so long

    // path: the servers that the stream has passed, with this one. The owner must outlive it.
    Push(PushOwner& owner, base::Ref<live::Stream> stream, std::string path);

    // The vhost's configuration has changed.
    void reconfigure();

  private:
    std::vector<std::string> servers_now() override;
    base::Result<std::unique_ptr<PushLink>> make_link(const std::string& origin) override;
    void on_publishing() override;
    void on_publishing_ended() override;
    base::Result<void> on_failure(const base::Error& error) override;
    base::Result<void> on_round_failed() override;

    PushOwner& owner_;
    const std::string params_;
    bool was_taken_ = false;    // an origin has accepted the stream
    int64_t without_since_ms_;  // by the loop's clock: since when no origin has it
};

}  // namespace service::edge
