#include "service/relay/path.h"

namespace service::relay {

std::string path_through(const live::Stream& stream, const live::Registry& registry) {
    std::string path;
    if (const live::PublicationOwner* publisher = stream.publisher()) path = publisher->facts().forward_path;
    if (!path.empty()) path += ',';
    return path + registry.instance();
}

}  // namespace service::relay
