#include "server/why/play.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "convert/ts/ts_reader.h"
#include "protocol/flv/body.h"
#include "protocol/flv/reader.h"
#include "protocol/http/response_parser.h"
#include "protocol/rtmp/client_session.h"
#include "runtime/loop/clock.h"
#include "runtime/socket/tcp.h"
#include "runtime/socket/tls.h"
#include "server/why/listeners.h"
#include "service/hook/config.h"
#include "service/relay/dial.h"

namespace server::why {
namespace {

using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

constexpr int64_t kConnectMs = 2'000;
constexpr int64_t kFirstMs = 5'000;  // until the first frame

// Counts what a player gets.
class Counter {
  public:
    explicit Counter(Played& played) : played_(played) {}

    void on_bytes(size_t bytes) { played_.bytes += bytes; }
    void on_frame(const media::Frame& frame) {
        if (frame.kind == media::Kind::kData) return;
        codecs_.insert(media::codec_info(frame.codec).name);
        if (frame.sequence_header) return;
        if (played_.first_frame_ms < 0) {
            first_ms_ = runtime::now_ms();
            played_.first_frame_ms = first_ms_ - began_ms_;
        }
        ++(frame.kind == media::Kind::kVideo ? played_.video_frames : played_.audio_frames);
    }
    Result<void> on_body(uint8_t type, const base::Slice& body, uint32_t timestamp) {
        auto parsed = TRY(parser_.parse(type, body, timestamp));
        if (parsed.frame) on_frame(*parsed.frame);
        for (const media::Frame& frame : parsed.more) on_frame(frame);
        return {};
    }
    bool is_over() const { return played_.first_frame_ms >= 0 && runtime::now_ms() - first_ms_ >= kPlayMs; }
    // The time to wait for further bytes.
    Deadline deadline() const {
        return Deadline::in_ms(played_.first_frame_ms >= 0 ? kPlayMs - (runtime::now_ms() - first_ms_)
                                                           : kFirstMs - (runtime::now_ms() - began_ms_));
    }
    void finish() {
        played_.took_ms = runtime::now_ms() - (played_.first_frame_ms >= 0 ? first_ms_ : began_ms_);
        for (const std::string_view name : codecs_)
            played_.codecs += (played_.codecs.empty() ? "" : ", ") + std::string(name);
    }

  private:
    Played& played_;
    const int64_t began_ms_ = runtime::now_ms();
    int64_t first_ms_ = 0;
    std::set<std::string_view> codecs_;
    flv::BodyParser parser_;
};

// The bytes of one connection.
class Reading {
  public:
    virtual ~Reading() = default;
    virtual Result<void> begin(runtime::ByteStream& socket, Deadline limit) = 0;
    virtual Result<void> take(std::span<const uint8_t> bytes) = 0;
    virtual std::vector<uint8_t> take_output() { return {}; }
};

class RtmpReading final : public Reading, private ::rtmp::ClientHandler {
  public:
    RtmpReading(const Target& target, Counter& counter) : counter_(counter) {
        url_.tls = target.tls;
        url_.host = target.vhost;
        url_.port = target.port;
        url_.app = target.app;
        url_.stream = target.stream + target.param;
    }
    Result<void> begin(runtime::ByteStream& socket, Deadline limit) override {
        TRY(service::relay::shake_hands(socket, limit));
        session_ =
            std::make_unique<::rtmp::ClientSession>(static_cast<::rtmp::ClientHandler&>(*this), url_,
                                                    ::rtmp::ClientOptions(), service::relay::kRtmpHandshakeBytes);
        return service::relay::await_ready(*session_, socket, "asking to play", limit);
    }
    Result<void> take(std::span<const uint8_t> bytes) override { return session_->feed(bytes); }
    std::vector<uint8_t> take_output() override { return std::exchange(session_->output(), {}); }

  private:
    void on_ready() override {}
    Result<void> on_media(::rtmp::Message& message) override {
        return counter_.on_body(message.type, message.payload, message.timestamp);
    }
    void on_status(std::string_view, std::string_view) override {}

    ::rtmp::Url url_;
    Counter& counter_;
    std::unique_ptr<::rtmp::ClientSession> session_;
};

// HTTP-FLV and HTTP-TS.
class HttpReading final : public Reading {
  public:
    HttpReading(const Target& target, const config::Snapshot& snapshot, Counter& counter)
        : is_ts_(target.extension == ".ts"), counter_(counter) {
        const std::string url = url_of(target, snapshot);
        const size_t path = url.find('/', url.find("://") + 3);
        const std::string_view bare = std::string_view(url).substr(path);
        request_ = fmt::format("GET {}{} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
                               bare.substr(0, bare.find('?')), target.param, target.host);
    }
    Result<void> begin(runtime::ByteStream& socket, Deadline limit) override {
        return socket.write({reinterpret_cast<const uint8_t*>(request_.data()), request_.size()}, limit);
    }
    Result<void> take(std::span<const uint8_t> bytes) override {
        using Step = http::ResponseParser::Step;
        while (true) {
            size_t used = 0;
            const Step step = parser_.feed(bytes, used);
            bytes = bytes.subspan(used);
            if (step == Step::kNeedMore) return {};
            if (step == Step::kError) return fail(Code::kProtocol, "the answer: " + parser_.error_text());
            if (step == Step::kMessage) return fail(Code::kClosed, "the answer is over");
            if (step == Step::kHead && parser_.response().status != 200)
                return fail(Code::kRefused, fmt::format("the answer's status is {}", parser_.response().status));
            if (step == Step::kBody) TRY(take_body(parser_.data()));
        }
    }

