#pragma once
// ProcessLink: what two processes of the server tell each other while both have clients: the one that was replaced, and
// its successor. The same on both sides. Streams that one publishes the other pulls when a player wants them
// (service::OtherProcess); a publisher is refused a name while the other process has a live publisher of it, which that
// process decides: the last guard of the gate, because a publisher that may take a name over ends the other one. See
// messages.h. How much of the server each is they tell each other every second, so that its limits are those of both
// together; requests to the other's API go by LinkHttp.
//
// The other process may be broken, or stand still: what it says is bounded, nobody waits for it longer than
// kAnswerMs, and with the end of the channel all of it is forgotten. Streams that it published until then have ended
// with it: services are told, as of those that it says have ended; not when this process closes the link.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/access/gate.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"
#include "runtime/socket/datagram_relay.h"
#include "runtime/socket/process_channel.h"
#include "server/upgrade/link_http.h"
#include "server/upgrade/messages.h"
#include "service/shared_parts.h"

namespace server {

class ProcessLink final : public service::OtherProcess, private net::Guard, private live::StreamWatcher {
  public:
    static constexpr size_t kMaxStreams = 100'000;  // of the other process; others are not found in this one
    static constexpr size_t kMaxQueued = 10'000;    // messages; with more the other process stands still
    static constexpr int64_t kAnswerMs = 2'000;
    static constexpr int64_t kFiguresMs = 1'000;
    // For the last counters of a process that is about to end.
    static constexpr int64_t kLastReadMs = 2'000;

    struct Parts {
        live::Registry& registry;
        net::SessionTable& sessions;
        net::Gate& gate;
        service::Offers& offers;
        const net::HttpRouter& api_router;
        const net::HttpRouter& router;
    };

    ProcessLink() = default;
    ~ProcessLink();  // closes: yields
    ProcessLink(const ProcessLink&) = delete;

    // Before open(): what it works with. The parts must outlive it, or close().
    void connect(const Parts& parts);
    net::SessionTable& sessions() const { return parts_->sessions; }
    // snapshot: the one in force. is_replaced: the other process is the one that this one has replaced, and this one
    // receives the datagrams of both.
    void open(std::unique_ptr<runtime::ProcessChannel> channel, std::function<config::SnapshotPtr()> snapshot,
              bool is_replaced);
    // Yields. Harmless where it is not open.
    void close();
    // The process is about to end: the other one reads its counters, soon. Yields. Harmless where it is not open.
    void announce_end();
    // Yields until the other process is gone, or the link was closed.
    base::Result<void> await_end(runtime::Deadline deadline);

    bool is_there() const override { return is_open_; }
    bool is_replaced() const override { return is_open_ && is_replaced_; }
    bool publishes(const base::StreamKey& stream) const override { return is_open_ && streams_.contains(stream); }
    base::Result<std::unique_ptr<runtime::ByteStream>> connect() override;
    base::Result<net::HttpAnswer> ask(service::OtherRequest request) override;
    const service::ProcessFigures* figures() const override { return figures_ ? &*figures_ : nullptr; }
    net::Traffic earlier_traffic() const override { return earlier_traffic_; }
    int64_t since_ms() const override { return since_ms_; }
    base::Result<void> end_other() override;
    size_t streams() const { return streams_.size(); }

  private:
    struct Claim {
        bool has_answer = false;
        bool is_granted = false;
        std::string text{};
    };

    bool may_yield(net::Action action, const config::Vhost&) const override {
        return is_open_ && action == net::Action::kPublish;
    }
    base::Result<void> admit(const net::Visitor& visitor, const config::Vhost& vhost) override;
    void stream_published(live::Stream& stream) override;
    void stream_unpublished(live::Stream& stream) override;

    void receive();
    void report_lost();
    void send_queued();
    void end(std::string_view why);
    void take(runtime::ProcessMessage& message);
    void add_streams(const std::vector<base::StreamKey>& keys);
    void end_standbys(const base::StreamKey& key) const;
    void remove_streams(const std::vector<base::StreamKey>& keys);
    void tell_of(const base::StreamKey& key) const;
    void answer_claim(const upgrade::Message& claim);
    base::Result<void> give_up_name(const base::StreamKey& key) const;
    void serve(runtime::OwnedDescriptors& descriptors);
    base::Result<std::unique_ptr<runtime::ByteStream>> connect_http(std::string_view router);
    void serve_http(runtime::OwnedDescriptors& descriptors, std::string_view router);
    void send_figures();
    void post_figures();
    void take_figures(service::ProcessFigures figures);
    void use_elsewhere(const service::ProcessFigures& figures) const;
    void read_other();
    void end_as_told() const;
    void receive_datagrams(runtime::OwnedDescriptors& descriptors);
    bool post(const upgrade::Message& message, runtime::OwnedDescriptors descriptors = {});

    std::unique_ptr<Parts> parts_;
    std::function<config::SnapshotPtr()> snapshot_;
    std::unique_ptr<runtime::ProcessChannel> channel_;
    bool is_open_ = false;
    bool is_replaced_ = false;
    std::set<base::StreamKey> streams_;  // that the other process publishes
    std::set<base::StreamKey> lost_;     // that it published when the link ended; they are to be told of
    std::set<base::StreamKey> named_;    // that this one has named as published
    std::map<uint64_t, Claim*> claims_;  // that wait for their verdicts
    uint64_t last_claim_ = 0;
    runtime::DatagramRelay datagrams_;
    std::deque<runtime::ProcessMessage> queue_;
    runtime::Event queued_{"messages for the other process"};
    runtime::Event answered_{"an answer of the other process"};
    runtime::Event ended_{"the end of the other process"};
    std::unique_ptr<LinkHttp> http_;
    std::optional<service::ProcessFigures> figures_;  // of the other process
    net::Traffic earlier_traffic_;
    int64_t since_ms_ = 0;
    bool is_ending_ = false;  // the other process has said so, or knows that this one is
    runtime::Event ending_{"the end of the other process, or its answer"};
    runtime::Task receiver_, sender_, reporter_, counter_;
};

}  // namespace server
