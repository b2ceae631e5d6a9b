#include "protocol/rtp/packet.h"

#include <cstring>

namespace rtp {

namespace {

bool is_two_byte(uint16_t profile) { return (profile & 0xfff0) == kTwoByteProfile; }

bool fits_one_byte(const Extension& e) { return e.id <= 14 && !e.data.empty() && e.data.size() <= 16; }

struct Form {
    bool two_byte = false;
    size_t size = 0;  // of the block with its padding, without its header of four bytes; SIZE_MAX: not possible
};

Form form_of(std::span<const Extension> extensions) {
    Form form;
    for (const Extension& e : extensions) {
        if (e.id == 0 || e.data.size() > 255) return {false, SIZE_MAX};
        if (!fits_one_byte(e)) form.two_byte = true;
    }
    for (const Extension& e : extensions) form.size += e.data.size() + (form.two_byte ? 2 : 1);
    form.size = (form.size + 3) & ~size_t{3};
    if (form.size > kMaxHeaderSize - kFixedHeaderSize - 4) form.size = SIZE_MAX;
    return form;
}

uint8_t* put_elements(uint8_t* p, bool two_byte, std::span<const Extension> extensions) {
    for (const Extension& e : extensions) {
        if (two_byte) {
            *p++ = e.id;
            *p++ = static_cast<uint8_t>(e.data.size());
        } else {
            *p++ = static_cast<uint8_t>(e.id << 4 | (e.data.size() - 1));
        }
        if (!e.data.empty()) std::memcpy(p, e.data.data(), e.data.size());
        p += e.data.size();
    }
    return p;
}

}  // namespace

ExtensionReader::ExtensionReader(uint16_t profile, std::span<const uint8_t> block)
    : in_(profile == kOneByteProfile || is_two_byte(profile) ? block : std::span<const uint8_t>()),
      two_byte_(is_two_byte(profile)) {}

std::optional<Extension> ExtensionReader::next() {
    while (in_.left() > 0) {
        uint8_t first = in_.u8();
        if (first == 0) continue;  // padding
        Extension e;
        size_t size;
        if (two_byte_) {
            e.id = first;
            size = in_.u8();
        } else {
            e.id = first >> 4;
            size = (first & 15u) + 1;
            if (e.id == 15 || e.id == 0) break;
        }
        e.data = in_.bytes(size);
        if (!in_.ok()) break;
        return e;
    }
    in_.skip(in_.left());
    return std::nullopt;
}

size_t header_size(std::span<const uint8_t> datagram) {
    if (datagram.size() < kFixedHeaderSize || datagram[0] >> 6 != 2) return 0;
    size_t size = kFixedHeaderSize + 4 * (datagram[0] & 15u);
    if (datagram[0] & 0x10) {
        if (datagram.size() < size + 4) return 0;
        size += 4 + 4 * size_t{get_u16(&datagram[size + 2])};
    }
    return size <= datagram.size() ? size : 0;
}

std::optional<PacketView> PacketView::parse(std::span<const uint8_t> datagram) {
    PacketView view;
    view.header_size_ = rtp::header_size(datagram);
    if (view.header_size_ == 0) return std::nullopt;
    const uint8_t* p = datagram.data();
    view.datagram_ = datagram;
    view.header_ = {(p[1] & 0x80) != 0, static_cast<uint8_t>(p[1] & 0x7f), get_u16(p + 2), get_u32(p + 4),
                    get_u32(p + 8)};
    if (p[0] & 0x10) {
        size_t at = kFixedHeaderSize + 4 * view.csrc_count();
        view.extension_profile_ = get_u16(p + at);
        view.extension_ = datagram.subspan(at + 4, view.header_size_ - at - 4);
    }
    if (p[0] & 0x20) {
        view.padding_ = datagram.back();
        if (view.padding_ == 0 || view.padding_ > datagram.size() - view.header_size_) return std::nullopt;
    }
    return view;
}

std::optional<std::span<const uint8_t>> PacketView::extension(uint8_t id) const {
    ExtensionReader reader = extensions();
    while (auto e = reader.next()) {
        if (e->id == id) return e->data;
    }
    return std::nullopt;
}

size_t written_header_size(std::span<const Extension> extensions) {
    if (extensions.empty()) return kFixedHeaderSize;
    size_t size = form_of(extensions).size;
    return size == SIZE_MAX ? 0 : kFixedHeaderSize + 4 + size;
}

size_t write_header(uint8_t* out, const Header& header, std::span<const Extension> extensions) {
    Form form = form_of(extensions);
    if (form.size == SIZE_MAX) return 0;
    out[0] = extensions.empty() ? 0x80 : 0x90;
    out[1] = static_cast<uint8_t>((header.marker ? 0x80 : 0) | (header.payload_type & 0x7f));
    uint8_t* p = base::put_u16(out + 2, header.sequence);
    p = base::put_u32(base::put_u32(p, header.timestamp), header.ssrc);
    if (extensions.empty()) return kFixedHeaderSize;
    p = base::put_u16(p, form.two_byte ? kTwoByteProfile : kOneByteProfile);
    p = base::put_u16(p, static_cast<uint32_t>(form.size / 4));
    uint8_t* end = p + form.size;
    p = put_elements(p, form.two_byte, extensions);
    while (p < end) *p++ = 0;
    return static_cast<size_t>(end - out);
}

}  // namespace rtp
