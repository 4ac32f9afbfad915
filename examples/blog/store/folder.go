package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// The prefixes of nodes and of the folders that hold them.
const (
	DrivePrefix keys.Prefix = "DRIVE"
	NodePrefix  keys.Prefix = "NODE"
	dirPrefix   keys.Prefix = "DIR"
)

// MaxMove is how many nodes one move takes, the moved one among them. A node is
// an item deleted and one created; the folder that receives them is one more op;
// and a transaction has 100. AWS: "Constraints in Amazon DynamoDB", Amazon DynamoDB
// Developer Guide.
const MaxMove = (100 - 1) / 2

// The reasons why a node is not made or moved.
var (
	ErrNoFolder = errors.New("there is no such folder")
	ErrInside   = errors.New("a folder cannot be moved into itself")
	ErrRoot     = errors.New("the root cannot be made or moved")
)

// Kind tells folders and files apart.
type Kind string

// The kinds of nodes.
const (
	Folder Kind = "FOLDER"
	File   Kind = "FILE"
)

// Path is the way to a node, from the root, which is the empty path.
type Path []string

// Node is a folder or a file. It is stored once, as DRIVE#<drive> /
// NODE#<name>#<name>…: the path is in the sort key, so one range of the table is
// a whole subtree. In the index it is DIR#<drive>#<path of its folder> /
// <kind>#<name>, so one partition of the index is the content of one folder.
//
// The revision of a folder also changes when something is put into it. A move expects
// the revisions that it has read, so nothing is left behind, and no node is taken for
// another one that has its path by now.
type Node struct {
	Drive string `dynamodbav:"drive"`
	Path  Path   `dynamodbav:"path"`
	Kind  Kind   `dynamodbav:"kind"`
	// ID stays the same when the node moves. The store draws it.
	ID       string `dynamodbav:"nodeId"`
	Revision string `dynamodbav:"revision"`
}

var nodeEntity = repo.Entity[Node]{
	Type:    "NODE",
	Key:     func(n Node) keys.Key { return NodeKey(n.Drive, n.Path) },
	Indexes: repo.Indexes[Node]{childrenIndex: childKey},
	Version: "revision",
}

// NodeKey is the key of the node at a path.
func NodeKey(drive string, p Path) keys.Key {
	return keys.Key{PK: DrivePrefix.PK(drive), SK: NodePrefix.SK(p.segments()...)}
}

func childKey(n Node) keys.Key {
	last := len(n.Path) - 1
	return keys.Key{
		PK: dirPK(n.Drive, n.Path[:last]),
		SK: keys.Prefix(n.Kind).SK(keys.Str(n.Path[last])),
	}
}

func dirPK(drive string, p Path) keys.PK {
	return dirPrefix.PK(append([]string{drive}, p...)...)
}

func (p Path) segments() []keys.Segment {
	segments := make([]keys.Segment, len(p))
	for i, name := range p {
		segments[i] = keys.Str(name)
	}
	return segments
}

// within reports whether p is folder or something below it.
func (p Path) within(folder Path) bool {
	return len(p) >= len(folder) && slices.Equal(p[:len(folder)], folder)
}

// ChildrenQuery asks for what is in a folder, files first, by name.
func ChildrenQuery(drive string, folder Path) table.Query {
	return table.Query{Index: childrenIndex, PK: dirPK(drive, folder), Scope: drive}
}

// TreeQuery asks for everything below a folder, at any depth.
func TreeQuery(drive string, folder Path) table.Query {
	return table.Query{PK: DrivePrefix.PK(drive), Range: NodePrefix.All(folder.segments()...), Scope: drive}
}

// MakeFolder stores a new folder in a folder that exists, and returns it. Errors:
// [ErrNoFolder], [ErrRoot], and [table.ErrExists] if the path is in use.
func (s *Store) MakeFolder(ctx context.Context, drive string, p Path) (n Node, err error) {
	return n, s.Table.Retry(ctx, func(ctx context.Context) (err error) {
		var ops []table.Op
		if n, ops, err = s.FolderOps(ctx, drive, p); err != nil {
			return err
		}
		return refused(s.Table.Transact(ctx, ops...))
	})
}

// FolderOps returns the folder and the ops of [Store.MakeFolder], for [Once].
func (s *Store) FolderOps(ctx context.Context, drive string, p Path) (Node, []table.Op, error) {
	if len(p) == 0 {
		return Node{}, nil, ErrRoot
	}
	n := Node{Drive: drive, Path: p, Kind: Folder, ID: s.NewID()}
	_, receive, err := s.receive(ctx, drive, p)
	return n, append(s.Nodes.CreateOps(&n), receive...), err
}

