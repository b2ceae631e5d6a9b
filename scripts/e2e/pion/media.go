package main

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v4/pkg/media/oggreader"
)

const (
	videoClock, audioClock = 90000, 48000
	maxPayload             = 1160
	frameMs                = 20 // of an Opus packet
	pictureMs              = 40
	gop                    = 25 // units of video from one keyframe to the next
)

// readPictures gives the file's access units, each with what its codec puts before it.
func readPictures(path, codec string) ([][]byte, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	switch codec {
	case "h264":
		out = splitAt(file, func(nal byte) bool { return nal&0x1f == 9 })
	case "h265":
		out = splitAt(file, func(nal byte) bool { return nal>>1&0x3f == 35 })
	default:
		out, err = readIvf(file)
	}
	if err == nil && len(out) < 25 {
		err = errors.New(path + " has less than 25 pictures")
	}
	return out, err
}

// splitAt cuts an Annex B stream before each NAL unit of that kind, the access unit delimiter.
func splitAt(stream []byte, delimits func(byte) bool) [][]byte {
	var out [][]byte
	begin := -1
	for i := 0; i+4 < len(stream); i++ {
		if stream[i] != 0 || stream[i+1] != 0 || stream[i+2] != 1 || !delimits(stream[i+3]) {
			continue
		}
		if begin >= 0 {
			out = append(out, stream[begin:i])
		}
		begin = i
	}
	return append(out, stream[begin:])
}

func readIvf(file []byte) ([][]byte, error) {
	if len(file) < 32 || string(file[:4]) != "DKIF" {
		return nil, errors.New("not an IVF file")
	}
	var out [][]byte
	for at := 32; at+12 <= len(file); {
		size := int(binary.LittleEndian.Uint32(file[at:]))
		if at+12+size > len(file) {
			break
		}
		out = append(out, file[at+12:at+12+size])
		at += 12 + size
	}
	return out, nil
}

func readSounds(path string) ([][]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	reader, _, err := oggreader.NewWith(file)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for {
		page, _, err := reader.ParseNextPage()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if len(page) >= 8 && string(page[:8]) == "OpusTags" {
			continue
		}
		out = append(out, append([]byte(nil), page...))
	}
}

func payloader(codec string) rtp.Payloader {
	switch codec {
	case "h264":
		return &codecs.H264Payloader{}
	case "h265":
		return &codecs.H265Payloader{}
	case "vp8":
		return &codecs.VP8Payloader{EnablePictureID: true}
	case "vp9":
		return &codecs.VP9Payloader{}
	case "av1":
		return &codecs.AV1Payloader{}
	}
	return &codecs.OpusPayloader{}
}

// track is one of the published ones: what is to be sent, and what was.
type track struct {
	units    [][]byte
	payloads rtp.Payloader
	clock    uint32
	unitMs   int
	sent     []sentPacket
	sequence uint16
	skipped  int         // units, by keyframes that were requested
	wanted   atomic.Bool // a keyframe
	rid      string      // of a layer of simulcast, which its packets name by this header extension
	ridId    uint8
}

type sentPacket struct {
	payload   string
	timestamp uint32
	marker    bool
	at        time.Duration // by the stream's clock, since its begin
}

func (t *track) bytes() int {
	sum := 0
	for _, unit := range t.units {
		sum += len(unit)
	}
	return sum
}

// packets of the unit of that number; the units are repeated.
func (t *track) packets(number int) []*rtp.Packet {
	elapsed := time.Duration(number*t.unitMs) * time.Millisecond
	timestamp := uint32(12345) + uint32(number*t.unitMs)*(t.clock/1000)
	if t.wanted.Swap(false) {
		for (number+t.skipped)%gop != 0 {
			t.skipped++
		}
	}
	payloads := t.payloads.Payload(maxPayload, t.units[(number+t.skipped)%len(t.units)])
	var out []*rtp.Packet
	for i, payload := range payloads {
		marker := t.clock == videoClock && i == len(payloads)-1
		t.sequence++
		packet := &rtp.Packet{
			Header:  rtp.Header{Version: 2, SequenceNumber: t.sequence, Timestamp: timestamp, Marker: marker},
			Payload: payload,
		}
		if t.ridId != 0 {
			_ = packet.Header.SetExtension(t.ridId, []byte(t.rid))
		}
		out = append(out, packet)
		t.sent = append(t.sent, sentPacket{string(payload), timestamp, marker, elapsed})
	}
	return out
}
