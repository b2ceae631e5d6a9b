#pragma once
// Shared ownership with a non-atomic count: the server has one thread. Never pass a Ref to another thread.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace base {

// Base class for Ref<T>. T must be created by make_ref<T>(...).
template <class T>
class RefCounted {
  public:
    RefCounted() = default;
    RefCounted(const RefCounted&) {}  // a copy starts with a count of its own
    RefCounted& operator=(const RefCounted&) = delete;
    uint32_t ref_count() const { return ref_count_; }

  protected:
    ~RefCounted() = default;

  private:
    template <class U>
    friend class Ref;
    uint32_t ref_count_ = 0;
};

template <class T>
class Ref {
  public:
    Ref() = default;
    Ref(std::nullptr_t) {}
    explicit Ref(T* object) : object_(object) { acquire(); }
    Ref(const Ref& other) : object_(other.object_) { acquire(); }
    Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Ref& operator=(Ref other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref() { release(); }

    T* get() const { return object_; }
    T* operator->() const { return object_; }
    T& operator*() const { return *object_; }
    explicit operator bool() const { return object_ != nullptr; }
    friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }
    void reset() { *this = Ref(); }

  private:
    void acquire() {
        if (object_) ++object_->ref_count_;
    }
    void release() {
        if (object_ && --object_->ref_count_ == 0) std::default_delete<T>()(object_);
    }
    T* object_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
    return Ref<T>(std::make_unique<T>(std::forward<Args>(args)...).release());
}

}  // namespace base
