// One odd message in a good publication: it is dropped where it cannot be used, and the publication goes on.

#include <gtest/gtest.h>

#include "live/hub/input_faults.h"
#include "service/rtmp/testing.h"

namespace service::rtmp {
namespace {

using runtime::testing::ok;
using namespace std::string_literals;
using testing::kAudioFrame;
using testing::kAudioHeader;
using testing::kInterFrame;
using testing::kKeyframe;
using testing::kVideoHeader;
using Bytes = std::vector<uint8_t>;

Bytes bytes(const std::string& text) { return {text.begin(), text.end()}; }

// AMF0.
std::string text(const std::string& s) { return "\2"s + char(s.size() >> 8) + char(s.size()) + s; }
std::string number(uint8_t high = 0) { return "\0\x40"s + char(high) + "\0\0\0\0\0"s; }
std::string member(const std::string& name) { return "\0"s + char(name.size()) + name + number(8); }
// An object, or an ECMA array, of width and height, without its last bytes.
std::string object(bool array = false, size_t cut = 0) {
    const std::string begin = array ? "\x08\0\0\0\2"s : "\3"s;
    const std::string whole = begin + member("width") + member("height") + "\0\0\x09"s;
    return whole.substr(0, whole.size() - cut);
}

struct Row {
    const char* name;
    uint8_t type;
    std::string body;
};

const std::vector<Row>& rows() {
    static const std::vector<Row> kRows{
        // Empty and cut bodies.
        {"v0", 9, ""},
        {"a0", 8, ""},
        {"v1", 9, "\x17"},
        {"v1inter", 9, "\x27"},
        {"v2", 9, "\x17\1"},
        {"v5nonal", 9, "\x27\1\0\0\0"s},
        {"v5key", 9, "\x17\1\0\0\0"s},
        {"veos", 9, "\x17\2\0\0\0"s},
        {"veosshort", 9, "\x17\2"},
        {"a1", 8, "\xaf"},
        {"a2", 8, "\xaf\1"},
        {"aseqempty", 8, "\xaf\0"s},
        {"vseqempty", 9, "\x17\0\0\0\0"s},
        {"vinfo", 9, "\x52\0"s},
        {"vinfo5", 9, "\x57\0\0\0\0\0"s},
        // NAL units that do not fit.
        {"vlenbad", 9, "\x27\1\0\0\0\xff\xff\xff\xff\x41\x9a"s},
        {"vzero", 9, "\x27\1\0\0\0\0\0\0\0"s},
        {"vannexb", 9, "\x27\1\0\0\0\0\0\0\1\x41\x9a\x22\x33"s},
        {"vff", 9, "\xff\xfe\xf7\x17\1\0\0"s},
        // Other codecs.
        {"vh263", 9, "\x22\0\0\x84\0"s},
        {"aspeex", 8, "\xb6\x1e\x9d"},
        {"aexheader", 8, "\x9f\1\2"},
        // Metadata.
        {"m0", 18, ""},
        {"mset", 18, text("@setDataFrame")},
        {"mnoend", 18, text("onMetaData") + object(false, 3)},
        {"mecmanoend", 18, text("@setDataFrame") + text("onMetaData") + object(true, 3)},
        {"mcut", 18, text("@setDataFrame") + text("onMetaData") + object(true).substr(0, 20)},
        {"mtext", 18, text("onTextData") + text("x")},
        {"mgarb", 18, "\xde\xad\xbe\xef"},
        {"mnum", 18, text("onMetaData") + number()},
        {"m15", 15, "\0"s + text("onMetaData") + object()},
        {"m15b", 15, text("onMetaData") + object()},
        {"m15amf3", 15, "\0"s + text("onMetaData") + "\x11\x0a\x0b\1\x0bwidth\4\x82\x40\1"},
        // Commands and control messages.
        {"cgarb", 20, "\xff\xff"},
        {"cunknown", 20, text("someCommand") + "\0\0\0\0\0\0\0\0\0\5"s},
        {"t16", 16, "\0\0"s},
        {"t19", 19, "\0\0"s},
        {"t99", 99, "xyz"},
        {"agg0", 22, ""},
        {"agg bad", 22, "\x09\0\0\xff\0\0\0\0\0\0\0\x17"s},
        {"ucshort", 4, "\0"s},
        {"uc31", 4, "\0\x1f\0\0"s},
        {"ack short", 3, "\0\0"s},
        {"abort", 2, "\0\0\0\6"s},
        // Codecs and packet types that are not known, as real servers send them.
        {"acodec15", 8, "\xff\1\2\3"},
        {"acodec9", 8, "\x92\1\2\3"},
        {"acodec12", 8, "\xcf\1\2\3"},
        {"aslin", 8, "\x36" + std::string(64, '\0')},
        {"anelly", 8, "\x5e" + std::string(64, '\0')},
        {"apcma", 8, "\x72" + std::string(160, '\xd5')},
        {"vcodec11", 9, "\x1b\1\0\0\0\x09\x09"s},
        {"vcodec1", 9, "\x11\1\0\0\0\x09\x09"s},
        {"vcodec13", 9, "\x1d\1\0\0\0\x09\x09"s},
        {"aacpt2", 8, "\xaf\2ab"},
        {"avcpt3", 9, "\x17\3\0\0\0ab"s},
        {"exfourcc", 9, "\x90zzzz1234"},
        {"exaudio4cc", 8, "\x90zzzz12"},
        {"expt7", 9, "\x97hvc1ab"},
        {"frametype0", 9, "\x07\1\0\0\0\0\0\0\2\x41\x9a"s},
        {"frametype5c", 9, "\x57\1\0\0\0\0"s},
    };
    return kRows;
}

class RtmpOddMessages : public testing::RtmpServiceTest {
  protected:
    const live::StreamCounters& counters() { return registry_.find({"__defaultVhost__", "live", "s"})->counters(); }
    bool reaches(const auto& figure, uint64_t wanted) {
        for (int i = 0; i < 200 && figure() < wanted; ++i) (void)runtime::sleep_ms(5).has_value();
        return figure() >= wanted;
    }
    void end(std::unique_ptr<testing::TestClient>& c) {
        c.reset();
        EXPECT_TRUE(until_idle());
    }
};

TEST_F(RtmpOddMessages, EndNoPublication) {
    start();
    for (const Row& row : rows()) {
        auto c = running();
        c->send(row.type, 20, bytes(row.body));
        const auto video = [&] { return counters().video_frames; };
        const auto audio = [&] { return counters().audio_frames; };
        ASSERT_TRUE(reaches(video, 1)) << row.name;
        const uint64_t videos = video(), audios = audio();
        for (uint32_t time : {40, 80}) {
            c->send(::rtmp::kVideo, time, time == 40 ? kInterFrame : kKeyframe);
            c->send(::rtmp::kAudio, time, kAudioFrame);
        }
        EXPECT_TRUE(reaches(video, videos + 2)) << row.name << ": video ends";
        EXPECT_TRUE(reaches(audio, audios + 2)) << row.name << ": audio ends";
        EXPECT_EQ(sessions_.size(), 1u) << row.name;
        end(c);
    }
}

// In place of a whole track: the other one goes on.
TEST_F(RtmpOddMessages, LeaveTheOtherTrackAlone) {
    start();
    for (const Row& row : rows()) {
        if (row.type != 8 && row.type != 9) continue;
        const bool is_audio = row.type == 8;
        auto c = publisher();
        c->send(is_audio ? ::rtmp::kVideo : ::rtmp::kAudio, 0, is_audio ? kVideoHeader : kAudioHeader);
        for (uint32_t time = 0; time < 200; time += 20) {
            c->send(row.type, time, bytes(row.body));
            c->send(is_audio ? ::rtmp::kVideo : ::rtmp::kAudio, time, is_audio ? kKeyframe : kAudioFrame);
        }
        const auto frames = [&] { return is_audio ? counters().video_frames : counters().audio_frames; };
        EXPECT_TRUE(reaches(frames, 10)) << row.name << ": " << frames();
        EXPECT_EQ(sessions_.size(), 1u) << row.name;
        end(c);
    }
}

TEST_F(RtmpOddMessages, AreCountedByKind) {
    start();
    auto c = running();
    for (const char* name : {"v1", "v1", "a1", "mcut", "vcodec13", "exaudio4cc", "ucshort", "agg bad", "cgarb"})
        for (const Row& row : rows())
            if (row.name == std::string_view(name)) c->send(row.type, 20, bytes(row.body));
    const auto stream = registry_.find({"__defaultVhost__", "live", "s"});
    ASSERT_TRUE(stream && stream->publisher() && stream->publisher()->input_faults());
    const live::InputFaults& faults = *stream->publisher()->input_faults();
    EXPECT_TRUE(reaches([&] { return faults.total(); }, 9));
    EXPECT_EQ(faults.counts(), (live::InputFaults::Counts{2, 1, 1, 2, 3}));
    end(c);
}

using RtmpNothingUsable = RtmpOddMessages;

TEST_F(RtmpNothingUsable, EndsAPublisherAtTheFirstPacketTimeout) {
    vhost().publish.firstpkt_timeout = 150;
    start();
    auto c = publisher();
    for (int i = 0; i < 100 && sessions_.size() > 0; ++i) {
        c->session().send_media(::rtmp::kVideo, 0, {}, bytes("\x1b\1\0\0\0\x09"s));
        if (!c->flush()) break;
        (void)runtime::sleep_ms(10).has_value();
    }
    EXPECT_EQ(sessions_.size(), 0u) << "a publisher without anything usable";
    c.reset();
    EXPECT_TRUE(until_idle());
}

TEST_F(RtmpNothingUsable, EndsAPublisherThatSendsNothingButErrors) {
    vhost().publish.normal_timeout = 150;
    start();
    auto c = running();
    for (int i = 0; i < 100 && sessions_.size() > 0; ++i) {
        c->session().send_media(::rtmp::kVideo, 0, {}, bytes("\x17"));
        if (!c->flush()) break;
        (void)runtime::sleep_ms(10).has_value();
    }
    EXPECT_EQ(sessions_.size(), 0u) << "a publisher with errors alone";
    c.reset();
    EXPECT_TRUE(until_idle());
}

}  // namespace
}  // namespace service::rtmp
