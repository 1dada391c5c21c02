// Command feedtool makes what package update believes: feedtool keygen FILE, feedtool sign -version
// V -notes FILE FOLDER, feedtool renew FOLDER.
//
// The private key, as keygen or minisign -W wrote it, is in $FOREVERVM_SIGNING_KEY; while keys
// change there are two, the old one and the new one, on lines of their own, and both sign.
package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aead.dev/minisign"

	"github.com/forevervm/desktop/backend/update"
)

const keyVariable = "FOREVERVM_SIGNING_KEY"

// validFor is how long a manifest is believed: time enough to notice that it is no longer renewed.
const validFor = 60 * 24 * time.Hour

func main() {
	log.SetFlags(0)
	log.SetPrefix("feedtool: ")
	if err := run(os.Args[1:], os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("say keygen, sign or renew")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	version := flags.String("version", "", "the release's version")
	notes := flags.String("notes", "", "a file with what is new, as plain text")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("%s takes one path", args[0])
	}
	path := flags.Arg(0)
	switch args[0] {
	case "keygen":
		return keygen(path, out)
	case "sign":
		m := update.Manifest{Product: update.Product, Version: *version}
		text, err := os.ReadFile(*notes)
		if err != nil {
			return fmt.Errorf("what is new: %w", err)
		}
		m.Notes = strings.TrimSpace(string(text))
		if m.Files, err = packages(path, *version); err != nil {
			return err
		}
		return publish(path, m)
	case "renew":
		data, err := os.ReadFile(filepath.Join(path, update.ManifestName))
		if err != nil {
			return err
		}
		var m update.Manifest
		if err := json.Unmarshal(data, &m); err != nil {
			return err
		}
		// What was published may have been changed since: only what is signed is signed again.
		signatures, err := os.ReadFile(filepath.Join(path, update.SignaturesName))
		if err != nil {
			return err
		}
		private, err := privateKeys(os.Getenv(keyVariable))
		if err != nil {
			return err
		}
		var public update.Keys
		for _, key := range private {
			public = append(public, key.Public().(minisign.PublicKey))
		}
		if !public.Signed(data, signatures) {
			return update.ErrForged
		}
		return publish(path, m)
	}
	return fmt.Errorf("there is no %q: say keygen, sign or renew", args[0])
}

func keygen(path string, out io.Writer) error {
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	text, err := private.MarshalText()
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	fmt.Fprintln(out, public)
	return errors.Join(err, file.Close())
}

// packages are those of a version in a folder. Their names,
// forevervm-VERSION-SYSTEM-ARCHITECTURE.PACKAGE, say what they are.
func packages(folder, version string) (files []update.File, err error) {
	if version == "" {
		return nil, errors.New("say the -version")
	}
	kinds := map[string]string{"deb": "deb", "rpm": "rpm", "msi": "msi", "dmg": "dmg", "tar.zst": "tarball"}
	prefix := "forevervm-" + version + "-"
	paths, err := filepath.Glob(filepath.Join(folder, prefix+"*"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		about, ending, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), prefix), ".")
		system, architecture, ok := strings.Cut(about, "-")
		if kinds[ending] == "" || !ok || strings.Contains(architecture, "-") { // such as checksums, and what is made for a rehearsal
			continue
		}
		file := update.File{Package: kinds[ending], System: system, Architecture: architecture, Name: filepath.Base(path)}
		if file.Size, file.SHA256, err = digest(path); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is no package of version %s in %s", version, folder)
	}
	return files, nil
}

func digest(path string) (int64, string, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer file.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	return size, hex.EncodeToString(sum.Sum(nil)), err
}

// publish dates a manifest, signs it with all keys, and writes both.
func publish(folder string, m update.Manifest) error {
	keys, err := privateKeys(os.Getenv(keyVariable))
	if err != nil {
		return err
	}
	m.IssuedAt = time.Now().UTC().Truncate(time.Second)
	m.ExpiresAt = m.IssuedAt.Add(validFor)
	document, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	document = append(document, '\n')
	var signatures bytes.Buffer
	for _, key := range keys {
		signature := minisign.SignWithComments(key, document, update.Product+" "+m.Version, "signature of "+update.ManifestName)
		signatures.Write(append(bytes.TrimSpace(signature), '\n'))
	}
	return errors.Join(
		os.WriteFile(filepath.Join(folder, update.ManifestName), document, 0o644),
		os.WriteFile(filepath.Join(folder, update.SignaturesName), signatures.Bytes(), 0o644),
	)
}

func privateKeys(text string) (keys []minisign.PrivateKey, err error) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "untrusted comment:") {
			continue
		}
		var key minisign.PrivateKey
		if err := key.UnmarshalText([]byte(line)); err != nil {
			return nil, fmt.Errorf("what is in $%s is no private key of minisign's without a password: %w", keyVariable, err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("$%s holds no key to sign with", keyVariable)
	}
	return keys, nil
}
