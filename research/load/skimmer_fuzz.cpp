// The skimmers on any bytes, whole and cut: they must come to the same.

#include <algorithm>
#include <cstdlib>
#include <string>

#include "load/chunk_skimmer.h"
#include "load/interleaved_skimmer.h"
#include "load/packet_skimmer.h"
#include "load/script.h"
#include "load/tag_skimmer.h"

namespace {

class Recorder final : public load::ControlSink {
  public:
    void on_media(const load::MediaMessage& m) override {
        log += fmt::format("{}@{}+{}:{}{}{} ", m.type, m.timestamp, m.size, m.is_frame(), m.is_sequence_header(),
                           load::mark_of(m.type, m.head));
    }
    base::Result<void> on_control(uint8_t type, uint32_t timestamp, std::span<const uint8_t> body) override {
        log += fmt::format("c{}@{}+{} ", type, timestamp, body.size());
        return {};
    }
    void on_packet(int missing) override { log += fmt::format("m{} ", missing); }
    std::string log;
};

// With an H.264 track and another one.
class TwoTracks {
  public:
    TwoTracks() {
        skimmer_.rtp().add_track(true, 90'000, true);
        skimmer_.rtp().add_track(false, 44'100);
    }
    base::Result<void> feed(std::span<const uint8_t> bytes, load::MediaSink& sink) {
        return skimmer_.feed(bytes, sink);
    }

  private:
    load::InterleavedSkimmer skimmer_;
};

template <class Skimmer>
std::string skim(std::span<const uint8_t> bytes, size_t step) {
    Skimmer skimmer;
    Recorder recorder;
    while (!bytes.empty()) {
        auto part = bytes.first(std::min(step, bytes.size()));
        if (auto fed = skimmer.feed(part, recorder); !fed) return recorder.log + fed.error().text();
        bytes = bytes.subspan(part.size());
    }
    return recorder.log;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 1) return 0;
    auto bytes = std::span(data + 1, size - 1);
    size_t step = data[0] % 64 + 1u;
    if (skim<load::TagSkimmer>(bytes, step) != skim<load::TagSkimmer>(bytes, size)) std::abort();
    if (skim<load::PacketSkimmer>(bytes, step) != skim<load::PacketSkimmer>(bytes, size)) std::abort();
    if (skim<load::ChunkSkimmer>(bytes, step) != skim<load::ChunkSkimmer>(bytes, size)) std::abort();
    if (skim<TwoTracks>(bytes, step) != skim<TwoTracks>(bytes, size)) std::abort();
    return 0;
}
