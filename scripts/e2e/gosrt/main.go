// Publishes a transport stream by SRT, or plays one into a file, with gosrt, the SRT library of MediaMTX and datarhei. A
// publisher sends its file at the speed of its bytes, in messages of 1,456 bytes as gosrt's own client cuts its input,
// which cuts packets of the transport stream. It prints what gosrt counted.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	srt "github.com/datarhei/gosrt"
)

const chunk = 1456

func main() {
	address := flag.String("address", "", "HOST:PORT")
	id := flag.String("streamid", "", "the stream id")
	passphrase := flag.String("passphrase", "", "encrypt")
	publish := flag.String("publish", "", "the file to send")
	play := flag.String("play", "", "the file to write")
	seconds := flag.Float64("seconds", 5, "how long the file is to take, or how long to play")
	flag.Parse()

	config := srt.DefaultConfig()
	config.StreamId = *id
	config.Passphrase = *passphrase
	conn, err := srt.Dial("srt", *address, config)
	if err != nil {
		fail(err)
	}
	if *publish != "" {
		err = send(conn, *publish, *seconds)
	} else {
		err = receive(conn, *play, *seconds)
	}
	if err != nil {
		fail(err)
	}
	var found srt.Statistics
	conn.Stats(&found)
	conn.Close()
	if err := json.NewEncoder(os.Stdout).Encode(found.Accumulated); err != nil {
		fail(err)
	}
}

func send(conn srt.Conn, path string, seconds float64) error {
	bytes, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin := time.Now()
	for at := 0; at < len(bytes); at += chunk {
		due := time.Duration(seconds * float64(time.Second) * float64(at) / float64(len(bytes)))
		time.Sleep(due - time.Since(begin))
		if _, err := conn.Write(bytes[at:min(at+chunk, len(bytes))]); err != nil {
			return err
		}
	}
	time.Sleep(time.Second) // what is under way is lost by Close
	return nil
}

func receive(conn srt.Conn, path string, seconds float64) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	buffer := make([]byte, 2048)
	for time.Now().Before(end) {
		if err := conn.SetReadDeadline(end); err != nil {
			return err
		}
		count, err := conn.Read(buffer)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			if time.Now().Before(end) {
				return err
			}
			return nil
		}
		if _, err := file.Write(buffer[:count]); err != nil {
			return err
		}
	}
	return nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
