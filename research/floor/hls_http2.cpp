// The same over HTTP/2 with TLS: libnghttp2 and OpenSSL with nothing beside them.

#define OPENSSL_SUPPRESS_DEPRECATED  // as srtp_batch.cpp, which may be compiled behind it

#include <fcntl.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "floor/die.h"
#include "floor/hls.h"
#include "floor/hls_parts.h"

namespace {

constexpr size_t kWriteBytes = 32 * 1024, kRecordBytes = 16 * 1024;

using Text = std::shared_ptr<const std::string>;

// What a stream is sent.
struct Body {
    Text text;  // null: it waits for the playlist
    size_t sent = 0;
};

class Http2Floor;

struct Peer {
    Http2Floor* floor = nullptr;
    int fd = -1;
    SSL* ssl = nullptr;
    nghttp2_session* session = nullptr;
    std::unordered_map<int32_t, std::string> paths;  // of requests that are arriving
    std::unordered_map<int32_t, Body> bodies;
    std::string unsent;  // what the socket did not take

    ~Peer() {
        nghttp2_session_del(session);
        SSL_free(ssl);
        ::close(fd);
    }
};

class Http2Floor {
  public:
    Http2Floor(int listener, int64_t kbps, int64_t part_ms, const char* certificate, const char* key)
        : listener_(listener), hls_(kbps, part_ms), context_(SSL_CTX_new(TLS_server_method())) {
        ::fcntl(listener_, F_SETFL, O_NONBLOCK);
        if (SSL_CTX_use_certificate_chain_file(context_, certificate) != 1 ||
            SSL_CTX_use_PrivateKey_file(context_, key, SSL_FILETYPE_PEM) != 1)
            die("the certificate");
        SSL_CTX_set_mode(context_, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        SSL_CTX_set_read_ahead(context_, 1);
        SSL_CTX_set_session_cache_mode(context_, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_alpn_select_cb(context_, choose_protocol, nullptr);
        make_callbacks();
        part_ = std::make_shared<const std::string>(hls_.part_bytes(), 'p');
        playlist_ = std::make_shared<const std::string>(hls_.playlist());
        loop_.watch(listener_, EPOLLIN);
        loop_.watch(hls_.timer(), EPOLLIN);
    }

    void run() {
        loop_.run([this](const epoll_event& event) { handle(event.data.fd, event.events); });
        std::printf("playlists %llu, parts %llu\n", static_cast<unsigned long long>(playlists_),
                    static_cast<unsigned long long>(parts_));
    }

  private:
    static int choose_protocol(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* offered,
                               unsigned offered_size, void*) {
        static constexpr unsigned char kOurs[] = "\x02h2";
        unsigned char* found = nullptr;
        const int result = SSL_select_next_proto(&found, size, kOurs, 3, offered, offered_size);
        *out = found;
        return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
    }

    void make_callbacks() {
        nghttp2_session_callbacks_new(&callbacks_);
        nghttp2_session_callbacks_set_on_header_callback(
            callbacks_, [](nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                           const uint8_t* value, size_t value_size, uint8_t, void* user) {
                if (name_size == 5 && std::memcmp(name, ":path", 5) == 0)
                    static_cast<Peer*>(user)->paths[frame->hd.stream_id].assign(reinterpret_cast<const char*>(value),
                                                                                value_size);
                return 0;
            });
        nghttp2_session_callbacks_set_on_frame_recv_callback(
            callbacks_, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
                if (frame->hd.type == NGHTTP2_HEADERS)
                    static_cast<Peer*>(user)->floor->answer(*static_cast<Peer*>(user), frame->hd.stream_id);
                return 0;
            });
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks_,
                                                               [](nghttp2_session*, int32_t id, uint32_t, void* user) {
                                                                   static_cast<Peer*>(user)->bodies.erase(id);
                                                                   return 0;
                                                               });
        nghttp2_session_callbacks_set_send_data_callback(
            callbacks_,
            [](nghttp2_session*, nghttp2_frame*, const uint8_t* head, size_t size, nghttp2_data_source* source, void*) {
                auto& body = *static_cast<Body*>(source->ptr);
                output_.append(reinterpret_cast<const char*>(head), 9).append(*body.text, body.sent, size);
                body.sent += size;
                return output_.size() < kWriteBytes ? 0 : static_cast<int>(NGHTTP2_ERR_PAUSE);
            });
    }

    void handle(int fd, uint32_t events) {
        if (fd == listener_) return accept_all();
        if (fd == hls_.timer()) return next_part();
        const auto index = static_cast<size_t>(fd);
        if (events & EPOLLIN && peers_[index] && !receive(*peers_[index])) end(fd);
        if (events & (EPOLLOUT | EPOLLIN) && peers_[index] && !pump(*peers_[index])) end(fd);
        if (events & (EPOLLHUP | EPOLLERR)) end(fd);
    }

    void accept_all() {
        for (int fd; (fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK)) >= 0;) {
            if (peers_.size() <= static_cast<size_t>(fd)) peers_.resize(static_cast<size_t>(fd) + 1);
            auto peer = std::make_unique<Peer>();
            peer->floor = this;
            peer->fd = fd;
            peer->ssl = SSL_new(context_);
            SSL_set_fd(peer->ssl, fd);
            SSL_set_accept_state(peer->ssl);
            nghttp2_session_server_new(&peer->session, callbacks_, peer.get());
            nghttp2_submit_settings(peer->session, NGHTTP2_FLAG_NONE, nullptr, 0);
            peers_[static_cast<size_t>(fd)] = std::move(peer);
            loop_.watch(fd, EPOLLIN | EPOLLOUT | EPOLLET);
        }
    }

