#pragma once
// RememberedAnswers: whom the hook servers admitted last, for `on_failure last`: a client that was admitted a while ago
// may continue while nobody can be asked. A client is what its query says, but for the session's id and counts: hook
// and URL, vhost, app, stream, parameters (the token), address, page. A client with another token, or from another
// address, is another one, about whom nothing is known, and is refused. Only admissions are kept: the others are
// refused in any case. Bounded in number and age. Pure: times are handed in.

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>

#include "net/access/gate.h"
#include "service/hook/answer.h"
#include "service/hook/stats.h"

namespace service::hook {

class RememberedAnswers {
  public:
    static constexpr size_t kMax = 50'000;  // the one that was used longest ago is forgotten
    static constexpr int64_t kMaxAgeMs = 3'600'000;

    // A digest: nothing of the client itself is kept, and what it wrote may have any length.
    static std::string key_of(Hook hook, const std::string& url, const net::Visitor& visitor);
    void admitted(const std::string& key, const Answer& answer, int64_t now_ms);
    void refused(const std::string& key);
    // Nothing: it was not admitted within kMaxAgeMs.
    std::optional<Answer> find(const std::string& key, int64_t now_ms);
    size_t size() const { return entries_.size(); }

  private:
    struct Entry {
        Answer answer;
        int64_t admitted_ms;
        std::list<const std::string*>::iterator order;
    };
    std::unordered_map<std::string, Entry> entries_;
    std::list<const std::string*> order_;  // keys; the oldest first
};

}  // namespace service::hook
