#include "config/row_builder.h"

namespace config {

template <class T>
struct Member {
    Finder finder;
    size_t offset;

    T& in(const Root& root) const { return *reinterpret_cast<T*>(static_cast<char*>(finder.of(root)) + offset); }
    const T& in(const ConstRoot& root) const {
        return *reinterpret_cast<const T*>(static_cast<const char*>(finder.const_of(root)) + offset);
    }
};

template <class T>
Row make_row(const RowText& text, Finder finder, size_t offset, T initial, Limits limits) {
    Row row;
    row.scope = text.scope;
    row.name = text.name;
    row.type = ValueType<T>::kName;
    row.range = limits.text();
    row.initial = ValueType<T>::text(initial);
    row.example = text.example;
    row.apply = text.apply;
    row.doc = text.doc;
    const Member<T> member{finder, offset};
    row.binding.set = [member, limits = std::move(limits)](Words words, const Root& root) -> base::Result<void> {
        member.in(root) = TRY(ValueType<T>::parse(words, limits));
        return {};
    };
    row.binding.set_default = [member, initial = std::move(initial)](const Root& root) { member.in(root) = initial; };
    row.binding.get = [member](const ConstRoot& root) { return ValueType<T>::text(member.in(root)); };
    row.binding.copy = [member](const Root& to, const ConstRoot& from) { member.in(to) = member.in(from); };
    return row;
}

template <class T>
Row make_list_row(const RowText& text, Finder finder, size_t offset) {
    Row list = make_row<T>(text, finder, offset, {}, none());
    list.repeatable = true;
    list.binding.set = [member = Member<T>{finder, offset}](Words words, const Root& root) -> base::Result<void> {
        const T more = TRY(ValueType<T>::parse(words, none()));
        T& all = member.in(root);
        all.insert(all.end(), more.begin(), more.end());
        return {};
    };
    return list;
}

template Row make_row(const RowText&, Finder, size_t, bool, Limits);
template Row make_row(const RowText&, Finder, size_t, int, Limits);
template Row make_row(const RowText&, Finder, size_t, double, Limits);
template Row make_row(const RowText&, Finder, size_t, std::string, Limits);
template Row make_row(const RowText&, Finder, size_t, std::vector<std::string>, Limits);
template Row make_row(const RowText&, Finder, size_t, ListenAddresses, Limits);
template Row make_row(const RowText&, Finder, size_t, AccessRules, Limits);
template Row make_row(const RowText&, Finder, size_t, IpNetworks, Limits);
template Row make_row(const RowText&, Finder, size_t, Commands, Limits);
template Row make_row(const RowText&, Finder, size_t, LogTank, Limits);
template Row make_row(const RowText&, Finder, size_t, TimeJitter, Limits);
template Row make_row(const RowText&, Finder, size_t, StandbyMode, Limits);
template Row make_list_row<std::vector<std::string>>(const RowText&, Finder, size_t);
template Row make_list_row<Commands>(const RowText&, Finder, size_t);
template Row make_list_row<AccessRules>(const RowText&, Finder, size_t);

}  // namespace config
