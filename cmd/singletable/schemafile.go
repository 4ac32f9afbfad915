package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/singletable/singletable/cmd/singletable/internal/check"
	"github.com/singletable/singletable/table/tablemodel"
)

// schemaFile is a model in a file.
type schemaFile struct {
	tablemodel.Model
	// Accepted are findings of check that stay.
	Accepted []check.Accepted `json:"accepted,omitempty"`
	// JSONSchema is for editors, which find there what the file may hold.
	JSONSchema string `json:"$schema,omitempty"`
}

// decodeModel reads the model of a schema file, as decodeFile does.
func decodeModel(text string) (tablemodel.Model, error) {
	file, err := decodeFile(text)
	return file.Model, err
}

// decodeFile reads a schema file. It refuses members that a schema file does not
// have or that are there twice, deep nesting, and anything behind the schema. It
// does not validate the model.
func decodeFile(text string) (schemaFile, error) {
	if err := checkMembers(json.NewDecoder(strings.NewReader(text)), nil); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return schemaFile{}, err
	}
	var file schemaFile
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return schemaFile{}, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return schemaFile{}, errors.New("there is more after the schema")
	}
	for i, a := range file.Accepted {
		if strings.TrimSpace(a.Reason) == "" {
			return schemaFile{}, fmt.Errorf("accepted[%d].reason: is empty, and an accepted finding needs one", i)
		}
	}
	return file, nil
}

// maxDepth is how deep objects and arrays of a schema file may be nested. One with
// entities needs seven levels.
const maxDepth = 16

// checkMembers reads one JSON value and refuses an object that has a member
// twice. path leads to the value; its parts are joined for an error only.
func checkMembers(d *json.Decoder, path []string) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if _, nested := token.(json.Delim); nested && len(path) >= maxDepth {
		return fmt.Errorf("is nested deeper than %d levels", maxDepth)
	}
	switch token {
	case json.Delim('['):
		err = checkElements(d, path)
	case json.Delim('{'):
		err = checkObject(d, path)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	_, err = d.Token() // The closing bracket.
	return err
}

// checkElements checks the elements of an array.
func checkElements(d *json.Decoder, path []string) error {
	for i := 0; d.More(); i++ {
		if err := checkMembers(d, append(path, fmt.Sprintf("[%d]", i))); err != nil {
			return err
		}
	}
	return nil
}

// checkObject checks the members of an object. Package json takes the last of two, and
// does not distinguish ttl from TTL, except in the maps that tags and the indexes of a
// pattern are.
func checkObject(d *json.Decoder, path []string) error {
	distinct := len(path) > 0 && (path[len(path)-1] == ".tags" || path[len(path)-1] == ".indexes")
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // Package json returns nothing else here.
		member := append(path, "."+name)
		if !distinct {
			name = fold(name)
		}
		if seen[name] {
			return fmt.Errorf("%s: is there twice", printable(strings.TrimPrefix(strings.Join(member, ""), ".")))
		}
		seen[name] = true
		if err := checkMembers(d, member); err != nil {
			return err
		}
	}
	return nil
}

// fold returns the same text for names that package json does not distinguish.
// Lower case alone is not enough: the long s (U+017F) is also the letter s there.
func fold(name string) string {
	return strings.ToLower(strings.ToUpper(name))
}
