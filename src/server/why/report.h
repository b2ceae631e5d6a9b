#pragma once
// The result of an evaluation, as the API returns it and as the command prints it.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "server/why/evaluate.h"
#include "server/why/target.h"

namespace server::why {

// What came of playing for two seconds.
struct Played {
    std::string not_tried{};  // why it was not; empty: it was
    std::string error{};      // why nothing, or too little came; empty: it plays
    int64_t first_frame_ms = -1;
    uint64_t video_frames = 0, audio_frames = 0;
    uint64_t bytes = 0;
    int64_t took_ms = 0;
    std::string codecs{};
};

struct Diagnosis {
    std::string error{};       // of the URL; the rest is then empty
    bool is_left_out = false;  // by the build: the error
    std::optional<Target> target{};
    std::string vhost{};   // that serves it; empty: none does
    std::string source{};  // what the findings are based on: "the running server"
    Findings findings{};
    std::optional<Played> played{};
};

// The shape of the fields (service/api/shape.h).
inline constexpr std::string_view kShape =
    "verdict:str source:str target{protocol:str action:str vhost:str app:str stream:str}|null "
    "findings[check:str verdict:str text:str line:str where:str url:str advice:str] "
    "played{error:str not_tried:str first_frame_ms:int video_frames:int audio_frames:int kbps:int codecs:str}|null";
nlohmann::ordered_json to_json(const Diagnosis& diagnosis);

// For people: a line for each finding, below it what mends it, and a last line with the result. Of texts that are not
// such an answer: empty.
std::string report(const nlohmann::json& answer);
bool has_bad(const nlohmann::json& answer);

}  // namespace server::why
