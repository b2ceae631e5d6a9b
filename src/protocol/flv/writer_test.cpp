#include "protocol/flv/writer.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"
#include "protocol/flv/audio_format.h"
#include "protocol/flv/body.h"

namespace flv {

using base::hex;
using base::Slice;
using media::Codec;
using media::Frame;
using media::Kind;

namespace {

Slice body_of(const Frame& frame) {
    uint8_t header[kMaxBodyHeader];
    base::SliceBuilder out;
    out.append(std::span<const uint8_t>(header, put_body_header(frame, header)));
    out.append(frame.payload);
    return out.freeze();
}

Frame frame_of(Codec codec, const char* payload) {
    Frame frame;
    frame.codec = codec;
    frame.kind = media::codec_info(codec).kind;
    frame.payload = Slice::copy(hex(payload));
    return frame;
}

}  // namespace

TEST(Writer, KnownHeaders) {
    struct Case {
        Codec codec;
        bool keyframe, sequence_header, disposable;
        int cts;
        const char* header;
    };
    const Case cases[] = {
        {Codec::kH264, true, false, false, 80, "1701000050"},
        {Codec::kH264, false, false, false, -40, "2701ffffd8"},
        {Codec::kH264, false, false, true, 0, "3701000000"},
        {Codec::kH264, false, true, false, 7, "1700000000"},
        {Codec::kHevc, true, true, false, 0, "9068766331"},
        {Codec::kHevc, true, false, false, 0, "9368766331"},
        {Codec::kHevc, false, false, false, 40, "a168766331000028"},
        {Codec::kHevc, false, false, false, 1 << 30, "a1687663317fffff"},
        {Codec::kHevc, false, false, false, -(1 << 30), "a168766331800000"},
        {Codec::kAv1, true, false, false, 40, "9161763031"},
        {Codec::kAv1, false, true, false, 0, "9061763031"},
        {Codec::kVp9, false, false, false, 0, "a176703039"},
        {Codec::kVp8, true, false, false, 0, "9176703038"},
        {Codec::kH263, true, false, false, 0, "12"},
        {Codec::kVp6Alpha, false, false, false, 0, "25"},
        {Codec::kAac, false, true, false, 0, "af00"},
        {Codec::kAac, false, false, false, 0, "af01"},
        {Codec::kMp3, false, false, false, 0, "2f"},
        {Codec::kOpus, false, true, false, 0, "904f707573"},
        {Codec::kOpus, false, false, false, 0, "914f707573"},
        {Codec::kFlac, false, false, false, 0, "91664c6143"},
        {Codec::kAc3, false, false, false, 0, "9161632d33"},
        {Codec::kEac3, false, false, false, 0, "9165632d33"},
        {Codec::kAmf0, false, false, false, 0, ""},
    };
    for (const Case& c : cases) {
        Frame frame = frame_of(c.codec, "");
        frame.keyframe = c.keyframe;
        frame.sequence_header = c.sequence_header;
        frame.disposable = c.disposable;
        frame.cts = media::from_ms(c.cts);
        EXPECT_EQ(body_of(frame), Slice::copy(hex(c.header))) << c.header;
    }
}

TEST(AudioFormat, AudioInfoOfTheByte) {
    struct Case {
        uint8_t format;
        int rate, channels;
    };
    for (const Case& c :
         {Case{0xb6, 16000, 1}, {0x82, 8000, 1}, {0x6b, 22050, 2}, {0x3f, 44100, 2}, {0x4e, 16000, 1}}) {
        Frame frame = frame_of(Codec::kSpeex, "00");
        frame.publisher_format = c.format;
        auto info = flv::audio_info(frame);
        ASSERT_TRUE(info);
        EXPECT_EQ(info->sample_rate, c.rate) << int{c.format};
        EXPECT_EQ(info->channels, c.channels) << int{c.format};
    }
}

TEST(Writer, TheSoundByteIsKeptOrMade) {
    Frame mp3 = frame_of(Codec::kMp3, "fff38044");  // 22,050 Hz, stereo
    EXPECT_EQ(body_of(mp3)[0], 0x2b);
    mp3.publisher_format = 0xee;
    EXPECT_EQ(body_of(mp3)[0], 0xee);
    Frame aac = frame_of(Codec::kAac, "2117");
    aac.publisher_format = 0xae;
    EXPECT_EQ(body_of(aac).sub(0, 2), Slice::copy(hex("ae01")));
}

// Frame -> body -> frame, for every codec and every type of frame.
TEST(Writer, RoundTripOfEveryCodec) {
    struct Header {
        Codec codec;
        const char* config;
    };
    const Header headers[] = {
        {Codec::kH264, "01640020ffe1001967640020acd940c029b011000003000100000300320f18319601000568ebecb22c"},
        {Codec::kHevc, "0101600000009000000000003ff000fcfdf8f800000f00"},
        {Codec::kAv1, "81000c00"},
        {Codec::kVp9, "000b820202020000"},
        {Codec::kAac, "1210"},
        {Codec::kOpus, "4f707573486561640101380180bb0000000000"},
        {Codec::kFlac, "040004000000000008150bb800f00000000000000000000000000000000000000000"},
    };
    for (int i = 1; i < static_cast<int>(Codec::kAmf0); ++i) {
        auto codec = static_cast<Codec>(i);
        BodyParser parser;
        for (const Header& h : headers) {
            if (h.codec != codec) continue;
            Frame header = frame_of(codec, h.config);
            header.sequence_header = true;
            auto back = parser.parse(header.kind == Kind::kVideo ? 9 : 8, body_of(header), 5);
            ASSERT_TRUE(back) << media::codec_info(codec).name << back.error().text();
            ASSERT_TRUE(back->frame);
            EXPECT_TRUE(back->frame->sequence_header);
            EXPECT_EQ(back->frame->payload, header.payload);
        }
        for (int cts : {0, 40, -40}) {
            for (bool key : {false, true}) {
                Frame frame = frame_of(codec, key ? "00000002 2801" : "00000002 0201");
                bool video = frame.kind == Kind::kVideo;
                frame.keyframe = video && key;
                frame.disposable = video && !key && cts == 0;
                if (codec == Codec::kH264 || codec == Codec::kHevc) frame.cts = media::from_ms(cts);
                auto back = parser.parse(video ? 9 : 8, body_of(frame), 5);
                ASSERT_TRUE(back) << media::codec_info(codec).name << back.error().text();
                ASSERT_TRUE(back->frame) << media::codec_info(codec).name << back->nothing;
                EXPECT_EQ(back->frame->codec, codec);
                EXPECT_EQ(back->frame->keyframe, frame.keyframe);
                EXPECT_EQ(back->frame->disposable, frame.disposable);
                EXPECT_EQ(media::to_ms(back->frame->cts), media::to_ms(frame.cts));
                EXPECT_EQ(back->frame->payload, frame.payload);
                EXPECT_EQ(body_of(*back->frame), body_of(frame));
            }
        }
    }
}

TEST(Writer, OtherTracksAreMultitrackBodies) {
    struct Case {
        Codec codec;
        bool sequence_header;
        int cts;
        const char* header;
    };
    const Case cases[] = {
        {Codec::kH264, true, 0, "960061766331 03"},  {Codec::kH264, false, 40, "a60161766331 03 000028"},
        {Codec::kH264, false, 0, "a60361766331 03"}, {Codec::kAv1, false, 0, "a60161763031 03"},
        {Codec::kAac, true, 0, "95006d703461 03"},   {Codec::kAac, false, 0, "95016d703461 03"},
        {Codec::kOpus, false, 0, "95014f707573 03"},
    };
    for (const Case& c : cases) {
        Frame frame = frame_of(c.codec, "");
        frame.track = 3;
        frame.sequence_header = c.sequence_header;
        frame.cts = media::from_ms(c.cts);
        EXPECT_EQ(body_of(frame), Slice::copy(hex(c.header))) << c.header;
        EXPECT_TRUE(can_write(frame));
    }
    Frame speex = frame_of(Codec::kSpeex, "aa");
    EXPECT_TRUE(can_write(speex));
    speex.track = 1;
    EXPECT_FALSE(can_write(speex)) << "it has no FourCC";
}

}  // namespace flv
