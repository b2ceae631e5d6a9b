#include <optional>
#include <utility>

#include "protocol/rtmp/client_session.h"
#include "service/relay/body_source.h"
#include "service/relay/dial.h"

namespace service::relay {

using base::Code;
using base::fail;
using base::Result;

namespace {

class RtmpSource final : public BodySource, private ::rtmp::ClientHandler {
  public:
    explicit RtmpSource(BodySourceOptions options) : BodySource(std::move(options)) {}

  private:
    Result<void> open(runtime::Deadline limit) override {
        const ::rtmp::Url url = TRY(::rtmp::parse_url(options_.target.url));
        if (options_.connect) {
            socket_ = TRY(options_.connect());
            TRY(shake_hands(*socket_, limit));
        } else {
            socket_ = TRY(dial_rtmp(url, *options_.tls, limit, limit));
        }
        ::rtmp::ClientOptions options;
        options.forward_path = options_.path;
        options.arguments = options_.arguments;
        if (options.arguments.is_object()) options.arguments.set("srs_id", fetch_->id());
        options.tc_url = options_.target.tc_url;
        session_.emplace(static_cast<::rtmp::ClientHandler&>(*this), url, options, kRtmpHandshakeBytes);
        auto ready = await_ready(*session_, *socket_, "asking to play", limit);
        if (!ready && ready.error().code() == Code::kRefused) fetch_->refused();
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
    std::string path() const override { return session_ ? session_->peer_path() : std::string(); }

    void on_ready() override {}
    Result<void> on_media(::rtmp::Message& message) override {
        return on_body(message.type, message.payload, message.timestamp);
    }
    void on_dropped(const base::Error& error) override { bodies_.record_fault(error); }
    void on_status(std::string_view code, std::string_view) override {
        // The origin's players have waited for its publisher.
        over_ |= code == "NetStream.Play.UnpublishNotify" || code == "NetStream.Play.Stop";
    }

    std::optional<::rtmp::ClientSession> session_;
    bool over_ = false;
};

}  // namespace

std::unique_ptr<Source> make_body_source(BodySourceOptions options) {
    if (is_rtmp(options.target.scheme)) return std::make_unique<RtmpSource>(std::move(options));
    return make_flv_source(std::move(options));
}

}  // namespace service::relay
