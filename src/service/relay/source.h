#pragma once
// Source: one connection that fetches a stream from another server, by one protocol. What all fetching shares is the
// runner's (source_runner.h): whether the stream is wanted, which server is asked, pauses, redirects, the session in
// API and metrics, the log.
//
// A further protocol (SRT, HLS) is one class in a file of its own:
// - run() connects, asks for the stream, and calls Fetch::opened() when the server has agreed, or Fetch::refused().
// With
//   the first media it acquires the stream's name, as body_source.cpp and service/rtsp/camera_source.cpp do, and calls
//   Fetch::streaming().
// - It counts its bytes in Fetch::traffic, calls Fetch::check() about twice a second, and returns when
//   Fetch::is_ending(). Whatever ends it otherwise is an error.
// - The service that has its directives makes it in make_source() of its SourceRunner.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/close_reason.h"
#include "base/ref.h"
#include "base/result.h"
#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "live/hub/stream.h"
#include "net/sessions/session.h"
#include "runtime/loop/deadline.h"
#include "service/relay/outgoing_session.h"

namespace service::relay {

class SourceRunner;

// What a source has of its runner.
class Fetch {
  public:
    // vhost belongs to the snapshot. The runner must outlive it.
    Fetch(SourceRunner& runner, config::SnapshotPtr snapshot, const config::Vhost& vhost,
          base::Ref<live::Stream> stream);
    Fetch(const Fetch&) = delete;

    const std::string& id() const { return id_; }  // of the session, also in the log
    const std::string& log_name() const;           // "edge pull"
    const config::SnapshotPtr& snapshot() const { return snapshot_; }
    const config::Vhost& vhost() const { return vhost_; }
    live::Stream& stream() const { return *stream_; }
    const live::Registry& registry() const;

    net::Traffic traffic;  // of the connection so far
    // Of a source by SRT; called while it runs.
    std::function<std::optional<net::SrtQuality>()> srt_quality{};

    // The server has the stream, as far as it says: media are awaited.
    void opened();
    // The server has answered that it does not give the stream.
    void refused() { is_refused_ = true; }
    // Media flow, and the stream's name is acquired. url: without secrets. detail: for the log; may be empty.
    void streaming(const std::string& ip, const std::string& url, std::string_view detail);
    bool is_streaming() const { return session_.has_value(); }

    // It is to end; the first reason counts.
    void close(std::string_view why, base::CloseReason reason);
    // The same, and the stream is not fetched again because of that.
    void give_up(std::string_view why, base::CloseReason reason);
    bool is_ending() const { return !end_text_.empty(); }
    const std::string& end_text() const { return end_text_; }
    // Gives up if nobody wants the stream any more. To be called about twice a second.
    void check();

  private:
    friend class SourceRunner;
    // After run(), with its result.
    base::Result<void> finish(base::Result<void> ended);

    SourceRunner& runner_;
    const config::SnapshotPtr snapshot_;
    const config::Vhost& vhost_;
    const base::Ref<live::Stream> stream_;
    const std::string id_;
    std::optional<OutgoingSession> session_;
    std::string end_text_;  // not empty: it is to end
    base::CloseReason end_reason_ = base::CloseReason::kUnknown;
    bool is_given_up_ = false;
    bool is_refused_ = false;
};

class Source {
  public:
    virtual ~Source() = default;

    // Connects, asks and gets the first media within the limit, and publishes what comes until it ends, which is always
    // an error: the reason. A camera has publish.firstpkt_timeout for its first media. Once. Yields.
    virtual base::Result<void> run(Fetch& fetch, runtime::Deadline limit) = 0;
    // After run(): the source that the server redirected to; null: it did not. An error: it must not be followed.
    // Credentials go to no other host or port.
    virtual base::Result<std::unique_ptr<Source>> redirected() = 0;
    // The URL that it fetches from, without secrets.
    virtual const std::string& shown() const = 0;
};

}  // namespace service::relay
