#pragma once
// What a player needs of an FLV file's beginning when it is given the file from a later byte on.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace flv {

struct Extent {
    size_t begin = 0, end = 0;  // bytes of the file
};

// The file's header, and the first sequence header of audio and of video among the tags that end at or before `start`.
// beginning: the first bytes of the file; sequence headers that are not whole in it are not found. In the order of the
// file. Empty where the file is no FLV.
std::vector<Extent> file_start(std::span<const uint8_t> beginning, uint64_t start);

}  // namespace flv
