#include "protocol/amf/value.h"

#include <cmath>

#include "base/result.h"

namespace amf {

namespace {
const Value kNullValue;
const std::vector<Member> kNoMembers;
const std::vector<Value> kNoElements;
}  // namespace

Value::Value(Type type) : type_(type), data_(std::make_unique<Composite>()) {}

Value::Value(Type type, std::string text) : type_(type), data_(std::move(text)) {}

Value::Value(const Value& other) : type_(other.type_) {
    if (const Composite* from = other.composite()) {
        data_ = std::make_unique<Composite>(*from);
    } else if (auto* text = std::get_if<std::string>(&other.data_)) {
        data_ = *text;
    } else if (auto* number = std::get_if<double>(&other.data_)) {
        data_ = *number;
    } else if (auto* boolean = std::get_if<bool>(&other.data_)) {
        data_ = *boolean;
    }
}

Value::~Value() = default;

Value Value::undefined() {
    Value v;
    v.type_ = Type::kUndefined;
    return v;
}

Value Value::date(double ms_since_1970) {
    Value v(ms_since_1970);
    v.type_ = Type::kDate;
    return v;
}

Value Value::xml(std::string text) { return Value(Type::kXml, std::move(text)); }

Value Value::byte_array(std::string bytes) { return Value(Type::kByteArray, std::move(bytes)); }

Value Value::object(std::initializer_list<Member> members) {
    Value v(Type::kObject);
    v.composite()->members = members;
    return v;
}

Value Value::ecma_array(std::initializer_list<Member> members) {
    Value v(Type::kEcmaArray);
    v.composite()->members = members;
    return v;
}

Value Value::strict_array(std::vector<Value> elements) {
    Value v(Type::kStrictArray);
    v.composite()->elements = std::move(elements);
    return v;
}

const Value::Composite* Value::composite() const {
    auto* p = std::get_if<std::unique_ptr<Composite>>(&data_);
    return p ? p->get() : nullptr;
}

Value::Composite* Value::composite() {
    auto* p = std::get_if<std::unique_ptr<Composite>>(&data_);
    return p ? p->get() : nullptr;
}

std::string_view Value::string_or(std::string_view otherwise) const {
    auto* text = std::get_if<std::string>(&data_);
    return text ? std::string_view(*text) : otherwise;
}

double Value::number_or(double otherwise) const {
    auto* number = std::get_if<double>(&data_);
    return number ? *number : otherwise;
}

bool Value::bool_or(bool otherwise) const {
    if (auto* boolean = std::get_if<bool>(&data_)) return *boolean;
    return type_ == Type::kNumber ? number_or(0) != 0 : otherwise;
}

int64_t Value::int_or(int64_t otherwise, int64_t low, int64_t high) const {
    auto* number = std::get_if<double>(&data_);
    if (!number || std::isnan(*number)) return otherwise;
    if (*number <= static_cast<double>(low)) return low;
    if (*number >= static_cast<double>(high)) return high;
    return static_cast<int64_t>(*number);
}

const Value& Value::get(std::string_view name) const {
    for (const Member& m : members()) {
        if (m.name == name) return m.value;
    }
    return kNullValue;
}

bool Value::has(std::string_view name) const {
    for (const Member& m : members()) {
        if (m.name == name) return true;
    }
    return false;
}

void Value::set(std::string_view name, Value value) {
    CHECK(is_object());
    for (Member& m : composite()->members) {
        if (m.name == name) {
            m.value = std::move(value);
            return;
        }
    }
    append_member(std::string(name), std::move(value));
}

const std::vector<Member>& Value::members() const { return is_object() ? composite()->members : kNoMembers; }

const std::vector<Value>& Value::elements() const { return is_strict_array() ? composite()->elements : kNoElements; }

std::string_view Value::class_name() const {
    return type_ == Type::kObject ? std::string_view(composite()->class_name) : std::string_view();
}

void Value::append_member(std::string name, Value value) {
    CHECK(is_object());
    composite()->members.push_back({std::move(name), std::move(value)});
}

void Value::append_element(Value value) {
    CHECK(is_strict_array());
    composite()->elements.push_back(std::move(value));
}

void Value::set_class_name(std::string name) {
    CHECK(type_ == Type::kObject);
    composite()->class_name = std::move(name);
}

bool operator==(const Value& a, const Value& b) {
    if (a.type_ != b.type_) return false;
    auto* x = a.composite();
    auto* y = b.composite();
    if (x && y) return x->class_name == y->class_name && x->members == y->members && x->elements == y->elements;
    return a.data_ == b.data_;
}

}  // namespace amf
