#include "protocol/rtmp/chunk_writer.h"

#include <algorithm>
#include <cstring>

namespace rtmp {

namespace {

uint8_t* put_basic_header(uint8_t* p, int format, uint32_t csid) {
    auto top = static_cast<uint8_t>(format << 6);
    if (csid < 64) {
        *p++ = static_cast<uint8_t>(top | csid);
    } else if (csid < 320) {
        *p++ = top;
        *p++ = static_cast<uint8_t>(csid - 64);
    } else {
        *p++ = static_cast<uint8_t>(top | 1);
        *p++ = static_cast<uint8_t>(csid - 64);
        *p++ = static_cast<uint8_t>((csid - 64) >> 8);
    }
    return p;
}

}  // namespace

uint8_t* write_chunks(uint8_t* out, uint32_t csid, uint8_t type, uint32_t stream_id, uint32_t timestamp,
                      std::span<const uint8_t> header, std::span<const uint8_t> body, uint32_t chunk_size) {
    bool extended = timestamp >= 0xffffff;
    size_t length = header.size() + body.size();
    out = put_basic_header(out, 0, csid);
    out = base::put_u24(out, extended ? 0xffffff : timestamp);
    out = base::put_u24(out, static_cast<uint32_t>(length));
    *out++ = type;
    out = base::put_u32le(out, stream_id);
    if (extended) out = base::put_u32(out, timestamp);

    size_t room = chunk_size;  // in the current chunk
    for (std::span<const uint8_t> part : {header, body}) {
        while (!part.empty()) {
            if (room == 0) {
                out = put_basic_header(out, 3, csid);
                if (extended) out = base::put_u32(out, timestamp);
                room = chunk_size;
            }
            size_t n = std::min(room, part.size());
            std::memcpy(out, part.data(), n);
            out += n;
            room -= n;
            part = part.subspan(n);
        }
    }
    return out;
}

void append_message(std::vector<uint8_t>& out, uint32_t csid, uint8_t type, uint32_t stream_id, uint32_t timestamp,
                    std::span<const uint8_t> payload, uint32_t chunk_size) {
    size_t at = out.size();
    out.resize(at + chunked_size(payload.size(), chunk_size, timestamp, csid));
    write_chunks(out.data() + at, csid, type, stream_id, timestamp, {}, payload, chunk_size);
}

}  // namespace rtmp
