#pragma once
// Http2Budget: what a client of HTTP/2 may cost without asking for anything. Frames cost, and requests and bytes of
// bodies earn: a flood of frames that ask for nothing (PING, SETTINGS, WINDOW_UPDATE, PRIORITY, CONTINUATION, empty
// DATA) runs out of it, a busy client does not. Streams that are reset have a budget of their own, those that the
// client resets (CVE-2023-44487, rapid reset) as well as those that it makes the server reset (CVE-2025-8671). Pure.

#include <algorithm>
#include <cstdint>

namespace net {

class Http2Budget {
  public:
    static constexpr int64_t kFrames = 1'000, kFramesPerSecond = 100;
    static constexpr int64_t kResets = 200, kResetsPerSecond = 20;
    // What a request earns: its own frames, and those that go with its answer.
    static constexpr int64_t kPerRequest = 16;
    // For each DATA frame that is sent, the client may raise two windows; and it may answer a few small ones singly.
    static constexpr int64_t kPerSentData = 3;
    static constexpr int64_t kBytesPerFrame = 256;
    // Of frames that are skipped, of unknown types or of bodies that are refused, so many bytes cost what a frame
    // costs.
    static constexpr int64_t kSkippedBytes = 256;

    explicit Http2Budget(int64_t now_ms) : frames_{kFrames, now_ms}, resets_{kResets, now_ms} {}

    // False: it is used up, and the connection to be ended.
    [[nodiscard]] bool spend_frame(int64_t now_ms) { return frames_.spend(kFrames, kFramesPerSecond, now_ms); }
    [[nodiscard]] bool spend_reset(int64_t now_ms) { return resets_.spend(kResets, kResetsPerSecond, now_ms); }
    void earn_request() { frames_.earn(kFrames, kPerRequest); }
    void earn_sent_data() { frames_.earn(kFrames, kPerSentData); }
    void earn_received_data(size_t bytes) { frames_.earn(kFrames, static_cast<int64_t>(bytes) / kBytesPerFrame); }

  private:
    struct Tokens {
        int64_t left;
        int64_t filled_ms;  // whole tokens were added up to then
        void earn(int64_t most, int64_t count) { left = std::min(most, left + count); }
        bool spend(int64_t most, int64_t per_second, int64_t now_ms) {
            if (const int64_t added = (now_ms - filled_ms) * per_second / 1000; added > 0) {
                earn(most, added);
                filled_ms = left == most ? now_ms : filled_ms + added * 1000 / per_second;
            }
            return left > 0 ? (--left, true) : false;
        }
    };
    Tokens frames_, resets_;
};

}  // namespace net
