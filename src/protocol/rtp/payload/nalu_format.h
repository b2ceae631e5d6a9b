#pragma once
// The differences between the payload formats of H.264 (RFC 6184) and HEVC (RFC 7798): both have the same three kinds
// of packet (a single NAL unit, several small ones, a fragment of one), with headers of one or two bytes.

#include <cstdint>
#include <span>

#include "media/codec.h"

namespace rtp {

struct NaluFormat {
    size_t header_size;  // bytes of a NAL unit's header, and of a payload's
    uint8_t aggregate;   // STAP-A, AP
    uint8_t fragment;    // FU-A, FU
    uint8_t max_single;  // types up to this one are plain NAL units
    uint8_t sps, pps, vps, sei_first, sei_last, aud;
    uint8_t first_random, last_random;  // slices of pictures where decoding can start
    uint8_t last_slice;

    size_t fragment_header_size() const { return header_size + 1; }
    uint8_t type(std::span<const uint8_t> nalu) const {
        if (nalu.size() < header_size) return 0xff;
        return header_size == 1 ? nalu[0] & 0x1f : nalu[0] >> 1 & 0x3f;
    }
    bool is_parameter_set(uint8_t t) const { return t == sps || t == pps || (vps && t == vps); }
    bool is_sei(uint8_t t) const { return t >= sei_first && t <= sei_last; }
    bool is_random(uint8_t t) const { return t >= first_random && t <= last_random; }
    bool is_slice(uint8_t t) const { return t <= last_slice && (header_size == 2 || t != 0); }
    // Delimiters, ends of sequence and stream, filler: not needed by a receiver of packets.
    bool is_needless(uint8_t t) const {
        return header_size == 1 ? t >= 9 && t <= 12 : t == 35 || t == 36 || t == 37 || t == 38;
    }
    // A slice that begins a picture: first_mb_in_slice is 0, first_slice_segment_in_pic_flag is 1. Both are coded in
    // the first bit after the header.
    bool begins_picture(std::span<const uint8_t> slice) const {
        return slice.size() > header_size && slice[header_size] & 0x80;
    }
};

inline constexpr NaluFormat kH264Format{1, 24, 28, 23, 7, 8, 0, 6, 6, 9, 5, 5, 5};
inline constexpr NaluFormat kHevcFormat{2, 48, 49, 47, 33, 34, 32, 39, 40, 35, 16, 21, 31};

}  // namespace rtp
