#include "server/why/play.h"

#include <fmt/format.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "runtime/loop/clock.h"
#include "runtime/socket/tcp.h"
#include "runtime/socket/tls.h"
#include "server/why/listeners.h"
#include "service/url/protocol.h"

namespace server::why {
namespace {

using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;
using service::url::Reading;

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
};

// Null: this server does not play it.
std::unique_ptr<Reading> reading_of(const Facts& facts, service::url::FrameVisit visit) {
    const Target& target = facts.target;
    const config::Vhost* vhost = facts.snapshot.vhost(target.vhost);
    if (!vhost || !target.protocol->reading) return nullptr;
    return target.protocol->reading(target, *vhost, std::move(visit));
}

// The listener with the URL's port; never another address than one that the configuration has.
Result<std::unique_ptr<runtime::ByteStream>> connect(const Facts& facts, Deadline limit) {
    const auto found = listener_of(facts.target, facts.snapshot);
    if (!found) return fail(Code::kNotFound, "the port is none of this server's");
    auto socket = TRY(runtime::connect_tcp(local_host_of(found->address), found->address.port, limit));
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

}  // namespace

std::string why_not_played(const Facts& facts, const Findings& findings) {
    if (facts.target.action == net::Action::kPublish) return "publishing";
    if (worst(findings) == Verdict::kBad) return "what was found is in the way";
    if (!facts.live || !facts.live->stream) return "nobody publishes it";
    for (const Finding& finding : findings)
        if (!finding.keeps_from_playing.empty()) return finding.keeps_from_playing;
    return reading_of(facts, [](const media::Frame&) {}) ? "" : "this server plays RTMP, HTTP-FLV and HTTP-TS";
}

Played play(const Facts& facts) {
    Played played;
    Counter counter(played);
    const auto run = [&]() -> Result<void> {
        const auto socket = TRY(connect(facts, Deadline::in_ms(kConnectMs)), "connecting");
        const auto reading = reading_of(facts, [&](const media::Frame& frame) { counter.on_frame(frame); });
        if (!reading) return fail(Code::kNotFound, "there is no player of it");
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
