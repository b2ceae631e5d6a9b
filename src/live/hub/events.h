#pragma once
// Events: notifications from recorders and segmenters to the rest of the server (hooks, API, statistics): a file is
// complete, a segment is complete, an output failed. They are delivered in the order in which they happened; listeners
// must not yield.

#include <cstdint>
#include <string>
#include <vector>

#include "live/hub/stream.h"

namespace live {

struct RecordingDone {
    StreamKey stream;
    std::string path;         // of the finished file, as configured: may be relative to the working directory
    int64_t duration_ms = 0;  // by the stream's times
    uint64_t bytes = 0;
    bool recovered = false;   // left by an earlier run of the server, finished now
    std::string publisher{};  // the session that published its content; empty: not known
    bool whole = true;        // false: it ends where an error or a crash cut it off
};

// FileEnding: a file of a recording is being completed. FileEnded follows later, exactly once for each, when the file
// is complete or came to nothing. The RecordingDone or OutputFailed of the file comes between the two.
struct FileEnding {
    std::string publisher;  // as in RecordingDone
};
struct FileEnded {
    std::string publisher;
};

struct SegmentDone {
    StreamKey stream;
    std::string path;  // of the segment on disk; empty when it is in memory only
    std::string url;   // as the playlist names it
    std::string playlist_path;
    std::string playlist_url;
    int64_t duration_ms = 0;
    uint64_t sequence = 0;    // media sequence number
    std::string publisher{};  // the session that published last; empty: not known
    std::string full_url{};   // from hls_path on, "live/cam-7.ts"; with hls_entry_prefix as the playlist names it
};

struct OutputFailed {
    StreamKey stream;
    std::string output;  // "dvr", "hls"
    std::string path;
    std::string reason;
};
// Follows an OutputFailed when data has been written again.
struct OutputRecovered {
    StreamKey stream;
    std::string output;  // as in OutputFailed
};

class EventListener {
  public:
    virtual void on_recording(const RecordingDone&) {}
    virtual void on_file_ending(const FileEnding&) {}
    virtual void on_file_ended(const FileEnded&) {}
    virtual void on_segment(const SegmentDone&) {}
    virtual void on_output_failed(const OutputFailed&) {}
    virtual void on_output_recovered(const OutputRecovered&) {}

  protected:
    ~EventListener() = default;
};

class Events {
  public:
    void subscribe(EventListener& listener);
    void unsubscribe(EventListener& listener);

    void notify(const RecordingDone& event) const {
        for (auto* listener : listeners_) listener->on_recording(event);
    }
    void notify(const FileEnding& event) const {
        for (auto* listener : listeners_) listener->on_file_ending(event);
    }
    void notify(const FileEnded& event) const {
        for (auto* listener : listeners_) listener->on_file_ended(event);
    }
    void notify(const SegmentDone& event) const {
        for (auto* listener : listeners_) listener->on_segment(event);
    }
    void notify(const OutputFailed& event) const {
        for (auto* listener : listeners_) listener->on_output_failed(event);
    }
    void notify(const OutputRecovered& event) const {
        for (auto* listener : listeners_) listener->on_output_recovered(event);
    }

  private:
    std::vector<EventListener*> listeners_;
};

}  // namespace live
