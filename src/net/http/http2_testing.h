#pragma once
// For tests and fuzz targets of HTTP/2: a session over a connection in memory, and a client by libnghttp2.

#include <nghttp2/nghttp2.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/http/http2_session.h"
#include "net/http/http_dispatch.h"
#include "net/http/opened_files.h"
#include "runtime/loop/coroutine.h"
#include "runtime/socket/memory_stream_testing.h"

namespace net::testing {

// A connection: what HttpConnection is to a session.
class Http2Host final : public Http2Session::User, private runtime::ParkedHandler {
  public:
    explicit Http2Host(HttpRouter& router) : router_(router), dispatch_(router, logs_), stream_(peer.stream()) {}
    ~Http2Host() { stop(); }

    void start() {
        session = std::make_unique<Http2Session>(*this, *stream_, pool_, counters,
                                                 Http2Response::Server{opened_files_, deferred},
                                                 std::make_shared<HttpResponseOptions>(options), limits);
        stream_->park(*this);
    }
    // Yields.
    void stop() {
        if (!session) return;
        session->shut(false);
        for (runtime::Task& task : session->tasks()) task.cancel_and_join();
        session->settle();
        if (posted_) posted_.cancel_and_join();
        session.reset();
    }

    runtime::testing::MemoryPeer peer;
    HttpResponseOptions options;
    Http2Session::Limits limits;
    Http2Counters counters;
    AddressQuota deferred{"waiting requests", "of_address", "in_all"};
    std::unique_ptr<Http2Session> session;
    std::string why;  // it has ended
    base::CloseReason reason = base::CloseReason::kUnknown;
    size_t open_streams = 0, unfinished = 0, admitted = 0, max_unfinished = SIZE_MAX;

  private:
    void on_readable() override { session->read(); }
    void on_writable() override { session->write(); }
    void on_hangup() override { on_end("closed by the peer", base::CloseReason::kPeerClosed); }
    base::Result<void> answer(HttpResponse& response, HttpRequest& request,
                              std::optional<HttpRouter::Match> match) override {
        return dispatch_.answer(response, request, std::move(match), HttpDispatch::Phase::kServes);
    }
    const HttpRouter& router() const override { return router_; }
    void complete(HttpRequest& request) override { request.peer_ip = "127.0.0.1"; }
    bool may_be_served(const http::Request&) override { return true; }
    base::Result<void> admit() override {
        ++admitted;
        return {};
    }
    void on_streams(size_t count) override { open_streams = count; }
    base::Result<void> on_unfinished_input(size_t bytes) override {
        unfinished = bytes;
        if (bytes > max_unfinished) return base::fail(base::Code::kLimit, "too much unfinished input");
        return {};
    }
    void post() override {
        posted_ = runtime::spawn("post", [this] {
            if (!session) return;
            if (why.empty()) return session->settle();
            session->shut(reason == base::CloseReason::kFlood || reason == base::CloseReason::kProtocolError);
        });
    }
    void on_end(std::string text, base::CloseReason code) override {
        if (!why.empty()) return;
        why = std::move(text);
        reason = code;
        stream_->unpark();
        post();
    }

    HttpRouter& router_;
    HttpDispatch::Logs logs_;
    HttpDispatch dispatch_;
    OpenedFiles opened_files_;
    runtime::CoroutinePool pool_{"http"};
    std::unique_ptr<runtime::ByteStream> stream_;
    runtime::Task posted_;
};

struct Http2Answer {
    int status = 0;
    std::map<std::string, std::string> fields{};
    std::string body{};
    bool complete = false;  // the body's end has come
    bool closed = false;
    uint32_t error_code = 0;  // of the stream's end
};

// The client's side.
class Http2Client {
  public:
    using Fields = std::vector<std::pair<std::string, std::string>>;