// makeFile stores a file, in all of its items, in one transaction.
func (s *Store) makeFile(ctx context.Context, n Node, data []byte, at time.Time) (FileInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	// Before an object is stored for a path that cannot be.
	if _, _, err := s.receive(ctx, n.Drive, n.Path); err != nil {
		return FileInfo{}, err
	}
	n.ID = s.NewID()
	c, err := s.newContent(ctx, FilePrefix.PK(n.ID), data)
	if err != nil {
		return FileInfo{}, err
	}
	f := FileInfo{ID: n.ID, Drive: n.Drive, Name: n.Path[len(n.Path)-1], Size: c.Size, UploadedAt: at}
	return f, s.Table.Retry(ctx, func(ctx context.Context) error {
		var ops []table.Op
		if f.FolderID, ops, err = s.receive(ctx, n.Drive, n.Path); err != nil {
			return err
		}
		ops = append(append(ops, s.Nodes.CreateOps(&n)...), s.Files.CreateOps(&f)...)
		return refused(s.Table.Transact(ctx, append(ops, s.Contents.CreateOps(&c)...)...))
	})
}

// receive returns the id of the folder that is to hold the path, and the op that gives it
// another revision, since something was put into it. The op fails if another
// folder has taken the path: see refused. The root is no item and never moved.
func (s *Store) receive(ctx context.Context, drive string, p Path) (string, []table.Op, error) {
	if len(p) == 1 {
		return "", nil, nil
	}
	folder, err := s.Nodes.Consistent().Get(ctx, NodeKey(drive, p[:len(p)-1]))
	if errors.Is(err, table.ErrNotFound) || err == nil && folder.Kind != Folder {
		return "", nil, ErrNoFolder
	}
	op := table.Update(NodeKey(drive, folder.Path), expression.Set(expression.Name("revision"), expression.Value(rand.Text()))).
		If(table.If("nodeId = ?", folder.ID))
	return folder.ID, []table.Op{op.WithName(opFolder)}, err
}

// Move gives the node at a path another path, and returns how many nodes have
// moved: itself and, for a folder, everything in it. Nobody sees a part of a
// move, and what others put into the folder at the moment moves along or fails.
//
// With more than [MaxMove] nodes, or more than 4 MB of them, it does nothing and
// the error matches [table.ErrTooLarge]. A caller can then make the new folder
// and move the content part by part, which is not atomic.
//
// AWS: "Constraints in Amazon DynamoDB", Amazon DynamoDB Developer Guide.
func (s *Store) Move(ctx context.Context, drive string, from, to Path) (int, error) {
	return s.move(ctx, drive, "", from, to)
}

// move moves the node with an id, or whatever is at the path if that is empty.
func (s *Store) move(ctx context.Context, drive, id string, from, to Path) (int, error) {
	switch {
	case len(from) == 0 || len(to) == 0:
		return 0, ErrRoot
	case to.within(from):
		return 0, ErrInside
	case from.within(to): // the folder that the node is in
		return 0, table.ErrExists
	}
	var nodes []Node
	err := s.Table.Retry(ctx, func(ctx context.Context) error {
		var err error
		if nodes, err = s.subtree(ctx, drive, from); err != nil {
			return err
		}
		if id != "" && nodes[0].ID != id {
			return table.ErrNotFound
		}
		folder, ops, err := s.receive(ctx, drive, to)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			moved := n
			moved.Path = slices.Concat(to, n.Path[len(from):])
			ops = append(append(ops, s.Nodes.DeleteOps(n)...), s.Nodes.CreateOps(&moved)...)
		}
		if nodes[0].Kind == File {
			err = s.moveFile(ctx, nodes[0], folder, to, ops)
		} else {
			err = s.Table.Transact(ctx, ops...)
		}
		return refused(err)
	})
	if err != nil {
		return 0, err
	}
	return len(nodes), nil
}

// Place is [Store.Move] of the node with an id. A node that is at its new path already
// stays there, so a repeated call is without effect.
func (s *Store) Place(ctx context.Context, drive, id string, from, to Path) error {
	_, err := s.move(ctx, drive, id, from, to)
	if errors.Is(err, table.ErrNotFound) || errors.Is(err, ErrInside) {
		n, missing := s.Nodes.Consistent().Get(ctx, NodeKey(drive, to))
		if missing == nil && n.ID == id {
			return nil
		}
	}
	return err
}

// subtree reads the node at a path and everything below it.
func (s *Store) subtree(ctx context.Context, drive string, p Path) ([]Node, error) {
	root, err := s.Nodes.Consistent().Get(ctx, NodeKey(drive, p))
	if err != nil {
		return nil, err
	}
	q := TreeQuery(drive, p)
	q.Limit = MaxMove // one more than fits beside the root
	below, err := table.Collect(s.Nodes.Consistent().All(ctx, q))
	if err != nil {
		return nil, err
	}
	if len(below) == MaxMove {
		return nil, fmt.Errorf("a folder with more than %d nodes cannot be moved at once: %w", MaxMove, table.ErrTooLarge)
	}
	return append([]Node{root}, below...), nil
}
