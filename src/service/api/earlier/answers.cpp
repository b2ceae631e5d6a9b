#include "service/api/earlier/answers.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "base/json.h"

namespace service::api {

namespace {

double number_of(const Json& object, const std::string& name) {
    const auto found = object.is_object() ? object.find(name) : object.end();
    return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

void add_sums(Json& mine, const Json& theirs, const std::vector<std::string>& sums) {
    for (const std::string& name : sums) add_number(mine, theirs, name);
}

// Two entries that are the same one: what is no number is this process's, but what is wrong at one of them is wrong.
void merge_entry(Json& mine, const Json& theirs, const std::vector<std::string>& sums) {
    if (!mine.is_object()) return;
    add_sums(mine, theirs, sums);
    const auto up = mine.find("up");
    const auto their_up = theirs.find("up");
    if (up != mine.end() && up->is_boolean() && their_up != theirs.end() && *their_up == false) *up = false;
    if (mine.contains("problem") && text_of(mine, "problem").empty()) mine["problem"] = text_of(theirs, "problem");
}

void sort_newest(Json::array_t& entries, const net::ApiOfBoth::List& how) {
    struct Entry {
        bool lasts;
        double at;
        Json json;
    };
    std::vector<Entry> sorted;
    for (Json& entry : entries) {
        const bool lasts = !how.lasting.empty() && number_of(entry, how.lasting) == 0;
        const double at = number_of(entry, how.newest);
        sorted.push_back({lasts, at, std::move(entry)});
    }
    std::ranges::stable_sort(sorted, std::greater(),
                             [](const Entry& entry) { return std::pair(entry.lasts, entry.at); });
    std::ranges::transform(sorted, entries.begin(), [](Entry& entry) { return std::move(entry.json); });
}

// How many entries both had.
size_t merge_list(Json& mine, Json& theirs, const net::ApiOfBoth::List& how, const std::vector<std::string>& sums) {
    auto& entries = mine.get_ref<Json::array_t&>();
    std::unordered_map<std::string, size_t> places;
    size_t pairs = 0;
    if (!how.key.empty())
        for (size_t i = 0; i < entries.size(); ++i) places.emplace(text_of(entries[i], how.key), i);
    for (Json& entry : theirs.get_ref<Json::array_t&>()) {
        if (!entry.is_object()) continue;
        const std::string key = how.key.empty() ? std::string() : text_of(entry, how.key);
        const auto same = key.empty() ? places.end() : places.find(key);
        if (same == places.end()) {
            entries.push_back(std::move(entry));
        } else {
            merge_entry(entries[same->second], entry, sums);
            ++pairs;
        }
    }
    if (!how.newest.empty()) sort_newest(entries, how);
    return pairs;
}

void cut_page(Json::array_t& entries, const Page& page) {
    entries.erase(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(std::min(page.start, entries.size())));
    if (entries.size() > page.count) entries.resize(page.count);
}

// The place in a list of names, the worst last; 0: in none.
template <class Names>
size_t place_in(const Names& names, const std::string& name) {
    const auto found = std::ranges::find(names, name);
    return found == std::end(names) ? 0 : static_cast<size_t>(found - std::begin(names));
}

size_t badness(const Json& of) {
    static const std::array kVerdicts = {verdict_name(CheckVerdict::kOk), verdict_name(CheckVerdict::kUnknown),
                                         verdict_name(CheckVerdict::kWarn), verdict_name(CheckVerdict::kBad)};
    return place_in(kVerdicts, text_of(of, "verdict"));
}

}  // namespace

std::string text_of(const Json& object, const std::string& name) {
    const auto found = object.is_object() ? object.find(name) : object.end();
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void add_number(Json& mine, const Json& theirs, const std::string& name) {
    if (!mine.is_object() || !theirs.is_object()) return;
    const auto one = mine.find(name);
    const auto other = theirs.find(name);
    if (one == mine.end() || other == theirs.end() || !one->is_number() || !other->is_number()) return;
    if (one->is_number_unsigned() && other->is_number_unsigned())
        *one = one->get<uint64_t>() + other->get<uint64_t>();
    else if (one->is_number_integer() && other->is_number_integer())
        *one = static_cast<int64_t>(one->get<uint64_t>() + other->get<uint64_t>());
    else
        *one = one->get<double>() + other->get<double>();
}

void merge_answers(Json& mine, Json theirs, const net::ApiOfBoth& how, const Page* page) {
    if (!mine.is_object() || !theirs.is_object()) return;
    add_sums(mine, theirs, how.sums);
    for (const std::string& name : how.objects) {
        const auto own = mine.find(name);
        const auto other = theirs.find(name);
        if (own != mine.end() && other != theirs.end()) add_sums(*own, *other, how.sums);
    }
    for (const net::ApiOfBoth::List& list : how.lists) {
        const auto own = mine.find(list.name);
        if (own == mine.end() || !own->is_array()) continue;
        const auto other = theirs.find(list.name);
        Json added = Json::array();
        if (other != theirs.end() && other->is_array() && (page || !list.is_paged)) std::swap(added, *other);
        const size_t pairs = merge_list(*own, added, list, how.sums);
        if (!list.total.empty()) {
            add_number(mine, theirs, list.total);
            const auto total = mine.find(list.total);
            if (total != mine.end() && total->is_number_unsigned())
                *total = total->get<uint64_t>() - std::min<uint64_t>(pairs, total->get<uint64_t>());
        }
        if (list.is_paged && page) cut_page(own->get_ref<Json::array_t&>(), *page);
    }
}

void merge_explained(Json& mine, Json theirs, bool is_published_there) {
    if (!mine.is_object() || !theirs.is_object()) return;
    if (is_published_there) std::swap(mine, theirs);
    const auto checks = mine.find("checks");
    const auto others = theirs.find("checks");
    if (checks == mine.end() || !checks->is_array() || others == theirs.end() || !others->is_array()) return;
    bool is_worse = false;
    for (const Json& other : *others) {
        const std::string name = text_of(other, "name");
        if (name != "viewer_drops" && name != "outputs") continue;  // the others are of what its publisher sends
        const auto same = std::ranges::find_if(*checks, [&](const Json& one) { return text_of(one, "name") == name; });
        if (same == checks->end() || badness(other) <= badness(*same)) continue;
        *same = other;
        is_worse = true;
    }
    if (!is_worse) return;
    if (badness(theirs) > badness(mine)) mine["verdict"] = theirs["verdict"];
    if (place_in(kVerdictLevels, text_of(theirs, "level")) > place_in(kVerdictLevels, text_of(mine, "level")))
        mine["level"] = theirs["level"];
}

}  // namespace service::api
