#pragma once
// WebRTC for the load tool: one function per command, as in load/commands.h.

#include "load/commands.h"

namespace rtcload {

struct WhepOptions : load::CommonOptions {
    bool nack = false;  // offer it, and ask for what is missing
};

struct WhipOptions : load::CommonOptions {
    std::string flv_file;
};

int whep(const WhepOptions& options);
int whip(const WhipOptions& options);

}  // namespace rtcload
