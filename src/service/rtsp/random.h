#pragma once
// Random numbers for identifiers, nonces and RTP: not to be guessed.

#include <cstddef>
#include <cstdint>
#include <string>

namespace service::rtsp {

uint32_t random_u32();
// This many bytes, as twice as many hexadecimal digits.
std::string random_hex(size_t bytes);

}  // namespace service::rtsp
