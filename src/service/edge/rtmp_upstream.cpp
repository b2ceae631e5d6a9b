#include <fmt/format.h>

#include "base/log.h"
#include "service/edge/upstream.h"

namespace service::edge {

using base::Code;
using base::fail;
using base::Result;

namespace {

class RtmpUpstream final : public Upstream, private ::rtmp::ClientHandler {
  public:
    RtmpUpstream(const Source& source, UpstreamOptions options, ClientTls& tls, UpstreamSink& sink)
        : source_(source), options_(std::move(options)), tls_(tls), sink_(sink) {}

    Result<void> open(runtime::Deadline limit) override {
        const ::rtmp::Url url = TRY(::rtmp::parse_url(source_.url));
        socket_ = TRY(dial_rtmp(url, tls_, limit, limit));
        ::rtmp::ClientOptions options;
        options.forward_path = options_.path;
        options.arguments = options_.arguments;
        options.tc_url = source_.tc_url;
        session_.emplace(static_cast<::rtmp::ClientHandler&>(*this), url, options, kRtmpHandshakeBytes);
        auto ready = await_ready(*session_, *socket_, "asking to play", limit);
        location_ = session_->location();
        return ready;
    }

    Result<void> take(std::span<const uint8_t> bytes) override {
        auto fed = session_->feed(bytes);
        if (!fed) {
            location_ = session_->location();
            return fed;
        }
        if (over_) return fail(Code::kClosed, "the origin says that the stream is over");
        return {};
    }

    std::vector<uint8_t> take_output() override { return std::exchange(session_->output(), {}); }
    const std::string& location() const override { return location_; }
    const std::string& path() const override { return session_ ? session_->peer_path() : location_; }

  private:
    void on_ready() override {}
    Result<void> on_media(::rtmp::Message& message) override {
        return sink_.on_body(message.type, message.payload, message.timestamp);
    }
    void on_dropped(const base::Error& error) override { sink_.on_dropped(error); }
    void on_status(std::string_view code, std::string_view) override {
        // The origin's players have waited for its publisher.
        over_ |= code == "NetStream.Play.UnpublishNotify" || code == "NetStream.Play.Stop";
    }

    const Source source_;
    const UpstreamOptions options_;
    ClientTls& tls_;
    UpstreamSink& sink_;
    std::optional<::rtmp::ClientSession> session_;
    std::string location_;
    bool over_ = false;
};

}  // namespace

std::unique_ptr<Upstream> make_rtmp_upstream(const Source& source, UpstreamOptions options, ClientTls& tls,
                                             UpstreamSink& sink) {
    return std::make_unique<RtmpUpstream>(source, std::move(options), tls, sink);
}

std::unique_ptr<Upstream> make_upstream(const Source& source, UpstreamOptions options, ClientTls& tls,
                                        UpstreamSink& sink) {
    if (is_rtmp(source.scheme)) return make_rtmp_upstream(source, std::move(options), tls, sink);
    return make_flv_upstream(source, std::move(options), tls, sink);
}

}  // namespace service::edge
