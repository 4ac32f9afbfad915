package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/singletable/singletable/examples/cqrs/core"
)

// Bucket is the files in a bucket of Amazon S3. It needs the permissions s3:GetObject and
// s3:ListBucket. Without the latter, a missing file is AccessDenied. Get one from [Open].
type Bucket struct {
	client *s3.Client
	name   string
}

// Open returns the files in a bucket.
func Open(sdk aws.Config, bucket string) Bucket {
	return Bucket{name: bucket, client: s3.NewFromConfig(sdk, func(o *s3.Options) {
		// S3 has no checksum of a part, and the SDK would log that each time.
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	})}
}

var _ core.Files = Bucket{}

// Read implements [core.Files]. A file has its ETag as its revision.
func (b Bucket) Read(ctx context.Context, name, revision string, from, most int64) (core.Part, error) {
	in := &s3.GetObjectInput{Bucket: &b.name, Key: &name, Range: aws.String(fmt.Sprintf("bytes=%d-%d", from, from+most-1))}
	if revision != "" {
		in.IfMatch = &revision
	}
	out, err := b.client.GetObject(ctx, in)
	if failure, ok := errors.AsType[smithy.APIError](err); ok {
		switch failure.ErrorCode() {
		case "NoSuchKey":
			return core.Part{}, core.ErrNoFile
		case "PreconditionFailed":
			return core.Part{}, core.ErrFileChanged
		case "InvalidRange": // from is less than the size, unless the file is empty
			return core.Part{}, nil
		}
	}
	if err != nil {
		return core.Part{}, err
	}
	defer out.Body.Close()
	part := core.Part{Revision: aws.ToString(out.ETag)}
	_, size, _ := strings.Cut(aws.ToString(out.ContentRange), "/") // bytes 0-9/100
	if part.Size, err = strconv.ParseInt(size, 10, 64); err != nil {
		return core.Part{}, errors.New("the response has no size of the whole file")
	}
	part.Data, err = io.ReadAll(out.Body)
	return part, err
}
