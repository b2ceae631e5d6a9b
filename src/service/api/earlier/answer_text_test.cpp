#include "service/api/earlier/answer_text.h"

#include <gtest/gtest.h>

#include "runtime/loop/testing.h"

namespace service::api {
namespace {

using base::Code;
using runtime::testing::failed_with;
using runtime::testing::ok;

class AnswerText : public runtime::testing::RuntimeTest {
  protected:
    static std::string nested(size_t depth, const std::string& open, const std::string& close) {
        std::string text = R"({"a":)";
        for (size_t i = 1; i < depth; ++i) text += open;
        text += "1";
        for (size_t i = 1; i < depth; ++i) text += close;
        return text + "}";
    }
};

TEST_F(AnswerText, IsReadAndWrittenAsOneWhole) {
    const Json all[] = {Json::object(),
                        {{"list", Json::array()}, {"b", nullptr}, {"a", {{"x", {1, 2}}}}},
                        {{"list", {1, "two \" \\ ] } [ {", {{"three", 3.5}}, Json::array()}}, {"quo\"te", "\\"}}};
    for (const Json& one : all) {
        const std::string text = base::to_text(one);
        const auto read = read_answer(text);
        ASSERT_TRUE(ok(read)) << text;
        EXPECT_EQ(*read, one);
        EXPECT_EQ(write_answer(*read).value(), text);
    }
    const Json broken = {{"name\xff", {"\xff"}}};
    EXPECT_EQ(write_answer(broken).value(), base::to_text(broken)) << "what is no UTF-8 is replaced";
}

TEST_F(AnswerText, WhatIsNoneIsRefused) {
    for (const char* text : {"", "{", "}", "{\"a\":1", "{\"a\":1}x", "nonsense", "\"", "\"\\", "[1,]"})
        EXPECT_TRUE(failed_with(read_answer(text), Code::kProtocol)) << text;
}

TEST_F(AnswerText, IsLimitedInDepthAndSize) {
    EXPECT_TRUE(ok(read_answer(nested(kMaxAnswerDepth, "[", "]"))));
    for (const auto& [open, close] : {std::pair("[", "]"), std::pair(R"({"a":)", "}")}) {
        EXPECT_TRUE(failed_with(read_answer(nested(kMaxAnswerDepth + 1, open, close)), Code::kLimit));
        EXPECT_TRUE(failed_with(read_answer(nested(1'000'000, open, "")), Code::kLimit));
    }
    EXPECT_TRUE(ok(read_answer(nested(2, "\"", "") + "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"}"))) << "a text";
    EXPECT_TRUE(failed_with(read_answer(std::string(kMaxAnswerBytes + 1, ' ')), Code::kLimit));
}

TEST_F(AnswerText, OthersRunWhileALongOneIsReadAndWritten) {
    Json list = Json::array();
    for (int i = 0; i < 20'000; ++i) list.push_back({{"number", i}, {"text", "some more of it"}});
    const Json answer = {{"list", std::move(list)}};
    const std::string text = base::to_text(answer);
    int others = 0;
    bool is_over = false;
    auto other = runtime::spawn("another", [&] {
        for (; !is_over && runtime::yield(); ++others) continue;
    });
    const auto read = read_answer(text);
    EXPECT_TRUE(ok(read));
    const int while_read = std::exchange(others, 0);
    EXPECT_GT(while_read, 3);
    EXPECT_EQ(write_answer(*read).value(), text);
    EXPECT_GT(others, 3);
    is_over = true;
    EXPECT_TRUE(ok(other.join(runtime::Deadline::in_ms(5'000))));

    base::Result<Json> cut = Json();
    auto cancelled = runtime::spawn("cancelled", [&] { cut = read_answer(text); });
    (void)runtime::yield();
    cancelled.cancel_and_join();
    EXPECT_TRUE(failed_with(cut, Code::kCancelled));
}

}  // namespace
}  // namespace service::api
