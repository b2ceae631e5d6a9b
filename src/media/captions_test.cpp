#include "media/captions.h"

#include <gtest/gtest.h>

#include <string>

namespace media {
namespace {

Frame frame(const std::string& bytes) {
    return {.kind = Kind::kVideo, .codec = Codec::kH264, .payload = base::Slice::copy(std::string_view(bytes))};
}

TEST(Captions, AreFoundInUserData) {
    using namespace std::string_literals;
    // SEI of H.264, user_data_registered_itu_t_t35, a pair of CEA-608.
    const std::string sei = "\x06\x04\x0e\xb5\x00\x31GA94\x03\xc1\xff\xfc\x94\x20\xff\x80"s;
    EXPECT_TRUE(has_captions(frame("\0\0\0\x12"s + sei + "\0\0\0\x02\x65\x88"s)));
    EXPECT_TRUE(has_captions(frame(std::string(1'000, 'x') + sei))) << "behind other messages";
    EXPECT_FALSE(has_captions(frame("\x06\x04\x0e\xb5\x00\x31GA94\x06\xc1"s))) << "bar data";
    EXPECT_FALSE(has_captions(frame(std::string(4'000, 'x') + sei))) << "within the picture";
    EXPECT_FALSE(has_captions(frame("GA9")));
    EXPECT_FALSE(has_captions(frame("")));
}

}  // namespace
}  // namespace media
