#pragma once
// What rows_*.cpp are written with: row(scope, name, member, default, limits, apply, doc). A scope is a path and a
// function that finds its struct from the root, so that a row is bound by a pointer to member and needs no code.

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "config/directive.h"

namespace config {

template <class Find>
struct Scope {
    std::string_view path;
    Find find;  // [](const auto& root) -> decltype(auto) { return (root.vhost->play); }
};
template <class Find>
Scope(const char*, Find) -> Scope<Find>;

template <class Find, class Section, class T>
Row row(const Scope<Find>& scope, std::string_view name, T Section::*member, std::type_identity_t<T> initial,
        Limits limits, Apply apply, std::string_view doc, std::string_view example = {}) {
    Row row;
    row.scope = scope.path;
    row.name = name;
    row.type = ValueType<T>::kName;
    row.range = limits.text();
    row.initial = ValueType<T>::text(initial);
    row.example = example;
    row.apply = apply;
    row.doc = doc;
    auto find = scope.find;
    row.binding.set = [find, member, limits = std::move(limits)](Words words, const Root& root) -> base::Result<void> {
        find(root).*member = TRY(ValueType<T>::parse(words, limits));
        return {};
    };
    row.binding.set_default = [find, member, initial = std::move(initial)](const Root& root) {
        find(root).*member = initial;
    };
    row.binding.get = [find, member](const ConstRoot& root) { return ValueType<T>::text(find(root).*member); };
    row.binding.copy = [find, member](const Root& to, const ConstRoot& from) { find(to).*member = find(from).*member; };
    return row;
}

// A directive that may stand several times in its block: each adds to the list.
template <class Find, class Section, class T>
Row list_row(const Scope<Find>& scope, std::string_view name, T Section::*member, Apply apply, std::string_view doc,
             std::string_view example) {
    Row list = row(scope, name, member, {}, none(), apply, doc, example);
    list.repeatable = true;
    list.binding.set = [find = scope.find, member](Words words, const Root& root) -> base::Result<void> {
        T more = TRY(ValueType<T>::parse(words, none()));
        T& all = find(root).*member;
        all.insert(all.end(), more.begin(), more.end());
        return {};
    };
    return list;
}

// The parts of the table, put together by directive.cpp.
void add_server_rows(std::vector<Row>& rows);
void add_process_rows(std::vector<Row>& rows);
void add_vhost_rows(std::vector<Row>& rows);
void add_disk_rows(std::vector<Row>& rows);
void add_dvr_rows(std::vector<Row>& rows);
void add_hls_rows(std::vector<Row>& rows);
void add_hook_rows(std::vector<Row>& rows);
void add_forward_rows(std::vector<Row>& rows);
void add_security_rows(std::vector<Row>& rows);
void add_rtc_rows(std::vector<Row>& rows);
void add_exporter_rows(std::vector<Row>& rows);
void add_later_rows(std::vector<Row>& rows);

}  // namespace config
