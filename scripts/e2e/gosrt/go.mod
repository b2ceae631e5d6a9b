module client

go 1.25.0

require github.com/datarhei/gosrt v0.11.0

require (
	github.com/benburkert/openpgp v0.0.0-20160410205803-c2471f86866c // indirect
	golang.org/x/net v0.53.0 // indirect
	golang.org/x/sys v0.44.0 // indirect
)
