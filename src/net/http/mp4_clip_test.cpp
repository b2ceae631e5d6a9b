#include "net/http/mp4_clip.h"

#include <fmt/core.h>

#include "media/aac.h"
#include "protocol/mp4/fragment.h"
#include "protocol/mp4/testing/demuxer.h"
#include "runtime/disk/paged_bytes.h"
#include "runtime/loop/testing.h"

namespace net {
namespace {

using runtime::testing::ok;

// A track of AAC, whose payloads are texts.
class Track {
  public:
    Track(uint32_t id, std::string name) : builder_({}, id), name_(std::move(name)) {
        media::Frame header{
            .kind = media::Kind::kAudio, .codec = media::Codec::kAac, .sequence_header = true, .payload = {}};
        header.payload = media::make_aac_config(2, 48'000, 2);
        EXPECT_TRUE(builder_.set_header(header));
    }
    std::string init() const {
        const auto bytes = builder_.init_segment();
        return {bytes.begin(), bytes.end()};
    }
    // A fragment of so many frames.
    std::string fragment(int frames) {
        for (; frames > 0; --frames, ++count_) {
            media::Frame frame{.kind = media::Kind::kAudio, .codec = media::Codec::kAac, .payload = {}};
            frame.dts = std::chrono::hours(5) + media::from_ticks(count_ * 1024, 48'000);
            frame.payload = base::Slice::copy(fmt::format("{}{}", name_, count_));
            EXPECT_TRUE(builder_.add(frame));
        }
        std::string text;
        for (const auto piece : builder_.cut().pieces) text.append(piece.begin(), piece.end());
        return text;
    }

  private:
    mp4::FragmentBuilder builder_;
    std::string name_;
    int count_ = 0;
};

class Mp4ClipTest : public runtime::testing::RuntimeTest {
  protected:
    static FilePart part_of(const std::string& text) {
        auto pages = std::make_shared<runtime::disk::PagedBytes>();
        EXPECT_TRUE(ok(pages->append({reinterpret_cast<const uint8_t*>(text.data()), text.size()})));
        auto parts = pages->parts(0, text.size());
        return {parts[0].source, parts[0].offset, parts[0].length};
    }
    static std::string styp() { return {mp4::segment_type().begin(), mp4::segment_type().end()}; }
    static std::vector<uint8_t> bytes_of(const Mp4Clip& clip) {
        std::vector<uint8_t> all;
        for (const FilePart& part : clip.parts) {
            const size_t before = all.size();
            all.resize(before + part.length);
            EXPECT_EQ(part.source->read_now(std::span(all).subspan(before), part.offset), part.length);
        }
        EXPECT_EQ(all.size(), clip.bytes);
        return all;
    }
    // The payloads of each track.
    static std::vector<std::string> payloads(const std::vector<uint8_t>& file) {
        const auto demuxed = mp4::demux(file);
        EXPECT_TRUE(demuxed) << (demuxed ? "" : demuxed.error().text());
        std::vector<std::string> tracks;
        if (!demuxed) return tracks;
        EXPECT_FALSE(demuxed->movie.fragmented);
        for (const auto& samples : demuxed->samples) {
            tracks.emplace_back();
            for (const mp4::Sample& sample : samples)
                tracks.back().append(file.begin() + static_cast<ptrdiff_t>(sample.offset),
                                     file.begin() + static_cast<ptrdiff_t>(sample.offset + sample.size));
        }
        return tracks;
    }
};

TEST_F(Mp4ClipTest, IsAPlainFileOfTheFragments) {
    Track first(2, "a"), second(5, "b");
    FileParts parts;
    for (const std::string& text : {first.fragment(2) + second.fragment(1), first.fragment(1), second.fragment(2)})
        parts.push_back(part_of(styp() + text));
    const auto clip = make_mp4_clip({first.init(), second.init()}, std::move(parts));
    ASSERT_TRUE(clip) << clip.error().text();
    EXPECT_EQ(clip->duration_ms, 64);
    const auto file = bytes_of(*clip);
    EXPECT_EQ(payloads(file), (std::vector<std::string>{"a0a1a2", "b0b1b2"}));
}

TEST_F(Mp4ClipTest, ALargeFragmentIsReadInPieces) {
    Track track(1, "x");
    const std::string text = track.fragment(5'000);
    FileParts parts;
    for (size_t at = 0; at < text.size(); at += 1'000) parts.push_back(part_of(text.substr(at, 1'000)));
    const auto clip = make_mp4_clip({track.init()}, std::move(parts));
    ASSERT_TRUE(clip) << clip.error().text();
    EXPECT_TRUE(payloads(bytes_of(*clip)).at(0).ends_with("x4998x4999"));
}

TEST_F(Mp4ClipTest, RefusesWhatIsNone) {
    Track track(1, "x"), same(1, "y");
    const std::string whole = track.fragment(10);
    const auto code_of = [](const std::vector<std::string>& inits, const std::string& bytes) {
        FileParts parts;
        parts.push_back(part_of(bytes));
        const auto made = make_mp4_clip(inits, std::move(parts));
        return made ? base::Code::kOther : made.error().code();
    };
    EXPECT_EQ(code_of({track.init()}, whole), base::Code::kOther);
    EXPECT_EQ(code_of({}, whole), base::Code::kProtocol);
    EXPECT_EQ(code_of({"nonsense"}, whole), base::Code::kProtocol);
    EXPECT_EQ(code_of({track.init(), same.init()}, whole), base::Code::kProtocol);
    EXPECT_EQ(code_of({track.init()}, whole.substr(0, whole.size() - 1)), base::Code::kNotFound);
    EXPECT_EQ(code_of({track.init()}, whole + whole.substr(0, 50)), base::Code::kProtocol);
}

}  // namespace
}  // namespace net
