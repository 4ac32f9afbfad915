package stream

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/singletable/singletable/internal/lease"
)

// lineage is the shards of a stream with the checkpoints of a consumer in them. A shard
// ends some time, and its children continue it: a shard is read after its
// parent.
type lineage struct {
	// shards are those that the stream has, in its order, and parents their parents.
	shards  []string
	parents map[string]string
	// checkpoints are those that are stored.
	checkpoints map[string]checkpoint
}

func newLineage(shards []streamtypes.Shard, stored []lease.Record[checkpoint]) *lineage {
	l := &lineage{parents: map[string]string{}, checkpoints: map[string]checkpoint{}}
	for _, s := range shards {
		id := aws.ToString(s.ShardId)
		l.shards = append(l.shards, id)
		l.parents[id] = aws.ToString(s.ParentShardId)
	}
	for _, e := range stored {
		l.checkpoints[e.State.Shard] = e.State
	}
	return l
}

func (l *lineage) listed(shard string) bool {
	_, listed := l.parents[shard]
	return listed
}

// ready returns the shards that can be read now.
func (l *lineage) ready() []string {
	return slices.DeleteFunc(slices.Clone(l.shards), func(shard string) bool {
		parent := l.parents[shard]
		//mutants:guard stream: a shard is read after its parent | TestParentsBeforeChildren | !l.checkpoints[parent].Done => false
		return l.checkpoints[shard].Done || l.listed(parent) && !l.checkpoints[parent].Done
	})
}

// finished reports whether all shards were read to their end.
func (l *lineage) finished() bool {
	return !slices.ContainsFunc(l.shards, func(shard string) bool { return !l.checkpoints[shard].Done })
}

// orphans returns the shards whose parents the stream has deleted.
func (l *lineage) orphans() []string {
	return slices.DeleteFunc(slices.Clone(l.shards), func(shard string) bool {
		return l.parents[shard] == "" || l.listed(l.parents[shard])
	})
}

// trimmed returns the shards that the stream has deleted before they were read to their
// end, and those that have such a parent of which nothing is known. roots are the
// orphans of when the consumer began.
func (l *lineage) trimmed(roots []string) (unread, unknown []string) {
	for shard, p := range l.checkpoints {
		//mutants:guard stream: a shard that was deleted unread is a loss | TestLossIsReported/a_shard_without_a_child
		if !p.Done && !l.listed(shard) {
			unread = append(unread, shard)
		}
	}
	slices.Sort(unread)
	for _, shard := range l.orphans() {
		_, begun := l.checkpoints[shard]
		//mutants:guard stream: a shard that was never seen is a loss | TestLossIsReported/a_shard_that_was_never_seen
		if !begun && !slices.Contains(roots, shard) && !l.checkpoints[l.parents[shard]].Done && !slices.Contains(unread, l.parents[shard]) {
			unknown = append(unknown, l.parents[shard])
		}
	}
	return unread, unknown
}

// obsolete returns the shards whose checkpoints nobody needs any more.
func (l *lineage) obsolete() []string {
	var shards []string
	for shard, p := range l.checkpoints {
		if p.Done && !l.listed(shard) && !slices.ContainsFunc(l.shards, func(child string) bool {
			_, begun := l.checkpoints[child]
			return l.parents[child] == shard && !begun
		}) {
			shards = append(shards, shard)
		}
	}
	return shards
}