    // window: of each stream; consumes: windows are raised as the bytes come.
    explicit Http2Client(Http2Host& host, uint32_t window = 65'535, bool consumes = true) : host_(host) {
        nghttp2_session_callbacks* callbacks = nullptr;
        nghttp2_session_callbacks_new(&callbacks);
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
        nghttp2_option* option = nullptr;
        nghttp2_option_new(&option);
        nghttp2_option_set_no_auto_window_update(option, !consumes);
        nghttp2_session_client_new2(&session_, callbacks, this, option);
        nghttp2_option_del(option);
        nghttp2_session_callbacks_del(callbacks);
        const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window}};
        nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, 1);
    }
    ~Http2Client() { nghttp2_session_del(session_); }
    Http2Client(const Http2Client&) = delete;

    // Returns the stream's id. body: null: there is none.
    int32_t ask(const std::string& method, const std::string& path, Fields fields = {},
                const std::string* body = nullptr) {
        fields.insert(fields.begin(),
                      {{":method", method}, {":scheme", "https"}, {":authority", "a.example"}, {":path", path}});
        return submit(fields, body);
    }
    int32_t get(const std::string& path, Fields fields = {}) { return ask("GET", path, std::move(fields)); }
    int32_t submit(const Fields& fields, const std::string* body) {
        std::vector<nghttp2_nv> all;
        for (const auto& [name, value] : fields)
            all.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                           reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
                           NGHTTP2_NV_FLAG_NONE});
        nghttp2_data_provider provider{{.ptr = this}, read_body};
        const int32_t id =
            nghttp2_submit_request(session_, nullptr, all.data(), all.size(), body ? &provider : nullptr, nullptr);
        if (body) bodies_[id] = *body;
        answers[id];
        return id;
    }
    void reset(int32_t id, uint32_t code = NGHTTP2_CANCEL) {
        nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, code);
    }
    void raise_window(int32_t id, int32_t bytes) {
        nghttp2_submit_window_update(session_, NGHTTP2_FLAG_NONE, id, bytes);
    }
    // Moves bytes both ways, and lets coroutines run.
    void exchange(int rounds = 20) {
        for (int i = 0; i < rounds; ++i) {
            const uint8_t* bytes = nullptr;
            for (ssize_t size = 0; (size = nghttp2_session_mem_send(session_, &bytes)) > 0;)
                host_.peer.send({reinterpret_cast<const char*>(bytes), static_cast<size_t>(size)});
            (void)runtime::yield();
            const std::string got = host_.peer.take();
            received += got.size();
            if (!got.empty())
                (void)nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(got.data()), got.size());
        }
    }
    // Until the answer is complete, or the stream closed.
    Http2Answer& await(int32_t id, int ms = 5000) {
        for (int i = 0; i < ms && !answers[id].complete && !answers[id].closed; ++i) {
            exchange(4);
            (void)runtime::sleep_ms(1);
        }
        return answers[id];
    }
    nghttp2_session* session() const { return session_; }

    std::map<int32_t, Http2Answer> answers;
    std::vector<std::pair<int32_t, uint32_t>> goaways;  // last stream and error code
    std::vector<int32_t> data_order;                    // the stream of each piece of a body
    size_t received = 0;
    bool has_settings = false;

  private:
    static Http2Client& of(void* user) { return *static_cast<Http2Client*>(user); }
    static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                         const uint8_t* value, size_t value_size, uint8_t, void* user) {
        Http2Answer& answer = of(user).answers[frame->hd.stream_id];
        const std::string key(reinterpret_cast<const char*>(name), name_size);
        const std::string text(reinterpret_cast<const char*>(value), value_size);
        answer.fields[key] = text;
        if (key == ":status") answer.status = std::stoi(text);
        return 0;
    }
    static int on_data(nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t size, void* user) {
        of(user).answers[id].body.append(reinterpret_cast<const char*>(data), size);
        of(user).data_order.push_back(id);
        return 0;
    }
    static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
        Http2Client& client = of(user);
        if (frame->hd.type == NGHTTP2_SETTINGS) client.has_settings = true;
        if (frame->hd.type == NGHTTP2_GOAWAY)
            client.goaways.emplace_back(frame->goaway.last_stream_id, frame->goaway.error_code);
        const bool is_message = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
        if (is_message && frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
            client.answers[frame->hd.stream_id].complete = true;
        return 0;
    }
    static int on_close(nghttp2_session*, int32_t id, uint32_t code, void* user) {
        Http2Answer& answer = of(user).answers[id];
        answer.closed = true;
        answer.error_code = code;
        return 0;
    }
    static ssize_t read_body(nghttp2_session*, int32_t id, uint8_t* to, size_t room, uint32_t* flags,
                             nghttp2_data_source* source, void*) {
        std::string& rest = static_cast<Http2Client*>(source->ptr)->bodies_[id];
        const size_t bytes = std::min(room, rest.size());
        std::copy_n(rest.data(), bytes, to);
        rest.erase(0, bytes);
        if (rest.empty()) *flags |= NGHTTP2_DATA_FLAG_EOF;
        return static_cast<ssize_t>(bytes);
    }

    Http2Host& host_;
    nghttp2_session* session_ = nullptr;
    std::map<int32_t, std::string> bodies_;
};

}  // namespace net::testing
