#include "service/http_live/urls.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/path_variables.h"
#include "convert/ts/ts_reader.h"
#include "protocol/flv/body.h"
#include "protocol/flv/reader.h"
#include "protocol/http/response_parser.h"
#include "protocol/http/url.h"
#include "protocol/ts/program.h"
#include "runtime/loop/clock.h"
#include "service/http_live/config.h"
#include "service/http_live/mount.h"

namespace service::http_live {
namespace {

using base::Code;
using base::fail;
using base::Result;

// "HTTP-FLV", "WebSocket-TS".
std::string url_name(const url::Target& target) {
    std::string format = target.extension.substr(std::min<size_t>(1, target.extension.size()));
    std::ranges::transform(format, format.begin(),
                           [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    return (target.is_websocket ? "WebSocket-" : "HTTP-") + format;
}

bool find_stream(url::Target& target, const config::Vhost& vhost, const std::string& path) {
    const Mount mount(vhost.get<VhostConfig>().mount);
    if (!mount.host().empty() && mount.host() != target.vhost) return false;
    auto match = mount.match(path);
    if (!match) return false;
    target.app = std::move(match->app);
    target.stream = std::move(match->stream);
    return true;
}

std::string path_of(const url::Target& target, const config::Vhost& vhost) {
    std::string pattern = vhost.get<VhostConfig>().mount;
    pattern.erase(0, std::min(pattern.find('/'), pattern.size()));
    if (const size_t dot = pattern.rfind('.'); dot != pattern.npos) pattern.erase(dot);
    config::PathVariables names;
    names.set("vhost", vhost.name).set("app", target.app).set("stream", target.stream);
    return names.expand(pattern + target.extension);
}

// HTTP-FLV and HTTP-TS.
class UrlReading final : public url::Reading {
  public:
    UrlReading(const url::Target& target, const std::string& path, url::FrameVisit visit)
        : is_ts_(target.extension == ".ts"), visit_(std::move(visit)) {
        request_ = fmt::format("GET {}{} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", http::percent_encode(path),
                               target.param, target.host);
    }
    Result<void> begin(runtime::ByteStream& socket, runtime::Deadline limit) override {
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
            if (step == Step::kBody) TRY(is_ts_ ? take_packets(parser_.data()) : take_tags(parser_.data()));
        }
    }

  private:
    Result<void> take_packets(std::span<const uint8_t> bytes) {
        frames_.clear();
        ts_.feed(bytes, runtime::now_us(), frames_);
        for (const media::Frame& frame : frames_) visit_(frame);
        return {};
    }
    Result<void> take_tags(std::span<const uint8_t> bytes) {
        flv_.feed(bytes);
        while (true) {
            const auto tag = TRY(flv_.next());
            if (!tag) return {};
            auto parsed = TRY(bodies_.parse(tag->type, tag->body, tag->timestamp));
            if (parsed.frame) visit_(*parsed.frame);
            for (const media::Frame& frame : parsed.more) visit_(frame);
        }
    }

    const bool is_ts_;
    const url::FrameVisit visit_;
    std::string request_;
    http::ResponseParser parser_;
    flv::Reader flv_;
    flv::BodyParser bodies_;
    convert::TsReader ts_;
    std::vector<media::Frame> frames_;
};

std::unique_ptr<url::Reading> read_stream(const url::Target& target, const config::Vhost& vhost,
                                          url::FrameVisit visit) {
    if (target.is_websocket || (target.extension != ".flv" && target.extension != ".ts")) return nullptr;
    return std::make_unique<UrlReading>(target, path_of(target, vhost), std::move(visit));
}

void check_ts_codecs(const url::PublishedStream& stream, url::Findings& findings) {
    for (const auto* codecs : {&stream.video, &stream.audio})
        for (const media::Codec codec : *codecs)
            if (!ts::carries(codec)) findings.push_back(url::uncarried("HTTP-TS", codec));
}

void check_audio_codec(media::Codec wanted, const url::PublishedStream& stream, url::Findings& findings) {
    if (!stream.audio.empty() && stream.audio.front() == wanted) return;
    findings.push_back({.check = "codecs",
                        .verdict = url::Verdict::kBad,
                        .text = fmt::format("the stream has no {} audio", media::codec_info(wanted).name),
                        .advice = "play it as .flv or .ts"});
}

void check_header(const url::Facts& facts, const config::Vhost& vhost, url::Findings& findings) {
    const auto& remux = vhost.get<VhostConfig>();
    if (remux.guess_has_av || (remux.has_audio && remux.has_video)) return;
    url::Finding finding = missing(facts, "codecs",
                                   fmt::format("the header of FLV announces no {}, which many players believe",
                                               remux.has_audio ? "video" : "audio"),
                                   vhost.name, "vhost/http_remux/guess_has_av", "on");
    finding.verdict = url::Verdict::kWarn;
    findings.push_back(std::move(finding));
}

void check_stream_of_url(const url::Facts& facts, const config::Vhost& vhost, const url::PublishedStream& stream,
                         url::Findings& findings) {
    if (!url_part()->has(facts.target)) return;
    const std::string& extension = facts.target.extension;
    if (extension == ".ts") check_ts_codecs(stream, findings);
    if (extension == ".aac") check_audio_codec(media::Codec::kAac, stream, findings);
    if (extension == ".mp3") check_audio_codec(media::Codec::kMp3, stream, findings);
    if (extension != ".flv") return;
    check_header(facts, vhost, findings);
    add_newer_codecs(stream, url_name(facts.target), findings);
}

}  // namespace

const url::Part* url_part() {
    static const url::Part kPart{.protocols = {{.name = url_name,
                                                .vhost_switch = "vhost/http_remux/enabled",
                                                .plain = url::kHttp,
                                                .tls = url::kHttps,
                                                .extensions = {".flv", ".ts", ".aac", ".mp3"},
                                                .find_stream = find_stream,
                                                .path_of = path_of,
                                                .path_directive = "vhost/http_remux/mount",
                                                .reading = read_stream}},
                                 .check_stream = check_stream_of_url};
    return &kPart;
}

}  // namespace service::http_live
