// Arbitrary stream ids: what is accepted has names that the house allows, and is understood the same in the standard's
// form.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/stream_name.h"
#include "protocol/srt/stream_id.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto id = srt::parse_stream_id(text, {});
    if (!id) {
        CHECK(!id.error().text.empty());
        return 0;
    }
    CHECK(size <= srt::kMaxStreamId);
    CHECK(base::check_name("app", id->app) && base::check_name("stream", id->stream));
    CHECK(id->vhost.empty() || base::check_name("vhost", id->vhost));
    CHECK(!id->stream.contains('/') && id->params.size() <= 2 * srt::kMaxStreamId);
    if ((id->app + id->stream + id->vhost).find_first_of(",?&") != std::string::npos) return 0;
    if (id->vhost.contains('/') || id->app.starts_with('/') || id->stream.contains('#')) return 0;
    std::string again = "#!::r=" + id->app + "/" + id->stream + ",h=" + id->vhost;
    again += id->mode == srt::StreamMode::kPublish ? ",m=publish" : ",m=request";
    if (again.size() > srt::kMaxStreamId) return 0;
    const auto second = srt::parse_stream_id(again, {});
    CHECK(second && second->app == id->app && second->stream == id->stream && second->vhost == id->vhost);
    CHECK(second->mode == id->mode);
    return 0;
}
