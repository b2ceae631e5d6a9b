#pragma once
// The configuration of external tools: ff_log_dir, ff_log_level and max_tools; vhost/exec, vhost/transcode, and what
// an engine of vhost/ingest has for FFmpeg (the rest of that block: service/ingest.h).

#include <string>
#include <vector>

#include "config/section.h"

namespace service::tools {

struct ServerConfig {
    std::string ff_log_dir = "./objs";
    std::string ff_log_level = "info";
    int max_tools = 100;
};

struct ExecConfig {
    bool enabled = false;
    config::Commands publish{};
};

// An option that is passed on to FFmpeg: its name without '-', and its values.
using Option = std::vector<std::string>;
using Options = std::vector<Option>;

// What an engine lets FFmpeg do, but for its output.
struct Encoder {
    Options perfile{}, vfilter{}, vparams{}, aparams{};
    std::string iformat = "flv";
    std::string vcodec{};
    int vbitrate = 0;  // kbit/s
    double vfps = 0;
    int vwidth = 0, vheight = 0;
    int vthreads = 1;
    std::string vprofile{}, vpreset{};
    std::string acodec{};
    int abitrate = 0;      // kbit/s
    int asample_rate = 0;  // Hz
    int achannels = 0;
    std::string oformat = "flv";
};

// A block engine of a transcode.
struct Engine {
    std::string name{};
    bool enabled = false;
    std::string output{};
    Encoder encoder{};
    std::string text{};  // what differs from the defaults, for a reload
};

// A block transcode. Its name is the scope: none (the vhost), APP, or APP/STREAM.
struct Transcode {
    std::string scope{};
    bool enabled = false;
    std::string ffmpeg{};
    bool ladder = true;
    double keyframe_interval = 2;  // s
    std::vector<Engine> engines{};
    std::string text{};
    config::Location location{};
};

struct VhostTranscodes {
    Transcode draft{};
    Engine draft_engine{};
    std::vector<Transcode> all{};
};

// What a block says, or ffmpeg of PATH.
std::string ffmpeg_of(const std::string& directive);

config::Section section();

}  // namespace service::tools
