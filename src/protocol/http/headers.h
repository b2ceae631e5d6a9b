#pragma once
// Header fields of an HTTP message (RFC 9110, section 5): in order of arrival, names compared without regard to case.
// The caller that adds fields limits their number.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace http {

// ASCII only, as tokens of HTTP are.
bool equal_ignoring_case(std::string_view a, std::string_view b);
// The text without spaces and tabs at both ends.
std::string_view trim(std::string_view text);
// Whether a comma-separated list (Connection, Upgrade ...) contains the token, without regard to case.
bool list_has(std::string_view list, std::string_view token);

class Headers {
  public:
    void add(std::string name, std::string value);
    // Replaces every field of that name.
    void set(std::string_view name, std::string value);
    // Removes spaces around the values.
    void trim_values();
    void clear() { fields_.clear(); }
    size_t size() const { return fields_.size(); }
    bool empty() const { return fields_.empty(); }

    // The first field of that name.
    std::optional<std::string_view> find(std::string_view name) const;
    // The same; empty when the field is absent.
    std::string_view get(std::string_view name) const { return find(name).value_or(std::string_view()); }
    size_t count(std::string_view name) const;
    // Whether any field of that name, read as a list, contains the token.
    bool has_token(std::string_view name, std::string_view token) const;

    auto begin() const { return fields_.begin(); }
    auto end() const { return fields_.end(); }
    std::pair<std::string, std::string>& back() { return fields_.back(); }

  private:
    static constexpr size_t kUsual = 8;  // most messages have no more fields
    std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace http
