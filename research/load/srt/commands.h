#pragma once
// SRT for the load tool: one function per command, as in load/commands.h.

#include "load/commands.h"

namespace load::srt {

struct SrtOptions : load::CommonOptions {
    int latency_ms = 120;  // asked for, both ways
};

struct SrtPlayOptions : SrtOptions {
    uint32_t streams = 0;    // {i} of the URL counts up to here and begins again; 0: never
    std::string passphrase;  // empty: no encryption
    double loss = 0;         // percent of the data packets that come are lost, repairs too
};

struct SrtPublishOptions : SrtOptions {
    std::string ts_file;
};

int srt_play(const SrtPlayOptions& options);
int srt_publish(const SrtPublishOptions& options);

}  // namespace load::srt
