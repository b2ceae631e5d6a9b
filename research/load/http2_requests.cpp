#include "load/http2_requests.h"

#include <array>
#include <charconv>
#include <utility>

namespace load {

namespace {

// As browsers have them: no part waits for a window.
constexpr uint32_t kStreamWindow = 6 << 20;
constexpr int32_t kConnectionWindow = 15 << 20;

nghttp2_nv field(std::string_view name, std::string_view value) {
    return {reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
            reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
            NGHTTP2_NV_FLAG_NONE};
}

base::Error error_of(ssize_t code) {
    return base::Error(base::Code::kProtocol, fmt::format("HTTP/2: {}", nghttp2_strerror(static_cast<int>(code))));
}

}  // namespace

struct Http2RequestsCallbacks {
    static Http2Requests& of(void* user) { return *static_cast<Http2Requests*>(user); }
    static int on_header(nghttp2_session*, const nghttp2_frame*, const uint8_t* name, size_t name_size,
                         const uint8_t* value, size_t value_size, uint8_t, void* user) {
        const std::string_view key(reinterpret_cast<const char*>(name), name_size);
        const std::string_view text(reinterpret_cast<const char*>(value), value_size);
        if (key == ":status") std::from_chars(text.data(), text.data() + text.size(), of(user).status_);
        if (key == "location") of(user).location_ = text;
        return 0;
    }
    static int on_data(nghttp2_session*, uint8_t, int32_t, const uint8_t* data, size_t size, void* user) {
        if (of(user).keeps_body_) of(user).text_.append(reinterpret_cast<const char*>(data), size);
        return 0;
    }
    static int on_close(nghttp2_session*, int32_t, uint32_t error, void* user) {
        of(user).is_complete_ = true;
        of(user).error_ = error;
        return 0;
    }
    static nghttp2_session_callbacks* all() {
        static nghttp2_session_callbacks* const made = [] {
            nghttp2_session_callbacks* callbacks = nullptr;
            CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
            nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
            nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
            nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
            return callbacks;
        }();
        return made;
    }
};

Http2Requests::Http2Requests(const Target& target, std::unique_ptr<runtime::ByteStream> stream, User& user,
                             Ledger& ledger)
    : authority_(fmt::format("{}:{}", target.host, target.port)),
      stream_(std::move(stream)),
      user_(user),
      ledger_(ledger) {
    stream_->set_no_delay(true);
    CHECK(nghttp2_session_client_new(&session_, Http2RequestsCallbacks::all(), this) == 0);
    const std::array settings = {nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                 nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow}};
    CHECK(nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) == 0);
    CHECK(nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow) == 0);
    stream_->park(*this);
}

Http2Requests::~Http2Requests() { nghttp2_session_del(session_); }

base::Result<void> Http2Requests::get(std::string_view path, bool keeps_body) {
    keeps_body_ = keeps_body;
    is_complete_ = false;
    text_.clear();
    const std::array fields = {field(":method", "GET"), field(":scheme", "https"),    field(":authority", authority_),
                               field(":path", path),    field("user-agent", "bench"), field("accept-encoding", "gzip")};
    const int32_t id = nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(), nullptr, nullptr);
    if (id < 0) return std::unexpected(error_of(id));
    return pump();
}

base::Result<void> Http2Requests::pump() {
    for (const uint8_t* bytes = nullptr;;) {
        const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
        if (size < 0) return std::unexpected(error_of(size));
        if (size == 0) break;
        unsent_.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
    }
    if (unsent_.empty()) return {};
    const size_t sent = TRY(stream_->try_write({reinterpret_cast<const uint8_t*>(unsent_.data()), unsent_.size()}));
    unsent_.erase(0, sent);
    return {};
}

base::Result<void> Http2Requests::read() {
    while (true) {
        const auto buffer = runtime::shared_read_buffer();
        const auto got = TRY(stream_->try_read(buffer));
        if (got.end) return base::fail(base::Code::kClosed, "closed by the server");
        if (got.bytes == 0) return pump();
        ledger_.bytes += got.bytes;
        const ssize_t used = nghttp2_session_mem_recv(session_, buffer.data(), got.bytes);
        if (used < 0) return std::unexpected(error_of(used));
        if (!std::exchange(is_complete_, false)) continue;
        if (error_ != NGHTTP2_NO_ERROR)
            return base::fail(base::Code::kProtocol, fmt::format("HTTP/2: {}", nghttp2_http2_strerror(error_)));
        const std::string text = std::move(text_), location = std::move(location_);
        TRY(user_.on_answer({status_, location, text}));
    }
}

void Http2Requests::on_readable() {
    if (auto done = read(); !done) user_.on_lost(done.error());
}

void Http2Requests::on_writable() {
    if (auto done = pump(); !done) user_.on_lost(done.error());
}

void Http2Requests::on_hangup() { user_.on_lost(base::Error(base::Code::kClosed, "reset by the server")); }

}  // namespace load
