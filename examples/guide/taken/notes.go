package taken

import (
	"context"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
)

// Note has the internal attributes of DynamoDB-Toolbox, without which it throws.
type Note struct {
	ID       string `dynamodbav:"noteId"`
	Text     string `dynamodbav:"text"`
	Created  string `dynamodbav:"_ct"`
	Modified string `dynamodbav:"_md"`
}

var noteEntity = repo.Entity[Note]{
	Type: "Note", Version: "_md", // Schema.TypeAttribute is "_et"
	Key:    func(n Note) keys.Key { return noteKey(n.ID) },
	Shared: &repo.Shared[Note]{},
}

func noteKey(id string) keys.Key { return keys.Key{PK: keys.PK("NOTE#" + id), SK: "NOTE"} }

// AddNote stores a new note, with the time as its creation.
func AddNote(ctx context.Context, notes *repo.Repo[Note], n Note) error {
	n.Created = time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	return notes.Create(ctx, &n)
}
