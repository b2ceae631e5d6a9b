#include "service/tools/ffmpeg.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace service::tools {
namespace {

std::string line(const FfmpegInput& input, const std::vector<Output>& outputs, double keyframes = 2,
                 const std::string& level = "info") {
    return fmt::format("{}", fmt::join(ffmpeg_arguments("ffmpeg", level, input, outputs, keyframes), " "));
}

Encoder x264() {
    Encoder e;
    e.vcodec = "libx264";
    e.acodec = "aac";
    return e;
}

const FfmpegInput kStream{"rtmp://h/live/s"};

TEST(Ffmpeg, TheOrderOfSrs) {
    Encoder e = x264();
    e.perfile = {{"rtsp_transport", "tcp"}, {"re"}};
    e.vfilter = {{"i", "logo.png"}, {"filter_complex", "overlay=10:10"}};
    e.vbitrate = 1500;
    e.vfps = 25;
    e.vwidth = 769;
    e.vheight = 321;
    e.vthreads = 12;
    e.vprofile = "main";
    e.vpreset = "medium";
    e.vparams = {{"t", "100"}, {"bf", "3"}};
    e.abitrate = 70;
    e.asample_rate = 44100;
    e.achannels = 2;
    e.aparams = {{"profile:a", "aac_low"}, {"bsf:a", "aac_adtstoasc"}};
    EXPECT_EQ(line(kStream, {{&e, "rtmp://h/live/s_ff", false}}),
              "ffmpeg -rtsp_transport tcp -re -f flv -i rtmp://h/live/s -i logo.png -filter_complex overlay=10:10 "
              "-vcodec libx264 -b:v 1500000 -r 25 -s 768x320 -aspect 768:320 -threads 12 -profile:v main "
              "-preset medium -t 100 -bf 3 -acodec aac -b:a 70000 -ar 44100 -ac 2 -profile:a aac_low "
              "-bsf:a aac_adtstoasc -f flv -y rtmp://h/live/s_ff");
}

TEST(Ffmpeg, CopyAndNone) {
    Encoder e;
    e.vcodec = "copy";
    e.acodec = "copy";
    e.vbitrate = 100;
    e.abitrate = 100;
    e.vparams = {{"t", "1"}};
    e.aparams = {{"profile:a", "aac_low"}, {"bsf:a", "aac_adtstoasc"}};
    e.iformat = e.oformat = "off";
    EXPECT_EQ(line(kStream, {{&e, "x.ts", false}}),
              "ffmpeg -i rtmp://h/live/s -vcodec copy -acodec copy -bsf:a aac_adtstoasc -y x.ts");
    e.vcodec = "vn";
    e.acodec = "an";
    EXPECT_EQ(line(kStream, {{&e, "x.ts", false}}), "ffmpeg -i rtmp://h/live/s -vn -an -y x.ts");
}

TEST(Ffmpeg, AnInputThatIsNoRtmpHasNoFormat) {
    const Encoder e = x264();
    EXPECT_EQ(line({"a.flv", true, true}, {{&e, "o", false}}),
              "ffmpeg -re -stream_loop -1 -i a.flv -vcodec libx264 -threads 1 -acodec aac -f flv -y o");
    EXPECT_EQ(line({"http://h/a.ts", true, false}, {{nullptr, "rtmp://h/l/s"}}, 2, "error"),
              "ffmpeg -loglevel error -re -i http://h/a.ts -vcodec copy -acodec copy -f flv -y rtmp://h/l/s");
}

TEST(Ffmpeg, ACopyHasTheInputOptionsOfItsEngine) {
    Encoder e = x264();
    e.perfile = {{"rtsp_transport", "tcp"}};
    e.oformat = "mpegts";
    EXPECT_EQ(line({"rtsp://h/s", true, false}, {{&e, "rtmp://h/l/s", true}}),
              "ffmpeg -re -rtsp_transport tcp -i rtsp://h/s -vcodec copy -acodec copy -f flv -y rtmp://h/l/s");
}

TEST(Ffmpeg, OptionsThatAreGivenAreNotGivenTwice) {
    Encoder e;
    e.perfile = {{"re", ""}, {"stream_loop", "3"}};
    EXPECT_EQ(line({"a.flv", true, true}, {{&e, "o", false}}),
              "ffmpeg -re -stream_loop 3 -i a.flv -threads 1 -f flv -y o");
}

TEST(Ffmpeg, ALadderHasCommonKeyframes) {
    Encoder big = x264(), small = x264(), other = x264(), copy;
    small.vbitrate = 300;
    other.vcodec = "libx265";
    copy.vcodec = copy.acodec = "copy";
    EXPECT_EQ(
        line(kStream, {{&big, "b", false}, {&small, "s", false}, {&other, "o", false}, {&copy, "c", false}}),
        "ffmpeg -f flv -i rtmp://h/live/s "
        "-vcodec libx264 -threads 1 -force_key_frames expr:gte(t,n_forced*2) -sc_threshold 0 -acodec aac -f flv -y b "
        "-vcodec libx264 -b:v 300000 -threads 1 -force_key_frames expr:gte(t,n_forced*2) -sc_threshold 0 "
        "-acodec aac -f flv -y s "
        "-vcodec libx265 -threads 1 -force_key_frames expr:gte(t,n_forced*2) -acodec aac -f flv -y o "
        "-vcodec copy -acodec copy -f flv -y c");
    EXPECT_EQ(line(kStream, {{&big, "b", false}, {&copy, "c", false}}),
              "ffmpeg -f flv -i rtmp://h/live/s -vcodec libx264 -threads 1 -acodec aac -f flv -y b "
              "-vcodec copy -acodec copy -f flv -y c")
        << "one encoder has nothing to be aligned with";
    EXPECT_EQ(line(kStream, {{&big, "b", false}, {&small, "s", false}}, 0).find("force_key_frames"), std::string::npos);
    small.vparams = {{"force_key_frames", "source"}};
    EXPECT_NE(line(kStream, {{&big, "b", false}, {&small, "s", false}}).find("-force_key_frames source -acodec"),
              std::string::npos);
}

TEST(Ffmpeg, WhatFitsOneProcess) {
    Encoder a = x264(), b = x264();
    b.vcodec = "libx265";
    EXPECT_TRUE(has_same_input(a, b));
    b.perfile = {{"re"}};
    EXPECT_FALSE(has_same_input(a, b));
    b = x264();
    b.vfilter = {{"i", "logo.png"}};
    EXPECT_FALSE(has_same_input(a, b)) << "an input of its own";
}

}  // namespace
}  // namespace service::tools
