#pragma once
// Internal. The two decoder classes and the budget they share: an AMF0 value may contain AMF3 values.

#include <string>
#include <string_view>
#include <vector>

#include "protocol/amf/amf0.h"
#include "protocol/amf/amf3.h"

namespace amf {

// What a decoder may still build before the Limits are exceeded. Exceeding them is an error.
class Budget {
  public:
    explicit Budget(const Limits& limits) : depth_(limits.depth), values_(limits.values), text_(limits.text) {}

    base::Result<void> enter();
    void leave() { ++depth_; }
    base::Result<void> spend_value();
    base::Result<void> spend_text(size_t bytes);

  private:
    int depth_;
    uint32_t values_;
    uint32_t text_;
};

// The error of a message that ends too early. format: "AMF0" or "AMF3". Example: "AMF0: a string runs past the end of
// the message".
std::unexpected<base::Error> truncated(std::string_view format, std::string_view what);
base::Result<std::string> take_text(base::ByteReader& reader, Budget& budget, std::string_view format, size_t bytes);

class Amf0Decoder {
  public:
    Amf0Decoder(base::ByteReader& reader, Budget& budget) : reader_(reader), budget_(budget) {}
    base::Result<Value> value();

  private:
    base::Result<Value> scalar(uint8_t marker);
    base::Result<Value> named(Value object);
    base::Result<Value> strict_array();
    base::Result<std::string> text(size_t size);

    base::ByteReader& reader_;
    Budget& budget_;
};

class Amf3Decoder {
  public:
    Amf3Decoder(base::ByteReader& reader, Budget& budget) : reader_(reader), budget_(budget) {}
    base::Result<Value> value();

  private:
    struct Traits {
        std::string class_name;
        bool dynamic = false;
        std::vector<std::string> names;
    };
    // The target of an object reference. A composite is pointed to: its address is stable even when its Value moves.
    // Other types are stored as copies. An entry without either is an object that is still being read.
    struct Referent {
        Type type = Type::kNull;
        const Value::Composite* composite = nullptr;
        Value copy;
    };

    uint32_t u29();
    base::Result<Value> composite(uint8_t marker);
    base::Result<Value> date();
    base::Result<Value> bytes(uint8_t marker, uint32_t header);
    base::Result<Value> array(uint32_t header);
    base::Result<Value> object(uint32_t header);
    base::Result<size_t> traits(uint32_t header);
    base::Result<Value> reference(size_t index);
    base::Result<Value> copy_of(Type type, const Value::Composite& from);
    base::Result<Value> copy_of(const Value& from);
    base::Result<std::string> string();
    base::Result<std::string> text(size_t size);
    void complete(size_t slot, const Value& value);

    base::ByteReader& reader_;
    Budget& budget_;
    std::vector<std::string> strings_;
    std::vector<Referent> referents_;
    std::vector<Traits> traits_;
};

}  // namespace amf
