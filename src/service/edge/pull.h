#pragma once
// Pull: one stream of an edge, pulled from an origin for as long as it has players, however many: the runner of
// service/relay with what edges know. It asks the servers that are known to have the stream, then the vhost's origins
// in turn, and passes on what the request of its players has: parameters, and the servers that they have passed.

#include <memory>
#include <string>
#include <vector>

#include "base/ip.h"
#include "net/access/gate.h"
#include "service/client_tls.h"
#include "service/edge/config.h"
#include "service/edge/origin.h"
#include "service/edge/origin_health.h"
#include "service/identity.h"
#include "service/other_process.h"
#include "service/relay/body_source.h"
#include "service/relay/source_runner.h"

namespace service::edge {

class PullOwner : public relay::SourceOwner {
  public:
    virtual OriginHealth& health() = 0;
    virtual ClientTls& tls() = 0;
    virtual OtherProcess* other_process() = 0;  // null: there will never be one
    virtual const Identity& identity() const = 0;
    // What its requests to origins call this server (params.h).
    virtual const std::string& request_name() const = 0;
    // The servers that have the stream now, as far as that is known beside the vhost's origins. Yields.
    virtual std::vector<std::string> locate(const config::Vhost& vhost, const live::StreamKey& key, bool by_http) = 0;
    // Whether the stream is pulled without players, too, now.
    virtual bool is_kept(const live::StreamKey& key) const = 0;

  protected:
    ~PullOwner() = default;
};

class Pull final : public relay::SourceRunner {
  public:
    static constexpr size_t kStates = SourceRunner::kStates - 1;  // it is never idle

    // address: of the client that asks first. not_before_ms: by the loop's clock, of the first attempt. The owner
    // must outlive it.
    Pull(PullOwner& owner, live::StreamKey key, const base::IpAddress& address, int64_t not_before_ms);

    // The vhost's configuration has changed: a connection that no longer fits it is replaced.
    void reconfigure();
    // A player asks for the stream. Does not yield.
    void want(const net::Visitor& visitor);

    const base::IpAddress& address() const { return address_; }

  private:
    std::vector<std::string> servers_now(const config::Vhost& vhost) override;
    base::Result<std::unique_ptr<relay::Source>> make_source(const std::string& origin,
                                                             const config::Vhost& vhost) override;
    base::Result<std::unique_ptr<relay::Source>> source_of(OtherProcess& other);
    void on_streaming() override;
    void on_streaming_ended() override;
    int64_t on_failure(const base::Error& error) override;
    bool is_kept() const override { return owner_.is_kept(key()); }
    // For connect of RTMP.
    amf::Value arguments() const;

    PullOwner& owner_;
    const base::IpAddress address_;
    std::vector<std::string> located_;  // by the last look-up
    std::string silent_;                // the origin that failed last by a time limit; empty: another way, or none
    bool by_flv_ = false;               // its first player came by HTTP-FLV
    std::string path_;                  // the servers that the requests of its players have passed, the latest first
    std::string params_;                // "?k=v" of the first player, or of a later one after a refusal
    bool params_refused_ = false;
};

}  // namespace service::edge
