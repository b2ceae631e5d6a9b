// Plays a stream by HLS with gohlslib's client, as programs that are built on it do. It ends after the seconds given, or
// when the stream does, and prints what came: the frames of each track, and what was fetched.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/bluenviron/gohlslib/v2"
	"github.com/bluenviron/gohlslib/v2/pkg/codecs"
)

type track struct {
	Codec  string  `json:"codec"`
	Name   string  `json:"name"`
	Frames int     `json:"frames"`
	Begin  float64 `json:"begin"` // s, of the first frame
	End    float64 `json:"end"`   // s, of the last frame
	Back   int     `json:"back"`  // frames that are not later than the one before
}

func main() {
	url := flag.String("url", "", "URL of the playlist")
	seconds := flag.Float64("seconds", 10, "how long")
	flag.Parse()

	var lock sync.Mutex
	found := struct {
		Tracks       []*track `json:"tracks"`
		Segments     []string `json:"segments"`
		Parts        []string `json:"parts"`
		DecodeErrors []string `json:"decode_errors"`
		End          string   `json:"end"` // why it ended before its time
	}{Tracks: []*track{}, Segments: []string{}, Parts: []string{}, DecodeErrors: []string{}}

	// It reads a hundred frames of a track ahead and ends where the next segment is not there then: three segments before
	// the end, as it begins by itself, are too few of two seconds.
	client := &gohlslib.Client{URI: *url, StartDistance: 4, MaxDistance: 8}
	client.OnDownloadSegment = func(url string) { lock.Lock(); found.Segments = append(found.Segments, url); lock.Unlock() }
	client.OnDownloadPart = func(url string) { lock.Lock(); found.Parts = append(found.Parts, url); lock.Unlock() }
	client.OnDecodeError = func(err error) {
		lock.Lock()
		found.DecodeErrors = append(found.DecodeErrors, err.Error())
		lock.Unlock()
	}
	client.OnTracks = func(tracks []*gohlslib.Track) error {
		for _, one := range tracks {
			mine := &track{Codec: fmt.Sprintf("%T", one.Codec), Name: one.Name}
			found.Tracks = append(found.Tracks, mine)
			came := func(dts int64, frames int) {
				lock.Lock()
				defer lock.Unlock()
				at := float64(dts) / float64(one.ClockRate)
				if mine.Frames == 0 {
					mine.Begin = at
				} else if at <= mine.End {
					mine.Back++
				}
				mine.End = at
				mine.Frames += frames
			}
			switch one.Codec.(type) {
			case *codecs.H264, *codecs.H265:
				client.OnDataH26x(one, func(_ int64, dts int64, _ [][]byte) { came(dts, 1) })
			case *codecs.MPEG4Audio:
				client.OnDataMPEG4Audio(one, func(pts int64, units [][]byte) { came(pts, len(units)) })
			}
		}
		return nil
	}
	if err := client.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ended := make(chan error, 1)
	go func() { ended <- client.Wait2() }()
	select {
	case err := <-ended:
		found.End = err.Error()
	case <-time.After(time.Duration(*seconds * float64(time.Second))):
		client.Close()
		<-ended
	}
	lock.Lock()
	defer lock.Unlock()
	json.NewEncoder(os.Stdout).Encode(found)
}
