#pragma once
// Callers: the handshakes of SRT. Nothing is kept of a caller before it has shown by a cookie that its address is its
// own. From its valid conclusion on it has a coroutine, which asks the gate and derives keys, until it is answered or
// refused; the conclusions that it repeats meanwhile are ignored. Checks come in the order of their cost: limits of the
// address, the stream id, the vhost, whether it encrypts, whether the name is free, access rules, the passphrase (2 ms
// of another thread), hooks. Where hooks say what the passphrase is, they come before it.
//
// All refusals are answered by a code on the wire, and logged, by far fewer lines than an attacker sends datagrams. So
// are inductions, by datagrams no longer than theirs, and so many in a second.

#include <array>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/access/gate.h"
#include "net/admission/address_quota.h"
#include "net/sessions/session.h"
#include "protocol/srt/listener.h"
#include "protocol/srt/stream_id.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/log_limit.h"
#include "runtime/loop/sync.h"
#include "runtime/socket/datagram_port.h"
#include "service/srt/session.h"
#include "service/srt/stats.h"

namespace service::srt {

// Who makes sessions of admitted callers. Must not yield.
class CallerOwner {
  public:
    // Null: none.
    virtual Session* find(const CallerKey& caller) = 0;
    // Whether the caller has the name already, and gives it up in begin(): an encoder that has started again.
    virtual bool replaces(const CallerKey& caller, const live::StreamKey& stream) const = 0;
    // A socket id of ours that no session has.
    virtual uint32_t new_id() = 0;
    // kBusy: the name is being published.
    virtual base::Result<Session*> begin(AdmittedCaller caller, bool publishes) = 0;

  protected:
    ~CallerOwner() = default;
};

class Callers {
  public:
    // All references must outlive it.
    Callers(CallerOwner& owner, net::SessionTable& sessions, live::Registry& registry, net::Gate& gate,
            config::SnapshotPtr snapshot, Stats& stats);
    ~Callers();  // yields until none is being admitted

    // A packet whose destination is socket id 0.
    void on_datagram(const runtime::UdpPacket& packet, runtime::DatagramPort& port, int64_t now_us);
    void reload(const config::SnapshotPtr& next);
    // No new callers; those that are being admitted are refused.
    void stop_accepting();

    size_t pending() const { return pending_.size(); }
    const net::AddressQuota& quota() const { return quota_; }

  private:
    using Refusal = ::srt::Refusal;
    struct Refused {
        Refusal code;
        std::string text;
        base::CloseReason reason = base::CloseReason::kRefused;
    };
    template <class T>
    using OrRefused = std::expected<T, Refused>;

    // A caller that is being admitted.
    struct Pending {
        ::srt::CallerRequest request;
        runtime::DatagramPort* port;
        uint16_t destination;  // UdpPacket::destination
        int64_t arrived_us;
        net::AddressQuota::Share share;
        runtime::Task task{};
    };
    // Where the stream id leads.
    struct Wanted {
        config::SnapshotPtr snapshot;
        const config::Vhost* vhost = nullptr;
        ::srt::StreamId id;
        net::Visitor visitor;
        base::Ref<live::Stream> stream{};
    };

    // What was decided about it.
    struct Checked {
        std::optional<relay::SrtKeys> keys{};
        net::Grant grant{};
    };

    bool may_answer(int64_t now_us);
    void on_conclusion(const ::srt::HandshakePacket& packet, const CallerKey& key, runtime::DatagramPort& port,
                       uint16_t destination, int64_t now_us);
    void run(const CallerKey& key, Pending& pending);
    void forget(const CallerKey& key);
    OrRefused<Session*> admit(const CallerKey& key, const Pending& pending);
    OrRefused<Wanted> resolve(const CallerKey& key, const ::srt::CallerRequest& request) const;
    // Yield.
    OrRefused<Checked> check(const Wanted& wanted, const ::srt::CallerRequest& request);
    OrRefused<net::Grant> ask_gate(const Wanted& wanted, std::string* passphrase);
    OrRefused<std::optional<relay::SrtKeys>> derive_keys(const Wanted& wanted, const std::string& passphrase,
                                                         const ::srt::CallerRequest& request) const;
    static Refused refused(const base::Error& error);
    void refuse(const ::srt::Handshake& handshake, const CallerKey& key, runtime::DatagramPort& port,
                uint16_t destination, const Refused& why);

    CallerOwner& owner_;
    net::SessionTable& sessions_;
    live::Registry& registry_;
    net::Gate& gate_;
    config::SnapshotPtr snapshot_;
    Stats& stats_;
    ::srt::CookieSecret secret_{};
    net::AddressQuota quota_{"SRT handshakes", "srt_server.max_handshakes", "srt_server.max_handshakes"};
    std::map<CallerKey, std::unique_ptr<Pending>> pending_;
    runtime::LogLimit refusal_log_;
    runtime::Event ended_{"the last SRT handshake"};
    bool stopping_ = false;
    int64_t answers_since_us_ = 0;
    uint32_t answers_ = 0;  // to inductions, in the second that began then
};

}  // namespace service::srt
