#include "floor/hls.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "floor/die.h"

namespace {

constexpr uint64_t kPartsOfSegment = 6, kSegments = 10, kSegmentsWithParts = 3;

std::string gzipped(const std::string& text) {
    z_stream stream{};
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        die("deflateInit2");
    std::string out(deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

std::string head(const char* type, const char* more, size_t length) {
    return "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nServer: floor\r\nContent-Type: " +
           std::string(type) + "\r\nContent-Length: " + std::to_string(length) + "\r\n" + more +
           "Cache-Control: public, max-age=12\r\nAccess-Control-Allow-Origin: *\r\nConnection: keep-alive\r\n\r\n";
}

std::string format(const char* text, auto... values) {
    std::array<char, 256> line;
    return {line.data(), static_cast<size_t>(std::snprintf(line.data(), line.size(), text, values...))};
}

class HlsFloor {
  public:
    HlsFloor(int listener, int64_t kbps, int64_t part_ms)
        : listener_(listener), part_ms_(part_ms), part_bytes_(static_cast<size_t>(kbps * part_ms / 8)) {
        epoll_ = ::epoll_create1(0);
        ::fcntl(listener_, F_SETFL, O_NONBLOCK);
        file_ = ::memfd_create("part", 0);
        const std::vector<char> bytes(part_bytes_, 7);
        if (epoll_ < 0 || file_ < 0 || ::write(file_, bytes.data(), bytes.size()) < 0) die("a part's bytes");
        part_head_ = head("video/mp4", "ETag: \"0-0\"\r\nAccept-Ranges: bytes\r\n", part_bytes_);
        begin_ms_ = wall_ms() - static_cast<int64_t>(count_) * part_ms_;
        make_playlist();
        watch(listener_, EPOLLIN);
        watch_signals();
        start_timer();
    }

    void run() {
        std::array<epoll_event, 256> events;
        while (!ended_) {
            const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
            for (int i = 0; i < count; ++i) handle(events[static_cast<size_t>(i)]);
        }
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

    static int64_t wall_ms() {
        timespec time;
        ::clock_gettime(CLOCK_REALTIME, &time);
        return time.tv_sec * 1000LL + time.tv_nsec / 1'000'000;
    }

    void watch(int fd, uint32_t how) {
        epoll_event event{};
        event.events = how;
        event.data.fd = fd;
        if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) < 0) die("epoll_ctl");
    }

    void watch_signals() {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigprocmask(SIG_BLOCK, &set, nullptr);
        std::signal(SIGPIPE, SIG_IGN);
        signals_ = ::signalfd(-1, &set, SFD_NONBLOCK);
        watch(signals_, EPOLLIN);
    }

    void start_timer() {
        timer_ = ::timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK);
        const auto time = [](int64_t ms) { return timespec{ms / 1000, ms % 1000 * 1'000'000}; };
        itimerspec spec{time(part_ms_), time(begin_ms_ + static_cast<int64_t>(count_ + 1) * part_ms_)};
        ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &spec, nullptr);
        watch(timer_, EPOLLIN);
    }

    void handle(const epoll_event& event) {
        const int fd = event.data.fd;
        if (fd == listener_) return accept_all();
        if (fd == timer_) return next_part();
        if (fd == signals_) {
            ended_ = true;
            return;
        }
        if (event.events & EPOLLOUT && unsent_[static_cast<size_t>(fd)].text) send(fd);
        if (event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(fd);
    }

    void accept_all() {
        for (int fd; (fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK)) >= 0;) {
            ++accepted_;
            if (unsent_.size() <= static_cast<size_t>(fd)) unsent_.resize(static_cast<size_t>(fd) + 1);
            unsent_[static_cast<size_t>(fd)] = {};
            watch(fd, EPOLLIN | EPOLLOUT | EPOLLET);
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
        if (!std::strstr(buffer.data(), ".m3u8")) {
            ++parts_;
            return send(fd, part_head_text_, true);
        }
        const char* msn = std::strstr(buffer.data(), "_HLS_msn=");
        const char* part = std::strstr(buffer.data(), "_HLS_part=");
        const uint64_t wanted =
            msn && part ? std::strtoull(msn + 9, nullptr, 10) * kPartsOfSegment + std::strtoull(part + 10, nullptr, 10)
                        : 0;
        if (wanted >= count_) return waiting_.push_back(fd);
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
            const ssize_t n = ::sendfile(fd, file_, &offset, part_bytes_ - static_cast<size_t>(offset));
            if (n > 0) unsent.sent += static_cast<size_t>(n);
            if (unsent.sent < size + part_bytes_) return;
        }
        unsent.text.reset();
    }

