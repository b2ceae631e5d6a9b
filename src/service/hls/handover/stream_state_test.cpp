#include "service/hls/handover/stream_state.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/loop/testing.h"
#include "service/hls/handover/left_blobs.h"
#include "service/hls/handover/state_file.h"

namespace service::hls {
namespace {

StreamState example() {
    StreamState state{.key = {"v", "live", "s"}, .made_with = "x", .next_sequence = 9};
    LeftStream& left = state.left;
    left.any = left.master = true;
    left.timeline = {
        .media_sequence = 7, .discontinuity_sequence = 1, .target_s = 2, .part_target = media::from_ms(300)};
    const auto init = std::make_shared<const std::string>("init");
    for (int i = 0; i < 2; ++i) {
        left.timeline.segments.push_back({.start = media::from_ms(-500 + 1'000 * i),
                                          .duration = media::from_ms(1'000),
                                          .date_ms = 1'000'000,
                                          .clock = {media::from_ms(-500), 1'000'000},
                                          .discontinuity = i == 1,
                                          .first_part = 41u + static_cast<uint64_t>(i),
                                          .parts = {{media::from_ms(-500), media::from_ms(1'000), true, false}}});
    }
    left.timeline.continuation = convert::Continuation{
        .start = media::from_ms(1'500), .clock = {media::from_ms(-500), 1'000'000}, .first_part = 43, .parts_end = 45};
    left.timeline.left = 1;
    left.timeline.parts_kept = 41;
    LeftRendition rendition{.media_sequence = 7};
    for (int i = 0; i < 2; ++i)
        rendition.entries.push_back({.content = {.bytes = 8, .init = init},
                                     .path = "live/s-7.m4s",
                                     .map_path = "live/s/init.mp4",
                                     .parts = {8},
                                     .disk = Entry::Disk::kThere});
    rendition.in_memory = {{1, {0, {{0, 4}, {6, 4}}}}};
    rendition.parts = {{41, {0, {{0, 4}}}}, {42, {0, {{4, 6}}}}};
    left.renditions = {rendition};
    LeftTrack track{.number = 1, .is_active = true, .rendition = rendition};
    track.descriptions.push_back({.main = true, .language = "de", .representations = {{.id = "audio", .channels = 2}}});
    track.rows = {{7, {48'000, -24'000, -24'000, 24'000}, 0}, {8, {48'000, 24'000, 24'000, 72'000}, 0}};
    left.dash = LeftDash{.begin = 7, .tracks = {track}};
    state.blob_sizes = {10};
    return state;
}

std::vector<uint8_t> bytes_of(StreamState state) {
    std::vector<uint8_t> bytes;
    write_state(state, bytes);
    return bytes;
}

TEST(StreamState, IsReadAsWritten) {
    const auto bytes = bytes_of(example());
    const auto read = read_state(bytes);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(bytes_of(*read), bytes);
    EXPECT_EQ(read->left.timeline.continuation, example().left.timeline.continuation);
    EXPECT_EQ(read->left.timeline.segments[0].start, media::from_ms(-500));
    EXPECT_EQ(read->left.dash->tracks[0].rows[0].times.begin, -24'000);
    const auto& entries = read->left.renditions[0].entries;
    EXPECT_EQ(*entries[0].content.init, "init");
    EXPECT_EQ(entries[0].content.init, entries[1].content.init) << "once";
}

TEST(StreamState, WhatDoesNotFitIsRefused) {
    struct Case {
        const char* name;
        void (*change)(StreamState&);
    };
    const Case cases[] = {
        {"more_left_than_segments", [](StreamState& s) { s.left.timeline.left = 3; }},
        {"rendition_before_the_stream", [](StreamState& s) { s.left.renditions[0].media_sequence = 6; }},
        {"rendition_behind_the_stream", [](StreamState& s) { s.left.renditions[0].media_sequence = 8; }},
        {"rendition_twice", [](StreamState& s) { s.left.renditions.push_back(s.left.renditions[0]); }},
        {"range_beyond_its_blob", [](StreamState& s) { s.blob_sizes = {9}; }},
        {"no_such_blob", [](StreamState& s) { s.left.renditions[0].parts[0].bytes.blob = 1; }},
        {"no_such_blob_without_ranges",
         [](StreamState& s) {
             s.left.renditions[0].in_memory[0].second = {1, {}};
         }},
        {"line_in_a_path", [](StreamState& s) { s.left.renditions[0].entries[0].path = "live/a\n.ts"; }},
        {"manifest_behind_the_stream", [](StreamState& s) { s.left.dash->begin = 10; }},
        {"no_such_entry", [](StreamState& s) { s.left.renditions[0].in_memory[0].first = 2; }},
        {"parts_out_of_order", [](StreamState& s) { s.left.renditions[0].parts[1].number = 41; }},
        {"more_parts_than_the_segment",
         [](StreamState& s) {
             s.left.renditions[0].entries[0].parts = {1, 2};
         }},
        {"path_above", [](StreamState& s) { s.left.renditions[0].entries[0].path = "live/../../x"; }},
        {"absolute_path", [](StreamState& s) { s.left.renditions[0].entries[0].map_path = "/etc/x"; }},
        {"line_in_a_key", [](StreamState& s) { s.left.renditions[0].entries[0].key.uri = "a\n#EXT"; }},
        {"quote_in_an_iv", [](StreamState& s) { s.left.renditions[0].entries[0].key.iv = "\""; }},
        {"negative_duration", [](StreamState& s) { s.left.timeline.segments[0].duration = media::from_ms(-1); }},
        {"long_duration", [](StreamState& s) { s.left.timeline.segments[0].duration = std::chrono::hours(999); }},
        {"number_that_overflows", [](StreamState& s) { s.left.timeline.media_sequence = UINT64_MAX - 1; }},
        {"track_twice", [](StreamState& s) { s.left.dash->tracks.push_back(s.left.dash->tracks[0]); }},
        {"no_such_track", [](StreamState& s) { s.left.dash->tracks[0].number = 200; }},
        {"no_such_description", [](StreamState& s) { s.left.dash->tracks[0].rows[0].description = 1; }},
        {"no_timescale", [](StreamState& s) { s.left.dash->tracks[0].rows[0].times.timescale = 0; }},
        {"rows_out_of_order", [](StreamState& s) { s.left.dash->tracks[0].rows[1].sequence = 7; }},
        {"row_behind_the_stream", [](StreamState& s) { s.left.dash->tracks[0].rows[1].sequence = 9; }},
        {"rate_that_is_no_number",
         [](StreamState& s) { s.left.dash->tracks[0].descriptions[0].representations[0].frame_rate = 0.0 / 0.0; }},
    };
    for (const Case& one : cases) {
        StreamState state = example();
        one.change(state);
        EXPECT_FALSE(read_state(bytes_of(state))) << one.name;
    }
}

// Names of streams may have it.
TEST(StreamState, AQuoteInAPath) {
    StreamState state = example();
    state.left.renditions[0].entries[0].path = "live/a\"b-7.m4s";
    EXPECT_TRUE(read_state(bytes_of(state)));
}

TEST(StreamState, OfAnotherFormatOrCutOffIsRefused) {
    auto bytes = bytes_of(example());
    for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(read_state({bytes.data(), n})) << n;
    bytes.push_back(0);
    EXPECT_FALSE(read_state(bytes)) << "longer than it is";
    bytes.pop_back();
    bytes[3] ^= 1;
    EXPECT_FALSE(read_state(bytes));
}

class StateFileTest : public runtime::testing::RuntimeTest {
  protected:
    static std::shared_ptr<runtime::disk::PagedBytes> blob(std::string_view text) {
        auto pages = std::make_shared<runtime::disk::PagedBytes>();
        EXPECT_TRUE(pages->append({reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
        return pages;
    }
    static std::string text_of(const runtime::disk::PagedBytes& pages) {
        std::string out;
        for (const auto& part : pages.parts(0, pages.size())) {
            std::vector<uint8_t> bytes(part.length);
            EXPECT_EQ(part.source->read_now(bytes, part.offset), part.length);
            out.append(bytes.begin(), bytes.end());
        }
        return out;
    }
    static std::vector<StreamState> two() {
        std::vector<StreamState> states{example(), example()};
        states[0].left.blobs = {blob("0123456789")};
        states[1].left.blobs = {blob("abcdefghij")};
        states[1].key.name = "t";
        return states;
    }
};

TEST_F(StateFileTest, HasTheBytesOfEachStream) {
    const auto file = write_state_file(two());
    ASSERT_TRUE(file) << file.error().text();
    std::vector<std::string> problems;
    const auto read = read_state_file(file->all().front(), problems);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_TRUE(problems.empty());
    ASSERT_EQ(read->size(), 2u);
    EXPECT_EQ((*read)[1].key.name, "t");
    EXPECT_EQ(text_of(*(*read)[0].left.blobs[0]), "0123456789");
    EXPECT_EQ(text_of(*(*read)[1].left.blobs[0]), "abcdefghij");
}

TEST_F(StateFileTest, OneThatIsCutOffIsRefused) {
    for (const off_t size : {0, 7, 15, 16, 100}) {
        const auto file = write_state_file(two());
        ASSERT_TRUE(file);
        ASSERT_EQ(ftruncate(file->all().front(), size), 0);
        std::vector<std::string> problems;
        EXPECT_FALSE(read_state_file(file->all().front(), problems)) << size;
    }
    const auto file = write_state_file(two());
    struct stat info {};
    ASSERT_EQ(fstat(file->all().front(), &info), 0);
    ASSERT_EQ(ftruncate(file->all().front(), info.st_size - 1), 0);
    std::vector<std::string> problems;
    const auto read = read_state_file(file->all().front(), problems);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->size(), 1u) << "those before the blob that is cut off";
    EXPECT_EQ(problems.size(), 1u);
}

TEST_F(StateFileTest, OneThatCannotBeReadIsLeftOut) {
    auto states = two();
    states[0].left.renditions[0].entries[0].path = "live/a\n.ts";
    const auto file = write_state_file(std::move(states));
    std::vector<std::string> problems;
    const auto read = read_state_file(file->all().front(), problems);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(problems.size(), 1u);
    ASSERT_EQ(read->size(), 1u);
    EXPECT_EQ((*read)[0].key.name, "t");
    EXPECT_EQ(text_of(*(*read)[0].left.blobs[0]), "abcdefghij") << "its own bytes";
}

TEST_F(StateFileTest, BlobsAreBounded) {
    LeftBlobs blobs(15);
    const auto first = blob("0123456789"), second = blob("0123456789"), third = blob("01234");
    EXPECT_EQ(blobs.add(first), 0u);
    EXPECT_EQ(blobs.add(second), std::nullopt);
    EXPECT_EQ(blobs.add(first), 0u) << "it is there";
    EXPECT_EQ(blobs.add(third), std::nullopt) << "it is older than one that is left out";
    EXPECT_EQ(blobs.bytes(), 10u);
}

}  // namespace
}  // namespace service::hls
