#pragma once
// Sections: the values of services' directives, in a Snapshot and in each of its vhosts. A section is a plain struct
// that belongs to its service; its members have the defaults of their directives. This holds sections without knowing
// their types. A section is found by a number, not by a name.

#include <any>
#include <cstddef>
#include <vector>

namespace config {

class Sections {
  public:
    // Made with its defaults if it is not there yet.
    template <class T>
    T& get() {
        std::any& found = slot(index_of<T>());
        if (!found.has_value()) found = T();
        return *std::any_cast<T>(&found);
    }
    // The defaults if it is not there. The reference is valid as long as this object, and until it is assigned to.
    template <class T>
    const T& get() const {
        static const T kDefaults{};
        const size_t index = index_of<T>();
        const T* found = index < slots_.size() ? std::any_cast<T>(&slots_[index]) : nullptr;
        return found ? *found : kDefaults;
    }

  private:
    // The same number for a type in all objects.
    template <class T>
    static size_t index_of() {
        static const size_t kIndex = next_index();
        return kIndex;
    }
    static size_t next_index();
    // Made empty if it is not there yet.
    std::any& slot(size_t index);

    std::vector<std::any> slots_;
};

}  // namespace config
