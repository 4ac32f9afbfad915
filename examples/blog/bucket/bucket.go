// Package bucket keeps the objects of the blog in Amazon S3.
package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/singletable/singletable/examples/blog/store"
)

// Objects are the objects of a bucket. Each method needs one permission: s3:PutObject,
// s3:GetObject, s3:DeleteObject, and All s3:ListBucket.
type Objects struct {
	Client *s3.Client
	Bucket string
}

var _ store.Objects = Objects{}

// Put implements [store.Objects]. S3 stores a whole object or none, and a read after it
// finds it.
func (o Objects) Put(ctx context.Context, name string, data []byte) error {
	_, err := o.Client.PutObject(ctx, &s3.PutObjectInput{Bucket: &o.Bucket, Key: &name, Body: bytes.NewReader(data)})
	return err
}

// Get implements [store.Objects]. Without s3:ListBucket, S3 says AccessDenied for a missing
// object.
func (o Objects) Get(ctx context.Context, name string) ([]byte, error) {
	out, err := o.Client.GetObject(ctx, &s3.GetObjectInput{Bucket: &o.Bucket, Key: &name})
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
func (o Objects) Delete(ctx context.Context, name string) error {
	_, err := o.Client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &o.Bucket, Key: &name})
	return err
}

// All implements [store.Objects].
func (o Objects) All(ctx context.Context) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		for pages := s3.NewListObjectsV2Paginator(o.Client, &s3.ListObjectsV2Input{Bucket: &o.Bucket}); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(store.Object{}, err)
				return
			}
			for _, object := range page.Contents {
				if !yield(store.Object{Name: aws.ToString(object.Key), StoredAt: aws.ToTime(object.LastModified)}, nil) {
					return
				}
			}
		}
	}
}
