#pragma once
// CasterSession: what the sessions of all casters have in common: the stream that the configuration's output names, its
// admission by the gate, and the end, whose first reason counts. TsSession: those that send a transport or a program
// stream. What comes while the gate is asked is kept, within a limit.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/snapshot.h"
#include "convert/ts/pes_reader.h"
#include "live/hub/stream.h"
#include "net/access/gate.h"
#include "net/sessions/session.h"
#include "runtime/loop/coroutine.h"
#include "runtime/socket/byte_stream.h"
#include "service/caster/output.h"
#include "service/relay/ts_publisher.h"

namespace service::caster {

class Service;

class CasterSession : public net::Session {
  public:
    std::string stream_text() const override { return stream_ ? stream_->key().text() : "-"; }
    net::ClientDetails details() const override { return {output_.tc_url, {}, {}, output_.params}; }
    void kick(std::string_view why) override;

    uint32_t index = 0;  // in the service's list

  protected:
    CasterSession(Service& service, std::string_view peer_ip);

    struct Admitted {
        config::SnapshotPtr snapshot;
        const config::Vhost* vhost;  // belongs to the snapshot
        base::Ref<live::Stream> stream;
    };
    // Finds the stream that output_ names, whose name must be free, and asks the gate; the grant is kept. client_ip:
    // for the gate. connection: null: there is none. Yields; the session may be ending then.
    base::Result<Admitted> admit(net::SessionType type, std::string client_ip, runtime::ByteStream* connection);
    // It has acquired the stream's name.
    void enter(base::Ref<live::Stream> stream);
    // Does not cancel its coroutine.
    void will_end(std::string_view why, base::CloseReason reason);
    bool is_ending() const { return !end_reason_.empty(); }
    // Empty while it goes on.
    const std::string& end_reason() const { return end_reason_; }
    // The last log line. The publication must have ended.
    void log_and_leave(std::string_view why, base::CloseReason reason);
    live::PublisherFacts facts_of_publisher() const;

    Service& service() { return service_; }

    Output output_;
    uint64_t received_bytes_ = 0;
    base::Ref<live::Stream> stream_;  // null: it does not publish
    runtime::Task task_;

  private:
    net::Visitor visitor(net::SessionType type, std::string client_ip, const live::StreamKey& key) const;

    Service& service_;
    std::string end_reason_;  // not empty: it is to end
    net::Grant grant_;
};

class TsSession : public CasterSession, private relay::TsPublisherOwner {
  public:
    static constexpr size_t kMaxEarly = 1024 * 1024;  // bytes of what comes before it is admitted

    size_t unfinished_input() const override;
    void list_unfinished_input(std::vector<uint64_t>& parts) const override;
    void drop_unfinished_input(std::string_view why) override;
    net::Traffic traffic() const override { return {received_bytes_, 0}; }
    net::SessionFigures figures() const override { return publisher_ ? publisher_->figures() : net::SessionFigures(); }

  protected:
    using CasterSession::CasterSession;

    // Admits it, and publishes what came meanwhile. name: for the log, a literal. Yields. True: it publishes; false: it
    // is ending.
    base::Result<bool> begin(net::SessionType type, std::string_view name, std::unique_ptr<convert::PesReader> reader,
                             runtime::ByteStream* connection);
    void feed(std::span<const uint8_t> bytes, int64_t now_us);
    void skip_gap();
    // About each kTickMs.
    void check_publisher(int64_t now_us);
    // kLimit: the address has too much unfinished input.
    base::Result<void> count_bytes(size_t bytes);
    void finish(std::string_view why, base::CloseReason reason);
    // What its coroutine came to.
    void end_with(const base::Result<void>& served);
    relay::TsPublisher* publisher() { return publisher_.get(); }  // null: it is not admitted yet

    static constexpr int64_t kTickMs = 100;
    // One by UDP that was not heard of for this long gives way to a publisher of another protocol.
    static constexpr int64_t kAliveUs = 2'000'000;

  private:
    // TsPublisherOwner. peer_alive() is the derived class's.
    void on_revoked(std::string_view why, base::CloseReason reason) override;
    live::PublisherFacts publisher_facts() const override { return facts_of_publisher(); }

    std::vector<uint8_t> early_;  // before it is admitted
    std::unique_ptr<relay::TsPublisher> publisher_;
};

}  // namespace service::caster
