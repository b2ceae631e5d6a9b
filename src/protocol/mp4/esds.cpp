#include "protocol/mp4/esds.h"

#include "base/bytes.h"

namespace mp4 {

using base::Code;
using base::fail;

namespace {

enum Tag : uint8_t { kEs = 3, kDecoderConfig = 4, kSpecificInfo = 5 };

// Reads the size of a descriptor: seven bits a byte (8.3.3).
size_t descriptor_size(base::ByteReader& r) {
    size_t size = 0;
    for (int i = 0; i < 4; ++i) {
        uint8_t byte = r.u8();
        size = size << 7 | (byte & 0x7f);
        if (!(byte & 0x80)) break;
    }
    return size;
}

void skip_es_fields(base::ByteReader& r) {
    r.skip(2);
    uint8_t flags = r.u8();
    if (flags & 0x80) r.skip(2);       // depends on another stream
    if (flags & 0x40) r.skip(r.u8());  // URL
    if (flags & 0x20) r.skip(2);       // OCR stream
}

}  // namespace

base::Result<Esds> parse_esds(std::span<const uint8_t> payload) {
    base::ByteReader r(payload);
    Esds out;
    r.skip(4);
    while (r.left()) {
        uint8_t tag = r.u8();
        size_t size = descriptor_size(r);
        if (tag == kEs) {
            skip_es_fields(r);
        } else if (tag == kDecoderConfig) {
            out.object_type = r.u8();
            r.skip(12);
        } else if (tag == kSpecificInfo) {
            out.specific_info = r.bytes(size);
        } else {
            r.skip(size);
        }
    }
    if (!r.ok() || out.object_type == 0) return fail(Code::kProtocol, "MP4: an esds box that cannot be read");
    return out;
}

}  // namespace mp4
