#include "hot/fan_out.h"

#include "convert/flv/to_rtmp.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/coroutine.h"

namespace hot {

// Rounds of so many viewers are not so far apart.
constexpr int64_t kApartUs = 10'000;

class FanOut::Socket final : public runtime::ByteStream {
  public:
    explicit Socket(size_t& sends) : sends_(sends) {}
    base::Result<size_t> read(std::span<uint8_t>, runtime::Deadline) override { return 0; }
    base::Result<void> write(std::span<const uint8_t>, runtime::Deadline) override { return {}; }
    base::Result<void> writev(std::span<iovec>, runtime::Deadline) override { return {}; }
    base::Result<TryRead> try_read(std::span<uint8_t>) override { return TryRead{}; }
    base::Result<size_t> try_write(std::span<const uint8_t> bytes) override {
        ++sends_;
        return bytes.size();
    }
    base::Result<size_t> try_writev(std::span<const iovec> parts) override {
        ++sends_;
        size_t total = 0;
        for (const iovec& part : parts) total += part.iov_len;
        return total;
    }
    void park(runtime::ParkedHandler&) override {}
    void unpark() override {}
    bool peer_gone() const override { return false; }
    int plain_fd() const override { return -1; }
    void set_no_delay(bool) override {}
    void acknowledge_soon() override {}
    void pace_reads(int64_t) override {}
    void shutdown_write() override {}
    std::string peer_ip() const override { return "127.0.0.1"; }
    std::string peer_address() const override { return "127.0.0.1:1"; }
    bool is_tls() const override { return false; }

  private:
    size_t& sends_;
};

FanOut::FanOut(int viewers, std::span<const media::Frame> first) {
    live::LiveOptions options;
    options.merge_ms = 0;            // a round with every video frame ...
    options.audio_wait_ms = 60'000;  // ... and never for audio alone
    options.queue_length_ms = 600'000'000;
    stream_ = registry_.find_or_create({"v", "live", "s"}, options);
    publication_ = std::move(*stream_->acquire(*this, false));
    for (const media::Frame& frame : first) publish(frame);
    for (int i = 0; i < viewers; ++i) {
        viewers_.push_back(std::make_unique<live::Viewer>(static_cast<live::ViewerHandler&>(*this), stream_));
        viewers_.back()->join(convert::RtmpParameters{}.key(), std::make_unique<Socket>(sends_), {});
    }
    for (int i = 0; i < 4; ++i) CHECK(runtime::yield().has_value());  // the scheduler is there and waits
}

FanOut::~FanOut() {
    publication_.end();
    for (auto& viewer : viewers_) viewer.reset();
    stream_.reset();
    for (int i = 0; i < 1000 && registry_.size() > 0; ++i) CHECK(runtime::sleep_ms(1).has_value());
}

void FanOut::publish(media::Frame frame) {
    if (frame.dts < last_dts_ - media::from_ms(1000)) base_dts_ += media::from_ms(2000);  // the next time round
    last_dts_ = frame.dts;
    frame.dts += base_dts_;
    bool at_once = frame.kind == media::Kind::kVideo;
    at_once = at_once && !viewers_.empty();
    // The time to the next round passes without a wait, which would be counted.
    if (at_once) runtime::detail::loop_clock.ahead_us += kApartUs;
    publication_.publish(std::move(frame));
    if (!at_once) return;
    size_t wanted = sends_ + viewers_.size();
    for (int i = 0; i < 1000 && sends_ < wanted; ++i) CHECK(runtime::yield().has_value());
    CHECK(sends_ == wanted);
}

}  // namespace hot
