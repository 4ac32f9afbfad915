package setup

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"

	"github.com/singletable/singletable/examples/shop/mail"
)

// MailFrom names the environment variable with the e-mail that mails are sent from.
const MailFrom = "SHOP_MAIL_FROM"

// Mail returns the function that sends mails with Amazon SES, by the settings of the
// environment. No request is sent.
func Mail(ctx context.Context, getenv func(string) string) (mail.Send, error) {
	from := getenv(MailFrom)
	if from == "" {
		return nil, errors.New(MailFrom + " is not set: an e-mail that is verified in Amazon SES")
	}
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	return mail.SES(sesv2.NewFromConfig(aws), from), nil
}
