// Plays a stream by RTSP and publishes it under another URL, both by gortsplib, as media servers that are built on it do.
// It ends when one of the two ends, and prints the packets of each format that it passed on.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/description"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/pion/rtp"
)

func fail(what string, err error) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
	os.Exit(1)
}

func check(what string, err error) {
	if err != nil {
		fail(what, err)
	}
}

func protocol(name string) *gortsplib.Protocol {
	kinds := map[string]gortsplib.Protocol{"tcp": gortsplib.ProtocolTCP, "udp": gortsplib.ProtocolUDP}
	kind, known := kinds[name]
	if !known {
		fail("protocol", fmt.Errorf("%q is neither tcp nor udp", name))
	}
	return &kind
}

func main() {
	from := flag.String("from", "", "URL to play")
	to := flag.String("to", "", "URL to publish to")
	play := flag.String("play", "tcp", "transport of the player: tcp, udp")
	record := flag.String("record", "tcp", "transport of the publisher: tcp, udp")
	seconds := flag.Float64("seconds", 10, "how long")
	flag.Parse()

	url, err := base.ParseURL(*from)
	check("URL", err)
	player := gortsplib.Client{Scheme: url.Scheme, Host: url.Host, Protocol: protocol(*play)}
	check("connecting", player.Start())
	defer player.Close()
	session, _, err := player.Describe(url)
	check("DESCRIBE", err)
	check("SETUP", player.SetupAll(session.BaseURL, session.Medias))

	// Without the control URLs of the session that is played.
	announced := &description.Session{Title: session.Title}
	same := map[*description.Media]*description.Media{}
	for _, media := range session.Medias {
		same[media] = &description.Media{Type: media.Type, Formats: media.Formats}
		announced.Medias = append(announced.Medias, same[media])
	}
	publisher := gortsplib.Client{Protocol: protocol(*record)}
	check("publishing", publisher.StartRecording(*to, announced))
	defer publisher.Close()

	counts := map[string]*atomic.Int64{}
	for _, media := range session.Medias {
		for _, one := range media.Formats {
			counts[one.Codec()] = &atomic.Int64{}
		}
	}
	player.OnPacketRTPAny(func(media *description.Media, one format.Format, packet *rtp.Packet) {
		// By the player's sender reports: those that are sent on are exact then.
		ntp, known := player.PacketNTP(media, packet)
		if !known {
			ntp = time.Now()
		}
		counts[one.Codec()].Add(1)
		check("sending", publisher.WritePacketRTPWithNTP(same[media], packet, ntp))
	})
	_, err = player.Play(nil)
	check("PLAY", err)

	ended := make(chan error, 2)
	go func() { ended <- player.Wait() }()
	go func() { ended <- publisher.Wait() }()
	why := "the time is over"
	select {
	case err := <-ended:
		why = err.Error()
	case <-time.After(time.Duration(*seconds * float64(time.Second))):
	}
	passed := map[string]int64{}
	for codec, count := range counts {
		passed[codec] = count.Load()
	}
	check("printing", json.NewEncoder(os.Stdout).Encode(map[string]any{"packets": passed, "ended": why}))
}
