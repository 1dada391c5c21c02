// Package naming makes up names and titles of machines, and makes text fit to be shown. It knows no
// machine.
package naming

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
)

// RandomBits is enough chance for a name; the operating system's source does not fail.
func RandomBits() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return binary.BigEndian.Uint64(b[:])
}

// Friendly makes up a name such as brave-otter-42.
func Friendly() string {
	n := RandomBits()
	pick := func(of uint64) int { r := n % of; n /= of; return int(r) }
	return fmt.Sprintf("%s-%s-%d", adjectives[pick(uint64(len(adjectives)))], animals[pick(uint64(len(animals)))], 1+pick(99))
}

// The words that names are made of: friendly, short, and harmless in any combination.

var adjectives = []string{
	"amber", "ample", "agile", "airy", "apt", "bold", "brave", "breezy", "bright", "brisk", "bubbly", "calm", "candid",
	"caring", "cheery", "chirpy", "civil", "clear", "clever", "cosmic", "cozy", "crisp", "curious", "dapper", "daring",
	"deft", "dewy", "eager", "early", "earnest", "easy", "fair", "fancy", "festive", "fleet", "fluent", "fond", "frank",
	"free", "fresh", "gentle", "gifted", "giving", "glad", "gleaming", "golden", "grand", "happy", "hardy", "hearty",
	"helpful", "honest", "humble", "ideal", "jolly", "jovial", "joyful", "keen", "kind", "lively", "loyal", "lucid",
	"lucky", "lunar", "mellow", "merry", "mighty", "mild", "modest", "neat", "nimble", "noble", "novel", "patient",
	"peaceful", "perky", "placid", "plucky", "polite", "prime", "prompt", "proud", "quick", "quiet", "ready", "regal",
	"robust", "rosy", "serene", "sharp", "shiny", "silver", "sincere", "smooth", "snug", "solar", "solid", "spry",
	"steady", "stellar", "sturdy", "sunny", "swift", "tidy", "tranquil", "trusty", "upbeat", "valiant", "vast", "vivid",
	"warm", "wise", "witty", "zesty",
}

var animals = []string{
	"alpaca", "antelope", "badger", "beaver", "bison", "bobcat", "bunny", "camel", "capybara", "caribou", "cheetah",
	"chipmunk", "condor", "corgi", "crane", "cricket", "deer", "dingo", "dolphin", "dove", "dragonfly", "duck", "eagle",
	"egret", "elk", "falcon", "ferret", "finch", "firefly", "flamingo", "fox", "gazelle", "gecko", "gibbon", "giraffe",
	"goose", "hamster", "hare", "hawk", "hedgehog", "heron", "hippo", "ibex", "ibis", "iguana", "impala", "jaguar",
	"jay", "kestrel", "kingfisher", "kiwi", "koala", "lark", "lemur", "leopard", "lion", "llama", "lynx", "macaw",
	"magpie", "manatee", "marmot", "marten", "meerkat", "mole", "moose", "narwhal", "newt", "ocelot", "okapi", "orca",
	"oriole", "osprey", "otter", "owl", "panda", "pelican", "penguin", "pigeon", "platypus", "plover", "pony", "puffin",
	"quail", "quokka", "rabbit", "raccoon", "raven", "reindeer", "robin", "salmon", "seahorse", "seal", "sparrow",
	"squirrel", "starling", "stork", "swallow", "swan", "tapir", "tern", "thrush", "tiger", "toucan", "trout", "turtle",
	"vole", "walrus", "whale", "wolf", "wombat", "woodpecker", "wren", "yak", "zebra",
}
