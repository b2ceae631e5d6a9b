// peer: pion/webrtc as WHIP publisher and WHEP player of one stream, for the end-to-end tests. It publishes the encoded
// pictures of a file (Annex B with access unit delimiters, or IVF), or of a file for each layer of simulcast, and the Opus
// packets of an Ogg file in real time, plays the stream, and says as JSON on stdout how what came compares, packet by packet,
// with what was sent: of layers with the largest one.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

type options struct {
	whip, whep, codec, video, audio string
	layers                          string
	whipPort, whepPort              int
	seconds                         float64
	vanish, rtx, publisherRtx       bool
	keyframes                       bool
}

func main() {
	var o options
	flag.StringVar(&o.whip, "whip", "", "publish there")
	flag.StringVar(&o.whep, "whep", "", "play from there")
	flag.StringVar(&o.codec, "codec", "h264", "of the video: h264, h265, vp8, vp9, av1")
	flag.StringVar(&o.video, "video", "", "file with the video")
	flag.StringVar(&o.layers, "layers", "", "instead of a video its layers of simulcast, in the offer's order: RID=FILE,RID=FILE")
	flag.StringVar(&o.audio, "audio", "", "Ogg file with a packet per page")
	flag.IntVar(&o.whipPort, "whip-port", 0, "send what is published to this port instead of the answer's")
	flag.IntVar(&o.whepPort, "whep-port", 0, "the same of the player")
	flag.Float64Var(&o.seconds, "seconds", 5, "how long to publish, or to play")
	flag.BoolVar(&o.keyframes, "keyframes", false, "the publisher makes keyframes where they are requested")
	flag.BoolVar(&o.vanish, "vanish", false, "leave without DELETE and without a word")
	flag.BoolVar(&o.rtx, "rtx", false, "the player takes what is sent again by RTX; pion goes on to ask for what came so")
	flag.BoolVar(&o.publisherRtx, "publisher-rtx", true, "the publisher sends again by RTX, not the same packet")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	result := map[string]any{}
	var publishing *publisher
	if o.whip != "" {
		var err error
		if publishing, err = newPublisher(o); err != nil {
			return err
		}
		defer publishing.leave(o.vanish)
		if err = publishing.start(o.whip, o.whipPort); err != nil {
			return err
		}
		publishing.send()
	}
	var playing *player
	if o.whep != "" {
		var err error
		if playing, err = newPlayer(o); err != nil {
			return err
		}
		defer playing.leave(o.vanish)
		if err = playing.start(o.whep, o.whepPort); err != nil {
			return err
		}
	}
	time.Sleep(time.Duration(o.seconds * float64(time.Second)))
	if publishing != nil {
		publishing.stop()
		result["publisher"] = publishing.heard()
		result["answered_layers"] = publishing.answeredLayers()
	}
	if playing != nil {
		// What was sent last, and what is being mended.
		time.Sleep(1500 * time.Millisecond)
		result["player"] = playing.compare(publishing)
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}
