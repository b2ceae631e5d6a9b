#include "live/hub/events.h"

namespace live {

void Events::subscribe(EventListener& listener) { listeners_.push_back(&listener); }

void Events::unsubscribe(EventListener& listener) { std::erase(listeners_, &listener); }

}  // namespace live
