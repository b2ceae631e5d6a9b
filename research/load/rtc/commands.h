#pragma once
// WebRTC for the load tool: one function per command, as in load/commands.h.

#include "load/commands.h"

namespace load::rtc {

struct WhepOptions : load::CommonOptions {
    uint32_t streams = 0;  // {i} of the URL counts up to here and begins again; 0: never
    bool nack = false;     // offer it, and ask for what is missing
};

struct WhipOptions : load::CommonOptions {
    std::string flv_file;
};

// Players that come, get a packet, and end by turns: by DELETE, by DTLS's farewell, by saying nothing any more.
struct RtcChurnOptions : load::CommonOptions {
    uint32_t cycles = 5000;
    uint32_t concurrency = 20;
    std::string ends = "delete,farewell,silence";
};

int whep(const WhepOptions& options);
int whip(const WhipOptions& options);
int rtc_churn(const RtcChurnOptions& options);

}  // namespace load::rtc
