package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/singletable/singletable/table"
)

// decodeSchema reads a schema file. It refuses members that a schema does not
// have or that are there twice, and anything behind the schema. The schema may
// still be one that cannot be right.
func decodeSchema(text string) (table.Schema, error) {
	if err := checkMembers(json.NewDecoder(strings.NewReader(text)), ""); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return table.Schema{}, err
	}
	var schema table.Schema
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&schema); err != nil {
		return table.Schema{}, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return table.Schema{}, errors.New("there is more after the schema")
	}
	return schema, nil
}

// checkMembers reads one JSON value and refuses an object that has a member
// twice. Package json takes the last of them, and takes ttl and TTL for one.
func checkMembers(d *json.Decoder, path string) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('['):
		for i := 0; d.More(); i++ {
			if err := checkMembers(d, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		seen := map[string]bool{}
		for d.More() {
			token, err := d.Token()
			if err != nil {
				return err
			}
			name, _ := token.(string) // Package json takes nothing else there.
			if seen[strings.ToLower(name)] {
				return fmt.Errorf("%s: is there twice", strings.TrimPrefix(path+"."+name, "."))
			}
			seen[strings.ToLower(name)] = true
			if err := checkMembers(d, strings.TrimPrefix(path+"."+name, ".")); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = d.Token() // The closing bracket.
	return err
}
