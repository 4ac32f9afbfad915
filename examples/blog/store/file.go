package store

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// The prefixes of files, of the lists of a folder's files, and of sizes in them.
const (
	FilePrefix   keys.Prefix = "FILE"
	FolderPrefix keys.Prefix = "FOLDER"
	sizePrefix   keys.Prefix = "SIZE"
)

// FileInfo is what is known of a file whose [Node] has the same id. It is
// stored three times. FILE#<id> / METADATA finds it by its id wherever it is
// moved. FILE#<time>#<id> and SIZE#<size>#<id>, in the partition of its folder,
// list it by date and by size. The folder is named by its id, so a folder that
// moves writes none of them.
type FileInfo struct {
	ID         string    `dynamodbav:"fileId"`
	Drive      string    `dynamodbav:"drive"`
	FolderID   string    `dynamodbav:"folderId,omitempty"` // empty: the root of the drive
	Name       string    `dynamodbav:"name"`
	Size       int64     `dynamodbav:"size"` // in bytes
	UploadedAt time.Time `dynamodbav:"uploadedAt"`
	Revision   string    `dynamodbav:"revision"`
}

// sizeWidth is that of a size of up to 1 PB, in digits.
const sizeWidth = 15

var fileEntity = repo.Entity[FileInfo]{
	Type: "FILE",
	Key:  func(f FileInfo) keys.Key { return FileKey(f.ID) },
	Copies: []repo.Copy[FileInfo]{
		{Name: "by date", Key: func(f FileInfo) keys.Key {
			return keys.Key{PK: folderPK(f.Drive, f.FolderID), SK: FilePrefix.SK(keys.Time(f.UploadedAt), keys.Str(f.ID))}
		}},
		{Name: "by size", Key: func(f FileInfo) keys.Key {
			return keys.Key{PK: folderPK(f.Drive, f.FolderID), SK: sizePrefix.SK(keys.Int(f.Size, sizeWidth), keys.Str(f.ID))}
		}},
	},
	Version: "revision",
}

// FileKey is the key of a file by its id.
func FileKey(id string) keys.Key { return keys.Key{PK: FilePrefix.PK(id), SK: keys.Metadata} }

// folderPK has the drive, so that no list has files of two drives.
func folderPK(drive, folder string) keys.PK {
	if folder == "" {
		return FolderPrefix.PK(drive)
	}
	return FolderPrefix.PK(drive, folder)
}

// FilesByDateQuery asks for the files of a folder, newest first. The folder is named by
// its id, empty for the root.
func FilesByDateQuery(drive, folder string) table.Query {
	return table.Query{PK: folderPK(drive, folder), Range: FilePrefix.All(), Descending: true, Scope: drive}
}

// FilesBySizeQuery asks for the files of a folder, largest first.
func FilesBySizeQuery(drive, folder string) table.Query {
	return table.Query{PK: folderPK(drive, folder), Range: sizePrefix.All(), Descending: true, Scope: drive}
}

// Upload stores a new file with its content. Errors: [ErrNoFolder], [ErrRoot], and
// [table.ErrExists] if the path is in use.
func (s *Store) Upload(ctx context.Context, drive string, p Path, data []byte, at time.Time) (FileInfo, error) {
	if len(p) == 0 {
		return FileInfo{}, ErrRoot
	}
	return s.makeFile(ctx, Node{Drive: drive, Path: p, Kind: File}, data, at)
}

// PutFile is [Store.Upload], or replaces the content of the file at the path. With the
// content that the file has, it is without effect. It reports whether the file is new.
// Errors: [ErrNoFolder], [ErrRoot], and [table.ErrExists] if a folder has the path.
func (s *Store) PutFile(ctx context.Context, drive string, p Path, data []byte, at time.Time) (f FileInfo, created bool, err error) {
	err = s.Table.Retry(ctx, func(ctx context.Context) error {
		n, err := s.Nodes.Consistent().Get(ctx, NodeKey(drive, p))
		switch {
		case errors.Is(err, table.ErrNotFound):
			f, err = s.Upload(ctx, drive, p, data, at)
			if created = err == nil; errors.Is(err, table.ErrExists) {
				err = table.ErrConflict // since the node was read
			}
		case err == nil && n.Kind != File:
			err = table.ErrExists
		case err == nil:
			f, err = s.replaceFile(ctx, n.ID, data, at)
		}
		return err
	})
	return f, created, err
}

// replaceFile gives a file another content, with its size and the time. The former object,
// if any, is deleted by the consumer of [Store.Router].
func (s *Store) replaceFile(ctx context.Context, id string, data []byte, at time.Time) (FileInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	stored, err := s.content(ctx, FilePrefix.PK(id))
	if err == nil && bytes.Equal(stored, data) {
		return s.Files.Consistent().Get(ctx, FileKey(id))
	}
	c, err := s.newContent(ctx, FilePrefix.PK(id), data)
	if err != nil {
		return FileInfo{}, err
	}
	f, err := s.Files.UpdateWith(ctx, FileKey(id), func(f *FileInfo) ([]table.Op, error) {
		f.Size, f.UploadedAt = c.Size, at
		former, err := s.Contents.Consistent().Get(ctx, ContentKey(c.Of))
		return s.Contents.UpdateOps(former, &c), err
	})
	if errors.Is(err, table.ErrNotFound) {
		err = table.ErrConflict // deleted since
	}
	return f, err
}

// File returns a file by its id, in one consistent read. If it is not in the drive, the
// error matches [table.ErrNotFound].
func (s *Store) File(ctx context.Context, drive, id string) (FileInfo, error) {
	f, err := s.Files.Consistent().Get(ctx, FileKey(id))
	if err == nil && f.Drive != drive {
		return FileInfo{}, table.ErrNotFound
	}
	return f, err
}

// FileContent returns the bytes of a file by its id. If it is not in the drive, the error
// matches [table.ErrNotFound].
func (s *Store) FileContent(ctx context.Context, drive, id string) ([]byte, error) {
	if _, err := s.File(ctx, drive, id); err != nil {
		return nil, err
	}
	return s.content(ctx, FilePrefix.PK(id))
}

// DeleteFile removes the file at a path with its content. If there is no file, the error
// matches [table.ErrNotFound].
func (s *Store) DeleteFile(ctx context.Context, drive string, p Path) error {
	if len(p) == 0 {
		return ErrRoot
	}
	return s.Table.Retry(ctx, func(ctx context.Context) error {
		n, err := s.Nodes.Consistent().Get(ctx, NodeKey(drive, p))
		if err != nil {
			return err
		}
		f, err := s.Files.Consistent().Get(ctx, FileKey(n.ID)) // a folder's id is no file's
		if err != nil {
			return err
		}
		ops := append(s.Nodes.DeleteOps(n), s.Files.DeleteOps(f)...)
		return s.Table.Transact(ctx, append(ops, table.Delete(ContentKey(FilePrefix.PK(n.ID))))...)
	})
}

// moveFile moves a file, with the ops that move its node, in one transaction.
func (s *Store) moveFile(ctx context.Context, n Node, folder string, to Path, ops []table.Op) error {
	_, err := s.Files.UpdateWith(ctx, FileKey(n.ID), func(f *FileInfo) ([]table.Op, error) {
		f.FolderID, f.Name = folder, to[len(to)-1]
		return ops, nil
	})
	if errors.Is(err, table.ErrNotFound) { // deleted since its node was read
		return table.ErrConflict
	}
	return err
}
