#include "net/http/http2_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/loop/clock.h"

namespace net {

using base::CloseReason;

namespace {

// Bytes per read, and the least that is collected before a write.
constexpr size_t kReadAtOnceBytes = 16 * 1024, kWriteBytes = 32 * 1024;
// nghttp2 returns a frame at a time.
constexpr size_t kFrameBytes = 16 * 1024 + 9;
constexpr int64_t kFrameHead = 9;
constexpr int64_t kCheckMs = 500;

// Frames for one write, of the session that is being pumped.
struct Output {
    std::array<uint8_t, kWriteBytes + kFrameBytes> bytes;
    size_t filled = 0;

    void add(std::span<const uint8_t> more) {
        std::memcpy(bytes.data() + filled, more.data(), more.size());
        filled += more.size();
    }
};
Output output;

}  // namespace

// What nghttp2 calls: each looks the session up and passes on.
struct Http2Callbacks {
    static Http2Session& of(void* user) { return *static_cast<Http2Session*>(user); }
    static nghttp2_session_callbacks* callbacks() {
        static nghttp2_session_callbacks* const all = [] {
            nghttp2_session_callbacks* made = nullptr;
            CHECK(nghttp2_session_callbacks_new(&made) == 0);
            nghttp2_session_callbacks_set_on_begin_frame_callback(
                made, [](nghttp2_session*, const nghttp2_frame_hd* head, void* user) {
                    of(user).on_begin_frame(*head);
                    return 0;
                });
            nghttp2_session_callbacks_set_on_begin_headers_callback(
                made, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
                    of(user).on_begin_headers(*frame);
                    return 0;
                });
            nghttp2_session_callbacks_set_on_header_callback(
                made, [](nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                         const uint8_t* value, size_t value_size, uint8_t, void* user) {
                    return of(user).on_header(*frame, {reinterpret_cast<const char*>(name), name_size},
                                              {reinterpret_cast<const char*>(value), value_size});
                });
            nghttp2_session_callbacks_set_on_frame_recv_callback(
                made, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
                    of(user).on_frame(*frame);
                    return 0;
                });
            nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
                made, [](nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t size, void* user) {
                    of(user).on_data(id, {data, size});
                    return 0;
                });
            nghttp2_session_callbacks_set_on_frame_send_callback(
                made, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
                    of(user).on_sent(*frame);
                    return 0;
                });
            nghttp2_session_callbacks_set_send_data_callback(
                made, [](nghttp2_session*, nghttp2_frame*, const uint8_t* head, size_t size,
                         nghttp2_data_source* source, void*) {
                    output.add({head, kFrameHead});
                    static_cast<Http2Stream*>(source->ptr)->take(std::span(output.bytes).subspan(output.filled, size));
                    output.filled += size;
                    return output.filled < kWriteBytes ? 0 : static_cast<int>(NGHTTP2_ERR_PAUSE);
                });
            nghttp2_session_callbacks_set_on_stream_close_callback(
                made, [](nghttp2_session*, int32_t id, uint32_t, void* user) {
                    of(user).on_stream_close(id);
                    return 0;
                });
            return made;
        }();
        return all;
    }
    // The library's own limits are a second line behind those here.
    static nghttp2_option* options() {
        static nghttp2_option* const all = [] {
            nghttp2_option* made = nullptr;
            CHECK(nghttp2_option_new(&made) == 0);
            nghttp2_option_set_no_closed_streams(made, 1);
            nghttp2_option_set_max_outbound_ack(made, 100);
            nghttp2_option_set_max_settings(made, 32);
            nghttp2_option_set_stream_reset_rate_limit(made, 2 * Http2Budget::kResets,
                                                       2 * Http2Budget::kResetsPerSecond);
            nghttp2_option_set_max_continuations(made, Http2Session::kMaxContinuations);
            nghttp2_option_set_builtin_recv_extension_type(made, NGHTTP2_PRIORITY_UPDATE);
            return made;
        }();
        return all;
    }
};

