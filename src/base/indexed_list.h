#pragma once
// IndexedList: owns objects that each store their own index in it, so that the removal of one takes the same time
// whatever their number. The last object takes the index of the removed one: the order changes.

#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"

namespace base {

// T has a public data member `index`, of an unsigned type, which the list sets.
template <class T>
class IndexedList {
  public:
    // Lives until it is removed.
    T& add(std::unique_ptr<T> object) {
        object->index = static_cast<decltype(object->index)>(objects_.size());
        objects_.push_back(std::move(object));
        return *objects_.back();
    }
    // Destroys the object, when it is no longer in the list.
    void remove(T& object) {
        CHECK(object.index < objects_.size() && objects_[object.index].get() == &object);
        std::swap(objects_[object.index], objects_.back());
        objects_[object.index]->index = object.index;
        const std::unique_ptr<T> removed = std::move(objects_.back());
        objects_.pop_back();
    }
    void clear() { objects_.clear(); }

    bool empty() const { return objects_.empty(); }
    size_t size() const { return objects_.size(); }
    auto begin() const { return objects_.begin(); }
    auto end() const { return objects_.end(); }

  private:
    std::vector<std::unique_ptr<T>> objects_;
};

}  // namespace base