  private:
    Result<void> take_body(std::span<const uint8_t> bytes) {
        if (is_ts_) {
            frames_.clear();
            ts_.feed(bytes, runtime::now_us(), frames_);
            for (const media::Frame& frame : frames_) counter_.on_frame(frame);
            return {};
        }
        flv_.feed(bytes);
        while (true) {
            const auto tag = TRY(flv_.next());
            if (!tag) return {};
            TRY(counter_.on_body(tag->type, tag->body, tag->timestamp));
        }
    }

    const bool is_ts_;
    Counter& counter_;
    std::string request_;
    http::ResponseParser parser_;
    flv::Reader flv_;
    convert::TsReader ts_;
    std::vector<media::Frame> frames_;
};

// The listener with the URL's port; never another address than one that the configuration has.
Result<std::unique_ptr<runtime::ByteStream>> connect(const Facts& facts, Deadline limit) {
    const auto addresses = addresses_of(facts.target, facts.snapshot);
    const auto has_port = [&](const Listening& one) { return one.address.port == facts.target.port; };
    const auto found = std::ranges::find_if(addresses, has_port);
    if (found == addresses.end()) return fail(Code::kNotFound, "the port is none of this server's");
    std::string host = found->address.host;
    if (host.empty() || host == "0.0.0.0") host = "127.0.0.1";
    if (host == "::") host = "::1";
    auto socket = TRY(runtime::connect_tcp(host, found->address.port, limit));
    if (!facts.target.tls) return socket;
    // check_addresses() has evaluated the certificate.
    auto context = TRY(runtime::tls_client_context(false));
    return runtime::tls_connect(std::move(socket), std::move(context), facts.target.host, limit);
}

Result<void> read_all(runtime::ByteStream& socket, Reading& reading, Counter& counter) {
    while (!counter.is_over()) {
        auto bytes = runtime::read_shared(socket, counter.deadline());
        if (!bytes && bytes.error().code() == Code::kTimeout) return {};
        if (!bytes) return std::unexpected(std::move(bytes.error()));
        if (bytes->empty()) return fail(Code::kClosed, "the server closed the connection");
        counter.on_bytes(bytes->size());
        TRY(reading.take(*bytes));
        const std::vector<uint8_t> out = reading.take_output();
        if (!out.empty()) TRY(socket.write(out, Deadline::in_ms(kConnectMs)));
    }
    return {};
}

std::unique_ptr<Reading> reading_of(const Facts& facts, Counter& counter) {
    if (facts.target.protocol == Protocol::kRtmp) return std::make_unique<RtmpReading>(facts.target, counter);
    return std::make_unique<HttpReading>(facts.target, facts.snapshot, counter);
}

}  // namespace

std::string why_not_played(const Facts& facts, const Findings& findings) {
    const Target& target = facts.target;
    if (target.action == net::Action::kPublish) return "publishing";
    if (worst(findings) == Verdict::kBad) return "what was found is in the way";
    if (!facts.live || !facts.live->stream) return "nobody publishes it";
    const bool is_flv_or_ts = target.extension == ".flv" || target.extension == ".ts";
    if (target.protocol != Protocol::kRtmp && !(target.protocol == Protocol::kHttpLive && is_flv_or_ts))
        return "this server plays RTMP, HTTP-FLV and HTTP-TS";
    const config::Vhost* vhost = facts.snapshot.vhost(target.vhost);
    if (vhost && vhost->get<service::hook::VhostConfig>().enabled) return "the vhost's hooks would be asked";
    return {};
}

Played play(const Facts& facts) {
    Played played;
    Counter counter(played);
    const auto run = [&]() -> Result<void> {
        const auto reading = reading_of(facts, counter);
        const auto limit = Deadline::in_ms(kConnectMs);
        const auto socket = TRY(connect(facts, limit), "connecting");
        TRY(reading->begin(*socket, Deadline::in_ms(kFirstMs)));
        return read_all(*socket, *reading, counter);
    };
    const auto ended = run();
    counter.finish();
    if (!ended)
        played.error = ended.error().text();
    else if (played.first_frame_ms < 0)
        played.error = fmt::format("no frame came within {} ms", kFirstMs);
    return played;
}

}  // namespace server::why
