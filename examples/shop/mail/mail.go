// Package mail sends the mails of the shop.
package mail

import (
	"context"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/sesv2"
	"github.com/aws/aws-sdk-go-v2/service/sesv2/types"
)

// Mail is a mail to a user.
type Mail struct {
	To, Subject, Text string
}

// Send sends a mail.
type Send func(ctx context.Context, m Mail) error

// Code returns the mail with a one-time code. It is the same for a new user, for a
// forgotten password, and for a sign-up with an e-mail that is taken. It has no link: the shop does not know
// its address, and a Host header can be anybody's.
func Code(to, code string) Mail {
	return Mail{To: to, Subject: "Your code for the shop", Text: fmt.Sprintf(`Somebody, probably you, has signed up in the shop with this e-mail, or has forgotten a password.

Your code is %s

Enter it when you log in for the first time, or to set a new password. It is good once, and for an hour. If it was not you, ignore this mail and tell nobody the code.
`, code)}
}

// Print returns a function that prints mails, for development.
func Print(w io.Writer) Send {
	return func(_ context.Context, m Mail) error {
		_, err := fmt.Fprintf(w, "\nmail to %s: %s\n\n%s\n", m.To, m.Subject, m.Text)
		return err
	}
}

// SES returns a function that sends mails with Amazon SES from an address, which has to be
// an identity that is verified there. AWS: SendEmail, Amazon SES API v2 Reference.
func SES(client *sesv2.Client, from string) Send {
	return func(ctx context.Context, m Mail) error {
		text := func(s string) *types.Content { return &types.Content{Data: &s, Charset: new("UTF-8")} }
		_, err := client.SendEmail(ctx, &sesv2.SendEmailInput{
			FromEmailAddress: &from,
			Destination:      &types.Destination{ToAddresses: []string{m.To}},
			Content: &types.EmailContent{Simple: &types.Message{
				Subject: text(m.Subject), Body: &types.Body{Text: text(m.Text)},
			}},
		})
		return err
	}
}
