#include "protocol/amf/amf3.h"

#include <fmt/format.h>

#include "protocol/amf/decoder.h"

namespace amf {

using base::ByteReader;
using base::ByteWriter;
using base::Code;
using base::fail;
using base::Result;

namespace {

enum Amf3Marker : uint8_t {
    kAmf3Undefined = 0,
    kAmf3Null = 1,
    kAmf3False = 2,
    kAmf3True = 3,
    kAmf3Integer = 4,
    kAmf3Double = 5,
    kAmf3String = 6,
    kAmf3XmlDocument = 7,
    kAmf3Date = 8,
    kAmf3Array = 9,
    kAmf3Object = 10,
    kAmf3Xml = 11,
    kAmf3ByteArray = 12,
};

}  // namespace

// Section 1.3.1: seven bits a byte, the fourth byte has all eight.
uint32_t Amf3Decoder::u29() {
    uint32_t value = 0;
    for (int i = 0; i < 3; ++i) {
        uint8_t byte = reader_.u8();
        value = value << 7 | (byte & 0x7f);
        if (!(byte & 0x80)) return value;
    }
    return value << 8 | reader_.u8();
}

Result<std::string> Amf3Decoder::text(size_t size) { return take_text(reader_, budget_, "AMF3", size); }

Result<std::string> Amf3Decoder::string() {
    uint32_t header = u29();
    if (header & 1) {
        std::string s = TRY(text(header >> 1));
        if (!s.empty()) strings_.push_back(s);  // an empty string is never referenced
        return s;
    }
    if (!reader_.ok()) return truncated("AMF3", "a string");
    if (header >> 1 >= strings_.size()) {
        return fail(Code::kProtocol, fmt::format("AMF3: reference to string {} of {}", header >> 1, strings_.size()));
    }
    const std::string& s = strings_[header >> 1];
    TRY(budget_.spend_text(s.size()));
    return s;
}

Result<Value> Amf3Decoder::value() {
    TRY(budget_.spend_value());
    if (reader_.left() == 0) return truncated("AMF3", "a value");
    uint8_t marker = reader_.u8();
    switch (marker) {
        case kAmf3Undefined:
            return Value::undefined();
        case kAmf3Null:
            return Value();
        case kAmf3False:
            return Value(false);
        case kAmf3True:
            return Value(true);
        case kAmf3Integer: {
            Value number(static_cast<int32_t>(u29() << 3) >> 3);
            if (!reader_.ok()) return truncated("AMF3", "an integer");
            return number;
        }
        case kAmf3Double: {
            Value number(reader_.f64());
            if (!reader_.ok()) return truncated("AMF3", "a double");
            return number;
        }
        case kAmf3String:
            return Value(TRY(string()));
        default:
            return composite(marker);
    }
}

// The types that are entered into the table of objects.
Result<Value> Amf3Decoder::composite(uint8_t marker) {
    if (marker > kAmf3ByteArray) return fail(Code::kProtocol, fmt::format("AMF3: type {} is not supported", marker));
    uint32_t header = u29();
    if (!reader_.ok()) return truncated("AMF3", "a value");
    if (!(header & 1)) return reference(header >> 1);
    switch (marker) {
        case kAmf3Date:
            return date();
        case kAmf3Array:
            return array(header);
        case kAmf3Object:
            return object(header);
        default:
            return bytes(marker, header);
    }
}

Result<Value> Amf3Decoder::date() {
    Value v = Value::date(reader_.f64());
    if (!reader_.ok()) return truncated("AMF3", "a date");
    referents_.push_back({v.type(), nullptr, v});
    return v;
}

Result<Value> Amf3Decoder::bytes(uint8_t marker, uint32_t header) {
    std::string s = TRY(text(header >> 1));
    TRY(budget_.spend_text(s.size()));  // for the table's copy
    Value v = marker == kAmf3ByteArray ? Value::byte_array(std::move(s)) : Value::xml(std::move(s));
    referents_.push_back({v.type(), nullptr, v});
    return v;
}

// Named members first, up to an empty name, then the dense part. An array with names becomes an ECMA array, whose dense
// members are named by their index.
Result<Value> Amf3Decoder::array(uint32_t header) {
    TRY(budget_.enter());
    size_t slot = referents_.size();
    referents_.emplace_back();
    uint32_t count = header >> 1;
    if (count > reader_.left()) return truncated("AMF3", "an array");
    Value array = Value::ecma_array();
    for (;;) {
        std::string name = TRY(string());
        if (name.empty()) break;
        array.append_member(std::move(name), TRY(value()));
    }
    bool dense = array.members().empty();
    if (dense) array = Value::strict_array();
    for (uint32_t i = 0; i < count; ++i) {
        Value element = TRY(value());
        if (dense) {
            array.append_element(std::move(element));
        } else {
            array.append_member(std::to_string(i), std::move(element));
        }
    }
    budget_.leave();
    complete(slot, array);
    return array;
}

// U29O-traits (3.12): returns the index in the table of traits.
Result<size_t> Amf3Decoder::traits(uint32_t header) {
    if (!(header & 2)) {
        size_t index = header >> 2;
        if (index < traits_.size()) return index;
        return fail(Code::kProtocol, fmt::format("AMF3: reference to traits {} of {}", index, traits_.size()));
    }
    Traits traits;
    traits.class_name = TRY(string());
    if (header & 4) {
        return fail(Code::kProtocol, fmt::format("AMF3: externalizable class '{}'", traits.class_name.substr(0, 64)));
    }
    traits.dynamic = header & 8;
    uint32_t count = header >> 4;
    if (count > reader_.left()) return truncated("AMF3", "an object");
    for (uint32_t i = 0; i < count; ++i) {
        TRY(budget_.spend_value());
        traits.names.push_back(TRY(string()));
    }
    traits_.push_back(std::move(traits));
    return traits_.size() - 1;
}

Result<Value> Amf3Decoder::object(uint32_t header) {
    TRY(budget_.enter());
    size_t slot = referents_.size();
    referents_.emplace_back();
    size_t index = TRY(traits(header));
    Value object = Value::object();
    TRY(budget_.spend_text(traits_[index].class_name.size()));
    object.set_class_name(traits_[index].class_name);
    // Accessed by index: reading values may add traits and reallocate the table.
    for (size_t i = 0; i < traits_[index].names.size(); ++i) {
        TRY(budget_.spend_text(traits_[index].names[i].size()));
        std::string name = traits_[index].names[i];
        object.append_member(std::move(name), TRY(value()));
    }
    while (traits_[index].dynamic) {
        std::string name = TRY(string());
        if (name.empty()) break;
        object.append_member(std::move(name), TRY(value()));
    }
    budget_.leave();
    complete(slot, object);
    return object;
}

void Amf3Decoder::complete(size_t slot, const Value& value) {
    referents_[slot].type = value.type();
    referents_[slot].composite = value.composite();
}

Result<Value> Amf3Decoder::reference(size_t index) {
    if (index >= referents_.size()) {
        return fail(Code::kProtocol, fmt::format("AMF3: reference to object {} of {}", index, referents_.size()));
    }
    const Referent& referent = referents_[index];
    if (referent.composite) return copy_of(referent.type, *referent.composite);
    return copy_of(referent.copy);
}

// Copies count against the budget: references to references could otherwise grow the value without bound.
Result<Value> Amf3Decoder::copy_of(Type type, const Value::Composite& from) {
    TRY(budget_.enter());
    Value to(type);
    TRY(budget_.spend_text(from.class_name.size()));
    to.composite()->class_name = from.class_name;
    for (const Member& m : from.members) {
        TRY(budget_.spend_value());
        TRY(budget_.spend_text(m.name.size()));
        to.composite()->members.push_back({m.name, TRY(copy_of(m.value))});
    }
    for (const Value& element : from.elements) {
        TRY(budget_.spend_value());
        to.composite()->elements.push_back(TRY(copy_of(element)));
    }
    budget_.leave();
    return to;
}

Result<Value> Amf3Decoder::copy_of(const Value& from) {
    if (auto* composite = from.composite()) return copy_of(from.type(), *composite);
    TRY(budget_.spend_text(from.string_or({}).size()));
    return Value(from);
}

Result<Value> decode_amf3(ByteReader& reader, const Limits& limits) {
    Budget budget(limits);
    return Amf3Decoder(reader, budget).value();
}

namespace {

void put_u29(uint32_t value, ByteWriter& writer) {
    if (value < 0x80) return writer.u8(static_cast<uint8_t>(value));
    if (value < 0x4000) return writer.u16(static_cast<uint16_t>((value >> 7 | 0x80) << 8 | (value & 0x7f)));
    if (value < 0x200000) {
        return writer.u24((value >> 14 | 0x80) << 16 | ((value >> 7 & 0x7f) | 0x80) << 8 | (value & 0x7f));
    }
    writer.u24((value >> 22 | 0x80) << 16 | ((value >> 15 & 0x7f) | 0x80) << 8 | ((value >> 8 & 0x7f) | 0x80));
    writer.u8(static_cast<uint8_t>(value));
}

}  // namespace

// Never a reference. The format's maximum length is 2^28 - 1.
void put_amf3_byte_array(std::string_view bytes, ByteWriter& writer) {
    bytes = bytes.substr(0, 0xfffffff);
    writer.u8(kAmf3ByteArray);
    put_u29(static_cast<uint32_t>(bytes.size()) << 1 | 1, writer);
    writer.text(bytes);
}

}  // namespace amf
