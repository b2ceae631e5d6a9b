#pragma once
// Header fields of an HTTP message (RFC 9110, section 5): in order of arrival, names compared without case. It is
// bounded by whoever fills it.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace http {

// ASCII only, as HTTP's tokens are.
bool equal_ignoring_case(std::string_view a, std::string_view b);
// Without spaces and tabs on both sides.
std::string_view trim(std::string_view text);
// Whether a comma-separated list (Connection, Upgrade ...) has the token, without case.
bool list_has(std::string_view list, std::string_view token);

class Headers {
  public:
    void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
    // Replaces every field of that name.
    void set(std::string_view name, std::string value);
    // Spaces around values are no part of them.
    void trim_values();
    void clear() { fields_.clear(); }
    size_t size() const { return fields_.size(); }
    bool empty() const { return fields_.empty(); }

    // The first field of that name.
    std::optional<std::string_view> find(std::string_view name) const;
    // The same, empty when it is not there.
    std::string_view get(std::string_view name) const { return find(name).value_or(std::string_view()); }
    size_t count(std::string_view name) const;
    // Whether the token stands in any field of that name, each taken as a list.
    bool has_token(std::string_view name, std::string_view token) const;

    auto begin() const { return fields_.begin(); }
    auto end() const { return fields_.end(); }
    std::pair<std::string, std::string>& back() { return fields_.back(); }

  private:
    std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace http
