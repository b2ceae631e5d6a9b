#include "floor/hls.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "floor/die.h"
#include "floor/hls_parts.h"

namespace {

std::string head(const char* type, const char* more, size_t length) {
    return "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nServer: floor\r\nContent-Type: " +
           std::string(type) + "\r\nContent-Length: " + std::to_string(length) + "\r\n" + more +
           "Cache-Control: public, max-age=12\r\nAccess-Control-Allow-Origin: *\r\nConnection: keep-alive\r\n\r\n";
}

class HlsFloor {
  public:
    HlsFloor(int listener, int64_t kbps, int64_t part_ms) : listener_(listener), hls_(kbps, part_ms) {
        ::fcntl(listener_, F_SETFL, O_NONBLOCK);
        file_ = ::memfd_create("part", 0);
        const std::vector<char> bytes(hls_.part_bytes(), 7);
        if (file_ < 0 || ::write(file_, bytes.data(), bytes.size()) < 0) die("a part's bytes");
        part_ = std::make_shared<const std::string>(
            head("video/mp4", "ETag: \"0-0\"\r\nAccept-Ranges: bytes\r\n", hls_.part_bytes()));
        make_playlist();
        loop_.watch(listener_, EPOLLIN);
        loop_.watch(hls_.timer(), EPOLLIN);
    }

    void run() {
        loop_.run([this](const epoll_event& event) { handle(event); });
        std::printf("connections %llu, playlists %llu, parts %llu\n", static_cast<unsigned long long>(accepted_),
                    static_cast<unsigned long long>(playlists_), static_cast<unsigned long long>(parts_));
    }

  private:
    using Text = std::shared_ptr<const std::string>;
    // What a socket has not taken.
    struct Unsent {
        Text text;        // null: none
        size_t sent = 0;  // of it, and of the file behind it
        bool file = false;
    };

    void handle(const epoll_event& event) {
        const int fd = event.data.fd;
        if (fd == listener_) return accept_all();
        if (fd == hls_.timer()) return next_part();
        if (event.events & EPOLLOUT && unsent_[static_cast<size_t>(fd)].text) send(fd);
        if (event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(fd);
    }

    void accept_all() {
        for (int fd; (fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK)) >= 0;) {
            ++accepted_;
            if (unsent_.size() <= static_cast<size_t>(fd)) unsent_.resize(static_cast<size_t>(fd) + 1);
            unsent_[static_cast<size_t>(fd)] = {};
            loop_.watch(fd, EPOLLIN | EPOLLOUT | EPOLLET);
        }
    }

    void receive(int fd) {
        std::array<char, 4096> buffer;
        const ssize_t n = ::recv(fd, buffer.data(), buffer.size() - 1, 0);
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) {
            std::erase(waiting_, fd);
            ::close(fd);
            return;
        }
        buffer[static_cast<size_t>(n)] = 0;
        if (!HlsParts::is_playlist(buffer.data())) {
            ++parts_;
            return send(fd, part_, true);
        }
        if (!hls_.has(buffer.data())) return waiting_.push_back(fd);
        ++playlists_;
        send(fd, playlist_, false);
    }

    void send(int fd, const Text& text, bool file) {
        unsent_[static_cast<size_t>(fd)] = {text, 0, file};
        send(fd);
    }

    void send(int fd) {
        Unsent& unsent = unsent_[static_cast<size_t>(fd)];
        const size_t size = unsent.text->size();
        if (unsent.sent < size) {
            const ssize_t n = ::send(fd, unsent.text->data() + unsent.sent, size - unsent.sent,
                                     MSG_NOSIGNAL | (unsent.file ? MSG_MORE : 0));
            if (n > 0) unsent.sent += static_cast<size_t>(n);
            if (unsent.sent < size) return;
        }
        if (unsent.file) {
            auto offset = static_cast<off_t>(unsent.sent - size);
            const ssize_t n = ::sendfile(fd, file_, &offset, hls_.part_bytes() - static_cast<size_t>(offset));
            if (n > 0) unsent.sent += static_cast<size_t>(n);
            if (unsent.sent < size + hls_.part_bytes()) return;
        }
        unsent.text.reset();
    }

    void next_part() {
        if (!hls_.next()) return;
        make_playlist();
        for (const int fd : std::exchange(waiting_, {})) {
            ++playlists_;
            send(fd, playlist_, false);
        }
    }

    void make_playlist() {
        playlist_ = std::make_shared<const std::string>(head("application/vnd.apple.mpegurl",
                                                             "Vary: Accept-Encoding\r\nContent-Encoding: gzip\r\n",
                                                             hls_.playlist().size()) +
                                                        hls_.playlist());
    }

    const int listener_;
    HlsParts hls_;
    FloorLoop loop_;
    int file_ = -1;
    Text playlist_, part_;        // the part's is a head
    std::vector<Unsent> unsent_;  // by descriptor
    std::vector<int> waiting_;
    uint64_t accepted_ = 0, playlists_ = 0, parts_ = 0;
};

}  // namespace

int run_hls_floor(int listener, int64_t kbps, int64_t part_ms) {
    HlsFloor(listener, kbps, part_ms).run();
    return 0;
}
