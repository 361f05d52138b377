// SHA-256 of Go's standard library as a subject of candor.
//
//	go build -o sha256-go examples/programs/sha256.go
//	candor run hash/sha256/1k --peer-program ./sha256-go
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"runtime"
	"strings"
)

// What candor asks: one of the three.
type request struct {
	Task   string            `json:"task"`
	Inputs map[string]string `json:"inputs"`
	Run    *uint64           `json:"run"`
}

// Keeps the compiler from leaving the work out.
var digest [sha256.Size]byte

func main() {
	// A message of 10 MB makes a line of 20 MB, longer than a bufio.Scanner takes.
	in, out := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	var message []byte
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked request
		if err := json.Unmarshal(line, &asked); err != nil {
			panic(err)
		}
		switch {
		case asked.Inputs != nil:
			if message, err = hex.DecodeString(asked.Inputs["message"]); err != nil {
				panic(err)
			}
			digest = sha256.Sum256(message)
			out.Encode(map[string]any{"answers": map[string]string{"answer": hex.EncodeToString(digest[:])}})
		case asked.Run != nil:
			for range *asked.Run {
				digest = sha256.Sum256(message)
			}
			out.Encode(map[string]any{"ran": *asked.Run})
		case strings.HasPrefix(asked.Task, "hash/sha256/"):
			out.Encode(map[string]any{
				"protocol": 1, "name": "go-crypto", "version": strings.TrimPrefix(runtime.Version(), "go"),
				"timed": "hashes one message that is already in memory, from start to digest, in one call of sha256.Sum256",
			})
		default:
			out.Encode(map[string]any{"refused": "does SHA-256 of one message only"})
		}
	}
}
