#pragma once
// SpareList: connections that may be ended to make room for others, the one that has been in the list for longest
// first: those that have not said yet what they want, and those that wait for their next request. Nothing is allocated.

#include <cstddef>
#include <cstdint>

namespace net {

class SpareList;

// A connection that is in one list at most. Its destruction takes it out.
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
    // It has left the list. It counts as a connection no more when this returns, and ends soon. Must not yield, nor
    // destroy it.
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
    ~SpareList();  // whoever is still in it goes on without

    // At its end. It leaves the list that it was in.
    void add(Spare& spare, int64_t now_ms);
    // Whether the first has been in it for that long.
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
