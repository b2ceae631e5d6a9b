#pragma once
// One value of the Action Message Format, version 0 or 3. Commands and data messages consist of such values. A value
// owns all its content; moving is cheap, copying is deep. Objects keep the order of their members. AMF3's integer is
// stored as a number. Nesting is bounded by the decoders, so destroying or copying a value never recurses deeply.

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace amf {

enum class Type : uint8_t {
    kNull,
    kUndefined,
    kBoolean,
    kNumber,
    kString,
    kDate,       // number_or() gives ms since 1970
    kXml,        // text as published, not parsed
    kByteArray,  // AMF3 only
    kObject,     // may have a class name
    kEcmaArray,  // named members, as onMetaData uses it
    kStrictArray,
};

struct Member;

class Value {
  public:
    Value();  // null
    Value(bool value);
    Value(double number);
    template <std::integral T>
    Value(T number) : Value(static_cast<double>(number)) {}
    Value(std::string text);
    Value(std::string_view text) : Value(std::string(text)) {}
    Value(const char* text) : Value(std::string(text)) {}
    Value(Value&& other) noexcept;
    Value& operator=(Value&& other) noexcept;
    Value(const Value& other);
    Value& operator=(const Value& other) { return *this = Value(other); }
    ~Value();

    static Value undefined();
    static Value date(double ms_since_1970);
    static Value xml(std::string text);
    static Value byte_array(std::string bytes);
    static Value object(std::initializer_list<Member> members = {});
    static Value ecma_array(std::initializer_list<Member> members = {});
    static Value strict_array(std::vector<Value> elements = {});

    Type type() const { return type_; }
    bool is_null_or_undefined() const { return type_ == Type::kNull || type_ == Type::kUndefined; }
    bool is_string() const { return type_ == Type::kString; }
    bool is_number() const { return type_ == Type::kNumber; }
    bool is_boolean() const { return type_ == Type::kBoolean; }
    // An object or an ECMA array: it has named members.
    bool is_object() const { return type_ == Type::kObject || type_ == Type::kEcmaArray; }
    bool is_strict_array() const { return type_ == Type::kStrictArray; }

    // The content, or the default when the value is of another type. The returned string is valid as long as this
    // value.
    std::string_view string_or(std::string_view otherwise) const;
    double number_or(double otherwise) const;  // number, date
    bool bool_or(bool otherwise) const;        // boolean; a number counts as true unless 0
    // The number clamped to [low, high], or the default when this is no number (or NaN).
    int64_t int_or(int64_t otherwise, int64_t low = INT32_MIN, int64_t high = UINT32_MAX) const;

    // The member of that name, or a null value. Linear search: objects of commands are small.
    const Value& get(std::string_view name) const;
    bool has(std::string_view name) const;
    // Replaces or appends. The value must be an object or ECMA array.
    void set(std::string_view name, Value value);
    // Members of an object or ECMA array; empty for others.
    const std::vector<Member>& members() const;
    // Elements of a strict array; empty for others.
    const std::vector<Value>& elements() const;
    std::string_view class_name() const;

    // For decoders: append without a search. The value must be of the matching type.
    void append_member(std::string name, Value value);
    void append_element(Value value);
    void set_class_name(std::string name);

    friend bool operator==(const Value& a, const Value& b);

  private:
    friend class Amf3Decoder;
    struct Composite;
    Value(Type type, std::string text);
    explicit Value(Type type);
    const Composite* composite() const;
    Composite* composite();

    Type type_ = Type::kNull;
    std::variant<std::monostate, bool, double, std::string, std::unique_ptr<Composite>> data_;
};

struct Member {
    std::string name;
    Value value;
    friend bool operator==(const Member&, const Member&) = default;
};

struct Value::Composite {
    std::string class_name;
    std::vector<Member> members;
    std::vector<Value> elements;
};

inline Value::Value() = default;
inline Value::Value(bool value) : type_(Type::kBoolean), data_(value) {}
inline Value::Value(double number) : type_(Type::kNumber), data_(number) {}
inline Value::Value(std::string text) : type_(Type::kString), data_(std::move(text)) {}
inline Value::Value(Value&& other) noexcept
    : type_(std::exchange(other.type_, Type::kNull)), data_(std::exchange(other.data_, std::monostate())) {}

inline Value& Value::operator=(Value&& other) noexcept {
    if (this == &other) return *this;
    type_ = std::exchange(other.type_, Type::kNull);
    data_ = std::exchange(other.data_, std::monostate());  // last: other may be a part of what this destroys
    return *this;
}

// What a decoder builds at most out of one peer's message. Values are counted over all of a decoder's calls.
struct Limits {
    int depth = 32;            // nesting of objects and arrays
    uint32_t values = 65536;   // members and elements, all levels together
    uint32_t text = 4u << 20;  // bytes of strings, names and byte arrays; AMF3 references are counted again
};

}  // namespace amf