    void next_part() {
        uint64_t expirations = 0;
        if (::read(timer_, &expirations, sizeof expirations) < 0) return;
        count_ += expirations;
        make_playlist();
        for (const int fd : std::exchange(waiting_, {})) {
            ++playlists_;
            send(fd, playlist_, false);
        }
    }

    void make_playlist() {
        const uint64_t last = count_ / kPartsOfSegment, first = last - kSegments;
        const double part_s = static_cast<double>(part_ms_) / 1000;
        std::string text = format(
            "#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:2\n"
            "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=%.5f\n"
            "#EXT-X-PART-INF:PART-TARGET=%.5f\n#EXT-X-MEDIA-SEQUENCE:%llu\n",
            3 * part_s, part_s, static_cast<unsigned long long>(first));
        text += "#EXT-X-DISCONTINUITY-SEQUENCE:0\n#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-MAP:URI=\"s-init.mp4\"\n";
        for (uint64_t msn = first; msn <= last; ++msn) {
            const auto ms = begin_ms_ + static_cast<int64_t>(msn * kPartsOfSegment) * part_ms_;
            const time_t second = ms / 1000;
            std::array<char, 32> date;
            std::strftime(date.data(), date.size(), "%FT%T", std::gmtime(&second));
            const uint64_t parts = msn < last ? kPartsOfSegment : count_ % kPartsOfSegment;
            if (parts > 0)
                text += format("#EXT-X-PROGRAM-DATE-TIME:%s.%03dZ\n", date.data(), static_cast<int>(ms % 1000));
            for (uint64_t i = 0; i < parts && msn + kSegmentsWithParts >= last; ++i)
                text += format("#EXT-X-PART:DURATION=%.5f,URI=\"s~p%llu.m4s\"%s\n", part_s,
                               1'767'225'600'000ULL + msn * kPartsOfSegment + i, i == 0 ? ",INDEPENDENT=YES" : "");
            if (msn < last)
                text += format("#EXTINF:%.5f,\ns-%llu.m4s\n", part_s * kPartsOfSegment,
                               static_cast<unsigned long long>(msn));
        }
        text += format("#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"s~p%llu.m4s\"\n", 1'767'225'600'000ULL + count_);
        const std::string body = gzipped(text);
        playlist_ = std::make_shared<const std::string>(
            head("application/vnd.apple.mpegurl", "Vary: Accept-Encoding\r\nContent-Encoding: gzip\r\n", body.size()) +
            body);
        part_head_text_ = std::make_shared<const std::string>(part_head_);
    }

    const int listener_;
    const int64_t part_ms_;
    const size_t part_bytes_;
    int epoll_ = -1, timer_ = -1, signals_ = -1, file_ = -1;
    bool ended_ = false;
    int64_t begin_ms_ = 0;
    uint64_t count_ = kPartsOfSegment * kSegments;  // of parts that are there
    std::string part_head_;
    Text playlist_, part_head_text_;
    std::vector<Unsent> unsent_;  // by descriptor
    std::vector<int> waiting_;
    uint64_t accepted_ = 0, playlists_ = 0, parts_ = 0;
};

}  // namespace

int run_hls_floor(int listener, int64_t kbps, int64_t part_ms) {
    HlsFloor(listener, kbps, part_ms).run();
    return 0;
}
