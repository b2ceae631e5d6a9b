#include "service/api/shape.h"

#include "base/json.h"

namespace service::api {

namespace {

class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) {}

    // Parses fields up to `close`, or to the end if that is 0.
    Json fields(char close) {
        Json properties = Json::object(), required = Json::array();
        for (skip(); !at_end() && peek() != close; skip()) {
            const std::string name(word());
            if (!take('?')) required.push_back(name);
            properties[name] = value();
        }
        if (close) CHECK(take(close));
        Json out = {{"type", "object"}, {"properties", std::move(properties)}};
        if (!required.empty()) out["required"] = std::move(required);
        return out;
    }

  private:
    Json value() {
        Json out = one();
        if (!take('|')) return out;
        CHECK(word() == "null");
        return {{"anyOf", {std::move(out), {{"type", "null"}}}}};
    }

    Json one() {
        if (take(':')) return type(word());
        if (take('@')) return {{"$ref", "#/components/schemas/" + std::string(word())}};
        if (take('{')) return fields('}');
        CHECK(take('['));
        if (peek() != ':' && peek() != '@') return {{"type", "array"}, {"items", fields(']')}};
        Json items = one();
        CHECK(take(']'));
        return {{"type", "array"}, {"items", std::move(items)}};
    }

    static Json type(std::string_view name) {
        if (name == "int") return {{"type", "integer"}};
        if (name == "num") return {{"type", "number"}};
        if (name == "str") return {{"type", "string"}};
        if (name == "bool") return {{"type", "boolean"}};
        CHECK(name == "any");
        return Json::object();
    }

    std::string_view word() {
        size_t end = 0;
        auto is_name = [](char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; };
        while (end < text_.size() && is_name(text_[end])) ++end;
        CHECK(end > 0);
        std::string_view out = text_.substr(0, end);
        text_.remove_prefix(end);
        return out;
    }
    bool take(char c) {
        if (at_end() || peek() != c) return false;
        text_.remove_prefix(1);
        return true;
    }
    void skip() {
        while (take(' ')) {
        }
    }
    bool at_end() const { return text_.empty(); }
    char peek() const { return text_.empty() ? '\0' : text_[0]; }

    std::string_view text_;
};

}  // namespace

Json schema_of(std::string_view shape) { return Reader(shape).fields('\0'); }

}  // namespace service::api
