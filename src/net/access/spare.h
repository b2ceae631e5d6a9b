#pragma once
// SpareList: connections that may be closed to make room for others, the one that has been in the list longest first:
// those without a first request, and those that wait for their next request. Allocates nothing.

#include <cstddef>
#include <cstdint>

namespace net {

class SpareList;

// A connection that is in at most one list. Its destructor removes it.
class Spare {
  public:
    Spare() = default;
    Spare(const Spare&) = delete;
    void leave_list();
    bool in_list() const { return list_ != nullptr; }

  protected:
    ~Spare() { leave_list(); }

  private:
    friend class SpareList;
    // Called after it has left the list. When this returns it must no longer count as a connection, and it must end
    // soon. Must not yield, nor destroy it.
    virtual void make_room() = 0;

    SpareList* list_ = nullptr;
    Spare* previous_ = nullptr;
    Spare* next_ = nullptr;
    int64_t since_ms_ = 0;
};

class SpareList {
  public:
    SpareList() = default;
    SpareList(const SpareList&) = delete;
    ~SpareList();  // connections still in it are removed, but not ended

    // Adds it at the end of this list, after removing it from its previous list.
    void add(Spare& spare, int64_t now_ms);
    // Whether the first one has been in it for least_ms.
    bool has(int64_t now_ms, int64_t least_ms) const;
    // Ends that one; false: there is none.
    bool make_room(int64_t now_ms, int64_t least_ms);
    size_t size() const { return size_; }
    uint64_t ended_total() const { return ended_total_; }

  private:
    friend class Spare;
    Spare* first_ = nullptr;
    Spare* last_ = nullptr;
    size_t size_ = 0;
    uint64_t ended_total_ = 0;
};

}  // namespace net
