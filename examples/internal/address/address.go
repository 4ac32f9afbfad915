// Package address has the form in which the examples store and compare e-mail addresses.
package address

import (
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxLen is the greatest length of an address, in bytes, by RFC 5321.
const MaxLen = 254

// Normal returns an address as it is stored, and whether it is one. Addresses are the
// same if they differ in capitals only, or in whether a letter with an accent is one
// character or two.
func Normal(email string) (string, bool) {
	valid := utf8.ValidString(email) // ToLower replaces what is not
	email = Fold(email)
	if !valid || len(email) > MaxLen || strings.ContainsFunc(email, unreadable) {
		return "", false
	}
	a, err := mail.ParseAddress(email)
	return email, err == nil && a.Address == email
}

// Fold returns the form in which addresses are compared, without a check.
func Fold(email string) string {
	email = norm.NFC.String(strings.TrimSpace(email))
	return norm.NFC.String(strings.ToLower(email))
}

// unreadable is also true for the character that takes the place of what is not Unicode:
// different addresses would become the same one.
func unreadable(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
