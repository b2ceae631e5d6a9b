#pragma once
// The functions that rows_*.cpp and services use: row(scope, name, member, default, limits, apply, doc). A scope is a
// path and a function that finds its struct from the root, so that a row is bound by a pointer to member and needs no
// code.

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "config/directive.h"

namespace config {

// The maximum for RTMP chunks: a message is not longer.
inline constexpr double kMaxChunkSize = 16 * 1024 * 1024 - 1;

// Finds a scope's struct; both members are the scope's one function with its types erased.
struct Finder {
    void* (*of)(const Root& root);
    const void* (*const_of)(const ConstRoot& root);
};

template <class Find>
struct Scope {
    std::string_view path;
    Find find;  // [](const auto& root) -> decltype(auto) { return (root.vhost->play); }, without captures

    static constexpr Finder finder() {
        return {[](const Root& root) -> void* { return &Find{}(root); },
                [](const ConstRoot& root) -> const void* { return &Find{}(root); }};
    }
};
template <class Find>
Scope(const char*, Find) -> Scope<Find>;

// The finders of a service's own struct (section_values.h), of the server's configuration and of a vhost's.
template <class T>
inline constexpr auto kOfServer = [](const auto& root) -> decltype(auto) { return (root.snapshot->template get<T>()); };
template <class T>
inline constexpr auto kOfVhost = [](const auto& root) -> decltype(auto) { return (root.vhost->template get<T>()); };

// The properties of a row beside its type, range and default, which follow from the member.
struct RowText {
    std::string_view scope;
    std::string_view name;
    Apply apply;
    std::string_view doc;
    std::string_view example;
};

// A row for a member of type T, `offset` bytes into its section. Instantiated per T and not per section: there are
// hundreds of rows, and ten types (row_builder.cpp).
template <class T>
Row make_row(const RowText& text, Finder finder, size_t offset, T initial, Limits limits);
template <class T>
Row make_list_row(const RowText& text, Finder finder, size_t offset);

template <class S, class T>
size_t offset_of(T S::*member) {
    static const S section{};
    return static_cast<size_t>(reinterpret_cast<const char*>(&(section.*member)) -
                               reinterpret_cast<const char*>(&section));
}

template <class Find, class S, class T>
Row row(const Scope<Find>& scope, std::string_view name, T S::*member, std::type_identity_t<T> initial, Limits limits,
        Apply apply, std::string_view doc, std::string_view example = {}) {
    return make_row<T>({scope.path, name, apply, doc, example}, scope.finder(), offset_of(member), std::move(initial),
                       std::move(limits));
}

// The same for a section (section_values.h), whose members have their defaults themselves.
template <class Find, class S, class T>
Row row(const Scope<Find>& scope, std::string_view name, T S::*member, Limits limits, Apply apply, std::string_view doc,
        std::string_view example = {}) {
    return row(scope, name, member, S().*member, std::move(limits), apply, doc, example);
}

// The row of a switch that restricts access: a word that is neither on nor off is an error, because falling
// back to the default could open what the operator meant to close.
inline Row guarding(Row row) {
    row.guards = true;
    return row;
}

// A directive that may occur several times in its block: each occurrence adds to the list.
template <class Find, class S, class T>
Row list_row(const Scope<Find>& scope, std::string_view name, T S::*member, Apply apply, std::string_view doc,
             std::string_view example) {
    return make_list_row<T>({scope.path, name, apply, doc, example}, scope.finder(), offset_of(member));
}

// The parts of the table, assembled by directive.cpp.
void add_server_rows(std::vector<Row>& rows);
void add_process_rows(std::vector<Row>& rows);
void add_vhost_rows(std::vector<Row>& rows);
void add_disk_rows(std::vector<Row>& rows);
void add_security_rows(std::vector<Row>& rows);
void add_later_rows(std::vector<Row>& rows);

}  // namespace config
