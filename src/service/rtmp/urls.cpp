#include "service/rtmp/urls.h"

#include <utility>

#include "protocol/flv/body.h"
#include "protocol/rtmp/client_session.h"
#include "protocol/rtmp/url.h"
#include "service/relay/dial.h"
#include "service/url/names.h"

namespace service::rtmp {
namespace {

using base::Code;
using base::fail;
using base::Result;

constexpr uint16_t kTlsPort = 443;

std::string url_name(const url::Target& target) { return target.tls ? "RTMPS" : "RTMP"; }

Result<url::Target> read_url(std::string_view text, bool publishes, const config::Snapshot&) {
    const auto parsed = TRY(::rtmp::parse_url(text));
    url::Target target{.tls = parsed.tls, .action = url::action_of(publishes)};
    target.host = parsed.host;
    target.port = parsed.port;
    if (parsed.stream.empty())
        return fail(Code::kProtocol,
                    "the URL names no stream: behind the app the stream key is missing, rtmp://HOST/APP/STREAM");
    TRY(url::take_address(target, TRY(::rtmp::resolve_stream(parsed.tc_url(), parsed.app, parsed.stream))));
    return target;
}

std::string write_url(const url::Target& target, std::string_view query) {
    return target.tls ? url::plain_url("rtmps", target, kTlsPort, query)
                      : url::plain_url("rtmp", target, ::rtmp::kDefaultPort, query);
}

class UrlReading final : public url::Reading, private ::rtmp::ClientHandler {
  public:
    UrlReading(const url::Target& target, url::FrameVisit visit) : visit_(std::move(visit)) {
        url_.tls = target.tls;
        url_.host = target.vhost;
        url_.port = target.port;
        url_.app = target.app;
        url_.stream = target.stream + target.param;
    }
    Result<void> begin(runtime::ByteStream& socket, runtime::Deadline limit) override {
        TRY(relay::shake_hands(socket, limit));
        session_ = std::make_unique<::rtmp::ClientSession>(static_cast<::rtmp::ClientHandler&>(*this), url_,
                                                           ::rtmp::ClientOptions(), relay::kRtmpHandshakeBytes);
        return relay::await_ready(*session_, socket, "asking to play", limit);
    }
    Result<void> take(std::span<const uint8_t> bytes) override { return session_->feed(bytes); }
    std::vector<uint8_t> take_output() override { return std::exchange(session_->output(), {}); }

  private:
    void on_ready() override {}
    void on_status(std::string_view, std::string_view) override {}
    Result<void> on_media(::rtmp::Message& message) override {
        auto parsed = TRY(parser_.parse(message.type, message.payload, message.timestamp));
        if (parsed.frame) visit_(*parsed.frame);
        for (const media::Frame& frame : parsed.more) visit_(frame);
        return {};
    }

    const url::FrameVisit visit_;
    ::rtmp::Url url_;
    flv::BodyParser parser_;
    std::unique_ptr<::rtmp::ClientSession> session_;
};

std::unique_ptr<url::Reading> read_stream(const url::Target& target, const config::Vhost&, url::FrameVisit visit) {
    return std::make_unique<UrlReading>(target, std::move(visit));
}

void check_stream_of_url(const url::Facts& facts, const config::Vhost&, const url::PublishedStream& stream,
                         url::Findings& findings) {
    if (url_part()->has(facts.target)) add_newer_codecs(stream, url_name(facts.target), findings);
}

}  // namespace

const url::Part* url_part() {
    static const url::Part kPart{.protocols = {{.name = url_name,
                                                .plain = {{}, {"rtmp/listen"}},
                                                .tls = {{"rtmps/enabled"}, {"rtmps/listen"}},
                                                .schemes = {"rtmp", "rtmps"},
                                                .read = read_url,
                                                .write = write_url,
                                                .reading = read_stream}},
                                 .check_stream = check_stream_of_url};
    return &kPart;
}

}  // namespace service::rtmp
