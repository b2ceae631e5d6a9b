#include "protocol/srtp/counter_mode.h"

namespace srtp {

CounterMode& CounterMode::with(Key key) {
    static thread_local CounterMode one(key);
    one.context_.set_key(key);
    return one;
}

}  // namespace srtp
