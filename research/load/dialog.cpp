#include "load/dialog.h"

#include <algorithm>

#include "load/packet_skimmer.h"
#include "load/rtmp_dialog.h"
#include "load/rtsp_dialog.h"
#include "load/tag_skimmer.h"
#include "protocol/http/response_parser.h"

namespace load {

namespace {

std::span<const uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Skimmer: of what the body is.
template <class Skimmer>
class HttpDialog final : public Dialog {
  public:
    explicit HttpDialog(const Target& target)
        : request_(fmt::format("GET {} HTTP/1.1\r\nHost: {}:{}\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n",
                               target.path, target.host, target.port)) {}

    void start(std::vector<uint8_t>& out) override {
        auto bytes = bytes_of(request_);
        out.insert(out.end(), bytes.begin(), bytes.end());
    }

    base::Result<void> feed(std::span<const uint8_t> bytes, MediaSink& sink, std::vector<uint8_t>&) override {
        using Step = http::ResponseParser::Step;
        while (!bytes.empty()) {
            size_t used = 0;
            Step step = parser_.feed(bytes, used);
            if (step == Step::kBody) TRY(skimmer_.feed(parser_.data(), sink));
            if (step == Step::kError) return base::fail(base::Code::kProtocol, parser_.error_text());
            if (step == Step::kMessage) return base::fail(base::Code::kClosed, "the server ended the response");
            if (step == Step::kHead) {
                if (int status = parser_.response().status; status != 200) {
                    return base::fail(base::Code::kRefused, fmt::format("HTTP status {}", status));
                }
                ready_ = true;
            }
            bytes = bytes.subspan(used);
        }
        return {};
    }

  private:
    std::string request_;
    http::ResponseParser parser_;
    Skimmer skimmer_;
};

// Whatever comes is media: each arrival counts as a message.
class RawDialog final : public Dialog {
  public:
    explicit RawDialog(Role role) { ready_ = role == Role::kPublish; }

    void start(std::vector<uint8_t>& out) override {
        if (!ready_) out.push_back('\n');
    }

    base::Result<void> feed(std::span<const uint8_t> bytes, MediaSink& sink, std::vector<uint8_t>&) override {
        ready_ = true;
        sink.on_media({9, 0, static_cast<uint32_t>(bytes.size()), {}});
        return {};
    }
};

// Packets of a floor: video and audio. There is no connection.
class PacketDialog final : public Dialog {
  public:
    PacketDialog() {
        rtp_.add_track(true, 90'000);
        rtp_.add_track(false, 44'100);
        ready_ = true;
    }
    void start(std::vector<uint8_t>&) override {}
    base::Result<void> feed(std::span<const uint8_t>, MediaSink&, std::vector<uint8_t>&) override { return {}; }
    base::Result<void> on_datagram(size_t track, std::span<const uint8_t> packet, MediaSink& sink) override {
        if (track >= rtp_.tracks()) return {};
        return rtp_.packet(track, packet.first(std::min(packet.size(), kPacketHeadBytes)), packet.size(), sink);
    }

  private:
    RtpSkimmer rtp_;
};

}  // namespace

base::Result<std::unique_ptr<Dialog>> make_dialog(const Target& target, Role role, DialogOptions options) {
    switch (target.scheme) {
        case Scheme::kRtmp:
            return std::make_unique<RtmpDialog>(target.rtmp, role, options.random);
        case Scheme::kTcp:
            return std::make_unique<RawDialog>(role);
        case Scheme::kRtsp:
            if (role == Role::kPublish && options.description.empty())
                return base::fail(base::Code::kConfig, "there is nothing to announce");
            return std::make_unique<RtspDialog>(target, role, std::move(options));
        case Scheme::kHttps:
            return base::fail(base::Code::kConfig, "https:// is for low-latency HLS");
        case Scheme::kSrt:
            return base::fail(base::Code::kConfig, "srt:// is for srt-play and srt-publish");
        case Scheme::kHttp:
        case Scheme::kUdp:
            break;
    }
    if (role == Role::kPublish) return base::fail(base::Code::kConfig, "nothing is published over http:// and udp://");
    if (target.scheme == Scheme::kUdp) return std::make_unique<PacketDialog>();
    std::string_view path = target.path;
    if (path.substr(0, path.find('?')).ends_with(".ts")) return std::make_unique<HttpDialog<PacketSkimmer>>(target);
    return std::make_unique<HttpDialog<TagSkimmer>>(target);
}

}  // namespace load
