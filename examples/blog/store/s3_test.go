package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/singletable/singletable/examples/blog/store"
	"github.com/singletable/singletable/table"
)

// Bucket keeps objects in a bucket of Amazon S3. It was compiled, and never run.
type Bucket struct {
	Client *s3.Client
	Name   string
}

var _ store.Objects = Bucket{}

// Put implements [store.Objects]. S3 stores a whole object or none, and a read after it
// finds it.
func (b Bucket) Put(ctx context.Context, name string, data []byte) error {
	_, err := b.Client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.Name, Key: &name, Body: bytes.NewReader(data)})
	return err
}

// Get implements [store.Objects]. Without the permission s3:ListBucket, S3 says
// AccessDenied for an object that is not there.
func (b Bucket) Get(ctx context.Context, name string) ([]byte, error) {
	out, err := b.Client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.Name, Key: &name})
	if _, missing := errors.AsType[*types.NoSuchKey](err); missing {
		return nil, fmt.Errorf("%w: %w", store.ErrNoObject, err)
	}
	if err != nil {
		return nil, err
	}
	defer out.Body.Close()
	return io.ReadAll(out.Body)
}

// Delete implements [store.Objects].
func (b Bucket) Delete(ctx context.Context, name string) error {
	_, err := b.Client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.Name, Key: &name})
	return err
}

// All implements [store.Objects].
func (b Bucket) All(ctx context.Context) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		for pages := s3.NewListObjectsV2Paginator(b.Client, &s3.ListObjectsV2Input{Bucket: &b.Name}); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(store.Object{}, err)
				return
			}
			for _, o := range page.Contents {
				if !yield(store.Object{Name: aws.ToString(o.Key), StoredAt: aws.ToTime(o.LastModified)}, nil) {
					return
				}
			}
		}
	}
}

// Large content in a bucket of S3. The functions need s3:PutObject, s3:GetObject,
// s3:DeleteObject and s3:ListBucket on it.
func ExampleObjects() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	tbl, err := table.New(dynamodb.NewFromConfig(cfg), store.Schema("Blog"), nil)
	if err != nil {
		log.Fatal(err)
	}
	s, err := store.New(tbl, Bucket{s3.NewFromConfig(cfg), "blog-content"})
	if err != nil {
		log.Fatal(err)
	}
	if err := s.SetPostContent(ctx, "p1", make([]byte, 1<<20)); err != nil {
		log.Fatal(err)
	}
}
