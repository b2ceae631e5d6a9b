#include "net/http/numbered_resources.h"

#include <gtest/gtest.h>

#include "net/http/answers.h"

namespace net {
namespace {

struct NumberedResourcesTest : ::testing::Test, OpenBytes {
    std::shared_ptr<runtime::disk::PagedBytes> open_pages() override {
        ++asked;
        if (lost && numbered) numbered->close(nullptr);
        return lost ? nullptr : pages;
    }
    NumberedResourcesTest() {
        constexpr uint8_t kBytes[] = {'a', 'b', 'c', 'd'};
        EXPECT_TRUE(pages->append(kBytes));
        numbered.emplace(*this, resources, NumberedPaths{"v", "live/s~p", ".ts"});
    }
    static Resource part(uint64_t offset, uint64_t length) {
        Resource resource;
        resource.ranges = {{offset, length}};
        resource.size = length;
        return resource;
    }
    ResourcePtr find(std::string_view path) const { return resources.find("v", path); }

    Resources resources;
    std::shared_ptr<runtime::disk::PagedBytes> pages = std::make_shared<runtime::disk::PagedBytes>();
    int asked = 0;
    bool lost = false;
    std::optional<NumberedResources> numbered;
};

TEST_F(NumberedResourcesTest, BytesAreWrittenForWhatIsAskedForAlone) {
    numbered->add(7, part(0, 2));
    numbered->add(8, part(2, 2));
    EXPECT_EQ(asked, 0);
    const ResourcePtr found = find("live/s~p8.ts");
    ASSERT_TRUE(found);
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(found->pages, pages);
    EXPECT_EQ(found->ranges.front().offset, 2u);
    EXPECT_FALSE(found->etag.empty());
    EXPECT_EQ(find("live/s~p8.ts"), found) << "with the same header fields for all";
    EXPECT_EQ(asked, 1);
    // The segment is complete.
    const auto whole = std::make_shared<runtime::disk::PagedBytes>();
    numbered->close(whole);
    EXPECT_EQ(find("live/s~p7.ts")->pages, whole);
    EXPECT_EQ(find("live/s~p8.ts"), found);
    EXPECT_EQ(asked, 1);
    EXPECT_NE(find("live/s~p7.ts")->etag, found->etag);
}

TEST_F(NumberedResourcesTest, APathIsThatOfItsNumberAlone) {
    numbered->add(10, part(0, 2));
    EXPECT_TRUE(find("live/s~p10.ts"));
    for (const char* other :
         {"live/s~p010.ts", "live/s~p10", "live/s~p10.m4s", "live/s~p1.ts", "live/s~p11.ts", "live/s~p.ts",
          "live/s~p10x.ts", "live/t~p10.ts", "live/s~p-10.ts", "10", ".ts", "", "live/s~p18446744073709551626.ts"})
        EXPECT_FALSE(find(other)) << other;
    EXPECT_FALSE(resources.find("w", "live/s~p10.ts"));
    numbered.reset();
    EXPECT_FALSE(find("live/s~p10.ts"));
}

TEST_F(NumberedResourcesTest, WhatIsDroppedIsThereNoMore) {
    for (const uint64_t number : {3, 4, 6, 7, 9}) numbered->add(number, part(0, 1));
    numbered->drop_before(4);
    numbered->drop(6, 2);
    const auto is_there = [&](int number) { return find("live/s~p" + std::to_string(number) + ".ts") != nullptr; };
    EXPECT_FALSE(is_there(3));
    EXPECT_TRUE(is_there(4));
    EXPECT_FALSE(is_there(5));
    EXPECT_FALSE(is_there(6));
    EXPECT_FALSE(is_there(7));
    EXPECT_TRUE(is_there(9));
}

TEST_F(NumberedResourcesTest, PartsOfASegmentWhoseBytesAreLostGoUnlessSomebodyHasAskedForThem) {
    numbered->add(1, part(0, 1));
    numbered->add(2, part(1, 1));
    const ResourcePtr first = find("live/s~p1.ts");
    lost = true;
    EXPECT_FALSE(find("live/s~p2.ts"));
    EXPECT_EQ(asked, 2);
    EXPECT_EQ(find("live/s~p1.ts"), first);
    EXPECT_FALSE(find("live/s~p2.ts"));
    EXPECT_EQ(asked, 2) << "it is forgotten";
}

TEST_F(NumberedResourcesTest, TheNextOneIsAnnounced) {
    const auto stream = std::make_shared<const base::StreamKey>(base::StreamKey{"v", "live", "s"});
    EXPECT_EQ(resources.announced("v", "live/s~p5.ts"), nullptr);
    numbered->announce(5, stream, 3'000);
    const auto hinted = resources.announced("v", "live/s~p5.ts");
    ASSERT_NE(hinted, nullptr);
    EXPECT_EQ(hinted->limit_ms, 3'000);
    EXPECT_EQ(hinted->stream, stream);
    EXPECT_EQ(resources.announced("v", "live/s~p6.ts"), nullptr);
    hinted->is_private = true;
    numbered->announce(6, stream, 3'000);
    EXPECT_EQ(resources.announced("v", "live/s~p5.ts"), nullptr);
    EXPECT_FALSE(resources.announced("v", "live/s~p6.ts")->is_private) << "that was another part";
    numbered->announce({}, stream, 0);
    EXPECT_EQ(resources.announced("v", "live/s~p6.ts"), nullptr);
}

TEST_F(NumberedResourcesTest, SeveralCanBeWaitedForWhereAnotherProcessHasAnnouncedThem) {
    const auto stream = std::make_shared<const base::StreamKey>();
    numbered->set_ahead(2);
    numbered->announce(5, stream, 3'000);
    const auto fifth = resources.announced("v", "live/s~p5.ts"), seventh = resources.announced("v", "live/s~p7.ts");
    ASSERT_TRUE(fifth && seventh);
    EXPECT_EQ(resources.announced("v", "live/s~p8.ts"), nullptr);
    EXPECT_FALSE(numbered->is_awaited());
    AwaitingRequest request;
    seventh->waiting.add(request);
    EXPECT_TRUE(numbered->is_awaited());
    numbered->add(5, part(0, 2));
    numbered->announce(6, stream, 3'000);
    EXPECT_TRUE(fifth->whole);
    EXPECT_EQ(resources.announced("v", "live/s~p7.ts"), seventh);
    EXPECT_FALSE(seventh->is_over);
    numbered->announce({}, stream, 0);
    EXPECT_TRUE(seventh->is_over) << "404";
    EXPECT_FALSE(numbered->is_awaited());
}

}  // namespace
}  // namespace net
