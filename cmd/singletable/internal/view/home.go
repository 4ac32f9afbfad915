package view

import (
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// home is the list of the tables.
type home struct {
	Tables []tab
	Next   string
}

// tablesOnPage is how many tables the list has on a page.
const tablesOnPage = 100

func (s *server) home(v *visit) (*page, error) {
	if s.options.Table != "" {
		return &page{Redirect: s.root.address(s.options.Table, "")}, nil
	}
	in := &dynamodb.ListTablesInput{Limit: aws.Int32(tablesOnPage)}
	if from := v.FormValue("from"); from != "" {
		in.ExclusiveStartTableName = &from
	}
	out, err := s.client.ListTables(v.Context(), in)
	if err != nil {
		return nil, err
	}
	var h home
	for _, name := range out.TableNames {
		h.Tables = append(h.Tables, tab{Name: name, Href: s.root.address(name, "")})
	}
	h.Next = aws.ToString(out.LastEvaluatedTableName)
	return &page{Template: "home", Title: "Tables", Content: h, Status: http.StatusOK}, nil
}
