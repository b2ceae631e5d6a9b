// Arbitrary URLs: what is resolved has names that a stream can have, and the URL that is made of it is resolved as the
// same stream, without the parameters of the first.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/stream_name.h"
#include "config/load.h"
#include "config/section.h"
#include "server/sections_testing.h"
#include "server/why/target.h"

namespace {

config::SnapshotPtr fuzzed_snapshot() {
    static const config::SnapshotPtr kSnapshot = [] {
        CHECK(server::kSectionsAdded);
        config::LoadInput input;
        input.path = "t.conf";
        input.read = [](const std::string&) {
            return std::string(
                "listen 1935; vhost __defaultVhost__ { http_remux { enabled on; } hls { enabled on; } dash { enabled "
                "on; } }\nvhost a.com { http_remux { enabled on; mount a.com/x/[app]/[stream].flv; } }\n");
        };
        return config::load(input).snapshot;
    }();
    return kSnapshot;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto snapshot = fuzzed_snapshot();
    CHECK(snapshot != nullptr);
    const auto target = server::why::resolve(text, false, *snapshot);
    if (!target) {
        CHECK(!target.error().text().empty());
        return 0;
    }
    CHECK(base::check_name("stream", target->stream) && !target->host.empty());
    CHECK(!server::why::name_of(*target).empty());
    const std::string made = server::why::url_of(*target, *snapshot);
    if (made.empty()) return 0;
    const auto again = server::why::resolve(made, target->action == net::Action::kPublish, *snapshot);
    CHECK(again && again->stream == target->stream && again->app == target->app);
    CHECK(again->user.empty() && again->password.empty());
    return 0;
}