Http2Session::Http2Session(User& user, runtime::ByteStream& stream, runtime::CoroutinePool& pool,
                           Http2Counters& counters, Http2Response::Server server,
                           std::shared_ptr<const HttpResponseOptions> options, const Limits& limits)
    : user_(user),
      stream_(stream),
      pool_(pool),
      counters_(counters),
      server_(server),
      options_(std::move(options)),
      limits_(limits),
      budget_(runtime::now_ms()),
      began_ms_(runtime::now_ms()),
      progress_ms_(began_ms_) {
    ++counters_.connections;
    CHECK(nghttp2_session_server_new2(&session_, Http2Callbacks::callbacks(), this, Http2Callbacks::options()) == 0);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kMaxStreams},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<uint32_t>(limits.http.header_bytes)},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    CHECK(nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings)) == 0);
    CHECK(nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow) == 0);
    pump();
    schedule();
}

Http2Session::~Http2Session() {
    ended_ = true;
    streams_.clear();
    nghttp2_session_del(session_);
}

void Http2Session::set_limits(const Limits& limits, std::shared_ptr<const HttpResponseOptions> options) {
    limits_ = limits;
    options_ = std::move(options);
}

Http2Stream* Http2Session::find(int32_t id) const {
    return static_cast<Http2Stream*>(nghttp2_session_get_stream_user_data(session_, id));
}

// ---- Input

// While the connection does not take what there is to send, nothing is read: whoever does not read is not answered.
void Http2Session::read() {
    const bool was_settling = std::exchange(settling_, true);
    while (!ended_ && unsent_.empty()) {
        const auto buffer = runtime::shared_read_buffer().first(kReadAtOnceBytes);
        const auto got = stream_.try_read(buffer);
        if (!got) {
            end(got.error().text(), got.error().close_reason());
            break;
        }
        if (got->end) {
            end("closed by the peer", CloseReason::kPeerClosed);
            break;
        }
        if (got->bytes == 0) break;
        received_bytes_ += got->bytes;
        feed(buffer.first(got->bytes));
        pump();
    }
    settling_ = was_settling;
    settle();
}

void Http2Session::feed(std::span<const uint8_t> bytes) {
    inside_ = true;
    const ssize_t used = nghttp2_session_mem_recv(session_, bytes.data(), bytes.size());
    inside_ = false;
    if (ended_) return;
    // Those of unknown types, and of bodies that are refused, are skipped without a call.
    uncounted_ += static_cast<int64_t>(bytes.size());
    for (; uncounted_ > 0; uncounted_ -= Http2Budget::kSkippedBytes)
        if (!budget_.spend_frame(runtime::now_ms()))
            return fail("a flood of frames that are skipped", CloseReason::kFlood, counters_.frame_floods);
    if (used == NGHTTP2_ERR_FLOODED)
        return fail("too many frames to be answered", CloseReason::kFlood, counters_.frame_floods);
    if (used < 0)
        return fail(fmt::format("HTTP/2: {}", nghttp2_strerror(static_cast<int>(used))), CloseReason::kProtocolError,
                    counters_.protocol_errors);
    count_unfinished();
}

void Http2Session::on_begin_frame(const nghttp2_frame_hd& head) {
    has_settings_ = true;
    uncounted_ -= static_cast<int64_t>(head.length) + kFrameHead;
    if (ended_) return;
    if (head.type == NGHTTP2_DATA) budget_.earn_received_data(head.length);
    if (budget_.spend_frame(runtime::now_ms())) return;
    fail("a flood of frames that ask for nothing", CloseReason::kFlood, counters_.frame_floods);
}

void Http2Session::on_begin_headers(const nghttp2_frame& frame) {
    if (ended_ || frame.headers.cat != NGHTTP2_HCAT_REQUEST) return;
    if (head_began_ms_ == 0) head_began_ms_ = runtime::now_ms();
    // Streams that were reset may still have a coroutine.
    if (streams_.size() >= 2 * kMaxStreams) {
        nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, frame.hd.stream_id, NGHTTP2_REFUSED_STREAM);
        return;
    }
    Http2Stream& stream = streams_.add(std::make_unique<Http2Stream>(*this, frame.hd.stream_id));
    nghttp2_session_set_stream_user_data(session_, frame.hd.stream_id, &stream);
}