    void end(int fd) {
        std::erase_if(waiting_, [fd](const auto& one) { return one.first == fd; });
        peers_[static_cast<size_t>(fd)].reset();
    }

    // False: it is over.
    static bool receive(Peer& peer) {
        static std::array<uint8_t, kRecordBytes> buffer;
        while (true) {
            const int n = SSL_read(peer.ssl, buffer.data(), static_cast<int>(buffer.size()));
            if (n <= 0) {
                const int why = SSL_get_error(peer.ssl, n);
                return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
            }
            if (nghttp2_session_mem_recv(peer.session, buffer.data(), static_cast<size_t>(n)) < 0) return false;
        }
    }

    void answer(Peer& peer, int32_t id) {
        const std::string path = std::move(peer.paths[id]);
        peer.paths.erase(id);
        if (!HlsParts::is_playlist(path.c_str())) {
            ++parts_;
            return submit(peer, id, part_, "video/mp4", {"etag", "\"0-0\""}, {"accept-ranges", "bytes"});
        }
        if (!hls_.has(path.c_str())) return waiting_.emplace_back(peer.fd, id), void();
        send_playlist(peer, id);
    }

    void send_playlist(Peer& peer, int32_t id) {
        ++playlists_;
        submit(peer, id, playlist_, "application/vnd.apple.mpegurl", {"vary", "Accept-Encoding"},
               {"content-encoding", "gzip"});
    }

    using Field = std::pair<const char*, const char*>;
    static void submit(Peer& peer, int32_t id, const Text& text, const char* type, const Field& a, const Field& b) {
        const std::string length = std::to_string(text->size());
        const Field all[] = {{":status", "200"},
                             {"date", "Thu, 01 Jan 2026 00:00:00 GMT"},
                             {"server", "floor"},
                             {"content-type", type},
                             {"content-length", length.c_str()},
                             a,
                             b,
                             {"cache-control", "public, max-age=12"},
                             {"access-control-allow-origin", "*"}};
        std::vector<nghttp2_nv> fields;
        for (const auto& [name, value] : all)
            fields.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(name)),
                              reinterpret_cast<uint8_t*>(const_cast<char*>(value)), std::strlen(name),
                              std::strlen(value), NGHTTP2_NV_FLAG_NONE});
        Body& body = peer.bodies[id] = {text, 0};
        nghttp2_data_provider provider{};
        provider.source.ptr = &body;
        provider.read_callback = [](nghttp2_session*, int32_t, uint8_t*, size_t size, uint32_t* flags,
                                    nghttp2_data_source* source, void*) {
            const auto& from = *static_cast<const Body*>(source->ptr);
            const size_t left = from.text->size() - from.sent;
            *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
            if (left <= size) *flags |= NGHTTP2_DATA_FLAG_EOF;
            return static_cast<ssize_t>(std::min(left, size));
        };
        nghttp2_submit_response(peer.session, id, fields.data(), fields.size(), &provider);
    }

    // False: it is over.
    static bool pump(Peer& peer) {
        if (!SSL_is_init_finished(peer.ssl)) return true;
        if (!write(peer)) return false;
        while (peer.unsent.empty()) {
            output_.clear();
            const uint8_t* bytes = nullptr;
            ssize_t size = 0;
            while (output_.size() < kWriteBytes && (size = nghttp2_session_mem_send(peer.session, &bytes)) > 0)
                output_.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
            if (size < 0) return false;
            if (output_.empty()) break;
            peer.unsent.swap(output_);
            if (!write(peer)) return false;
        }
        return nghttp2_session_want_read(peer.session) || nghttp2_session_want_write(peer.session);
    }

    // Of unsent what the socket takes. False: it is over.
    static bool write(Peer& peer) {
        size_t sent = 0;
        while (sent < peer.unsent.size()) {
            const size_t size = std::min(kRecordBytes, peer.unsent.size() - sent);
            const int n = SSL_write(peer.ssl, peer.unsent.data() + sent, static_cast<int>(size));
            if (n <= 0) {
                const int why = SSL_get_error(peer.ssl, n);
                if (why != SSL_ERROR_WANT_WRITE && why != SSL_ERROR_WANT_READ) return false;
                peer.unsent.erase(0, sent);
                return true;
            }
            sent += static_cast<size_t>(n);
        }
        peer.unsent.clear();
        if (output_.capacity() < peer.unsent.capacity()) output_.swap(peer.unsent);
        std::string().swap(peer.unsent);  // one that is idle keeps no buffer
        return true;
    }

    void next_part() {
        if (!hls_.next()) return;
        playlist_ = std::make_shared<const std::string>(hls_.playlist());
        for (const auto& [fd, id] : std::exchange(waiting_, {})) {
            Peer& peer = *peers_[static_cast<size_t>(fd)];
            send_playlist(peer, id);
            if (!pump(peer)) end(fd);
        }
    }

    static std::string output_;  // of whichever peer is pumped

    const int listener_;
    HlsParts hls_;
    FloorLoop loop_;
    SSL_CTX* const context_;
    nghttp2_session_callbacks* callbacks_ = nullptr;
    Text playlist_, part_;
    std::vector<std::unique_ptr<Peer>> peers_;      // by descriptor
    std::vector<std::pair<int, int32_t>> waiting_;  // descriptor, stream
    uint64_t playlists_ = 0, parts_ = 0;
};

std::string Http2Floor::output_;

}  // namespace

int run_hls_http2_floor(int listener, int64_t kbps, int64_t part_ms, const char* certificate, const char* key) {
    Http2Floor(listener, kbps, part_ms, certificate, key).run();
    return 0;
}
