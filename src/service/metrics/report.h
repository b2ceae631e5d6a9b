#pragma once
// The content of /metrics: the metrics of SRS, and our own. doc/metrics.md lists them all. Data is collected in steps
// that yield to others; the number of per-stream samples is limited.

#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/result.h"
#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/operations.h"
#include "net/sessions/session.h"
#include "protocol/prometheus/samples.h"
#include "protocol/prometheus/text.h"
#include "service/identity.h"
#include "service/metrics/config.h"
#include "service/shared_parts.h"

namespace service::metrics {

class Report {
  public:
    // All of them must outlive it.
    Report(net::SessionTable& sessions, live::Registry& registry, const net::Operations& operations,
           const Offers& offers)
        : sessions_(sessions), registry_(registry), operations_(operations), offers_(offers) {}

    // Returns the whole text. Yields now and then; only one call at a time.
    // earlier: the samples of a process that this one has replaced, which are added where that makes sense; null: none.
    base::Result<std::string> make(const Identity& identity, const ServerConfig& exporter,
                                   const prometheus::Families* earlier = nullptr);
    // What is added of a family. Pure.
    static prometheus::Addition addition(std::string_view family, prometheus::Type type);

  private:
    using Text = prometheus::Text;

    void about(Text& text, const Identity& identity, const ServerConfig& exporter) const;
    void process(Text& text);
    void loop(Text& text) const;
    void operations(Text& text) const;
    void earlier_process(Text& text) const;
    void disk(Text& text) const;
    void totals(Text& text) const;
    void closed(Text& text) const;
    base::Result<void> clients(Text& text);
    base::Result<void> streams(Text& text, size_t limit);
    void standbys(Text& text) const;
    static void input_faults(Text& text);
    void latency(Text& text) const;
    static void udp(Text& text);
    static void senders(Text& text);

    net::SessionTable& sessions_;
    live::Registry& registry_;
    const net::Operations& operations_;
    const Offers& offers_;
    // A stream that is included stays included until it ends: a series with gaps is worse than a missing one.
    std::set<live::StreamKey> shown_;
    int64_t cpu_at_us_ = 0;  // when cpu_us_ was read
    int64_t cpu_us_ = 0;
    double cpu_percent_ = 0;
};

}  // namespace service::metrics
