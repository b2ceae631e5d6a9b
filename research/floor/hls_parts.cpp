#include "floor/hls_parts.h"

#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <zlib.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>

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

std::string format(const char* text, auto... values) {
    std::array<char, 256> line;
    return {line.data(), static_cast<size_t>(std::snprintf(line.data(), line.size(), text, values...))};
}

int64_t wall_ms() {
    timespec time;
    ::clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * 1000LL + time.tv_nsec / 1'000'000;
}

}  // namespace

HlsParts::HlsParts(int64_t kbps, int64_t part_ms)
    : part_ms_(part_ms), part_bytes_(static_cast<size_t>(kbps * part_ms / 8)), count_(kPartsOfSegment * kSegments) {
    begin_ms_ = wall_ms() - static_cast<int64_t>(count_) * part_ms_;
    make_playlist();
    start_timer();
}

void HlsParts::start_timer() {
    timer_ = ::timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK);
    const auto time = [](int64_t ms) { return timespec{ms / 1000, ms % 1000 * 1'000'000}; };
    itimerspec spec{time(part_ms_), time(begin_ms_ + static_cast<int64_t>(count_ + 1) * part_ms_)};
    ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &spec, nullptr);
}

bool HlsParts::next() {
    uint64_t expirations = 0;
    if (::read(timer_, &expirations, sizeof expirations) < 0) return false;
    count_ += expirations;
    make_playlist();
    return true;
}

bool HlsParts::is_playlist(const char* request) { return std::strstr(request, ".m3u8") != nullptr; }

bool HlsParts::has(const char* request) const {
    const char* msn = std::strstr(request, "_HLS_msn=");
    const char* part = std::strstr(request, "_HLS_part=");
    if (!msn || !part) return true;
    return std::strtoull(msn + 9, nullptr, 10) * kPartsOfSegment + std::strtoull(part + 10, nullptr, 10) < count_;
}

void HlsParts::make_playlist() {
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
        if (parts > 0) text += format("#EXT-X-PROGRAM-DATE-TIME:%s.%03dZ\n", date.data(), static_cast<int>(ms % 1000));
        for (uint64_t i = 0; i < parts && msn + kSegmentsWithParts >= last; ++i)
            text += format("#EXT-X-PART:DURATION=%.5f,URI=\"s~p%llu.m4s\"%s\n", part_s,
                           1'767'225'600'000ULL + msn * kPartsOfSegment + i, i == 0 ? ",INDEPENDENT=YES" : "");
        if (msn < last)
            text +=
                format("#EXTINF:%.5f,\ns-%llu.m4s\n", part_s * kPartsOfSegment, static_cast<unsigned long long>(msn));
    }
    text += format("#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"s~p%llu.m4s\"\n", 1'767'225'600'000ULL + count_);
    playlist_ = gzipped(text);
}

FloorLoop::FloorLoop() {
    epoll_ = ::epoll_create1(0);
    if (epoll_ < 0) die("epoll_create1");
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    signals_ = ::signalfd(-1, &set, SFD_NONBLOCK);
    watch(signals_, EPOLLIN);
}

void FloorLoop::watch(int fd, uint32_t how) {
    epoll_event event{};
    event.events = how;
    event.data.fd = fd;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) < 0) die("epoll_ctl");
}
