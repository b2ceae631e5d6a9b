#pragma once
// EvictionList: connections that may be closed to make room for others, the one that has been in the list longest
// first: those without a first request, and those that wait for their next request. Allocates nothing.

#include <cstddef>
#include <cstdint>

namespace net {

class EvictionList;

// A connection that is in at most one list. Its destructor removes it.
class EvictionCandidate {
  public:
    EvictionCandidate() = default;
    EvictionCandidate(const EvictionCandidate&) = delete;
    void leave_list();
    bool in_list() const { return list_ != nullptr; }

  protected:
    ~EvictionCandidate() { leave_list(); }

  private:
    friend class EvictionList;
    // Called after it has left the list. When this returns it must no longer count as a connection, and it must end
    // soon. Must not yield, nor destroy it.
    virtual void evict() = 0;

    EvictionList* list_ = nullptr;
    EvictionCandidate* previous_ = nullptr;
    EvictionCandidate* next_ = nullptr;
    int64_t since_ms_ = 0;
};

class EvictionList {
  public:
    EvictionList() = default;
    EvictionList(const EvictionList&) = delete;
    ~EvictionList();  // connections still in it are removed, but not ended

    // Adds it at the end of this list, after removing it from its previous list.
    void add(EvictionCandidate& candidate, int64_t now_ms);
    // Whether the first one has been in it for least_ms.
    bool has(int64_t now_ms, int64_t least_ms) const;
    // Ends that one; false: there is none.
    bool evict_one(int64_t now_ms, int64_t least_ms);
    size_t size() const { return size_; }
    uint64_t ended_total() const { return ended_total_; }

  private:
    friend class EvictionCandidate;
    EvictionCandidate* first_ = nullptr;
    EvictionCandidate* last_ = nullptr;
    size_t size_ = 0;
    uint64_t ended_total_ = 0;
};

}  // namespace net