int Http2Session::on_header(const nghttp2_frame& frame, std::string_view name, std::string_view value) {
    field_bytes_ += name.size() + value.size() + 4;
    if (field_bytes_ > kFieldFlood * limits_.http.header_bytes) {
        if (!ended_) fail("a flood of fields", CloseReason::kFlood, counters_.field_floods);
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    // Those behind the body are of no use here.
    if (frame.headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    if (Http2Stream* stream = find(frame.hd.stream_id)) stream->add_field(name, value);
    return 0;
}

void Http2Session::on_frame(const nghttp2_frame& frame) {
    if (frame.hd.type == NGHTTP2_RST_STREAM) return spend_reset();
    if (frame.hd.type != NGHTTP2_HEADERS && frame.hd.type != NGHTTP2_DATA) return;
    Http2Stream* stream = find(frame.hd.stream_id);
    const bool is_end = frame.hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (frame.hd.type == NGHTTP2_HEADERS) head_began_ms_ = 0, field_bytes_ = 0;
    if (!stream) return;
    if (frame.hd.type == NGHTTP2_HEADERS && frame.headers.cat == NGHTTP2_HCAT_REQUEST) return stream->on_head(is_end);
    if (is_end) stream->on_end_of_body();
}

void Http2Session::on_data(int32_t id, std::span<const uint8_t> bytes) {
    if (Http2Stream* stream = find(id)) stream->on_body(bytes);
}

void Http2Session::count_request() {
    ++counters_.requests;
    budget_.earn_request();
}

void Http2Session::count_unfinished() {
    size_t bytes = 0;
    for (const auto& stream : streams_)
        if (stream->is_arriving()) bytes += stream->body_memory();
    if (bytes == std::exchange(unfinished_, bytes)) return;
    if (auto counted = user_.on_unfinished_input(bytes); !counted) end(counted.error().text(), CloseReason::kFlood);
}

void Http2Session::spend_reset() {
    if (ended_ || budget_.spend_reset(runtime::now_ms())) return;
    fail("a flood of streams that are reset", CloseReason::kFlood, counters_.reset_floods);
}

// ---- Output

void Http2Session::on_sent(const nghttp2_frame& frame) {
    if (frame.hd.type == NGHTTP2_DATA) budget_.earn_sent_data();
    if (frame.hd.type == NGHTTP2_RST_STREAM) {
        const uint32_t code = frame.rst_stream.error_code;
        // What the server ends for its own reasons does not count.
        if (code != NGHTTP2_NO_ERROR && code != NGHTTP2_CANCEL && code != NGHTTP2_INTERNAL_ERROR) spend_reset();
        return;
    }
    // The library's own, for what the client did.
    if (frame.hd.type == NGHTTP2_GOAWAY) goaway_code_ = frame.goaway.error_code;
    // The answer is there before the request is: the rest of that is of no use.
    const bool is_end =
        (frame.hd.type == NGHTTP2_DATA || frame.hd.type == NGHTTP2_HEADERS) && frame.hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (is_end && nghttp2_session_get_stream_remote_close(session_, frame.hd.stream_id) == 0)
        nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, frame.hd.stream_id, NGHTTP2_NO_ERROR);
}

bool Http2Session::flush() {
    if (unsent_.empty()) return true;
    const auto sent = stream_.try_write(unsent_);
    if (!sent) {
        end(sent.error().text(), sent.error().close_reason());
        return false;
    }
    if (*sent > 0) progress_ms_ = runtime::now_ms();
    unsent_.erase(unsent_.begin(), unsent_.begin() + static_cast<ptrdiff_t>(*sent));
    if (unsent_.empty()) unsent_ = {};
    return unsent_.empty();
}

void Http2Session::pump() {
    if (inside_) return;
    while (!is_broken_ && flush()) {
        inside_ = true;
        output.filled = 0;
        while (output.filled < kWriteBytes) {
            const uint8_t* bytes = nullptr;
            const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
            if (size <= 0) break;
            output.add({bytes, static_cast<size_t>(size)});
        }
        inside_ = false;
        const auto filled = std::span(output.bytes).first(output.filled);
        if (filled.empty()) break;
        sent_bytes_ += filled.size();
        const auto sent = stream_.try_write(filled);
        if (!sent) return end(sent.error().text(), sent.error().close_reason());
        progress_ms_ = runtime::now_ms();
        unsent_.assign(filled.begin() + static_cast<ptrdiff_t>(*sent), filled.end());
    }
    if (nghttp2_session_want_read(session_) || nghttp2_session_want_write(session_) || !unsent_.empty()) return;
    if (goaway_code_ == NGHTTP2_NO_ERROR) return end("its last stream has ended", CloseReason::kDone);
    fail(fmt::format("HTTP/2: {}", nghttp2_http2_strerror(goaway_code_)), CloseReason::kProtocolError,
         counters_.protocol_errors);
}

void Http2Session::write() {
    const bool was_settling = std::exchange(settling_, true);
    pump();
    settling_ = was_settling;
    // Input has waited for it.
    if (unsent_.empty()) return read();
    settle();
}

// ---- Streams

void Http2Session::note(Http2Stream& stream) {
    if (std::exchange(stream.is_noted, true)) return;
    noted_.push_back(&stream);
    if (!settling_) user_.post();
}

void Http2Session::on_stream_close(int32_t id) {
    if (Http2Stream* stream = find(id)) stream->on_closed();
}

void Http2Session::settle() {
    if (std::exchange(settling_, true)) return;
    while (!noted_.empty()) {
        Http2Stream& stream = *noted_.back();
        noted_.pop_back();
        stream.is_noted = false;
        stream.notify();
        if (stream.is_over() && !stream.is_noted) streams_.remove(stream);
    }
    settling_ = false;
    if (std::exchange(reported_streams_, streams_.size()) != streams_.size()) user_.on_streams(streams_.size());
    schedule();
}

std::vector<runtime::Task> Http2Session::tasks() const {
    std::vector<runtime::Task> tasks;
    for (const auto& stream : streams_)
        if (stream->task()) tasks.push_back(stream->task());
    return tasks;
}

void Http2Session::end_waits(bool stops) {
    for (const auto& stream : streams_) stream->end_wait(stops);
}

// ---- Times and the end

void Http2Session::schedule() {
    const bool is_active = std::ranges::any_of(streams_, [](const auto& one) { return one->is_arriving(); }) ||
                           !unsent_.empty() || !has_settings_ || head_began_ms_ > 0 || phase_ == Phase::kNoticed;
    if (ended_ || !is_active) return Timer::cancel();
    if (!Timer::is_set()) Timer::set_after(kCheckMs);
}

void Http2Session::on_due() {
    check_times(runtime::now_ms());
    pump();
    settle();
}

void Http2Session::check_times(int64_t now_ms) {
    if (ended_) return;
    const int64_t first_ms = head_began_ms_ > 0 ? head_began_ms_ : began_ms_;
    if ((!has_settings_ || head_began_ms_ > 0) && now_ms - first_ms > limits_.request_timeout_ms)
        return fail(fmt::format("no complete request within {} ms", limits_.request_timeout_ms),
                    CloseReason::kPeerTimeout, counters_.too_slow);
    if (!unsent_.empty() && now_ms - progress_ms_ > options_->write_timeout_ms)
        return fail(fmt::format("no byte accepted for {} ms", options_->write_timeout_ms), CloseReason::kTooSlow,
                    counters_.too_slow);
    for (const auto& stream : streams_)
        if (stream->is_arriving() && now_ms - stream->began_ms() > limits_.body_timeout_ms) stream->time_out();
    if (phase_ == Phase::kNoticed && now_ms - noticed_ms_ >= kDrainMs) {
        phase_ = Phase::kDraining;
        nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_),
                              NGHTTP2_NO_ERROR, nullptr, 0);
    }
}

void Http2Session::drain() {
    if (phase_ != Phase::kOpen || ended_) return;
    phase_ = Phase::kNoticed;
    noticed_ms_ = runtime::now_ms();
    nghttp2_submit_shutdown_notice(session_);
    pump();
    schedule();
}

void Http2Session::shut(bool is_fault) {
    ended_ = true;
    Timer::cancel();
    if (std::exchange(phase_, Phase::kShut) != Phase::kShut) {
        nghttp2_session_terminate_session(session_, is_fault ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_NO_ERROR);
        pump();
        // No frame comes or goes any more.
        is_broken_ = true;
        for (const auto& stream : streams_) {
            if (!stream->is_closed()) stream->on_closed();
            stream->cancel();
        }
    }
    settle();
}

void Http2Session::fail(std::string why, CloseReason reason, uint64_t& counter) {
    if (ended_) return;
    ++counter;
    end(std::move(why), reason);
}

void Http2Session::end(std::string why, CloseReason reason) {
    if (std::exchange(ended_, true)) return;
    user_.on_end(std::move(why), reason);
}

}  // namespace net
