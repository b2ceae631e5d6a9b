#include "media/track_set.h"

namespace media {

size_t TrackSet::memory() const {
    size_t bytes = sizeof(*this) + tracks.capacity() * sizeof(Track);
    for (const Track& track : tracks)
        if (track.header) bytes += track.header->payload.memory();
    if (metadata) bytes += metadata->payload.memory();
    return bytes;
}

}  // namespace media
