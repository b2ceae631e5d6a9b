#include "protocol/rtsp/auth.h"

#include <gtest/gtest.h>

namespace rtsp {
namespace {

// The passwords of both RFCs differ by one letter.
const Credentials kMufasa{"Mufasa", "Circle Of Life"}, kLater{"Mufasa", "Circle of Life"};

std::vector<Challenge> of(std::initializer_list<const char*> fields) {
    http::Headers headers;
    for (const char* field : fields) headers.add("WWW-Authenticate", field);
    return parse_challenges(headers);
}

// RFC 2617, 3.5, and RFC 7616, 3.9.1.
TEST(RtspAuth, AnswersAreThoseOfTheRfcs) {
    auto old =
        of({"Digest realm=\"testrealm@host.com\", qop=\"auth,auth-int\", "
            "nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", opaque=\"5ccc069c403ebaf9f0171e9517f40e41\""});
    ASSERT_EQ(old.size(), 1u);
    const std::string first = answer(old[0], kMufasa, "GET", "/dir/index.html", "0a4f113b", 1);
    EXPECT_NE(first.find("response=\"6629fae49393a05397450978507c4ef1\""), std::string::npos) << first;
    auto both =
        of({"Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm=SHA-256, "
            "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFR"
            "tzCUYo5tdS\"",
            "Basic realm=\"x\""});
    ASSERT_EQ(both.size(), 2u);
    ASSERT_EQ(strongest(both), &both[0]);
    const std::string second =
        answer(both[0], kLater, "GET", "/dir/index.html", "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", 1);
    EXPECT_NE(second.find("response=\"753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1\""),
              std::string::npos)
        << second;
}

TEST(RtspAuth, ParsesOddChallenges) {
    // Digest and Basic in one field, a realm with a comma and an escape, no spaces, qop without quotes.
    auto list = of({"Digest realm=\"a, \\\"b\\\"\",nonce=\"n\",qop=auth,stale=TRUE, Basic realm=\"c\""});
    ASSERT_EQ(list.size(), 2u);
    EXPECT_EQ(list[0].realm, "a, \"b\"");
    EXPECT_TRUE(list[0].qop && list[0].stale && list[0].digest);
    EXPECT_FALSE(list[1].digest);
    EXPECT_EQ(list[1].realm, "c");
    EXPECT_TRUE(of({"Digest realm=\"a\""}).empty()) << "a Digest without a nonce cannot be answered";
    EXPECT_TRUE(of({"Digest realm=\"a\", nonce=\"b\", algorithm=MD5-sess"}).empty());
    EXPECT_TRUE(of({"Negotiate abc", "NTLM", ""}).empty());
    EXPECT_EQ(of({"Basic realm=\"unfinished"}).size(), 1u);
    EXPECT_EQ(strongest({}), nullptr);
}

const AuthOptions kOptions{.realm = "srv", .nonce = "0123456789abcdef"};

AuthResult ask(std::string_view authorization, AuthOptions options = kOptions) {
    return check(authorization, "DESCRIBE", "rtsp://h/live/s", options, {"ann", "secret"});
}

Challenge own_challenge() {
    http::Headers headers;
    for (auto& field : challenges(kOptions)) headers.add("WWW-Authenticate", field);
    return *strongest(parse_challenges(headers));
}

TEST(RtspAuth, AcceptsRightAnswers) {
    EXPECT_EQ(ask(answer(own_challenge(), {"ann", "secret"}, "DESCRIBE", "rtsp://h/live/s", "c", 1)),
              AuthResult::kAccepted);
    Challenge without_qop = own_challenge();
    without_qop.qop = false;
    EXPECT_EQ(ask(answer(without_qop, {"ann", "secret"}, "DESCRIBE", "rtsp://h/live/s", "", 1)), AuthResult::kAccepted);
    Challenge strong = own_challenge();
    strong.algorithm = Algorithm::kSha256;
    EXPECT_EQ(ask(answer(strong, {"ann", "secret"}, "DESCRIBE", "rtsp://h/live/s", "c", 1)), AuthResult::kAccepted);
    EXPECT_EQ(ask("basic YW5uOnNlY3JldA=="), AuthResult::kAccepted);
    // A track's request, signed with the stream's URL.
    EXPECT_EQ(check(answer(own_challenge(), {"ann", "secret"}, "SETUP", "rtsp://h/live/s/", "c", 1), "SETUP",
                    "rtsp://h/live/s/trackID=0", kOptions, {"ann", "secret"}),
              AuthResult::kAccepted);
}

TEST(RtspAuth, RefusesWrongAnswers) {
    const auto answered = [](const Credentials& credentials, std::string_view method, std::string_view url) {
        return ask(answer(own_challenge(), credentials, method, url, "c", 1));
    };
    EXPECT_EQ(answered({"ann", "wrong"}, "DESCRIBE", "rtsp://h/live/s"), AuthResult::kWrong);
    EXPECT_EQ(answered({"bob", "secret"}, "DESCRIBE", "rtsp://h/live/s"), AuthResult::kWrong);
    EXPECT_EQ(answered({"ann", "secret"}, "ANNOUNCE", "rtsp://h/live/s"), AuthResult::kWrong);
    EXPECT_EQ(answered({"ann", "secret"}, "DESCRIBE", "rtsp://h/live/other"), AuthResult::kMalformed);
    EXPECT_EQ(answered({"ann", "secret"}, "DESCRIBE", "rtsp://h/live/stream"), AuthResult::kMalformed);
    Challenge old = own_challenge();
    old.nonce = "of-before";
    EXPECT_EQ(ask(answer(old, {"ann", "secret"}, "DESCRIBE", "rtsp://h/live/s", "c", 1)), AuthResult::kStale);
    EXPECT_EQ(ask(""), AuthResult::kMissing);
    EXPECT_EQ(ask("Bearer x"), AuthResult::kMissing);
    EXPECT_EQ(ask("Basic YW5uOndyb25n"), AuthResult::kWrong);
    EXPECT_EQ(ask("Basic"), AuthResult::kWrong);
    EXPECT_EQ(ask("Digest"), AuthResult::kMalformed);
    EXPECT_EQ(ask("Digest uri=\"rtsp://h/live/s\", response=\"\", realm=\"srv\""), AuthResult::kMalformed);
    AuthOptions only_digest = kOptions;
    only_digest.basic = false;
    EXPECT_EQ(ask("Basic YW5uOnNlY3JldA==", only_digest), AuthResult::kMissing);
    EXPECT_EQ(challenges(only_digest).size(), 1u);
}

}  // namespace
}  // namespace rtsp
