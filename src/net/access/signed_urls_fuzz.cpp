// Fuzzes the parameters of a signed URL. The first byte chooses: the input as it is, which must never be accepted, or
// signed by us for what the guard is to read from it, so that all behind the signature is reached. Then a change of
// what was signed, a time after its end or another address must be refused. A line end divides the parameters from the
// stream's name and the client's address.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "net/access/signed_urls.h"
#include "protocol/http/url.h"

namespace {

constexpr std::string_view kSecret = "a secret that no input knows";
constexpr int64_t kNow = 1'700'000'000;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
    const auto next = [&] {
        const std::string_view one = input.substr(0, input.find('\n'));
        input.remove_prefix(std::min(input.size(), one.size() + 1));
        return std::string(one);
    };
    config::VhostSignedUrls options;
    options.secret = {"an older one", std::string(kSecret)};
    net::Visitor visitor;
    visitor.param = next();
    visitor.vhost = "v", visitor.app = "live", visitor.stream = next(), visitor.ip = next();
    visitor.action = data[0] & 2 ? net::Action::kPublish : net::Action::kPlay;
    CHECK(!net::verify_signed_url(options, visitor, kNow));
    if ((data[0] & 1) == 0) return 0;

    const http::Parameters parameters =
        http::parse_query(std::string_view(visitor.param).substr(visitor.param.starts_with('?')));
    const std::string expires(http::find_parameter(parameters, "expires").value_or(""));
    const std::string ip(http::find_parameter(parameters, "ip").value_or(""));
    visitor.param = "?sign=" + net::sign_url(kSecret, visitor, expires, ip) + "&" +
                    visitor.param.substr(visitor.param.starts_with('?') ? 1 : 0);
    int64_t until = 0;
    const auto read = std::from_chars(expires.data(), expires.data() + expires.size(), until);
    const bool is_time = !expires.empty() && read.ec == std::errc() && read.ptr == expires.data() + expires.size();
    const bool accepted = net::verify_signed_url(options, visitor, kNow).has_value();
    CHECK(accepted == (is_time && until >= kNow && (ip.empty() || ip == visitor.ip)));
    if (!accepted) return 0;
    CHECK(until == INT64_MAX || !net::verify_signed_url(options, visitor, until + 1));
    net::Visitor other = visitor;
    other.stream += "x";
    CHECK(!net::verify_signed_url(options, other, kNow));
    other = visitor;
    other.action = visitor.action == net::Action::kPlay ? net::Action::kPublish : net::Action::kPlay;
    CHECK(!net::verify_signed_url(options, other, kNow));
    other = visitor;
    other.param[6] ^= 1;  // of the signature
    CHECK(!net::verify_signed_url(options, other, kNow));
    other = visitor;
    other.ip += "9";
    CHECK(ip.empty() || !net::verify_signed_url(options, other, kNow));
    return 0;
}
