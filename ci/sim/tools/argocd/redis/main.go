// The store that Argo CD's parts share, in memory: miniredis, as in Argo CD's own tests, behind an address.
package main

import (
	"log"
	"os"
	"time"

	"github.com/alicebob/miniredis/v2"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: redis HOST:PORT")
	}
	store := miniredis.NewMiniRedis()
	if err := store.StartAddr(os.Args[1]); err != nil {
		log.Fatal(err)
	}
	// Its clock stands still by itself, and entries of the cache would never expire.
	for range time.Tick(time.Second) {
		store.FastForward(time.Second)
	}
}
