#include "protocol/amf/amf0.h"

#include <fmt/format.h>

#include "protocol/amf/decoder.h"

namespace amf {

using base::ByteReader;
using base::ByteWriter;
using base::Code;
using base::fail;
using base::Result;

namespace {

enum Amf0Marker : uint8_t {
    kNumber = 0,
    kBoolean = 1,
    kString = 2,
    kObject = 3,
    kMovieClip = 4,
    kNull = 5,
    kUndefined = 6,
    kReference = 7,
    kEcmaArray = 8,
    kObjectEnd = 9,
    kStrictArray = 10,
    kDate = 11,
    kLongString = 12,
    kUnsupported = 13,
    kRecordSet = 14,
    kXml = 15,
    kTypedObject = 16,
    kAvmPlus = 17,
};

}  // namespace

Result<std::string> Amf0Decoder::text(size_t size) { return take_text(reader_, budget_, "AMF0", size); }

Result<Value> Amf0Decoder::scalar(uint8_t marker) {
    switch (marker) {
        case kNumber:
            return Value(reader_.f64());
        case kBoolean:
            return Value(reader_.u8() != 0);
        case kString:
            return Value(TRY(text(reader_.u16())));
        case kNull:
            return Value();
        case kUndefined:
        case kUnsupported:  // marks a value that could not be serialized; no data
            return Value::undefined();
        case kReference:
            reader_.skip(2);
            return Value();
        case kDate: {
            double ms = reader_.f64();
            reader_.skip(2);  // a time zone, reserved: always 0
            return Value::date(ms);
        }
        case kLongString:
            return Value(TRY(text(reader_.u32())));
        case kXml:
            return Value::xml(TRY(text(reader_.u32())));
        default:
            return fail(Code::kProtocol, fmt::format("AMF0: unknown type {}", marker));
    }
}

Result<Value> Amf0Decoder::value() {
    TRY(budget_.spend_value());
    if (reader_.left() == 0) return truncated("AMF0", "a value");
    uint8_t marker = reader_.u8();
    switch (marker) {
        case kObject:
            return named(Value::object());
        case kEcmaArray:
            reader_.skip(4);  // the number of members, a hint that is often wrong
            return named(Value::ecma_array());
        case kTypedObject: {
            Value object = Value::object();
            object.set_class_name(TRY(text(reader_.u16())));
            return named(std::move(object));
        }
        case kStrictArray:
            return strict_array();
        case kAvmPlus:
            return Amf3Decoder(reader_, budget_).value();
        default: {
            auto result = scalar(marker);
            if (result && !reader_.ok()) return truncated("AMF0", "a value");
            return result;
        }
    }
}

// Reads members up to the end marker. Some writers omit the marker after an ECMA array that ends the message.
Result<Value> Amf0Decoder::named(Value object) {
    TRY(budget_.enter());
    for (;;) {
        if (reader_.left() == 0 && reader_.ok() && object.type() == Type::kEcmaArray) break;
        if (reader_.left() < 3) return truncated("AMF0", "an object");
        uint16_t size = reader_.u16();
        if (size == 0 && reader_.rest()[0] == kObjectEnd) {
            reader_.skip(1);
            break;
        }
        std::string name = TRY(text(size));
        object.append_member(std::move(name), TRY(value()));
    }
    budget_.leave();
    return object;
}

Result<Value> Amf0Decoder::strict_array() {
    uint32_t count = reader_.u32();
    // An element takes at least one byte, its marker. Checked first, so that a forged count cannot cause allocations.
    if (!reader_.ok() || count > reader_.left()) return truncated("AMF0", "an array");
    TRY(budget_.enter());
    Value array = Value::strict_array();
    for (uint32_t i = 0; i < count; ++i) array.append_element(TRY(value()));
    budget_.leave();
    return array;
}

Result<Value> decode_amf0(ByteReader& reader, const Limits& limits) {
    Budget budget(limits);
    return Amf0Decoder(reader, budget).value();
}

Result<std::vector<Value>> decode_amf0_all(ByteReader& reader, const Limits& limits) {
    Budget budget(limits);
    Amf0Decoder decoder(reader, budget);
    std::vector<Value> values;
    while (reader.left() > 0) values.push_back(TRY(decoder.value()));
    return values;
}

namespace {

void put_name(std::string_view name, ByteWriter& writer) {
    name = name.substr(0, 0xffff);
    writer.u16(static_cast<uint16_t>(name.size()));
    writer.text(name);
}

void put_long(uint8_t marker, std::string_view text, ByteWriter& writer) {
    writer.u8(marker);
    writer.u32(static_cast<uint32_t>(text.size()));
    writer.text(text);
}

void put_string(std::string_view text, ByteWriter& writer) {
    if (text.size() > 0xffff) return put_long(kLongString, text, writer);
    writer.u8(kString);
    put_name(text, writer);
}

void put_named(const Value& value, ByteWriter& writer) {
    if (value.type() == Type::kEcmaArray) {
        writer.u8(kEcmaArray);
        writer.u32(static_cast<uint32_t>(value.members().size()));
    } else if (!value.class_name().empty()) {
        writer.u8(kTypedObject);
        put_name(value.class_name(), writer);
    } else {
        writer.u8(kObject);
    }
    for (const Member& m : value.members()) {
        put_name(m.name, writer);
        encode_amf0(m.value, writer);
    }
    writer.u24(kObjectEnd);
}

}  // namespace

void encode_amf0(const Value& value, ByteWriter& writer) {
    switch (value.type()) {
        case Type::kNull:
            return writer.u8(kNull);
        case Type::kUndefined:
            return writer.u8(kUndefined);
        case Type::kBoolean:
            writer.u8(kBoolean);
            return writer.u8(value.bool_or(false));
        case Type::kNumber:
            writer.u8(kNumber);
            return writer.f64(value.number_or(0));
        case Type::kDate:
            writer.u8(kDate);
            writer.f64(value.number_or(0));
            return writer.u16(0);
        case Type::kString:
            return put_string(value.string_or({}), writer);
        case Type::kXml:
            return put_long(kXml, value.string_or({}), writer);
        case Type::kByteArray:
            writer.u8(kAvmPlus);
            return put_amf3_byte_array(value.string_or({}), writer);
        case Type::kObject:
        case Type::kEcmaArray:
            return put_named(value, writer);
        case Type::kStrictArray:
            writer.u8(kStrictArray);
            writer.u32(static_cast<uint32_t>(value.elements().size()));
            for (const Value& element : value.elements()) encode_amf0(element, writer);
            return;
    }
}

}  // namespace amf
