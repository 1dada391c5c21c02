package credentials

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Official is what the official command line keeps, in clear, in a file of its own.
type Official struct {
	Path   string
	Server string
	Secret Secret
}

// FindOfficial returns what the official command line has kept here, or nil where it holds no
// token.
func FindOfficial() (*Official, error) {
	user, err := os.UserHomeDir()
	if err != nil {
		return nil, nil //nolint:nilerr // without a home folder there is no such file
	}
	path := filepath.Join(user, ".config", "forevervm", "config.json")
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var file struct {
		Token  string `json:"token"`
		Server string `json:"server_url"`
	}
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		return nil, fmt.Errorf("what the official command line keeps in %s cannot be read: %w", path, err)
	}
	if file.Token == "" {
		return nil, nil
	}
	found := &Official{Path: path}
	if found.Secret, err = Parse(file.Token); err == nil {
		found.Server, err = Server(file.Server)
	}
	if err != nil {
		return nil, fmt.Errorf("what the official command line keeps in %s cannot be used: %w", path, err)
	}
	return found, nil
}

// Remove removes the file, if it still holds that token.
func (o *Official) Remove() error {
	now, err := FindOfficial()
	if err != nil || now == nil {
		return err
	}
	if now.Path != o.Path || !now.Secret.Equal(o.Secret.Reveal()) {
		return fmt.Errorf("%s was changed meanwhile, so it is left as it is", o.Path)
	}
	if err := os.Remove(o.Path); err != nil {
		return fmt.Errorf("the official command line's file with the token cannot be removed; delete %s yourself: %w", o.Path, err)
	}
	return nil
}
