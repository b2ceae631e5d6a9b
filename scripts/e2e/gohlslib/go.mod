module client

go 1.25.0

require github.com/bluenviron/gohlslib/v2 v2.4.3

require (
	github.com/abema/go-mp4 v1.7.1 // indirect
	github.com/asticode/go-astikit v0.30.0 // indirect
	github.com/asticode/go-astits v1.16.0 // indirect
	github.com/bluenviron/mediacommon/v2 v2.9.3 // indirect
	github.com/google/uuid v1.3.0 // indirect
)
