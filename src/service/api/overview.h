#pragma once
// The overview: the figures of the whole server for a console's first page, at /api/v1/overview. They are made at most
// once a second for all callers together. Sessions are counted by type where they enter and leave streams; one pass
// over the sessions adds up their bytes, and one over the streams counts them.

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "runtime/loop/cached_value.h"
#include "runtime/senders/senders.h"
#include "service/api/table/context.h"
#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"

namespace service::api {

class Earlier;
class Statistics;
class System;
class Verdicts;

class Overview {
  public:
    static constexpr int64_t kFreshMs = 1'000;
    static constexpr int64_t kPatienceMs = 5'000;  // for the figures that another caller makes

    // All of them must outlive it.
    Overview(const Context& context, Earlier& earlier, const Statistics& statistics, const System& system,
             Verdicts& verdicts);

    std::vector<Endpoint> endpoints();
    // The number of times the figures were made.
    uint64_t made() const { return made_; }

  private:
    base::Result<void> answer(Request& request, Response& response);
    base::Result<Json> make();
    void add_machine(Json& figures);
    void add_clients(Json& figures) const;
    void add_ends(Json& figures) const;
    void add_senders(Json& figures);
    base::Result<void> add_earlier(Json& figures) const;

    const Context& context_;
    Earlier& earlier_;
    const Statistics& statistics_;
    const System& system_;
    Verdicts& verdicts_;
    const int64_t began_ms_;  // monotonic
    // Without what depends on the caller.
    runtime::CachedValue<Json> figures_{"the overview", kFreshMs, kPatienceMs};
    uint64_t made_ = 0;
    int64_t cpu_us_;  // of the process, when the figures were made last
    int64_t cpu_at_us_;
    std::vector<runtime::SenderThreadStats> senders_;  // then
    int64_t senders_at_us_ = 0;                        // 0: not yet
};

// The protocol of a client's type, as the overview names it: "rtmp" for rtmp-play and fmle-publish, "webrtc", "flv",
// "hls"; "forward" for a stream that this server publishes to another one. Pure.
std::string_view protocol_of(net::SessionType type);

}  // namespace service::api
