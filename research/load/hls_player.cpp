#include "load/hls_player.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/clock.h"
#include "runtime/socket/tcp.h"

namespace load {

namespace {
constexpr uint8_t kTsSync = 0x47;
constexpr size_t kReadBytes = 16 * 1024;  // where bytes are copied: heads, playlists, the beginning of segments
}  // namespace

base::Result<const m3u8::MediaPlaylist*> HlsPlaylistReader::read(const std::string& text) {
    if (text != text_) {
        playlist_ = TRY(m3u8::read(text));
        text_ = text;
    }
    return &playlist_;
}

HlsPlayer::HlsPlayer(Target target, Ledger& ledger, HlsTotals& totals, HlsPlaylistReader& reader)
    : target_(std::move(target)), ledger_(ledger), totals_(totals), reader_(reader) {}

base::Result<void> HlsPlayer::open(runtime::Deadline deadline) {
    ++ledger_.opening;
    auto stream = runtime::connect_tcp(target_.host, target_.port, deadline);
    --ledger_.opening;
    if (!stream) {
        ++ledger_.failed;
        ledger_.count_reason("opening", stream.error());
        return std::unexpected(std::move(stream.error()));
    }
    stream_ = *std::move(stream);
    ++ledger_.open;
    ++ledger_.opened;
    stream_->set_no_delay(true);
    stream_->park(*this);
    if (auto asked = ask_playlist(); !asked) lose(asked.error());
    return {};
}

void HlsPlayer::on_time(int64_t now_us) {
    if (!stream_ || state_ != State::kIdle || now_us < timeline_.reload_us()) return;
    if (auto asked = ask_playlist(); !asked) lose(asked.error());
}

base::Result<void> HlsPlayer::ask(const std::string& path) {
    const std::string request =
        fmt::format("GET {} HTTP/1.1\r\nHost: {}:{}\r\nUser-Agent: bench\r\n\r\n", path, target_.host, target_.port);
    asked_us_ = base::monotonic_us();
    state_ = State::kHead;
    parser_.reset();
    const size_t sent = TRY(stream_->try_write({reinterpret_cast<const uint8_t*>(request.data()), request.size()}));
    if (sent < request.size()) return base::fail(base::Code::kLimit, "the server takes no requests");
    return {};
}

base::Result<void> HlsPlayer::ask_playlist() {
    is_playlist_ = true;
    text_.clear();
    return ask(target_.path);
}

base::Result<size_t> HlsPlayer::receive(std::span<uint8_t> buffer, int flags) {
    while (true) {
        const ssize_t got = recv(stream_->plain_fd(), buffer.data(), buffer.size(), MSG_DONTWAIT | flags);
        if (got > 0) return static_cast<size_t>(got);
        if (got == 0) return base::fail(base::Code::kClosed, "closed by the server");
        if (errno == EAGAIN) return 0;
        if (errno != EINTR) return base::fail_errno("reading", errno);
    }
}

base::Result<void> HlsPlayer::read_all() {
    const auto buffer = runtime::shared_read_buffer();
    while (true) {
        const bool skips = state_ == State::kBody && !is_playlist_;
        const size_t room = skips ? std::min<uint64_t>(left_, buffer.size()) : kReadBytes;
        const size_t got = TRY(receive(buffer.first(room), skips ? MSG_TRUNC : 0));
        if (got == 0) return {};
        ledger_.bytes += got;
        if (!skips) {
            TRY(feed(buffer.first(got)));
            continue;
        }
        left_ -= got;
        if (left_ == 0) TRY(message_complete());
    }
}

base::Result<void> HlsPlayer::feed(std::span<const uint8_t> bytes) {
    if (state_ == State::kIdle) return base::fail(base::Code::kProtocol, "bytes that were not asked for");
    if (state_ == State::kHead) {
        size_t used = 0;
        const auto step = parser_.feed(bytes, used);
        if (step == http::ResponseParser::Step::kNeedMore) return {};
        if (step != http::ResponseParser::Step::kHead)
            return base::fail(base::Code::kProtocol, "no HTTP response: " + parser_.error_text());
        TRY(head_complete());
        bytes = bytes.subspan(used);
        if (!bytes.empty() && !is_playlist_ && timeline_.next()->uri.ends_with(".ts") && bytes[0] != kTsSync)
            return base::fail(base::Code::kProtocol, "a segment that is not TS");
    }
    return body(bytes);
}

base::Result<void> HlsPlayer::head_complete() {
    const http::Response& response = parser_.response();
    if (response.status != 200)
        return base::fail(base::Code::kRefused,
                          fmt::format("status {} for a {}", response.status, is_playlist_ ? "playlist" : "segment"));
    const std::string_view text = response.headers.get("Content-Length");
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), left_);
    if (error != std::errc() || end != text.data() + text.size() || left_ == 0)
        return base::fail(base::Code::kProtocol, fmt::format("Content-Length is \"{}\"", text));
    if (is_playlist_ && left_ > m3u8::kMaxBytes) return base::fail(base::Code::kProtocol, "the playlist is too long");
    state_ = State::kBody;
    return {};
}

base::Result<void> HlsPlayer::body(std::span<const uint8_t> bytes) {
    if (bytes.size() > left_) return base::fail(base::Code::kProtocol, "more bytes than Content-Length says");
    if (is_playlist_) text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    left_ -= bytes.size();
    return left_ == 0 ? message_complete() : base::Result<void>();
}

base::Result<void> HlsPlayer::message_complete() {
    const int64_t now_us = base::monotonic_us();
    const int64_t took_us = now_us - asked_us_;
    if (is_playlist_) {
        ++totals_.playlists;
        totals_.playlist_us.add(took_us);
        timeline_.on_playlist(*TRY(reader_.read(text_)), asked_us_);
    } else {
        ++totals_.segments;
        ++ledger_.messages;
        totals_.segment_us.add(took_us);
        if (took_us > timeline_.next()->duration_us) ++totals_.late;
        const int64_t stopped_us = timeline_.on_segment(now_us);
        if (stopped_us > 0) {
            ++totals_.stalls;
            totals_.stall_us.add(stopped_us);
        }
    }
    state_ = State::kIdle;
    const HlsTimeline::Wanted* next = timeline_.next();
    if (!next) return {};
    is_playlist_ = false;
    return ask(TRY(path_of(next->uri)));
}

base::Result<std::string> HlsPlayer::path_of(const std::string& uri) const {
    if (uri.find("://") != uri.npos) return base::fail(base::Code::kConfig, "a segment on another server: " + uri);
    if (uri.starts_with('/')) return uri;
    const std::string_view path = std::string_view(target_.path).substr(0, target_.path.find('?'));
    return std::string(path.substr(0, path.rfind('/') + 1)) + uri;
}

void HlsPlayer::lose(const base::Error& error) {
    if (!stream_) return;
    ++ledger_.lost;
    ledger_.count_reason("playing", error);
    close();
}

void HlsPlayer::close() {
    if (!stream_) return;
    --ledger_.open;
    stream_.reset();
}

void HlsPlayer::on_readable() {
    if (auto read = read_all(); !read) lose(read.error());
}

void HlsPlayer::on_hangup() { lose(base::Error(base::Code::kClosed, "reset by the server")); }

}  // namespace load
