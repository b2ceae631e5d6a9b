#include "net/sessions/session_type.h"

#include <array>

#include "base/result.h"

namespace net {

namespace {

struct TypeInfo {
    std::string_view name;
    bool publishes = false;
};

// In the order of the constants; added ones follow.
std::array<TypeInfo, SessionType::kMax> types{{{"unknown"},
                                               {"rtmp"},
                                               {"rtmp-play"},
                                               {"fmle-publish", true},
                                               {"flash-publish", true},
                                               {"haivision-publish", true},
                                               {"flv-play"},
                                               {"hls-play"},
                                               {"rtc-play"},
                                               {"rtc-publish", true},
                                               {"rtmp-forward"},
                                               {"http"}}};
size_t type_count = SessionType::kHttp.index() + 1;

}  // namespace

SessionType SessionType::add(std::string_view name, bool publishes) {
    CHECK(type_count < kMax);
    types[type_count] = {name, publishes};
    return at(type_count++);
}

size_t SessionType::count() { return type_count; }

SessionType SessionType::find(std::string_view name) {
    for (size_t i = 0; i < type_count; ++i)
        if (types[i].name == name) return at(i);
    return kNone;
}

std::string_view session_type_name(SessionType type) { return types[type.index()].name; }

bool publishes(SessionType type) { return types[type.index()].publishes; }

}  // namespace net
