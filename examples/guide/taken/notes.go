package taken

import (
	"context"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// Note has the internal attributes of DynamoDB-Toolbox, without which it throws.
type Note struct {
	ID       string        `dynamodbav:"noteId"`
	Text     string        `dynamodbav:"text"`
	Created  table.ISOTime `dynamodbav:"_ct"`
	Modified string        `dynamodbav:"_md"`
}

var noteEntity = repo.Entity[Note]{
	Type: "Note", Version: "_md", // Schema.TypeAttribute is "_et"
	Key:    func(n Note) keys.Key { return noteKey(n.ID) },
	Shared: &repo.Shared[Note]{},
}

func noteKey(id string) keys.Key { return keys.Key{PK: keys.PK("NOTE#" + id), SK: "NOTE"} }

// AddNote stores a new note, with the time as its creation.
func AddNote(ctx context.Context, notes *repo.Repo[Note], n Note) error {
	n.Created.Time = time.Now()
	return notes.Create(ctx, &n)
}
