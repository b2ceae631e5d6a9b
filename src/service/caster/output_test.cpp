#include "service/caster/output.h"

#include <gtest/gtest.h>

#include <vector>

namespace service::caster {
namespace {

struct OutputCase {
    std::string output;
    OutputNames names;
    std::string expected;  // "vhost app stream params", or the error's text
};

std::string shown(const base::Result<Output>& output) {
    if (!output) return output.error().text();
    return output->key.vhost + " " + output->key.app + " " + output->key.name + " " + output->params;
}

TEST(Output, NamesTheStream) {
    const OutputNames names{"live/a", "s", "v.example"};
    const std::string with_app = "rtmp://127.0.0.1/[app]/[stream]";
    const std::vector<OutputCase> cases = {
        {"rtmp://127.0.0.1/live/s", {}, "127.0.0.1 live s "},
        {"rtmp://127.0.0.1:1935/a/b/s?k=v", {}, "127.0.0.1 a/b s ?k=v"},
        {"rtmp://127.0.0.1/live/s?vhost=v&k=w", {}, "v live s ?k=w"},
        {"rtmp://[::1]/live/s", {}, "::1 live s "},
        {with_app, names, "127.0.0.1 live/a s "},
        {"rtmp://[vhost]/live/[stream]-hd", names, "v.example live s-hd "},
        {"rtmp://h/live/[stream]?vhost=[vhost]&k=[app]", names, "v.example live s ?k=live/a"},
        {with_app, {"[stream]", "[app]", "v"}, "127.0.0.1 [stream] [app] "},
        {"", {}, "output: the host is empty"},
        {"rtmp://127.0.0.1/live", {}, "output 'rtmp://127.0.0.1/live' names no stream"},
        {with_app, {}, "output: nothing is known of [app]"},
        {with_app, {"live", "", "v"}, "output: nothing is known of [stream]"},
        {"rtmp://127.0.0.1/live/[name]", names, "output: nothing is known of [name]"},
        {with_app, {"live", "s?vhost=other", "v"}, "the stream 's?vhost=other' has a forbidden character"},
        {with_app, {"live?vhost=other", "s", "v"}, "the app 'live?vhost=other' has a forbidden character"},
        {with_app, {"live", "s&k=v", "v"}, "the stream 's&k=v' has a forbidden character"},
        {with_app, {"live", "a/s", "v"}, "the stream 'a/s' has a forbidden character"},
        {with_app, {"live", "..", "v"}, "the stream '..' has '..' or '//'"},
        {with_app, {"../live", "s", "v"}, "the app '../live' has '..' or '//'"},
        {with_app, {"live", "s\n", "v"}, "the stream 's?' has a forbidden character"},
        {with_app, {"live", "s", "v/x/y"}, "the vhost 'v/x/y' has a forbidden character"},
        {with_app, {"live", std::string(257, 's'), "v"}, "the stream has 257 bytes, at most 256 are allowed"},
    };
    for (const OutputCase& one : cases)
        EXPECT_EQ(shown(parse_output(one.output, one.names)), one.expected) << one.output << " " << one.names.stream;
}

}  // namespace
}  // namespace service::caster
