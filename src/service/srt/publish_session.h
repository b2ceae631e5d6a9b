#pragma once
// PublishSession: a publisher by SRT: the transport stream in its packets, in order, becomes frames, which are
// published (service/relay/ts_publisher.h).

#include <cstdint>
#include <optional>
#include <vector>

#include "net/sessions/session.h"
#include "protocol/srt/receiver.h"
#include "service/relay/srt_input.h"
#include "service/relay/ts_publisher.h"
#include "service/srt/session.h"
#include "service/srt/stats.h"

namespace service::srt {

net::SessionType srt_publish_type();

class PublishSession final : public Session, private ::srt::DataSink, private relay::TsPublisherOwner {
  public:
    PublishSession(SessionHost& host, net::SessionTable& table, AdmittedCaller caller, Stats& stats);

    // kBusy: the name is being published.
    base::Result<void> acquire();

    size_t unfinished_input() const override;
    void list_unfinished_input(std::vector<uint64_t>& parts) const override;
    void drop_unfinished_input(std::string_view why) override;

    net::SessionFigures figures() const override;

  private:
    void on_channel_second(int64_t now_us) override;
    void on_close() override;

    void on_message(const Message& message) override;

    void on_revoked(std::string_view why, base::CloseReason reason) override { end(why, reason); }
    bool peer_alive() const override { return !ended(); }
    live::PublisherFacts publisher_facts() const override;

    void record_stats();

    Stats& stats_;
    ::srt::Receiver::Counters recorded_{};         // in stats_
    std::optional<relay::TsPublisher> publisher_;  // until it has closed
    relay::SrtInput input_;
};

}  // namespace service::srt
